//! Keys drawn at random from a seed.
//!
//! Keys have two roles, members (which are inserted) and absent keys (which are looked up), as streams
//! of batches. Nothing is kept: a stream that is needed again is drawn again.

use mayhap::hash::mix;

use crate::draw::{Zipf, exponential, gaussian, word};
use crate::text;

/// The most keys in a batch.
const BATCH: u64 = 4096;

/// The ranks of Zipf's law: more than any run draws.
const RANKS: u64 = 1 << 40;

/// A distribution of keys.
///
/// ```
/// use mayhap_lab::Distribution;
///
/// assert_eq!(Distribution::named("even-odd"), Some(Distribution::EvenOdd));
/// assert_eq!(Distribution::Uuid.summary(), "Random UUIDs, version 4");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Distribution {
    /// Any 64-bit number, equally likely.
    #[default]
    Uniform,
    /// Numbers around 0: the nearer, the more often.
    Gaussian,
    /// Numbers from 0 on, the larger the rarer.
    Exponential,
    /// A few numbers very often, many hardly ever.
    Zipf,
    /// 0, 1, 2 …; absent keys are the numbers after the last.
    Sequential,
    /// 0, 2, 4 …; absent keys are odd.
    EvenOdd,
    /// Random UUIDs, version 4.
    Uuid,
    /// Addresses of web pages, 56 bytes on average.
    Url,
}

impl Distribution {
    /// Every distribution, in the order in which they are listed.
    pub const ALL: &[Distribution] = &[
        Distribution::Uniform,
        Distribution::Gaussian,
        Distribution::Exponential,
        Distribution::Zipf,
        Distribution::Sequential,
        Distribution::EvenOdd,
        Distribution::Uuid,
        Distribution::Url,
    ];

    /// The name in options and reports.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// A description, in one line.
    pub fn summary(self) -> &'static str {
        self.words().1
    }

    /// Finds the distribution of this name.
    pub fn named(name: &str) -> Option<Distribution> {
        let mut all = Distribution::ALL.iter().copied();
        all.find(|distribution| distribution.name() == name)
    }

    /// Returns whether no key occurs twice and no absent key is a member, by construction.
    pub fn is_distinct(self) -> bool {
        !matches!(
            self,
            Distribution::Gaussian | Distribution::Exponential | Distribution::Zipf
        )
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Distribution::Uniform => ("uniform", "Any 64-bit number, all alike"),
            Distribution::Gaussian => ("gaussian", "Numbers around 0: the nearer, the more often"),
            Distribution::Exponential => (
                "exponential",
                "Numbers from 0 on, ever rarer; with --scale 1e-5, as in post 004, all of them are 0",
            ),
            Distribution::Zipf => ("zipf", "A few numbers very often, many hardly ever"),
            Distribution::Sequential => (
                "sequential",
                "0, 1, 2 …; the numbers after the last are asked for",
            ),
            Distribution::EvenOdd => (
                "even-odd",
                "0, 2, 4 …; odd numbers are asked for, as in post 004",
            ),
            Distribution::Uuid => ("uuid", "Random UUIDs, version 4"),
            Distribution::Url => ("url", "Addresses of web pages, 56 bytes on average"),
        }
    }
}

/// The role of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Keys that are inserted.
    Member,
    /// Keys that are looked up. Some may happen to be members too.
    Absent,
}

/// Keys of a distribution, the same on every machine and in every version.
///
/// ```
/// use mayhap_lab::{Batch, Distribution, Drawn, Role};
///
/// let keys = Drawn::new(Distribution::EvenOdd, 1);
/// let mut batch = Batch::default();
/// keys.stream(Role::Absent, 100).next(&mut batch, 3);
/// assert_eq!(batch.keys(), [b"1", b"3", b"5"]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Drawn {
    /// The distribution that they are drawn from.
    pub distribution: Distribution,
    /// The factor of gaussian and exponential numbers before the fraction is cut off.
    pub scale: f64,
    /// The exponent of Zipf's law.
    pub exponent: f64,
    /// The seed: another one draws other keys.
    pub seed: u64,
}

impl Drawn {
    /// The scale of gaussian and exponential numbers, unless another is set.
    pub const SCALE: f64 = 1e8;

    /// The exponent of Zipf's law, unless another is set.
    pub const EXPONENT: f64 = 1.1;

    /// Makes keys of a distribution, with the usual scale and exponent.
    pub fn new(distribution: Distribution, seed: u64) -> Drawn {
        Drawn {
            distribution,
            scale: Drawn::SCALE,
            exponent: Drawn::EXPONENT,
            seed,
        }
    }

    /// Names the keys for reports.
    pub fn name(&self) -> String {
        let name = self.distribution.name();
        match self.distribution {
            Distribution::Gaussian | Distribution::Exponential => {
                format!("{name}, scale {:e}", self.scale)
            }
            Distribution::Zipf => format!("{name}, exponent {}", self.exponent),
            _ => name.to_owned(),
        }
    }

    /// Returns the keys of a role, from the first. `members` is the number of members that are ever inserted.
    pub fn stream(&self, role: Role, members: u64) -> DrawnStream {
        DrawnStream {
            drawn: *self,
            zipf: Zipf::new(RANKS, self.exponent),
            role,
            members,
            index: 0,
        }
    }

    fn push(&self, zipf: &Zipf, role: Role, members: u64, index: u64, batch: &mut Batch) {
        let is_absent = role == Role::Absent;
        // Words of one seed are distinct: absent keys are the second half of them.
        let word = word(self.seed, index | u64::from(is_absent) << 63);
        let number = |number: i64, batch: &mut Batch| {
            batch.push(number as u64, |bytes| text::number(bytes, number));
        };
        match self.distribution {
            Distribution::Uniform => number(word as i64, batch),
            // Cuts off the fraction, as Java's cast to long does.
            Distribution::Gaussian => number((gaussian(word) * self.scale) as i64, batch),
            Distribution::Exponential => number((exponential(word) * self.scale) as i64, batch),
            Distribution::Zipf => number(zipf.rank(word) as i64, batch),
            Distribution::Sequential if is_absent => number((members + index) as i64, batch),
            Distribution::Sequential => number(index as i64, batch),
            Distribution::EvenOdd => number((2 * index + u64::from(is_absent)) as i64, batch),
            Distribution::Uuid => batch.push(word, |bytes| text::uuid(bytes, word, mix(!word))),
            Distribution::Url => batch.push(word, |bytes| text::url(bytes, word)),
        }
    }
}

/// An endless stream of drawn keys.
///
/// ```
/// use mayhap_lab::{Distribution, Drawn, Role};
///
/// let mut stream = Drawn::new(Distribution::Url, 1).stream(Role::Member, 0);
/// let mut bytes = 0;
/// stream.each(10_000, |batch| bytes += batch.keys().iter().map(|key| key.len()).sum::<usize>());
/// assert!((550_000..570_000).contains(&bytes));
/// ```
#[derive(Debug)]
pub struct DrawnStream {
    drawn: Drawn,
    zipf: Zipf,
    role: Role,
    members: u64,
    index: u64,
}

impl DrawnStream {
    /// Replaces the batch by the next keys: `most`, or as many as fit in a batch.
    pub fn next(&mut self, batch: &mut Batch, most: u64) {
        batch.clear();
        let most = most.min(BATCH);
        for index in self.index..self.index + most {
            self.drawn
                .push(&self.zipf, self.role, self.members, index, batch);
        }
        self.index += most;
    }

    /// Skips the next keys.
    pub fn skip(&mut self, keys: u64) {
        self.index += keys;
    }

    /// Calls `take` with the next `count` keys, batch by batch.
    pub fn each(&mut self, count: u64, mut take: impl FnMut(&Batch)) {
        let mut batch = Batch::default();
        let mut given = 0;
        while given < count {
            self.next(&mut batch, count - given);
            given += batch.count();
            take(&batch);
        }
    }
}

/// Some keys, one after another.
///
/// ```
/// use mayhap_lab::Batch;
///
/// let mut batch = Batch::default();
/// batch.push(7, |bytes| bytes.extend_from_slice(b"seven"));
/// assert_eq!((batch.count(), batch.keys()), (1, vec![&b"seven"[..]]));
/// ```
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    identities: Vec<u64>,
}

impl Batch {
    /// Returns whether there is no room for another key.
    pub fn is_full(&self) -> bool {
        self.count() >= BATCH
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.identities.clear();
    }

    /// Appends a key, given the number that stands for it and a function that appends its bytes.
    pub fn push(&mut self, identity: u64, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
        self.identities.push(identity);
    }

    /// The number of keys.
    pub fn count(&self) -> u64 {
        self.ends.len() as u64
    }

    /// The keys.
    pub fn keys(&self) -> Vec<&[u8]> {
        let mut start = 0;
        let key = |&end: &usize| {
            let key = &self.bytes[start..end];
            start = end;
            key
        };
        self.ends.iter().map(key).collect()
    }

    /// A number for each key: drawn keys are equal exactly when their numbers are, keys of files have a
    /// 64-bit hash.
    pub fn identities(&self) -> &[u64] {
        &self.identities
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn keys(distribution: Distribution, scale: f64, role: Role, count: u64) -> Vec<Vec<u8>> {
        let drawn = Drawn {
            scale,
            ..Drawn::new(distribution, 1)
        };
        let mut all = Vec::new();
        drawn.stream(role, 5000).each(count, |batch| {
            assert!(batch.keys().len() == batch.identities().len());
            all.extend(batch.keys().into_iter().map(<[u8]>::to_vec));
        });
        assert_eq!(all.len() as u64, count);
        all
    }

    #[test]
    fn distributions_that_claim_to_be_distinct_are() {
        for distribution in Distribution::ALL {
            let members = keys(*distribution, 1e8, Role::Member, 5000);
            let absent = keys(*distribution, 1e8, Role::Absent, 5000);
            let all: HashSet<&Vec<u8>> = members.iter().chain(&absent).collect();
            if distribution.is_distinct() {
                assert_eq!(all.len(), 10_000, "{distribution:?}");
            }
            assert!(members.iter().all(|key| str::from_utf8(key).is_ok()));
        }
    }

    #[test]
    fn the_exponential_numbers_of_post_004_are_all_zero() {
        for role in [Role::Member, Role::Absent] {
            let all = keys(Distribution::Exponential, 1e-5, role, 100_000);
            assert!(all.iter().all(|key| key == b"0"));
        }
        let sane = keys(Distribution::Exponential, 1e8, Role::Member, 1000);
        assert!(sane.iter().collect::<HashSet<_>>().len() > 990);
    }

    #[test]
    fn a_stream_is_the_same_again_in_batches_of_any_size() {
        let drawn = Drawn::new(Distribution::Url, 3);
        let mut whole = drawn.stream(Role::Member, 0);
        let mut parts = drawn.stream(Role::Member, 0);
        let (mut batch, mut part) = (Batch::default(), Batch::default());
        whole.next(&mut batch, 100);
        for (i, key) in batch.keys().into_iter().enumerate() {
            parts.next(&mut part, 1);
            assert_eq!(part.keys(), [key], "{i}");
        }
    }

    /// The first member and the first absent key of seed 1.
    const FIRST: [(Distribution, &str, &str); 8] = [
        (
            Distribution::Uniform,
            "8841707400507832957",
            "3785747940022282957",
        ),
        (Distribution::Gaussian, "-4223582", "-32854998"),
        (Distribution::Exponential, "65260026", "22969723"),
        (Distribution::Zipf, "468", "537708"),
        (Distribution::Sequential, "0", "5000"),
        (Distribution::EvenOdd, "0", "1"),
        (
            Distribution::Uuid,
            "7ab40e09-0f36-43a7-b4ce-e880c024887b",
            "3489adb1-9631-4eac-b69e-fa8fa276e0e9",
        ),
        (
            Distribution::Url,
            "https://news.example.org/img/large/7ab40e090f363a7d?page=2",
            "https://shop.example.net/wiki/3489adb19631eacd",
        ),
    ];

    /// Guards the keys of a seed: reports name it, so that others can repeat them.
    #[test]
    fn a_seed_draws_the_same_keys_for_ever() {
        for (distribution, member, absent) in FIRST {
            let first = |role| keys(distribution, 1e8, role, 1).remove(0);
            let text = |key: Vec<u8>| String::from_utf8(key).expect("text");
            assert_eq!(text(first(Role::Member)), member, "{distribution:?}");
            assert_eq!(text(first(Role::Absent)), absent, "{distribution:?}");
        }
    }
}
