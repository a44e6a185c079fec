//! Filters that grow, compared with a set: loops and batches, files and views, with and without a limit.

use std::collections::HashSet;
use std::fmt::Debug;

use mayhap::format::native::{self, Metadata};
use mayhap::{Assemble, Bitmap, Insert, Result, ScalableOptions};

use crate::model::{insert_batch, slices};
use crate::{Bytes, view};

/// A filter whose batches are compared with loops and a set.
pub trait Growing: Insert + Assemble<Bits = Bitmap> + Clone + PartialEq + Debug {}

impl<F: Insert + Assemble<Bits = Bitmap> + Clone + PartialEq + Debug> Growing for F {}

/// Makes a filter as the tape says, applies its operations to the filter and to a set, and compares them. Kinds that
/// grow are made, limited and cleared alike, but the library has no trait for that.
pub fn operate_growing<F: Growing>(
    data: &[u8],
    new: fn(u64, f64, ScalableOptions) -> Result<F>,
    limited_to: fn(F, u64) -> F,
    clear: fn(&mut F),
) {
    let mut bytes = Bytes(data);
    let options = ScalableOptions {
        growth: u32::from(bytes.u8() % 6),
        tightening: u32::from(bytes.u16() % 10_001),
    };
    let rate = f64::from(bytes.u8()) / 255.0;
    let Ok(filter) = new(u64::from(bytes.u8()), rate, options) else {
        return;
    };
    // No input may take much memory: leaps from a small layer are up to 256-fold.
    let mut filter = limited_to(filter, 1 << (10 + bytes.u8() % 12));
    let mut keys = HashSet::new();
    while !bytes.is_empty() {
        match bytes.u8() % 6 {
            0 => {
                let key = bytes.key();
                let found = filter.contains_bytes(&key);
                assert_eq!(filter.insert_bytes(&key), !found);
                keys.insert(key);
            }
            1 => insert_all(&mut filter, &mut keys, bytes.keys()),
            2 => {
                let first = u64::from(bytes.u16()) << 16;
                let run = (first..first + u64::from(bytes.u8())).map(|i| i.to_le_bytes().to_vec());
                insert_all(&mut filter, &mut keys, run.collect());
            }
            3 if bytes.u8() < 16 => {
                clear(&mut filter);
                keys.clear();
            }
            4 => round_trip(&filter),
            _ => view(&filter, bytes.0, &keys),
        }
        let key = bytes.key();
        assert!(filter.contains_bytes(&key) || !keys.contains(&key));
    }
    assert!(keys.iter().all(|key| filter.contains_bytes(key)), "missed");
    round_trip(&filter);
}

fn insert_all<F: Growing>(filter: &mut F, keys: &mut HashSet<Vec<u8>>, batch: Vec<Vec<u8>>) {
    insert_batch(filter, &batch);
    let mut found = vec![false; batch.len()];
    filter.contains_bytes_batch(&slices(&batch), &mut found);
    assert!(found.iter().all(|&found| found), "missed");
    keys.extend(batch);
}

/// Checks that a file returns the same filter, except for its limit.
fn round_trip<F: Growing>(filter: &F) {
    let mut file = Vec::new();
    native::write(filter, &Metadata::default(), &mut file).expect("no metadata");
    let (read, _) = native::decode(&file, None).expect("just written");
    assert_eq!(read.description(), filter.description());
    assert_eq!(read.parts(), filter.parts());
}
