//! Files mapped, verified and loaded: all three agree on whether it is a filter, and which.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use mayhap::file::{Mapped, load};
use mayhap::{Assemble as _, Filter as _};
use mayhap_fuzz::{ask, metered, scratch};
use mayhap_testing::forge::{forged, secret};

fuzz_target!(|data: &[u8]| {
    for data in [Some(data.to_vec()), forged(data)].into_iter().flatten() {
        check(&data);
    }
});

fn check(data: &[u8]) {
    let path = scratch();
    fs::write(path, data).expect("room for a small file");
    let secret = secret();
    let loaded = metered(data.len(), || load(path, Some(&secret)));
    let mapped = metered(data.len(), || Mapped::open(path, Some(&secret)));
    // A file is only opened again: one that is mapped must not be changed.
    fs::remove_file(path).expect("just written");

    let mapped = match mapped {
        Ok(mapped) => mapped,
        Err(error) => {
            assert!(loaded.is_err(), "loaded but not mapped: {error}");
            return;
        }
    };
    let verified = metered(data.len(), || mapped.verify());
    assert_eq!(verified.is_ok(), mapped.verify_on(2).is_ok());
    ask(mapped.filter(), data);
    match (loaded, verified) {
        (Ok((filter, metadata)), Ok(())) => {
            assert_eq!(mapped.description(), filter.description());
            assert_eq!(mapped.stats(), filter.stats());
            assert_eq!(mapped.metadata().expect("verified"), metadata);
            for key in data.chunks(5).take(40) {
                assert_eq!(mapped.contains(key), filter.contains(key));
            }
        }
        (Err(_), Err(_)) => {}
        (loaded, verified) => panic!("loaded {loaded:?}, verified {verified:?}"),
    }
}
