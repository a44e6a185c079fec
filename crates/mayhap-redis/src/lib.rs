//! Bloom filters that many machines share, in Redis or Valkey: a server or a cluster, blocking or async.
//!
//! [`RedisBloom`] is a [`Bloom`](mayhap::Bloom) or [`Blocked`](mayhap::Blocked) whose bits are strings on a
//! server: the same bits. Exactly one of all clients that insert a key learns that it
//! was new; a batch is one round trip; no bits exist without the expiry they were made with; readers do not
//! notice that a filter is rebuilt. `docs/redis.md` has the layout on the server, the guarantees and
//! the costs.
//!
//! ```no_run
//! use mayhap::Kind;
//! use mayhap_redis::{Address, Options, RedisBloom};
//!
//! let address: Address = "redis://localhost#seen".parse()?;
//! let description = Kind::Blocked.plan(1_000_000, 0.01)?;
//! let mut seen = RedisBloom::create(&address, &description, &Options::default())?;
//! for (url, new) in ["/a", "/b", "/a"].iter().zip(seen.insert_batch(&["/a", "/b", "/a"])?) {
//!     if new {
//!         println!("{url} is new, to every machine");
//!     }
//! }
//! # Ok::<(), mayhap_redis::Error>(())
//! ```
//!
//! Features: `tokio` for `AsyncRedisBloom`, `tls` for addresses with `rediss://`, `tokio-tls` for both together.

#![forbid(unsafe_code)]

mod address;
#[cfg(feature = "tokio")]
mod aio;
mod answer;
mod backend;
mod blocking;
mod blocking_wire;
mod connection;
mod error;
mod expiry;
mod foreign;
mod frame;
mod home;
mod inspect;
mod plan;
mod rebuild;
mod remote;
mod remote_window;
mod resp;
mod router;
mod settings;
mod sharding;
mod shards;
mod slots;
#[cfg(feature = "tokio")]
mod tokio_wire;
mod transfer;
mod value;
mod window;

pub use address::Address;
#[cfg(feature = "tokio")]
pub use aio::{AsyncRedisBloom, AsyncRedisRebuild};
pub use answer::Answer;
pub use blocking::{RedisBloom, RedisRebuild};
pub use error::{Error, Result};
pub use expiry::Expiry;
pub use home::Home;
pub use inspect::RedisInspected;
pub use settings::{Options, Placement};
pub use window::Window;

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
