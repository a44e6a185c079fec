//! The growing filter of the paper against a set.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::kinds::Sliced;
use mayhap_fuzz::operate_growing;

fuzz_target!(|data: &[u8]| {
    operate_growing(
        data,
        Sliced::with_options,
        Sliced::limited_to,
        Sliced::clear,
    );
});
