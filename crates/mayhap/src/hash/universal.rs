//! A hash function drawn at random: nobody can prepare keys that collide. For hashes that stay in memory, and by a
//! [`DrawnKey`](super::DrawnKey) for those of a filter: it is frozen.
//!
//! Two different keys collide with a probability of at most 2^-64 (1 + 2^-30), over the draw, whoever chose them, as
//! long as they were chosen without seeing hashes; keys of up to 1024 bytes with exactly 2^-64. So n keys have n²/2^65
//! collisions in the mean. Costs three multiplications for 16 bytes, and 2160 bytes of multipliers. Why it holds:
//!
//! 1. *A short key*, of at most 1024 bytes, is a vector of 64-bit words: its length, and its bytes. The hash is the
//!    upper half of `start + Σ multiplier * word` modulo 2^128, with random numbers of 128 bits: vector
//!    multiply-shift. Take two vectors that differ in a word, by d = 2^t * odd, where t < 64. Whatever the other
//!    multipliers are, the one sum is uniform because of `start`, and the other is that plus a fixed number plus
//!    `multiplier * d`, which is uniform among the multiples of 2^t: so both upper halves are uniform, and independent
//!    of each other. Words x and y of a pair share a product, `(a + y) (b + x) = a x + b y + a b + x y`: for keys of
//!    one length a b is the same and x y fixed; keys of two lengths differ in that word.
//! 2. *A longer key* is cut into chunks of 1024 bytes. All but the last become four words each: two sums as above, with
//!    64-bit multipliers, of which all 128 bits are kept. Different chunks agree in one sum with a probability of 2^-64
//!    at most, because `multiplier * d = c` has at most one solution below 2^64; in both with 2^-128. The words are the
//!    coefficients of a polynomial. Its value at a random point modulo 2^127 - 1 becomes two more words of step 1:
//!    different polynomials of degree g agree at g points at most, of 2^127. Keys below 2^40 bytes have g < 2^32. The
//!    multipliers of these two words are used for nothing else; where the chunks are the same, the words are too.
//! 3. The finaliser of SplitMix64 maps 64 bits to 64 bits one to one, which adds no collision. It breaks up the regular
//!    distances that step 1 gives to keys at regular distances.
//!
//! After Dietzfelbinger, "Universal hashing and k-wise independent random variables via integer arithmetic without
//! primes", 1996; Thorup, "High speed hashing for integers and strings", 2015; Carter and Wegman, "Universal classes
//! of hash functions", 1979.

use core::fmt;

use super::digest::mix;

/// The bytes that there are multipliers for; longer keys are cut.
const CHUNK_BYTES: usize = 1024;

/// The pairs of words in a chunk.
const PAIRS: usize = CHUNK_BYTES / 16;

/// A hash function of its own, drawn at random. Its hashes mean nothing to another one, so do not save them, unless
/// it was drawn by a [`DrawnKey`](super::DrawnKey).
///
/// ```
/// use mayhap::hash::UniversalHash;
///
/// let hash = UniversalHash::random()?;
/// assert_eq!(hash.hash(b"key"), hash.hash(b"key"));
/// assert_ne!(hash.hash(b"key"), hash.hash(b"yek"));
/// assert_ne!(hash.hash(b"key"), UniversalHash::random()?.hash(b"key"));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct UniversalHash {
    start: u128,
    length: u128,
    /// Multipliers for the two halves of the polynomial's value.
    value: [u128; 2],
    /// Multipliers for the last sixteen bytes, or for all bytes if there are fewer.
    last: [u128; 2],
    /// Multipliers for the sixteen bytes at each multiple of sixteen.
    pairs: [[u128; 2]; PAIRS],
    /// The point at which the polynomial is evaluated, below 2^127.
    point: u128,
}

impl UniversalHash {
    /// Draws a hash function from the operating system's random source.
    ///
    /// # Errors
    ///
    /// When the system has no random source; every supported system has one after boot.
    #[cfg(feature = "std")]
    pub fn random() -> crate::Result<UniversalHash> {
        let mut bytes = [0; size_of::<UniversalHash>()];
        getrandom::fill(&mut bytes).map_err(std::io::Error::from)?;
        let mut words = bytes.as_chunks::<8>().0.iter();
        Ok(UniversalHash::from_fn(|| {
            u64::from_le_bytes(*words.next().expect("a byte is drawn for each of its bytes"))
        }))
    }

    /// Draws a hash function from your random source, which should give independent, uniform numbers.
    ///
    /// ```
    /// use mayhap::hash::UniversalHash;
    ///
    /// // A counter is not random, and shows only the form.
    /// let mut numbers = 1_u64..;
    /// let hash = UniversalHash::from_fn(|| numbers.next().expect("endless"));
    /// assert_eq!(hash.hash(b"key"), hash.clone().hash(b"key"));
    /// ```
    pub fn from_fn(mut next: impl FnMut() -> u64) -> UniversalHash {
        let mut number = || u128::from(next()) << 64 | u128::from(next());
        UniversalHash {
            start: number(),
            length: number(),
            value: [number(), number()],
            last: [number(), number()],
            pairs: core::array::from_fn(|_| [number(), number()]),
            point: number() & PRIME,
        }
    }

    /// Hashes the bytes of a key.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> u64 {
        let product = self.length.wrapping_mul(key.len() as u128);
        let mut sum = Sum(self.start.wrapping_add(product));
        let mut rest = key;
        if key.len() > CHUNK_BYTES {
            let value;
            (value, rest) = self.polynomial(key);
            sum.add(&self.value, value as u64, (value >> 64) as u64);
        }
        if rest.len() > 16 {
            // The last pair may overlap the one before it: the bytes are still those of no other key.
            let pairs = rest[..rest.len() - 1].as_chunks::<16>().0;
            for (pair, multipliers) in pairs.iter().zip(&self.pairs) {
                sum.add(multipliers, word(pair, 0), word(pair, 8));
            }
            let (first, second) = (rest.len() - 16, rest.len() - 8);
            sum.add(&self.last, word(rest, first), word(rest, second));
        } else {
            let (first, second) = short(rest);
            sum.add(&self.last, first, second);
        }
        mix((sum.0 >> 64) as u64)
    }

    /// Returns the value that stands for all chunks but the last, and the last chunk.
    #[inline(never)]
    fn polynomial<'a>(&self, key: &'a [u8]) -> (u128, &'a [u8]) {
        let (mut value, mut rest) = (0, key);
        while rest.len() > CHUNK_BYTES {
            let (chunk, after) = rest.split_at(CHUNK_BYTES);
            let mut sums = [0_u128; 2];
            for (pair, multipliers) in chunk.as_chunks::<16>().0.iter().zip(&self.pairs) {
                for (at, multiplier) in [0, 8].into_iter().zip(multipliers) {
                    let word = u128::from(word(pair, at));
                    let halves = [*multiplier as u64, (multiplier >> 64) as u64];
                    for (sum, half) in sums.iter_mut().zip(halves) {
                        *sum = sum.wrapping_add(u128::from(half) * word);
                    }
                }
            }
            for sum in sums {
                for coefficient in [sum as u64, (sum >> 64) as u64] {
                    value = fold(multiply(value, self.point) + u128::from(coefficient));
                }
            }
            rest = after;
        }
        (value, rest)
    }
}

impl fmt::Debug for UniversalHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UniversalHash(..)")
    }
}

/// A sum of products modulo 2^128.
struct Sum(u128);

impl Sum {
    /// Adds one product for two words.
    #[inline(always)]
    fn add(&mut self, multipliers: &[u128; 2], first: u64, second: u64) {
        let one = multipliers[0].wrapping_add(second.into());
        let other = multipliers[1].wrapping_add(first.into());
        self.0 = self.0.wrapping_add(one.wrapping_mul(other));
    }
}

/// The two words of at most sixteen bytes: different ones for different bytes, if there are equally many.
#[inline(always)]
fn short(bytes: &[u8]) -> (u64, u64) {
    let length = bytes.len();
    match length {
        0 => (0, 0),
        1..=3 => {
            let [first, middle, last] = [0, length / 2, length - 1].map(|at| u64::from(bytes[at]));
            (first << 16 | middle << 8 | last, 0)
        }
        4..=7 => (half(bytes, 0), half(bytes, length - 4)),
        _ => (word(bytes, 0), word(bytes, length - 8)),
    }
}

/// The eight bytes at an offset.
#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    let bytes = &bytes[at..at + 8];
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

/// The four bytes at an offset.
#[inline(always)]
fn half(bytes: &[u8], at: usize) -> u64 {
    let bytes = &bytes[at..at + 4];
    u64::from(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
}

/// 2^127 - 1.
const PRIME: u128 = u128::MAX >> 1;

/// A number of the same residue modulo 2^127 - 1, at most 2^127.
fn fold(number: u128) -> u128 {
    (number & PRIME) + (number >> 127)
}

/// The product modulo 2^127 - 1, at most 2^127. The first factor is at most 2^127, the other below.
fn multiply(one: u128, other: u128) -> u128 {
    let halves = |number: u128| (number >> 64, number & u128::from(u64::MAX));
    let ((a, b), (c, d)) = (halves(one), halves(other));
    // One is a 2^64 + b, the other c 2^64 + d, where a is at most 2^63 and c below: each product here and the sum
    // of two are below 2^128. The residue of 2^128 is 2, and of 2^127 it is 1.
    let (high, middle, low) = (a * c, a * d + b * c, b * d);
    let upper = fold(2 * high + (middle >> 63));
    let upper = fold(upper + ((middle & (u128::MAX >> 65)) << 64));
    fold(upper + fold(low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec;
    use alloc::vec::Vec;

    /// Draws a hash function by a seed: numbers of SplitMix64.
    fn drawn(seed: u64) -> UniversalHash {
        UniversalHash::from_fn(random(seed))
    }

    fn random(mut state: u64) -> impl FnMut() -> u64 {
        move || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            mix(state)
        }
    }

    /// The product modulo 2^127 - 1, by doubling: the oracle.
    fn multiply_slowly(one: u128, other: u128) -> u128 {
        let mut product = 0;
        for bit in (0..127).rev() {
            product = (product * 2) % PRIME;
            if other >> bit & 1 == 1 {
                product = (product + one % PRIME) % PRIME;
            }
        }
        product
    }

    #[test]
    fn products_are_those_modulo_the_prime() {
        let mut next = random(1);
        let mut wide = || u128::from(next()) << 64 | u128::from(next());
        let edges = [0, 1, 2, 1 << 64, PRIME - 1, PRIME, PRIME + 1];
        let numbers: Vec<u128> = (0..40).map(|_| wide() & PRIME).chain(edges).collect();
        for &one in &numbers {
            for &other in numbers.iter().filter(|other| **other <= PRIME) {
                let product = multiply(one, other);
                assert!(product <= 1 << 127);
                assert_eq!(
                    product % PRIME,
                    multiply_slowly(one, other),
                    "{one} {other}"
                );
            }
        }
    }

    /// The definition, word by word, with products of 128 bits taken slowly: the oracle.
    fn hash_slowly(hash: &UniversalHash, key: &[u8]) -> u64 {
        let read = |at: usize, width: usize| {
            let bytes = key[at..at + width].iter().rev();
            bytes.fold(0_u128, |word, byte| word << 8 | u128::from(*byte))
        };
        let chunks = key.len().saturating_sub(1) / 1024;
        // Two multipliers and two words each.
        let mut vector = Vec::new();
        if chunks > 0 {
            let mut value = 0;
            for chunk in 0..chunks {
                let mut sums = [0_u128; 2];
                for i in 0..128 {
                    for (half, sum) in sums.iter_mut().enumerate() {
                        let multiplier =
                            hash.pairs[i / 2][i % 2] >> (64 * half) & u128::from(u64::MAX);
                        *sum = sum.wrapping_add(multiplier * read(chunk * 1024 + i * 8, 8));
                    }
                }
                let words = sums
                    .iter()
                    .flat_map(|sum| [sum & u128::from(u64::MAX), sum >> 64]);
                for word in words {
                    value = (multiply_slowly(hash.point, value) + word) % PRIME;
                }
            }
            vector.push((hash.value, [value & u128::from(u64::MAX), value >> 64]));
        }
        let (start, end) = (chunks * 1024, key.len());
        let last = match end - start {
            0 => [0, 0],
            length @ 1..=3 => {
                let [first, middle] = [start, start + length / 2].map(|at| read(at, 1));
                [first << 16 | middle << 8 | read(end - 1, 1), 0]
            }
            4..=7 => [read(start, 4), read(end - 4, 4)],
            8..=16 => [read(start, 8), read(end - 8, 8)],
            length => {
                for i in 0..(length - 1) / 16 {
                    let at = start + i * 16;
                    vector.push((hash.pairs[i], [read(at, 8), read(at + 8, 8)]));
                }
                [read(end - 16, 8), read(end - 8, 8)]
            }
        };
        vector.push((hash.last, last));
        let length = hash.length.wrapping_mul(key.len() as u128);
        let start = hash.start.wrapping_add(length);
        // (a + y)(b + x), multiplied out.
        let sum = vector.iter().fold(start, |sum, &([a, b], [x, y])| {
            let products = [(a, b), (a, x), (b, y), (x, y)];
            let products = products.map(|(one, other)| one.wrapping_mul(other));
            products.into_iter().fold(sum, u128::wrapping_add)
        });
        mix((sum >> 64) as u64)
    }

    #[test]
    fn hashes_are_those_of_the_definition_at_every_length() {
        let mut next = random(2);
        let bytes: Vec<u8> = (0..5000).map(|_| next() as u8).collect();
        let hash = drawn(3);
        let around = |middle: usize| middle - 20..middle + 20;
        for length in (0..200)
            .chain(around(1024))
            .chain(around(2048))
            .chain(around(4096))
        {
            let key = &bytes[..length];
            // The value may be 2^127 - 1 instead of 0, with a probability too small to happen.
            assert_eq!(hash.hash(key), hash_slowly(&hash, key), "{length} bytes");
        }
    }

    /// Keys that differ in one bit, at every place and length: each gets a hash of its own, and each bit of the hash
    /// changes for half of them.
    #[test]
    fn every_bit_of_a_key_changes_half_of_the_bits_of_its_hash() {
        let hash = drawn(4);
        for length in [
            1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 50, 100, 1024, 1025, 3000,
        ] {
            let mut key = vec![0x41_u8; length];
            let before = hash.hash(&key);
            let mut changed = [0_u32; 64];
            let mut seen = BTreeSet::from([before]);
            for bit in 0..length * 8 {
                key[bit / 8] ^= 1 << (bit % 8);
                let after = hash.hash(&key);
                key[bit / 8] ^= 1 << (bit % 8);
                assert!(seen.insert(after), "bit {bit} of {length} bytes");
                for (place, changed) in changed.iter_mut().enumerate() {
                    *changed += u32::from((before ^ after) >> place & 1 == 1);
                }
            }
            let trials = length as f64 * 8.0;
            for changed in changed {
                let off = (f64::from(changed) - trials / 2.0).abs() / (trials / 4.0).sqrt();
                assert!(off < 5.5, "{length} bytes: {changed} of {trials}");
            }
        }
    }

    /// Chi-square of 65 536 keys in 256 buckets, at each of the eight bytes of the hash: 255 is expected, with a
    /// deviation of 23; six of them.
    #[test]
    fn hashes_of_regular_keys_are_uniform() {
        type Family = (&'static str, fn(u64) -> Vec<u8>);
        let families: [Family; 6] = [
            ("counting", |i| i.to_le_bytes().to_vec()),
            ("counting from the other end", |i| i.to_be_bytes().to_vec()),
            ("steps of 2^40", |i| (i << 40).to_le_bytes().to_vec()),
            ("decimal numbers", |i| alloc::format!("{i}").into_bytes()),
            ("addresses", |i| {
                alloc::format!("https://example.org/page/{i}/index.html").into_bytes()
            }),
            ("zeros", |i| vec![0; i as usize / 8]),
        ];
        for (name, key) in families {
            for seed in 0..3 {
                let hash = drawn(seed);
                // Zeros grow long, so there are fewer such keys.
                let count: u64 = if name == "zeros" { 1 << 13 } else { 1 << 16 };
                let step = if name == "zeros" { 8 } else { 1 };
                let mut buckets = vec![[0_u32; 256]; 8];
                for i in 0..count {
                    let hash = hash.hash(&key(i * step));
                    for (buckets, byte) in buckets.iter_mut().zip(hash.to_le_bytes()) {
                        buckets[usize::from(byte)] += 1;
                    }
                }
                let expected = count as f64 / 256.0;
                for buckets in buckets {
                    let squares = buckets
                        .iter()
                        .map(|&got| (f64::from(got) - expected).powi(2));
                    let chi = squares.sum::<f64>() / expected;
                    assert!((chi - 255.0).abs() < 138.0, "{name}, seed {seed}: {chi}");
                }
            }
        }
    }

    #[test]
    fn two_draws_have_nothing_in_common() {
        let (one, other) = (drawn(5), drawn(6));
        let mut shared = 0;
        for i in 0..1000_u64 {
            let key = i.to_le_bytes();
            shared += (!(one.hash(&key) ^ other.hash(&key))).count_ones();
        }
        // 64 000 fair coins: mean 32 000, standard deviation 126; five of them.
        assert!((31_368..=32_632).contains(&shared), "{shared}");
    }

    #[test]
    fn multipliers_never_print() {
        assert_eq!(alloc::format!("{:?}", drawn(7)), "UniversalHash(..)");
    }
}
