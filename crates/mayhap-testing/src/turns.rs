//! The number of rounds of a test, and the seeded numbers it draws.

use crate::random::Random;

/// The number of times a test repeats its rounds: once, or `MAYHAP_TORTURE` times.
pub fn rounds(short: u64) -> u64 {
    short * variable("MAYHAP_TORTURE").unwrap_or(1)
}

/// The seed of all tests: 0, or `MAYHAP_SEED`.
pub fn seed() -> u64 {
    variable("MAYHAP_SEED").unwrap_or(0)
}

/// The numbers of one round of one test.
pub fn random(test: &str, round: u64) -> Random {
    let seed = seed();
    let name = test.bytes().fold(seed, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    let mut random = Random(name);
    let start = random.next().wrapping_add(round);
    Random(start)
}

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not a number")),
    )
}
