//! The kinds as a table: what a file names by code and a command by name.
//!
//! [`each_kind`] hands the rows to another macro. Here they make [`Kind`], in `any.rs` the dispatch over filters of every
//! kind, in `format/serde.rs` the traits of serde; so the compiler lists what a new kind must answer.

use alloc::string::ToString as _;
use core::fmt;
use core::str::FromStr;

use crate::{Error, Result};

// One row per kind: its type, its code in files, its name, and what it is for. Codes and names are never reused or changed;
// those of a kind that is no longer there are in `REMOVED`. A kind whose inserts do more than set bits is `in_memory`, or
// `growing` if it grows by them; one that has none is `static`.
macro_rules! each_kind {
    ($then:ident) => {
        $then! {
            Bloom = 1 "bloom" "The standard filter, in which every scheme can be used";
            Blocked = 2 "blocked" "One cache line per key: the fastest, and the default";
            SplitBlock = 3 "split-block" "The filter of Parquet files";
            Counting = 4 "counting" "Keys can be removed again" in_memory;
            Spectral = 5 "spectral" "Counts how often each key was inserted" in_memory;
            Shifting = 6 "shifting" "As `bloom`, with half the memory reads";
            ShiftingAssociation = 7 "shifting-association" "Which of two sets a key is in; built once" static;
            ShiftingMultiplicity = 8 "shifting-multiplicity" "How often a key occurs, up to 57 times; built once" static;
            Spatial = 9 "spatial" "Which of many areas a key is in";
            Scalable = 10 "scalable" "Grows with its keys" growing;
            Windowed = 11 "windowed" "Forgets old keys" in_memory;
            Fuse = 12 "fuse" "Small and fast, for keys that never change; built once" static;
            Guarded = 13 "guarded" "As `blocked`, with a list of keys that are known not to be in it" in_memory;
            Cascade = 14 "cascade" "Exact for two known sets of keys; built once" static;
            Ribbon = 16 "ribbon" "The smallest, for keys that never change; built once" static;
            Cuckoo = 17 "cuckoo" "Keys can be removed again, in a third of the memory of `counting`; grows" growing;
        }
    };
}
pub(crate) use each_kind;

macro_rules! kind {
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

            /// Returns the purpose of the kind in a few words, for help.
            pub fn summary(self) -> &'static str {
                match self { $(Kind::$kind => $summary,)+ }
            }

            /// Returns the way keys come into filters of this kind.
            pub fn inserts(self) -> Inserts {
                match self { $(Kind::$kind => inserts!($($inserts)?),)+ }
            }
        }
    };
}

/// Turns the last word of a row into an [`Inserts`].
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

each_kind!(kind);

/// The way keys come into filters of a kind.
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

/// Codes and names of kinds that are no longer there, and what has taken their place.
#[cfg(any(feature = "std", test))]
const REMOVED: [(u16, &str, &str); 1] = [(
    15,
    "sliced",
    "the kind `sliced` (code 15) was removed before 0.1.0, because `scalable` is smaller and faster: build the filter \
     again, as `scalable`",
)];

/// Returns why files of a kind with this code are no longer read, if they once were.
#[cfg(feature = "std")]
pub(crate) fn removed(code: u64) -> Option<Error> {
    let row = REMOVED.iter().find(|row| u64::from(row.0) == code);
    row.map(|&(_, kind, instead)| Error::Unsupported {
        kind,
        what: "be read",
        instead,
    })
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
        for (code, name, _) in REMOVED {
            assert_eq!(Kind::from_code(code), None);
            assert!(name.parse::<Kind>().is_err());
        }
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
