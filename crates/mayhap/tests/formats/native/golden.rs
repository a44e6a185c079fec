//! One small committed file per kind and scheme, read for ever.
//!
//! `MAYHAP_WRITE_GOLDEN=1 cargo test -p mayhap --test formats native` writes the missing files. An existing
//! file is never written again: a change that needs it breaks every archive.

use std::fs;
use std::path::PathBuf;

use mayhap::format::native::{self, Metadata, Progress};
use mayhap::hash::{DrawnKey, MessageDigest};
use mayhap::{
    AnyFilter, Assemble as _, Blocked, Bloom, Counting, CountingOptions, Cuckoo, CuckooOptions,
    Digester, Fuse, Insert, Kind, Ribbon, Rotation, Scalable, ScalableOptions, Scheme, SecretKey,
    Shape, Sizing, Windowed,
    bits::CounterWidth,
    kinds::{
        BlockedShape, Cascade, Guarded, Region, Shifting, ShiftingAssociation,
        ShiftingMultiplicity, ShiftingShape, Spatial, SpatialShape, Spectral, SpectralOptions,
        SpectralPolicy, SplitBlock, SplitBlockShape,
    },
};

const SECRET: &[u8; 16] = b"sixteen secrets!";

/// The keys in every golden file, and as many absent ones.
const INSERTED: [&str; 4] = ["", "key", "https://example.org/", "schlüssel"];
const ABSENT: [&str; 4] = ["absent", "Key", "https://example.org", "schluessel"];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/native/v1")
}

fn bloom(bits: u64, hashes: u32, scheme: Scheme) -> AnyFilter {
    let shape = Shape::new(bits, hashes).expect("valid");
    Bloom::new(shape, scheme).expect("small").into()
}

fn blocked(lines: u64, hashes: u32, digester: Digester) -> AnyFilter {
    let shape = BlockedShape::new(lines, hashes).expect("valid");
    Blocked::new(shape, digester).expect("small").into()
}

/// Makes a filter of the only scheme whose own files also say what the filter was made for.
fn dcso(keys: u64, rate: f64) -> AnyFilter {
    let shape = Sizing::Dcso.shape(keys, rate).expect("valid");
    let filter = Bloom::new(shape, Scheme::Dcso).expect("small");
    filter.promising(keys, rate).expect("valid").into()
}

fn split_block(blocks: u64) -> AnyFilter {
    let shape = SplitBlockShape::new(blocks).expect("valid");
    SplitBlock::new(shape).expect("small").into()
}

/// A filter that has grown: small, because other tests damage every byte of every file.
fn scalable(digester: Digester) -> AnyFilter {
    let options = ScalableOptions {
        growth: 2,
        tightening: 9000,
    };
    let mut filter = Scalable::new(1, 0.001, options, digester).expect("valid");
    filter.insert_all(0..100_u32);
    assert_eq!(filter.layers(), 2);
    filter.into()
}

/// Makes three layers with longer and longer fingerprints, some of which have moved and some of which were removed.
fn cuckoo(digester: Digester) -> AnyFilter {
    let options = CuckooOptions {
        growth: 2,
        digester,
        ..CuckooOptions::default()
    };
    let mut filter = Cuckoo::with_options(20, 0.001, options).expect("valid");
    filter.insert_all(0..120_u32);
    assert_eq!(filter.remove_all(30..50_u32), 20);
    assert_eq!(filter.layers(), 3);
    filter.into()
}

/// Fingerprints of twelve bits in buckets of three slots that are all but full, with a key twice.
fn fixed_cuckoo(digester: Digester) -> AnyFilter {
    let options = CuckooOptions {
        fingerprint: Some(12),
        bucket: Some(3),
        growth: 0,
        search: 64,
        digester,
    };
    let mut filter = Cuckoo::with_options(30, 0.01, options).expect("valid");
    filter.insert_all((0..33_u32).chain([7]));
    assert_eq!((filter.count(&7_u32), filter.lost()), (2, 0));
    filter.into()
}

/// Makes a filter with two keys that were inserted more often than their buckets have slots.
fn piled_cuckoo(digester: Digester) -> AnyFilter {
    let options = CuckooOptions {
        bucket: Some(1),
        digester,
        ..CuckooOptions::default()
    };
    let mut filter = Cuckoo::with_options(20, 0.01, options).expect("valid");
    for _ in 0..300 {
        filter.insert_all([1_u32, 2]);
    }
    assert_eq!((filter.count(&1_u32), filter.layers()), (300, 1));
    filter.into()
}

/// A filter in its seventh generation, with keys of the three before it.
fn windowed(digester: Digester) -> AnyFilter {
    let rotation = Rotation::ByCaller;
    let mut filter = Windowed::new(30, 0.001, rotation, digester).expect("valid");
    for generation in 0..7_u32 {
        filter.advance_to(generation.into());
        filter.insert_all(generation * 10..generation * 10 + 10);
    }
    filter.into()
}

/// A filter so small that it finds many keys wrongly, which are on its list.
fn guarded(digester: Digester) -> AnyFilter {
    let shape = BlockedShape::new(1, 2).expect("valid");
    let mut filter = Guarded::new(shape, digester).expect("small");
    filter.insert_all(INSERTED);
    filter.insert_all(0..50_u32);
    let known = (1000..1100_u32).map(|key| format!("known {key}"));
    let listed = filter.refresh(known.chain(ABSENT.map(String::from)));
    assert!(listed.expect("small") > 1 && filter.is_exact());
    filter.into()
}

fn counting(counters: u64, width: CounterWidth, digester: Digester) -> AnyFilter {
    let shape = Shape::new(counters, 5).expect("valid");
    let options = CountingOptions { width, digester };
    Counting::new(shape, options).expect("small").into()
}

/// Makes a spectral filter. With one hash, whose counter is always the single lowest, recurring minimum marks every
/// key.
fn spectral(hashes: u32, policy: SpectralPolicy, digester: Digester) -> AnyFilter {
    let shape = Shape::new(200, hashes).expect("valid");
    let options = SpectralOptions {
        width: CounterWidth::Eight,
        policy,
        digester,
    };
    Spectral::new(shape, options).expect("small").into()
}

fn shifting(digester: Digester) -> AnyFilter {
    let standard = Shape::new(1000, 12).expect("valid");
    let shape = ShiftingShape::with_shifts(standard, 25, 2).expect("valid");
    Shifting::new(shape, digester).expect("small").into()
}

/// The region, count and area of each key.
const REGIONS: [Region; 4] = [Region::First, Region::Both, Region::Second, Region::Both];
const TIMES: [u64; 4] = [1, 57, 2, 8];
const AREAS: [u32; 4] = [1, 3, 2, 3];

fn association(digester: Digester) -> AnyFilter {
    let shape = Shape::new(1000, 9).expect("valid");
    let mut filter = ShiftingAssociation::new(shape, 57, digester).expect("small");
    for (key, region) in INSERTED.into_iter().zip(REGIONS) {
        filter.insert_region(key, region);
    }
    filter.into()
}

fn multiplicity(digester: Digester) -> AnyFilter {
    let shape = Shape::new(1000, 9).expect("valid");
    let mut filter = ShiftingMultiplicity::new(shape, 57, digester).expect("small");
    for (key, times) in INSERTED.into_iter().zip(TIMES) {
        filter.insert_times(key, times).expect("counted");
    }
    filter.into()
}

fn spatial(areas: u32, digester: Digester) -> AnyFilter {
    let cells = Shape::new(1000, 5).expect("valid");
    let shape = SpatialShape::new(cells, areas).expect("valid");
    let mut filter = Spatial::new(shape, digester).expect("small");
    for (key, area) in INSERTED.into_iter().zip(AREAS) {
        filter.insert_area(key, area).expect("an area");
    }
    filter.into()
}

fn planned(kind: Kind) -> AnyFilter {
    let description = kind.plan(10, 0.01).expect("valid");
    AnyFilter::new(&description).expect("small")
}

/// Every golden file: its name, its filter and its metadata.
fn cases() -> Vec<(&'static str, AnyFilter, Metadata)> {
    let secret = Digester::SipHash {
        key: SecretKey::from_bytes(*SECRET),
    };
    let seed = Digester::Rapidhash {
        seed: 0x0123_4567_89AB_CDEF,
    };
    let protected = Digester::RapidhashProtected {
        seed: 0x0123_4567_89AB_CDEF,
    };
    let drawn = Digester::Universal {
        key: DrawnKey::from_bits(0x0123_4567_89AB_CDEF),
    };
    let salted = |digest| bloom(1000, 5, Scheme::Salted(digest));
    let increase = spectral(5, SpectralPolicy::MinimalIncrease, seed.clone());
    let recurring = |digester| spectral(1, SpectralPolicy::RecurringMinimum, digester);
    let plain = vec![
        ("bloom-rapidhash", planned(Kind::Bloom)),
        ("bloom-seed", bloom(1000, 3, Scheme::Native(seed.clone()))),
        ("bloom-protected", bloom(1000, 5, Scheme::Native(protected))),
        (
            "bloom-siphash",
            bloom(1000, 7, Scheme::Native(secret.clone())),
        ),
        (
            "bloom-universal",
            bloom(1000, 5, Scheme::Native(drawn.clone())),
        ),
        ("bloom-guava64", bloom(1024, 7, Scheme::Guava64)),
        ("bloom-guava32", bloom(1024, 7, Scheme::Guava32)),
        ("bloom-salted-md5", salted(MessageDigest::Md5)),
        ("bloom-salted-sha1", salted(MessageDigest::Sha1)),
        ("bloom-salted-sha256", salted(MessageDigest::Sha256)),
        ("bloom-three-hash", bloom(1000, 3, Scheme::ThreeHash)),
        ("bloom-murmur", bloom(1000, 5, Scheme::MurmurFloorMod)),
        ("bloom-spark1", bloom(1024, 7, Scheme::Spark1)),
        ("bloom-spark2", bloom(1024, 7, Scheme::Spark2 { seed: -2 })),
        ("bloom-dcso", dcso(10, 0.001)),
        ("bloom-redisbloom", bloom(640, 7, Scheme::RedisBloom)),
        ("blocked-rapidhash", planned(Kind::Blocked)),
        ("blocked-seed", blocked(3, 11, seed.clone())),
        (
            "blocked-protected",
            blocked(2, 6, Digester::RapidhashProtected { seed: 0 }),
        ),
        ("blocked-siphash", blocked(2, 6, secret.clone())),
        ("blocked-universal", blocked(2, 6, drawn)),
        ("split-block-xxh64", planned(Kind::SplitBlock)),
        ("split-block-odd", split_block(3)),
        ("scalable-rapidhash", planned(Kind::Scalable)),
        ("scalable-layers", scalable(secret.clone())),
        ("cuckoo-rapidhash", planned(Kind::Cuckoo)),
        ("cuckoo-layers", cuckoo(secret.clone())),
        ("cuckoo-fixed", fixed_cuckoo(seed.clone())),
        ("cuckoo-piles", piled_cuckoo(seed.clone())),
        ("windowed-rapidhash", planned(Kind::Windowed)),
        ("windowed-rotated", windowed(secret.clone())),
        ("guarded-rapidhash", planned(Kind::Guarded)),
        ("counting-rapidhash", planned(Kind::Counting)),
        (
            "counting-seed",
            counting(77, CounterWidth::Sixteen, seed.clone()),
        ),
        (
            "counting-siphash",
            counting(77, CounterWidth::Two, secret.clone()),
        ),
        ("spectral-selection", planned(Kind::Spectral)),
        ("spectral-increase", increase),
        ("spectral-recurring", recurring(seed.clone())),
        ("spectral-siphash", recurring(secret.clone())),
        ("shifting-rapidhash", planned(Kind::Shifting)),
        ("shifting-siphash", shifting(secret.clone())),
        ("spatial-rapidhash", planned(Kind::Spatial)),
    ];
    let mut cases: Vec<_> = plain
        .into_iter()
        .map(|(name, empty)| (name, filled(empty), Metadata::default()))
        .collect();
    let metadata = Metadata {
        label: "hôtes bloqués".into(),
        created_by: "the tests of mayhap".into(),
        progress: None,
    };
    let fuse = |digester, bits| Fuse::build(digester, bits, INSERTED).expect("built");
    let with_rate = Fuse::with_rate(0.01, INSERTED).expect("built");
    let none = Fuse::build(seed.clone(), 8, [""; 0]).expect("built");
    for (name, filter) in [
        ("fuse-rapidhash", with_rate),
        ("fuse-seed", fuse(seed.clone(), 16)),
        ("fuse-siphash", fuse(secret.clone(), 32)),
        ("fuse-empty", none),
    ] {
        cases.push((name, filter.into(), Metadata::default()));
    }
    let ribbon = |digester, bits| Ribbon::build(digester, bits, INSERTED).expect("built");
    let with_rate = Ribbon::with_rate(0.01, INSERTED).expect("built");
    let none = Ribbon::build(seed.clone(), 8, [""; 0]).expect("built");
    // Two shards, and so a table.
    let numbers = (0..9000).map(|number| format!("number {number}"));
    let sharded =
        Ribbon::build(seed.clone(), 5, numbers.chain(INSERTED.map(String::from))).expect("built");
    for (name, filter) in [
        ("ribbon-rapidhash", with_rate),
        ("ribbon-seed", ribbon(seed.clone(), 17)),
        ("ribbon-siphash", ribbon(secret.clone(), 32)),
        ("ribbon-shards", sharded),
        ("ribbon-empty", none),
    ] {
        cases.push((name, filter.into(), Metadata::default()));
    }
    let numbers = (0..300).map(|number| number.to_string());
    let excluded = || ABSENT.map(String::from).into_iter().chain(numbers.clone());
    let cascade = |digester| Cascade::build(digester, INSERTED, excluded()).expect("apart");
    for (name, filter) in [
        ("cascade-rapidhash", cascade(Digester::default())),
        ("cascade-siphash", cascade(secret.clone())),
    ] {
        cases.push((name, filter.into(), Metadata::default()));
    }
    // Filled already, with more than membership for each key.
    for (name, filter) in [
        ("shifting-association-seed", association(seed.clone())),
        ("shifting-association-siphash", association(secret.clone())),
        ("shifting-multiplicity-seed", multiplicity(seed.clone())),
        (
            "shifting-multiplicity-siphash",
            multiplicity(secret.clone()),
        ),
        ("spatial-seed", spatial(3, seed)),
        ("spatial-siphash", spatial(300, secret.clone())),
    ] {
        cases.push((name, filter, Metadata::default()));
    }
    let filter = filled(planned(Kind::Blocked));
    let progress = Progress {
        is_finished: true,
        seed: 1,
        input_bytes: 1 << 40,
        beginning_hash: 3,
        input_hash: 4,
        output_start: 5,
        output_end: 6,
        output_hash: u64::MAX,
    };
    let both = Metadata {
        progress: Some(progress),
        ..metadata.clone()
    };
    let alone = Metadata {
        progress: Some(Progress {
            is_finished: false,
            ..progress
        }),
        ..Metadata::default()
    };
    cases.push(("blocked-progress", filter.clone(), alone));
    cases.push(("blocked-metadata-progress", filter.clone(), both));
    cases.push(("blocked-metadata", filter, metadata));
    // Listed after it is filled: more keys would add to the known keys that are wrongly found.
    cases.push(("guarded-listed", guarded(secret), Metadata::default()));
    cases
}

fn filled(mut filter: AnyFilter) -> AnyFilter {
    for key in INSERTED {
        filter.insert(key).expect("a kind that can");
    }
    filter
}

fn encoded(filter: &AnyFilter, metadata: &Metadata) -> Vec<u8> {
    let mut bytes = Vec::new();
    native::write(filter, metadata, &mut bytes).expect("memory");
    bytes
}

#[test]
fn golden_files_hold_their_filters_and_are_written_bit_for_bit() {
    let secret = SecretKey::from_bytes(*SECRET);
    for (name, filter, metadata) in cases() {
        let path = folder().join(name).with_extension("mayhap");
        if std::env::var_os("MAYHAP_WRITE_GOLDEN").is_some() && !path.exists() {
            fs::write(&path, encoded(&filter, &metadata)).expect("written");
        }
        let bytes = fs::read(&path).expect(name);

        let (read, said) = native::decode(&bytes, Some(&secret)).expect(name);

        assert_eq!(read, filter, "{name}");
        assert_eq!(said, metadata, "{name}");
        assert_eq!(encoded(&read, &said), bytes, "{name}");
        let held = INSERTED.iter().filter(|key| read.contains(**key)).count();
        assert_eq!(held, if name.ends_with("-empty") { 0 } else { 4 }, "{name}");
        assert!(!ABSENT.iter().any(|key| read.contains(*key)), "{name}");
    }
}

#[test]
fn golden_files_also_answer_counts_areas_and_regions() {
    let secret = SecretKey::from_bytes(*SECRET);
    let read = |name: &str| {
        let path = folder().join(name).with_extension("mayhap");
        let bytes = fs::read(&path).expect(name);
        native::decode(&bytes, Some(&secret)).expect(name).0
    };
    for hashing in ["seed", "siphash"] {
        let name = |kind: Kind| format!("{kind}-{hashing}");
        let sets = ShiftingAssociation::try_from(read(&name(Kind::ShiftingAssociation)));
        let sets = sets.expect("the kind");
        let counts = ShiftingMultiplicity::try_from(read(&name(Kind::ShiftingMultiplicity)));
        let counts = counts.expect("the kind");
        let areas = Spatial::try_from(read(&name(Kind::Spatial))).expect("the kind");
        for (index, key) in INSERTED.into_iter().enumerate() {
            assert_eq!(sets.regions(key).only(), Some(REGIONS[index]), "{key}");
            assert_eq!(counts.count(key), TIMES[index], "{key}");
            assert_eq!(areas.area(key), Some(AREAS[index]), "{key}");
        }
    }
}

#[test]
fn every_kind_and_scheme_code_has_a_golden_file() {
    let described: Vec<_> = cases().iter().map(|case| case.1.description()).collect();
    for &kind in Kind::ALL {
        assert!(described.iter().any(|about| about.kind == kind), "{kind}");
    }
    let mut codes: Vec<u8> = cases()
        .iter()
        .map(|(_, filter, metadata)| encoded(filter, metadata)[12])
        .collect();
    codes.sort();
    codes.dedup();
    let known: Vec<u8> = (0..=15).collect();
    assert_eq!(codes, known);
    let files = fs::read_dir(folder()).expect("committed").count();
    assert_eq!(files, cases().len(), "a file that no case reads");
}
