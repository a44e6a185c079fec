//! Rapidhash v3 (Nicoshev, 2025), with its published secrets, plain and protected.
//!
//! Written here, and not taken from a crate, so that keys of every usual length are hashed inside the loops that use
//! them: the crate's code for more than 16 bytes is a call, around which a loop must spill its registers. Tested
//! against the crate.

const SECRETS: [u64; 7] = [
    0x2d35_8dcc_aa6c_78a5,
    0x8bb8_4b93_962e_acc9,
    0x4b33_a62e_d433_d4a3,
    0x4d5a_2da5_1de1_aa47,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0x90ed_1765_281c_388c,
];

/// The secrets of the pieces of 16 bytes before the last.
const PIECES: [u64; 6] = [
    SECRETS[2], SECRETS[2], SECRETS[1], SECRETS[1], SECRETS[2], SECRETS[1],
];

/// Mixes the seed as the original does before it hashes.
pub(super) const fn mix_seed<const PROTECTED: bool>(seed: u64) -> u64 {
    seed ^ mix::<PROTECTED>(seed ^ SECRETS[2], SECRETS[1])
}

/// Hashes these bytes by a mixed seed.
#[inline(always)]
pub(super) fn rapidhash<const PROTECTED: bool>(seed: u64, bytes: &[u8]) -> u64 {
    let length = bytes.len();
    if length > 16 {
        return rapidhash_long::<PROTECTED>(seed, bytes);
    }
    if length >= 8 {
        let (first, last) = (word(bytes), word(&bytes[length - 8..]));
        return finish::<PROTECTED>(first, last ^ seed ^ length as u64, length);
    }
    if length >= 4 {
        let (first, last) = (half(bytes), half(&bytes[length - 4..]));
        return finish::<PROTECTED>(first, last ^ seed ^ length as u64, length);
    }
    if length == 0 {
        return finish::<PROTECTED>(0, seed, 0);
    }
    let byte = |index: usize| u64::from(bytes[index]);
    let ends = byte(0) << 45 | byte(length - 1);
    finish::<PROTECTED>(ends, byte(length / 2) ^ seed, length)
}

/// Hashes more than 16 bytes.
#[inline(always)]
fn rapidhash_long<const PROTECTED: bool>(mut seed: u64, bytes: &[u8]) -> u64 {
    let mut rest = bytes;
    if bytes.len() > 112 {
        (seed, rest) = stripes::<PROTECTED>(seed, bytes);
    }
    let pieces = rest[..rest.len() - 1].as_chunks::<16>().0;
    for (piece, secret) in pieces.iter().zip(PIECES) {
        seed = mix::<PROTECTED>(word(piece) ^ secret, word(&piece[8..]) ^ seed);
    }
    let last = &bytes[bytes.len() - 16..];
    let (first, last) = (word(last) ^ rest.len() as u64, word(&last[8..]));
    finish::<PROTECTED>(first, last ^ seed, rest.len())
}

/// Consumes all stripes of 112 bytes but the last; returns the seed after them, and the rest.
#[inline(never)]
fn stripes<const PROTECTED: bool>(seed: u64, mut bytes: &[u8]) -> (u64, &[u8]) {
    let mut seeds = [seed; 7];
    while bytes.len() > 112 {
        let (stripe, rest) = bytes.split_at(112);
        let pieces = stripe.as_chunks::<16>().0;
        for ((seed, piece), secret) in seeds.iter_mut().zip(pieces).zip(SECRETS) {
            *seed = mix::<PROTECTED>(word(piece) ^ secret, word(&piece[8..]) ^ *seed);
        }
        bytes = rest;
    }
    (seeds.into_iter().fold(0, |all, seed| all ^ seed), bytes)
}

#[inline(always)]
fn finish<const PROTECTED: bool>(first: u64, last: u64, length: usize) -> u64 {
    let (low, high) = multiply::<PROTECTED>(first ^ SECRETS[1], last);
    mix::<PROTECTED>(
        low ^ 0xAAAA_AAAA_AAAA_AAAA,
        high ^ SECRETS[1] ^ length as u64,
    )
}

/// Both halves of the product; protected, each keeps a factor.
#[inline(always)]
const fn multiply<const PROTECTED: bool>(left: u64, right: u64) -> (u64, u64) {
    let product = left as u128 * right as u128;
    let (low, high) = (product as u64, (product >> 64) as u64);
    if PROTECTED {
        return (low ^ left, high ^ right);
    }
    (low, high)
}

#[inline(always)]
const fn mix<const PROTECTED: bool>(left: u64, right: u64) -> u64 {
    let (low, high) = multiply::<PROTECTED>(left, right);
    low ^ high
}

/// The first eight bytes, which must exist.
#[inline(always)]
fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("eight bytes"))
}

/// The first four bytes, which must exist.
#[inline(always)]
fn half(bytes: &[u8]) -> u64 {
    u64::from(u32::from_le_bytes(
        *bytes.first_chunk().expect("four bytes"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::rapidhash::v3::{DEFAULT_RAPID_SECRETS, RapidSecrets, rapidhash_v3_inline};
    use alloc::vec::Vec;

    #[test]
    fn every_length_hashes_as_the_crate_does() {
        let bytes: Vec<u8> = (0..700_u32).map(|i| (i * i % 251) as u8).collect();
        for seed in [0, 1, 0x0123_4567_89AB_CDEF, u64::MAX] {
            let secrets = |seed| RapidSecrets {
                seed,
                ..DEFAULT_RAPID_SECRETS
            };
            for bytes in (0..bytes.len()).map(|length| &bytes[..length]) {
                let expected = rapidhash_v3_inline::<true, false, false>(bytes, &secrets(seed));
                assert_eq!(rapidhash::<false>(seed, bytes), expected, "{}", bytes.len());
                let expected = rapidhash_v3_inline::<true, false, true>(bytes, &secrets(seed));
                assert_eq!(rapidhash::<true>(seed, bytes), expected, "{}", bytes.len());
            }
            assert_eq!(mix_seed::<false>(seed), RapidSecrets::seed_cpp(seed).seed);
        }
    }
}
