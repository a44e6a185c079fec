//! Is the promised rate true, and what happens past the capacity?
//!
//! ```sh
//! cargo run --release --example measured_rate
//! ```
//!
//! A million absent keys are looked up at each load. `predicted` is the mean of the shape with this many keys,
//! `now` follows from the bits of this filter, `measured` is the result. For your own keys: `mayhap-lab rate FILE`.

use mayhap::Blocked;

fn main() -> Result<(), mayhap::Error> {
    const CAPACITY: u64 = 100_000;
    const LOOKUPS: u64 = 1_000_000;
    let mut filter = Blocked::with_capacity(CAPACITY, 0.01)?;

    println!("load    predicted  now      measured");
    let mut keys = 0;
    for load in [50, 100, 150, 200, 300] {
        while keys < CAPACITY * load / 100 {
            filter.insert(&keys);
            keys += 1;
        }
        let absent = u64::MAX - LOOKUPS..u64::MAX;
        let wrong = absent.filter(|key| filter.contains(key)).count();
        let measured = wrong as f64 / LOOKUPS as f64;
        let (predicted, now) = (filter.shape().rate_at(keys), filter.stats().rate);
        println!(
            "{load:>3} %   {:>6.3} %   {:>6.3} % {:>6.3} %",
            predicted * 100.0,
            now * 100.0,
            measured * 100.0
        );
        // Four standard deviations of the lookups, and 2 % by which filters of this size differ.
        let spread = 4.0 * (predicted / LOOKUPS as f64).sqrt() + 0.02 * predicted;
        assert!((measured - predicted).abs() < spread, "load {load} %");
    }
    assert!(
        (0..keys).all(|key| filter.contains(&key)),
        "no key is missed at any load"
    );
    assert!(filter.stats().is_over_capacity());
    Ok(())
}
