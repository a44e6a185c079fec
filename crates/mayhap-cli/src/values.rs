//! The names that options take, so that help lists them and shells complete them.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mayhap::format::Format;
use mayhap::{Kind, Scheme};

/// Reads the name of a kind.
pub(crate) fn kind() -> impl TypedValueParser<Value = Kind> {
    let values = Kind::ALL
        .iter()
        .map(|kind| PossibleValue::new(kind.name()).help(kind.summary()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Kind>())
}

/// Reads a name of a table.
pub(crate) fn named<V: Copy + Send + Sync + 'static>(
    table: &'static [(&'static str, V)],
) -> impl TypedValueParser<Value = V> {
    let names = table.iter().map(|(name, _)| *name);
    PossibleValuesParser::new(names).map(|typed| {
        let row = table.iter().find(|(name, _)| *name == typed);
        row.expect("only names of the table are accepted").1
    })
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
