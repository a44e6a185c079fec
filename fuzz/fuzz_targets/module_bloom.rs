//! Bytes that the server module loads as a filter of `BF.*`: a snapshot, or pieces, RedisBloom's too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_commands::bf::{Chain, redisbloom, stream};
use mayhap_commands::pieces::Pieces as _;
use mayhap_commands::sealed;
use mayhap_fuzz::{Bytes, Values, metered};
use mayhap_testing::forge::forged;

/// The most bytes that a filter is allowed.
const MOST: u64 = 1 << 20;

/// Inserts into a filter that was accepted, saves it, and compares.
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

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let choice = bytes.u8();
    let data = bytes.0;
    let piece = match choice % 4 {
        0 => data.to_vec(),
        1 => sealed(data.to_vec()),
        2 => {
            let version = 4 - i32::from(choice / 4 % 3);
            let read = metered(data.len(), || redisbloom::read(version, &mut Values(data)));
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
