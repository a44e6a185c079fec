//! What the server module loads as a filter of `CF.*`: a snapshot, or pieces.
#![no_main]
#![allow(dead_code, reason = "the module uses more of its files")]

#[path = "../../crates/mayhap-module/src/census.rs"]
mod census;
#[path = "../../crates/mayhap-module/src/chain.rs"]
mod chain;
#[path = "../../crates/mayhap-module/src/nest.rs"]
mod nest;
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
            assert!(keys.iter().all(|key| nest.filter().contains(*key)));
        }
    }
    assert!(!nest.filter().contains(&b"a"[..]) || nest.remove(b"a"));
    nest.compact();
    let mut bytes = Vec::new();
    nest.write(&mut bytes).expect("memory");
    let copy = Nest::read(&mut &bytes[..], Some(&secret)).expect("just written");
    assert!(copy.first() == nest.first() && copy.bits() == nest.bits());
}

fuzz_target!(|data: &[u8]| {
    let secret = secret();
    let mut bytes = Bytes(data);
    let choice = bytes.u8();
    let data = bytes.0;
    let head = [&b"MAYHAPCF\x01\0\0\0"[..], &[20, 0, 0, 0]].concat();
    if choice % 2 == 0 {
        let file = [b"\x8DMAYHAP\n", data].concat();
        let whole = [sealed(head), forged(&file).unwrap_or(file)].concat();
        if let Ok(nest) = metered(whole.len(), || Nest::read(&mut &whole[..], Some(&secret))) {
            use_it(nest);
        }
        return;
    }
    let length = data.len().min(112);
    let piece = sealed([&head, &data[..length]].concat());
    let begun = metered(MOST as usize, || {
        Nest::begin(&piece, Some(&secret), &|now, more| now + more <= MOST)
    });
    let Ok(mut nest) = begun else {
        return;
    };
    for (layer, bytes) in data.chunks(64).enumerate().take(8) {
        nest.load_bits(layer % 3, 8 * (layer as u64 / 3), bytes);
    }
    use_it(nest);
});
