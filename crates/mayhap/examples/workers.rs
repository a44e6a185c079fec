//! Every worker has read a part of the data. How do I get one filter of all?
//!
//! ```sh
//! cargo run --release --example workers
//! ```
//!
//! Filters of equal size and hashing join by `union`: bit for bit the filter of all keys. Make each for the number of
//! keys of all workers together. `overlap` estimates how many keys two of them have in common.

use std::thread;

use mayhap::{Blocked, Merge};

const ALL: u64 = 200_000;

/// Makes the filter of one worker, with the users in its part.
fn work(users: std::ops::Range<u64>) -> Result<Blocked, mayhap::Error> {
    let mut filter = Blocked::with_capacity(ALL, 0.01)?;
    for user in users {
        filter.insert(&user);
    }
    Ok(filter)
}

fn main() -> Result<(), mayhap::Error> {
    // Neighbours have 10 000 users in common.
    let parts = [0..60_000, 50_000..110_000, 100_000..160_000, 150_000..ALL];
    let workers = parts.map(|part| thread::spawn(|| work(part)));
    let mut filters = Vec::new();
    for worker in workers {
        filters.push(worker.join().expect("no panic")?);
    }

    let both = filters[0].overlap(&filters[1])?;
    println!(
        "workers 0 and 1 have {:.0} ± {:.0} users in common",
        both.intersection(),
        2.0 * both.deviation()
    );
    assert!((both.intersection() - 10_000.0).abs() < 4.0 * both.deviation());

    let mut all = filters.remove(0);
    for filter in &filters {
        all.union(filter)?;
    }
    assert_eq!(
        all,
        work(0..ALL)?,
        "the same bits as one worker would have made"
    );
    let stats = all.stats();
    println!(
        "together {:.0} users, rate {:.2} %",
        stats.keys.unwrap_or(f64::NAN),
        stats.rate * 100.0
    );
    Ok(())
}
