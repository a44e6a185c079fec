//! The cases of `tests/data/foreign`: a file, the keys in it, and the answers of its maker.

use std::path::PathBuf;

use mayhap::Filter;
use serde_json::Value;

/// One file of another program.
pub(crate) struct Case {
    pub(crate) file: String,
    pub(crate) bytes: Vec<u8>,
    /// The way keys are made from their numbers.
    pub(crate) kind: String,
    /// Keys 0 to this one were inserted.
    pub(crate) keys: u64,
    asked_from: u64,
    answers: String,
    fields: Value,
}

/// Reads every case of a folder, and checks how many there are.
pub(crate) fn cases(folder: &str, count: usize) -> Vec<Case> {
    let json = json(folder);
    let list = json["cases"].as_array().expect("a list of cases");
    assert_eq!(list.len(), count, "cases of {folder}");
    println!("foreign: {folder}: {count} files of {}", json["producer"]);
    list.iter().map(|fields| case(folder, fields)).collect()
}

pub(crate) fn json(folder: &str) -> Value {
    serde_json::from_slice(&read(folder, "cases.json")).expect("JSON")
}

fn case(folder: &str, fields: &Value) -> Case {
    let text = |name: &str| fields[name].as_str().expect("a text").to_owned();
    Case {
        bytes: read(folder, &text("file")),
        file: text("file"),
        kind: text("kind"),
        keys: fields["keys"].as_u64().expect("a count"),
        asked_from: fields["asked_from"].as_u64().expect("a count"),
        answers: text("answers"),
        fields: fields.clone(),
    }
}

fn read(folder: &str, file: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/foreign")
        .join(folder)
        .join(file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Case {
    pub(crate) fn integer(&self, field: &str) -> i64 {
        let integer = self.fields[field].as_i64();
        integer.unwrap_or_else(|| panic!("{}: {field} is no integer", self.file))
    }

    pub(crate) fn count(&self, field: &str) -> u64 {
        u64::try_from(self.integer(field)).expect("not negative")
    }

    pub(crate) fn double(&self, field: &str) -> f64 {
        self.fields[field].as_f64().expect("a double")
    }

    pub(crate) fn text(&self, field: &str) -> &str {
        self.fields[field].as_str().expect("a text")
    }

    /// The keys that were inserted, in order.
    pub(crate) fn inserted(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        (0..self.keys).map(|number| key(&self.kind, number))
    }

    /// Asserts that the filter answers every key as the original did.
    #[track_caller]
    pub(crate) fn assert_answers(&self, filter: &impl Filter) {
        let mut asked = 0;
        for (number, answer) in (self.asked_from..).zip(self.answers.chars()) {
            let found = filter.contains_bytes(&key(&self.kind, number));
            assert_eq!(found, answer == '1', "{}: key {number}", self.file);
            asked += 1;
        }
        assert_eq!(asked, 420, "{}: questions", self.file);
    }
}

/// Makes the key with this number, as the makers of the files do.
pub(crate) fn key(kind: &str, number: u64) -> Vec<u8> {
    let ramp = (0..number % 41).map(|place| (37 * place + 11 * number) as u8);
    match kind {
        "ints" => (number as u32)
            .wrapping_mul(0x9E37_79B9)
            .to_le_bytes()
            .into(),
        "longs" => number
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .to_le_bytes()
            .into(),
        "doubles" => (number as f64 / 7.0).to_le_bytes().into(),
        "texts" => format!("clé-{number}").into_bytes(),
        "bytes" => ramp.collect(),
        // Without the bytes that end a line.
        "lines" => ramp
            .map(|byte| if matches!(byte, 10 | 13) { 0 } else { byte })
            .collect(),
        _ => panic!("{kind} is no kind of key"),
    }
}
