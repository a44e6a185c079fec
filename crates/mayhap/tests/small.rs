//! Every line of unsafe code, with so few keys that an interpreter which checks each access comes to an end:
//! `cargo +nightly miri test -p mayhap --test small`.

use mayhap::{
    AnyFilter, Assemble as _, AtomicBlocked, AtomicBloom, Bitmap, Blocked, Bloom, Digester,
    Filter as _, Fuse, Insert, Inserts, Kind,
    bits::{AtomicBitmap, BitmapView, Bits as _},
    kinds::{AtomicSplitBlock, BlockedShape, SplitBlock, SplitBlockShape},
    sets::Fingerprints,
};

const KEYS: u64 = if cfg!(miri) { 10 } else { 40 };

fn keys() -> Vec<[u8; 8]> {
    (0..KEYS).map(u64::to_le_bytes).collect()
}

/// Looks up keys one by one, in a batch, and over borrowed bytes.
fn ask(filter: &AnyFilter) {
    let keys = keys();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let parts: Vec<Vec<u8>> = filter.parts().iter().map(|part| part.to_bytes()).collect();
    let sizes = filter.parts().into_iter().map(|part| part.size());
    let views = parts.iter().zip(sizes);
    let views = views.map(|(bytes, size)| BitmapView::new(&bytes[..], size).expect("as many"));
    let view = AnyFilter::assemble(&filter.description(), views.collect()).expect("the same");

    let (mut found, mut viewed) = (vec![false; keys.len()], vec![false; keys.len()]);
    filter.contains_bytes_batch(&keys, &mut found);
    view.contains_bytes_batch(&keys, &mut viewed);
    for (index, key) in keys.iter().enumerate() {
        let answers = [filter.contains_bytes(key), found[index], viewed[index]];
        assert_eq!(answers, [true; 3], "{}", filter.kind());
    }
}

/// Returns whether sizes of this kind come from sums that would take an interpreter minutes. Their unsafe code is that
/// of filters made by shape, below.
fn is_sized_slowly(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Blocked
            | Kind::Guarded
            | Kind::Scalable
            | Kind::Shifting
            | Kind::SplitBlock
            | Kind::Windowed
    )
}

#[test]
fn every_kind_finds_its_keys() {
    for &kind in Kind::ALL {
        if kind.inserts() == Inserts::Never || (cfg!(miri) && is_sized_slowly(kind)) {
            continue;
        }
        let plan = kind.plan(KEYS, 0.01).expect("valid");
        let mut filter = AnyFilter::new(&plan).expect("memory");
        let keys = keys();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let insert = filter.as_insert().expect("not static");
        insert.insert_bytes(keys[0]);
        insert.insert_bytes_batch(&keys, &mut vec![false; keys.len()]);
        ask(&filter);
        assert_eq!(filter.clone(), filter);
    }
}

#[test]
fn slots_of_every_width_are_read() {
    for bits in [8, 16, 32] {
        let filter = Fuse::build(Digester::default(), bits, keys());
        ask(&filter.expect("built").into());
    }
}

#[test]
fn lines_with_many_bits_per_key_are_merged() {
    for hashes in [1, 8, 9, 17, 64] {
        let shape = BlockedShape::new(3, hashes).expect("valid");
        let mut filter = Blocked::new(shape, Digester::default()).expect("small");
        filter.insert_all(keys());
        ask(&filter.into());
    }
}

#[test]
fn bits_become_atomic_and_plain_again() {
    let mut bloom = Bloom::with_capacity(KEYS, 0.01).expect("valid");
    bloom.insert_all(keys());
    let bloom = AtomicBloom::from(bloom);
    assert!(!bloom.insert(&keys()[0]) && bloom.contains(&keys()[1]));
    ask(&Bloom::from(bloom).into());

    let shape = BlockedShape::new(2, 6).expect("valid");
    let blocked = AtomicBlocked::from(Blocked::new(shape, Digester::default()).expect("small"));
    for key in keys() {
        blocked.insert(&key);
    }
    ask(&Blocked::from(blocked).into());

    let shape = SplitBlockShape::new(4).expect("valid");
    let split = AtomicSplitBlock::from(SplitBlock::new(shape).expect("small"));
    for key in keys() {
        split.insert(&key);
    }
    ask(&SplitBlock::from(split).into());
}

#[test]
fn bitmaps_grow_and_change() {
    let mut bits = Bitmap::new(100).expect("small");
    bits.set_range(3..90);
    bits.grow(5000).expect("small");
    bits.set(4999);
    bits.not();
    let copy = bits.clone();
    let atomic = AtomicBitmap::from(bits);
    assert!(atomic.set(4) && !atomic.set(4));
    assert_eq!(Bitmap::from(atomic).count_ones(), copy.count_ones() + 1);
    for position in [0, 63, 64, 4999, 5000, 1 << 62] {
        copy.prefetch(position);
        assert_eq!(copy.window(position) & 1 == 1, copy.get(position));
    }
}

#[test]
fn hashes_move_as_their_set_grows() {
    let mut set = Fingerprints::new();
    let hash = |index: u64| (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for index in 0..2000 {
        assert!(set.insert(hash(index)).expect("memory"));
    }
    assert!((0..2000).all(|index| set.contains(hash(index))));
}
