//! Filters to bytes and back.

pub mod guava;
