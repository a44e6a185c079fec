//! Files of any format: sniffed, read, and written in every format that holds them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::Assemble as _;
use mayhap::format::{self, Format};
use mayhap_fuzz::{ask, metered};
use mayhap_testing::forge::secret;

fuzz_target!(|data: &[u8]| {
    let secret = Some(&secret());
    let opened = metered(data.len(), || format::open(data, secret));
    let streamed = metered(data.len(), || format::open_reader(data, secret));
    assert_eq!(opened.is_ok(), streamed.is_ok());
    let Ok((filter, format)) = opened else {
        return;
    };
    assert_eq!(streamed.expect("as well"), (filter.clone(), format));
    assert_eq!(format.decode(data, secret).expect("of this one"), filter);
    ask(&filter, data);

    for &other in Format::ALL {
        let mut file = Vec::new();
        match format::convert(&filter, other, &mut file) {
            Ok(()) => {
                let copy = other.decode(&file, secret).expect("just written");
                assert_eq!(copy.parts(), filter.parts(), "{other}");
                assert_eq!(copy.description().hashing, filter.description().hashing);
            }
            Err(error) => assert!(other != format, "{error}"),
        }
    }
});
