//! Families of keys that collide under public hashes, made from the definition of each hash. They do not depend on
//! the seed, except where a family says so.
//!
//! Each function makes `count` different keys, with numbers from `next` in the bytes that are free.

/// The constants of rapidhash v3.
const SECRETS: [u64; 3] = [
    0x2d35_8dcc_aa6c_78a5,
    0x8bb8_4b93_962e_acc9,
    0x4b33_a62e_d433_d4a3,
];

/// Writes a number at an offset.
fn put(key: &mut [u8], at: usize, number: u64) {
    key[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

/// Draws bytes, but no line feeds, so that every key is a line.
fn drawn(length: usize, next: &mut impl FnMut() -> u64) -> Vec<u8> {
    let byte = |_| match next() as u8 {
        b'\n' => b' ',
        byte => byte,
    };
    (0..length).map(byte).collect()
}

/// Draws a number without a line feed.
fn drawn_number(next: &mut impl FnMut() -> u64) -> u64 {
    let bytes = drawn(8, next).try_into().expect("eight bytes");
    u64::from_le_bytes(bytes)
}

/// Keys of rapidhash v3, of 11 bytes or more: a number makes one factor of the last product zero, so that no other
/// byte counts. Up to 16 bytes it is the first word, otherwise the last but one.
pub fn rapidhash(length: usize, count: usize, mut next: impl FnMut() -> u64) -> Vec<Vec<u8>> {
    assert!(length >= 11, "shorter keys have too few free bytes");
    // The bytes after whole stripes of 112.
    let left = (length - 1) % 112 + 1;
    let prepare = |number: usize| {
        let mut key = drawn(length, &mut next);
        // Three bytes that differ from key to key, and are not line feeds.
        let digits = [number / 2500, number / 50 % 50, number % 50].map(|digit| b'0' + digit as u8);
        if length <= 16 {
            put(&mut key, 0, SECRETS[1]);
            key[8..11].copy_from_slice(&digits);
        } else {
            put(&mut key, length - 16, SECRETS[1] ^ left as u64);
            key[length - 3..].copy_from_slice(&digits);
        }
        key
    };
    (0..count).map(prepare).collect()
}

/// Keys of the protected variant, of 48 to 224 bytes: a first factor of zero lets the second through unchanged, so
/// that one word cancels another.
pub fn rapidhash_protected(
    length: usize,
    count: usize,
    mut next: impl FnMut() -> u64,
) -> Vec<Vec<u8>> {
    assert!((48..=224).contains(&length), "each word counts once");
    let same = drawn(length, &mut next);
    let prepare = |_| {
        let mut key = same.clone();
        let word = drawn_number(&mut next);
        put(&mut key, 8, word);
        put(&mut key, 24, word);
        if length <= 112 {
            put(&mut key, 0, SECRETS[2]);
        } else {
            put(&mut key, 0, SECRETS[0]);
            put(&mut key, 16, SECRETS[1]);
        }
        key
    };
    (0..count).map(prepare).collect()
}

/// The number whose product with an odd one is 1, modulo 2^64.
fn inverse(odd: u64) -> u64 {
    // Newton: each step doubles the number of correct bits; the first guess has three.
    (0..5).fold(odd, |guess, _| {
        guess.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(guess)))
    })
}

/// Keys of murmur3 x64-128, of 32 bytes for every doubling: a difference in the highest bit passes through sums and
/// products, and the next block takes it back. After Aumasson and Bernstein, 2012.
pub fn murmur3_128(doublings: u32, mut next: impl FnMut() -> u64) -> Vec<Vec<u8>> {
    const ONE: u64 = 0x87c3_7b91_1142_53d5;
    const OTHER: u64 = 0x4cf5_ad43_2745_937f;
    let first = |word: u64, flip: u64| {
        let mixed = word.wrapping_mul(ONE).rotate_left(31).wrapping_mul(OTHER) ^ flip;
        let mixed = mixed.wrapping_mul(inverse(OTHER)).rotate_right(31);
        mixed.wrapping_mul(inverse(ONE))
    };
    let second = |word: u64, flip: u64| {
        let mixed = word.wrapping_mul(OTHER).rotate_left(33).wrapping_mul(ONE) ^ flip;
        let mixed = mixed.wrapping_mul(inverse(ONE)).rotate_right(33);
        mixed.wrapping_mul(inverse(OTHER))
    };
    let units: Vec<[[u64; 4]; 2]> = (0..doublings)
        .map(|_| {
            loop {
                let [a, b, c, d] = [(); 4].map(|()| drawn_number(&mut next));
                let other = [first(a, 1 << 36), second(b, 1 << 32), first(c, 1 << 63), d];
                if is_line(&other) {
                    return [[a, b, c, d], other];
                }
            }
        })
        .collect();
    choices(&units)
}

/// Keys of murmur3 x86-32, of 8 bytes for every doubling, in the same way.
pub fn murmur3_32(doublings: u32, mut next: impl FnMut() -> u64) -> Vec<Vec<u8>> {
    const ONE: u32 = 0xcc9e_2d51;
    const OTHER: u32 = 0x1b87_3593;
    let [undo_one, undo_other] = [ONE, OTHER].map(|odd| inverse(odd.into()) as u32);
    let flipped = |word: u32, flip: u32| {
        let mixed = word.wrapping_mul(ONE).rotate_left(15).wrapping_mul(OTHER) ^ flip;
        let mixed = mixed.wrapping_mul(undo_other).rotate_right(15);
        mixed.wrapping_mul(undo_one)
    };
    let units: Vec<[[u64; 1]; 2]> = (0..doublings)
        .map(|_| {
            loop {
                let number = drawn_number(&mut next);
                let [low, high] = [number as u32, (number >> 32) as u32];
                let [low, high] = [flipped(low, 1 << 18), flipped(high, 1 << 31)];
                let other = u64::from(high) << 32 | u64::from(low);
                if is_line(&[other]) {
                    return [[number], [other]];
                }
            }
        })
        .collect();
    choices(&units)
}

/// Returns whether no byte of the words is a line feed.
fn is_line(words: &[u64]) -> bool {
    !words.iter().any(|word| word.to_le_bytes().contains(&b'\n'))
}

/// Every way to choose one of two from each unit.
fn choices<const WORDS: usize>(units: &[[[u64; WORDS]; 2]]) -> Vec<Vec<u8>> {
    let choose = |choice: usize| {
        let chosen = units.iter().enumerate();
        let words = chosen.flat_map(|(index, unit)| unit[choice >> index & 1]);
        words.flat_map(u64::to_le_bytes).collect()
    };
    (0..1 << units.len()).map(choose).collect()
}

/// Keys of XXH64 with seed 0, of 64 bytes: the second word of a lane undoes the first. The lane starts at a
/// number that depends on the seed.
pub fn xxh64(count: usize, mut next: impl FnMut() -> u64) -> Vec<Vec<u8>> {
    const PRIMES: [u64; 2] = [0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F];
    let start = PRIMES[0].wrapping_add(PRIMES[1]);
    let (same, target) = (drawn(64, &mut next), next());
    let mut keys = Vec::with_capacity(count);
    while keys.len() < count {
        let first = drawn_number(&mut next);
        let lane = start.wrapping_add(first.wrapping_mul(PRIMES[1]));
        let lane = lane.rotate_left(31).wrapping_mul(PRIMES[0]);
        let second = target.wrapping_sub(lane).wrapping_mul(inverse(PRIMES[1]));
        if is_line(&[second]) {
            let mut key = same.clone();
            put(&mut key, 0, first);
            put(&mut key, 32, second);
            keys.push(key);
        }
    }
    keys
}
