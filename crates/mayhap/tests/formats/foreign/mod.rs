//! Files of other programs, made by those programs: read, answered alike, and built alike.
//!
//! `tests/data/foreign` holds the files, with the answers of their makers; its README.md says how
//! they were made. `interop` runs the originals themselves, if the machine has them.

mod damage; // truncated and altered files: typed errors, never a panic
mod data; // reading the cases, and the keys they name
mod dcso; // DCSO's `bloom` tools
mod interop; // the originals, run
mod parquet; // split-block filters of two Parquet writers
mod redisbloom; // RedisBloom's dumps
mod spark; // Spark's sketch filter, versions 1 and 2
