//! The files of DCSO's bloom tools.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::format::dcso;
use mayhap_fuzz::{ask, decoder};

fuzz_target!(|data: &[u8]| {
    if let Some(read) = decoder(
        data,
        |input| dcso::read(input),
        |filter, output| dcso::write(filter, output),
    ) {
        ask(&read.value.filter, data);
    }
});
