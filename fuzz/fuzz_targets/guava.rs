//! Guava's files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::format::guava;
use mayhap_fuzz::{ask, decoder};

fuzz_target!(|data: &[u8]| {
    if let Some(read) = decoder(
        data,
        |input| guava::read(input),
        |filter, output| guava::write(filter, output),
    ) {
        ask(&read.value, data);
    }
});
