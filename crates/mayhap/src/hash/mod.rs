//! Hashing: from the bytes of a key to its positions.
//!
//! [`Scheme`] is the closed list of ways to choose the `k` positions of a key, and the one place
//! where a way is picked. [`Digester`] and [`Digest`] are the
//! native way; the others are those of other programs, bit for bit, for filters that already exist.
//! [`UniversalHash`] is for hashes that are never saved; a [`DrawnKey`] makes one whose hashes are.

mod dcso;
mod digest;
mod drawn;
mod floor_mod;
mod guava;
pub mod murmur3;
mod names;
mod rapidhash;
mod redisbloom;
mod salted;
mod spark;
mod three_hash;
mod universal;
mod xxh64;

use alloc::vec::Vec;

pub use digest::{Digest, Digester, Probe, SecretKey, mix, reduce};
pub(crate) use digest::{GOLDEN, Hash, Rapidhash, WIDEN};
pub use drawn::DrawnKey;
pub use redisbloom::murmur64a;
pub use salted::MessageDigest;
#[cfg(feature = "message-digests")]
pub use salted::salted_hashes;
pub use three_hash::three_hashes;
pub use universal::UniversalHash;

pub use crate::key::Utf16;
pub(crate) use xxh64::xxh64;

use crate::{Error, Result, Shape, Sizing};

/// The way a standard filter chooses the positions of a key.
///
/// Schemes are permanent: their positions are stored in files and servers. New behaviour is a new
/// variant.
///
/// ```
/// use mayhap::{Scheme, Shape};
///
/// let shape = Shape::new(128, 7)?;
/// assert_eq!(Scheme::Guava64.positions(b"hello", shape), [2, 27, 52, 77, 102, 127, 24]);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// The native scheme: a 128-bit digest and full-width probing.
    Native(Digester),
    /// Guava's `MURMUR128_MITZ_64`, its default since version 17.
    Guava64,
    /// Guava's `MURMUR128_MITZ_32`, its default before version 17. Only 2^31 positions are used.
    Guava32,
    /// Big-endian integers of a salted message digest, reduced by the absolute value of the remainder: a
    /// filter kept in Redis bitmaps. Needs the feature `message-digests`.
    Salted(MessageDigest),
    /// Three string hashes, one position each.
    ThreeHash,
    /// Double hashing with the two halves of 64 bits of murmur, reduced by floor-mod.
    MurmurFloorMod,
    /// Spark's sketch filter, version 1: the only one before Spark 4.1. Only 2^31 positions are
    /// used.
    Spark1,
    /// Spark's sketch filter, version 2, since Spark 4.1.
    Spark2 {
        /// The seed of its first hash: 0 unless the filter was made with one.
        seed: i32,
    },
    /// The `bloom` tools of DCSO: FNV-1 and powers of a generator.
    Dcso,
    /// RedisBloom: MurmurHash64A twice, and double hashing of 64 bits.
    RedisBloom,
}

impl Default for Scheme {
    fn default() -> Self {
        Scheme::Native(Digester::default())
    }
}

impl Scheme {
    /// Returns whether `test` holds at every position of the key. It may be called at a few more positions
    /// after it failed at one.
    // Always inlined, with the foreign arms kept out of line: otherwise the whole dispatch stays a
    // call on the native path.
    #[inline(always)]
    pub fn every(&self, key: &[u8], shape: Shape, test: impl FnMut(u64) -> bool) -> bool {
        match self {
            Scheme::Native(digester) => digester.digest(key).probe(shape).every(test),
            foreign => foreign.every_foreign(key, shape, test),
        }
    }

    /// Calls `visit` at every position of the key; returns whether it was true at any.
    #[inline(always)]
    pub fn some(&self, key: &[u8], shape: Shape, visit: impl FnMut(u64) -> bool) -> bool {
        match self {
            Scheme::Native(digester) => digester.digest(key).probe(shape).some(visit),
            foreign => foreign.some_foreign(key, shape, visit),
        }
    }

    /// Returns the positions of the key, in order; some may be equal.
    ///
    /// # Panics
    ///
    /// Panics if the scheme is not built in, which [`check`](Scheme::check) reports.
    pub fn positions(&self, key: &[u8], shape: Shape) -> Vec<u64> {
        let mut positions = Vec::with_capacity(shape.hashes() as usize);
        self.some(key, shape, |position| {
            positions.push(position);
            false
        });
        positions
    }

    /// Returns the shape that the program of this scheme gives a filter; [`Sizing::Optimal`] for a native scheme.
    ///
    /// ```
    /// use mayhap::Scheme;
    ///
    /// assert_eq!(Scheme::Guava64.shape_for(1000, 0.01)?.bits(), 9600);
    /// assert_eq!(Scheme::ThreeHash.shape_for(1000, 0.01)?.hashes(), 3);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Sizing::shape`].
    pub fn shape_for(&self, keys: u64, rate: f64) -> Result<Shape> {
        let rule = match self {
            Scheme::Native(_) => Sizing::Optimal,
            Scheme::Guava64 | Scheme::Guava32 => Sizing::Guava,
            Scheme::Salted(_) => Sizing::Salted,
            Scheme::ThreeHash => Sizing::ThreeHash,
            Scheme::MurmurFloorMod => Sizing::MurmurFloorMod,
            Scheme::Spark1 | Scheme::Spark2 { .. } => Sizing::GuavaBefore33_4,
            Scheme::Dcso => Sizing::Dcso,
            Scheme::RedisBloom => Sizing::RedisBloom,
        };
        rule.shape(keys, rate)
    }

    /// Checks that the original of this scheme could have a filter of this shape.
    ///
    /// # Errors
    ///
    /// Names the number of bits or hashes that the original cannot have, or the feature of this crate that the
    /// scheme needs. The native scheme accepts every shape.
    pub fn check(&self, shape: Shape) -> Result<()> {
        if cfg!(not(feature = "message-digests")) && matches!(self, Scheme::Salted(_)) {
            return Err(Error::Feature {
                what: "a salted scheme",
                feature: "message-digests",
            });
        }
        let (bits_fit, expected, hashes) = match self {
            Scheme::Native(_) => return Ok(()),
            Scheme::Guava64 | Scheme::Guava32 => (
                shape.bits().is_multiple_of(64) && shape.bits() / 64 <= i32::MAX as u64,
                "a multiple of 64, at most 64 * (2^31 - 1), as Guava stores them",
                1..=255,
            ),
            Scheme::Salted(_) | Scheme::MurmurFloorMod => (
                shape.bits() <= i32::MAX as u64,
                "at most 2^31 - 1, the positions its 32-bit hashes reach",
                1..=Shape::MAX_HASHES,
            ),
            Scheme::ThreeHash => (
                shape.bits() <= i32::MAX as u64,
                "at most 2^31 - 1, the positions its 32-bit hashes reach",
                3..=3,
            ),
            Scheme::Spark1 | Scheme::Spark2 { .. } => (
                shape.bits().is_multiple_of(64) && shape.bits() / 64 <= i32::MAX as u64,
                "a multiple of 64, at most 64 * (2^31 - 1), as Spark stores them",
                1..=Shape::MAX_HASHES,
            ),
            Scheme::Dcso => (
                shape.bits() <= 1 << 53,
                "at most 2^53, past which the original miscounts its words",
                1..=Shape::MAX_HASHES,
            ),
            Scheme::RedisBloom => (
                shape.bits().is_multiple_of(64),
                "a multiple of 64, as RedisBloom stores them",
                1..=Shape::MAX_HASHES,
            ),
        };
        if !bits_fit {
            return Err(Error::Bits {
                got: shape.bits(),
                expected,
            });
        }
        if !hashes.contains(&shape.hashes()) {
            return Err(Error::Hashes {
                got: shape.hashes(),
                least: *hashes.start(),
                most: *hashes.end(),
            });
        }
        Ok(())
    }

    #[inline(never)]
    fn every_foreign(&self, key: &[u8], shape: Shape, test: impl FnMut(u64) -> bool) -> bool {
        match self {
            Scheme::Native(digester) => digester.digest(key).probe(shape).all(test),
            Scheme::Guava64 => guava::Mitz64::new(key, shape).all(test),
            Scheme::Guava32 => guava::mitz32(key, shape).all(test),
            Scheme::Salted(digest) => salted::positions(*digest, key, shape).all(test),
            Scheme::ThreeHash => three_hash::positions(key, shape).all(test),
            Scheme::MurmurFloorMod => floor_mod::FloorMod::new(key, shape).all(test),
            Scheme::Spark1 => spark::positions1(key, shape).all(test),
            Scheme::Spark2 { seed } => spark::positions2(key, *seed, shape).all(test),
            Scheme::Dcso => dcso::Powers::new(key, shape).all(test),
            Scheme::RedisBloom => redisbloom::Sums::new(key, shape).all(test),
        }
    }

    #[inline(never)]
    fn some_foreign(&self, key: &[u8], shape: Shape, mut visit: impl FnMut(u64) -> bool) -> bool {
        let mut any = false;
        self.every_foreign(key, shape, |position| {
            any |= visit(position);
            true
        });
        any
    }
}

/// The low and the high half of a 64-bit hash, as Java's `(int)` casts give them.
fn signed_halves(hash: u64) -> (i32, i32) {
    (hash as i32, (hash >> 32) as i32)
}
