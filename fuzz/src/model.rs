//! Filters compared with a set: a tape of operations is applied to both, and all promises checked after each.

use std::collections::HashSet;
use std::fmt::Debug;

use mayhap::format::native::{self, Metadata};
use mayhap::{
    AnyFilter, Assemble, AtomicBlocked, AtomicBloom, Bitmap, Blocked, Bloom, Filter, Insert, Merge,
    bits::{BitmapView, Bits as _},
    kinds::{AtomicSplitBlock, Shifting, SplitBlock},
};

use crate::{Bytes, ask};
use mayhap_testing::forge::secret;

/// A kind, with the operations that the library has no trait for.
pub trait Subject:
    Insert + Merge + Assemble<Bits = Bitmap> + Clone + PartialEq + Debug + Into<AnyFilter>
{
    fn clear(&mut self);

    /// Makes the filter smaller, if the kind can: its keys stay.
    fn shrink(&mut self, _: &mut Bytes<'_>) {}

    /// Inserts into the atomic twin, one by one or in a batch, and returns the answers; into the filter
    /// itself, if there is no twin.
    fn insert_shared(&mut self, keys: &[&[u8]]) -> Vec<bool>;
}

impl Subject for Bloom {
    fn clear(&mut self) {
        Bloom::<Bitmap>::clear(self);
    }

    fn insert_shared(&mut self, keys: &[&[u8]]) -> Vec<bool> {
        let shared = AtomicBloom::from(self.clone());
        let new = keys.iter().map(|key| shared.insert(*key)).collect();
        *self = shared.into();
        new
    }
}

impl Subject for Blocked {
    fn clear(&mut self) {
        Blocked::<Bitmap>::clear(self);
    }

    fn shrink(&mut self, bytes: &mut Bytes<'_>) {
        let lines = self.shape().lines();
        if bytes.u8() % 2 == 1 {
            assert_eq!(self.fold().is_ok(), lines.is_multiple_of(2));
            return;
        }
        let rate = bytes.f64();
        let before = self.stats().rate;
        Blocked::shrink(self, rate).expect("smaller needs no more memory");
        if self.shape().lines() == lines {
            assert_eq!(self.stats().rate, before);
            return;
        }
        let after = self.stats().rate;
        assert!(after <= rate, "shrunk to {after} when {rate} was the most");
    }

    fn insert_shared(&mut self, keys: &[&[u8]]) -> Vec<bool> {
        let shared = AtomicBlocked::from(self.clone());
        let mut new = vec![false; keys.len()];
        match keys.len() % 2 {
            0 => shared.insert_batch(keys, &mut new),
            _ => new = keys.iter().map(|key| shared.insert(*key)).collect(),
        }
        *self = shared.into();
        new
    }
}

impl Subject for SplitBlock {
    fn clear(&mut self) {
        SplitBlock::<Bitmap>::clear(self);
    }

    fn insert_shared(&mut self, keys: &[&[u8]]) -> Vec<bool> {
        let shared = AtomicSplitBlock::from(self.clone());
        let new = keys.iter().map(|key| shared.insert(*key)).collect();
        *self = shared.into();
        new
    }
}

impl Subject for Shifting {
    fn clear(&mut self) {
        Shifting::clear(self);
    }

    fn insert_shared(&mut self, keys: &[&[u8]]) -> Vec<bool> {
        keys.iter().map(|key| self.insert(*key)).collect()
    }
}

/// Applies the operations of the tape to an empty filter and to a set, and compares them.
pub fn operate<F: Subject>(empty: F, bytes: &mut Bytes<'_>) {
    let mut filter = empty;
    let mut keys: HashSet<Vec<u8>> = HashSet::new();
    // Each step costs microseconds; an endless tape would only be slow.
    for _ in 0..200 {
        if bytes.is_empty() {
            break;
        }
        match bytes.u8() % 12 {
            0..3 => insert(&mut filter, &mut keys, bytes.key()),
            3 => {
                let key = bytes.key();
                let found = filter.contains_bytes(&key);
                assert!(found || !keys.contains(&key), "{key:?} is missed");
            }
            4 => {
                let batch = bytes.keys();
                insert_batch(&mut filter, &batch);
                keys.extend(batch);
            }
            5 => insert_shared(&mut filter, &mut keys, bytes),
            6 => unite(&mut filter, &mut keys, bytes.keys()),
            7 => intersect(&mut filter, &mut keys, bytes.keys()),
            8 => {
                filter.clear();
                keys.clear();
                assert_eq!((filter.stats().ones, filter.stats().rate), (0, 0.0));
            }
            9 => filter.shrink(bytes),
            10 => round_trip(&filter, bytes),
            _ => view(&filter, bytes.0, &keys),
        }
    }
    for key in &keys {
        assert!(filter.contains_bytes(key), "{key:?} is missed");
    }
    round_trip(&filter, &mut Bytes(&[]));
}

fn insert<F: Subject>(filter: &mut F, keys: &mut HashSet<Vec<u8>>, key: Vec<u8>) {
    let found = filter.contains_bytes(&key);
    assert!(found || !keys.contains(&key), "{key:?} is missed");
    assert_eq!(filter.insert_bytes(&key), !found, "{key:?}");
    assert!(filter.contains_bytes(&key), "{key:?} is missed at once");
    keys.insert(key);
}

/// Inserts the keys one by one, and returns the filter and the answers.
pub(crate) fn looped<F: Insert + Clone>(filter: &F, keys: &[Vec<u8>]) -> (F, Vec<bool>) {
    let mut looped = filter.clone();
    let new = keys.iter().map(|key| looped.insert_bytes(key)).collect();
    (looped, new)
}

pub(crate) fn slices(keys: &[Vec<u8>]) -> Vec<&[u8]> {
    keys.iter().map(Vec::as_slice).collect()
}

/// Inserts a batch, and checks that its answers and effect are those of a loop.
pub fn insert_batch<F: Insert + Clone + PartialEq + Debug>(filter: &mut F, batch: &[Vec<u8>]) {
    let (expected, expected_new) = looped(filter, batch);
    let mut found = vec![false; batch.len()];
    filter.contains_bytes_batch(&slices(batch), &mut found);
    for (key, found) in batch.iter().zip(found) {
        assert_eq!(found, filter.contains_bytes(key), "{key:?}");
    }
    let mut new = vec![false; batch.len()];
    filter.insert_bytes_batch(&slices(batch), &mut new);
    assert_eq!(new, expected_new);
    assert_eq!(*filter, expected);
}

fn insert_shared<F: Subject>(filter: &mut F, keys: &mut HashSet<Vec<u8>>, bytes: &mut Bytes<'_>) {
    let batch = bytes.keys();
    let (expected, expected_new) = looped(filter, &batch);
    let new = filter.insert_shared(&slices(&batch));
    assert_eq!(new, expected_new);
    assert_eq!(*filter, expected);
    keys.extend(batch);
}

fn unite<F: Subject>(filter: &mut F, keys: &mut HashSet<Vec<u8>>, others: Vec<Vec<u8>>) {
    let (expected, _) = looped(filter, &others);
    let mut empty = filter.clone();
    empty.clear();
    let (other, _) = looped(&empty, &others);
    filter.union(&other).expect("built alike");
    assert_eq!(*filter, expected);
    keys.extend(others);
}

fn intersect<F: Subject>(filter: &mut F, keys: &mut HashSet<Vec<u8>>, others: Vec<Vec<u8>>) {
    let mut empty = filter.clone();
    empty.clear();
    let (other, _) = looped(&empty, &others);
    let before = filter.stats();
    filter.intersect(&other).expect("built alike");
    assert!(filter.stats().ones <= before.ones.min(other.stats().ones));
    let others: HashSet<Vec<u8>> = others.into_iter().collect();
    keys.retain(|key| others.contains(key));
    for key in keys.iter() {
        assert!(filter.contains_bytes(key), "{key:?} was in both");
    }
}

/// Checks that a file returns the same filter.
pub fn round_trip<F>(filter: &F, bytes: &mut Bytes<'_>)
where
    F: Assemble + Clone + Into<AnyFilter>,
{
    let metadata = Metadata {
        label: String::from_utf8_lossy(bytes.take(3)).into_owned(),
        ..Metadata::default()
    };
    let mut file = Vec::new();
    native::write(filter, &metadata, &mut file).expect("short metadata");
    let (read, said) = native::decode(&file, Some(&secret())).expect("just written");
    assert_eq!(read, filter.clone().into());
    assert_eq!(said, metadata);
}

/// Checks that a view of the filter's bytes answers as it does, and finds these keys.
pub fn view<'k, F>(filter: &F, data: &[u8], keys: impl IntoIterator<Item = &'k Vec<u8>>)
where
    F: Filter + Assemble<Bits = Bitmap>,
{
    ask(filter, data);
    let view = |part: &Bitmap| BitmapView::new(part.to_bytes(), part.size()).expect("enough bytes");
    let parts = filter.parts().into_iter().map(view).collect();
    let view = AnyFilter::assemble(&filter.description(), parts).expect("as described");
    ask(&view, data);
    assert_eq!(view.stats(), filter.stats());
    for key in data.chunks(3).take(20) {
        assert_eq!(view.contains_bytes(key), filter.contains_bytes(key));
    }
    for key in keys {
        assert!(view.contains_bytes(key), "{key:?} is missed");
    }
}
