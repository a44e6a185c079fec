//! Filters in memory: laws, rates and limits of every kind.

/// Keys that an attacker chooses.
mod adversarial;
/// Counters: removal, overflow, clipping.
mod counting;
/// Cuckoo filters: removal, full buckets, growth.
mod cuckoo;
/// Structs as keys.
#[cfg(feature = "derive")]
mod derive;
/// Keys prepared to collide, against every way to hash.
mod families;
/// Keys, and what many tests ask of a filter.
mod given;
/// White lists.
mod guarded;
/// Laws that every kind keeps.
mod laws;
/// Rates, with seeds and tolerances.
mod rates;
/// Growth in layers.
mod scalable;
/// Second probes, regions and counts by distance.
mod shifting;
/// Areas.
mod spatial;
/// Estimated counts.
mod spectral;
/// Races with all cores.
mod threads;
/// Inserted keys, asked for by the billion.
mod torture;
/// Keys that are forgotten.
mod windowed;
