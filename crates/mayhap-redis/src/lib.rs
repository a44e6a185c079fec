//! Bloom filters that many machines share, in Redis or Valkey.

#![forbid(unsafe_code)]

mod address;
#[cfg(feature = "tokio")]
mod aio;
mod blocking;
mod blocking_wire;
mod core;
mod error;
mod layout;
mod plan;
mod rebuild;
mod router;
mod settings;
mod slots;
#[cfg(feature = "tokio")]
mod tokio_wire;
mod transfer;

pub use address::Address;
#[cfg(feature = "tokio")]
pub use aio::{AsyncRedisBloom, AsyncRedisRebuild};
pub use blocking::{RedisBloom, RedisRebuild};
pub use error::{Error, Result};
pub use settings::{Expiry, Options, Placement};
