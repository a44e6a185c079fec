//! Native files, from a stream and from memory, with a secret and without; unchanged, and with
//! checksums made to fit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::format::native;
use mayhap::{Error, SecretKey};
use mayhap_fuzz::{ask, decoder, metered};
use mayhap_testing::forge::{forged, secret};

fuzz_target!(|data: &[u8]| {
    for data in [Some(data.to_vec()), forged(data)].into_iter().flatten() {
        check(&data, None);
        check(&data, Some(&secret()));
    }
});

fn check(data: &[u8], secret: Option<&SecretKey>) {
    let read = decoder(
        data,
        |input| native::read(input, secret),
        |(filter, metadata), output| native::write(filter, metadata, output),
    );
    let decoded = metered(data.len(), || native::decode(data, secret));
    match (read, decoded) {
        (Some(read), Ok(decoded)) => {
            assert_eq!(read.bytes, data.len());
            assert_eq!(read.value, decoded);
            ask(&decoded.0, data);
        }
        (Some(read), Err(Error::Extra { .. })) => assert!(read.bytes < data.len()),
        (Some(_), Err(error)) => panic!("only a stream is read: {error}"),
        (None, Ok(_)) => panic!("only a slice is read"),
        (None, Err(_)) => {}
    }
}
