//! Filters to bytes and back.
//!
//! [`native`] holds every kind, with checksums; the others are files of other programs.

pub mod guava;
pub mod native;
pub(crate) mod source;
