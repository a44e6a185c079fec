//! Damaged files of every format: each truncation is reported as one, and no altered header panics,
//! hangs or takes memory that it only claims.

use super::data::cases;
use mayhap::format::{dcso, guava, parquet, redisbloom, spark};
use mayhap::{Error, Result};

/// Reads a file and writes what it read.
type Rewrite = fn(&[u8]) -> Result<Vec<u8>>;

/// Each format: folder, files, longest header, reader and writer.
const FORMATS: [(&str, usize, usize, Rewrite); 4] = [
    ("parquet", 28, 19, |bytes| {
        let mut written = Vec::new();
        parquet::write(&parquet::read(bytes)?, &mut written)?;
        Ok(written)
    }),
    ("spark", 24, 16, |bytes| {
        let mut written = Vec::new();
        spark::write(&spark::read(bytes)?, &mut written)?;
        Ok(written)
    }),
    ("dcso", 10, 48, |bytes| {
        let mut written = Vec::new();
        dcso::write(&dcso::read(bytes)?, &mut written)?;
        Ok(written)
    }),
    ("redisbloom", 5, 73, |bytes| {
        let mut written = Vec::new();
        redisbloom::write(&redisbloom::read(bytes)?, &mut written)?;
        Ok(written)
    }),
];

/// Asserts that altered bytes are refused by an error of the format, or read as a filter that is
/// written as the same bytes again. Returns whether they were read.
#[track_caller]
fn assert_read_or_refused(folder: &str, bytes: &[u8], rewrite: Rewrite) -> bool {
    match rewrite(bytes) {
        // A Parquet header has several forms, of which one is written.
        Ok(written) if folder == "parquet" => {
            assert_eq!(rewrite(&written).expect("just written"), written);
            true
        }
        Ok(written) => {
            assert!(bytes.starts_with(&written), "{folder}: read as another");
            true
        }
        Err(Error::Io(error)) => panic!("{folder}: {error}"),
        Err(_) => false,
    }
}

#[test]
fn every_truncation_is_reported_with_its_length() {
    for (folder, files, _, rewrite) in FORMATS {
        for case in cases(folder, files) {
            // Data at the end of a DCSO file has no length of its own.
            let data = if folder == "dcso" {
                case.text("data").len()
            } else {
                0
            };
            for length in 0..case.bytes.len() - data {
                match rewrite(&case.bytes[..length]) {
                    Err(Error::Truncated { got, expected, .. }) => {
                        assert_eq!(got, length as u64, "{}", case.file);
                        assert!(expected > got, "{}: {expected}", case.file);
                    }
                    other => panic!("{} cut to {length}: {other:?}", case.file),
                }
            }
        }
    }
}

#[test]
fn every_value_of_every_header_byte_is_read_as_it_is_or_refused() {
    let (mut altered, mut read) = (0, 0);
    for (folder, files, header, rewrite) in FORMATS {
        for case in cases(folder, files) {
            // The shorter files show everything that headers do, and keep the test quick.
            if case.bytes.len() > 400 {
                continue;
            }
            let mut bytes = case.bytes.clone();
            for place in 0..header.min(bytes.len()) {
                let before = bytes[place];
                for value in 0..=u8::MAX {
                    bytes[place] = value;
                    read += u64::from(assert_read_or_refused(folder, &bytes, rewrite));
                    altered += 1;
                }
                bytes[place] = before;
            }
        }
    }
    println!("altered headers: {read} of {altered} read");
    assert!(read > 0 && read < altered / 2, "{read} of {altered}");
}

/// Up to eight bytes anywhere, mostly in the header, and a random end: seed 1, 200 000 files.
#[test]
fn files_with_random_bytes_are_read_as_they_are_or_refused() {
    let mut state = 1_u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
        (((state >> 32) * limit as u64) >> 32) as usize
    };
    let cases = FORMATS.map(|(folder, files, ..)| cases(folder, files));
    for round in 0..200_000 {
        let (folder, _, header, rewrite) = FORMATS[round % 3];
        let case = &cases[round % 3][below(cases[round % 3].len())];
        let mut bytes = case.bytes.clone();
        bytes.truncate(bytes.len().min(header + below(400)));
        for _ in 0..below(9) {
            let limit = if below(4) > 0 { header } else { bytes.len() };
            let place = below(limit.min(bytes.len()));
            bytes[place] = below(256) as u8;
        }
        assert_read_or_refused(folder, &bytes, rewrite);
    }
}

#[test]
fn no_format_accepts_the_file_of_another() {
    for (folder, files, _, _) in FORMATS {
        for case in cases(folder, files) {
            let readers = FORMATS
                .iter()
                .filter(|(_, _, _, rewrite)| rewrite(&case.bytes).is_ok());
            let takers: Vec<&str> = readers.map(|(name, ..)| *name).collect();
            assert_eq!(takers, [folder], "{}", case.file);
            assert!(guava::read(&case.bytes[..]).is_err(), "{}", case.file);
        }
    }
}
