//! Keys, and what many tests ask of a filter.

use mayhap::format::native::{self, Metadata};
use mayhap::{AnyFilter, Assemble, Error, Filter, Key, SecretKey};
use mayhap_testing::random::Random;

/// The secret of every filter here that has one.
pub(crate) const SECRET: &[u8; 16] = b"sixteen secrets!";

/// The `index`-th key of a stream: SplitMix64, so keys of different streams are different.
pub(crate) fn key(stream: u64, index: u64) -> u64 {
    let steps = (stream << 40 ^ index).wrapping_sub(1);
    Random(steps.wrapping_mul(0x9E37_79B9_7F4A_7C15)).next()
}

/// Counts the keys that are found, in batches.
pub(crate) fn found<F: Filter, K: Key>(filter: &F, keys: impl IntoIterator<Item = K>) -> u64 {
    let mut found = 0;
    filter.contains_each(keys, |yes| found += u64::from(yes));
    found
}

/// Measures the share of this many absent keys that are found.
pub(crate) fn measured<F: Filter>(filter: &F, questions: u64) -> f64 {
    found(filter, (0..questions).map(|i| key(2, i))) as f64 / questions as f64
}

/// Returns the bytes of the filter's own file.
pub(crate) fn encoded<F: Assemble>(filter: &F) -> Vec<u8> {
    let mut bytes = Vec::new();
    native::write(filter, &Metadata::default(), &mut bytes).expect("memory");
    bytes
}

/// Reads a file of a filter that may have the secret.
pub(crate) fn decoded(bytes: &[u8]) -> mayhap::Result<AnyFilter> {
    let secret = SecretKey::from_bytes(*SECRET);
    let (filter, metadata) = native::decode(bytes, Some(&secret))?;
    assert_eq!(metadata, Metadata::default());
    Ok(filter)
}

/// Writes a filter to a file and reads it again.
pub(crate) fn read_back<F>(filter: &F) -> F
where
    F: Assemble + TryFrom<AnyFilter, Error = Error>,
{
    let read = decoded(&encoded(filter)).expect("whole");
    F::try_from(read).expect("the kind")
}
