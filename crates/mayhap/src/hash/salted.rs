//! Salted message digests: MD5 (or SHA) of the key behind a salt byte, cut into 32-bit integers.
//!
//! The scheme of a filter kept in Redis bitmaps, bit for bit as its Java original computes it.

#[cfg(feature = "message-digests")]
use md5::{Digest as _, Md5};
#[cfg(feature = "message-digests")]
use sha1::Sha1;
#[cfg(feature = "message-digests")]
use sha2::Sha256;

use crate::Shape;

/// A message digest, whose integers are the hashes of [`Scheme::Salted`](crate::Scheme::Salted).
///
/// Computing one needs the feature `message-digests`; its name and its code in files are always known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageDigest {
    /// MD5: four hashes per digest.
    Md5,
    /// SHA-1: five hashes per digest.
    Sha1,
    /// SHA-256: eight hashes per digest.
    Sha256,
}

/// An endless sequence of 32-bit hashes: the digests of the key salted with a leading byte
/// 0, 1, … 255, 0, …, cut into big-endian integers.
///
/// The salt is one byte, so the hashes repeat after 256 digests. Needs the feature `message-digests`.
///
/// ```
/// use mayhap::hash::{MessageDigest, salted_hashes};
///
/// let hashes: Vec<i32> = salted_hashes(MessageDigest::Md5, b"").take(1).collect();
/// assert_eq!(hashes, [-1816623699]);
/// ```
#[cfg(feature = "message-digests")]
pub fn salted_hashes(digest: MessageDigest, key: &[u8]) -> impl Iterator<Item = i32> + '_ {
    (0..=u8::MAX).cycle().flat_map(move |salt| {
        let mut hashes = [0; 8];
        let count = match digest {
            MessageDigest::Md5 => cut(
                &Md5::new().chain_update([salt]).chain_update(key).finalize(),
                &mut hashes,
            ),
            MessageDigest::Sha1 => cut(
                &Sha1::new()
                    .chain_update([salt])
                    .chain_update(key)
                    .finalize(),
                &mut hashes,
            ),
            MessageDigest::Sha256 => cut(
                &Sha256::new()
                    .chain_update([salt])
                    .chain_update(key)
                    .finalize(),
                &mut hashes,
            ),
        };
        hashes.into_iter().take(count)
    })
}

/// Cuts a digest into big-endian integers and returns how many there are.
#[cfg(feature = "message-digests")]
fn cut(digest: &[u8], hashes: &mut [i32; 8]) -> usize {
    let (words, _) = digest.as_chunks::<4>();
    for (hash, word) in hashes.iter_mut().zip(words) {
        *hash = i32::from_be_bytes(*word);
    }
    words.len()
}

/// The positions of a key: `|hash % m|`, the remainder taken first.
#[cfg(feature = "message-digests")]
pub(super) fn positions(
    digest: MessageDigest,
    key: &[u8],
    shape: Shape,
) -> impl Iterator<Item = u64> + '_ {
    salted_hashes(digest, key)
        .take(shape.hashes() as usize)
        .map(move |hash| u64::from(hash.unsigned_abs()) % shape.bits())
}

/// Returns no positions, because the digests are not built in: [`Scheme::check`](crate::Scheme::check) refuses every
/// filter that would need them.
#[cfg(not(feature = "message-digests"))]
pub(super) fn positions(_: MessageDigest, _: &[u8], _: Shape) -> core::iter::Empty<u64> {
    panic!("mayhap is built without the feature `message-digests`, which salted schemes need");
}
