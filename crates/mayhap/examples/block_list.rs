//! How do I keep most requests away from an expensive list of blocked names?
//!
//! ```sh
//! cargo run --release --example block_list
//! ```
//!
//! The filter answers first. *No* is certain, so the request passes without a look at the list. Only on *mayhap* is the
//! key looked up in the list (here a hash set; in real life a database or another machine), so no request is wrongly
//! refused.

use std::collections::HashSet;

use mayhap::Blocked;

fn main() -> Result<(), mayhap::Error> {
    let list: HashSet<String> = (0..100_000).map(|i| format!("bad{i}.example")).collect();
    let mut filter = Blocked::with_capacity(list.len() as u64, 0.01)?;
    for host in &list {
        filter.insert(host);
    }

    let (mut requests, mut asked, mut refused) = (0, 0, 0);
    for i in 0..1_000_000 {
        // One request in a hundred is for a blocked host.
        let host = match i % 100 {
            0 => format!("bad{}.example", i / 100),
            _ => format!("good{i}.example"),
        };
        requests += 1;
        if filter.contains(&host) {
            asked += 1;
            refused += u32::from(list.contains(&host));
        }
    }

    assert_eq!(refused, 10_000, "every blocked host is found");
    assert!(asked < 22_000, "10 000 and about 1 % of the others");
    println!("{requests} requests: {asked} looked up in the list, {refused} of them refused");
    println!("the filter takes {} kB", filter.stats().bits / 8000);
    Ok(())
}
