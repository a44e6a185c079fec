//! The cost of opening a mapped filter does not grow with it.

use std::time::Instant;

use mayhap::file::{Build, Mapped};
use mayhap::format::native::Metadata;
use mayhap::{Assemble as _, Blocked, Digester, kinds::BlockedShape};

/// The bytes of this process in memory, if the system reports them; counted page by page, because the
/// running totals of `statm` lag behind.
fn resident_bytes() -> Option<u64> {
    let totals = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = totals.lines().find(|line| line.starts_with("Rss:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

#[test]
fn opening_a_filter_of_a_gibibyte_takes_less_than_a_mebibyte() {
    let _alone = crate::alone();
    if resident_bytes().is_none() {
        eprintln!("SKIPPED opening_a_filter_of_a_gibibyte: no /proc/self/smaps_rollup here");
        return;
    }
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let path = folder.path().join("filter");
    let shape = BlockedShape::new(1 << 24, 8).expect("valid");
    let small = BlockedShape::new(1, 8).expect("valid");
    let small = Blocked::new(small, Digester::default()).expect("small");
    let mut description = small.description();
    description.bits = shape.bits();
    let mut build = Build::create(&path, &description).expect("room");
    for key in 0..1000_u64 {
        build.insert(&key);
    }
    build.finish(&Metadata::default()).expect("finished");
    let before = resident_bytes().expect("stated before");

    let start = Instant::now();
    let mapped = Mapped::open(&path, None).expect("whole");
    let opened = start.elapsed();
    let after = resident_bytes().expect("stated before");

    let grown = after.saturating_sub(before);
    assert!(grown < 1 << 20, "grew by {grown} bytes");
    assert!((0..1000_u64).all(|key| mapped.contains(&key)));
    for threads in [1, 2] {
        let start = Instant::now();
        mapped.verify_on(threads).expect("whole");
        println!(
            "verified 1 GiB on {threads} threads in {:?}",
            start.elapsed()
        );
    }
    let verified = resident_bytes().expect("stated before");
    assert!(
        verified > after + (1 << 20),
        "the measure sees pages that were read"
    );
    println!("opened 1 GiB in {opened:?}, resident memory grew by {grown} bytes");
}
