//! Filters on real servers, which the tests start themselves. Without a server program they say so and
//! pass.

#[cfg(feature = "tokio")]
mod aio;
mod cluster;
mod examples;
mod expiry;
mod faults;
mod filters;
mod foreign;
mod large;
mod liar;
mod rebuild;
#[cfg(feature = "tls")]
mod tls;
mod transfer;
mod window;

use mayhap_redis::{Address, RedisBloom};

/// The keys that tests insert: the numbers of a range.
fn keys(range: std::ops::Range<u32>) -> Vec<[u8; 4]> {
    range.map(u32::to_le_bytes).collect()
}

/// Inserts such keys; how many were new.
fn insert(filter: &mut RedisBloom, range: std::ops::Range<u32>) -> usize {
    let new = filter.insert_batch(&keys(range)).expect("inserted");
    new.into_iter().filter(|&new| new).count()
}

/// The sum of what clients of one filter count that work at the same time, each with its number.
fn won_by(
    clients: u32,
    address: &Address,
    work: impl Fn(u32, &mut RedisBloom) -> usize + Sync,
) -> usize {
    let run = |client| {
        let mut filter = RedisBloom::open(address, None).expect("there");
        work(client, &mut filter)
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..clients)
            .map(|client| {
                scope.spawn({
                    let run = &run;
                    move || run(client)
                })
            })
            .collect();
        let won = clients.into_iter().map(|client| client.join());
        won.map(|won| won.expect("no panic")).sum()
    })
}
