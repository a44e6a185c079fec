//! Keys: values with one canonical byte form.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A value with one canonical byte form, the same on every platform and in every version.
///
/// Two keys are the same key exactly when their bytes are the same:
///
/// | type | bytes |
/// | --- | --- |
/// | `str`, `String`, `char` | UTF-8 |
/// | `[u8]`, `[u8; N]`, `Vec<u8>` | themselves |
/// | `u8` … `u128`, `i8` … `i128` | little-endian in their own width, as in Guava's funnels |
/// | arrays of these integers | the bytes of each, one after the other |
/// | `bool` | 0 or 1 |
/// | `Ipv4Addr`, `Ipv6Addr`, `IpAddr` | the 4 or 16 octets |
/// | `Path`, `OsStr` and their owned forms | as the system has them (Unix only) |
/// | tuples of 2 to 8 keys, `#[derive(Key)]` (feature `derive`) | [`Fields`] |
/// | `&K`, `Box<K>`, `Rc<K>`, `Arc<K>`, `Cow<K>` | those of `K` |
///
/// So `5_u32`, `5_u64` and `"5"` are three different keys. `usize` is not a key, because its width depends on the
/// platform; nor is everything that is `std::hash::Hash`, whose bytes are not specified.
///
/// ```
/// use mayhap::Key;
///
/// assert_eq!(258_u32.key_bytes().as_ref(), [2, 1, 0, 0]);
/// assert_eq!("hé".key_bytes().as_ref(), [b'h', 0xC3, 0xA9]);
/// ```
pub trait Key {
    /// Returns the bytes of this key, borrowed or made.
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

impl Key for String {
    #[inline(always)]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self.as_bytes()
    }
}

macro_rules! pointer_keys {
    ($($pointer:ty)*) => {$(
        impl<K: Key + ?Sized> Key for $pointer {
            #[inline(always)]
            fn key_bytes(&self) -> impl AsRef<[u8]> {
                (**self).key_bytes()
            }
        }
    )*};
}
pointer_keys! { &K Box<K> Rc<K> Arc<K> }

impl<K: Key + ToOwned + ?Sized> Key for Cow<'_, K> {
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

macro_rules! integer_array_keys {
    ($($integer:ty)*) => {$(
        impl<const N: usize> Key for [$integer; N] {
            fn key_bytes(&self) -> impl AsRef<[u8]> {
                let bytes = self.iter().flat_map(|integer| integer.to_le_bytes());
                bytes.collect::<Vec<u8>>()
            }
        }
    )*};
}
integer_array_keys! { u16 u32 u64 u128 i8 i16 i32 i64 i128 }

impl Key for bool {
    #[inline(always)]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        [u8::from(*self)]
    }
}

impl Key for char {
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self.encode_utf8(&mut [0; 4]).as_bytes().to_vec()
    }
}

impl Key for Ipv4Addr {
    #[inline(always)]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self.octets()
    }
}

impl Key for Ipv6Addr {
    #[inline(always)]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self.octets()
    }
}

impl Key for IpAddr {
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        match self {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        }
    }
}

#[cfg(all(unix, feature = "std"))]
macro_rules! system_text_keys {
    ($($text:ty)*) => {$(
        impl Key for $text {
            #[inline(always)]
            fn key_bytes(&self) -> impl AsRef<[u8]> {
                let text: &std::ffi::OsStr = self.as_ref();
                std::os::unix::ffi::OsStrExt::as_bytes(text)
            }
        }
    )*};
}
#[cfg(all(unix, feature = "std"))]
system_text_keys! { std::ffi::OsStr std::ffi::OsString std::path::Path std::path::PathBuf }

/// UTF-16 code units, little-endian: the bytes of Guava's `unencodedCharsFunnel`.
///
/// ```
/// use mayhap::{Key, hash::Utf16};
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

/// The bytes of a key that has fields: each field's length as a little-endian `u64`, then its bytes.
///
/// The lengths keep the fields apart: `("ab", "c")` and `("a", "bc")` are different keys. Tuples are made this way,
/// and so are structs with `#[derive(Key)]`.
///
/// ```
/// use mayhap::{Fields, Key};
///
/// struct Visit { user: u64, page: String }
///
/// impl Key for Visit {
///     fn key_bytes(&self) -> impl AsRef<[u8]> {
///         Fields::new().field(&self.user).field(&self.page)
///     }
/// }
///
/// let visit = Visit { user: 7, page: "/a".into() };
/// assert_eq!(visit.key_bytes().as_ref(), (7_u64, "/a").key_bytes().as_ref());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields(Vec<u8>);

impl Fields {
    /// Makes a key without fields yet.
    #[must_use]
    pub fn new() -> Fields {
        Fields::default()
    }

    /// Appends a field.
    #[must_use]
    pub fn field<K: Key + ?Sized>(mut self, field: &K) -> Fields {
        let field = field.key_bytes();
        self.0
            .extend_from_slice(&(field.as_ref().len() as u64).to_le_bytes());
        self.0.extend_from_slice(field.as_ref());
        self
    }
}

impl AsRef<[u8]> for Fields {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

macro_rules! tuple_keys {
    ($($($field:ident)+;)+) => {$(
        impl<$($field: Key),+> Key for ($($field,)+) {
            #[expect(non_snake_case, reason = "a field is named as its type is")]
            fn key_bytes(&self) -> impl AsRef<[u8]> {
                let ($($field,)+) = self;
                Fields::new()$(.field($field))+
            }
        }
    )+};
}
tuple_keys! {
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
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
    fn a_key_behind_a_pointer_is_the_same_key() {
        let key = bytes("key");
        assert_eq!(bytes(Box::<str>::from("key")), key);
        assert_eq!(bytes(Rc::<str>::from("key")), key);
        assert_eq!(bytes(Arc::<str>::from("key")), key);
        assert_eq!(bytes(Cow::Borrowed("key")), key);
        assert_eq!(bytes(Cow::<str>::Owned("key".into())), key);
        #[cfg(all(unix, feature = "std"))]
        assert_eq!(bytes(std::path::Path::new("key")), key);
    }

    #[test]
    fn small_values_have_the_bytes_that_the_table_gives() {
        assert_eq!(bytes('é'), bytes("é"));
        assert_eq!((bytes(false), bytes(true)), (bytes([0_u8]), bytes([1_u8])));
        assert_eq!(bytes([258_u16, 3]), [2, 1, 3, 0]);
        let local = Ipv4Addr::LOCALHOST;
        assert_eq!(bytes(local), [127, 0, 0, 1]);
        assert_eq!(bytes(IpAddr::V4(local)), bytes(local));
        assert_eq!(bytes(IpAddr::V6(local.to_ipv6_mapped())).len(), 16);
    }

    #[test]
    fn tuples_keep_their_fields_apart() {
        assert_ne!(bytes(("ab", "c")), bytes(("a", "bc")));
        assert_ne!(bytes(("a", "", "b")), bytes(("a", "b", "")));
        assert_eq!(
            bytes((1_u8, 2_u8)),
            [1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2]
        );
        assert_eq!(
            bytes((1_u8, 2, 3, 4, 5, 6, 7, "8")).len(),
            8 * 8 + 1 + 6 * 4 + 1
        );
    }
}
