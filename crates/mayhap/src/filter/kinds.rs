//! The kinds as a table: what a file names by code and a command by name.
//!
//! The macro makes `Kind` and `AnyFilter` from the rows in `filter/mod.rs` and nothing else does, so
//! the compiler lists what a new kind must answer. What it makes is dispatch: one `match` per call.

use alloc::string::ToString as _;
use core::fmt;
use core::str::FromStr;

use super::Kind;
use crate::{Error, Result};

macro_rules! kinds {
    ($($kind:ident = $code:literal $name:literal $summary:literal $($inserts:ident)?;)+) => {
        /// A kind of filter. Codes and names are permanent: files hold them.
        ///
        /// ```
        /// use mayhap::Kind;
        ///
        /// assert_eq!("blocked".parse::<Kind>()?, Kind::Blocked);
        /// assert_eq!((Kind::Bloom.code(), Kind::Bloom.to_string()), (1, "bloom".into()));
        /// # Ok::<(), mayhap::Error>(())
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $(#[doc = concat!("[`", stringify!($kind), "`](crate::kinds::", stringify!($kind), ").")] $kind,)+
        }

        impl Kind {
            /// Every kind, by ascending code.
            pub const ALL: &[Kind] = &[$(Kind::$kind),+];

            /// The codes and names, for errors.
            pub(crate) const KNOWN: &str = concat!($($code, " (", $name, ") "),+);

            /// The number that files hold.
            pub fn code(self) -> u16 {
                match self { $(Kind::$kind => $code,)+ }
            }

            /// The name that users type.
            pub fn name(self) -> &'static str {
                match self { $(Kind::$kind => $name,)+ }
            }

            /// What the kind is for, in a few words: for help.
            pub fn summary(self) -> &'static str {
                match self { $(Kind::$kind => $summary,)+ }
            }

            /// How keys come into filters of this kind.
            pub fn inserts(self) -> Inserts {
                match self { $(Kind::$kind => kinds::inserts!($($inserts)?),)+ }
            }

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
                match self { $(AnyFilter::$kind(filter) => kinds::if_inserts!($kind filter (filter) $($inserts)?),)+ }
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
                    $(AnyFilter::$kind(filter) => kinds::if_inserts!($kind filter (filter.insert_each(keys, answer)) $($inserts)?),)+
                }
            }

            /// Forgets every key.
            ///
            /// # Errors
            ///
            /// As [`as_insert`](AnyFilter::as_insert): a filter that is built once stays as it is.
            pub fn clear(&mut self) -> Result<()> {
                match self { $(AnyFilter::$kind(filter) => kinds::if_inserts!($kind filter (filter.clear()) $($inserts)?),)+ }
            }
        }

        impl Merge for AnyFilter {
            fn union(&mut self, other: &AnyFilter) -> Result<()> {
                match (self, other) {
                    $((AnyFilter::$kind(left), AnyFilter::$kind(right)) => left.union(right),)+
                    (left, right) => Err(kinds::differ(left.kind(), right.kind())),
                }
            }

            fn intersect(&mut self, other: &AnyFilter) -> Result<()> {
                match (self, other) {
                    $((AnyFilter::$kind(left), AnyFilter::$kind(right)) => left.intersect(right),)+
                    (left, right) => Err(kinds::differ(left.kind(), right.kind())),
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
                    description::debug(stringify!($kind), self, f)
                }
            }

            impl<B: Bits + PartialEq> PartialEq for $kind<B> {
                /// Whether both are built alike and hold the same bits.
                fn eq(&self, other: &$kind<B>) -> bool {
                    description::is_same(self, other)
                }
            }

            impl<B: Bits + Eq> Eq for $kind<B> {}

            kinds::extend!($kind $($inserts)?);

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
                        other => Err(kinds::differ(other.kind(), Kind::$kind)),
                    }
                }
            }

            #[cfg(all(feature = "serde", not(loom)))]
            impl<B: Bits> serde_core::Serialize for $kind<B> {
                fn serialize<S: serde_core::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
                    crate::format::serde::serialize(self, serializer)
                }
            }

            #[cfg(all(feature = "serde", not(loom)))]
            impl<'de> serde_core::Deserialize<'de> for $kind {
                fn deserialize<D: serde_core::Deserializer<'de>>(deserializer: D) -> core::result::Result<$kind, D::Error> {
                    crate::format::serde::deserialize(deserializer)
                }
            }
        )+
    };
}

/// What the third word of a row means.
macro_rules! inserts {
    () => {
        Inserts::BySettingBits
    };
    (in_memory) => {
        Inserts::InMemory
    };
    (growing) => {
        Inserts::Growing
    };
    (static) => {
        Inserts::Never
    };
}

/// What is done with a filter that keys are inserted into, or why the kind has none.
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
pub(super) use {extend, if_inserts, inserts, kinds};

/// How keys come into filters of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserts {
    /// One by one, only ever setting bits: such a filter can be built in its file.
    BySettingBits,
    /// One by one, and other things change too: it is built in memory.
    InMemory,
    /// One by one, and the filter grows with them, so that no number is too many: it is built in memory.
    Growing,
    /// Never by the key alone: it is built once from all its keys, or from what is known of each.
    Never,
}

/// That two filters are not of one kind.
pub(super) fn differ(left: Kind, right: Kind) -> Error {
    Error::Incompatible {
        what: "kind",
        left: left.name().into(),
        right: right.name().into(),
    }
}

impl Kind {
    /// Refuses kinds that no key can be inserted into.
    pub(crate) fn check_inserts(self) -> Result<()> {
        match self.inserts() {
            Inserts::BySettingBits | Inserts::InMemory | Inserts::Growing => Ok(()),
            Inserts::Never => Err(Error::Unsupported {
                kind: self.name(),
                what: "insert keys one by one",
                instead: "it is built once from all its keys",
            }),
        }
    }

    /// The kind with this code, if there is one.
    pub fn from_code(code: u16) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.code() == code)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Kind> {
        let known = Kind::ALL.iter().copied().find(|kind| kind.name() == name);
        known.ok_or_else(|| Error::Name {
            what: "kind",
            got: name.to_string(),
            known: Kind::KNOWN,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::AnyFilter;
    use super::*;
    use crate::{Digester, Filter, SecretKey};
    use alloc::vec::Vec;

    #[test]
    fn codes_and_names_find_their_kind_and_no_other() {
        for &kind in Kind::ALL {
            assert_eq!(Kind::from_code(kind.code()), Some(kind));
            assert_eq!(kind.name().parse::<Kind>().expect("its name"), kind);
        }
        assert_eq!(Kind::from_code(0), None);
        assert!(matches!("".parse::<Kind>(), Err(Error::Name { .. })));
        let mut codes: Vec<u16> = Kind::ALL.iter().map(|kind| kind.code()).collect();
        codes.dedup();
        assert!(codes.is_sorted() && codes.len() == Kind::ALL.len());
    }

    #[test]
    fn filters_print_in_a_line_and_without_their_secret() {
        // A full filter once printed the position of every one: 44 MB.
        let secret = Digester::SipHash {
            key: SecretKey::from_bytes([0xAB; 16]),
        };
        for &kind in Kind::ALL {
            let plan = kind.plan(100_000, 0.01).expect("valid");
            let plan = plan.clone().hashed_by(secret.clone()).unwrap_or(plan);
            let Ok(mut filter) = AnyFilter::new(&plan) else {
                continue;
            };
            for key in 0..1000_u32 {
                filter.insert(&key).expect("not static");
            }

            let printed = std::format!("{filter:?}");

            assert!(printed.len() < 300, "{printed}");
            assert!(printed.contains("ones: ") && printed.contains("rate: 0.01"));
            assert!(!printed.to_lowercase().contains("abab") && !printed.contains("171"));
        }
        let bloom = crate::Bloom::with_capacity(1000, 0.01).expect("valid");
        let expected = "Bloom { bits: 9594, hashes: 7, detail: 0, hashing: rapidhash, \
                        promise: Some(Promise { keys: 1000, rate: 0.01 }), ones: 0 }";
        assert_eq!(std::format!("{bloom:?}"), expected);
    }

    #[test]
    fn extending_a_filter_inserts_every_key() {
        fn extended<F: Extend<u32> + Filter>(mut filter: F) -> bool {
            filter.extend(0..1000);
            filter.contains_all(0..1000_u32)
        }
        let blocked = crate::Blocked::with_capacity(1000, 0.01).expect("valid");
        let scalable = crate::Scalable::with_capacity(10, 0.01).expect("valid");
        let counting = crate::Counting::with_capacity(1000, 0.01).expect("valid");
        assert!(extended(blocked) && extended(scalable) && extended(counting));
    }

    #[test]
    fn every_kind_that_inserts_does_so_by_the_batch_and_forgets_all_when_cleared() {
        let mut inserting = 0;
        for &kind in Kind::ALL {
            let plan = kind.plan(1000, 0.01).expect("valid");
            let Ok(mut filter) = AnyFilter::new(&plan) else {
                continue;
            };
            let (empty, mut one_by_one) = (filter.clone(), filter.clone());
            let expected: Vec<bool> = (0..5000_i64)
                .map(|key| one_by_one.insert(&key).expect("inserts"))
                .collect();

            let mut new = Vec::new();
            let inserted = filter.insert_each(0..5000_i64, |is_new| new.push(is_new));
            inserted.expect("inserts");

            assert!(new == expected && filter == one_by_one, "{kind}");
            filter.clear().expect("inserts");
            assert_eq!(filter.stats(), empty.stats(), "{kind}");
            // Of a window, the generation stays.
            assert!(filter == empty || kind == Kind::Windowed, "{kind}");
            inserting += 1;
        }
        assert!(inserting >= 10);
        let mut fuse = AnyFilter::from(crate::Fuse::with_rate(0.01, 0..9_i64).expect("valid"));
        assert!(matches!(fuse.clear(), Err(Error::Unsupported { .. })));
    }

    #[test]
    fn filters_are_equal_when_they_are_built_alike_and_hold_the_same_bits() {
        let filled = |kind: Kind, rate: f64, keys: core::ops::Range<u32>| {
            let mut filter = AnyFilter::new(&kind.plan(1000, rate).ok()?).ok()?;
            for key in keys {
                filter.insert(&key).ok()?;
            }
            Some(filter)
        };
        let mut compared = 0;
        for &kind in Kind::ALL {
            let Some(filter) = filled(kind, 0.01, 0..100) else {
                continue;
            };
            assert_eq!(Some(&filter), filled(kind, 0.01, 0..100).as_ref());
            assert_ne!(Some(&filter), filled(kind, 0.01, 0..101).as_ref(), "{kind}");
            assert_ne!(Some(&filter), filled(kind, 0.02, 0..100).as_ref(), "{kind}");
            compared += 1;
        }
        assert!(compared >= 10);
    }
}
