//! Attempts to lose a line, a key or a file: seeded, short by default, as long as you like by hand.
//!
//! `MAYHAP_TORTURE=1000 cargo test --release -p mayhap-cli --test torture -- --nocapture` runs a thousand times
//! the rounds of the short turn, and `MAYHAP_SEED=7` others than usual. Each module states what must never
//! happen; a failure names the seed and round that show it again.

#[path = "../cli/env.rs"]
#[allow(dead_code, reason = "each test binary uses other parts of it")]
mod env;

/// Filter files that somebody changed, most with checksums that fit.
mod mutants;

/// Small files that unpack to large ones.
mod bombs;

/// Prepared lines through every mode of `uniq`.
mod collisions;

/// Programs that share a filter on a server which is killed under them.
#[cfg(feature = "redis")]
mod servers;

/// Commands that are killed or fail at any moment, and are repeated.
mod repeats;

/// Many processes on one file.
mod races;

/// `uniq` with random options and inputs, against what a few plain lines of Rust choose.
mod model;
