//! Filters to bytes and back.
//!
//! [`native`] holds every kind, with checksums; the others are files of other programs.

pub mod dcso;
pub mod guava;
pub mod native;
pub mod parquet;
pub(crate) mod pieces;
pub(crate) mod source;
pub mod spark;
