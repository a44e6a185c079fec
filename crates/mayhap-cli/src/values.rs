//! The names that options take, so that help lists them and shells complete them.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mayhap::format::Format;
use mayhap::{Kind, Scheme};

/// Reads the name of a kind.
pub(crate) fn kind() -> impl TypedValueParser<Value = Kind> {
    let values = Kind::ALL
        .iter()
        .map(|kind| PossibleValue::new(kind.name()).help(use_of(*kind)));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Kind>())
}

/// Reads the name of a format.
pub(crate) fn format() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.iter().map(|format| format.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Format>())
}

/// Reads the name of a scheme.
pub(crate) fn scheme() -> impl TypedValueParser<Value = &'static str> {
    let values = Scheme::NAMES
        .iter()
        .map(|&(name, what)| PossibleValue::new(name).help(what));
    PossibleValuesParser::new(values).try_map(|name| scheme_name(&name))
}

/// A name of a scheme, as it is known.
pub(crate) fn scheme_name(name: &str) -> Result<&'static str, String> {
    let known = Scheme::NAMES.iter().find(|(known, _)| *known == name);
    known
        .map(|&(known, _)| known)
        .ok_or_else(|| format!("`{name}` is not a scheme"))
}

/// What a kind is for.
fn use_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Bloom => "The standard filter, in which every scheme can be used",
        Kind::Blocked => "One cache line per key: the fastest, and the default of `new`",
        Kind::SplitBlock => "The filter of Parquet files",
        Kind::Counting => "Keys can be removed again",
        Kind::Spectral => "Counts how often each key was inserted",
        Kind::Shifting => "As `bloom`, with half the memory reads",
        Kind::ShiftingAssociation => "Which of two sets a key is in; only `build` makes it",
        Kind::ShiftingMultiplicity => {
            "How often a key occurs, up to 57 times; only `build` makes it"
        }
        Kind::Spatial => "Which of many areas a key is in",
        Kind::Scalable => "Grows with its keys",
        Kind::Windowed => "Forgets old keys",
        Kind::Fuse => "Small and fast, for keys that never change; only `build` makes it",
        Kind::Guarded => "As `blocked`, with a list of keys that are known not to be in it",
        Kind::Cascade => "Exact for two known sets of keys; only `build` makes it",
        Kind::Sliced => "Grows with its keys, as in the paper on scalable filters",
        Kind::Ribbon => "The smallest, for keys that never change; only `build` makes it",
        _ => "",
    }
}
