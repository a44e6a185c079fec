//! Keys: values with one canonical byte form.

use alloc::vec::Vec;

/// A value with one canonical byte form, the same on every platform and in every version.
///
/// Two keys are the same key exactly when their bytes are the same. Text is its UTF-8 bytes;
/// integers are little-endian in their own width, as in Guava's funnels, so `5_u32`, `5_u64` and
/// `"5"` are three different keys. There is no implementation for `usize`, whose width depends on
/// the platform, nor for everything that is `std::hash::Hash`, whose bytes are not specified.
///
/// Tuples prefix each field with its length, so `("ab", "c")` and `("a", "bc")` differ.
///
/// ```
/// use mayhap::Key;
///
/// assert_eq!(258_u32.key_bytes().as_ref(), [2, 1, 0, 0]);
/// assert_eq!("hé".key_bytes().as_ref(), [b'h', 0xC3, 0xA9]);
/// ```
pub trait Key {
    /// The bytes of this key, borrowed or made.
    // Inlined always, and no closure is involved: out of line, an integer goes through the stack and
    // hashing loses its constant length (2 to 3 ns of a lookup).
    fn key_bytes(&self) -> impl AsRef<[u8]>;
}

impl Key for [u8] {
    #[inline(always)]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl<const N: usize> Key for [u8; N] {
    #[inline(always)]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl Key for Vec<u8> {
    #[inline(always)]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl Key for str {
    #[inline(always)]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self.as_bytes()
    }
}

impl Key for alloc::string::String {
    #[inline(always)]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self.as_bytes()
    }
}

impl<K: Key + ?Sized> Key for &K {
    #[inline(always)]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        (**self).key_bytes()
    }
}

macro_rules! integer_keys {
    ($($integer:ty)*) => {$(
        impl Key for $integer {
            #[inline(always)]
            fn key_bytes(&self) -> impl AsRef<[u8]> {
                self.to_le_bytes()
            }
        }
    )*};
}
integer_keys! { u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 }

/// UTF-16 code units, little-endian: the bytes of Guava's `unencodedCharsFunnel`.
///
/// ```
/// use mayhap::{Key, Utf16};
///
/// let units: Vec<u16> = "é".encode_utf16().collect();
/// assert_eq!(Utf16(&units).key_bytes().as_ref(), [0xE9, 0x00]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utf16<'a>(pub &'a [u16]);

impl Key for Utf16<'_> {
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        let bytes = self.0.iter().flat_map(|unit| unit.to_le_bytes());
        bytes.collect::<Vec<u8>>()
    }
}

impl<A: Key, B: Key> Key for (A, B) {
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        let mut bytes = Vec::new();
        append_field(&mut bytes, &self.0);
        append_field(&mut bytes, &self.1);
        bytes
    }
}

impl<A: Key, B: Key, C: Key> Key for (A, B, C) {
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        let mut bytes = Vec::new();
        append_field(&mut bytes, &self.0);
        append_field(&mut bytes, &self.1);
        append_field(&mut bytes, &self.2);
        bytes
    }
}

/// Appends the field's length as a little-endian `u64`, then its bytes.
fn append_field(bytes: &mut Vec<u8>, field: &impl Key) {
    let field = field.key_bytes();
    bytes.extend_from_slice(&(field.as_ref().len() as u64).to_le_bytes());
    bytes.extend_from_slice(field.as_ref());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(key: impl Key) -> Vec<u8> {
        key.key_bytes().as_ref().to_vec()
    }

    #[test]
    fn integers_of_different_width_are_different_keys() {
        assert_eq!(bytes(5_u8), [5]);
        assert_eq!(bytes(5_i32), [5, 0, 0, 0]);
        assert_eq!(bytes(-2_i64), [254, 255, 255, 255, 255, 255, 255, 255]);
        assert_eq!(bytes(5_u128).len(), 16);
    }

    #[test]
    fn text_and_its_bytes_are_the_same_key() {
        assert_eq!(bytes("key"), bytes(b"key"));
        assert_eq!(
            bytes(alloc::string::String::from("key")),
            bytes(b"key".to_vec())
        );
    }

    #[test]
    fn tuples_keep_their_fields_apart() {
        assert_ne!(bytes(("ab", "c")), bytes(("a", "bc")));
        assert_ne!(bytes(("a", "", "b")), bytes(("a", "b", "")));
    }
}
