//! The commands `BF.*`, `CF.*` and `MAYHAP.*`, without a server.
//!
//! A command is a function of a [`Server`] and its arguments: [`bf`] has those of RedisBloom and valkey-bloom over a
//! [`Chain`](bf::Chain), [`cf`] those of RedisBloom over a [`Nest`](cf::Nest), [`native`] those for every kind of filter. It reads its
//! arguments, changes the [`Value`] under a key, and replies through the server. The server module is one `Server`; tests bring
//! another, which is a map in memory.
//!
//! A command that cannot be done whole changes nothing, unless a master or a log sent it: then it is done as it was there.
//!
//! ```
//! use mayhap_commands::bf::{Chain, Plan};
//!
//! let plan = Plan { capacity: 100, rate: 0.01, expansion: Some(2) };
//! let anything = |_, _| true;
//! let mut seen = Chain::new(plan, &anything).expect("there is memory for 100 keys");
//! let mut new = [false; 2];
//! seen.insert_batch(&[b"a", b"b"], &mut new, &anything).expect("it grows");
//! assert_eq!(new, [true, true]);
//! assert!(seen.contains(b"a"));
//! ```
#![forbid(unsafe_code)]

pub mod bf;
pub mod census;
pub mod cf;
mod encoding;
pub mod limits;
pub mod native;
pub mod pieces;
mod server;
pub mod settings;
pub mod syntax;
mod value;

pub use encoding::{Damage, sealed};
pub use server::{Argument, Failure, Found, Key, Memory, Outcome, Server};
pub use value::{Log, Mover, Snapshot, Type, Value};
