//! Growing filters against a set.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::Scalable;
use mayhap_fuzz::operate_growing;

fuzz_target!(|data: &[u8]| {
    operate_growing(
        data,
        Scalable::with_options,
        Scalable::limited_to,
        Scalable::clear,
    );
});
