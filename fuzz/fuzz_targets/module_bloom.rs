//! What the server module loads as a filter of `BF.*`: a snapshot, or pieces, RedisBloom's too.
#![no_main]
#![allow(dead_code, reason = "the module uses more of its files")]

#[path = "../../crates/mayhap-module/src/census.rs"]
mod census;
#[path = "../../crates/mayhap-module/src/chain.rs"]
mod chain;
#[path = "../../crates/mayhap-module/src/pieces.rs"]
mod pieces;
#[path = "../../crates/mayhap-module/src/redisbloom.rs"]
mod redisbloom;
#[path = "../../crates/mayhap-module/src/stream.rs"]
mod stream;

use chain::Chain;
use libfuzzer_sys::fuzz_target;
use mayhap_fuzz::native::forged;
use mayhap_fuzz::{Bytes, metered};
use pieces::{Pieces as _, sealed};
use redisbloom::Saved;

/// The most bytes that a filter is allowed.
const MOST: u64 = 1 << 20;

/// A filter that was taken can be inserted into and saved, and is the same afterwards.
fn use_it(mut chain: Chain) {
    let keys: Vec<&[u8]> = vec![b"a", b"b", b"", b"a"];
    let mut new = vec![false; keys.len()];
    if chain
        .insert_batch(&keys, &mut new, &|now, more| now + more <= MOST)
        .is_ok()
    {
        assert!(keys.iter().all(|key| chain.contains(key)));
    }
    let mut bytes = Vec::new();
    stream::write(&chain, &mut bytes).expect("memory");
    let copy = stream::read(&mut &bytes[..]).expect("just written");
    assert_eq!(
        (copy.keys(), copy.capacity()),
        (chain.keys(), chain.capacity())
    );
    assert!(copy.first() == chain.first() && copy.bits() == chain.bits());
}

/// Values of a snapshot: numbers of eight bytes, and texts after their length in two.
struct Values<'a>(&'a [u8]);

impl Saved for Values<'_> {
    fn unsigned(&mut self) -> std::io::Result<u64> {
        self.bytes_of(8)
            .map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    fn double(&mut self) -> std::io::Result<f64> {
        self.unsigned().map(f64::from_bits)
    }

    fn bytes(&mut self) -> std::io::Result<Vec<u8>> {
        let length = self.bytes_of(2)?;
        let length = u16::from_le_bytes(length.try_into().expect("two bytes"));
        self.bytes_of(length.into()).map(<[u8]>::to_vec)
    }
}

impl<'a> Values<'a> {
    fn bytes_of(&mut self, length: usize) -> std::io::Result<&'a [u8]> {
        let split = self.0.split_at_checked(length);
        let (taken, rest) = split.ok_or(std::io::ErrorKind::UnexpectedEof)?;
        self.0 = rest;
        Ok(taken)
    }
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let choice = bytes.u8();
    let data = bytes.0;
    let piece = match choice % 4 {
        0 => data.to_vec(),
        1 => sealed(data.to_vec()),
        2 => {
            let read = metered(data.len(), || redisbloom::read(&mut Values(data)));
            if let Ok(chain) = read {
                use_it(chain);
            }
            return;
        }
        _ => {
            let (head, rest) = data.split_at(data.len().min(28));
            let (numbers, file) = rest.split_at(rest.len().min(16));
            let file = [b"\x8DMAYHAP\n", file].concat();
            let whole = [
                sealed([&b"MAYHAPBF\x01\0\0\0"[..], head].concat()),
                sealed(numbers.to_vec()),
                forged(&file).unwrap_or(file),
            ]
            .concat();
            if let Ok(chain) = metered(whole.len(), || stream::read(&mut &whole[..])) {
                use_it(chain);
            }
            return;
        }
    };
    let begun = metered(MOST as usize, || {
        stream::begin(&piece, &|now, more| now + more <= MOST)
    });
    let Ok(mut chain) = begun else {
        return;
    };
    for (layer, bytes) in data.chunks(64).enumerate().take(8) {
        chain.load_bits(layer % 3, 8 * (layer as u64 / 3), bytes);
    }
    use_it(chain);
});
