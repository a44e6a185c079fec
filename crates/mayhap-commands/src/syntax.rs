//! The syntax of commands, for `COMMAND DOCS`: read from one line each, as manuals have them.
//!
//! ```text
//! name            an argument; a few names have a type, the others are texts
//! TOKEN           a word as it is
//! TOKEN name      an argument after a word
//! [a]             may be left out
//! <a|b> or [a|b]  one of them
//! name...         once or more
//! ```

use std::ffi::CString;

/// The type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// A text.
    Text,
    /// A whole number.
    Integer,
    /// A number that may have a fraction.
    Double,
    /// A key of the database; the number says which of the command's ranges of keys.
    Key(i32),
    /// A word as it is.
    Token,
    /// One of several.
    OneOf,
}

/// An argument of a command.
#[derive(Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: CString,
    /// Its type.
    pub type_: Type,
    /// The word before it.
    pub token: Option<CString>,
    /// It may be left out.
    pub is_optional: bool,
    /// It may be repeated.
    pub is_multiple: bool,
    /// The choices of a [`Type::OneOf`].
    pub choices: Vec<Parameter>,
}

impl Parameter {
    fn new(name: &str, token: Option<&str>) -> Parameter {
        let (name, is_multiple) = match name.strip_suffix("...") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let type_ = match name {
            "key" => Type::Key(0),
            "other" => Type::Key(1),
            "rate" => Type::Double,
            "capacity" | "expansion" | "bucketsize" | "iterations" | "iterator"
            | "milliseconds" | "area" => Type::Integer,
            _ => Type::Text,
        };
        Parameter {
            name: text(name),
            type_,
            token: token.map(text),
            is_optional: false,
            is_multiple,
            choices: Vec::new(),
        }
    }

    /// The least number of words that it takes.
    fn words(&self) -> i32 {
        if self.is_optional {
            return 0;
        }
        let least = self.choices.iter().map(Parameter::words).min();
        match self.type_ {
            Type::OneOf => least.unwrap_or(0),
            Type::Token => 1,
            _ => 1 + i32::from(self.token.is_some()),
        }
    }

    fn is_open(&self) -> bool {
        let is_uneven = |choice: &Parameter| choice.words() != self.words() || choice.is_open();
        self.is_optional || self.is_multiple || self.choices.iter().any(is_uneven)
    }
}

fn text(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

/// Reads a line.
pub fn parse(line: &str) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let end = match rest.as_bytes()[0] {
            b'[' => rest.find(']'),
            b'<' => rest.find('>'),
            _ => None,
        };
        let (parameter, after) = match end {
            Some(end) => {
                let mut parameter = one_of(&rest[1..end]);
                parameter.is_optional = rest.starts_with('[');
                (parameter, &rest[end + 1..])
            }
            None => first(rest),
        };
        parameters.push(parameter);
        rest = after.trim_start();
    }
    parameters
}

/// Reads the text between brackets.
fn one_of(line: &str) -> Parameter {
    let mut choices: Vec<Parameter> = line.split('|').map(|choice| first(choice).0).collect();
    match choices.len() {
        1 => choices.remove(0),
        _ => Parameter {
            type_: Type::OneOf,
            choices,
            ..Parameter::new("choice", None)
        },
    }
}

/// Reads the first parameter of a line, and returns it with the rest.
fn first(line: &str) -> (Parameter, &str) {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    if !is_token(word) {
        return (Parameter::new(word, None), rest);
    }
    let (next, after) = rest.split_once(' ').unwrap_or((rest, ""));
    if next.is_empty() || is_token(next) || next.starts_with(['[', '<']) {
        let token = Parameter {
            type_: Type::Token,
            ..Parameter::new(&word.to_lowercase(), Some(word))
        };
        return (token, rest);
    }
    (Parameter::new(next, Some(word)), after)
}

fn is_token(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Counts the words of a command with its name, as the server does: the negative of the least number where there may be more.
pub fn arity(parameters: &[Parameter]) -> i32 {
    let words = 1 + parameters.iter().map(Parameter::words).sum::<i32>();
    match parameters.iter().any(Parameter::is_open) {
        true => -words,
        false => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a parameter as a manual would.
    fn shown(parameter: &Parameter) -> String {
        let name = parameter.name.to_string_lossy().into_owned();
        let token = parameter
            .token
            .as_ref()
            .map(|token| token.to_string_lossy());
        let choices: Vec<String> = parameter.choices.iter().map(shown).collect();
        let shown = match (parameter.type_, token) {
            (Type::OneOf, _) => choices.join("|"),
            (Type::Token, Some(token)) => token.into_owned(),
            (_, Some(token)) => format!("{token} {name}"),
            (_, None) => name,
        };
        let dots = if parameter.is_multiple { "..." } else { "" };
        match (parameter.is_optional, parameter.type_) {
            (true, _) => format!("[{shown}{dots}]"),
            (false, Type::OneOf) => format!("<{shown}>"),
            _ => format!("{shown}{dots}"),
        }
    }

    #[test]
    fn lines_are_read_as_they_are_written_and_words_are_counted() {
        for (line, expected) in [
            ("key", 2),
            ("key item", 3),
            ("key item...", -3),
            ("key rate capacity [EXPANSION expansion] [NONSCALING]", -4),
            ("key [CAPACITY capacity] [NOCREATE] ITEMS item...", -4),
            ("key [CAPACITY|SIZE]", -2),
            ("key <SET area|GET> item...", -4),
        ] {
            let parameters = parse(line);
            let again: Vec<String> = parameters.iter().map(shown).collect();
            assert_eq!(again.join(" "), line);
            assert_eq!(arity(&parameters), expected, "{line}");
        }
    }

    #[test]
    fn names_have_types() {
        let types = |line| parse(line).iter().map(|one| one.type_).collect::<Vec<_>>();
        assert_eq!(
            types("key rate capacity [NOCREATE] item"),
            [
                Type::Key(0),
                Type::Double,
                Type::Integer,
                Type::Token,
                Type::Text
            ]
        );
        assert_eq!(types("key other..."), [Type::Key(0), Type::Key(1)]);
    }
}
