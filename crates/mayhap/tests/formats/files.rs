//! Filters in files: saved, loaded, mapped and built, when nothing fails. For failures see
//! `faults`.

use std::fs;
use std::path::{Path, PathBuf};

use mayhap::file::{Build, Lock, Mapped, load, save};
use mayhap::format::native::{self, Metadata};
use mayhap::{
    AnyFilter, Assemble as _, Blocked, Bloom, Digester, Error, Filter as _, Insert as _, Inserts,
    Kind, Scheme, SecretKey, Shape,
    kinds::{SplitBlock, SplitBlockShape},
};
use tempfile::TempDir;

fn folder() -> TempDir {
    TempDir::new().expect("a folder for temporary files")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.map(|entry| name(entry.expect("listed"))).collect();
    names.sort();
    names
}

/// Filters of every kind, with whole and partial last words, lines and chunks.
fn filters() -> Vec<AnyFilter> {
    let mut filters: Vec<AnyFilter> = Vec::new();
    for bits in [
        1,
        64,
        65,
        512,
        1000,
        8 << 20,
        (8 << 20) + 1,
        (20 << 20) + 777,
    ] {
        let shape = Shape::new(bits, 5).expect("valid");
        filters.push(Bloom::new(shape, Scheme::default()).expect("memory").into());
    }
    for keys in [1, 1000, 1_000_000, 3_000_000] {
        filters.push(Blocked::with_capacity(keys, 0.01).expect("memory").into());
    }
    for blocks in [1, 2, 3, 16_385] {
        let shape = SplitBlockShape::new(blocks).expect("valid");
        filters.push(SplitBlock::new(shape).expect("memory").into());
    }
    for filter in &mut filters {
        for key in 0..2000_u32 {
            filter.insert(&key).expect("a kind that can");
        }
    }
    filters
}

fn metadata() -> Metadata {
    Metadata {
        label: "label".into(),
        created_by: "tests".into(),
        ..Metadata::default()
    }
}

#[test]
fn a_filter_is_the_same_saved_loaded_mapped_and_built() {
    let folder = folder();
    let (saved, built) = (folder.path().join("saved"), folder.path().join("built"));
    for filter in filters() {
        for metadata in [Metadata::default(), metadata()] {
            save(&saved, &filter, &metadata).expect("saved");
            assert_eq!(
                load(&saved, None).expect("whole"),
                (filter.clone(), metadata.clone())
            );

            let mapped = Mapped::open(&saved, None).expect("whole");
            mapped.verify().expect("whole");
            mapped.verify_on(3).expect("whole");
            assert_eq!(mapped.metadata().expect("whole"), metadata);
            assert_eq!(mapped.description(), filter.description());
            assert_eq!(mapped.stats(), filter.stats());
            for key in 0..4000_u32 {
                assert_eq!(mapped.contains(&key), filter.contains(&key));
            }

            let mut build = Build::create(&built, &filter.description()).expect("room");
            for key in 0..2000_u32 {
                build.insert(&key);
            }
            build.finish(&metadata).expect("finished");
            assert!(fs::read(&built).expect("there") == fs::read(&saved).expect("there"));
        }
    }
    assert_eq!(names(folder.path()), ["built", "saved"]);
}

#[test]
fn a_batch_over_a_map_and_into_a_build_equals_the_loop_where_a_kind_can_be_built() {
    let folder = folder();
    let path = folder.path().join("filter");
    let keys: Vec<[u8; 4]> = (0..2000_u32).map(u32::to_le_bytes).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    for &kind in Kind::ALL {
        let description = kind.plan(1000, 0.1).expect("valid");
        if kind.inserts() != Inserts::BySettingBits {
            let refused = Build::create(&path, &description).expect_err("built in memory");
            assert!(matches!(refused, Error::Unsupported { .. }), "{refused}");
            assert!(names(folder.path()).is_empty(), "{kind} left something");
            continue;
        }
        let mut filter = AnyFilter::new(&description).expect("small");
        let mut build = Build::create(&path, &description).expect("room");
        let (mut new, mut expected) = ([false; 1000], [false; 1000]);
        build.insert_bytes_batch(&keys[..1000], &mut new);
        let insert = filter.as_insert().expect("keys can be inserted");
        insert.insert_bytes_batch(&keys[..1000], &mut expected);
        assert_eq!(new, expected);
        build.finish(&Metadata::default()).expect("finished");

        let mapped = Mapped::open(&path, None).expect("whole");
        let mut found = [false; 2000];
        mapped.contains_bytes_batch(&keys, &mut found);
        for (key, found) in keys.iter().zip(found) {
            assert_eq!(found, filter.contains_bytes(key));
        }
        fs::remove_file(&path).expect("there");
    }
}

#[test]
fn every_way_to_open_requires_the_secret() {
    let folder = folder();
    let path = folder.path().join("filter");
    let secret = SecretKey::from_bytes(*b"sixteen secrets!");
    let scheme = Scheme::Native(Digester::SipHash {
        key: secret.clone(),
    });
    let filter = Bloom::new(Shape::new(1000, 3).expect("valid"), scheme).expect("small");
    save(&path, &filter, &Metadata::default()).expect("saved");
    drop(Build::create(&path, &filter.description()).expect("room"));

    assert!(matches!(load(&path, None), Err(Error::SecretNeeded)));
    assert!(matches!(
        Mapped::open(&path, None),
        Err(Error::SecretNeeded)
    ));
    assert!(matches!(
        Build::resume(&path, None),
        Err(Error::SecretNeeded)
    ));
    let wrong = SecretKey::from_bytes([0; 16]);
    assert!(matches!(
        Mapped::open(&path, Some(&wrong)),
        Err(Error::SecretWrong)
    ));
    assert!(Mapped::open(&path, Some(&secret)).is_ok());
    assert!(Build::resume(&path, Some(&secret)).is_ok());
}

#[cfg(unix)]
#[test]
fn saving_keeps_permissions_and_links() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = folder();
    fs::create_dir(folder.path().join("real")).expect("made");
    let (real, link) = (
        folder.path().join("real/filter"),
        folder.path().join("link"),
    );
    symlink("real/filter", &link).expect("made");
    let [one, .., other] = &filters()[..] else {
        panic!("several filters");
    };

    save(&link, one, &Metadata::default()).expect("through a link to nothing");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("set");
    save(&link, other, &Metadata::default()).expect("through a link to a file");
    let mut build = Build::create(&link, &one.description()).expect("room");
    build.insert("key");
    build.finish(&Metadata::default()).expect("finished");

    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    let mode = fs::metadata(&real).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert!(Mapped::open(&link, None).expect("whole").contains("key"));
    assert_eq!(names(&folder.path().join("real")), ["filter"]);
}

#[test]
fn only_regular_files_are_replaced_or_read() {
    let folder = folder();
    let path = folder.path().join("folder");
    fs::create_dir(&path).expect("made");
    let filter = &filters()[0];

    assert!(matches!(
        save(&path, filter, &Metadata::default()),
        Err(Error::File { .. })
    ));
    assert!(matches!(load(&path, None), Err(Error::File { .. })));
    assert!(matches!(Mapped::open(&path, None), Err(Error::File { .. })));
    assert!(matches!(
        load(folder.path().join("absent"), None),
        Err(Error::File { .. })
    ));
    assert_eq!(names(folder.path()), ["folder"]);
}

#[test]
fn an_error_while_writing_leaves_the_old_file_and_no_other() {
    let folder = folder();
    let path = folder.path().join("filter");
    save(&path, &filters()[3], &Metadata::default()).expect("saved");
    let before = fs::read(&path).expect("there");

    let lock = Lock::acquire(&path).expect("free");
    let outcome = lock.replace(|output| {
        std::io::Write::write_all(output, b"half of a filt")?;
        Err(Error::Unfinished { format: "test" })
    });
    drop(lock);

    assert!(matches!(outcome, Err(Error::Unfinished { format: "test" })));
    assert_eq!(fs::read(&path).expect("there"), before);
    assert_eq!(names(folder.path()), ["filter"]);
}

#[test]
fn writers_exclude_each_other_and_readers_nobody() {
    let folder = folder();
    let path = folder.path().join("filter");
    let filter = &filters()[3];
    save(&path, filter, &Metadata::default()).expect("saved");
    let build = Build::create(&path, &filter.description()).expect("room");

    assert!(matches!(
        save(&path, filter, &Metadata::default()),
        Err(Error::Locked { .. })
    ));
    assert!(matches!(
        Build::resume(&path, None),
        Err(Error::Locked { .. })
    ));
    assert!(matches!(Build::discard(&path), Err(Error::Locked { .. })));
    let mapped = Mapped::open(&path, None).expect("readers need no lock");
    build.finish(&Metadata::default()).expect("finished");

    save(&path, filter, &Metadata::default()).expect("free again");
    mapped
        .verify()
        .expect("a map keeps the file it was made of");
}

#[test]
fn an_unfinished_build_is_not_a_filter_and_can_be_resumed_or_discarded() {
    let folder = folder();
    let path = folder.path().join("filter");
    let description = Kind::Blocked.plan(10_000, 0.01).expect("valid");
    let mut build = Build::create(&path, &description).expect("room");
    build.insert("before");
    build.checkpoint(7).expect("durable");
    build.checkpoint(8).expect("durable");
    build.insert("after");
    drop(build);

    let building = folder.path().join(".filter.mayhap-building");
    assert!(matches!(
        load(&building, None),
        Err(Error::Unfinished { .. })
    ));
    assert!(matches!(
        Mapped::open(&building, None),
        Err(Error::Unfinished { .. })
    ));
    assert!(matches!(
        Build::create(&path, &description),
        Err(Error::Unfinished { .. })
    ));

    let build = Build::resume(&path, None).expect("begun");
    assert_eq!(build.progress(), 8);
    assert!(build.contains("before") && build.contains("after"));
    drop(build);
    Build::discard(&path).expect("there");
    assert!(matches!(
        Build::resume(&path, None),
        Err(Error::File { .. })
    ));
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn a_torn_record_of_progress_leaves_the_one_before() {
    let folder = folder();
    let path = folder.path().join("filter");
    let building = folder.path().join(".filter.mayhap-building");
    let description = Kind::Bloom.plan(100, 0.01).expect("valid");
    let mut build = Build::create(&path, &description).expect("room");
    build.checkpoint(111).expect("durable");
    build.checkpoint(222).expect("durable");
    drop(build);

    // Records alternate in the last two 64 bytes; the second is in the first of them.
    let mut bytes = fs::read(&building).expect("there");
    let at = bytes.len() - 128 + 8;
    bytes[at] ^= 1;
    fs::write(&building, bytes).expect("written");

    assert_eq!(Build::resume(&path, None).expect("begun").progress(), 111);
}

/// Killed after the last byte was written and before the file got its name, with and without the
/// records of progress cut off.
#[test]
fn a_build_killed_just_before_its_renaming_is_finished_again() {
    let folder = folder();
    let path = folder.path().join("filter");
    let building: PathBuf = folder.path().join(".filter.mayhap-building");
    for filter in filters() {
        save(&path, &filter, &metadata()).expect("saved");
        let whole = fs::read(&path).expect("there");
        for extra in [0, 100] {
            let mut bytes = whole.clone();
            bytes.resize(whole.len() + extra, 0);
            fs::write(&building, &bytes).expect("written");

            let build = Build::resume(&path, None).expect("begun");
            assert_eq!(build.filter(), &filter);
            assert_eq!(build.progress(), u64::MAX, "every key is there");
            drop(build); // killed again
            let build = Build::resume(&path, None).expect("begun");
            assert_eq!(build.progress(), u64::MAX);
            build.finish(&metadata()).expect("finished");

            assert!(fs::read(&path).expect("there") == whole);
        }
    }
}

#[test]
fn a_finished_build_that_claims_more_than_it_has_takes_no_disk() {
    let folder = folder();
    let path = folder.path().join("filter");
    let building = folder.path().join(".filter.mayhap-building");
    save(&path, &filters()[0], &Metadata::default()).expect("room");
    let mut bytes = fs::read(&path).expect("just saved");
    bytes[24..32].copy_from_slice(&(1_u64 << 26).to_le_bytes());
    let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[..56]);
    bytes[56..64].copy_from_slice(&checksum.to_le_bytes());
    fs::write(&building, &bytes).expect("room");

    let error = Build::resume(&path, None).expect_err("8 MiB are not there");

    assert!(matches!(error, Error::Truncated { .. }), "{error}");
    let length = fs::metadata(&building).expect("kept").len();
    assert_eq!(length, bytes.len() as u64);
}

#[test]
fn a_record_with_the_highest_number_can_be_followed() {
    let folder = folder();
    let path = folder.path().join("filter");
    let building = folder.path().join(".filter.mayhap-building");
    let plan = Kind::Blocked.plan(10, 0.01).expect("valid");
    drop(Build::create(&path, &plan).expect("room"));
    let mut bytes = fs::read(&building).expect("begun");
    let record = bytes.len() - 64;
    bytes[record..record + 8].copy_from_slice(&u64::MAX.to_le_bytes());
    let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[record..record + 16]);
    bytes[record + 16..record + 24].copy_from_slice(&checksum.to_le_bytes());
    fs::write(&building, &bytes).expect("room");

    let mut build = Build::resume(&path, None).expect("whole");
    build.checkpoint(7).expect("room");
    drop(build);

    assert_eq!(Build::resume(&path, None).expect("whole").progress(), 7);
}

#[cfg(unix)]
#[test]
fn helper_files_are_as_private_as_the_filter() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    let path = folder.path().join("filter");
    let filter = &filters()[0];
    save(&path, filter, &Metadata::default()).expect("saved");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("ours");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;

    let lock = Lock::acquire(&path).expect("free");
    let replaced = lock.replace(|output| {
        for helper in [".filter.mayhap-lock", ".filter.mayhap-saving"] {
            assert_eq!(mode(&folder.path().join(helper)), 0o600, "{helper}");
        }
        native::write(filter, &Metadata::default(), output)
    });

    replaced.expect("saved");
    assert_eq!(mode(&path), 0o600);
}
