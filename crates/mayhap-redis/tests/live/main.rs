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
mod kill;
mod large;
mod liar;
mod lie;
mod rebuild;
mod server;
#[cfg(feature = "tls")]
mod tls;
mod transfer;
mod window;

/// The keys that tests insert: the numbers of a range.
fn keys(range: std::ops::Range<u32>) -> Vec<[u8; 4]> {
    range.map(u32::to_le_bytes).collect()
}
