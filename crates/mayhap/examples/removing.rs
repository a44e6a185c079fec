//! Sessions begin and end. How do I remove a key from a filter?
//!
//! ```sh
//! cargo run --release --example removing
//! ```
//!
//! `Counting` has a counter where other kinds have a bit, and takes four times the memory. Remove only keys that were
//! inserted: one that was not lowers counters of others, which may then be missed. `remove_checked` first asks
//! where you keep the keys.

use std::collections::HashSet;

use mayhap::Counting;

fn main() -> Result<(), mayhap::Error> {
    let mut store: HashSet<u32> = (0..10_000).collect();
    let mut open = Counting::with_capacity(10_000, 0.01)?;
    for session in &store {
        open.insert(session);
    }

    // Sessions 5000 to 14 999 are reported as ended; half of these never existed.
    let ended = (5000..15_000_u32)
        .filter(|session| open.remove_checked(session, |session| store.remove(session)))
        .count();

    assert_eq!(ended, 5000, "the others were not in the store");
    assert!(
        store.iter().all(|session| open.contains(session)),
        "no open session is missed"
    );
    let wrong = (5000..10_000_u32)
        .filter(|session| open.contains(session))
        .count();
    assert!(wrong < 10, "half as many keys: the rate is far below 1 %");
    println!(
        "{ended} sessions ended, {} open, {wrong} ended ones still found",
        store.len()
    );

    // For readers that never remove: the plain filter of the remaining keys, a quarter of the size.
    let plain = open.to_bloom()?;
    assert!(store.iter().all(|session| plain.contains(session)));
    println!(
        "{} kB with counters, {} kB without",
        open.stats().bits / 8000,
        plain.stats().bits / 8000
    );
    Ok(())
}
