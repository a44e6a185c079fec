//! Damaged files of every format: each truncation is told as one, and no altered header panics,
//! hangs or takes memory for what is not there.

use crate::data::cases;
use mayhap::format::{dcso, guava, parquet, spark};
use mayhap::{Error, Result};

/// A reader that only tells whether it could read.
type Read = fn(&[u8]) -> Result<()>;

/// Each format: folder, files, longest header, reader.
const FORMATS: [(&str, usize, usize, Read); 3] = [
    ("parquet", 28, 19, |bytes| parquet::read(bytes).map(drop)),
    ("spark", 24, 16, |bytes| spark::read(bytes).map(drop)),
    ("dcso", 10, 48, |bytes| dcso::read(bytes).map(drop)),
];

#[test]
fn every_truncation_is_told_with_the_bytes_there_were() {
    for (folder, files, _, read) in FORMATS {
        for case in cases(folder, files) {
            // Data at the end of a DCSO file has no length of its own.
            let data = if folder == "dcso" {
                case.text("data").len()
            } else {
                0
            };
            for length in 0..case.bytes.len() - data {
                match read(&case.bytes[..length]) {
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
fn every_value_of_every_header_byte_is_read_or_refused() {
    let (mut read_anyway, mut refused) = (0, 0);
    for (folder, files, header, read) in FORMATS {
        for case in cases(folder, files) {
            // The shorter files show all that headers do, and leave the test quick.
            if case.bytes.len() > 400 {
                continue;
            }
            let mut bytes = case.bytes.clone();
            for place in 0..header.min(bytes.len()) {
                let before = bytes[place];
                for value in 0..=u8::MAX {
                    bytes[place] = value;
                    match read(&bytes) {
                        Ok(()) => read_anyway += 1,
                        Err(Error::Io(error)) => panic!("{}: {error}", case.file),
                        Err(_) => refused += 1,
                    }
                }
                bytes[place] = before;
            }
        }
    }
    println!("altered headers: {read_anyway} read, {refused} refused");
    assert!(refused > read_anyway, "{read_anyway} of {refused}");
}

#[test]
fn no_format_takes_the_file_of_another() {
    for (folder, files, _, _) in FORMATS {
        for case in cases(folder, files) {
            let readers = FORMATS
                .iter()
                .filter(|(_, _, _, read)| read(&case.bytes).is_ok());
            let takers: Vec<&str> = readers.map(|(name, ..)| *name).collect();
            assert_eq!(takers, [folder], "{}", case.file);
            assert!(guava::read(&case.bytes[..]).is_err(), "{}", case.file);
        }
    }
}
