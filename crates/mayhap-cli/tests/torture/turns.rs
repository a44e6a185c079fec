//! How many rounds a test goes, and the seeded numbers it draws.

/// How often a test repeats its rounds: once, or as `MAYHAP_TORTURE` says.
pub(crate) fn rounds(short: u64) -> u64 {
    short * variable("MAYHAP_TORTURE").unwrap_or(1)
}

/// The numbers of one round of one test.
pub(crate) fn random(test: &str, round: u64) -> Random {
    let seed = variable("MAYHAP_SEED").unwrap_or(0);
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

/// SplitMix64 (Steele, Lea, Flood, 2014).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
