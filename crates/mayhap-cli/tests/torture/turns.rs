//! How many rounds a test goes, and the seeded numbers it draws.

#[path = "../../../mayhap/tests/faults/random.rs"]
#[allow(dead_code, reason = "each test binary uses other parts of it")]
mod seeded;

pub(crate) use seeded::Random;

/// How often a test repeats its rounds: once, or as `MAYHAP_TORTURE` says.
pub(crate) fn rounds(short: u64) -> u64 {
    short * variable("MAYHAP_TORTURE").unwrap_or(1)
}

/// Where the numbers of all tests begin: 0, or what `MAYHAP_SEED` says.
pub(crate) fn seed() -> u64 {
    variable("MAYHAP_SEED").unwrap_or(0)
}

/// The numbers of one round of one test.
pub(crate) fn random(test: &str, round: u64) -> Random {
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
