//! Filters in files: our own and those of other programs, whole and damaged.

/// Formats: which one a file has, and which others can hold its filter.
mod convert;
/// Damage, kills and full disks.
mod faults;
/// Files that are saved, loaded, mapped and built.
mod files;
/// Files of other programs.
mod foreign;
/// Vectors of Java and Guava, bit for bit.
mod golden;
/// Files in the native format.
mod native;
/// Filters through serde.
mod serde;
