//! Files that are not filters, and the errors of the reader.

use std::io::{Cursor, Read as _};
use std::path::Path;

use mayhap::file::Mapped;
use mayhap::format::native::{self, Metadata, Progress};
use mayhap::{AnyFilter, Blocked, Bloom, Error, Insert, Kind, Result, Scheme, Shape};
use mayhap_testing::forge;

fn file() -> Vec<u8> {
    let mut filter = Blocked::with_capacity(100, 0.01).expect("valid");
    filter.insert("key");
    encoded(&filter.into(), &Metadata::default())
}

fn encoded(filter: &AnyFilter, metadata: &Metadata) -> Vec<u8> {
    let mut bytes = Vec::new();
    native::write(filter, metadata, &mut bytes).expect("memory");
    bytes
}

/// Returns a file with some header bytes replaced and all checksums made to fit.
fn forged_file(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = file();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    forge::forged(&file).expect("a header")
}

/// Returns the error for such a file.
#[track_caller]
fn forged(at: usize, bytes: &[u8]) -> Error {
    decoded(&forged_file(at, bytes)).expect_err("forged")
}

fn decoded(bytes: &[u8]) -> Result<AnyFilter> {
    native::decode(bytes, None).map(|(filter, _)| filter)
}

/// Reads files that a removed kind was once tested with.
#[test]
fn files_of_a_kind_that_was_removed_are_refused_by_its_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/native/removed");
    for name in ["sliced-rapidhash.mayhap", "sliced-layers.mayhap"] {
        let path = folder.join(name);
        for refused in [
            mayhap::file::open(&path, None).err(),
            mayhap::file::load(&path, None).err(),
            mayhap::file::Mapped::open(&path, None).err(),
        ] {
            let said = refused.expect("removed").to_string();
            assert!(
                said.contains("`sliced` (code 15) was removed before 0.1.0"),
                "{said}"
            );
        }
    }
}

#[test]
fn unknown_codes_are_named() {
    for (at, what, expected) in [
        (8, "version", 0x0102_u64),
        (10, "kind", 0x0102),
        (12, "scheme", 0x0102),
        (14, "flags", 0x0102),
    ] {
        let error = forged(at, &[2, 1]);
        assert!(
            matches!(error, Error::Unknown { what: named, code, .. } if (named, code) == (what, expected)),
            "{error}"
        );
    }
    let error = decoded(b"PAR1 and so on").expect_err("another format");
    assert!(matches!(error, Error::Unrecognised { .. }), "{error}");
}

#[test]
fn damage_is_distinguished_from_unknown_codes_and_names_the_place() {
    for at in 8..64 {
        let mut bytes = file();
        bytes[at] ^= 1;
        let error = decoded(&bytes).expect_err("damaged");
        assert!(
            matches!(error, Error::Damaged { part: "header", .. }),
            "{at}: {error}"
        );
    }
    let mut bytes = file();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let error = decoded(&bytes).expect_err("damaged");
    assert!(
        matches!(
            error,
            Error::Damaged {
                part: "trailer",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_damaged_chunk_is_named_by_number_and_offset() {
    // Three chunks, the last a short one.
    let shape = Shape::new((5 << 19) * 8 + 77, 3).expect("valid");
    let mut filter = Bloom::new(shape, Scheme::default()).expect("memory");
    filter.insert_all(0..100_000_u32);
    let filter = AnyFilter::from(filter);
    let mut bytes = encoded(&filter, &Metadata::default());
    assert_eq!(decoded(&bytes).expect("whole"), filter);
    assert_eq!(native::read(&bytes[..], None).expect("whole").0, filter);

    for (chunk, at) in [
        (0, 64),
        (0, 64 + (1 << 20) - 1),
        (1, 64 + (1 << 20)),
        (2, 64 + (5 << 19)),
    ] {
        bytes[at] ^= 0x10;
        let error = decoded(&bytes).expect_err("damaged");
        bytes[at] ^= 0x10;
        assert!(
            matches!(error, Error::Damaged { part: "chunk", index, offset, .. }
                if index == chunk && offset == 64 + (chunk << 20)),
            "{error}"
        );
    }
}

#[test]
fn every_shorter_file_is_truncated_and_every_longer_one_has_extra_bytes() {
    let mut bytes = file();
    for end in 0..bytes.len() {
        let error = decoded(&bytes[..end]).expect_err("cut");
        assert!(
            matches!(error, Error::Truncated { got, .. } if got == end as u64),
            "{error}"
        );
        let error = native::read(&bytes[..end], None).expect_err("cut");
        assert!(
            matches!(error, Error::Truncated { got, .. } if got == end as u64),
            "{error}"
        );
    }
    let whole = bytes.len() as u64;
    bytes.push(0);
    let error = decoded(&bytes).expect_err("longer");
    assert!(
        matches!(error, Error::Extra { expected, .. } if expected == whole),
        "{error}"
    );
}

#[test]
fn a_stream_is_read_to_the_end_of_the_filter_and_no_further() {
    let mut bytes = file();
    bytes.extend_from_slice(b"what follows");
    let mut stream = Cursor::new(bytes);

    native::read(&mut stream, None).expect("whole");

    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "what follows");
}

#[test]
fn a_claimed_size_takes_no_memory() {
    // 2^62 bits, more than any machine has; the file is cut where the body would continue.
    let huge = (1_u64 << 62).to_le_bytes();
    assert!(matches!(forged(24, &huge), Error::Truncated { expected, .. } if expected > 1 << 59));
    let error = native::read(&forged_file(24, &huge)[..], None).expect_err("cut");
    assert!(matches!(error, Error::Truncated { .. }), "{error}");
}

/// Each row: the place in the header, the bytes written there, the error, and its fields.
#[test]
fn filters_that_no_kind_can_be_are_refused() {
    let not_a_number = f64::NAN.to_le_bytes();
    let rows: [(usize, &[u8], &str, &str); 11] = [
        (24, &[1, 0], "Bits", ""),
        (32, &[65], "Hashes", "got: 65"),
        (36, &[1], "Field", "field: \"detail\""),
        (40, &[0; 8], "Capacity", "got: 0"),
        (48, &not_a_number, "Rate", ""),
        (12, &[2], "Incompatible", "what: \"scheme\""),
        // A blocked filter by XXH64, and one in Spark's scheme with a seed past 32 bits.
        (12, &[12], "Incompatible", "what: \"scheme\""),
        (
            12,
            &[10, 0, 0, 0, 0, 0, 0, 0, 1],
            "Field",
            "field: \"seed\"",
        ),
        // A seed where the scheme has none.
        (12, &[12, 0, 0, 0, 1], "Field", "field: \"seed\""),
        // A split-block filter in the native scheme, and one by XXH64 with the six hashes of the blocked filter.
        (10, &[3], "Incompatible", "what: \"scheme\""),
        (10, &[3, 0, 12], "Hashes", "got: 6, least: 8, most: 8"),
    ];
    for (at, bytes, variant, fields) in rows {
        let error = format!("{:?}", forged(at, bytes));
        let is_expected = error.starts_with(variant) && error.contains(fields);
        assert!(is_expected, "{at}, {bytes:?}: {error}");
    }
}

#[test]
fn ones_past_the_last_bit_are_refused() {
    let filter = Bloom::new(Shape::new(70, 1).expect("valid"), Scheme::default()).expect("small");
    let mut bytes = encoded(&filter.into(), &Metadata::default());
    bytes[72] = 0x40;
    let bytes = forge::forged(&bytes).expect("a header");
    let folder = tempfile::TempDir::new().expect("a folder");
    let path = folder.path().join("filter");
    std::fs::write(&path, &bytes).expect("written");
    let mapped = Mapped::open(&path, None).expect("only the header is looked at");

    for refused in [decoded(&bytes).map(drop), mapped.verify()] {
        let error = format!("{:?}", refused.expect_err("not what is written"));
        assert!(error.contains("field: \"last word\", got: 64"), "{error}");
    }
}

#[test]
fn metadata_is_kept_as_given_up_to_its_limits() {
    let filter = AnyFilter::new(&Kind::Bloom.plan(10, 0.1).expect("valid")).expect("small");
    let most = Metadata {
        label: "l".repeat(255),
        created_by: "c".repeat(4096),
        progress: None,
    };
    let bytes = encoded(&filter, &most);
    assert_eq!(
        native::decode(&bytes, None).expect("whole"),
        (filter.clone(), most.clone())
    );
    assert_eq!(
        native::read(&bytes[..], None).expect("whole"),
        (filter.clone(), most.clone())
    );

    let mut long = most;
    long.label.push('l');
    let mut output = Vec::new();
    let error = native::write(&filter, &long, &mut output).expect_err("too long");
    assert!(
        matches!(
            error,
            Error::Long {
                what: "label",
                got: 256,
                most: 255
            }
        ),
        "{error}"
    );
    assert!(output.is_empty());
}

#[test]
fn progress_that_no_run_makes_is_refused() {
    let filter = AnyFilter::new(&Kind::Bloom.plan(10, 0.1).expect("valid")).expect("small");
    let metadata = Metadata {
        progress: Some(Progress::default()),
        ..Metadata::default()
    };
    let whole = encoded(&filter, &metadata);
    let record = whole.len() - 8 - 64;
    // An invalid state, and an output that ends before it starts.
    for (at, byte) in [(0, 0), (0, 3), (40, 1)] {
        let mut bytes = whole.clone();
        bytes[record + at] = byte;
        let bytes = forge::forged(&bytes).expect("a header");

        let error = native::decode(&bytes, None).expect_err("forged");

        assert!(matches!(error, Error::Field { .. }), "{error}");
    }
    assert_eq!(native::decode(&whole, None).expect("whole").1, metadata);
}
