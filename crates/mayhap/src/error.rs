//! Errors: what was refused, and what is accepted instead.

use alloc::string::String;
use core::fmt;

/// The reason why a filter or bitmap could not be made, joined or read.
///
/// Every variant names the value that was refused and what is accepted instead.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The capacity was zero. Ask for at least one key.
    Capacity {
        /// The number of keys asked for.
        got: u64,
    },
    /// The false-positive rate was not strictly between 0 and 1 (or was not a number).
    Rate {
        /// The rate asked for.
        got: f64,
    },
    /// The false-positive rate is lower than this kind of filter can give.
    LowRate {
        /// The rate asked for.
        got: f64,
        /// The lowest rate the kind gives.
        least: f64,
    },
    /// The false-positive rate is lower than the hash of keys gives: with n keys, n in 2^64 absent keys have
    /// the 64-bit hash of one of them, and are found in any filter. Ask for a higher rate or fewer keys.
    NarrowHash {
        /// The number of keys asked for.
        keys: u64,
        /// The rate asked for.
        rate: f64,
        /// The lowest rate for this many keys.
        least: f64,
    },
    /// The number of hashes is outside what the shape or the scheme accepts.
    Hashes {
        /// The number of hashes asked for.
        got: u32,
        /// The fewest that are accepted.
        least: u32,
        /// The most that are accepted.
        most: u32,
    },
    /// The number of bits is outside what the shape or the scheme accepts.
    Bits {
        /// The number of bits asked for.
        got: u64,
        /// The accepted values, in words.
        expected: &'static str,
    },
    /// The sizing rule of another implementation overflows its 32-bit arithmetic here, so the
    /// original would make a filter with another rate than the one asked for.
    Overflow {
        /// The rule that overflows.
        rule: &'static str,
        /// The number of keys asked for.
        keys: u64,
        /// The rate asked for.
        rate: f64,
    },
    /// No 64-bit number of bits gives this capacity at this rate.
    TooLarge {
        /// The number of keys asked for.
        keys: u64,
        /// The rate asked for.
        rate: f64,
    },
    /// There is no memory for this many bits.
    Memory {
        /// The number of bits asked for.
        bits: u64,
    },
    /// No filter could be built from these keys, although every attempt mixed their hashes differently: somebody chose
    /// them so. Use a digester with a secret.
    Unbuilt {
        /// The number of attempts.
        attempts: u32,
    },
    /// Keys are in two sets that must have none in common. Two keys with one hash count as one key: if
    /// no key is in both, use another seed.
    Overlap {
        /// The number of such keys.
        keys: u64,
    },
    /// Every bit of a filter is one, so nothing can be estimated from them.
    Saturated {
        /// The number of bits.
        bits: u64,
    },
    /// There is no room for a key, and the filter cannot grow: because of its options, its rate, its limit, or a lack
    /// of memory. Nothing has changed. Remove keys, or make a larger filter.
    Full {
        /// The number of keys in the filter.
        keys: u64,
    },
    /// A position lies outside a bitmap.
    Position {
        /// The position asked for.
        got: u64,
        /// The number of bits in the bitmap.
        len: u64,
    },
    /// Too few bytes were given for the number of bits to be viewed in them.
    Bytes {
        /// The number of bytes given.
        got: u64,
        /// The number of bytes needed.
        expected: u64,
    },
    /// Two filters cannot be joined because they differ in how they are built.
    Incompatible {
        /// The property that differs.
        what: &'static str,
        /// Its value on the left.
        left: String,
        /// Its value on the right.
        right: String,
    },
    /// A filter has a property that a format has no place for. The native format holds every filter.
    Unfit {
        /// The format that was asked for.
        format: &'static str,
        /// The property.
        what: &'static str,
        /// Its value in the filter.
        got: String,
        /// The values that the format holds, in words.
        expected: &'static str,
    },
    /// Filters of this kind cannot do what was asked.
    Unsupported {
        /// The name of the kind.
        kind: &'static str,
        /// The operation that was asked for.
        what: &'static str,
        /// The reason, or an alternative.
        instead: &'static str,
    },
    /// The crate is built without a feature that this needs. Turn it on in `Cargo.toml`.
    Feature {
        /// The part that needs it.
        what: &'static str,
        /// The feature of this crate.
        feature: &'static str,
    },
    /// The first bytes are not those of a filter. They are not part of the error, because the file may contain a
    /// secret.
    Unrecognised {
        /// The formats that are read here.
        known: &'static str,
    },
    /// The first bytes fit several formats, so there are too few of them. Name the format.
    Ambiguous {
        /// The names of these formats.
        candidates: String,
    },
    /// The input ended before the structure it announced was complete.
    Truncated {
        /// The format being read.
        format: &'static str,
        /// The number of bytes the structure needs.
        expected: u64,
        /// The number of bytes there were.
        got: u64,
    },
    /// A field holds a value that the format does not allow.
    Field {
        /// The format being read or written.
        format: &'static str,
        /// The field.
        field: &'static str,
        /// The value it holds.
        got: i64,
        /// The allowed values, in words.
        expected: &'static str,
    },
    /// A code that this version does not know, in an input that is not damaged: it was made by
    /// another program, or by a later version of this one.
    Unknown {
        /// The format being read.
        format: &'static str,
        /// The meaning of the code.
        what: &'static str,
        /// The code.
        code: u64,
        /// The codes that are known, in words.
        known: &'static str,
    },
    /// Bytes have changed since they were written: their checksum does not match. Use a copy.
    Damaged {
        /// The format being read.
        format: &'static str,
        /// The part that is damaged.
        part: &'static str,
        /// The number of the part among its kind, from 0.
        index: u64,
        /// The offset of the part in the input.
        offset: u64,
    },
    /// There are bytes after the end of the structure.
    Extra {
        /// The format being read.
        format: &'static str,
        /// The number of bytes the structure has.
        expected: u64,
    },
    /// The file is a build that was not finished. Resume it, or start again.
    Unfinished {
        /// The format being read.
        format: &'static str,
    },
    /// The filter hashes by a secret, and none was given.
    SecretNeeded,
    /// A secret was given for a scheme that takes none.
    SecretUnused {
        /// The scheme.
        scheme: String,
    },
    /// The filter was made with another secret than the one given.
    SecretWrong,
    /// A name that is not known.
    Name {
        /// The things that have such names.
        what: &'static str,
        /// The name given.
        got: String,
        /// The names that are known.
        known: &'static str,
    },
    /// A text is longer than the format holds.
    Long {
        /// The text.
        what: &'static str,
        /// Its length in bytes.
        got: u64,
        /// The most bytes it may have.
        most: u64,
    },
    /// Another writer holds the file.
    #[cfg(feature = "std")]
    Locked {
        /// The file.
        path: std::path::PathBuf,
        /// The writer that holds it, as far as is known.
        holder: String,
    },
    /// An operation on a file failed.
    #[cfg(feature = "std")]
    File {
        /// The operation.
        action: &'static str,
        /// The file.
        path: std::path::PathBuf,
        /// The error of the system.
        error: std::io::Error,
    },
    /// Reading or writing failed.
    #[cfg(feature = "std")]
    Io(std::io::Error),
}

/// A result whose error is [`Error`].
pub type Result<T> = core::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Capacity { got } => {
                write!(f, "capacity is {got} keys; expected at least 1")
            }
            Error::Rate { got } => write!(
                f,
                "false-positive rate is {got}; expected a number above 0 and below 1"
            ),
            Error::LowRate { got, least } => write!(
                f,
                "false-positive rate is {got:e}, lower than this kind gives; \
                 expected at least {least:e}, or the kind bloom"
            ),
            Error::NarrowHash { keys, rate, least } => write!(
                f,
                "false-positive rate is {rate:e} for {keys} keys, lower than a 64-bit hash gives; \
                 expected at least {least:e}, or fewer keys"
            ),
            Error::Hashes { got, least, most } => {
                write!(f, "number of hashes is {got}; expected {least} to {most}")
            }
            Error::Bits { got, expected } => {
                write!(f, "number of bits is {got}; expected {expected}")
            }
            Error::Overflow { rule, keys, rate } => write!(
                f,
                "the sizing rule of {rule} overflows 32 bits for {keys} keys at rate {rate}; \
                 expected fewer keys or another rule"
            ),
            Error::TooLarge { keys, rate } => write!(
                f,
                "{keys} keys at rate {rate} need more than 2^63 bits; \
                 expected fewer keys or a higher rate"
            ),
            Error::Memory { bits } => write!(
                f,
                "no memory for {bits} bits ({} bytes); expected a size that fits this machine",
                bits.div_ceil(8)
            ),
            Error::Unbuilt { attempts } => write!(
                f,
                "no filter could be built from these keys in {attempts} attempts; expected keys that \
                 are not chosen against the hash, or a digester with a secret"
            ),
            Error::Overlap { keys } => write!(
                f,
                "{keys} keys are both included and excluded; expected none, or another seed where they \
                 only share a hash"
            ),
            Error::Full { keys } => write!(
                f,
                "the filter is full with {keys} keys and cannot grow; expected fewer keys or a larger filter"
            ),
            Error::Saturated { bits } => write!(
                f,
                "all {bits} bits are ones, so nothing can be estimated; expected a larger filter"
            ),
            Error::Position { got, len } => {
                write!(f, "position is {got}; expected less than {len}")
            }
            Error::Bytes { got, expected } => {
                write!(f, "{got} bytes given; expected at least {expected}")
            }
            Error::Incompatible { what, left, right } => write!(
                f,
                "filters differ in {what}: {left} and {right}; expected the same"
            ),
            Error::Unfit {
                format,
                what,
                got,
                expected,
            } => write!(
                f,
                "{format} cannot hold a filter whose {what} is {got}; expected {expected}"
            ),
            Error::Unsupported {
                kind,
                what,
                instead,
            } => write!(f, "a {kind} filter cannot {what}; {instead}"),
            Error::Feature { what, feature } => write!(
                f,
                "{what} needs a part of mayhap that is not built in; expected the feature `{feature}` to be on: \
                 cargo add mayhap --features {feature}"
            ),
            Error::Unrecognised { known } => write!(
                f,
                "the first bytes are not those of a filter; expected one of {}",
                known.trim_end()
            ),
            Error::Ambiguous { candidates } => write!(
                f,
                "the first bytes are those of {candidates}; expected more of them, or the \
                 format's name"
            ),
            Error::Truncated {
                format,
                expected,
                got,
            } => write!(
                f,
                "{format} input is truncated: {got} bytes; expected {expected}"
            ),
            Error::Field {
                format,
                field,
                got,
                expected,
            } => write!(f, "{format} {field} is {got}; expected {expected}"),
            Error::Unknown {
                format,
                what,
                code,
                known,
            } => write!(
                f,
                "{format} {what} {code:#x} is unknown; expected one of {}",
                known.trim_end()
            ),
            Error::Damaged {
                format,
                part,
                index,
                offset,
            } => write!(
                f,
                "{format} {part} {index}, at byte {offset}, is damaged: its checksum does not \
                 match; expected the bytes that were written"
            ),
            Error::Extra { format, expected } => write!(
                f,
                "{format} input continues after its end; expected {expected} bytes"
            ),
            Error::Unfinished { format } => write!(
                f,
                "{format} file is an unfinished build; expected a finished one, so resume it"
            ),
            Error::SecretNeeded => {
                f.write_str("the filter was made with a secret; expected that secret, got none")
            }
            Error::SecretUnused { scheme } => write!(
                f,
                "a secret is given, but the scheme {scheme} takes none; expected none, or the scheme siphash"
            ),
            Error::SecretWrong => {
                f.write_str("the secret is not the one the filter was made with; expected that one")
            }
            Error::Name { what, got, known } => {
                let known = known.trim_end();
                write!(f, "no {what} is named {got:?}; expected one of {known}")
            }
            Error::Long { what, got, most } => {
                write!(f, "{what} has {got} bytes; expected at most {most}")
            }
            #[cfg(feature = "std")]
            Error::Locked { path, holder } => write!(
                f,
                "{} is being written by {holder}; expected one writer at a time",
                crate::address::shown(path)
            ),
            #[cfg(feature = "std")]
            Error::File {
                action,
                path,
                error,
            } => write!(
                f,
                "cannot {action} {}: {error}",
                crate::address::shown(path)
            ),
            #[cfg(feature = "std")]
            Error::Io(error) => write!(f, "input or output failed: {error}"),
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            #[cfg(feature = "std")]
            Error::Io(error) | Error::File { error, .. } => Some(error),
            _ => None,
        }
    }
}

#[cfg(feature = "std")]
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::Io(error)
    }
}
