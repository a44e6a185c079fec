//! No inserted key is ever missed: every kind, at random sizes, rates and hashes, looked up in every way.
//!
//! `MAYHAP_TORTURE=400 cargo test --release -p mayhap --test kinds torture -- --nocapture` makes 2·10^10 lookups, in
//! some minutes on two cores; `MAYHAP_SEED=7` draws other filters. A failure names its round.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use mayhap::file::{Mapped, load, save};
use mayhap::format::native::Metadata;
use mayhap::{
    AnyFilter, Assemble as _, AtomicBlocked, AtomicBloom, Bitmap, Digester, Filter, Fuse, Hashing,
    Kind, Ribbon, Rotation, Scheme, SecretKey, Windowed,
    bits::{BitmapView, Bits as _},
    hash::DrawnKey,
    kinds::{AtomicSplitBlock, Cascade, Region, ShiftingAssociation, ShiftingMultiplicity},
};

use mayhap_testing::random::Random;
use mayhap_testing::turns::{random, rounds};

const SHORT: u64 = 16;

/// The number of times each key is looked up in each way, in batches of other lengths every time.
const PASSES: usize = 12;

/// The keys of a round: distinct, of eight bytes or of up to 40.
fn keys(random: &mut Random) -> Vec<Vec<u8>> {
    let most = 1 << (8 + random.below(9));
    let count = 1 + random.below(most);
    let longest = [8, 8, 40][random.below(3) as usize];
    let start = random.next();
    let key = |index: u64| {
        let mut key = start.wrapping_add(index).to_le_bytes().to_vec();
        let length = 8 + index.wrapping_mul(0x9E37_79B9) % (longest - 7);
        key.resize(length as usize, index as u8);
        key
    };
    (0..count).map(key).collect()
}

fn digester(random: &mut Random) -> Digester {
    match random.below(4) {
        0 => Digester::default(),
        1 => Digester::Rapidhash {
            seed: random.next(),
        },
        2 => Digester::Universal {
            key: DrawnKey::from_bits(random.next()),
        },
        _ => {
            let bytes = [random.next(), random.next()].map(u64::to_le_bytes);
            let bytes = bytes.as_flattened().try_into().expect("16 bytes");
            let key = SecretKey::from_bytes(bytes);
            Digester::SipHash { key }
        }
    }
}

/// Makes a filter of this kind with all the keys in it.
fn filled(kind: Kind, keys: &[&[u8]], random: &mut Random) -> AnyFilter {
    // A crowded filter must find its keys too: some are made for a tenth.
    let capacity = (keys.len() as u64 / [1, 1, 10][random.below(3) as usize]).max(1);
    let rate = [0.3, 0.05, 0.01, 0.001, 1e-5][random.below(5) as usize];
    let digester = digester(random);
    let plan = || kind.plan(capacity, rate).expect("valid");
    match kind {
        Kind::Fuse => {
            let bits = 8 << random.below(3);
            Fuse::build(digester, bits, keys).expect("built").into()
        }
        Kind::Ribbon => {
            let bits = 1 + random.below(32) as u32;
            Ribbon::build(digester, bits, keys).expect("built").into()
        }
        Kind::Cascade => {
            let others = (0..random.below(20_000)).map(|i| [i ^ 1 << 63, i, i, i, i, i]);
            let others = others.map(|words| words.map(u64::to_le_bytes).as_flattened().to_vec());
            let cascade = Cascade::build(digester, keys, others);
            cascade.expect("built").into()
        }
        Kind::ShiftingAssociation => {
            let plan = plan();
            let mut filter: ShiftingAssociation = empty(&plan);
            for (key, region) in keys.iter().zip(Region::ALL.into_iter().cycle()) {
                filter.insert_region(*key, region);
            }
            filter.into()
        }
        Kind::ShiftingMultiplicity => {
            let plan = plan();
            let mut filter: ShiftingMultiplicity = empty(&plan);
            for (key, times) in keys.iter().zip((1..=5).cycle()) {
                filter.insert_times(*key, times).expect("few");
            }
            filter.into()
        }
        Kind::Windowed => {
            // Nothing is forgotten: only the caller changes generations.
            let rotation = Rotation::ByCaller;
            let filter = Windowed::new(capacity, rate, rotation, digester);
            inserted(filter.expect("valid").into(), keys)
        }
        Kind::SplitBlock => inserted(AnyFilter::new(&plan()).expect("memory"), keys),
        _ => {
            let plan = plan().hashed_by(digester).expect("a digester");
            inserted(AnyFilter::new(&plan).expect("memory"), keys)
        }
    }
}

fn empty<F: TryFrom<AnyFilter, Error = mayhap::Error>>(plan: &mayhap::Description) -> F {
    let layout = AnyFilter::<Bitmap>::layout(plan).expect("planned");
    let parts = layout
        .into_iter()
        .map(|bits| Bitmap::new(bits).expect("memory"));
    let filter = AnyFilter::assemble(plan, parts.collect()).expect("planned");
    F::try_from(filter).expect("the kind")
}

fn inserted(mut filter: AnyFilter, keys: &[&[u8]]) -> AnyFilter {
    let mut new = vec![false; keys.len()];
    let insert = filter.as_insert().expect("not static");
    let (single, batch) = keys.split_at(keys.len() / 8);
    single.iter().for_each(|key| {
        insert.insert_bytes(key);
    });
    insert.insert_bytes_batch(batch, &mut new[..batch.len()]);
    filter
}

/// Looks up every key, one by one and in batches of random lengths; returns the number of lookups.
#[track_caller]
fn ask(filter: &dyn Filter, keys: &[&[u8]], random: &mut Random, what: &str) -> u64 {
    let mut found = vec![false; keys.len()];
    for key in keys {
        assert!(filter.contains_bytes(key), "missed {key:?}: {what}");
    }
    for _ in 0..PASSES {
        let longest = 1 << (1 + random.below(15));
        let (mut rest, mut start) = (keys, 0);
        while !rest.is_empty() {
            let length = (1 + random.below(longest) as usize).min(rest.len());
            let (batch, after) = rest.split_at(length);
            filter.contains_bytes_batch(batch, &mut found[start..start + length]);
            (rest, start) = (after, start + length);
        }
        let missed = found.iter().position(|found| !found);
        assert_eq!(missed.map(|index| keys[index]), None, "missed: {what}");
        found.fill(false);
    }
    (1 + PASSES as u64) * keys.len() as u64
}

/// Looks up keys in the filter over borrowed bytes, at an unaligned address.
fn ask_view(filter: &AnyFilter, keys: &[&[u8]], random: &mut Random, what: &str) -> u64 {
    let parts = filter.parts().into_iter().map(|part| {
        let mut bytes = vec![0xFF; 3];
        bytes.extend(part.to_bytes());
        (bytes, part.size())
    });
    let parts: Vec<(Vec<u8>, u64)> = parts.collect();
    let views = parts
        .iter()
        .map(|(bytes, size)| BitmapView::new(&bytes[3..], *size));
    let views = views.collect::<Result<_, _>>().expect("as many bytes");
    let view = AnyFilter::assemble(&filter.description(), views).expect("the same");
    ask(&view, keys, random, what)
}

/// Looks up keys in the filter's shared form, if there is one.
fn ask_shared(filter: AnyFilter, keys: &[&[u8]], random: &mut Random, what: &str) -> u64 {
    match filter {
        AnyFilter::Blocked(filter) => ask(&AtomicBlocked::from(filter), keys, random, what),
        AnyFilter::Bloom(filter) => ask(&AtomicBloom::from(filter), keys, random, what),
        AnyFilter::SplitBlock(filter) => ask(&AtomicSplitBlock::from(filter), keys, random, what),
        _ => 0,
    }
}

/// Looks up the keys, and as many others, in the filter's own file: mapped, and read back.
fn ask_file(filter: &AnyFilter, keys: &[&[u8]], path: &Path, what: &str) -> u64 {
    save(path, filter, &Metadata::default()).expect("saved");
    let secret = match filter.description().hashing {
        Hashing::Scheme(Scheme::Native(Digester::SipHash { key })) => Some(key),
        _ => None,
    };
    let mapped = Mapped::open(path, secret.as_ref()).expect("whole");
    mapped.verify().expect("as written");
    let described = (mapped.description(), mapped.stats());
    assert_eq!(described, (filter.description(), filter.stats()), "{what}");
    let others: Vec<Vec<u8>> = keys.iter().map(|key| [*key, b"other"].concat()).collect();
    let others: Vec<&[u8]> = others.iter().map(Vec::as_slice).collect();
    for keys in [keys, &others] {
        let (mut expected, mut found) = (vec![false; keys.len()], vec![false; keys.len()]);
        filter.contains_bytes_batch(keys, &mut expected);
        mapped.contains_bytes_batch(keys, &mut found);
        assert!(found == expected, "{what}");
    }
    let (read, _) = load(path, secret.as_ref()).expect("whole");
    assert!(read == *filter, "{what}");
    2 * keys.len() as u64
}

fn round(round: u64) -> u64 {
    let mut asked = 0;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("filter");
    for &kind in Kind::ALL {
        let mut random = random(kind.name(), round);
        let keys = keys(&mut random);
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let what = format!("{kind} in round {round}, {} keys", keys.len());
        let filter = filled(kind, &keys, &mut random);
        asked += ask(&filter, &keys, &mut random, &what);
        asked += ask_view(&filter, &keys, &mut random, &what);
        asked += ask_file(&filter, &keys, &path, &what);
        asked += ask_shared(filter, &keys, &mut random, &what);
    }
    asked
}

#[test]
fn inserted_keys_are_found_by_every_kind() {
    let (rounds, next, asked) = (rounds(SHORT), AtomicU64::new(0), AtomicU64::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= rounds {
                        return;
                    }
                    asked.fetch_add(round(index), Ordering::Relaxed);
                }
            });
        }
    });
    let asked = asked.into_inner();
    println!("{rounds} rounds: {asked} lookups of inserted keys, 0 missed");
    assert!(asked >= rounds * Kind::ALL.len() as u64);
}
