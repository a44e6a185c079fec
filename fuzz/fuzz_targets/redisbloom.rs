//! The dumps of RedisBloom.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::format::redisbloom;
use mayhap_fuzz::{ask, decoder};

fuzz_target!(|data: &[u8]| {
    if let Some(read) = decoder(
        data,
        |input| redisbloom::read(input),
        |dump, output| redisbloom::write(dump, output),
    ) {
        for filter in &read.value.filters {
            ask(filter, data);
        }
    }
});
