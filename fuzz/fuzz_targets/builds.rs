//! Builds found beside a file: continued or refused, without taking more disk than they had.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use mayhap::Assemble as _;
use mayhap::file::{Build, load};
use mayhap::format::native::Metadata;
use mayhap_fuzz::{ask, metered, scratch};
use mayhap_testing::forge::{forged, secret};
use xxhash_rust::xxh3::xxh3_64;

/// The bytes that finishing and continuing may add to a file: room for metadata and two records.
const SLACK: u64 = 8192;

const RECORD_BYTES: usize = 64;

fuzz_target!(|data: &[u8]| {
    check(data);
    if let Some(mut data) = forged(data) {
        forge_records(&mut data);
        check(&data);
    }
});

/// Makes the checksums fit of the two records of progress at the end of the file.
fn forge_records(data: &mut [u8]) {
    for record in data.rchunks_exact_mut(RECORD_BYTES).take(2) {
        let checksum = xxh3_64(&record[..16]);
        record[16..24].copy_from_slice(&checksum.to_le_bytes());
    }
}

fn check(data: &[u8]) {
    let target = scratch();
    let name = target.file_name().expect("a file").display();
    let building = target.with_file_name(format!(".{name}.mayhap-building"));
    fs::write(&building, data).expect("room for a small file");
    let secret = secret();

    let build = metered(data.len(), || Build::resume(target, Some(&secret)));
    let bytes = fs::metadata(&building).expect("still there").len();
    assert!(bytes <= data.len() as u64 + SLACK, "{bytes} bytes on disk");
    if let Ok(mut build) = build {
        ask(build.filter(), data);
        build.insert("key");
        build
            .checkpoint(build.progress() / 2)
            .expect("room for a record");
        let description = build.filter().description();
        build
            .finish(&Metadata::default())
            .expect("room for a trailer");
        let (filter, _) = load(target, Some(&secret)).expect("just finished");
        assert_eq!(filter.description(), description);
        assert!(filter.contains("key"));
    }
    Build::discard(target).expect("nobody else has it");
    let _ = fs::remove_file(target);
}
