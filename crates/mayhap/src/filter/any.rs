//! A filter whose kind is known only at run time: one `match` per call.

use alloc::vec::Vec;
use core::fmt;

use super::description::{debug, is_same};
use super::kind::each_kind;
use super::*;
use crate::Scheme;
use crate::bits::{Bitmap, Bits};

macro_rules! any_filter {
    ($($kind:ident = $code:literal $name:literal $summary:literal $($inserts:ident)?;)+) => {
        impl Kind {
            /// The description of this kind's filter for a capacity and a rate, hashed without a
            /// secret; makes no filter.
            ///
            /// # Errors
            ///
            /// As `with_capacity` of the kind, but for want of memory.
            pub fn plan(self, keys: u64, rate: f64) -> Result<Description> {
                match self { $(Kind::$kind => $kind::plan(keys, rate),)+ }
            }
        }

        /// A filter of any kind, over bits of any storage: for code that learns the kind from a file
        /// or a user.
        ///
        /// ```
        /// use mayhap::{AnyFilter, Bloom, Kind};
        ///
        /// let mut filter = AnyFilter::new(&Kind::Bloom.plan(1000, 0.01)?)?;
        /// assert!(filter.insert("key")? && filter.contains("key"));
        /// let bloom = Bloom::try_from(filter)?;
        /// # Ok::<(), mayhap::Error>(())
        /// ```
        #[derive(Clone)]
        #[non_exhaustive]
        pub enum AnyFilter<B = Bitmap> {
            $(#[doc = concat!("A [`", stringify!($kind), "`](crate::kinds::", stringify!($kind), ").")] $kind($kind<B>),)+
        }

        impl<B: Bits> Filter for AnyFilter<B> {
            #[inline]
            fn contains_bytes(&self, key: &[u8]) -> bool {
                match self { $(AnyFilter::$kind(filter) => filter.contains_bytes(key),)+ }
            }

            fn stats(&self) -> Stats {
                match self { $(AnyFilter::$kind(filter) => filter.stats(),)+ }
            }

            fn contains_each<K: Key>(
                &self,
                keys: impl IntoIterator<Item = K>,
                answer: impl FnMut(bool),
            ) {
                match self { $(AnyFilter::$kind(filter) => filter.contains_each(keys, answer),)+ }
            }

            fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
                match self { $(AnyFilter::$kind(filter) => filter.contains_bytes_batch(keys, found),)+ }
            }
        }

        impl AnyFilter {
            /// The filter, to be inserted into.
            ///
            /// # Errors
            ///
            /// [`Error::Unsupported`] when the kind is built once from all its keys.
            #[inline]
            pub fn as_insert(&mut self) -> Result<&mut dyn Insert> {
                match self { $(AnyFilter::$kind(filter) => if_inserts!($kind filter (filter) $($inserts)?),)+ }
            }

            /// Inserts each key, in order, and calls `answer` with whether it was definitely new, as
            /// [`Insert::insert_each`] of the kind does.
            ///
            /// # Errors
            ///
            /// As [`as_insert`](AnyFilter::as_insert); no key is then looked at.
            ///
            /// ```
            /// use mayhap::{AnyFilter, Kind};
            ///
            /// let mut filter = AnyFilter::new(&Kind::Blocked.plan(1000, 0.01)?)?;
            /// let mut new = Vec::new();
            /// filter.insert_each([7_i64, 8, 7], |is_new| new.push(is_new))?;
            /// assert_eq!(new, [true, true, false]);
            /// # Ok::<(), mayhap::Error>(())
            /// ```
            pub fn insert_each<K: Key>(
                &mut self,
                keys: impl IntoIterator<Item = K>,
                answer: impl FnMut(bool),
            ) -> Result<()> {
                match self {
                    $(AnyFilter::$kind(filter) => if_inserts!($kind filter (filter.insert_each(keys, answer)) $($inserts)?),)+
                }
            }

            /// Forgets every key.
            ///
            /// # Errors
            ///
            /// As [`as_insert`](AnyFilter::as_insert): a filter that is built once stays as it is.
            pub fn clear(&mut self) -> Result<()> {
                match self { $(AnyFilter::$kind(filter) => if_inserts!($kind filter (filter.clear()) $($inserts)?),)+ }
            }
        }

        impl Merge for AnyFilter {
            fn union(&mut self, other: &AnyFilter) -> Result<()> {
                match (self, other) {
                    $((AnyFilter::$kind(left), AnyFilter::$kind(right)) => left.union(right),)+
                    (left, right) => Err(differ(left.kind(), right.kind())),
                }
            }

            fn intersect(&mut self, other: &AnyFilter) -> Result<()> {
                match (self, other) {
                    $((AnyFilter::$kind(left), AnyFilter::$kind(right)) => left.intersect(right),)+
                    (left, right) => Err(differ(left.kind(), right.kind())),
                }
            }
        }

        impl<B: Bits> Assemble for AnyFilter<B> {
            type Bits = B;

            fn description(&self) -> Description {
                match self { $(AnyFilter::$kind(filter) => filter.description(),)+ }
            }

            fn parts(&self) -> Vec<&B> {
                match self { $(AnyFilter::$kind(filter) => filter.parts(),)+ }
            }

            fn settle(&self) -> Result<()> {
                match self { $(AnyFilter::$kind(filter) => filter.settle(),)+ }
            }

            fn check(description: &Description) -> Result<()> {
                match description.kind { $(Kind::$kind => <$kind<B>>::check(description),)+ }
            }

            fn layout(description: &Description) -> Result<Vec<u64>> {
                match description.kind { $(Kind::$kind => <$kind<B>>::layout(description),)+ }
            }

            fn assemble(description: &Description, parts: Vec<B>) -> Result<AnyFilter<B>> {
                match description.kind {
                    $(Kind::$kind => <$kind<B>>::assemble(description, parts).map(AnyFilter::$kind),)+
                }
            }

            fn predicted_rate(description: &Description, keys: u64) -> Option<f64> {
                match description.kind { $(Kind::$kind => <$kind<B>>::predicted_rate(description, keys),)+ }
            }

            fn cache_lines(description: &Description) -> u32 {
                match description.kind { $(Kind::$kind => <$kind<B>>::cache_lines(description),)+ }
            }
        }

        impl<B: Bits> fmt::Debug for AnyFilter<B> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(AnyFilter::$kind(filter) => filter.fmt(f),)+ }
            }
        }

        $(
            impl<B: Bits> fmt::Debug for $kind<B> {
                /// Prints what the filter is and how many ones it has, but neither its bits nor a secret.
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    debug(stringify!($kind), self, f)
                }
            }

            impl<B: Bits + PartialEq> PartialEq for $kind<B> {
                /// Returns whether both are built alike and hold the same bits.
                fn eq(&self, other: &$kind<B>) -> bool {
                    is_same(self, other)
                }
            }

            impl<B: Bits + Eq> Eq for $kind<B> {}

            extend!($kind $($inserts)?);

            impl<B> From<$kind<B>> for AnyFilter<B> {
                fn from(filter: $kind<B>) -> AnyFilter<B> {
                    AnyFilter::$kind(filter)
                }
            }

            impl<B: Bits> TryFrom<AnyFilter<B>> for $kind<B> {
                type Error = Error;

                fn try_from(filter: AnyFilter<B>) -> Result<$kind<B>> {
                    match filter {
                        AnyFilter::$kind(filter) => Ok(filter),
                        other => Err(differ(other.kind(), Kind::$kind)),
                    }
                }
            }
        )+
    };
}

/// Calls a function with a filter that keys are inserted into, or says why the kind has none.
macro_rules! if_inserts {
    ($kind:ident $filter:ident ($done:expr) static) => {{
        let _ = $filter;
        Err(Kind::$kind.check_inserts().expect_err("the row says so"))
    }};
    ($kind:ident $filter:ident ($done:expr) $($inserts:ident)?) => {
        Ok($done)
    };
}

/// `Extend`, for kinds that keys are inserted into one by one.
macro_rules! extend {
    ($kind:ident static) => {};
    ($kind:ident $($inserts:ident)?) => {
        impl<K: Key> Extend<K> for $kind {
            /// Inserts every key; [`Insert::insert_all`] also returns how many were new.
            fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
                self.insert_all(keys);
            }
        }
    };
}

each_kind!(any_filter);

/// Makes the error for two filters that are not of one kind.
pub(super) fn differ(left: Kind, right: Kind) -> Error {
    Error::Incompatible {
        what: "kind",
        left: left.name().into(),
        right: right.name().into(),
    }
}

impl<B: Bits + PartialEq> PartialEq for AnyFilter<B> {
    /// Returns whether both are of one kind, built alike, and hold the same bits.
    fn eq(&self, other: &AnyFilter<B>) -> bool {
        is_same(self, other)
    }
}

impl<B: Bits + Eq> Eq for AnyFilter<B> {}

impl AnyFilter {
    /// The empty filter of this description.
    ///
    /// # Errors
    ///
    /// When there can be no such filter, or no memory for it; [`Error::Unsupported`] when the kind is
    /// built once from all its keys.
    pub fn new(description: &Description) -> Result<AnyFilter> {
        AnyFilter::<Bitmap>::check(description)?;
        description.kind.check_inserts()?;
        description.empty()
    }

    /// Inserts the key; true when it was *definitely* not in the filter before.
    ///
    /// # Errors
    ///
    /// As [`as_insert`](AnyFilter::as_insert), which is also the way to insert many.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        Ok(self.as_insert()?.insert_bytes(key.key_bytes().as_ref()))
    }
}

impl<B: Bits> AnyFilter<B> {
    /// The kind of filter it is.
    pub fn kind(&self) -> Kind {
        self.description().kind
    }

    /// Returns whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_bytes(key.key_bytes().as_ref())
    }

    /// The filter, to be asked how often keys were inserted.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] when the kind does not count.
    ///
    /// ```
    /// use mayhap::{AnyFilter, Kind};
    ///
    /// let mut filter = AnyFilter::new(&Kind::Spectral.plan(1000, 0.01)?)?;
    /// filter.insert("key")?;
    /// filter.insert("key")?;
    /// assert_eq!(filter.as_count()?.count_bytes(b"key"), 2);
    /// assert!(AnyFilter::new(&Kind::Bloom.plan(1000, 0.01)?)?.as_count().is_err());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn as_count(&self) -> Result<&dyn Count> {
        match self {
            AnyFilter::Spectral(filter) => Ok(filter),
            AnyFilter::Cuckoo(filter) => Ok(filter),
            AnyFilter::ShiftingMultiplicity(filter) => Ok(filter),
            other => Err(Error::Unsupported {
                kind: other.kind().name(),
                what: "count keys",
                instead: "expected the kind spectral, cuckoo or shifting-multiplicity",
            }),
        }
    }

    /// The filter, to be asked which area keys belong to.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] when the kind has no areas.
    pub fn as_area(&self) -> Result<&dyn Area> {
        match self {
            AnyFilter::Spatial(filter) => Ok(filter),
            other => Err(no_areas(other.kind(), "report the area of a key")),
        }
    }
}

fn no_areas(kind: Kind, what: &'static str) -> Error {
    Error::Unsupported {
        kind: kind.name(),
        what,
        instead: "expected the kind spatial",
    }
}

impl AnyFilter {
    /// The filter, to be removed from.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] when nothing can be removed from filters of the kind.
    ///
    /// ```
    /// use mayhap::{AnyFilter, Kind};
    ///
    /// let mut filter = AnyFilter::new(&Kind::Counting.plan(1000, 0.01)?)?;
    /// filter.insert("key")?;
    /// assert!(filter.as_remove()?.remove_bytes(b"key")?);
    /// assert!(!filter.contains("key"));
    /// assert!(AnyFilter::new(&Kind::Bloom.plan(1000, 0.01)?)?.as_remove().is_err());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn as_remove(&mut self) -> Result<&mut dyn Remove> {
        match self {
            AnyFilter::Counting(filter) => Ok(filter),
            AnyFilter::Cuckoo(filter) => Ok(filter),
            AnyFilter::Spectral(filter) => Ok(filter),
            other => Err(Error::Unsupported {
                kind: other.kind().name(),
                what: "remove keys",
                instead: "expected the kind counting, cuckoo or spectral",
            }),
        }
    }

    /// The filter, to be inserted into with the area of each key.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] when the kind has no areas.
    ///
    /// ```
    /// use mayhap::{AnyFilter, Kind};
    ///
    /// let mut filter = AnyFilter::new(&Kind::Spatial.plan(1000, 0.01)?)?;
    /// filter.as_insert_area()?.insert_area_bytes(b"key", 3)?;
    /// assert_eq!(filter.as_area()?.area_bytes(b"key"), Some(3));
    /// assert!(filter.as_insert_area()?.insert_area_bytes(b"key", 0).is_err());
    /// assert!(AnyFilter::new(&Kind::Bloom.plan(1000, 0.01)?)?.as_area().is_err());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn as_insert_area(&mut self) -> Result<&mut dyn InsertArea> {
        match self {
            AnyFilter::Spatial(filter) => Ok(filter),
            other => Err(no_areas(other.kind(), "insert keys by area")),
        }
    }
}

impl Description {
    /// The same filter with keys hashed in another way: under a secret, or as another program does. The size
    /// of a [`Bloom`](crate::Bloom) becomes what that program gives the same capacity and rate.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] when filters of the kind are never hashed so; and when the other program has no
    /// filter of this capacity and rate.
    ///
    /// ```
    /// use mayhap::{Blocked, Bloom, Digester, Insert, Scheme, SecretKey};
    ///
    /// let secret = Digester::SipHash { key: SecretKey::random()? };
    /// let mut seen: Blocked = Blocked::plan(1000, 0.01)?.hashed_by(secret)?.make()?;
    /// seen.insert_all(0..10_000_u32);
    /// assert!(seen.stats().is_over_capacity(), "it knows what it was made for");
    ///
    /// let guava: Bloom = Bloom::plan(1000, 0.01)?.hashed_by(Scheme::Guava64)?.make()?;
    /// assert_eq!(guava.shape().bits(), 9600);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn hashed_by(mut self, hashing: impl Into<Hashing>) -> Result<Description> {
        self.hashing = hashing.into();
        if let Hashing::Scheme(scheme) = &self.hashing
            && !matches!(scheme, Scheme::Native(_))
            && let (Some(promise), Kind::Bloom) = (self.promise, self.kind)
        {
            let shape = scheme.shape_for(promise.keys, promise.rate)?;
            (self.bits, self.hashes) = (shape.bits(), shape.hashes());
        }
        AnyFilter::<Bitmap>::check(&self)?;
        Ok(self)
    }

    /// The empty filter of this description, with the promise it has: what `with_capacity` of the kind makes
    /// of its [`plan`](Kind::plan).
    ///
    /// # Errors
    ///
    /// As [`AnyFilter::new`], and [`Error::Incompatible`] when the description is of another kind.
    pub fn make<F: TryFrom<AnyFilter, Error = Error>>(&self) -> Result<F> {
        F::try_from(AnyFilter::new(self)?)
    }

    /// The rate that the kind's formula predicts with `keys` distinct keys, inserted one after another; `None` where it
    /// has none of its own. It is the mean over all such filters: each one's own is in its [`stats`](crate::Filter::stats).
    ///
    /// ```
    /// use mayhap::Kind;
    ///
    /// let plan = Kind::Blocked.plan(1000, 0.01)?;
    /// assert!(plan.predicted_rate(1000).is_some_and(|rate| rate <= 0.01));
    /// assert!(plan.predicted_rate(2000).is_some_and(|rate| rate > 0.1), "past its capacity");
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn predicted_rate(&self, keys: u64) -> Option<f64> {
        AnyFilter::<Bitmap>::predicted_rate(self, keys)
    }

    /// The cache lines that a lookup of an inserted key reads.
    pub fn cache_lines(&self) -> u32 {
        AnyFilter::<Bitmap>::cache_lines(self)
    }
}
