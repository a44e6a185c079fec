//! Spark's files, of both versions.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::format::spark;
use mayhap_fuzz::{ask, decoder};

fuzz_target!(|data: &[u8]| {
    if let Some(read) = decoder(
        data,
        |input| spark::read(input),
        |filter, output| spark::write(filter, output),
    ) {
        ask(&read.value, data);
    }
});
