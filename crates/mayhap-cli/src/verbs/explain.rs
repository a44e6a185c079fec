//! `mayhap explain`: why a filter answers as it does about one key.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use mayhap::{
    AnyFilter, Assemble as _, Bitmap, Blocked, Filter as _, Hashing, Kind, Scheme,
    bits::Bits as _,
    kinds::{SpectralPolicy, SplitBlock},
};
use serde_json::{Value, json};

use crate::amounts::{show_count, show_rate};
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::Result;
use crate::filters::{SecretArgs, name_of, read};
use crate::output::{json_text, print, print_json};
use crate::shown::shown;

/// Shows why a filter answers as it does about a key.
///
/// Shows the hash of the key, its positions, and the bit or counter at each of them. For some kinds (fuse, ribbon,
/// cascade, cuckoo, windowed, shifting-association and shifting-multiplicity) it shows the hash and the rule by which they
/// answer.
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
    secret: SecretArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap explain seen.mayhap https://example.org/     each bit of the key, and the answer
  mayhap explain --json seen.mayhap ann               the same for a script
  mayhap explain redis://localhost#seen ann           a key in a filter on a server";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let (filter, _, _) = read(&self.filter, self.secret.secret()?.as_ref())?;
        self.secret
            .check_used(&filter.description(), &self.filter)?;
        let key = self.key.as_bytes();
        let explained = Explained::of(&filter, key)?;
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

/// What a filter knows of a key.
struct Explained {
    kind: Kind,
    scheme: String,
    /// The hash of the key, where the scheme makes one for all positions.
    hash: Option<String>,
    places: Vec<Places>,
    is_found: bool,
    why: String,
}

/// The places of a key in one array of bits, counters or cells.
struct Places {
    /// The layer, from 1 for the oldest, of a filter that has several.
    layer: Option<usize>,
    /// What is at a place.
    unit: &'static str,
    /// Each position, and what is there.
    values: Vec<(u64, u64)>,
}

impl Places {
    /// The bits at some positions.
    fn bits(bits: &Bitmap, positions: impl IntoIterator<Item = u64>) -> Places {
        let value = |position| (position, u64::from(bits.get(position)));
        Places {
            layer: None,
            unit: "bit",
            values: positions.into_iter().map(value).collect(),
        }
    }

    /// Numbers of this many bits each.
    fn numbers(
        unit: &'static str,
        bits: &Bitmap,
        width: u64,
        positions: impl Iterator<Item = u64>,
    ) -> Places {
        let mut distinct: Vec<u64> = Vec::new();
        for position in positions {
            if !distinct.contains(&position) {
                distinct.push(position);
            }
        }
        // No number lies across two words.
        let value = |position: u64| {
            let first = position * width;
            bits.word(first / 64) >> (first % 64) & (u64::MAX >> (64 - width))
        };
        Places {
            layer: None,
            unit,
            values: distinct.into_iter().map(|at| (at, value(at))).collect(),
        }
    }

    fn in_layer(self, layer: usize) -> Places {
        Places {
            layer: Some(layer + 1),
            ..self
        }
    }

    /// The first place that holds nothing.
    fn empty(&self) -> Option<u64> {
        let empty = self.values.iter().find(|(_, value)| *value == 0);
        empty.map(|(position, _)| *position)
    }
}

/// The places of a key in an empty filter of the same description, which are those that it sets.
fn set_by(filter: &AnyFilter, key: &[u8]) -> Result<Places> {
    let mut twin = AnyFilter::new(&filter.description())?;
    twin.insert(key)?;
    let positions: Vec<u64> = twin.parts()[0].ones().collect();
    Ok(Places::bits(filter.parts()[0], positions))
}

fn set_in_blocked(filter: &Blocked, key: &[u8]) -> Result<Places> {
    let mut twin = Blocked::new(filter.shape(), filter.digester().clone())?;
    twin.insert(key);
    let positions: Vec<u64> = twin.bits().ones().collect();
    Ok(Places::bits(filter.bits(), positions))
}

impl Explained {
    fn of(filter: &AnyFilter, key: &[u8]) -> Result<Explained> {
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
        let (places, rule) = places(filter, key)?;
        let rate = show_rate(filter.stats().rate);
        let because = because(&places);
        let why = match (is_found, description.kind) {
            (false, _) => format!("no, for certain: {because}{rule}"),
            (true, Kind::Cascade) => format!(
                "yes, if it is a key of either set: {rule}. About other keys a cascade knows nothing"
            ),
            (true, _) => format!(
                "maybe: {because}{rule}. It was inserted, or it is a false positive, as {rate} of absent keys are"
            ),
        };
        Ok(Explained {
            kind: description.kind,
            scheme: description.hashing.to_string(),
            hash,
            places,
            is_found,
            why,
        })
    }

    fn json(&self, name: &str, key: &[u8]) -> Value {
        let places = self.places.iter().map(|places| {
            let values = places.values.iter();
            let values =
                values.map(|(position, value)| json!({ "position": position, places.unit: value }));
            json!({ "layer": places.layer, "places": values.collect::<Vec<_>>() })
        });
        json!({
            "filter": name,
            "key": json_text(key),
            "kind": self.kind.name(),
            "scheme": self.scheme,
            "hash": self.hash,
            "layers": places.collect::<Vec<_>>(),
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
            if let Some(layer) = places.layer {
                row("layer", &layer.to_string());
            }
            for (position, value) in &places.values {
                row(
                    places.unit,
                    &format!("{} is {value}", show_count(*position)),
                );
            }
        }
        row("answer", &self.why);
        text
    }
}

/// Why the places alone lead to the answer, if they do.
fn because(places: &[Places]) -> String {
    match places {
        [] => String::new(),
        [places] => match places.empty() {
            Some(position) => format!("{} {} is 0", places.unit, show_count(position)),
            None if places.unit == "bit" => "all of its bits are 1".into(),
            None => format!("none of its {}s is 0", places.unit),
        },
        layers => {
            let full = layers.iter().find(|places| places.empty().is_none());
            match full.and_then(|places| places.layer) {
                Some(layer) => format!("all of its bits in layer {layer} are 1"),
                None => "in every layer one of its bits is 0".into(),
            }
        }
    }
}

/// Where a filter keeps a key, and what else its answer depends on.
fn places(filter: &AnyFilter, key: &[u8]) -> Result<(Vec<Places>, String)> {
    let none = String::new();
    Ok(match filter {
        AnyFilter::Bloom(bloom) => {
            let positions = bloom.scheme().positions(key, bloom.shape());
            (vec![Places::bits(bloom.bits(), positions)], none)
        }
        AnyFilter::Blocked(blocked) => (vec![set_in_blocked(blocked, key)?], none),
        AnyFilter::SplitBlock(_) | AnyFilter::Shifting(_) => (vec![set_by(filter, key)?], none),
        AnyFilter::Counting(counting) => {
            let positions = counting.digester().digest(key).probe(counting.shape());
            let width = u64::from(counting.width().bits());
            let counters = Places::numbers("counter", counting.bits(), width, positions);
            (vec![counters], none)
        }
        AnyFilter::Spectral(spectral) => {
            let positions = spectral.digester().digest(key).probe(spectral.shape());
            let width = u64::from(spectral.width().bits());
            let counters = Places::numbers("counter", spectral.bits(), width, positions);
            let count = show_count(spectral.count(key));
            let rule = match spectral.policy() {
                SpectralPolicy::RecurringMinimum => {
                    format!("; with its second counters the count is {count}")
                }
                _ => format!("; the lowest of them, {count}, is its count"),
            };
            (vec![counters], rule)
        }
        AnyFilter::Spatial(spatial) => {
            let positions = spatial
                .digester()
                .digest(key)
                .probe(spatial.shape().cells());
            let width = spatial.shape().width();
            let cells = Places::numbers("cell", spatial.bits(), width, positions);
            let rule = match spatial.area(key) {
                Some(area) => format!("; the lowest of them, {area}, is its area"),
                None => none,
            };
            (vec![cells], rule)
        }
        AnyFilter::Guarded(guarded) => {
            let places = set_in_blocked(guarded.filter(), key)?;
            let listed = places.empty().is_none() && !guarded.contains(key);
            let rule = match listed {
                true => ", but it is on the list of keys that are known not to be there",
                false => "",
            };
            (vec![places], rule.into())
        }
        AnyFilter::Scalable(scalable) => {
            let layers = scalable.filters().enumerate();
            let places =
                layers.map(|(i, layer)| set_in_blocked(layer, key).map(|it| it.in_layer(i)));
            (places.collect::<Result<_>>()?, none)
        }
        AnyFilter::Sliced(sliced) => {
            let digest = sliced.digester().digest(key);
            // The first part is no layer.
            let parts = sliced.parts().into_iter().skip(1);
            let layers = parts.zip(sliced.positions(digest)).enumerate();
            let places =
                layers.map(|(i, (bits, positions))| Places::bits(bits, positions).in_layer(i));
            (places.collect(), none)
        }
        other => (Vec::new(), rule(other, key)),
    })
}

/// The rule by which a kind answers that keeps no bits of single keys.
fn rule(filter: &AnyFilter, key: &[u8]) -> String {
    let is_found = filter.contains(key);
    let is = |found: &str, absent: &str| {
        if is_found {
            found.into()
        } else {
            absent.into()
        }
    };
    match filter {
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
        AnyFilter::Windowed(_) => is(
            "a generation that is still in the window has all of its bits",
            "no generation that is still in the window has all of its bits",
        ),
        AnyFilter::Cascade(_) => is(
            "the number of levels that have it, before the first that has not, is odd",
            "the number of levels that have it, before the first that has not, is even",
        ),
        _ => is(
            "what its slots combine to is the fingerprint of its hash",
            "what its slots combine to is not the fingerprint of its hash",
        ),
    }
}
