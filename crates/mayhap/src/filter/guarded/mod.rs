//! A Bloom filter with a white list: exact for keys that are known not to be in it.
//!
//! The list holds, whole, the keys that the filter would wrongly find; they are then not found. It
//! stays honest as keys arrive: a key that is inserted leaves the list first, so there are no false
//! negatives, ever; and because a fuller filter may find other known keys wrongly, the list says that
//! it is stale ([`Guarded::is_exact`]) until it is made again ([`Guarded::refresh`]).
//!
//! Of |G| known keys a filter of rate f puts f |G| on the list, so it costs the bits of those keys
//! beside the filter's; the sum is least where f = n / (|G| h (ln 2)²) for n keys in the filter and h
//! bits for a listed one. A lookup asks the list only for what the filter finds.

mod list;

use alloc::vec;
use alloc::vec::Vec;

use super::description::check_size;
use super::{Assemble, Blocked, Description, Filter, Insert, Kind, Merge, Stats};
use crate::bits::{Bitmap, Bits};
use crate::hash::Digester;
use crate::{Error, Key, Result, kinds::BlockedShape};
use list::WhiteList;

/// A [`Blocked`] and the known keys that it would wrongly find, over bits of any storage.
///
/// ```
/// use mayhap::{Insert, kinds::Guarded};
///
/// let mut bad = Guarded::with_capacity(10_000, 0.01)?;
/// bad.insert_all((0..10_000_u32).map(|i| format!("bad-{i}.example")));
/// let good = || (0..50_000_u32).map(|i| format!("good-{i}.example"));
///
/// let listed = bad.refresh(good())?;
/// assert!((400..600).contains(&listed), "one in a hundred was wrongly found");
/// assert!(bad.is_exact() && !good().any(|host| bad.contains(&host)));
///
/// // A good host turns bad: it is found from then on.
/// assert!(bad.insert("good-7.example") && bad.contains("good-7.example"));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct Guarded<B = Bitmap> {
    filter: Blocked<B>,
    list: WhiteList<B>,
    /// The most keys that the list may have.
    most_listed: usize,
}

impl Guarded {
    /// A filter whose predicted rate with `keys` keys is at most `rate`, with an empty white list,
    /// hashed without a secret.
    ///
    /// # Errors
    ///
    /// As [`Blocked::with_capacity`].
    pub fn with_capacity(keys: u64, rate: f64) -> Result<Guarded> {
        Guarded::guard(Blocked::with_capacity(keys, rate)?)
    }

    /// An empty filter of this shape, hashed by this digester, with an empty white list.
    ///
    /// # Errors
    ///
    /// When there is no memory for it.
    pub fn new(shape: BlockedShape, digester: Digester) -> Result<Guarded> {
        Guarded::guard(Blocked::new(shape, digester)?)
    }

    /// Gives a filter an empty white list.
    ///
    /// # Errors
    ///
    /// When there is no memory for it.
    pub fn guard(filter: Blocked) -> Result<Guarded> {
        Ok(Guarded {
            filter,
            list: WhiteList::new()?,
            most_listed: usize::MAX,
        })
    }

    /// Describes the filter that [`with_capacity`](Guarded::with_capacity) would make, without allocating it.
    ///
    /// # Errors
    ///
    /// As [`Blocked::plan`].
    pub fn plan(keys: u64, rate: f64) -> Result<Description> {
        Ok(describe(Blocked::plan(keys, rate)?, 1))
    }

    /// The same filter, whose list takes at most this many keys: where outsiders report, a list
    /// without a limit lets them take memory and keys. Files do not keep this limit.
    pub fn limited_to(mut self, listed: usize) -> Guarded {
        self.most_listed = listed;
        self
    }

    /// Inserts the key; true when it was *definitely* not in the filter before. A key on the white
    /// list leaves it.
    ///
    /// A key that changes the filter makes the list stale: see [`is_exact`](Guarded::is_exact).
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.enter(key.key_bytes().as_ref())
    }

    fn enter(&mut self, key: &[u8]) -> bool {
        let was_listed = self.list.contains(key);
        if was_listed {
            // First, so that there is no moment at which the key is in the filter and not found.
            self.list.remove(key);
        }
        let changed = self.filter.insert(key);
        self.note(changed);
        changed || was_listed
    }

    /// Notes whether the filter has changed.
    fn note(&mut self, changed: bool) {
        if changed && !self.list.is_stale() {
            self.list.set_stale(true);
        }
    }

    /// Puts a key on the white list, of which the caller knows that it was never inserted. False when
    /// there was no need, because the filter does not find it.
    ///
    /// This is a removal in disguise: a key that *was* inserted is missed from then on. Never take a
    /// outsider's word for it.
    ///
    /// # Errors
    ///
    /// [`Error::Field`] when the list is full; it is then unchanged.
    pub fn report_false_positive<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        let key = key.key_bytes();
        let key = key.as_ref();
        if !Filter::contains_bytes(self, key) {
            return Ok(false);
        }
        self.enlist(vec![key.to_vec()]).map(|_| true)
    }

    /// Makes the filter exact for these keys, of which the caller knows that none was inserted: those
    /// that it finds go on the white list. Returns how many were added to the list, which keeps what it has.
    ///
    /// Give it *all* known keys after inserts: [`is_exact`](Guarded::is_exact) is true again then.
    ///
    /// # Errors
    ///
    /// [`Error::Field`] when the list would be fuller than it may; it is then unchanged.
    pub fn refresh<K: Key>(&mut self, known: impl IntoIterator<Item = K>) -> Result<usize> {
        let mut wrong = Vec::new();
        for key in known {
            let key = key.key_bytes();
            let key = key.as_ref();
            if Filter::contains_bytes(self, key) {
                wrong.push(key.to_vec());
            }
        }
        let listed = self.enlist(wrong)?;
        self.list.set_stale(false);
        Ok(listed)
    }

    /// Puts keys on the list; returns how many of them were not on it.
    fn enlist(&mut self, mut keys: Vec<Vec<u8>>) -> Result<usize> {
        keys.sort_unstable();
        keys.dedup();
        let before = self.list.len();
        self.check_length(before + keys.len())?;
        self.list.add(keys)?;
        Ok(self.list.len() - before)
    }

    /// Refuses a list of this many keys; one that was as long before the limit came may stay.
    fn check_length(&self, listed: usize) -> Result<()> {
        if listed <= self.most_listed.max(self.list.len()) {
            return Ok(());
        }
        Err(Error::Field {
            format: "guarded",
            field: "number of listed keys",
            got: listed as i64,
            expected: "at most the limit of the list",
        })
    }

    /// Forgets every key, and the white list.
    pub fn clear(&mut self) {
        self.filter.clear();
        self.clear_list();
        self.list.set_stale(false);
    }

    /// Takes every key off the white list: those that the filter finds are found again.
    ///
    /// ```
    /// use mayhap::kinds::Guarded;
    ///
    /// let mut filter = Guarded::with_capacity(1000, 0.01)?;
    /// filter.insert("by mistake");
    /// filter.report_false_positive("by mistake")?;
    /// assert_eq!(filter.listed_keys().collect::<Vec<_>>(), [b"by mistake"]);
    /// assert!(!filter.contains("by mistake"));
    ///
    /// filter.clear_list();
    /// assert!(filter.contains("by mistake") && !filter.is_exact());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn clear_list(&mut self) {
        let emptied = self.list.change(|_| false, []);
        emptied.expect("a list without keys has room where it was");
        self.list.set_stale(true);
    }
}

impl<B: Bits> Guarded<B> {
    /// Returns whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let key = key.key_bytes();
        self.filter.contains(key.as_ref()) && !self.list.contains(key.as_ref())
    }

    /// Returns whether the answers for the keys of the last [`refresh`](Guarded::refresh) are still exact:
    /// false once a key has changed the filter, which may then find others of them wrongly.
    pub fn is_exact(&self) -> bool {
        !self.list.is_stale()
    }

    /// The number of keys on the white list.
    pub fn listed(&self) -> usize {
        self.list.len()
    }

    /// The keys on the white list, ascending.
    pub fn listed_keys(&self) -> impl Iterator<Item = Vec<u8>> {
        self.list.keys()
    }

    /// Returns what the filter holds now, and the rate that gives for keys that are not known.
    pub fn stats(&self) -> Stats {
        self.filter.stats()
    }

    /// The filter without its list.
    pub fn filter(&self) -> &Blocked<B> {
        &self.filter
    }
}

impl<B: Bits> Filter for Guarded<B> {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn stats(&self) -> Stats {
        Guarded::stats(self)
    }

    /// While the list is empty, prefetches several cache lines ahead.
    fn contains_each<K: Key>(
        &self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        if self.list.len() == 0 {
            return self.filter.contains_each(keys, answer);
        }
        keys.into_iter().for_each(|key| answer(self.contains(&key)));
    }

    /// Prefetches several cache lines ahead, then asks the list about what the filter found.
    fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        self.filter.contains_batch(keys, found);
        if self.list.len() > 0 {
            for (key, found) in keys.iter().zip(found) {
                *found = *found && !self.list.contains(key.key_bytes().as_ref());
            }
        }
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.contains_batch(keys, found);
    }
}

impl Insert for Guarded {
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        self.enter(key)
    }

    /// While the list is empty, prefetches several cache lines ahead.
    fn insert_each<K: Key>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
        mut answer: impl FnMut(bool),
    ) {
        if self.list.len() > 0 {
            keys.into_iter().for_each(|key| answer(self.insert(&key)));
            return;
        }
        let mut changed = false;
        self.filter.insert_each(keys, |is_new| {
            changed |= is_new;
            answer(is_new);
        });
        self.note(changed);
    }

    fn insert_bytes_batch(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        self.insert_batch(keys, new);
    }
}

/// The description of a filter with a list of this many words.
fn describe(filter: Description, words: u32) -> Description {
    Description {
        kind: Kind::Guarded,
        bits: filter.bits.saturating_add(64 * u64::from(words)),
        detail: words,
        ..filter
    }
}

/// The description of the filter alone.
fn filter_of(description: &Description) -> Result<Description> {
    let list = 64 * u64::from(description.detail);
    match description.bits.checked_sub(list) {
        Some(bits) if list > 0 => Ok(Description {
            kind: Kind::Blocked,
            bits,
            detail: 0,
            ..description.clone()
        }),
        _ => Err(Error::Field {
            format: "guarded",
            field: "words of the list",
            got: i64::from(description.detail),
            expected: "1, and as many as the listed keys take",
        }),
    }
}

impl<B: Bits> Assemble for Guarded<B> {
    type Bits = B;

    fn description(&self) -> Description {
        // A list has at most 2^32 - 1 words.
        describe(self.filter.description(), self.list.word_count() as u32)
    }

    fn parts(&self) -> Vec<&B> {
        vec![self.filter.bits(), self.list.words()]
    }

    fn settle(&self) -> Result<()> {
        self.list.make_words().map(drop)
    }

    fn predicted_rate(description: &Description, keys: u64) -> Option<f64> {
        <Blocked<B>>::predicted_rate(&filter_of(description).ok()?, keys)
    }

    fn cache_lines(_description: &Description) -> u32 {
        1
    }

    fn check(description: &Description) -> Result<()> {
        <Blocked<B>>::check(&filter_of(description)?)
    }

    fn layout(description: &Description) -> Result<Vec<u64>> {
        Self::check(description)?;
        let filter = filter_of(description)?;
        Ok(vec![filter.bits, description.bits - filter.bits])
    }

    fn assemble(description: &Description, parts: Vec<B>) -> Result<Guarded<B>> {
        let filter = filter_of(description)?;
        let [bits, words] = <[B; 2]>::try_from(parts).map_err(|parts| Error::Field {
            format: "guarded",
            field: "number of parts",
            got: parts.len() as i64,
            expected: "2",
        })?;
        let listed = description.bits - filter.bits;
        check_size(&words, listed, "as many in the list as described")?;
        Ok(Guarded {
            filter: Blocked::assemble(&filter, vec![bits])?,
            list: WhiteList::from_words(words)?,
            most_listed: usize::MAX,
        })
    }
}

impl Merge for Guarded {
    /// Adds every key of `other`. A listed key stays on the list when the other filter, with its own
    /// list, does not find it either: then it was inserted into neither. One that leaves the list makes it
    /// stale, as a key that changes the filter does.
    ///
    /// # Errors
    ///
    /// When the two differ in shape or digester, or the list would be too long; the filter is then
    /// unchanged.
    fn union(&mut self, other: &Guarded) -> Result<()> {
        let mut filter = self.filter.clone();
        filter.union(&other.filter)?;
        let changed = filter != self.filter;
        let mut list = self.list.clone();
        let theirs = other
            .list
            .keys()
            .filter(|key| !Filter::contains_bytes(self, key));
        list.change(|key| !Filter::contains_bytes(other, key), theirs)?;
        self.check_length(list.len())?;
        let was_stale = self.list.is_stale() || other.list.is_stale();
        let is_whole = self
            .list
            .keys()
            .chain(other.list.keys())
            .all(|key| list.contains(&key));
        list.set_stale(was_stale || changed || !is_whole);
        self.filter = filter;
        self.list = list;
        Ok(())
    }
}
