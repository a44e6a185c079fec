//! MurmurHash3 as Guava computes it: the hash under Guava's filter and the one with floor-mod.
//!
//! The 128-bit hash is the x64 variant. Guava sign-extends its 32-bit seed, where the C++ original
//! zero-extends it, so seeds of 2^31 and above differ from other implementations; filters use seed
//! 0, where all agree. Beware: the empty input under seed 0 hashes to zero.

/// The x64 variant, 128 bits: `(h1, h2)`. `h1` is Guava's `asLong()`.
///
/// ```
/// use mayhap::hash::murmur3;
///
/// assert_eq!(murmur3::hash128(b"hello", 0), (0xcbd8_a7b3_41bd_9b02, 0x5b1e_906a_48ae_1d19));
/// assert_eq!(murmur3::hash128(b"", 0), (0, 0));
/// ```
pub fn hash128(input: &[u8], seed: i32) -> (u64, u64) {
    let mut h1 = i64::from(seed) as u64;
    let mut h2 = h1;
    let (blocks, tail) = input.as_chunks::<16>();
    for block in blocks {
        let (k1, k2) = halves(block);
        h1 ^= mix_k1(k1);
        h1 = h1.rotate_left(27).wrapping_add(h2);
        h1 = h1.wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= mix_k2(k2);
        h2 = h2.rotate_left(31).wrapping_add(h1);
        h2 = h2.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }

    // A zero mixes to zero, so a short or empty tail needs no branch.
    let mut last = [0; 16];
    last[..tail.len()].copy_from_slice(tail);
    let (k1, k2) = halves(&last);
    h1 ^= mix_k1(k1);
    h2 ^= mix_k2(k2);

    h1 ^= input.len() as u64;
    h2 ^= input.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finish64(h1);
    h2 = finish64(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2)
}

fn halves(block: &[u8; 16]) -> (u64, u64) {
    let both = u128::from_le_bytes(*block);
    (both as u64, (both >> 64) as u64)
}

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

fn mix_k1(k1: u64) -> u64 {
    k1.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn mix_k2(k2: u64) -> u64 {
    k2.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn finish64(mut k: u64) -> u64 {
    k = (k ^ (k >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    k = (k ^ (k >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

/// The x86 variant, 32 bits: Guava's `murmur3_32_fixed().hashBytes(input)`.
///
/// ```
/// assert_eq!(mayhap::hash::murmur3::hash32(b"", 0), 0);
/// ```
pub fn hash32(input: &[u8], seed: i32) -> u32 {
    let mut h = seed as u32;
    let (blocks, tail) = input.as_chunks::<4>();
    for block in blocks {
        h = mix_h(h, u32::from_le_bytes(*block));
    }
    let mut last = [0; 4];
    last[..tail.len()].copy_from_slice(tail);
    h ^= mix_k(u32::from_le_bytes(last));
    finish32(h, input.len())
}

/// Guava's deprecated `murmur3_32().hashString(text, UTF_8)`, with its error.
///
/// The same as [`hash32`] of the UTF-8 bytes unless the text has characters outside the basic
/// plane past its leading ASCII: the four bytes of such a character do not move the write
/// position, so those that follow are or-ed over them.
///
/// ```
/// use mayhap::hash::murmur3::{hash32, hash32_before_fix};
///
/// assert_eq!(hash32_before_fix("plain", 0), hash32(b"plain", 0));
/// assert_ne!(hash32_before_fix("😀 face", 0), hash32("😀 face".as_bytes(), 0));
/// ```
pub fn hash32_before_fix(text: &str, seed: i32) -> u32 {
    let mut h = seed as u32;
    let mut buffer = 0_u64;
    let mut shift = 0_usize;
    for character in text.chars() {
        let mut utf8 = [0; 4];
        let width = character.encode_utf8(&mut utf8).len();
        buffer |= u64::from(u32::from_le_bytes(utf8)) << shift;
        if width < 4 {
            shift += 8 * width;
        }
        if shift >= 32 {
            h = mix_h(h, buffer as u32);
            buffer >>= 32;
            shift -= 32;
        }
    }
    h ^= mix_k(buffer as u32);
    finish32(h, text.len())
}

fn mix_k(k: u32) -> u32 {
    k.wrapping_mul(0xcc9e_2d51)
        .rotate_left(15)
        .wrapping_mul(0x1b87_3593)
}

pub(super) fn mix_h(h: u32, k: u32) -> u32 {
    (h ^ mix_k(k))
        .rotate_left(13)
        .wrapping_mul(5)
        .wrapping_add(0xe654_6b64)
}

pub(super) fn finish32(mut h: u32, length: usize) -> u32 {
    h ^= length as u32;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}
