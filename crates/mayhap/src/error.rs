//! What can go wrong, and what would have been right.

use alloc::string::String;
use core::fmt;

/// Why a filter or bitmap could not be made, joined or read.
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
        /// What is accepted, in words.
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
    /// The memory for this many bits could not be had.
    Memory {
        /// The number of bits asked for.
        bits: u64,
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
        /// What is allowed, in words.
        expected: &'static str,
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
            #[cfg(feature = "std")]
            Error::Io(error) => write!(f, "input or output failed: {error}"),
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            #[cfg(feature = "std")]
            Error::Io(error) => Some(error),
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
