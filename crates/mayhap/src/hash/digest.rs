//! The native hash: 128 bits per key, and the positions they name.
//!
//! `Rapidhash` is rapidhash v3 (Nicoshev, 2025) with a seed, a published hash with implementations in many languages:
//! half the time of XXH3 on 8 and 16 bytes, a sixth to a quarter less on 50 and 100, a little more on 24
//! (`bench/benches/hash.rs`). Its 64 bits are widened to 128 by one multiplication ([`Digest::from_u64`]); the chance
//! that two of n keys are confused, n²/2^65, stays far below any rate a filter of n keys can be asked for.
//! `RapidhashProtected` is its published variant, in which no multiplication by zero erases the state. Both are public:
//! anyone can compute keys that collide, for every seed (`tests/kinds/families.rs` does). `SipHash` is SipHash-1-3 with
//! 128 bits of output and a secret key, for keys that attackers choose. `Universal` is
//! [`UniversalHash`](super::UniversalHash) by a key that the filter keeps, for keys from others who do not see it.
//!
//! All are frozen: files and servers hold positions made by them.

use alloc::sync::Arc;
use core::fmt;
use core::hash::Hasher as _;

use siphasher::sip128::Hasher128 as _;
use zeroize::{Zeroize as _, Zeroizing};

use super::drawn::DrawnKey;
use super::rapidhash::{mix_seed, rapidhash};
use crate::Shape;

/// 2^64 divided by the golden ratio, made odd: the step constant of Weyl sequences.
pub(crate) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The multiplier that widens 64 bits to 128: the first 64 bits of the fraction of sqrt(3) - 1,
/// with the lowest bit set.
pub(crate) const WIDEN: u64 = 0xBB67_AE85_84CA_A73B;

/// The hash function of keys. Public seeds are fast; secret keys resist chosen inputs.
///
/// ```
/// use mayhap::Digester;
///
/// let digest = Digester::default().digest(b"key");
/// assert_eq!(digest, Digester::Rapidhash { seed: 0 }.digest(b"key"));
/// assert_ne!(digest, Digester::Rapidhash { seed: 1 }.digest(b"key"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Digester {
    /// Rapidhash v3 with a public seed, widened to 128 bits. Anyone can compute it, so anyone can find
    /// keys that collide: use it where nobody gains from that. All keys of one length that have a certain number in
    /// eight of their bytes collide, whatever the seed.
    Rapidhash {
        /// The seed; filters merge only when theirs are equal.
        seed: u64,
    },
    /// Rapidhash v3 in its protected variant (`RAPIDHASH_PROTECTED`), which keeps the factors of a product that is
    /// zero. A number in eight bytes alone no longer makes keys collide; two numbers still do, whatever the seed, so it
    /// does not replace a secret. Lookups in cache cost 7 to 13 % more (a million keys in `Blocked`, November
    /// 2026): it is not the default.
    RapidhashProtected {
        /// The seed; filters merge only when theirs are equal.
        seed: u64,
    },
    /// SipHash-1-3-128 under a secret key: an attacker who does not know the key cannot aim at the filter.
    SipHash {
        /// The secret; no format stores it with the bits.
        key: SecretKey,
    },
    /// [`UniversalHash`](super::UniversalHash) by a key that is drawn for the filter and stored with it: nothing else
    /// is needed to open the filter, and nobody who has not seen it can prepare keys that collide. It is weaker than a
    /// secret where others read the file or the server, or learn which keys the filter confuses.
    Universal {
        /// The key; every format stores it, and filters merge only when theirs are equal.
        key: DrawnKey,
    },
}

impl Default for Digester {
    /// `Rapidhash` with seed 0, so that filters merge and files reproduce.
    fn default() -> Self {
        Digester::Rapidhash { seed: 0 }
    }
}

/// A hash function that is chosen, so that a loop over keys need not choose again. `Copy`, so that no loop counts
/// references to a secret: it borrows one.
pub(crate) trait Hash: Copy {
    /// Hashes the bytes of a key.
    fn digest(&self, key: &[u8]) -> Digest;
}

/// Rapidhash with its seed already mixed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rapidhash<const PROTECTED: bool> {
    mixed_seed: u64,
}

impl<const PROTECTED: bool> Rapidhash<PROTECTED> {
    /// The default seed, mixed at compile time.
    const DEFAULT: u64 = mix_seed::<PROTECTED>(0);

    #[inline(always)]
    pub(crate) fn new(seed: u64) -> Rapidhash<PROTECTED> {
        let mixed_seed = match seed {
            0 => Self::DEFAULT,
            seed => mix_seed::<PROTECTED>(seed),
        };
        Rapidhash { mixed_seed }
    }
}

impl<const PROTECTED: bool> Hash for Rapidhash<PROTECTED> {
    #[inline(always)]
    fn digest(&self, key: &[u8]) -> Digest {
        Digest::from_u64(rapidhash::<PROTECTED>(self.mixed_seed, key))
    }
}

impl Digester {
    /// Returns the hash with its seed mixed, if it is rapidhash without protection.
    pub(crate) fn rapidhash(&self) -> Option<Rapidhash<false>> {
        match self {
            Digester::Rapidhash { seed } => Some(Rapidhash::new(*seed)),
            _ => None,
        }
    }

    /// Hashes the bytes of a key.
    // Inlined so that a key of constant length picks its branch of the hash at compile time.
    #[inline(always)]
    pub fn digest(&self, key: &[u8]) -> Digest {
        match self {
            Digester::Rapidhash { seed } => Rapidhash::<false>::new(*seed).digest(key),
            Digester::RapidhashProtected { seed } => Rapidhash::<true>::new(*seed).digest(key),
            Digester::SipHash { key: secret } => secret.digest(key),
            Digester::Universal { key: drawn } => drawn.digest(key),
        }
    }
}

impl fmt::Display for Digester {
    /// Writes its name, such as `rapidhash`, and its seed if that is not 0. Never shows a secret or a drawn key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, seed) = match self {
            Digester::Rapidhash { seed } => ("rapidhash", *seed),
            Digester::RapidhashProtected { seed } => ("rapidhash-protected", *seed),
            Digester::SipHash { .. } => ("siphash", 0),
            Digester::Universal { .. } => ("universal", 0),
        };
        match seed {
            0 => f.write_str(name),
            seed => write!(f, "{name} with seed {seed:#x}"),
        }
    }
}

/// A 128-bit secret for [`Digester::SipHash`]. It prints as `SecretKey(..)`.
///
/// Clones share one copy in memory, which is overwritten with zeros when the last of them is dropped.
///
/// ```
/// use mayhap::SecretKey;
///
/// let secret = SecretKey::from_bytes([7; 16]);
/// assert_eq!(format!("{secret:?}"), "SecretKey(..)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey(Arc<Zeroizing<[u8; 16]>>);

impl SecretKey {
    /// Makes a secret from 16 bytes, which should come from a random source. The array passed in is wiped; wiping other
    /// copies of it is up to the caller.
    pub fn from_bytes(mut bytes: [u8; 16]) -> SecretKey {
        let mut secret = SecretKey(Arc::new(Zeroizing::new([0; 16])));
        secret.bytes_mut().copy_from_slice(&bytes);
        bytes.zeroize();
        secret
    }

    /// The bytes, to be written in place: a value that is moved leaves a copy behind.
    fn bytes_mut(&mut self) -> &mut [u8; 16] {
        &mut *Arc::make_mut(&mut self.0)
    }

    /// Draws a fresh secret from the operating system's random source.
    ///
    /// # Errors
    ///
    /// When the system has no random source; every supported system has one after boot.
    ///
    /// ```
    /// use mayhap::SecretKey;
    ///
    /// assert!(SecretKey::random()? != SecretKey::random()?);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    #[cfg(feature = "std")]
    pub fn random() -> crate::Result<SecretKey> {
        let mut secret = SecretKey::from_bytes([0; 16]);
        getrandom::fill(secret.bytes_mut()).map_err(std::io::Error::from)?;
        Ok(secret)
    }

    /// Returns a number that shows whether two secrets are the same without revealing them: 64 bits
    /// of the hash of a fixed text. Files hold it instead of the secret.
    ///
    /// Anyone who has it can test a guess, so the secret must not be guessable: see
    /// [`random`](SecretKey::random).
    ///
    /// ```
    /// use mayhap::SecretKey;
    ///
    /// let [one, other] = [[7; 16], [8; 16]].map(SecretKey::from_bytes);
    /// assert_ne!(one.check_value(), other.check_value());
    /// ```
    pub fn check_value(&self) -> u64 {
        self.digest(b"mayhap: which secret is this?").lo
    }

    /// Inlined, so that a loop over keys finds the secret once.
    #[inline(always)]
    fn digest(&self, key: &[u8]) -> Digest {
        siphash(&self.0, key)
    }
}

#[inline(never)]
pub(super) fn siphash(secret: &[u8; 16], key: &[u8]) -> Digest {
    let mut hasher = siphasher::sip128::SipHasher13::new_with_key(secret);
    hasher.write(key);
    let hash = hasher.finish128();
    Digest {
        lo: hash.h1,
        hi: hash.h2,
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

/// 128 well-mixed bits: all a native filter ever learns about a key.
///
/// Callers that hash for themselves, or once for many filters, pass digests to the `*_digest`
/// methods. The halves must be uniform and independent of each other.
///
/// ```
/// use mayhap::{Bloom, Digester, hash::Digest};
///
/// let mut filter = Bloom::with_capacity(1000, 0.01)?;
/// let digest = Digester::default().digest(b"key");
/// filter.insert_digest(digest);
/// assert!(filter.contains("key"));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Digest {
    /// The low half.
    pub lo: u64,
    /// The high half.
    pub hi: u64,
}

impl Digest {
    /// Widens a good 64-bit hash to a digest: `hi` is the hash itself, `lo` its product with an odd
    /// constant, modulo 2^64.
    ///
    /// A filter takes the top bits of `hi`. The product carries the others up, so that all bits of
    /// `lo` still vary among keys whose `hi` begin alike.
    #[inline]
    pub fn from_u64(hash: u64) -> Digest {
        Digest {
            lo: hash.wrapping_mul(WIDEN),
            hi: hash,
        }
    }

    /// Derives an independent digest of the same key, one per `stream`: for layers, offsets and retries.
    #[inline]
    pub fn remix(self, stream: u64) -> Digest {
        let hi = mix(self.hi ^ mix(stream.wrapping_mul(GOLDEN).wrapping_add(self.lo)));
        Digest {
            lo: mix(hi.wrapping_add(self.lo)),
            hi,
        }
    }

    /// Returns the positions of this digest in a filter of `shape`.
    #[inline]
    pub fn probe(self, shape: Shape) -> Probe {
        Probe {
            at: self.hi,
            bits: shape.bits(),
            left: shape.hashes(),
        }
    }
}

/// The 64-bit finaliser of SplitMix64 (Steele, Lea, Flood, 2014): every input bit reaches every
/// output bit, and no two inputs have one output.
///
/// ```
/// assert_eq!(mayhap::hash::mix(0x9E37_79B9_7F4A_7C15), 0xE220_A839_7B1D_CDAF);
/// ```
#[inline]
pub fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// The positions of one key in a native filter, in order.
///
/// The high half of the digest is multiplied by an odd constant for each further position, and the
/// high half of a product with `m` reduces it: no modulo bias, no ceiling at 2^32, and none of the
/// repeating positions of plain or "enhanced" double hashing. `tests/kinds/rates.rs` shows that even small,
/// strict filters measure as with independent positions.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    at: u64,
    bits: u64,
    left: u32,
}

/// The multiplier of [`Probe`]: that of a good 64-bit congruential generator (Steele and Vigna,
/// "Computationally easy, spectrally good multipliers", 2021).
const STRIDE: u64 = 0xD134_2543_DE82_EF95;

/// The number of positions that are tested before the first branch on the answer.
const TOGETHER: u32 = 3;

impl Probe {
    /// Returns whether `test` holds at every position. After the first few it stops at the first failure.
    ///
    /// The CPU cannot predict where an absent key fails first, and a wrong guess costs as
    /// much as several tests. So the first three are made without a branch between them: seven of
    /// eight such keys fail there (in a prototype at 1 M keys, November 2026: 17.1 ns to 9.6 for a
    /// miss, 9.6 to 11.1 for a hit; at 100 M keys hardly a change).
    #[inline(always)]
    pub fn every(self, test: impl FnMut(u64) -> bool) -> bool {
        self.every_after::<TOGETHER>(test)
    }

    /// Tests as [`every`](Probe::every) does, with the first `FIRST` tests made together.
    #[inline(always)]
    pub(crate) fn every_after<const FIRST: u32>(
        mut self,
        mut test: impl FnMut(u64) -> bool,
    ) -> bool {
        if self.left >= FIRST {
            self.left -= FIRST;
            // Counted, because the compiler turns a conjunction back into branches.
            let mut held = 0;
            for _ in 0..FIRST {
                held += u32::from(test(self.step()));
            }
            if held < FIRST {
                return false;
            }
        }
        self.all(test)
    }

    /// Calls `visit` at every position; returns whether it was true at any.
    #[inline(always)]
    pub fn some(self, mut visit: impl FnMut(u64) -> bool) -> bool {
        // Counted, as in `every`: the CPU cannot predict whether an insert finds a bit set.
        let count = |count, position| count + u32::from(visit(position));
        self.fold(0, count) > 0
    }

    /// Returns the position, and moves on to the next.
    #[inline(always)]
    fn step(&mut self) -> u64 {
        let position = reduce(self.at, self.bits);
        self.at = self.at.wrapping_mul(STRIDE);
        position
    }
}

impl Iterator for Probe {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        Some(self.step())
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.left as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Probe {}

/// Maps 64 uniform bits to `0..range` by the high half of their product (Lemire, 2019).
///
/// ```
/// use mayhap::hash::reduce;
///
/// assert_eq!((reduce(0, 10), reduce(1 << 63, 10), reduce(u64::MAX, 10)), (0, 5, 9));
/// ```
#[inline]
pub fn reduce(hash: u64, range: u64) -> u64 {
    ((u128::from(hash) * u128::from(range)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::vec::Vec;

    /// Rapidhash v3 of up to 16 bytes, written from its description: the oracle.
    fn rapidhash_short(input: &[u8], seed: u64) -> u64 {
        const SECRET: [u64; 3] = [
            0x2d35_8dcc_aa6c_78a5,
            0x8bb8_4b93_962e_acc9,
            0x4b33_a62e_d433_d4a3,
        ];
        const LAST: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        let product = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            (product as u64, (product >> 64) as u64)
        };
        let mix = |a: u64, b: u64| {
            let (low, high) = product(a, b);
            low ^ high
        };
        let word = |at: usize, width: usize| {
            let bytes = input[at..at + width].iter().rev();
            bytes.fold(0_u64, |word, byte| word << 8 | u64::from(*byte))
        };
        let length = input.len();
        let mut seed = seed ^ mix(seed ^ SECRET[2], SECRET[1]);
        let (a, b) = match length {
            0 => (0, 0),
            1..=3 => (
                u64::from(input[0]) << 45 | u64::from(input[length - 1]),
                u64::from(input[length >> 1]),
            ),
            4..=7 => (word(0, 4), word(length - 4, 4)),
            _ => (word(0, 8), word(length - 8, 8)),
        };
        if length >= 4 {
            seed ^= length as u64;
        }
        let (a, b) = product(a ^ SECRET[1], b ^ seed);
        mix(a ^ LAST, b ^ SECRET[1] ^ length as u64)
    }

    #[test]
    fn public_digests_are_rapidhash_v3() {
        let input: Vec<u8> = (0..16_u8).map(|i| i.wrapping_mul(37) + 11).collect();
        for seed in [0, 1, u64::MAX, 0x0123_4567_89AB_CDEF] {
            for length in 0..=input.len() {
                let digest = Digester::Rapidhash { seed }.digest(&input[..length]);
                assert_eq!(
                    digest.hi,
                    rapidhash_short(&input[..length], seed),
                    "{length}"
                );
            }
        }
    }

    #[test]
    fn native_digests_are_frozen() {
        let input: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let digest = |length: usize| Digester::Rapidhash { seed: 0 }.digest(&input[..length]);
        // Rapidhash by another implementation (rapidhash-js 3.0.0), widened.
        let frozen = [
            (0, 0x0338_DC4B_E2CE_CDAE, 0x0AE2_FF14_3121_E91A),
            (3, 0xDBD0_91BC_F57A_E814, 0x3475_17B9_3080_889C),
            (8, 0xDA56_413F_F396_AF3E, 0xD0D8_D81C_AEF7_D54A),
            (16, 0xD6BF_C1BC_F7E9_CA19, 0x2B66_13F2_0171_E2C3),
            (17, 0x7508_C9E7_4D5B_5366, 0x9C4E_34D3_CDEF_C282),
            (50, 0xCE27_EE5D_E245_CFFA, 0x5BAA_B173_B407_049E),
            (112, 0x6671_7463_7FD3_4AE7, 0xA91E_76AC_81D4_F43D),
            (113, 0xABAF_0E2B_DACF_7E23, 0x95A1_D6CB_5CB8_E711),
            (1000, 0x2A6B_E558_A956_FAF3, 0x6A47_B42D_147E_5B01),
        ];
        for (length, hi, lo) in frozen {
            assert_eq!(digest(length), Digest { lo, hi }, "{length} bytes");
        }
    }

    /// Vectors of the original in C (version 3, compiled with `RAPIDHASH_PROTECTED`).
    #[test]
    fn protected_digests_are_frozen() {
        let input: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let frozen = [
            (0, 0, 0x9C49_8689_2B49_2226),
            (0, 3, 0x9058_6EAE_607E_F418),
            (0, 8, 0x55CD_5DEF_6AC0_1FB0),
            (0, 16, 0x7169_3493_E54C_07B3),
            (0, 17, 0x1DC8_DF5F_5E71_3808),
            (0, 50, 0xB738_61C7_8C85_B102),
            (0, 112, 0x4E9E_2FA2_AEEE_5711),
            (0, 113, 0xBBAA_1E36_6F88_D6A6),
            (0, 1000, 0xF7A9_C5E8_0341_E7D3),
            (1, 8, 0x2F22_B193_4AB5_A6D1),
            (0x0123_4567_89AB_CDEF, 0, 0xC32E_2DB0_4D97_3624),
            (0x0123_4567_89AB_CDEF, 50, 0x66F0_4FC6_4FA5_2073),
            (0x0123_4567_89AB_CDEF, 1000, 0xD1F6_DD60_6845_007B),
        ];
        for (seed, length, hash) in frozen {
            let digest = Digester::RapidhashProtected { seed }.digest(&input[..length]);
            assert_eq!(
                digest,
                Digest::from_u64(hash),
                "{length} bytes, seed {seed:x}"
            );
        }
    }

    #[test]
    fn digests_widen_by_one_multiplication() {
        let hash = 0x0123_4567_89AB_CDEF_u64;
        let lo = (u128::from(hash) * 0xBB67_AE85_84CA_A73B) as u64;
        assert_eq!(Digest::from_u64(hash), Digest { lo, hi: hash });
    }

    #[test]
    fn positions_follow_the_documented_steps() {
        let digest = Digest {
            lo: 0x0123_4567_89AB_CDEF,
            hi: 0xFEDC_BA98_7654_3210,
        };
        let shape = Shape::new(1_000_003, 5).expect("valid");

        let positions: Vec<u64> = digest.probe(shape).collect();

        let mut at = digest.hi;
        for position in positions {
            assert_eq!(position, (u128::from(at) * 1_000_003 / (1 << 64)) as u64);
            at = at.wrapping_mul(0xD134_2543_DE82_EF95);
        }
    }

    #[test]
    fn every_position_is_tested_when_all_hold_and_any_failure_is_seen() {
        for hashes in 1..12 {
            let shape = Shape::new(1 << 40, hashes).expect("valid");
            let probe = Digester::default().digest(b"key").probe(shape);
            let positions: Vec<u64> = probe.collect();
            let mut tested = Vec::new();
            assert!(probe.every(|position| {
                tested.push(position);
                true
            }));
            assert_eq!(tested, positions);
            for failing in positions {
                assert!(!probe.every(|position| position != failing));
            }
        }
    }

    /// SipHash-c-d with 128 bits of output, written from the paper: the oracle.
    fn siphash128(c: u32, d: u32, key: [u8; 16], input: &[u8]) -> (u64, u64) {
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        let (k0, k1) = (word(&key[..8]), word(&key[8..]));
        let mut v = [
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d ^ 0xEE,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ];
        let rounds = |v: &mut [u64; 4], count: u32| {
            for _ in 0..count {
                v[0] = v[0].wrapping_add(v[1]);
                v[2] = v[2].wrapping_add(v[3]);
                v[1] = v[1].rotate_left(13) ^ v[0];
                v[3] = v[3].rotate_left(16) ^ v[2];
                v[0] = v[0].rotate_left(32);
                v[2] = v[2].wrapping_add(v[1]);
                v[0] = v[0].wrapping_add(v[3]);
                v[1] = v[1].rotate_left(17) ^ v[2];
                v[3] = v[3].rotate_left(21) ^ v[0];
                v[2] = v[2].rotate_left(32);
            }
        };
        let whole = input.len() / 8 * 8;
        let mut words: Vec<u64> = input[..whole].chunks(8).map(word).collect();
        words.push(word(&input[whole..]) | (input.len() as u64) << 56);
        for m in words {
            v[3] ^= m;
            rounds(&mut v, c);
            v[0] ^= m;
        }
        v[2] ^= 0xEE;
        rounds(&mut v, d);
        let first = v[0] ^ v[1] ^ v[2] ^ v[3];
        v[1] ^= 0xDD;
        rounds(&mut v, d);
        (first, v[0] ^ v[1] ^ v[2] ^ v[3])
    }

    #[test]
    fn keyed_digests_are_siphash_1_3_128() {
        let key = core::array::from_fn(|i| i as u8);
        // The first vector the authors publish, for 2-4, shows that the oracle is right.
        let (lo, hi) = siphash128(2, 4, key, b"");
        assert_eq!(
            lo.to_le_bytes(),
            [0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6]
        );
        assert_eq!(
            hi.to_le_bytes(),
            [0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93]
        );

        let digester = Digester::SipHash {
            key: SecretKey::from_bytes(key),
        };
        let input: Vec<u8> = (0..100).collect();
        for length in 0..=input.len() {
            let (lo, hi) = siphash128(1, 3, key, &input[..length]);
            assert_eq!(digester.digest(&input[..length]), Digest { lo, hi });
        }
    }

    #[test]
    fn clones_of_a_secret_share_one_copy_that_its_last_drop_wipes() {
        // Freed memory cannot be read, so the type has to show that it is wiped first.
        fn wiped_when_dropped<T: zeroize::ZeroizeOnDrop>(_: &T) {}
        let secret = SecretKey::from_bytes([7; 16]);
        let scheme = crate::Scheme::Native(Digester::SipHash {
            key: secret.clone(),
        });

        let shape = Shape::new(1024, 7).expect("valid");
        let filter = crate::Bloom::new(shape, scheme.clone()).expect("small");
        let other = filter.clone();
        assert_eq!(Arc::strong_count(&secret.0), 4, "with three clones");
        drop((scheme, filter, other));

        assert_eq!(Arc::strong_count(&secret.0), 1, "the last");
        assert_eq!(Arc::weak_count(&secret.0), 0);
        let SecretKey(shared) = &secret;
        wiped_when_dropped::<Zeroizing<[u8; 16]>>(shared);
    }

    #[test]
    fn secrets_never_print() {
        let secret = SecretKey::from_bytes(*b"swordfish-secret");
        let digester = Digester::SipHash {
            key: secret.clone(),
        };
        let printed = format!("{secret:?} {digester:?}");
        assert_eq!(printed, "SecretKey(..) SipHash { key: SecretKey(..) }");
    }

    #[test]
    fn remixed_digests_of_near_streams_share_no_more_bits_than_chance() {
        let digest = Digester::default().digest(b"key");
        let mut shared = 0;
        for stream in 0..1000 {
            let (a, b) = (digest.remix(stream), digest.remix(stream + 1));
            shared += (!(a.lo ^ b.lo)).count_ones() + (!(a.hi ^ b.hi)).count_ones();
        }
        // 128 000 fair coins: mean 64 000, standard deviation 179; five of them.
        assert!((63_105..=64_895).contains(&shared), "{shared}");
    }
}
