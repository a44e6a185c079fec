//! Files of DCSO's `bloom` command.

use super::data::{cases, json};
use mayhap::format::dcso::{self, Envelope};
use mayhap::{Bloom, Error, Promise, Scheme, Shape, Sizing};

const FILES: usize = 10;

#[test]
fn every_file_is_read_and_answers_as_the_command_does() {
    for case in cases("dcso", FILES) {
        let read = dcso::read(&case.bytes[..]).expect("a whole file");

        let promise = Promise {
            keys: case.count("capacity"),
            rate: case.double("rate"),
        };
        assert_eq!(read.promise, promise, "{}", case.file);
        assert_eq!(read.filter.stats().promise, Some(promise), "{}", case.file);
        assert_eq!(read.data, case.text("data").as_bytes(), "{}", case.file);
        case.assert_answers(&read.filter);
    }
}

#[test]
fn a_filter_of_the_same_capacity_rate_and_keys_is_the_same_file() {
    for case in cases("dcso", FILES) {
        let (capacity, rate) = (case.count("capacity"), case.double("rate"));
        let mut built = Envelope::with_capacity(capacity, rate).expect("valid");
        for key in case.inserted() {
            built.insert(&key);
        }
        built.data = case.text("data").into();

        let mut written = Vec::new();
        dcso::write(&built, &mut written).expect("memory");

        assert!(written == case.bytes, "{}: other bytes", case.file);
        assert_eq!(dcso::read(&written[..]).expect("whole"), built);
    }
}

#[test]
fn sizes_are_those_of_the_command() {
    let json = json("dcso");
    let sizes = json["sizes"].as_array().expect("a list");
    assert_eq!(sizes.len(), 88);
    for size in sizes {
        let count = |at: usize| size[at].as_u64().expect("a count");
        let rate = size[1].as_f64().expect("a rate");
        let (bits, hashes) = (count(2), count(3));
        match Sizing::Dcso.shape(count(0), rate) {
            Ok(shape) => assert_eq!(
                (shape.bits(), u64::from(shape.hashes())),
                (bits, hashes),
                "{size}"
            ),
            // The command makes a filter without bits or hashes, and crashes when it looks up a key in it.
            Err(_) => assert!(bits == 0 || hashes == 0, "{size}"),
        }
    }
}

#[test]
fn impossible_fields_are_refused_by_name() {
    let file = |fields: [u64; 5]| -> Vec<u8> {
        let [flags, capacity, rate, hashes, bits] = fields;
        let header = [flags, capacity, rate, hashes, bits, 0, 0];
        header
            .iter()
            .flat_map(|field| field.to_le_bytes())
            .collect()
    };
    let rate = 0.01_f64.to_bits();
    assert!(dcso::read(&file([1, 9, rate, 3, 64])[..]).is_ok());
    for (fields, expected) in [
        ([0, 9, rate, 3, 64], "flags"),
        ([2, 9, rate, 3, 64], "flags"),
        ([0x101, 9, rate, 3, 64], "flags"),
        ([1, 0, rate, 3, 64], "capacity"),
        ([1, 9, rate, 0, 64], "number of hashes"),
        ([1, 9, rate, 4097, 64], "number of hashes"),
        ([1, 9, rate, 3 << 32, 64], "number of hashes"),
        ([1, 9, rate, u64::MAX, 64], "number of hashes"),
        ([1, 9, rate, 3, 0], "number of bits"),
        ([1, 9, rate, 3, (1 << 53) + 1], "number of bits"),
        ([1, 9, rate, 3, u64::MAX], "number of bits"),
    ] {
        match dcso::read(&file(fields)[..]) {
            Err(Error::Field { field, .. }) => assert_eq!(field, expected, "{fields:?}"),
            other => panic!("{fields:?}: {other:?}"),
        }
    }
    for rate in [0.0, -0.5, 1.0, f64::NAN, f64::INFINITY] {
        let read = dcso::read(&file([1, 9, rate.to_bits(), 3, 64])[..]);
        assert!(matches!(read, Err(Error::Rate { .. })), "{rate}: {read:?}");
    }
}

#[test]
fn ones_past_the_last_bit_are_refused() {
    let case = &cases("dcso", FILES)[0];
    let bits = dcso::read(&case.bytes[..])
        .expect("whole")
        .filter
        .shape()
        .bits();
    assert_eq!(bits % 64, 31, "479 bits");
    let mut bytes = case.bytes.clone();
    *bytes.last_mut().expect("not empty") |= 0x80;

    let read = dcso::read(&bytes[..]);

    assert!(
        matches!(
            read,
            Err(Error::Field {
                field: "last word",
                ..
            })
        ),
        "{read:?}"
    );
}

#[test]
fn a_filter_of_another_scheme_is_not_written() {
    let mut envelope = Envelope::with_capacity(10, 0.1).expect("valid");
    let shape = Shape::new(64, 3).expect("valid");
    envelope.filter = Bloom::new(shape, Scheme::Guava64).expect("small");
    let written = dcso::write(&envelope, Vec::new());
    assert!(matches!(written, Err(Error::Unfit { what: "scheme", .. })));
}
