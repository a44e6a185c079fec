//! Filter files of every kind and format, changed at random, most of them with their checksums mended.
//!
//! A reader refuses a changed file or reads a filter: one that answers, grows and is saved like any other. It never
//! panics, and takes no memory that the file only claims. `MAYHAP_TORTURE=100 cargo test --release -p mayhap --test
//! mutants -- --nocapture` tries a hundred times as many, and `MAYHAP_SEED=7` others.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use mayhap::file::{Mapped, load};
use mayhap::format::native::{self, Metadata};
use mayhap::format::{self, Format};
use mayhap::{AnyFilter, Assemble as _, Error, Filter as _, Merge as _};

use mayhap_testing::decoder::{ask, decoder};
use mayhap_testing::forge::secret;
use mayhap_testing::meter::{Meter, metered};
use mayhap_testing::{change, turns};

#[global_allocator]
static METER: Meter = Meter;

/// The number of mutants in a short run.
const MUTANTS: u64 = 20_000;

/// The bytes that a small filter may grow by when a few keys are inserted: one more layer.
const GROWN: usize = 32 << 20;

/// Keys that are inserted into the filters that were read.
const KEYS: [&[u8]; 4] = [b"", b"key", b"https://example.org/", b"\xFF\0"];

/// The number of mutants by outcome.
#[derive(Debug, Default)]
struct Outcomes {
    refused: u64,
    read: u64,
    inserted: u64,
    mapped: u64,
}

// The only test here: the meter sees the whole process.
#[test]
fn a_changed_file_is_refused_or_is_a_filter_like_any_other() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/native/v1");
    let files = change::files(&data);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mutant");
    let mut outcomes = Outcomes::default();
    let mutants = turns::rounds(MUTANTS);
    for round in 0..mutants {
        let mut random = turns::random("mutants", round);
        let mutant = change::mutant(&files, &mut random);
        let tried = catch_unwind(AssertUnwindSafe(|| {
            try_mutant(&mutant, &mut outcomes);
            // Files take longer than memory.
            if round % 8 == 0 {
                try_file(&path, &mutant, &mut outcomes);
            }
        }));
        if let Err(panic) = tried {
            println!("mutant {round}, {} bytes: {mutant:02x?}", mutant.len());
            resume_unwind(panic);
        }
    }
    println!("{mutants} mutants of {} files: {outcomes:?}", files.len());
    // If everything were refused, nothing would be tested.
    assert!(outcomes.read > mutants / 20 && outcomes.refused > mutants / 4);
}

fn try_mutant(mutant: &[u8], outcomes: &mut Outcomes) {
    let secret = Some(&secret());
    let read = decoder(
        mutant,
        |input| native::read(input, secret),
        |(filter, metadata), output| native::write(filter, metadata, output),
    );
    let decoded = metered(mutant.len(), || native::decode(mutant, secret));
    match (read, &decoded) {
        (Some(read), Ok(decoded)) => assert_eq!(read.value, *decoded),
        (Some(read), Err(Error::Extra { .. })) => assert!(read.bytes < mutant.len()),
        (None, Err(_)) => {}
        (read, decoded) => panic!("a stream is {}, a slice {decoded:?}", read.is_some()),
    }

    let opened = metered(mutant.len(), || format::open(mutant, secret));
    let streamed = metered(mutant.len(), || format::open_reader(mutant, secret));
    assert_eq!(opened.is_ok(), streamed.is_ok());
    let Ok((filter, format)) = opened else {
        outcomes.refused += 1;
        return;
    };
    outcomes.read += 1;
    assert_eq!(decoded.is_ok(), format == Format::Native);
    assert_eq!(streamed.expect("as well"), (filter.clone(), format));
    ask(&filter, mutant);
    try_formats(&filter, format);
    try_changes(filter, outcomes);
}

/// Writes the filter in every format that holds it, and reads it again.
fn try_formats(filter: &AnyFilter, format: Format) {
    for &other in Format::ALL {
        let mut file = Vec::new();
        match format::convert(filter, other, &mut file) {
            Ok(()) => {
                let copy = other.decode(&file, Some(&secret())).expect("just written");
                assert_eq!(copy.parts(), filter.parts(), "{other}");
            }
            Err(error) => assert!(other != format, "{error}"),
        }
    }
}

/// Inserts, removes and merges.
fn try_changes(mut filter: AnyFilter, outcomes: &mut Outcomes) {
    let before = filter.clone();
    if let Ok(kind) = filter.as_insert() {
        outcomes.inserted += 1;
        metered(GROWN, || {
            // Enough to fill the newest layer of most kinds that grow.
            for key in 0..100_u64 {
                kind.insert_bytes(&key.to_le_bytes());
            }
            KEYS.map(|key| kind.insert_bytes(key))
        });
        // Large bits come straight from the system, where the meter does not see them.
        let bytes = filter.description().bits / 8;
        assert!(
            bytes <= GROWN as u64,
            "{:?} grew to {bytes} bytes",
            before.description()
        );
        assert!(
            KEYS.iter().all(|key| filter.contains_bytes(key)),
            "a key is lost"
        );
    }
    if let Ok(kind) = filter.as_insert_area() {
        for (area, key) in (0..).zip(KEYS) {
            let _ = kind.insert_area_bytes(key, area);
        }
    }
    if let Ok(kind) = filter.as_count() {
        assert!(KEYS.iter().all(|key| kind.count_bytes(key) > 0) || filter.as_insert().is_err());
    }
    let mut file = Vec::new();
    native::write(&filter, &Metadata::default(), &mut file).expect("memory");
    let (again, _) = native::decode(&file, Some(&secret())).expect("just written");
    assert!(again == filter, "saved as another");

    if let Ok(kind) = filter.as_remove() {
        for key in KEYS {
            let _ = kind.remove_bytes(key);
        }
    }
    // Filters that grew differently may refuse each other; none may lose a key.
    let mut union = before;
    if metered(GROWN, || union.union(&again)).is_ok() {
        let is_kept = |key: &&[u8]| !again.contains_bytes(key) || union.contains_bytes(key);
        assert!(KEYS.iter().all(is_kept), "a union lost a key");
    }
}

/// Loads and maps the same file on disk; both must agree.
fn try_file(path: &Path, mutant: &[u8], outcomes: &mut Outcomes) {
    let secret = Some(&secret());
    fs::write(path, mutant).expect("room for a small file");
    let loaded = metered(mutant.len(), || load(path, secret));
    let mapped = metered(mutant.len(), || Mapped::open(path, secret));
    // A file is only opened again: one that is mapped must not be changed.
    fs::remove_file(path).expect("just written");
    let Ok(mapped) = mapped else {
        assert!(loaded.is_err(), "loaded but not mapped");
        return;
    };
    outcomes.mapped += 1;
    ask(mapped.filter(), mutant);
    let verified = mapped.verify();
    match loaded {
        Ok((filter, metadata)) => {
            verified.expect("loaded");
            assert_eq!(mapped.metadata().expect("verified"), metadata);
            assert_eq!(mapped.stats(), filter.stats());
            assert!(
                KEYS.iter()
                    .all(|key| mapped.contains_bytes(key) == filter.contains_bytes(key))
            );
        }
        Err(error) => assert!(verified.is_err(), "verified but not loaded: {error}"),
    }
}
