//! Growing filters against a set: loops and batches, files and views, with and without a limit.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use mayhap::format::native::{self, Metadata};
use mayhap::{Assemble as _, BitmapView, Bits as _, Scalable, ScalableOptions};
use mayhap_fuzz::{Bytes, ask};

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let options = ScalableOptions {
        growth: u32::from(bytes.u8() % 5),
        tightening: u32::from(bytes.u16()),
    };
    let rate = f64::from(bytes.u8()) / 255.0;
    let Ok(filter) = Scalable::new(u64::from(bytes.u8()), rate, options) else {
        return;
    };
    // No input may take much memory: leaps from a small layer are up to 256-fold.
    let mut filter = filter.limited_to(1 << (10 + bytes.u8() % 12));
    let mut keys = HashSet::new();
    while !bytes.is_empty() {
        match bytes.u8() % 6 {
            0 => {
                let key = bytes.key();
                let found = filter.contains(&key[..]);
                assert_eq!(filter.insert(&key[..]), !found);
                keys.insert(key);
            }
            1 => insert_batch(&mut filter, &mut keys, bytes.keys()),
            2 => {
                let first = u64::from(bytes.u16()) << 16;
                let run = (first..first + u64::from(bytes.u8())).map(|i| i.to_le_bytes().to_vec());
                insert_batch(&mut filter, &mut keys, run.collect());
            }
            3 if bytes.u8() < 16 => {
                filter.clear();
                keys.clear();
            }
            4 => round_trip(&filter),
            _ => view(&filter, bytes.0),
        }
        let key = bytes.key();
        assert!(filter.contains(&key[..]) || !keys.contains(&key));
    }
    assert!(keys.iter().all(|key| filter.contains(&key[..])), "missed");
    round_trip(&filter);
});

fn insert_batch(filter: &mut Scalable, keys: &mut HashSet<Vec<u8>>, batch: Vec<Vec<u8>>) {
    let mut looped = filter.clone();
    let expected: Vec<bool> = batch.iter().map(|key| looped.insert(&key[..])).collect();
    let mut new = vec![false; batch.len()];
    filter.insert_batch(&batch, &mut new);
    assert_eq!(new, expected);
    assert_eq!(*filter, looped);
    let mut found = vec![false; batch.len()];
    filter.contains_batch(&batch, &mut found);
    assert!(found.iter().all(|&found| found), "missed");
    keys.extend(batch);
}

fn round_trip(filter: &Scalable) {
    let mut file = Vec::new();
    native::write(filter, &Metadata::default(), &mut file).expect("no metadata");
    let (read, _) = native::decode(&file, None).expect("just written");
    assert_eq!(read.description(), filter.description());
    assert_eq!(read.parts(), filter.parts());
}

fn view(filter: &Scalable, data: &[u8]) {
    ask(filter, data);
    let parts = filter.parts().into_iter();
    let parts = parts.map(|part| BitmapView::new(part.to_bytes(), part.size()));
    let parts = parts.collect::<Result<_, _>>().expect("enough bytes");
    let view = Scalable::assemble(&filter.description(), parts).expect("as described");
    assert_eq!(view.stats(), filter.stats());
    for key in data.chunks(3).take(20) {
        assert_eq!(view.contains(key), filter.contains(key));
    }
}
