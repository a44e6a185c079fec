//! Nobody knows how many keys there will be. What does a filter that grows cost?
//!
//! ```sh
//! cargo run --release --example growing
//! ```
//!
//! `Scalable` adds a larger and stricter layer whenever the last one is full, so the rate stays below the one asked for,
//! at any number of keys. `Blocked` keeps its size, and its rate rises past its capacity.

use mayhap::{Blocked, Scalable};

fn main() -> Result<(), mayhap::Error> {
    const GUESS: u64 = 1000;
    let mut growing = Scalable::with_capacity(GUESS, 0.01)?;
    let mut fixed = Blocked::with_capacity(GUESS, 0.01)?;

    println!("both made for {GUESS} keys at 1 %");
    println!("    keys | growing: layers  bits/key  rate    | fixed: bits/key  rate");
    let mut keys = 0_u64;
    for target in [1000, 2000, 10_000, 100_000, 1_000_000] {
        while keys < target {
            growing.insert(&keys);
            fixed.insert(&keys);
            keys += 1;
        }
        let (grown, stayed) = (growing.stats(), fixed.stats());
        let per_key = |bits: u64| bits as f64 / keys as f64;
        println!(
            "{keys:>8} | {:>15}  {:>8.1}  {:.3} % | {:>15.2}  {:.1} %",
            growing.layers(),
            per_key(grown.bits),
            grown.rate * 100.0,
            per_key(stayed.bits),
            stayed.rate * 100.0
        );
        assert!(grown.rate <= 0.01, "the promise holds");
    }
    assert!(
        (0..keys).all(|key| growing.contains(&key)),
        "no key is missed"
    );
    assert!(
        fixed.stats().is_over_capacity(),
        "and the other one says so"
    );
    Ok(())
}
