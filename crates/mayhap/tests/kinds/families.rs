//! Keys prepared to collide, against every way to hash: which ones are vulnerable, and which are not.
//!
//! For public hashes the tests show that the warnings of `docs/adversaries.md` are true. Under a secret, or by a
//! function or a key drawn at random, no two prepared keys may have equal hashes: among about 10^6 pairs that has a
//! chance of 10^-13.

use std::collections::HashSet;

use mayhap::hash::{DrawnKey, MessageDigest};
use mayhap::{Digester, Scheme, SecretKey, Shape, hash::UniversalHash, kinds::SplitBlock};
use mayhap_testing::{prepared, random::Random};

fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut random = Random(seed);
    move || random.next()
}

const SEEDS: [u64; 3] = [0, 1, 0x0123_4567_89AB_CDEF];

/// Counts the hashes of the keys, which are all different.
fn hashes<H: std::hash::Hash + Eq>(keys: &[Vec<u8>], hash: impl Fn(&[u8]) -> H) -> usize {
    let distinct: HashSet<&Vec<u8>> = keys.iter().collect();
    assert_eq!(distinct.len(), keys.len(), "the family repeats itself");
    assert!(!keys.iter().any(|key| key.contains(&b'\n')), "not lines");
    let hashes: HashSet<H> = keys.iter().map(|key| hash(key)).collect();
    hashes.len()
}

/// Every family, with its name.
fn families() -> Vec<(String, Vec<Vec<u8>>)> {
    let lengths = (11..=130).chain([200, 224, 225, 300, 1000, 1024, 1025, 5000]);
    let zero = lengths.map(|length| {
        let keys = prepared::rapidhash(length, 40, random(length as u64));
        (format!("rapidhash, {length} bytes"), keys)
    });
    let cancelled = (48..=224).map(|length| {
        let keys = prepared::rapidhash_protected(length, 20, random(length as u64));
        (format!("protected rapidhash, {length} bytes"), keys)
    });
    let others = [
        ("murmur3 x64-128", prepared::murmur3_128(8, random(1))),
        ("murmur3 x86-32", prepared::murmur3_32(8, random(2))),
        ("XXH64", prepared::xxh64(200, random(3))),
    ];
    let others = others.map(|(name, keys)| (String::from(name), keys));
    zero.chain(cancelled).chain(others).collect()
}

#[test]
fn one_word_breaks_rapidhash_whatever_the_seed() {
    for seed in SEEDS {
        let digester = Digester::Rapidhash { seed };
        for length in (11..=130).chain([200, 224, 225, 300, 1000, 5000]) {
            let keys = prepared::rapidhash(length, 100, random(seed));
            let hashes = hashes(&keys, |key| digester.digest(key));
            assert_eq!(hashes, 1, "{length} bytes, seed {seed:x}");
        }
    }
}

/// Adding a stripe of 112 bytes does not help either: only the length of the rest counts.
#[test]
fn prepared_keys_of_rapidhash_collide_across_lengths() {
    let keys = [50, 162, 274].map(|length| prepared::rapidhash(length, 10, random(7)));
    let digester = Digester::Rapidhash { seed: 1 };
    assert_eq!(hashes(&keys.concat(), |key| digester.digest(key)), 1);
}

#[test]
fn protected_rapidhash_withstands_one_word_but_not_two() {
    for seed in SEEDS {
        let digester = Digester::RapidhashProtected { seed };
        for length in (11..=130).chain([200, 224, 225, 300, 1000, 5000]) {
            let keys = prepared::rapidhash(length, 100, random(seed));
            let hashes = hashes(&keys, |key| digester.digest(key));
            assert_eq!(hashes, 100, "{length} bytes, seed {seed:x}");
        }
        for length in 48..=224 {
            let keys = prepared::rapidhash_protected(length, 100, random(seed));
            let hashes = hashes(&keys, |key| digester.digest(key));
            assert_eq!(hashes, 1, "{length} bytes, seed {seed:x}");
        }
    }
}

#[test]
fn no_family_collides_under_a_secret_or_by_a_drawn_key() {
    let secrets = [0, 1, 2].map(|byte| Digester::SipHash {
        key: SecretKey::from_bytes([byte; 16]),
    });
    let drawn = SEEDS.map(|bits| Digester::Universal {
        key: DrawnKey::from_bits(bits),
    });
    for digester in secrets.into_iter().chain(drawn) {
        for (name, keys) in families() {
            assert_eq!(
                hashes(&keys, |key| digester.digest(key)),
                keys.len(),
                "{name}, {digester}"
            );
        }
    }
}

#[test]
fn no_family_collides_under_a_hash_drawn_at_random() {
    for seed in 0..10 {
        let hash = UniversalHash::from_fn(random(seed));
        for (name, keys) in families() {
            assert_eq!(hashes(&keys, |key| hash.hash(key)), keys.len(), "{name}");
        }
    }
}

/// All families at once: keys of one do not collide with keys of another either.
#[test]
fn all_families_together_keep_their_hashes_apart() {
    let keys: Vec<Vec<u8>> = families().into_iter().flat_map(|(_, keys)| keys).collect();
    let keys: Vec<Vec<u8>> = keys
        .into_iter()
        .collect::<HashSet<_>>()
        .into_iter()
        .collect();
    let hash = UniversalHash::from_fn(random(11));
    assert_eq!(hashes(&keys, |key| hash.hash(key)), keys.len());
}

#[test]
fn foreign_schemes_collide_on_the_families_of_their_hash() {
    let shape = Shape::new(1 << 24, 7).expect("valid");
    let positions = |scheme: Scheme| move |key: &[u8]| scheme.positions(key, shape);
    let wide = prepared::murmur3_128(8, random(4));
    for scheme in [Scheme::Guava64, Scheme::Guava32, Scheme::MurmurFloorMod] {
        assert_eq!(hashes(&wide, positions(scheme.clone())), 1, "{scheme:?}");
    }
    let narrow = prepared::murmur3_32(8, random(5));
    for scheme in [
        Scheme::Spark1,
        Scheme::Spark2 { seed: 0 },
        Scheme::Spark2 { seed: -7 },
    ] {
        assert_eq!(hashes(&narrow, positions(scheme.clone())), 1, "{scheme:?}");
    }
    let parquet = prepared::xxh64(200, random(6));
    assert_eq!(hashes(&parquet, SplitBlock::hash), 1);
}

/// A family that breaks one hash does not break another with other steps.
#[test]
fn families_of_other_hashes_do_nothing() {
    let shape = Shape::new(1 << 30, 7).expect("valid");
    let wide = prepared::murmur3_128(8, random(8));
    for scheme in [
        Scheme::Dcso,
        Scheme::Spark1,
        Scheme::Salted(MessageDigest::Md5),
        Scheme::default(),
    ] {
        assert_eq!(
            hashes(&wide, |key| scheme.positions(key, shape)),
            256,
            "{scheme:?}"
        );
    }
    let native = prepared::rapidhash(50, 200, random(9));
    for scheme in [
        Scheme::Guava64,
        Scheme::Spark1,
        Scheme::Salted(MessageDigest::Sha1),
    ] {
        assert_eq!(
            hashes(&native, |key| scheme.positions(key, shape)),
            200,
            "{scheme:?}"
        );
    }
}
