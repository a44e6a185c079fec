//! All of a filter but its bits.
//!
//! A file header says it, a plan for a build says it before there are any bits, and a kind is put
//! together from it and bits of any storage. Formats need nothing else from a kind.

use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::{self, Display};

use super::{Kind, Promise};
use crate::bits::{Bitmap, Bits};
use crate::shape::check_request;
use crate::{Digester, Error, Result, Scheme};

/// Everything that has to be known, besides the bits, to have a filter again.
///
/// ```
/// use mayhap::{AnyFilter, Assemble, Blocked, Kind};
///
/// let description = Kind::Blocked.plan(1_000_000, 0.01)?;
/// assert_eq!(description.hashes, 6);
/// let filter = AnyFilter::new(&description)?;
/// assert_eq!(filter, Blocked::with_capacity(1_000_000, 0.01)?.into());
/// assert_eq!(filter.description(), description);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// The kind of filter.
    pub kind: Kind,
    /// The way keys are hashed.
    pub hashing: Hashing,
    /// The number of bits, in all parts together.
    pub bits: u64,
    /// The number of hashes per key.
    pub hashes: u32,
    /// A small parameter of the kind's own; 0 for kinds that have none.
    pub detail: u32,
    /// The keys and the rate it was made for, if it was made by them.
    pub promise: Option<Promise>,
}

/// The way the keys of a filter are hashed: a file has a scheme code for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hashing {
    /// By a scheme. The standard filter has any; other kinds have the native one.
    Scheme(Scheme),
    /// By XXH64 with seed 0. It gives no positions by itself, so it is not a scheme: the kind
    /// [`SplitBlock`](crate::kinds::SplitBlock), which has no other, makes a block and bits of it.
    Xxh64,
}

impl Display for Hashing {
    /// The name of the scheme, as [`Scheme`] has it, or `xxh64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hashing::Scheme(scheme) => scheme.fmt(f),
            Hashing::Xxh64 => f.pad("xxh64"),
        }
    }
}

/// XXH64 with seed 0, as the hashing of a kind that has no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Xxh64;

impl Display for Xxh64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hashing::Xxh64.fmt(f)
    }
}

impl From<Xxh64> for Hashing {
    fn from(_: Xxh64) -> Hashing {
        Hashing::Xxh64
    }
}

impl From<Scheme> for Hashing {
    fn from(scheme: Scheme) -> Hashing {
        Hashing::Scheme(scheme)
    }
}

impl From<Digester> for Hashing {
    fn from(digester: Digester) -> Hashing {
        Hashing::Scheme(Scheme::Native(digester))
    }
}

impl Description {
    /// The filter of this description with every bit zero: for most kinds, the empty one.
    pub(super) fn empty<F: Assemble<Bits = Bitmap>>(&self) -> Result<F> {
        let parts = F::layout(self)?.into_iter().map(Bitmap::new);
        F::assemble(self, parts.collect::<Result<_>>()?)
    }

    /// The scheme, for the kind that has every one.
    pub(super) fn scheme(&self) -> Result<Scheme> {
        match &self.hashing {
            Hashing::Scheme(scheme) => Ok(scheme.clone()),
            other => Err(self.no_such_hashing(other, "a scheme")),
        }
    }

    /// The native digester, for kinds that have no other scheme.
    pub(super) fn digester(&self) -> Result<Digester> {
        match &self.hashing {
            Hashing::Scheme(Scheme::Native(digester)) => Ok(digester.clone()),
            other => Err(self.no_such_hashing(
                other,
                "rapidhash, rapidhash-protected, siphash or universal",
            )),
        }
    }

    /// Refuses any hash but XXH64, for the kind that has no other.
    pub(super) fn check_xxh64(&self) -> Result<()> {
        match &self.hashing {
            Hashing::Xxh64 => Ok(()),
            other => Err(self.no_such_hashing(other, "xxh64")),
        }
    }

    fn no_such_hashing(&self, got: &Hashing, expected: &str) -> Error {
        Error::Incompatible {
            what: "scheme",
            left: got.to_string(),
            right: alloc::format!("{expected}, as the kind {} has", self.kind),
        }
    }

    /// Refuses a promise that no request makes, and that no file can say.
    pub(super) fn check_promise(&self) -> Result<()> {
        match self.promise {
            Some(promise) => check_request(promise.keys, promise.rate),
            None => Ok(()),
        }
    }

    /// Refuses a detail that a kind without one cannot have.
    pub(super) fn check_no_detail(&self) -> Result<()> {
        match self.detail {
            0 => Ok(()),
            detail => Err(Error::Field {
                format: self.kind.name(),
                field: "detail",
                got: i64::from(detail),
                expected: "0: the kind has none",
            }),
        }
    }

    /// The promise, for kinds that are made for nothing else.
    pub(super) fn needed_promise(&self) -> Result<Promise> {
        self.check_promise()?;
        self.promise.ok_or(Error::Field {
            format: self.kind.name(),
            field: "promised keys",
            got: 0,
            expected: "at least 1",
        })
    }

    /// The first part, of `bits` bits, in whose first line `words` words are in use, and the others, of a kind that
    /// has this many.
    pub(super) fn state_and_others<B: Bits>(
        &self,
        mut parts: Vec<B>,
        others: usize,
        words: u64,
        bits: u64,
    ) -> Result<(B, Vec<B>)> {
        if parts.len() != others + 1 {
            return Err(Error::Field {
                format: self.kind.name(),
                field: "number of parts",
                got: parts.len() as i64,
                expected: "one line, and as many as described",
            });
        }
        let state = parts.remove(0);
        if state.size() != bits {
            return Err(Error::Bits {
                got: state.size(),
                expected: "as many as the first part has",
            });
        }
        if let Some(index) = (words..8).find(|&index| state.word(index) != 0) {
            return Err(Error::Field {
                format: self.kind.name(),
                field: "state",
                got: state.word(index) as i64,
                expected: "zeros after the words in use",
            });
        }
        Ok((state, parts))
    }

    /// Refuses parts that are not of these sizes.
    pub(super) fn check_parts<B: Bits>(&self, parts: &[B], sizes: &[u64]) -> Result<()> {
        if parts.len() != sizes.len() {
            return Err(Error::Field {
                format: self.kind.name(),
                field: "number of parts",
                got: parts.len() as i64,
                expected: "as many as described",
            });
        }
        let mut parts = parts.iter().zip(sizes);
        parts.try_for_each(|(part, &size)| check_size(part, size, "as many as described"))
    }

    /// The part of a kind that has one.
    pub(super) fn only_part<B>(&self, parts: Vec<B>) -> Result<B> {
        let parts = <[B; 1]>::try_from(parts);
        parts.map(|[part]| part).map_err(|parts| Error::Field {
            format: self.kind.name(),
            field: "number of parts",
            got: parts.len() as i64,
            expected: "1",
        })
    }
}

/// Refuses bits that are not as many as they have to be.
pub(super) fn check_size(bits: &impl Bits, size: u64, expected: &'static str) -> Result<()> {
    match bits.size() {
        got if got == size => Ok(()),
        got => Err(Error::Bits { got, expected }),
    }
}

/// Refuses two filters of one kind that differ in a property.
pub(super) fn check_alike<T: PartialEq + Display>(
    what: &'static str,
    left: &T,
    right: &T,
) -> Result<()> {
    if left == right {
        return Ok(());
    }
    let (left, mut right) = (left.to_string(), right.to_string());
    // Of a scheme, words leave out the secret, or the key that was drawn.
    if left == right && what == "scheme" {
        right.push_str(match left.as_str() {
            "universal" => " by another key",
            _ => " under another secret",
        });
    }
    Err(Error::Incompatible { what, left, right })
}

/// A filter that comes apart into a description and bits, and goes together again.
///
/// This is all that formats and files know of a kind. Most kinds have one array of bits; those that
/// grow have several, the parts, and a file holds them one after the other.
pub trait Assemble: Sized {
    /// The storage of the bits.
    type Bits: Bits;

    /// Everything but the bits.
    fn description(&self) -> Description;

    /// The bits, as they are stored: the parts of [`layout`](Assemble::layout).
    ///
    /// # Panics
    ///
    /// Of a kind that makes some of its bits only now, when there is no memory for them: see
    /// [`settle`](Assemble::settle).
    fn parts(&self) -> Vec<&Self::Bits>;

    /// Makes the bits that [`parts`](Assemble::parts) would make, so that it cannot fail until the filter changes.
    ///
    /// # Errors
    ///
    /// When there is no memory for them. Most kinds have nothing to make.
    fn settle(&self) -> Result<()> {
        Ok(())
    }

    /// Returns whether there can be such a filter; allocates nothing.
    ///
    /// # Errors
    ///
    /// Names the first property that the kind cannot have.
    fn check(description: &Description) -> Result<()>;

    /// The bits of each part, from the description alone: one part for most kinds. They add up to
    /// [`Description::bits`], and every part but the last is whole lines of 512 bits, so that in a
    /// file each begins at a line and nothing is between them.
    ///
    /// # Errors
    ///
    /// As [`check`](Assemble::check).
    fn layout(description: &Description) -> Result<Vec<u64>> {
        Self::check(description)?;
        Ok(vec![description.bits])
    }

    /// The filter of this description over parts that exist already.
    ///
    /// # Errors
    ///
    /// As [`check`](Assemble::check), and when the parts are not those of the
    /// [`layout`](Assemble::layout).
    fn assemble(description: &Description, parts: Vec<Self::Bits>) -> Result<Self>;

    /// The rate that the formula of the kind predicts with `keys` distinct keys; `None` where the kind has no formula
    /// of its own.
    fn predicted_rate(_description: &Description, _keys: u64) -> Option<f64> {
        None
    }

    /// The cache lines that a lookup of an inserted key reads: one per hash, unless the kind reads fewer.
    fn cache_lines(description: &Description) -> u32 {
        description.hashes
    }
}

/// A kind: the body of its family, and what users see of it.
pub trait Wrap: Sized {
    /// The body.
    type Body: Assemble;

    /// The kind around a body.
    fn wrap(body: Self::Body) -> Self;

    /// The body in it.
    fn body(&self) -> &Self::Body;
}

impl<W: Wrap> Assemble for W {
    type Bits = <W::Body as Assemble>::Bits;

    fn description(&self) -> Description {
        self.body().description()
    }

    fn parts(&self) -> Vec<&Self::Bits> {
        self.body().parts()
    }

    fn check(description: &Description) -> Result<()> {
        W::Body::check(description)
    }

    fn layout(description: &Description) -> Result<Vec<u64>> {
        W::Body::layout(description)
    }

    fn assemble(description: &Description, parts: Vec<Self::Bits>) -> Result<W> {
        W::Body::assemble(description, parts).map(W::wrap)
    }

    fn predicted_rate(description: &Description, keys: u64) -> Option<f64> {
        W::Body::predicted_rate(description, keys)
    }

    fn cache_lines(description: &Description) -> u32 {
        W::Body::cache_lines(description)
    }
}

/// Returns whether two filters are built alike and hold the same bits.
pub(super) fn is_same<F: Assemble<Bits: PartialEq>>(left: &F, right: &F) -> bool {
    left.description() == right.description() && left.parts() == right.parts()
}

/// Prints what a filter is and how many ones it has, but neither its bits nor a secret.
pub(super) fn debug<F: Assemble>(
    name: &str,
    filter: &F,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let about = filter.description();
    let ones: u64 = filter.parts().iter().map(|part| part.count_ones()).sum();
    f.debug_struct(name)
        .field("bits", &about.bits)
        .field("hashes", &about.hashes)
        .field("detail", &about.detail)
        .field("hashing", &format_args!("{}", about.hashing))
        .field("promise", &about.promise)
        .field("ones", &ones)
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AnyFilter;

    #[test]
    fn parts_are_whole_lines_and_all_of_the_bits() {
        for &kind in Kind::ALL {
            let description = kind.plan(1000, 0.01).expect("valid");

            let layout = AnyFilter::<Bitmap>::layout(&description).expect("valid");

            let (_, all_but_last) = layout.split_last().expect("a part");
            assert_eq!(layout.iter().sum::<u64>(), description.bits, "{kind}");
            assert!(
                all_but_last.iter().all(|bits| bits.is_multiple_of(512)),
                "{kind}"
            );
        }
    }

    #[test]
    fn filters_that_differ_are_told_apart_in_words() {
        let plan = Kind::Blocked.plan(1000, 0.01).expect("valid");
        let keyed = |byte| Digester::SipHash {
            key: crate::SecretKey::from_bytes([byte; 16]),
        };
        let made = |hashing: Digester| {
            let plan = plan.clone().hashed_by(hashing).expect("native");
            AnyFilter::new(&plan).expect("small")
        };
        let drawn = |bits| Digester::Universal {
            key: crate::hash::DrawnKey::from_bits(bits),
        };
        for (left, right, expected) in [
            (
                keyed(1),
                made(keyed(2)),
                "siphash and siphash under another secret",
            ),
            (keyed(1), made(Digester::default()), "siphash and rapidhash"),
            (
                drawn(1),
                made(drawn(2)),
                "universal and universal by another key",
            ),
            (
                keyed(1),
                AnyFilter::new(&Kind::Blocked.plan(10_000, 0.01).expect("valid")).expect("small"),
                "lines of 512 bits, 6 hashes and 195 lines of 512 bits, 6 hashes",
            ),
        ] {
            let refused = crate::Merge::union(&mut made(left), &right).expect_err("they differ");
            assert!(refused.to_string().contains(expected), "{refused}");
        }
    }

    #[test]
    fn too_many_parts_and_too_few_are_refused() {
        for &kind in Kind::ALL {
            let description = kind.plan(1000, 0.01).expect("valid");
            let layout = AnyFilter::<Bitmap>::layout(&description).expect("valid");
            let part = |&bits: &u64| Bitmap::new(bits).expect("small");
            let parts: Vec<Bitmap> = layout.iter().map(part).collect();
            let more = parts.iter().cloned().chain([part(&512)]).collect();

            assert!(AnyFilter::assemble(&description, more).is_err(), "{kind}");
            for fewer in 0..parts.len() {
                let fewer = parts[..fewer].to_vec();
                assert!(AnyFilter::assemble(&description, fewer).is_err(), "{kind}");
            }
            AnyFilter::assemble(&description, parts).expect("as described");
        }
    }

    #[test]
    fn filters_under_a_secret_know_what_they_were_made_for() {
        // Made by shape and digester they promised nothing, and were never over capacity.
        let secret = Digester::SipHash {
            key: crate::SecretKey::from_bytes([7; 16]),
        };
        for &kind in Kind::ALL {
            let plan = kind.plan(1000, 0.01).expect("valid");
            if plan.check_xxh64().is_ok() || kind.check_inserts().is_err() {
                continue;
            }
            let mut filter = AnyFilter::new(&plan.hashed_by(secret.clone()).expect("a digester"))
                .expect("small");
            for key in 0..10_000_u32 {
                filter.insert(&key).expect("not static");
            }
            let stats = crate::Filter::stats(&filter);
            let grows = kind.inserts() == crate::Inserts::Growing || kind == Kind::Windowed;
            assert_eq!(
                filter.description().hashing,
                secret.clone().into(),
                "{kind}"
            );
            assert!(stats.promise.is_some(), "{kind}");
            assert_eq!(stats.is_over_capacity(), !grows, "{kind}");
        }
    }

    #[test]
    fn filters_of_other_programs_have_their_size_and_a_promise() {
        let foreign = [
            Scheme::Guava64,
            Scheme::Guava32,
            Scheme::ThreeHash,
            Scheme::MurmurFloorMod,
        ];
        let spark = [Scheme::Spark1, Scheme::Spark2 { seed: 3 }, Scheme::Dcso];
        let plan = Kind::Bloom.plan(1000, 0.01).expect("valid");
        for scheme in foreign.into_iter().chain(spark) {
            let filter: crate::Bloom = plan
                .clone()
                .hashed_by(scheme.clone())
                .and_then(|plan| plan.make())
                .expect("possible");
            assert_eq!(*filter.scheme(), scheme);
            assert_eq!(filter.stats().promise, plan.promise);
            let rate = filter.shape().rate_at(1000);
            assert!((0.009..0.0105).contains(&rate), "{scheme:?}: {rate}");
        }
        let other = Kind::Blocked.plan(1000, 0.01).expect("valid");
        let refused = other.clone().hashed_by(Scheme::Guava64);
        assert!(matches!(refused, Err(Error::Incompatible { .. })));
        assert!(matches!(
            other.make::<crate::Bloom>(),
            Err(Error::Incompatible { .. })
        ));
    }

    #[test]
    fn rates_that_the_hash_cannot_give_are_refused_by_every_kind_and_still_read() {
        for &kind in Kind::ALL {
            for (keys, rate) in [(500_000_000, 1e-12), (1, 1e-300)] {
                let refused = kind.plan(keys, rate);
                let low = matches!(
                    refused,
                    Err(Error::NarrowHash { .. } | Error::LowRate { .. })
                );
                assert!(low, "{kind}: {refused:?}");
            }
        }
        // What was promised before the hash was asked is still a file.
        let mut old = Kind::Bloom.plan(1, 0.01).expect("valid");
        old.promise = Some(Promise {
            keys: 1,
            rate: 1e-300,
        });
        AnyFilter::new(&old).expect("it exists");
    }

    #[test]
    fn a_promise_that_no_file_can_say_is_refused() {
        // A filter was made, and saved to a file that could not be read again.
        for &kind in Kind::ALL {
            for (keys, rate) in [(0, 0.01), (0, 0.0), (10, 0.0), (10, 1.0), (10, f64::NAN)] {
                let mut description = kind.plan(10, 0.01).expect("valid");
                description.promise = Some(Promise { keys, rate });

                let refused = AnyFilter::new(&description);

                assert!(
                    matches!(refused, Err(Error::Capacity { .. } | Error::Rate { .. })),
                    "{kind}: {keys} keys at {rate}"
                );
            }
        }
    }
}
