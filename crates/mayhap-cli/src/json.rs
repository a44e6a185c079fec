//! Keys in JSON Lines: the value at a path.
//!
//! A line is read through to its end, so that one that is not JSON is noticed, but only the value that is asked for is
//! kept. Numbers are taken as text: no digit is lost, and `1.0` and `1` differ.

use std::borrow::Cow;
use std::fmt::{self, Formatter};

use serde_core::de::{
    DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use crate::lines::NoKey;

/// The way to a value: names of fields, and places in arrays counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonPath {
    text: String,
    steps: Vec<String>,
}

/// Reads a path such as `a.b` or `a.0.b`; `\.` is a dot in a name. A dot before all of it, as jq has it, is allowed.
pub(crate) fn path(text: &str) -> Result<JsonPath, String> {
    let mut steps = vec![String::new()];
    let mut letters = text.strip_prefix('.').unwrap_or(text).chars();
    while let Some(letter) = letters.next() {
        let step = steps.last_mut().expect("there is always one");
        match letter {
            '.' => steps.push(String::new()),
            '\\' => match letters.next() {
                Some(letter @ ('.' | '\\')) => step.push(letter),
                _ => return Err(format!("`{text}` has a `\\` before neither `.` nor `\\`")),
            },
            _ => step.push(letter),
        }
    }
    match steps.iter().any(String::is_empty) {
        true => Err(format!(
            "`{text}` is not a path such as `name`, `user.name` or `tags.0`"
        )),
        false => Ok(JsonPath {
            text: text.to_owned(),
            steps,
        }),
    }
}

impl JsonPath {
    /// The path as it was given.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The content of the string at this path, or the text of the number or boolean.
    pub(crate) fn find<'a>(&self, line: &'a [u8]) -> Result<Cow<'a, str>, NoKey> {
        let not_json = |error: serde_json::Error| {
            // The number of the line is added elsewhere.
            let why = error.to_string().replace(" line 1 column", " column");
            NoKey::Missing(format!("it is not JSON: {why}"))
        };
        let missing = |what: &str| NoKey::Missing(format!("its field `{}` {what}", self.text));
        let mut json = serde_json::Deserializer::from_slice(line);
        let found = Steps(&self.steps).deserialize(&mut json);
        let found = found.and_then(|found| json.end().map(|()| found));
        let Some(value) = found.map_err(not_json)?.map(RawValue::get) else {
            return Err(NoKey::Missing(format!("it has no field `{}`", self.text)));
        };
        match value.as_bytes().first() {
            Some(b'"') => {
                let plain = value[1..].strip_suffix('"');
                match plain.filter(|plain| !plain.contains('\\')) {
                    Some(plain) => Ok(Cow::Borrowed(plain)),
                    None => serde_json::from_str(value)
                        .map(Cow::Owned)
                        .map_err(not_json),
                }
            }
            Some(b'n') => Err(missing("is null")),
            Some(b'{') => Err(missing("is an object, not a string, number or boolean")),
            Some(b'[') => Err(missing("is an array, not a string, number or boolean")),
            _ => Ok(Cow::Borrowed(value)),
        }
    }
}

/// The rest of a path, from a value on.
#[derive(Clone, Copy)]
struct Steps<'p>(&'p [String]);

impl<'de> DeserializeSeed<'de> for Steps<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Self::Value, D::Error> {
        use serde_core::Deserialize as _;
        match self.0 {
            [] => <&RawValue>::deserialize(value).map(Some),
            _ => value.deserialize_any(self),
        }
    }
}

/// A value that has no parts has nothing at the rest of the path.
impl<'de> Visitor<'de> for Steps<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let (first, rest) = self.0.split_first().expect("the path has not ended");
        let mut found = None;
        while let Some(is_wanted) = fields.next_key_seed(Named(first))? {
            match is_wanted {
                // Of two fields with one name the last counts, as jq has it.
                true => found = fields.next_value_seed(Steps(rest))?,
                false => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Self::Value, A::Error> {
        let (first, rest) = self.0.split_first().expect("the path has not ended");
        let mut left = first.parse::<usize>().ok();
        let mut found = None;
        loop {
            if left == Some(0) {
                found = values.next_element_seed(Steps(rest))?.flatten();
            } else if values.next_element::<IgnoredAny>()?.is_none() {
                return Ok(found);
            }
            left = left.and_then(|left| left.checked_sub(1));
        }
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Compares the name of a field with this one.
struct Named<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for Named<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, name: D) -> Result<bool, D::Error> {
        name.deserialize_str(self)
    }
}

impl Visitor<'_> for Named<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(at: &str, line: &str) -> Result<String, String> {
        let path = path(at).expect("a path");
        let found = path.find(line.as_bytes());
        found.map(Cow::into_owned).map_err(|no_key| match no_key {
            NoKey::Missing(why) | NoKey::Wrong(why) => why,
        })
    }

    #[test]
    fn values_are_found_where_the_path_leads() {
        for (at, line, expected) in [
            ("a", r#"{"a":"x"}"#, "x"),
            (".a", r#" { "b" : [1,{}] , "a" : "x" } "#, "x"),
            ("a.b", r#"{"a":{"c":1,"b":"y"},"b":"z"}"#, "y"),
            ("a.1.b", r#"{"a":[{"b":1},{"b":2},{"b":3}]}"#, "2"),
            ("1", r#"[7,8,9]"#, "8"),
            ("1", r#"{"1":"name"}"#, "name"),
            (r"a\.b", r#"{"a.b":true}"#, "true"),
            (
                "a",
                r#"{"a":123456789012345678901234567890}"#,
                "123456789012345678901234567890",
            ),
            ("a", r#"{"a":1.0}"#, "1.0"),
            ("a", r#"{"a":"","b":0}"#, ""),
            ("a", r#"{"a":"q\"\u00e4\n\\"}"#, "q\"ä\n\\"),
            ("ä", r#"{"\u00e4":"x"}"#, "x"),
            ("a", r#"{"a":1,"a":2}"#, "2"),
            ("a.b", r#"{"a":{"b":1},"a":{"b":2}}"#, "2"),
        ] {
            assert_eq!(find(at, line), Ok(expected.into()), "{at} of {line}");
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        for (at, line, why) in [
            ("a", r#"{"b":1}"#, "no field `a`"),
            ("a.b", r#"{"a":1}"#, "no field `a.b`"),
            ("a.b", r#"{"a":"b"}"#, "no field"),
            ("a.2", r#"{"a":[1,2]}"#, "no field"),
            ("a.b", r#"{"a":[1,2]}"#, "no field"),
            ("a", r#"{"a":null}"#, "is null"),
            ("a", r#"{"a":{}}"#, "an object"),
            ("a", r#"{"a":[]}"#, "an array"),
            ("a", "", "not JSON"),
            ("a", r#"{"a":1"#, "not JSON"),
            ("a", r#"{"a":1} x"#, "not JSON"),
            ("a", r#"{"a":1}{"a":2}"#, "not JSON"),
            ("a", r#"{"a":01}"#, "not JSON"),
        ] {
            let said = find(at, line).expect_err("no key");
            assert!(said.contains(why), "{at} of {line}: {said}");
        }
        let deep = format!("{{\"a\":{}", "[".repeat(1_000_000));
        assert!(find("b", &deep).is_err());
        assert!(
            path("a")
                .expect("a path")
                .find(b"{\"a\":\"\xff\"}")
                .is_err()
        );
    }

    #[test]
    fn paths_that_are_none_are_refused() {
        for text in ["", ".", "a.", "..a", "a..b", "a\\b", "a\\"] {
            assert!(path(text).is_err(), "{text}");
        }
    }
}
