//! Parquet's filters. Thrift can write one header in many ways, so they need not be written as the
//! bytes they were read from, but as bytes that are read as the same filter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::Error;
use mayhap::format::parquet;
use mayhap_fuzz::{ask, reader};

fuzz_target!(|data: &[u8]| {
    let Some(read) = reader(data, |input| parquet::read(input)) else {
        return;
    };
    ask(&read.value, data);
    let short = parquet::read(&data[..read.bytes - 1]);
    assert!(matches!(short, Err(Error::Truncated { .. })), "{short:?}");
    let mut written = Vec::new();
    parquet::write(&read.value, &mut written).expect("what was read can be written");
    assert!(written.len() <= read.bytes, "longer than what was read");
    assert_eq!(
        parquet::read(&written[..]).expect("just written"),
        read.value
    );
});
