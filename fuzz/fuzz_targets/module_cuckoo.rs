//! Bytes that the server module loads as a filter of `CF.*`: a snapshot, or pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_commands::cf::{HEADER, Keys, Nest};
use mayhap_commands::pieces::Pieces as _;
use mayhap_commands::{Value as _, sealed};
use mayhap_fuzz::{Bytes, Values, metered};
use mayhap_testing::forge::{forged, secret};

/// The most bytes that a filter is allowed.
const MOST: u64 = 1 << 20;

/// Inserts into a filter that was accepted, removes, compacts and saves it, and compares.
fn use_it(mut nest: Nest) {
    let secret = secret();
    let keys: Vec<&[u8]> = vec![b"a", b"b", b"", b"a"];
    let mut new = vec![false; keys.len()];
    let allows = |now, more| now + more <= MOST;
    for which in [Keys::All, Keys::New] {
        if nest.insert(which, &keys, &mut new, 33, &allows).is_ok() {
            assert!(keys.iter().all(|key| nest.contains(key)));
        }
    }
    assert!(!nest.contains(b"a") || nest.remove(b"a"));
    nest.compact();
    let mut bytes = Vec::new();
    nest.write(&mut bytes).expect("memory");
    let copy = Nest::load(&mut &bytes[..], Some(&secret)).expect("just written");
    assert!(copy.first() == nest.first() && copy.bits() == nest.bits());
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let choice = bytes.u8();
    let data = bytes.0;
    match choice % 5 {
        4 => {
            let read = metered(data.len(), || Nest::read_saved(&mut Values(data)));
            if let Ok(nest) = read {
                use_it(nest);
            }
        }
        0 => {
            let file = [b"\x8DMAYHAP\n", data].concat();
            read([sealed(head(1)), forged(&file).unwrap_or(file)].concat());
        }
        1 => {
            let length = data.len().min(112);
            begin(&sealed([&head(1), &data[..length]].concat()), data);
        }
        2 => begin(&data[..data.len().min(HEADER)], data),
        // A header, and then layers of one length.
        _ => {
            let length = usize::from(bytes.u8()) + 1;
            let (header, layers) = bytes.0.split_at(bytes.0.len().min(HEADER));
            let layers = layers
                .chunks(length)
                .flat_map(|layer| sealed(layer.to_vec()));
            let start = [sealed(head(2)), sealed(header.to_vec())].concat();
            read(start.into_iter().chain(layers).collect());
        }
    }
});

/// The beginning of a snapshot or of a first piece.
fn head(version: u8) -> Vec<u8> {
    [&b"MAYHAPCF"[..], &[version, 0, 0, 0, 20, 0, 0, 0]].concat()
}

/// Reads a snapshot.
fn read(whole: Vec<u8>) {
    let secret = secret();
    if let Ok(nest) = metered(whole.len(), || Nest::load(&mut &whole[..], Some(&secret))) {
        use_it(nest);
    }
}

/// Reads a first piece, and others made from the data.
fn begin(first: &[u8], data: &[u8]) {
    let secret = secret();
    let begun = metered(MOST as usize, || {
        Nest::begin(first, Some(&secret), &|now, more| now + more <= MOST)
    });
    let Ok(mut nest) = begun else {
        return;
    };
    for (layer, bytes) in data.chunks(64).enumerate().take(8) {
        nest.load_bits(layer % 3, 8 * (layer as u64 / 3), bytes);
    }
    use_it(nest);
}
