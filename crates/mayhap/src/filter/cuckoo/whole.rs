//! Batches that are inserted whole or not at all, and layers that are given back.

use super::Cuckoo;
use super::changes::KEYS;
use super::table::Table;
use crate::bits::{Bitmap, Bits as _};
use crate::filter::layered::Growth as _;
use crate::hash::Digest;
use crate::{Key, Result};
use alloc::vec::Vec;

impl Cuckoo {
    /// Inserts every key, or none; `new` says of each whether it was *definitely* not in the filter before.
    ///
    /// # Errors
    ///
    /// [`Error::Full`](crate::Error::Full) when there is no room for all of them and the filter cannot grow. Nothing has
    /// changed then, and `new` has no meaning.
    ///
    /// # Panics
    ///
    /// When `new` and `keys` differ in length.
    ///
    /// ```
    /// use mayhap::{Cuckoo, CuckooOptions};
    ///
    /// let options = CuckooOptions { growth: 0, ..CuckooOptions::default() };
    /// let mut live = Cuckoo::with_options(100, 0.01, options)?;
    /// let keys: Vec<u32> = (0..1000).collect();
    /// assert!(live.try_insert_batch(&keys, &mut vec![false; 1000]).is_err());
    /// assert_eq!(live.keys(), 0);
    /// live.try_insert_batch(&keys[..100], &mut [false; 100])?;
    /// assert_eq!(live.keys(), 100);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn try_insert_batch<K: Key>(&mut self, keys: &[K], new: &mut [bool]) -> Result<()> {
        self.each_or_none(keys, new, Cuckoo::try_insert_digest)
    }

    /// As [`try_insert_batch`](Cuckoo::try_insert_batch), but passes over keys that the filter seems to hold.
    ///
    /// That is right only where nothing is removed: a key that was passed over by mistake is missed once the keys that it was
    /// taken for are removed.
    ///
    /// # Errors
    ///
    /// As [`try_insert_batch`](Cuckoo::try_insert_batch).
    ///
    /// # Panics
    ///
    /// As [`try_insert_batch`](Cuckoo::try_insert_batch).
    pub fn try_insert_new_batch<K: Key>(&mut self, keys: &[K], new: &mut [bool]) -> Result<()> {
        self.each_or_none(keys, new, |filter, digest| {
            let is_found = filter.contains_digest(digest);
            match is_found {
                true => Ok(false),
                false => filter.try_insert_digest(digest),
            }
        })
    }

    /// Inserts each key by `insert`; takes everything back when one is refused.
    fn each_or_none<K: Key>(
        &mut self,
        keys: &[K],
        new: &mut [bool],
        insert: impl Fn(&mut Cuckoo, Digest) -> Result<bool>,
    ) -> Result<()> {
        assert_eq!(keys.len(), new.len(), "one answer per key");
        let layers = self.layers();
        self.record_state();
        for layer in &mut self.body.layers {
            layer.slots.record();
        }
        let mut done = Ok(());
        let mut answers = new.iter_mut();
        self.each_digest(keys, |filter, digest| {
            if done.is_err() {
                return;
            }
            match (insert(filter, digest), answers.next()) {
                (Ok(is_new), Some(answer)) => *answer = is_new,
                (Ok(_), None) => {}
                (Err(error), _) => done = Err(error),
            }
        });
        if done.is_err() {
            self.body.layers.truncate(layers);
            self.take_back_state();
            self.resize();
        }
        self.before = None;
        for layer in &mut self.body.layers {
            match done {
                Ok(()) => layer.slots.keep(),
                Err(_) => layer.slots.take_back(),
            }
        }
        done
    }

    /// Takes note that the number of layers has changed.
    fn resize(&mut self) {
        self.body.capacity = self.body.growth.capacity(self.layers() as u32 - 1);
        self.capacity = self.body.capacity();
    }

    /// Moves fingerprints of the newest layers into empty slots of older ones, as far as they have any, and gives back the
    /// layers that are empty then. Returns how many these are.
    ///
    /// ```
    /// use mayhap::{Cuckoo, Insert};
    ///
    /// let mut live = Cuckoo::with_capacity(100, 0.01)?;
    /// live.insert_all(0..1000_u32);
    /// live.remove_all(50..1000_u32);
    /// assert!(live.compact() > 0 && live.layers() == 1);
    /// assert!((0..50_u32).all(|key| live.contains(&key)));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn compact(&mut self) -> usize {
        let before = self.layers();
        while let Some((newest, older)) = self.body.layers.split_last_mut()
            && !older.is_empty()
            && newest.move_into(older)
        {
            self.body.layers.pop();
        }
        self.resize();
        // A file may state more keys than it has fingerprints, but not more than slots.
        let keys = self.body.state.word(KEYS).min(self.slots());
        self.body.state.set_word(KEYS, keys);
        before - self.layers()
    }

    /// The bits that the filter has with this many layers: what to limit it to by [`limited_to`](Cuckoo::limited_to).
    ///
    /// # Errors
    ///
    /// When it cannot have them: it does not grow, or the last would be too large, too strict or one too many.
    ///
    /// ```
    /// use mayhap::{Cuckoo, Insert};
    ///
    /// let live = Cuckoo::with_capacity(1000, 0.01)?;
    /// let bits = live.bits_with(2)?;
    /// let mut live = live.limited_to(bits);
    /// live.insert_all(0..10_000_u32);
    /// assert_eq!(live.layers(), 2);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn bits_with(&self, layers: usize) -> Result<u64> {
        let layers = u32::try_from(layers).unwrap_or(u32::MAX).max(1);
        self.body.growth.layer(layers - 1)?;
        Ok(self.body.growth.bits(layers))
    }

    /// Takes the parts out of the filter: what [`Assemble::parts`](crate::Assemble::parts) shows.
    pub fn into_parts(self) -> Vec<Bitmap> {
        let layers = self.body.layers.into_iter();
        let layers = layers.map(|layer| layer.slots.into_bits());
        [self.body.state].into_iter().chain(layers).collect()
    }
}

impl Table {
    /// Moves every fingerprint into an empty slot of an older layer; false when some are left.
    fn move_into(&mut self, older: &mut [Table]) -> bool {
        let shape = self.shape;
        self.slots.drain(shape.buckets(), |bucket, fingerprint| {
            older.iter_mut().any(|table| {
                let home = table.home_of(shape, bucket, fingerprint);
                table.slots.put(&home)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::CuckooOptions;
    use super::*;
    use crate::filter::Assemble as _;
    use crate::filter::Insert as _;
    use alloc::vec;

    fn filter(options: &CuckooOptions) -> Cuckoo {
        Cuckoo::with_options(50, 0.05, options.clone()).expect("valid")
    }

    /// Options of small filters: growing by 1, 2 and 8, with fingerprints by the rate and given ones.
    fn all_options() -> Vec<CuckooOptions> {
        let mut all = Vec::new();
        for growth in [1, 2, 8] {
            for (bucket, fingerprint) in [(2, None), (4, None), (4, Some(16)), (3, Some(12))] {
                all.push(CuckooOptions {
                    growth,
                    bucket: Some(bucket),
                    fingerprint,
                    ..CuckooOptions::default()
                });
            }
        }
        all
    }

    #[test]
    fn a_batch_that_has_no_room_changes_nothing() {
        for options in all_options() {
            let mut filter = filter(&options).limited_to(20_000);
            let keys: Vec<u32> = (0..5000).collect();
            let mut new = vec![false; keys.len()];
            let mut inserted = 0;
            let mut refused = 0;
            for batch in keys.chunks(20) {
                let (description, bits) = (filter.description(), filter.clone().into_parts());
                let capacity = filter.capacity();
                if filter
                    .try_insert_batch(batch, &mut new[..batch.len()])
                    .is_ok()
                {
                    inserted += 1;
                    assert!(batch.iter().all(|key| filter.contains(key)));
                    continue;
                }
                refused += 1;
                assert_eq!(filter.description(), description);
                assert!(filter.clone().into_parts() == bits, "refused, and changed");
                assert_eq!(filter.capacity(), capacity);
            }
            assert!(inserted > 1 && refused > 1, "{inserted} {refused}");
            let next = filter.bits_with(filter.layers() + 1);
            assert!(next.map_or(true, |bits| bits > 20_000));
        }
    }

    #[test]
    fn a_batch_that_may_grow_the_filter_looks_into_few_buckets_beyond_its_capacity() {
        for bucket in [2, 4] {
            let [none, one] = [0, 1].map(|growth| CuckooOptions {
                growth,
                bucket: Some(bucket),
                ..CuckooOptions::default()
            });
            let fixed = Cuckoo::with_options(1000, 0.05, none).expect("valid");
            let grown = Cuckoo::with_options(1000, 0.05, one).expect("valid");
            let bits = grown.bits_with(8).expect("small");
            let mut filters = [fixed, grown.limited_to(bits)];
            for (filter, is_counted) in filters.iter_mut().zip([false, true]) {
                let refused = (0_u32..)
                    .find(|key| filter.try_insert_batch(&[*key], &mut [false]).is_err())
                    .expect("it is full");
                assert!(u64::from(refused) > filter.capacity(), "{refused}");

                // Every key of another batch, until one search was in vain as far as it went.
                filter.record_state();
                let searched = |filter: &Cuckoo| filter.before.as_ref().and_then(|now| now.left);
                assert_eq!(searched(filter).is_some(), is_counted);
                for key in refused..refused + 100 {
                    let digest = filter.digester().digest(&key.to_le_bytes());
                    let _ = filter.try_insert_digest(digest);
                }
                assert_eq!(searched(filter), is_counted.then_some(0));
                filter.take_back_state();
            }
        }
    }

    #[test]
    fn batches_equal_inserts_one_by_one() {
        for options in all_options() {
            let (mut whole, mut single) = (filter(&options), filter(&options));
            let keys: Vec<u32> = (0..300).chain(0..100).collect();
            let mut new = vec![false; keys.len()];
            whole.try_insert_batch(&keys, &mut new).expect("it grows");
            for (key, new) in keys.iter().zip(&new) {
                assert_eq!(single.insert(key), *new);
            }
            assert!(whole.clone().into_parts() == single.into_parts());

            let keys: Vec<u32> = (200..600).chain(500..600).collect();
            let mut new = vec![false; keys.len()];
            let before = whole.keys();
            whole
                .try_insert_new_batch(&keys, &mut new)
                .expect("it grows");
            let count = new.iter().filter(|&&new| new).count() as u64;
            assert_eq!(whole.keys() - before, count);
            assert!((200..=300).contains(&count), "{count}");
            assert!(keys.iter().all(|key| whole.contains(key)));
        }
    }

    #[test]
    fn no_key_is_missed_after_layers_were_given_back_and_each_can_be_removed() {
        for options in all_options() {
            let mut filter = filter(&options);
            filter.insert_all(0..600_u32);
            filter.insert_all(0..20_u32);
            filter.remove_all(60..600_u32);
            let (before, keys) = (filter.layers(), filter.keys());

            let given_back = filter.compact();

            assert!(given_back > 0, "{options:?}");
            assert_eq!(filter.layers(), before - given_back);
            assert_eq!(filter.keys(), keys);
            assert_eq!(filter.stats().keys, Some(keys as f64));
            for key in 0..60_u32 {
                assert!(filter.count(&key) > u64::from(key < 20), "{key}");
            }
            assert_eq!(filter.remove_all((0..60).chain(0..20_u32)), 80);
            assert_eq!(filter.stats().keys, Some(0.0));
            filter.compact();
            assert_eq!(filter.layers(), 1);
            filter.insert_all(0..600_u32);
            assert!((0..600_u32).all(|key| filter.contains(&key)));
        }
    }

    #[test]
    fn a_filter_that_stated_too_many_keys_is_one_after_its_layers_were_given_back() {
        let mut filter = filter(&CuckooOptions::default());
        filter.insert_all(0..300_u32);
        let description = filter.description();
        let layout = Cuckoo::<Bitmap>::layout(&description).expect("valid");
        let parts = layout
            .into_iter()
            .map(|bits| Bitmap::new(bits).expect("small"));
        let mut parts: Vec<Bitmap> = parts.collect();
        parts[0].set_word(KEYS, 300);
        let mut empty = Cuckoo::assemble(&description, parts).expect("possible");

        assert!(empty.compact() > 0);

        let description = empty.description();
        assert!(Cuckoo::assemble(&description, empty.into_parts()).is_ok());
    }
}
