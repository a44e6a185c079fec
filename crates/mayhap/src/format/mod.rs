//! Filters to bytes and back.

pub mod dcso;
pub mod guava;
pub mod parquet;
pub mod spark;
mod words;
