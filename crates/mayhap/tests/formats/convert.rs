//! Files of every format: recognised, and converted to every format that can hold them and no other.
//!
//! The files are the committed ones of `tests/data`, made by the programs of the formats.

use std::fs;
use std::ops::RangeBounds;
use std::path::{Path, PathBuf};

use mayhap::file::{Build, Mapped};
use mayhap::format::{self, Format};
use mayhap::{
    AnyFilter, Assemble as _, Bloom, Error, Kind, Scheme, SecretKey, Shape,
    kinds::{SplitBlock, SplitBlockShape},
};

/// A committed file, and the only format besides the native one that can hold it.
struct Case {
    path: PathBuf,
    bytes: Vec<u8>,
    format: Format,
    home: Option<Format>,
}

impl Case {
    fn open(&self) -> AnyFilter {
        let (filter, format) = format::open(&self.bytes, Some(&secret())).expect("a whole file");
        assert_eq!(format, self.format, "{}", self.path.display());
        filter
    }
}

/// The secret of the native files that have one.
fn secret() -> SecretKey {
    SecretKey::from_bytes(*b"sixteen secrets!")
}

/// Lists the files of a folder of `tests/data` whose names end so, and checks how many there are. Our own increase
/// with each kind.
fn files(folder: &str, end: &str, count: impl RangeBounds<usize>) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(folder);
    let entries = fs::read_dir(&folder).expect("committed");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("listed").path())
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect();
    paths.sort();
    assert!(
        count.contains(&paths.len()),
        "files in {}",
        folder.display()
    );
    paths
}

fn cases() -> Vec<Case> {
    [
        (Format::Native, files("native/v1", ".mayhap", 54..)),
        (Format::Guava, files("golden/wire", ".bin", 65..=65)),
        (Format::Parquet, files("foreign/parquet", ".bin", 28..=28)),
        (Format::Spark, files("foreign/spark", ".bin", 24..=24)),
        (Format::Dcso, files("foreign/dcso", ".bloom", 10..=10)),
        (
            Format::RedisBloom,
            files("foreign/redisbloom", "single.bf", 3..=3),
        ),
    ]
    .into_iter()
    .flat_map(|(format, paths)| paths.into_iter().map(move |path| (format, path)))
    .map(|(format, path)| Case {
        bytes: fs::read(&path).expect("committed"),
        home: match format {
            Format::Native => home(&path),
            foreign => Some(foreign),
        },
        path,
        format,
    })
    .collect()
}

/// The foreign format that can hold a native file, by the name of the file.
fn home(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_string_lossy();
    [
        ("bloom-guava", Format::Guava),
        ("bloom-spark", Format::Spark),
        ("bloom-dcso", Format::Dcso),
        ("split-block", Format::Parquet),
    ]
    .into_iter()
    .find_map(|(start, format)| name.starts_with(start).then_some(format))
}

fn converted(filter: &AnyFilter, format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    format::convert(filter, format, &mut bytes).expect("a format that holds it");
    bytes
}

/// Asserts that two filters have the same bits under the same hash. Not every format stores what its
/// filter was made for.
#[track_caller]
fn assert_same(left: &AnyFilter, right: &AnyFilter) {
    let (mut left_about, mut right_about) = (left.description(), right.description());
    (left_about.promise, right_about.promise) = (None, None);
    assert_eq!(left_about, right_about);
    assert!(left.parts() == right.parts(), "other bits");
}

#[test]
fn every_file_is_recognised_in_memory_in_a_stream_and_on_disk() {
    for case in cases() {
        let filter = case.open();

        let streamed = format::open_reader(&case.bytes[..], Some(&secret())).expect("whole");
        let loaded = mayhap::file::open(&case.path, Some(&secret())).expect("whole");
        let named = case.format.decode(&case.bytes, Some(&secret()));

        assert_eq!(streamed, (filter.clone(), case.format));
        assert_eq!(loaded, (filter.clone(), case.format));
        assert_eq!(named.expect("its format"), filter);
    }
}

#[test]
fn every_file_converts_to_what_can_hold_it_and_back_to_the_same_bits() {
    let mut conversions = 0;
    for case in cases() {
        let filter = case.open();
        for format in [Some(Format::Native), case.home].into_iter().flatten() {
            let bytes = converted(&filter, format);
            let (there, recognised) = format::open(&bytes, Some(&secret())).expect("just written");
            assert_eq!(recognised, format, "{}", case.path.display());
            assert_same(&there, &filter);

            let back = converted(&there, case.format);
            // Native files may have metadata, and DCSO's have data and a count of their own.
            if matches!(case.format, Format::Guava | Format::Parquet | Format::Spark) {
                assert!(back == case.bytes, "{}: other bytes", case.path.display());
            }
            let (back, recognised) = format::open(&back, Some(&secret())).expect("just written");
            assert_eq!(recognised, case.format, "{}", case.path.display());
            assert_same(&back, &filter);
            conversions += 1;
        }
    }
    println!("formats: {conversions} conversions there and back");
}

#[test]
fn every_other_pair_is_refused_with_its_reason_and_writes_nothing() {
    let mut refusals = 0;
    for case in cases() {
        let filter = case.open();
        let holds = |format: &Format| *format == Format::Native || Some(*format) == case.home;
        for &format in Format::ALL.iter().filter(|format| !holds(format)) {
            let kind = match format {
                Format::Parquet => Kind::SplitBlock,
                _ => Kind::Bloom,
            };
            let is_foreign = filter.description().hashing == Scheme::RedisBloom.into();
            let expected = match filter.kind() == kind {
                // Our file of that scheme does not say what it was made for.
                true if is_foreign && format == Format::RedisBloom => "promise",
                true => "scheme",
                false => "kind",
            };

            let mut output = Vec::new();
            match format::convert(&filter, format, &mut output) {
                Err(Error::Unfit { what, .. }) => assert_eq!(what, expected),
                other => panic!("{} to {format}: {other:?}", case.path.display()),
            }
            assert!(output.is_empty(), "{} to {format}", case.path.display());
            refusals += 1;
        }
    }
    println!("formats: {refusals} refusals");
}

#[test]
#[cfg_attr(target_pointer_width = "32", ignore = "there is no room for 2 GiB")]
fn a_size_that_a_header_cannot_say_is_refused() {
    let shape = SplitBlockShape::new(1 << 26).expect("2 GiB");
    // Zeros from the system, never touched.
    let filter = SplitBlock::new(shape).expect("2 GiB of addresses");
    let refused = format::convert(&AnyFilter::from(filter), Format::Parquet, Vec::new());
    let error = refused.expect_err("2^31 bytes");
    assert!(
        matches!(error, Error::Unfit { what: "size", .. }),
        "{error}"
    );
}

#[test]
fn a_format_with_a_promise_needs_a_filter_that_has_one() {
    let shape = Shape::new(1000, 7).expect("valid");
    let filter = AnyFilter::from(Bloom::new(shape, Scheme::Dcso).expect("small"));
    let error = format::convert(&filter, Format::Dcso, Vec::new()).expect_err("no promise");
    assert!(
        matches!(
            error,
            Error::Unfit {
                what: "promise",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn the_promise_of_a_filter_survives_in_formats_that_have_one() {
    for case in cases() {
        if case.home != Some(Format::Dcso) {
            continue;
        }
        let filter = case.open();
        for format in [Format::Native, Format::Dcso] {
            let bytes = converted(&filter, format);
            assert_eq!(format::open(&bytes, None).expect("whole").0, filter);
        }
    }
}

#[test]
fn a_mapped_file_converts_without_being_loaded() {
    for case in cases() {
        if let (Format::Native, Some(home)) = (case.format, case.home) {
            let mapped = Mapped::open(&case.path, None).expect("whole");

            let mut bytes = Vec::new();
            format::convert(mapped.filter(), home, &mut bytes).expect("a format that holds it");

            assert!(bytes == converted(&case.open(), home), "{home}");
        }
    }
}

#[test]
fn an_unfinished_build_is_recognised_as_native_and_unfinished() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let path = folder.path().join("filter");
    let description = Kind::SplitBlock.plan(1000, 0.01).expect("valid");
    let build = Build::create(&path, &description).expect("room");
    build.flush().expect("room");

    let opened = mayhap::file::open(folder.path().join(".filter.mayhap-building"), None);

    assert!(
        matches!(opened, Err(Error::Unfinished { .. })),
        "{opened:?}"
    );
}

#[test]
fn no_truncated_file_is_taken_for_another_or_panics() {
    for case in cases() {
        // The shorter files show everything that truncation does, and keep the test quick.
        if case.bytes.len() > 400 {
            continue;
        }
        for length in 0..case.bytes.len() {
            let cut = &case.bytes[..length];
            match format::open(cut, Some(&secret())) {
                // Data at the end of a DCSO file has no length of its own.
                Ok((_, format)) => assert_eq!((format, case.format), (Format::Dcso, format)),
                Err(Error::Truncated { got, .. }) => assert_eq!(got, length as u64),
                Err(Error::Ambiguous { .. }) if length < 8 => {}
                // It may be a secret, whose bytes no error shows.
                Err(Error::Unrecognised { .. }) if is_short(length) => {}
                Err(error) => panic!("{} cut to {length}: {error}", case.path.display()),
            }
            let streamed = format::open_reader(cut, Some(&secret()));
            assert_eq!(
                streamed.is_ok(),
                format::open(cut, Some(&secret())).is_ok(),
                "{} cut to {length}",
                case.path.display()
            );
        }
    }
}

#[test]
fn bytes_after_the_end_are_refused_where_the_end_is_known() {
    for case in cases() {
        let longer = [&case.bytes[..], &[0]].concat();
        match (case.format, format::open(&longer, Some(&secret()))) {
            (Format::Dcso, opened) => assert_same(&opened.expect("data").0, &case.open()),
            (_, Err(Error::Extra { expected, .. })) => {
                assert_eq!(expected, case.bytes.len() as u64);
            }
            (_, Err(Error::Unrecognised { .. })) if is_short(longer.len()) => {}
            (format, other) => panic!("{format}: {other:?}"),
        }
    }
}

/// Returns whether an input is so short that an error only says that it is not a filter.
fn is_short(length: usize) -> bool {
    length < Format::SNIFFED_BYTES
}

/// Beginnings of all formats with random bytes inserted, and random ends, and as many inputs that are
/// entirely random: seed 7, 200 000 inputs of each.
#[test]
fn random_bytes_are_refused_or_read_as_what_they_say() {
    let mut state = 7_u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
        (((state >> 32) * limit as u64) >> 32) as usize
    };
    let cases = cases();
    let mut read = 0;
    for _ in 0..200_000 {
        let whole = &cases[below(cases.len())].bytes;
        let mut bytes = whole[..whole.len().min(below(300))].to_vec();
        for _ in 0..below(9) {
            let limit = if below(4) > 0 { 16 } else { 300 };
            if let Some(byte) = bytes.get_mut(below(limit)) {
                *byte = below(256) as u8;
            }
        }
        let opened = format::open(&bytes, Some(&secret()));
        let noise: Vec<u8> = bytes.iter().map(|_| below(256) as u8).collect();
        let _ = format::open(&noise, Some(&secret()));
        for format in Format::ALL {
            let _ = format.decode(&noise, Some(&secret()));
        }
        if let Ok((filter, format)) = opened {
            let again = format::open(&converted(&filter, format), Some(&secret()));
            assert_same(&again.expect("just written").0, &filter);
            read += 1;
        }
    }
    println!("formats: {read} of 200000 altered inputs read");
    assert!(read > 100, "{read}");
}
