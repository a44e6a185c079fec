//! Parts that the tests of several crates and the fuzz targets share. Never published.
//!
//! A test that needs a private server, a damaged file, keys prepared to collide or a seeded number takes it from here.

/// Files changed as damage or a forger would change them. Under loom the library has no files.
#[cfg(not(loom))]
pub mod change;
/// Rules that every decoder keeps, whatever its format.
pub mod decoder;
/// Native files whose checksums fit.
pub mod forge;
/// The largest allocation of a piece of code.
pub mod meter;
/// Families of keys that collide under public hashes.
pub mod prepared;
/// Numbers that look random and are the same every time.
pub mod random;
/// The number of rounds of a test, and its seed.
pub mod turns;

/// A server that is killed while keys are inserted.
#[cfg(feature = "servers")]
pub mod kill;
/// A server that loses answers, or changes them.
#[cfg(feature = "servers")]
pub mod lie;
/// Private servers on free ports.
#[cfg(feature = "servers")]
pub mod server;
