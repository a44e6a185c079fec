//! Reading a filter from a stream takes the memory of one filter, not two.

use std::fs::{self, File};

use mayhap::file::save;
use mayhap::format::native::{self, Metadata};
use mayhap::{Blocked, Digester, Insert, kinds::BlockedShape};

/// The most bytes this process had in memory, since it began or since the peak was reset.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Resets the peak to the present memory; false if the system does not offer that.
fn forget_peak() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok() && peak_bytes().is_some()
}

#[test]
fn a_stream_is_read_in_the_memory_of_its_filter() {
    let _alone = crate::alone();
    // Just above a power of two, the worst case for a buffer that doubles.
    const BYTES: u64 = (64 << 20) + (1 << 20);
    if !forget_peak() {
        eprintln!(
            "SKIPPED a_stream_is_read_in_the_memory_of_its_filter: this system does not report a peak"
        );
        return;
    }
    let folder = tempfile::TempDir::new().expect("a folder");
    let path = folder.path().join("filter");
    let shape = BlockedShape::new(BYTES / 64, 8).expect("valid");
    let mut filter = Blocked::new(shape, Digester::default()).expect("memory");
    filter.insert_all(0..2_000_000_u32);
    save(&path, &filter, &Metadata::default()).expect("saved");
    drop(filter);
    forget_peak();
    let before = peak_bytes().expect("stated before");

    // A file, but read as a stream of unknown length.
    let (read, _) = native::read(File::open(&path).expect("there"), None).expect("whole");

    let grown = peak_bytes().expect("stated before") - before;
    println!("read a stream of {BYTES} bytes; memory grew by {grown} at most");
    assert!(grown > BYTES * 9 / 10, "the measure sees the filter itself");
    assert!(grown < BYTES + (8 << 20), "grew by {grown}");
    assert!((0..1000_u32).all(|key| read.contains(&key)));
}
