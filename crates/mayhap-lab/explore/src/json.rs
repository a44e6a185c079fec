//! The data of the page, as JSON.
//!
//! Numbers that may be above 2^53 are strings: JavaScript cannot read them as numbers without loss.

use std::fmt::Write as _;

use mayhap::kinds::{Needed, Places};
use mayhap::{AnyFilter, Assemble as _, Hashing, Inserts, Scheme, Stats};

use crate::exhibit::Exhibit;
use crate::own::Measured;
use crate::plan::Plan;
use crate::refusal::Refusal;

/// Formats the reason of a refusal.
pub(crate) fn error(refusal: &Refusal) -> String {
    format!(
        "{{\"error\":{},\"name\":{}}}",
        string(&refusal.reason),
        string(refusal.name)
    )
}

fn string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control.is_control() => {
                write!(quoted, "\\u{:04x}", u32::from(control)).expect("a string takes all");
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("[{}]", items.join(","))
}

fn number(value: f64) -> String {
    match value.is_finite() {
        true => format!("{value}"),
        false => "null".into(),
    }
}

/// Formats the description and statistics of a filter.
pub(crate) fn about(exhibit: &Exhibit) -> String {
    let parts = list(exhibit.parts().iter().map(|part| {
        let ones: u64 = part.words().map(|word| u64::from(word.count_ones())).sum();
        format!("[{},{ones}]", mayhap::bits::Bits::size(*part))
    }));
    let Some(filter) = exhibit.filter() else {
        return format!("{{\"kind\":\"bitmap\",\"inserts\":\"one\",\"parts\":{parts}}}");
    };
    let description = filter.description();
    let inserts = match description.kind.inserts() {
        Inserts::Never => "built",
        Inserts::Growing => "growing",
        _ => "one",
    };
    let stats: Option<Stats> = exhibit.stats();
    let stats = stats.map_or("null".into(), |stats| {
        let keys = stats.keys.map_or("null".into(), number);
        let promise = stats.promise.map_or("null".into(), |promise| {
            format!("[{},{}]", promise.keys, number(promise.rate))
        });
        format!(
            "{{\"bits\":{},\"ones\":{},\"keys\":{keys},\"rate\":{},\"promise\":{promise}}}",
            stats.bits,
            stats.ones,
            number(stats.rate)
        )
    });
    let generation = match filter {
        AnyFilter::Windowed(windowed) => windowed.generation().to_string(),
        _ => "null".into(),
    };
    let width = exhibit
        .places(b"")
        .first()
        .map_or(1, |places| match places.unit {
            "counter" | "cell" | "slot" if places.stride == 1 => places.width,
            _ => 1,
        });
    format!(
        "{{\"kind\":\"{}\",\"scheme\":{},\"bits\":{},\"hashes\":{},\"inserts\":\"{inserts}\",\"width\":{width},\
         \"parts\":{parts},\"stats\":{stats},\"generation\":{generation}}}",
        description.kind,
        string(&description.hashing.to_string()),
        description.bits,
        description.hashes,
    )
}

/// Formats what a filter knows about a key.
pub(crate) fn answer(exhibit: &Exhibit, key: &[u8]) -> String {
    let places = list(exhibit.places(key).iter().map(places));
    let found = exhibit.contains(key);
    let more = exhibit
        .filter()
        .map_or(String::new(), |filter| more(filter, key));
    format!("{{\"found\":{found},\"layers\":{places}{more}}}")
}

/// Formats the hash of a key, and what only its kind knows.
fn more(filter: &AnyFilter, key: &[u8]) -> String {
    let hash = match &filter.description().hashing {
        Hashing::Scheme(Scheme::Native(digester)) => {
            let digest = digester.digest(key);
            format!(",\"hash\":\"{:016x}{:016x}\"", digest.hi, digest.lo)
        }
        Hashing::Xxh64 => format!(
            ",\"hash\":\"{:016x}\"",
            mayhap::kinds::SplitBlock::hash(key)
        ),
        _ => String::new(),
    };
    let count = filter.as_count().map_or(String::new(), |filter| {
        format!(",\"count\":{}", filter.count_bytes(key))
    });
    let kind = match filter {
        AnyFilter::Spatial(spatial) => {
            let area = spatial.area(key);
            format!(",\"area\":{}", area.unwrap_or(0))
        }
        AnyFilter::ShiftingAssociation(filter) => {
            let regions = filter
                .regions(key)
                .iter()
                .map(|region| (region as u8).to_string());
            format!(",\"regions\":{}", list(regions))
        }
        AnyFilter::Guarded(guarded) => {
            let listed = guarded.filter().contains(key) && !guarded.contains(key);
            format!(",\"listed\":{listed}")
        }
        AnyFilter::Cuckoo(cuckoo) => format!(",\"lost\":{}", cuckoo.lost()),
        _ => String::new(),
    };
    hash + &count + &kind
}

fn places(places: &Places) -> String {
    let layer = places.layer.map_or("null".into(), |(name, number)| {
        format!("[\"{name}\",{number}]")
    });
    let (needed, value) = match places.needed {
        Needed::Ones(mask) => ("ones", mask),
        Needed::Common(mask) => ("common", mask),
        Needed::Any(fingerprint) => ("any", fingerprint),
        Needed::Sum(fingerprint) => ("sum", fingerprint),
        _ => ("no-zero", 0),
    };
    let each = places.places.iter();
    let each =
        each.map(|place| format!("[{},{},\"{}\"]", place.number, place.first_bit, place.value));
    format!(
        "{{\"part\":{},\"layer\":{layer},\"unit\":\"{}\",\"width\":{},\"stride\":{},\
         \"needed\":[\"{needed}\",\"{value}\"],\"hold\":{},\"places\":{}}}",
        places.part,
        places.unit,
        places.width,
        places.stride,
        places.hold(),
        list(each)
    )
}

/// Formats the sizes for a capacity and a rate.
pub(crate) fn plan(plan: &Plan) -> String {
    let kinds = plan
        .kinds
        .iter()
        .map(|(name, bits)| format!("[\"{name}\",{bits}]"));
    format!(
        "{{\"bits\":{},\"hashes\":{},\"best\":{},\"bound\":{},\"overhead\":{},\"kinds\":{}}}",
        plan.bloom.0,
        plan.bloom.1,
        number(plan.best),
        number(plan.bound),
        number(plan.overhead),
        list(kinds)
    )
}

/// Formats a list of numbers.
pub(crate) fn numbers(numbers: &[u64]) -> String {
    list(numbers.iter().map(u64::to_string))
}

/// Formats the measurement on a reader's keys.
pub(crate) fn measured(measured: &Measured) -> String {
    format!(
        "{{\"lines\":{},\"inserted\":{},\"asked\":{},\"wrong\":{},\"missed\":{},\"bits\":{}}}",
        measured.lines,
        measured.inserted,
        measured.asked,
        measured.wrong,
        measured.missed,
        measured.bits
    )
}

/// Formats the names of kinds and schemes, and the purpose of each kind.
pub(crate) fn names() -> String {
    let kinds = mayhap::Kind::ALL.iter();
    let kinds =
        kinds.map(|kind| format!("[\"{kind}\",{},{}]", string(kind.summary()), kind.code()));
    // A browser draws no keys.
    let schemes = Scheme::NAMES
        .iter()
        .filter(|(name, _)| *name != "universal");
    let schemes = schemes.map(|(name, summary)| format!("[\"{name}\",{}]", string(summary)));
    format!(
        "{{\"kinds\":{},\"schemes\":{}}}",
        list(kinds),
        list(schemes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted() {
        let refusal = Refusal::new("other", "a \"b\" \\ \n");
        let expected = r#"{"error":"a \"b\" \\ \u000a","name":"other"}"#;
        assert_eq!(error(&refusal), expected);
        assert_eq!(number(f64::NAN), "null");
        assert_eq!(numbers(&[1, 2]), "[1,2]");
    }
}
