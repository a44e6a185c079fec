//! Many threads find the same URLs. How does exactly one of them fetch each?
//!
//! ```sh
//! cargo run --release --example one_winner
//! ```
//!
//! `insert` of an atomic filter returns true to one thread per key, however they race.

use std::collections::HashSet;
use std::sync::Barrier;
use std::thread;

use mayhap::{AtomicBlocked, Blocked};

fn main() -> Result<(), mayhap::Error> {
    const URLS: u32 = 100_000;
    let seen = AtomicBlocked::from(Blocked::with_capacity(u64::from(URLS), 1e-6)?);

    // Every thread inserts every URL, each in another order.
    let start = Barrier::new(8);
    let won: Vec<Vec<u32>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|first| {
                let (seen, start) = (&seen, &start);
                let urls = (0..URLS).map(move |i| (i + first * 12_500) % URLS);
                scope.spawn(move || {
                    start.wait();
                    urls.filter(|url| seen.insert(url)).collect()
                })
            })
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
        threads.into_iter().map(join).collect()
    });

    let fetched = won.iter().map(Vec::len).sum::<usize>();
    let distinct: HashSet<u32> = won.iter().flatten().copied().collect();
    assert_eq!(fetched, distinct.len(), "nothing is fetched twice");
    assert!(fetched as u32 >= URLS - 10, "the rate is one in a million");
    for (number, urls) in won.iter().enumerate() {
        println!("thread {number} fetches {} URLs", urls.len());
    }
    println!("{fetched} of {URLS} URLs fetched, none twice");
    Ok(())
}
