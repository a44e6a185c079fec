//! Attempts to lose a line, a key or a file: seeded, short by default, as long as you like by hand.
//!
//! `MAYHAP_TORTURE=1000 cargo test --release -p mayhap-cli --test torture -- --nocapture` runs a thousand times
//! the rounds of the short turn, and `MAYHAP_SEED=7` others than usual. Each module states what must never
//! happen; a failure names the seed and round that show it again.

#[path = "../cli/env.rs"]
#[allow(dead_code, reason = "each test binary uses other parts of it")]
mod env;

/// How many rounds, and from which seed.
#[allow(dead_code, reason = "not every module draws numbers")]
mod turns;
