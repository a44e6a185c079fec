//! XXH64 with seed 0 (Collet, 2014): the hash of Parquet's filters.
//!
//! Written here, and not taken from a crate, so that it is compiled into the loops that use it: a key whose length the
//! compiler knows costs 5 multiplications and no branch. Tested against the crate.

const PRIMES: [u64; 5] = [
    0x9E37_79B1_85EB_CA87,
    0xC2B2_AE3D_27D4_EB4F,
    0x1656_67B1_9E37_79F9,
    0x85EB_CA77_C2B2_AE63,
    0x27D4_EB2F_1656_67C5,
];

/// Hashes these bytes.
#[inline(always)]
pub(crate) fn xxh64(bytes: &[u8]) -> u64 {
    let start = match bytes.len() {
        ..32 => PRIMES[4],
        _ => stripes(bytes),
    };
    let mut hash = start.wrapping_add(bytes.len() as u64);
    let (_, rest) = bytes.as_chunks::<32>();
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        hash ^= round(0, u64::from_le_bytes(*word));
        hash = multiply_add(hash.rotate_left(27), PRIMES[0], PRIMES[3]);
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        hash ^= u64::from(u32::from_le_bytes(*half)).wrapping_mul(PRIMES[0]);
        hash = multiply_add(hash.rotate_left(23), PRIMES[1], PRIMES[2]);
    }
    for byte in rest {
        hash ^= u64::from(*byte).wrapping_mul(PRIMES[4]);
        hash = hash.rotate_left(11).wrapping_mul(PRIMES[0]);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(PRIMES[1]);
    hash = (hash ^ (hash >> 29)).wrapping_mul(PRIMES[2]);
    hash ^ (hash >> 32)
}

/// Hashes all whole stripes of 32 bytes, by four sums that do not wait for each other.
#[inline]
fn stripes(bytes: &[u8]) -> u64 {
    let first = PRIMES[0].wrapping_add(PRIMES[1]);
    let mut sums = [first, PRIMES[1], 0, PRIMES[0].wrapping_neg()];
    for stripe in bytes.as_chunks::<32>().0 {
        for (sum, word) in sums.iter_mut().zip(stripe.as_chunks::<8>().0) {
            *sum = round(*sum, u64::from_le_bytes(*word));
        }
    }
    let turned = sums.iter().zip([1, 7, 12, 18]);
    let turned = turned.map(|(sum, bits)| sum.rotate_left(bits));
    let joined = turned.fold(0, u64::wrapping_add);
    sums.into_iter().fold(joined, |hash, sum| {
        multiply_add(hash ^ round(0, sum), PRIMES[0], PRIMES[3])
    })
}

#[inline(always)]
fn round(sum: u64, word: u64) -> u64 {
    let sum = sum.wrapping_add(word.wrapping_mul(PRIMES[1]));
    sum.rotate_left(31).wrapping_mul(PRIMES[0])
}

#[inline(always)]
fn multiply_add(number: u64, factor: u64, term: u64) -> u64 {
    number.wrapping_mul(factor).wrapping_add(term)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn every_length_hashes_as_the_crate_does() {
        let bytes: Vec<u8> = (0..300_u32).map(|i| (i * i % 251) as u8).collect();
        for length in 0..bytes.len() {
            let expected = xxhash_rust::xxh64::xxh64(&bytes[..length], 0);
            assert_eq!(xxh64(&bytes[..length]), expected, "{length} bytes");
        }
    }
}
