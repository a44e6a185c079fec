//! A mapped file that another program overwrites: answers may change, nothing else may.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;

use mayhap::file::{Mapped, save};
use mayhap::format::native::Metadata;
use mayhap::{
    AnyFilter, Blocked, Bloom, Cuckoo, Digester, Filter as _, Fuse, Insert, Ribbon, Scalable,
    Windowed,
    kinds::{Cascade, Guarded, Spectral, SplitBlock},
};

/// Filters of the kinds whose lookups follow the bits in the body, and some that do not.
fn filters() -> Vec<AnyFilter> {
    let keys = || 0..20_000_u32;
    let digester = Digester::default;
    let mut blocked = Blocked::with_capacity(20_000, 0.01).expect("valid");
    blocked.insert_all(keys());
    let mut bloom = Bloom::with_capacity(20_000, 0.01).expect("valid");
    bloom.insert_all(keys());
    let mut split_block = SplitBlock::with_capacity(20_000, 0.01).expect("valid");
    split_block.insert_all(keys());
    let mut guarded = Guarded::guard(blocked.clone()).expect("memory");
    guarded.refresh(20_000..100_000_u32).expect("memory");
    assert!(guarded.listed() > 500);
    let mut scalable = Scalable::with_capacity(1000, 0.01).expect("valid");
    scalable.insert_all(keys());
    let mut cuckoo = Cuckoo::with_capacity(1000, 0.01).expect("valid");
    cuckoo.insert_all(keys());
    let mut windowed = Windowed::with_capacity(20_000, 0.01).expect("valid");
    windowed.insert_all(keys());
    let mut spectral = Spectral::with_capacity(20_000, 0.01).expect("valid");
    for key in keys() {
        spectral.insert(&key);
    }
    vec![
        Ribbon::build(digester(), 7, keys()).expect("built").into(),
        Fuse::build(digester(), 8, keys()).expect("built").into(),
        Cascade::build(digester(), keys(), 20_000..50_000_u32)
            .expect("built")
            .into(),
        guarded.into(),
        scalable.into(),
        cuckoo.into(),
        windowed.into(),
        spectral.into(),
        blocked.into(),
        bloom.into(),
        split_block.into(),
    ]
}

#[test]
fn a_map_whose_file_is_overwritten_still_answers() {
    let folder = tempfile::TempDir::new().expect("a folder");
    for filter in filters() {
        let kind = filter.kind();
        let path = folder.path().join(kind.name());
        save(&path, &filter, &Metadata::default()).expect("saved");
        let mapped = Mapped::open(&path, None).expect("whole");
        let file = OpenOptions::new().write(true).open(&path).expect("there");
        let body = file.metadata().expect("there").len() - 64;

        for fill in [0x00, 0xFF, 0x5A, 0x01, 0x80] {
            file.write_all_at(&vec![fill; body as usize], 64)
                .expect("room");
            let keys: Vec<[u8; 4]> = (0..5000_u32).map(u32::to_le_bytes).collect();
            let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let single: Vec<bool> = keys.iter().map(|key| mapped.contains(*key)).collect();
            let mut batch = vec![false; keys.len()];
            mapped.filter().contains_bytes_batch(&keys, &mut batch);
            assert_eq!(single, batch, "{kind} over {fill:#x}");
            assert!(mapped.filter().stats().bits > 0, "{kind}");
        }
    }
}
