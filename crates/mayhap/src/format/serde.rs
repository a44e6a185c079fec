//! Filters in the formats of [serde](https://serde.rs), as the bytes of a native file.
//!
//! With the feature `serde` every kind and [`AnyFilter`] can be a field of what you serialise. Binary formats hold the
//! bytes of [`native`] as they are, text formats the same in base64: four thirds of their size. Both include the
//! checksums, and what is read is checked as a file would be.
//!
//! A secret is never written. A filter made with one is serialised like any other, but cannot be read this way: take
//! the bytes yourself and give them to [`native::decode`] together with the secret.
//!
//! ```
//! use mayhap::Blocked;
//!
//! let mut seen = Blocked::with_capacity(1000, 0.01)?;
//! seen.insert("/index.html");
//! let text = serde_json::to_string(&seen).expect("no secret is needed to write");
//! let read: Blocked = serde_json::from_str(&text).expect("it was made without a secret");
//! assert_eq!(read, seen);
//! # Ok::<(), mayhap::Error>(())
//! ```

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_core::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde_core::ser::{self, Serialize, Serializer};

use super::native::{self, Metadata};
use crate::filter::{AnyFilter, Assemble, each_kind};
use crate::{Error, bits::Bits};

/// Serialises a filter of any kind.
fn serialize<F: Assemble, S: Serializer>(filter: &F, serializer: S) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::new();
    native::write(filter, &Metadata::default(), &mut bytes).map_err(ser::Error::custom)?;
    match serializer.is_human_readable() {
        true => serializer.serialize_str(&STANDARD.encode(&bytes)),
        false => serializer.serialize_bytes(&bytes),
    }
}

/// Deserialises a filter of one kind; another kind is an error that names both.
fn deserialize<'de, F, D>(deserializer: D) -> Result<F, D::Error>
where
    F: TryFrom<AnyFilter, Error = Error>,
    D: Deserializer<'de>,
{
    F::try_from(AnyFilter::deserialize(deserializer)?).map_err(de::Error::custom)
}

impl<B: Bits> Serialize for AnyFilter<B> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for AnyFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AnyFilter, D::Error> {
        match deserializer.is_human_readable() {
            true => deserializer.deserialize_str(NativeBytes),
            // As a buffer: some formats lend at most a few KiB of one of their own.
            false => deserializer.deserialize_byte_buf(NativeBytes),
        }
    }
}

macro_rules! serialized {
    ($($kind:ident = $code:literal $name:literal $summary:literal $($inserts:ident)?;)+) => {
        $(
            impl<B: Bits> Serialize for crate::kinds::$kind<B> {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serialize(self, serializer)
                }
            }

            impl<'de> Deserialize<'de> for crate::kinds::$kind {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    deserialize(deserializer)
                }
            }
        )+
    };
}

each_kind!(serialized);

/// Reads the bytes of a native file, in any of the shapes that formats give them.
struct NativeBytes;

impl<'de> Visitor<'de> for NativeBytes {
    type Value = AnyFilter;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a filter: the bytes of a mayhap file, in base64 where the format is text")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<AnyFilter, E> {
        let (filter, _) = native::decode(bytes, None).map_err(E::custom)?;
        Ok(filter)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<AnyFilter, E> {
        let bytes = STANDARD.decode(text).map_err(E::custom)?;
        self.visit_bytes(&bytes)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<AnyFilter, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = numbers.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}
