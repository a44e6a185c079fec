//! Split-block filters as the `parquet` crate and pyarrow write them.

use super::data::cases;
use mayhap::format::parquet;
use mayhap::kinds::{SplitBlock, SplitBlockShape};

const FILES: usize = 28;

#[test]
fn every_file_is_read_and_answers_as_its_writer_does() {
    for case in cases("parquet", FILES) {
        let filter = parquet::read(&case.bytes[..]).expect("a whole file");

        assert_eq!(
            filter.shape().blocks(),
            case.count("blocks"),
            "{}",
            case.file
        );
        case.assert_answers(&filter);
    }
}

#[test]
fn a_filter_of_the_same_blocks_and_keys_is_the_same_file() {
    for case in cases("parquet", FILES) {
        let shape = SplitBlockShape::new(case.count("blocks")).expect("blocks");
        let mut filter = SplitBlock::new(shape).expect("small");
        for key in case.inserted() {
            filter.insert(&key);
        }

        let mut written = Vec::new();
        parquet::write(&filter, &mut written).expect("memory");

        assert!(written == case.bytes, "{}: other bytes", case.file);
        assert_eq!(parquet::read(&written[..]).expect("whole"), filter);
    }
}

#[test]
fn what_follows_the_filter_stays_unread() {
    let case = &cases("parquet", FILES)[0];
    let chunk = [&case.bytes[..], b"next"].concat();
    let mut rest = &chunk[..];

    parquet::read(&mut rest).expect("a whole file");

    assert_eq!(rest, b"next");
}
