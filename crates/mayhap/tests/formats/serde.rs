//! Filters through serde, in text formats and binary ones: reading returns the same file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mayhap::format::native::{self, Metadata};
use mayhap::{AnyFilter, Blocked, Bloom, Digester, Kind, SecretKey};

/// The filter as a native file holds it, without metadata.
fn file_of(filter: &AnyFilter) -> Vec<u8> {
    let mut file = Vec::new();
    native::write(filter, &Metadata::default(), &mut file).expect("memory");
    file
}

/// The golden files of filters made without a secret: there are some of every kind.
fn filters() -> Vec<(String, AnyFilter)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/native/v1");
    let mut filters = Vec::new();
    for entry in fs::read_dir(folder).expect("golden files") {
        let path = entry.expect("a file").path();
        let bytes = fs::read(&path).expect("readable");
        match native::decode(&bytes, None) {
            Ok((filter, _)) => filters.push((path.display().to_string(), filter)),
            Err(mayhap::Error::SecretNeeded) => {}
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
    filters
}

#[test]
fn every_kind_is_read_back_from_text_and_from_bytes() {
    let filters = filters();
    for &kind in Kind::ALL {
        let of_kind = filters.iter().filter(|(_, filter)| filter.kind() == kind);
        assert!(of_kind.count() > 0, "no golden file of {kind}");
    }

    for (name, filter) in filters {
        let text = serde_json::to_string(&filter).expect("text");
        let bytes = postcard::to_allocvec(&filter).expect("bytes");

        let of_text: AnyFilter = serde_json::from_str(&text).expect("what was written");
        let of_bytes: AnyFilter = postcard::from_bytes(&bytes).expect("what was written");
        assert_eq!(file_of(&of_text), file_of(&filter), "{name}");
        assert_eq!(file_of(&of_bytes), file_of(&filter), "{name}");
    }
}

/// CBOR's reader lends at most 4 096 bytes, so larger filters were written and then refused.
#[test]
fn every_size_is_read_back_from_every_format() {
    for capacity in [10, 10_000, 1_000_000_u64] {
        let mut filter = Blocked::with_capacity(capacity, 0.01).expect("valid");
        filter.extend(0..capacity);

        let mut cbor = Vec::new();
        ciborium::into_writer(&filter, &mut cbor).expect("bytes");
        let message_pack = rmp_serde::to_vec(&filter).expect("bytes");
        let postcard = postcard::to_allocvec(&filter).expect("bytes");
        let standard = bincode::config::standard();
        let bincode = bincode::serde::encode_to_vec(&filter, standard).expect("bytes");
        let json = serde_json::to_string(&filter).expect("text");
        // A document of TOML is a table.
        let toml = toml::to_string(&BTreeMap::from([("seen", &filter)])).expect("text");

        let of_toml: BTreeMap<String, Blocked> = toml::from_str(&toml).expect("TOML");
        let (of_bincode, _): (Blocked, usize) =
            bincode::serde::decode_from_slice(&bincode, standard).expect("bincode");
        let read: [Blocked; 6] = [
            ciborium::from_reader(&cbor[..]).expect("CBOR"),
            rmp_serde::from_slice(&message_pack).expect("MessagePack"),
            postcard::from_bytes(&postcard).expect("postcard"),
            of_bincode,
            serde_json::from_str(&json).expect("JSON"),
            of_toml["seen"].clone(),
        ];
        assert!(read.iter().all(|read| *read == filter), "{capacity} keys");
    }
}

#[test]
fn a_binary_format_holds_the_bytes_of_the_file() {
    let filter = AnyFilter::new(&Kind::Blocked.plan(1000, 0.01).expect("valid")).expect("small");

    let bytes = postcard::to_allocvec(&filter).expect("bytes");

    assert!(bytes.ends_with(&file_of(&filter)));
    // Before them is their number, in seven bits each.
    assert!(bytes.len() <= file_of(&filter).len() + 3);
}

#[test]
fn a_field_has_its_kind_and_refuses_others() {
    let mut filter = Blocked::with_capacity(1000, 0.01).expect("valid");
    filter.insert("key");

    let text = serde_json::to_string(&(1, &filter)).expect("text");

    let (_, read): (u32, Blocked) = serde_json::from_str(&text).expect("the same kind");
    assert_eq!(read, filter);
    let refused = serde_json::from_str::<(u32, Bloom)>(&text).expect_err("another kind");
    let said = refused.to_string();
    assert!(said.contains("blocked") && said.contains("bloom"), "{said}");
}

#[test]
fn a_filter_with_a_secret_is_written_without_it_and_not_read() {
    let secret = SecretKey::from_bytes(*b"sixteen secrets!");
    let digester = Digester::SipHash {
        key: secret.clone(),
    };
    let shape = mayhap::kinds::BlockedShape::new(4, 6).expect("valid");
    let filter = Blocked::new(shape, digester).expect("small");

    let bytes = postcard::to_allocvec(&filter).expect("bytes");

    assert!(
        !bytes
            .windows(16)
            .any(|window| window == b"sixteen secrets!")
    );
    assert!(postcard::from_bytes::<Blocked>(&bytes).is_err());
    let (read, _) = native::decode(
        &bytes[bytes.len() - file_of(&filter.clone().into()).len()..],
        Some(&secret),
    )
    .expect("with the secret");
    assert_eq!(Blocked::try_from(read).expect("the kind"), filter);
}

#[test]
fn damage_and_other_text_are_refused_by_name() {
    let filter = Blocked::with_capacity(1000, 0.01).expect("valid");
    let text = serde_json::to_string(&filter).expect("text");
    // Another letter in the body.
    let mut damaged = text.clone().into_bytes();
    let middle = damaged.len() / 2;
    damaged[middle] = if damaged[middle] == b'B' { b'C' } else { b'B' };

    for (given, expected) in [
        (String::from_utf8(damaged).expect("text"), "checksum"),
        ("\"not base64!\"".into(), "Invalid symbol"),
        ("17".into(), "a filter"),
    ] {
        let said = serde_json::from_str::<Blocked>(&given)
            .expect_err("refused")
            .to_string();
        assert!(said.contains(expected), "{said}");
    }
}
