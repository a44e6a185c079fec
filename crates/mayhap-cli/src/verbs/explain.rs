//! `mayhap explain`: why a filter answers as it does about one key.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use mayhap::{
    AnyFilter, Assemble as _, Filter as _, Hashing, Kind, Scheme,
    kinds::{Needed, Places, SpectralPolicy, SplitBlock},
};
use mayhap_program::amounts::{show_count, show_rate};
use mayhap_program::exit::Exit;
use mayhap_program::failure::Result;
use mayhap_program::global::Global;
use mayhap_program::shown::shown;
use serde_json::{Value, json};

use crate::filters::{OpenArgs, name_of};
use crate::output::{json_text, print, print_json};

/// Shows why a filter answers as it does about a key.
///
/// Shows the hash of the key, its places in the filter, what is in each of them, and the rule by which the kind answers.
/// `mayhap-lab explore` draws them.
///
/// Exit codes: 0 when the key may be in the filter, 1 when it is certainly not, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The filter: a file, or redis://host#name
    filter: PathBuf,

    /// The key, byte for byte
    key: OsString,

    #[command(flatten)]
    open: OpenArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap explain seen.mayhap https://example.org/  each bit, and the answer
  mayhap explain --json seen.mayhap ann            the same for a script
  mayhap explain redis://localhost#seen ann        a filter on a server";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let filter = self.open.read(&self.filter)?;
        let key = self.key.as_bytes();
        let explained = Explained::of(&filter, key);
        match global.json {
            true => print_json(&explained.json(&name_of(&self.filter), key))?,
            false => {
                let key = String::from_utf8_lossy(key);
                print(&explained.text(&name_of(&self.filter), &key))?;
            }
        }
        Ok(Exit::found(explained.is_found))
    }
}

/// The places of a key in a filter, and the answer that follows from them.
struct Explained {
    kind: Kind,
    scheme: String,
    /// The hash of the key, where the scheme makes one for all positions.
    hash: Option<String>,
    places: Vec<Places>,
    is_found: bool,
    why: String,
}

impl Explained {
    fn of(filter: &AnyFilter, key: &[u8]) -> Explained {
        let description = filter.description();
        let hash = match &description.hashing {
            Hashing::Scheme(Scheme::Native(digester)) => {
                let digest = digester.digest(key);
                Some(format!("{:016x}{:016x}", digest.hi, digest.lo))
            }
            Hashing::Xxh64 => Some(format!("{:016x}", SplitBlock::hash(key))),
            _ => None,
        };
        let is_found = filter.contains(key);
        let places = filter.places(key);
        let rate = show_rate(filter.stats().rate);
        let (because, rule) = (because(&places), rule(filter, key));
        let why = match (is_found, description.kind) {
            (false, _) => format!("no, for certain: {because}{rule}"),
            (true, Kind::Cascade) => format!(
                "yes, if it is a key of either set: {rule}. About other keys a cascade knows nothing"
            ),
            (true, _) => format!(
                "maybe: {because}{rule}. It was inserted, or it is a false positive, as {rate} of absent keys are"
            ),
        };
        Explained {
            kind: description.kind,
            scheme: description.hashing.to_string(),
            hash,
            places,
            is_found,
            why,
        }
    }

    fn json(&self, name: &str, key: &[u8]) -> Value {
        let layers = self.places.iter().map(|places| {
            let (unit, values) = values(places);
            let values = values.iter();
            let values = values.map(|(number, value)| json!({ "position": number, unit: value }));
            let (name, number) = match places.layer {
                Some((name, number)) => (name, Some(number)),
                None => ("layer", None),
            };
            json!({ name: number, "places": values.collect::<Vec<_>>(), "hold": places.hold() })
        });
        json!({
            "filter": name,
            "key": json_text(key),
            "kind": self.kind.name(),
            "scheme": self.scheme,
            "hash": self.hash,
            "layers": layers.collect::<Vec<_>>(),
            "found": self.is_found,
            "why": self.why,
        })
    }

    fn text(&self, name: &str, key: &str) -> String {
        let mut text = format!("{} in {}\n", shown(key), shown(name));
        let mut row = |name: &str, value: &str| {
            writeln!(text, "  {name:<9} {value}").expect("a string takes all");
        };
        row("kind", self.kind.name());
        row("scheme", &self.scheme);
        if let Some(hash) = &self.hash {
            row("hash", hash);
        }
        for places in &self.places {
            if let Some((name, number)) = places.layer {
                row(name, &number.to_string());
            }
            let (unit, values) = values(places);
            for (number, value) in values {
                let number = show_count(number);
                row(
                    unit,
                    &match unit {
                        // The lowest bit first, as they lie.
                        "window" => format!("{number} is {}", lowest_first(value, places.width)),
                        _ => format!("{number} is {value}"),
                    },
                );
            }
        }
        row("answer", &self.why);
        text
    }
}

/// The places by number, each once, and what is in them. Of windows in which certain bits count, those bits.
fn values(places: &Places) -> (&'static str, Vec<(u64, u64)>) {
    let mut values: Vec<(u64, u64)> = Vec::new();
    for place in &places.places {
        let shown = match places.needed {
            Needed::Ones(mask) => (0..u64::from(places.width))
                .filter(|bit| mask >> bit & 1 == 1)
                .map(|bit| (place.first_bit + bit, place.value >> bit & 1))
                .collect(),
            _ => vec![(place.number, place.value)],
        };
        for value in shown {
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    match places.needed {
        Needed::Ones(_) => ("bit", values),
        _ => (places.unit, values),
    }
}

fn lowest_first(value: u64, width: u32) -> String {
    let bit = |bit| if value >> bit & 1 == 1 { '1' } else { '0' };
    (0..width).map(bit).collect()
}

/// Why the places alone lead to the answer, if they do: where a zero is.
fn because(places: &[Places]) -> String {
    let by_zeros = |places: &&Places| matches!(places.needed, Needed::NoZero | Needed::Ones(_));
    let Some(first) = places.first().filter(by_zeros) else {
        return String::new();
    };
    match first.layer {
        // Its rule is another.
        Some(("level", _)) => String::new(),
        Some((name, _)) => {
            let full = places.iter().find(|places| places.hold());
            match full.and_then(|places| places.layer) {
                Some((name, number)) => format!("all of its bits in {name} {number} are 1"),
                None => format!("in every {name} one of its bits is 0"),
            }
        }
        None => {
            let (unit, values) = values(first);
            match values.iter().find(|(_, value)| *value == 0) {
                Some((number, _)) => format!("{unit} {} is 0", show_count(*number)),
                None if unit == "bit" => "all of its bits are 1".into(),
                None => format!("none of its {unit}s is 0"),
            }
        }
    }
}

/// Explains the rest of the rule by which the kind answers.
fn rule(filter: &AnyFilter, key: &[u8]) -> String {
    let is_found = filter.contains(key);
    let is = |found: &str, absent: &str| match is_found {
        true => found.into(),
        false => absent.into(),
    };
    match filter {
        AnyFilter::Spectral(spectral) => {
            let count = show_count(spectral.count(key));
            match spectral.policy() {
                SpectralPolicy::RecurringMinimum => {
                    format!("; with its second counters the count is {count}")
                }
                _ => format!("; the lowest of them, {count}, is its count"),
            }
        }
        AnyFilter::Spatial(spatial) => match spatial.area(key) {
            Some(area) => format!("; the lowest of them, {area}, is its area"),
            None => String::new(),
        },
        AnyFilter::Guarded(guarded) => match guarded.filter().contains(key) && !is_found {
            true => ", but it is on the list of keys that are known not to be there".into(),
            false => String::new(),
        },
        AnyFilter::ShiftingAssociation(filter) => match is_found {
            true => format!("its windows of bits fit a key of {}", filter.regions(key)),
            false => "its windows of bits fit a key of neither set".into(),
        },
        AnyFilter::ShiftingMultiplicity(filter) => match is_found {
            true => format!("its windows of bits fit a count of {}", filter.count(key)),
            false => "its windows of bits fit no count".into(),
        },
        AnyFilter::Cuckoo(filter) if filter.lost() > 0 => {
            "keys found no room in it, and it finds every key until as many are removed".into()
        }
        AnyFilter::Cuckoo(_) => is(
            "one of its two buckets in a layer has its fingerprint",
            "neither of its two buckets in any layer has its fingerprint",
        ),
        AnyFilter::Cascade(_) => is(
            "the number of levels that have it, before the first that has not, is odd",
            "the number of levels that have it, before the first that has not, is even",
        ),
        AnyFilter::Fuse(_) | AnyFilter::Ribbon(_) => is(
            "what its slots combine to is the fingerprint of its hash",
            "what its slots combine to is not the fingerprint of its hash",
        ),
        _ => String::new(),
    }
}
