//! A key that is drawn for a filter and kept with it.
//!
//! A file holds only 64 bits of it: a digest has no more, so that a longer key would not make collisions rarer.
//! They choose a [`UniversalHash`], whose multipliers are SipHash-1-3-128 of their numbers under these bits. Two keys
//! that were chosen without seeing the filter, or which keys it confuses, collide with a probability of about
//! 2^-64. A run of `uniq --seen` over URLs takes 8 % more instructions than by rapidhash.
//!
//! Frozen: files and servers hold positions made by it.

use alloc::sync::Arc;
use core::fmt;

use super::digest::{Digest, siphash};
use super::universal::UniversalHash;

/// The second half of the key of SipHash, so that no secret of a user draws the same numbers.
const MULTIPLIERS: [u8; 8] = *b"universe";

/// A key of 64 bits for [`Digester::Universal`](super::Digester::Universal). It prints as `DrawnKey(..)`.
///
/// Filters merge only when theirs are equal. Clones share one copy in memory.
///
/// ```
/// use mayhap::{Blocked, Digester, Merge, hash::DrawnKey};
///
/// let key = DrawnKey::random()?;
/// let plan = Blocked::plan(1000, 0.01)?.hashed_by(Digester::Universal { key })?;
/// let (mut seen, mut others): (Blocked, Blocked) = (plan.make()?, plan.make()?);
/// seen.insert("here");
/// others.insert("there");
/// seen.union(&others)?;
/// assert!(seen.contains("there"));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct DrawnKey(Arc<Drawn>);

struct Drawn {
    bits: u64,
    hash: UniversalHash,
}

impl DrawnKey {
    /// Draws a key from the operating system's random source.
    ///
    /// # Errors
    ///
    /// When the system has no random source; every supported system has one after boot.
    #[cfg(feature = "std")]
    pub fn random() -> crate::Result<DrawnKey> {
        let bits = getrandom::u64().map_err(std::io::Error::from)?;
        Ok(DrawnKey::from_bits(bits))
    }

    /// Makes a key of these bits, which should come from a random source.
    ///
    /// ```
    /// use mayhap::hash::DrawnKey;
    ///
    /// let key = DrawnKey::from_bits(7);
    /// assert_eq!((key.bits(), format!("{key:?}")), (7, "DrawnKey(..)".into()));
    /// ```
    pub fn from_bits(bits: u64) -> DrawnKey {
        let mut secret = [0; 16];
        secret[..8].copy_from_slice(&bits.to_le_bytes());
        secret[8..].copy_from_slice(&MULTIPLIERS);
        let (mut number, mut low) = (0_u64, None);
        let hash = UniversalHash::from_fn(|| {
            if let Some(low) = low.take() {
                return low;
            }
            let digest = siphash(&secret, &number.to_le_bytes());
            number += 1;
            low = Some(digest.lo);
            digest.hi
        });
        DrawnKey(Arc::new(Drawn { bits, hash }))
    }

    /// The bits, as stored in files and servers. Anyone who has them can prepare keys that collide.
    pub fn bits(&self) -> u64 {
        self.0.bits
    }

    /// The hash function that the bits choose.
    pub fn hash(&self) -> &UniversalHash {
        &self.0.hash
    }

    /// Hashes out of line, as SipHash does: the hash is too large to inline at every use of a digester.
    #[inline(never)]
    pub(super) fn digest(&self, key: &[u8]) -> Digest {
        Digest::from_u64(self.0.hash.hash(key))
    }
}

impl PartialEq for DrawnKey {
    fn eq(&self, other: &DrawnKey) -> bool {
        self.0.bits == other.0.bits
    }
}

impl Eq for DrawnKey {}

impl fmt::Debug for DrawnKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DrawnKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digester;
    use alloc::format;
    use alloc::vec::Vec;

    /// Vectors of another implementation, in Python, from the description in `docs/schemes.md`.
    #[test]
    fn digests_by_a_drawn_key_are_frozen() {
        const KEY: u64 = 0x0123_4567_89AB_CDEF;
        let input: Vec<u8> = (0..=255).cycle().take(2100).collect();
        let frozen = [
            (0, 0, 0x9AB0_D43D_44E2_0667),
            (0, 3, 0xF2E5_4928_47FC_B57F),
            (0, 7, 0xF3B9_A5DA_36E7_F7E9),
            (0, 8, 0x8C3F_5862_CF3F_CF2F),
            (0, 16, 0x4735_0A29_8C38_850D),
            (0, 17, 0x4A85_19B7_B031_C060),
            (0, 50, 0xCF43_9772_704A_5A3C),
            (0, 112, 0xC99A_792E_2F4C_E4DB),
            (0, 1000, 0x5C31_241F_AAC2_9B55),
            (0, 1024, 0xD6A3_2738_6F39_88F4),
            (0, 1025, 0x878E_6539_DEC2_1405),
            (0, 2100, 0x128E_B96F_12BA_1B1F),
            (KEY, 0, 0x5BA5_4779_292F_E08D),
            (KEY, 3, 0x24A2_6E12_C570_8DD6),
            (KEY, 7, 0x6C2A_A22D_6014_15F5),
            (KEY, 8, 0x62E6_161C_F7E0_8609),
            (KEY, 16, 0x1A22_F793_0088_FE90),
            (KEY, 17, 0x29C9_7524_A366_3198),
            (KEY, 50, 0xC898_B13E_F4E0_9106),
            (KEY, 112, 0xFEA7_9843_CA61_933F),
            (KEY, 1000, 0x7926_40CD_54CC_7BA8),
            (KEY, 1024, 0x0A25_1FE2_16BD_1573),
            (KEY, 1025, 0x9576_18DF_33A6_8896),
            (KEY, 2100, 0x1CA8_8246_5E2D_7BD9),
        ];
        for (bits, length, hash) in frozen {
            let key = DrawnKey::from_bits(bits);
            let digest = Digester::Universal { key }.digest(&input[..length]);
            let expected = Digest::from_u64(hash);
            assert_eq!(digest, expected, "{length} bytes, key {bits:x}");
        }
    }

    #[test]
    fn drawn_keys_never_print() {
        let key = DrawnKey::from_bits(0x5EED_5EED);
        let digester = Digester::Universal { key };
        assert_eq!(format!("{digester}"), "universal");
        assert_eq!(format!("{digester:?}"), "Universal { key: DrawnKey(..) }");
    }
}
