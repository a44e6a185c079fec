//! The keys in the files, encoded by Guava's funnels.

use mayhap::{Bloom, Filter as _, Insert as _, Key, bits::Bits as _, hash::Utf16};
use serde_json::Value;

use super::data::{Case, from_hex, integer, without_trailing_zeros};

/// Guava's conversion of a key to bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Funnel {
    StringUtf8,
    UnencodedChars,
    Integer,
    Long,
    ByteArray,
}

impl Funnel {
    pub(crate) fn of(case: &Case<'_>) -> Funnel {
        match case.text("funnel") {
            "string_utf8" => Funnel::StringUtf8,
            "unencoded_chars" => Funnel::UnencodedChars,
            "integer" => Funnel::Integer,
            "long" => Funnel::Long,
            "byte_array" => Funnel::ByteArray,
            other => panic!("{case}: no funnel is called {other}"),
        }
    }

    /// Parses the key written as `value` in a file.
    pub(crate) fn key(self, value: &Value) -> JavaKey {
        match self {
            Funnel::StringUtf8 => JavaKey::Utf8(utf8(&code_units(value))),
            Funnel::UnencodedChars => JavaKey::Utf16(code_units(value)),
            Funnel::ByteArray => JavaKey::Bytes(from_hex(value.as_str().expect("hex"))),
            Funnel::Integer | Funnel::Long => self.number(integer(value).expect("an integer")),
        }
    }

    fn number(self, number: i64) -> JavaKey {
        match self {
            // Wraps: `affine32` keys are computed in 32 bits.
            Funnel::Integer => JavaKey::Integer(number as i32),
            Funnel::Long => JavaKey::Long(number),
            other => panic!("{other:?} takes no numbers"),
        }
    }

    fn text(self, text: String) -> JavaKey {
        match self {
            Funnel::StringUtf8 => JavaKey::Utf8(text),
            Funnel::UnencodedChars => JavaKey::Utf16(text.encode_utf16().collect()),
            other => panic!("{other:?} takes no text"),
        }
    }
}

/// A key for the library: each variant goes through the library's own [`Key`].
#[derive(Debug)]
pub(crate) enum JavaKey {
    Utf8(String),
    Utf16(Vec<u16>),
    Integer(i32),
    Long(i64),
    Bytes(Vec<u8>),
}

impl Key for JavaKey {
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        let owned = |key: &dyn AsRef<[u8]>| key.as_ref().to_vec();
        match self {
            JavaKey::Utf8(text) => owned(&text.key_bytes()),
            JavaKey::Utf16(units) => owned(&Utf16(units).key_bytes()),
            JavaKey::Integer(number) => owned(&number.key_bytes()),
            JavaKey::Long(number) => owned(&number.key_bytes()),
            JavaKey::Bytes(bytes) => owned(&bytes.key_bytes()),
        }
    }
}

/// The UTF-16 code units of a text written in a file.
pub(crate) fn code_units(value: &Value) -> Vec<u16> {
    if let Some(text) = value.as_str() {
        return text.encode_utf16().collect();
    }
    let hex = value["utf16be_hex"].as_str().expect("code units in hex");
    let bytes = from_hex(hex);
    let (pairs, rest) = bytes.as_chunks::<2>();
    assert!(rest.is_empty(), "{hex} has half a code unit");
    pairs.iter().map(|&pair| u16::from_be_bytes(pair)).collect()
}

/// The text by Java's `getBytes(UTF_8)`: an unpaired surrogate becomes a question mark.
pub(crate) fn utf8(units: &[u16]) -> String {
    char::decode_utf16(units.iter().copied())
        .map(|character| character.unwrap_or('?'))
        .collect()
}

/// The text as WTF-8, which keeps unpaired surrogates: three bytes each.
pub(crate) fn wtf8(units: &[u16]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for character in char::decode_utf16(units.iter().copied()) {
        match character {
            Ok(character) => bytes.extend_from_slice(character.to_string().as_bytes()),
            Err(lone) => {
                let unit = lone.unpaired_surrogate();
                let tail = |bits: u16| 0x80 | (bits & 0x3F) as u8;
                bytes.extend_from_slice(&[0xE0 | (unit >> 12) as u8, tail(unit >> 6), tail(unit)]);
            }
        }
    }
    bytes
}

/// The numbers of an affine or template key spec: `start + step * i`, wrapping in 64 bits.
pub(crate) fn numbers(spec: &Case<'_>) -> impl Iterator<Item = i64> + use<> {
    let (start, step) = (spec.integer("start"), spec.integer("step"));
    (0..spec.integer("count")).map(move |i| start.wrapping_add(step.wrapping_mul(i)))
}

/// The keys of a key spec, in order.
pub(crate) fn keys<'a>(spec: &Case<'a>, funnel: Funnel) -> Box<dyn Iterator<Item = JavaKey> + 'a> {
    match spec.text("kind") {
        "list" => Box::new(spec.list("keys").iter().map(move |key| funnel.key(key))),
        "template" => {
            let (prefix, suffix) = (spec.text("prefix"), spec.text("suffix"));
            let text = move |number| funnel.text(format!("{prefix}{number}{suffix}"));
            Box::new(numbers(spec).map(text))
        }
        "decimal_string_of_affine64" => {
            Box::new(numbers(spec).map(move |number| funnel.text(number.to_string())))
        }
        "affine32" | "affine64" => Box::new(numbers(spec).map(move |number| funnel.number(number))),
        "affine_be_bytes" => {
            let width = spec.count("width") as usize;
            Box::new(numbers(spec).map(move |number| JavaKey::Bytes(big_endian(number, width))))
        }
        other => panic!("{spec}: no kind is called {other}"),
    }
}

/// The low `width` bytes, big-endian; past eight, zero bytes in front.
fn big_endian(number: i64, width: usize) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let kept = width.min(bytes.len());
    let mut padded = vec![0; width - kept];
    padded.extend_from_slice(&bytes[bytes.len() - kept..]);
    padded
}

/// Inserts the keys of a case, whose bits must be as many as it says; returns them as Java does.
pub(crate) fn filled(filter: &mut Bloom, case: &Case<'_>, ones: &str) -> Vec<u8> {
    let inserted = case.part("inserted");
    filter.insert_all(keys(&inserted, Funnel::StringUtf8));
    let is_found = filter.contains_all(keys(&inserted, Funnel::StringUtf8));
    assert!(is_found, "{case}");
    assert_eq!(filter.bits().count_ones(), case.count(ones), "{case}");
    without_trailing_zeros(filter.bits().to_bytes())
}

/// The numbers of a query whose keys are found by the filter.
pub(crate) fn contained_numbers(filter: &Bloom, spec: &Case<'_>, funnel: Funnel) -> Vec<i64> {
    numbers(spec)
        .zip(keys(spec, funnel))
        .filter(|(_, key)| filter.contains(key))
        .map(|(number, _)| number)
        .collect()
}
