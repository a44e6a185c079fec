//! What the server module loads as a filter of `CF.*`: a snapshot, or pieces.
#![no_main]
#![allow(dead_code, reason = "the module uses more of its files")]

#[path = "../../crates/mayhap-module/src/census.rs"]
mod census;
#[path = "../../crates/mayhap-module/src/chain.rs"]
mod chain;
#[path = "../../crates/mayhap-module/src/foreign.rs"]
mod foreign;
#[path = "../../crates/mayhap-module/src/nest.rs"]
mod nest;
#[path = "../../crates/mayhap-module/src/own.rs"]
mod own;
#[path = "../../crates/mayhap-module/src/pieces.rs"]
mod pieces;
#[path = "../../crates/mayhap-module/src/redisbloom.rs"]
mod redisbloom;
#[path = "../../crates/mayhap-module/src/stream.rs"]
mod stream;

use libfuzzer_sys::fuzz_target;
use mayhap_fuzz::native::{forged, secret};
use mayhap_fuzz::{Bytes, metered};
use nest::{Keys, Nest};
use pieces::{Pieces as _, sealed};

/// The most bytes that a filter is allowed.
const MOST: u64 = 1 << 20;

/// A filter that was taken can be inserted into, removed from, compacted and saved, and is the same afterwards.
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
    let copy = Nest::read(&mut &bytes[..], Some(&secret)).expect("just written");
    assert!(copy.first() == nest.first() && copy.bits() == nest.bits());
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let choice = bytes.u8();
    let data = bytes.0;
    match choice % 4 {
        0 => {
            let file = [b"\x8DMAYHAP\n", data].concat();
            read([sealed(head(1)), forged(&file).unwrap_or(file)].concat());
        }
        1 => {
            let length = data.len().min(112);
            begin(&sealed([&head(1), &data[..length]].concat()), data);
        }
        2 => begin(&data[..data.len().min(foreign::HEADER)], data),
        // A header, and then layers of one length.
        _ => {
            let length = usize::from(bytes.u8()) + 1;
            let (header, layers) = bytes.0.split_at(bytes.0.len().min(foreign::HEADER));
            let layers = layers
                .chunks(length)
                .flat_map(|layer| sealed(layer.to_vec()));
            let start = [sealed(head(2)), sealed(header.to_vec())].concat();
            read(start.into_iter().chain(layers).collect());
        }
    }
});

/// The begin of a snapshot or of a first piece.
fn head(version: u8) -> Vec<u8> {
    [&b"MAYHAPCF"[..], &[version, 0, 0, 0, 20, 0, 0, 0]].concat()
}

/// A snapshot.
fn read(whole: Vec<u8>) {
    let secret = secret();
    if let Ok(nest) = metered(whole.len(), || Nest::read(&mut &whole[..], Some(&secret))) {
        use_it(nest);
    }
}

/// A first piece, and bytes of which others are made.
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
