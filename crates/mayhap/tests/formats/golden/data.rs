//! Reading the golden files: arrays of cases, and the typed fields of a case.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Every array (or single object) of every file, with its number of entries.
pub(crate) const SECTIONS: [(&str, &str, usize); 31] = [
    ("bitset.json", "cases", 60),
    ("bitset.json", "exceptional", 14),
    ("bitset.json", "value_of_bytes", 5),
    ("bitset.json", "bitmap_sort", 5),
    ("digest_filter.json", "default_constructor", 1),
    ("digest_filter.json", "hashes", 72),
    ("digest_filter.json", "sizing", 120),
    ("digest_filter.json", "filters", 9),
    ("digest_filter.json", "object_hash_codes", 3),
    ("guava33_filters.json", "cases", 35),
    ("guava33_headers.json", "cases", 27),
    ("guava33_sizing.json", "rows", 575),
    ("guava33_sizing.json", "rejected", 7),
    ("guava_filters.json", "cases", 88),
    ("guava_headers.json", "cases", 27),
    ("guava_single_key_bits.json", "cases", 520),
    ("guava_sizing.json", "rows", 575),
    ("guava_sizing.json", "rejected", 7),
    ("guava_union.json", "cases", 20),
    ("guava_union.json", "incompatible", 6),
    ("murmur3.json", "murmur3_128_bytes", 169),
    ("murmur3.json", "murmur3_32_bytes", 169),
    ("murmur3.json", "strings", 25),
    ("murmur3.json", "ints", 21),
    ("murmur3.json", "longs", 22),
    ("standard_filter.json", "sizing", 143),
    ("standard_filter.json", "positions", 322),
    ("standard_filter.json", "filters", 4),
    ("three_hash_filter.json", "hashes", 59),
    ("three_hash_filter.json", "min_value_cases", 24),
    ("three_hash_filter.json", "filters", 3),
];

/// The path of `file` of the golden data.
pub(crate) fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/golden")
        .join(file)
}

/// The bytes of a golden file.
pub(crate) fn read(file: &str) -> Vec<u8> {
    std::fs::read(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// A golden file as JSON.
pub(crate) fn json(file: &str) -> Value {
    serde_json::from_slice(&read(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Calls `check` with every case of a section, in order, and reports how many there were.
pub(crate) fn each(file: &str, section: &str, mut check: impl FnMut(&Case<'_>)) {
    let &(_, _, entries) = SECTIONS
        .iter()
        .find(|(listed, name, _)| (*listed, *name) == (file, section))
        .unwrap_or_else(|| panic!("{file}/{section} is not in the table of sections"));
    let json = json(file);
    let single = std::slice::from_ref(&json[section]);
    let values = json[section].as_array().map_or(single, Vec::as_slice);

    let mut asserted = 0;
    for (index, value) in values.iter().enumerate() {
        let name = format!("{file}/{section}[{index}]");
        check(&Case { name, value });
        asserted += 1;
    }

    assert_eq!(asserted, entries, "entries of {file}/{section}");
    report(&format!("{file}/{section}"), asserted);
}

/// Prints how many cases a test has asserted.
pub(crate) fn report(source: &str, cases: usize) {
    println!("golden: {source}: {cases} cases");
}

/// One JSON object of a golden file. It prints as its location.
pub(crate) struct Case<'a> {
    pub(crate) name: String,
    pub(crate) value: &'a Value,
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl<'a> Case<'a> {
    /// Returns whether the case has this field, even if it is `null`.
    pub(crate) fn has(&self, field: &str) -> bool {
        self.value.get(field).is_some()
    }

    pub(crate) fn field(&self, field: &str) -> &'a Value {
        let value = self.value.get(field);
        value.unwrap_or_else(|| panic!("{self} has no {field}"))
    }

    pub(crate) fn text(&self, field: &str) -> &'a str {
        let text = self.field(field).as_str();
        text.unwrap_or_else(|| panic!("{self}: {field} is no text"))
    }

    pub(crate) fn flag(&self, field: &str) -> bool {
        let flag = self.field(field).as_bool();
        flag.unwrap_or_else(|| panic!("{self}: {field} is no boolean"))
    }

    /// An integer, which past 2^53 is written as a string.
    pub(crate) fn integer(&self, field: &str) -> i64 {
        integer(self.field(field)).unwrap_or_else(|| panic!("{self}: {field} is no integer"))
    }

    /// An integer that is never negative.
    pub(crate) fn count(&self, field: &str) -> u64 {
        u64::try_from(self.integer(field)).unwrap_or_else(|_| panic!("{self}: {field} is negative"))
    }

    /// A 32-bit integer, as Java's `int`.
    pub(crate) fn int(&self, field: &str) -> i32 {
        i32::try_from(self.integer(field)).unwrap_or_else(|_| panic!("{self}: {field} is no int"))
    }

    /// A number of hashes.
    pub(crate) fn hashes(&self, field: &str) -> u32 {
        u32::try_from(self.integer(field)).unwrap_or_else(|_| panic!("{self}: {field} is no u32"))
    }

    /// A double: from its `_bits` if the case has them, because JSON parsers may be one unit in
    /// the last place off.
    pub(crate) fn double(&self, field: &str) -> f64 {
        let image = format!("{field}_bits");
        if self.has(&image) {
            return f64::from_bits(word(self.text(&image)));
        }
        let value = self.field(field);
        value
            .as_f64()
            .or_else(|| value.as_str()?.parse().ok())
            .unwrap_or_else(|| panic!("{self}: {field} is no double"))
    }

    /// The bytes of a hex field.
    pub(crate) fn hex(&self, field: &str) -> Vec<u8> {
        from_hex(self.text(field))
    }

    pub(crate) fn list(&self, field: &str) -> &'a [Value] {
        let list = self.field(field).as_array();
        list.unwrap_or_else(|| panic!("{self}: {field} is no list"))
    }

    pub(crate) fn integers(&self, field: &str) -> Vec<i64> {
        integers(self.field(field)).unwrap_or_else(|| panic!("{self}: {field} is no integer list"))
    }

    /// Words written as a list of hex numbers, word 0 first.
    pub(crate) fn words(&self, field: &str) -> Vec<u64> {
        words(self.field(field))
    }

    /// The object in a field, as a case of its own.
    pub(crate) fn part(&self, field: &str) -> Case<'a> {
        Case {
            name: format!("{self}.{field}"),
            value: self.field(field),
        }
    }

    /// The objects in a list, as cases of their own.
    pub(crate) fn parts(&self, field: &str) -> Vec<Case<'a>> {
        let list = self.list(field).iter().enumerate();
        list.map(|(index, value)| Case {
            name: format!("{self}.{field}[{index}]"),
            value,
        })
        .collect()
    }
}

pub(crate) fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

pub(crate) fn integers(value: &Value) -> Option<Vec<i64>> {
    value.as_array()?.iter().map(integer).collect()
}

pub(crate) fn words(value: &Value) -> Vec<u64> {
    let list = value.as_array().expect("a list of words");
    let text = |value: &'_ Value| word(value.as_str().expect("a word in hex"));
    list.iter().map(text).collect()
}

/// A 64-bit word in hex, most significant digit first.
fn word(hex: &str) -> u64 {
    u64::from_str_radix(hex, 16).unwrap_or_else(|_| panic!("{hex} is no word in hex"))
}

pub(crate) fn from_hex(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2), "{hex} has half a byte");
    let byte = |index| u8::from_str_radix(&hex[index..index + 2], 16).expect("hex digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    to_hex(&Sha256::digest(bytes))
}

/// The bytes without the zeros at their end, as Java's `BitSet.toByteArray` gives them.
pub(crate) fn without_trailing_zeros(mut bytes: Vec<u8>) -> Vec<u8> {
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    bytes
}

/// Asserts a relative difference of at most 1e-12: `exp` and `pow` of two math libraries may
/// differ in the last places.
#[track_caller]
pub(crate) fn assert_close(got: f64, expected: f64, case: &Case<'_>) {
    let tolerance = expected.abs() * 1e-12;
    assert!(
        (got - expected).abs() <= tolerance,
        "{case}: {got:e} is not {expected:e}"
    );
}
