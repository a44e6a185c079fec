//! Reasons for refusals, in words that a page can translate.

use std::fmt;

use mayhap::Error;

/// A reason in English, and the name by which a page finds its sentence in another language.
///
/// ```
/// use mayhap_explore::{Refusal, Request};
///
/// let refused: Refusal = Request::new("none - -", 100, 0.01, None).unwrap_err();
/// assert_eq!(refused.name, "name");
/// assert!(refused.to_string().contains("none"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The name of the reason: one of [`NAMES`](Refusal::NAMES).
    pub name: &'static str,
    /// The reason, with the given and the expected value.
    pub reason: String,
}

impl Refusal {
    /// The names of all reasons.
    pub const NAMES: &[&'static str] = &[
        "capacity",
        "rate",
        "hashes",
        "bits",
        "memory",
        "full",
        "overlap",
        "position",
        "times",
        "numbers",
        "scheme",
        "secret",
        "name",
        "unsupported",
        "other",
    ];

    pub(crate) fn new(name: &'static str, reason: impl Into<String>) -> Refusal {
        debug_assert!(Refusal::NAMES.contains(&name), "{name}");
        Refusal {
            name,
            reason: reason.into(),
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        let name = match error {
            Error::Capacity { .. } => "capacity",
            Error::Rate { .. } | Error::LowRate { .. } | Error::NarrowHash { .. } => "rate",
            Error::Hashes { .. } => "hashes",
            Error::Bits { .. } => "bits",
            Error::Overflow { .. } | Error::TooLarge { .. } | Error::Memory { .. } => "memory",
            Error::Full { .. } | Error::Unbuilt { .. } => "full",
            Error::Overlap { .. } => "overlap",
            Error::Position { .. } => "position",
            Error::Field { .. } => "times",
            Error::Name { .. } => "name",
            Error::SecretNeeded | Error::SecretUnused { .. } | Error::SecretWrong => "secret",
            Error::Unsupported { .. } | Error::Incompatible { .. } | Error::Unfit { .. } => {
                "unsupported"
            }
            _ => "other",
        };
        Refusal::new(name, error.to_string())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Refusal {}
