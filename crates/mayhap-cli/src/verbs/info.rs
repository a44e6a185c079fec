//! `mayhap info`: what a filter is, and how full.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use mayhap::format::Format;
use mayhap::format::native::Metadata;
use mayhap::{AnyFilter, Assemble as _, Filter as _, Hashing, Kind, Stats, bits::Bits};
use mayhap_program::amounts::{show_bytes, show_count, show_rate, show_time};
use mayhap_program::exit::Exit;
use mayhap_program::failure::Result;
use mayhap_program::fills::fills;
use mayhap_program::global::Global;
use mayhap_program::shown::shown;
use serde_json::{Value, json};

use crate::filters::held::Held;
use crate::filters::{FormatArgs, inspect, is_gzip, name_of, read};
use crate::given::NamedArgs;
use crate::output::{self, print};
use crate::server::{Server, failed};
use crate::verbs::verify;

/// Shows what filters are, and how full.
///
/// Shows the kind, shape and scheme of each filter, how full it is, how many keys it holds, and its rate now against the
/// rate promised. Every checksum is compared. No secret is needed. A filter that cannot be read is reported, and the
/// others are shown.
///
/// Exit codes: 0 when all filters are whole, 2 when one is not.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only compare checksums, and print a line for each filter
    #[arg(long)]
    verify: bool,

    #[command(flatten)]
    named: NamedArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap info seen.mayhap             what it is, and how full
  mayhap info --json *.mayhap         an object for each, for a script
  mayhap info --verify *.mayhap       whether each file is as it was written
  mayhap info redis://localhost#seen  a filter on a server";

impl Args {
    /// The same with checksums alone: `mayhap verify`.
    pub(crate) fn of_checksums(self) -> Args {
        Args {
            verify: true,
            ..self
        }
    }

    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        self.named.open.secret.note_unneeded();
        if self.verify {
            return verify::run(&self.named, global);
        }
        let (mut shown, mut exit) = (0, Exit::Success);
        for path in &self.named.filters {
            let facts = match Facts::of(path, self.named.open.format) {
                Ok(facts) => facts,
                Err(failure) => {
                    failure.report();
                    exit = Exit::Failure;
                    continue;
                }
            };
            if global.json {
                output::print_json(&facts.json())?;
                continue;
            }
            if shown > 0 {
                print("\n")?;
            }
            shown += 1;
            print(&facts.text())?;
        }
        Ok(exit)
    }
}

/// Prints what `info --json` does.
pub(crate) fn print_json(held: &Held) -> Result<()> {
    let Held {
        filter,
        metadata,
        format,
        ..
    } = held;
    output::print_json(&Facts::known(held.path(), filter, metadata.clone(), *format).json())
}

/// The facts that are shown of a filter.
struct Facts {
    name: String,
    place: &'static str,
    kind: Kind,
    scheme: String,
    bits: u64,
    hashes: u32,
    stats: Stats,
    picture: String,
    metadata: Metadata,
    /// The time when a server deletes it.
    expires: Option<SystemTime>,
    /// The place on a server for its bits.
    home: Option<&'static str>,
}

impl Facts {
    fn of(path: &Path, format: FormatArgs) -> Result<Facts> {
        if Server::is_named_by(path) {
            // Counted on the server: nothing is copied.
            let mut inspected = Server::inspect(path)?;
            return Ok(Facts {
                name: name_of(path),
                place: "redis",
                kind: inspected.kind(),
                scheme: scheme(inspected.hashing()),
                bits: inspected.bits(),
                hashes: inspected.hashes(),
                stats: inspected.stats().map_err(failed)?,
                picture: String::new(),
                metadata: Metadata::default(),
                expires: inspected.expires().map_err(failed)?,
                home: Some(inspected.home().map_err(failed)?.name()),
            });
        }
        if is_gzip(path)? || format.is_foreign() {
            // A format of another program, which has no secret.
            let (filter, metadata, format) = read(path, format, None)?;
            return Ok(Facts::known(path, &filter, metadata, format));
        }
        let inspected = inspect(path, format)?;
        Ok(Facts {
            name: name_of(path),
            place: inspected.format().name(),
            kind: inspected.kind(),
            scheme: scheme(inspected.hashing().as_ref()),
            bits: inspected.bits(),
            hashes: inspected.hashes(),
            stats: inspected.stats(),
            picture: picture(&inspected.parts()),
            metadata: inspected.metadata().clone(),
            expires: None,
            home: None,
        })
    }

    fn known(path: &Path, filter: &AnyFilter, metadata: Metadata, format: Format) -> Facts {
        let description = filter.description();
        Facts {
            name: name_of(path),
            place: format.name(),
            kind: description.kind,
            scheme: description.hashing.to_string(),
            bits: description.bits,
            hashes: description.hashes,
            stats: filter.stats(),
            picture: picture(&filter.parts()),
            metadata,
            expires: None,
            home: None,
        }
    }

    /// The time until a server deletes it.
    fn left(&self) -> Option<Duration> {
        let left = self.expires?.duration_since(SystemTime::now());
        Some(left.unwrap_or_default())
    }

    fn json(&self) -> Value {
        let Facts {
            stats, metadata, ..
        } = self;
        let mut facts = json!({
            "filter": self.name,
            "format": self.place,
            "kind": self.kind.name(),
            "scheme": self.scheme.clone(),
            "bits": self.bits,
            "hashes": self.hashes,
            "capacity": stats.promise.map(|promise| promise.keys),
            "promised_rate": stats.promise.map(|promise| promise.rate),
            "keys": stats.keys,
            "rate": stats.rate,
            "ones": stats.ones,
            "fill": stats.fill(),
            "bits_per_key": stats.bits_per_key(),
            "over_capacity": stats.is_over_capacity(),
            "label": metadata.label,
            "created_by": metadata.created_by,
        });
        if let Some(run) = metadata.progress {
            facts["run"] = json!({
                "finished": run.is_finished,
                "input_bytes": run.input_bytes,
                "output_start": run.output_start,
                "output_end": run.output_end,
            });
        }
        if let Some(home) = self.home {
            facts["home"] = home.into();
        }
        if let Some(left) = self.left() {
            facts["expires_in"] = left.as_secs_f64().into();
        }
        facts
    }

    fn text(&self) -> String {
        let Facts {
            stats, metadata, ..
        } = self;
        let mut text = format!("{}\n", shown(&self.name));
        let mut row = |name: &str, value: String| {
            writeln!(text, "  {name:<9} {value}").expect("a string takes all");
        };
        row(
            "kind",
            match self.home {
                Some("module") => format!("{}, in the module of a server", self.kind),
                Some(home) => format!("{}, in {home} of a server", self.kind),
                None => format!("{}, {} format", self.kind, self.place),
            },
        );
        row(
            "scheme",
            match (self.scheme.as_str(), self.home) {
                ("universal", None) => "universal, by its own key, in the file".into(),
                ("universal", Some(_)) => "universal, by its own key, on the server".into(),
                (scheme, _) => scheme.into(),
            },
        );
        let bytes = show_bytes(self.bits.div_ceil(8));
        let bits = show_count(self.bits);
        row(
            "shape",
            format!("{bits} bits ({bytes}), {} hashes", self.hashes),
        );
        let keys = match stats.keys {
            Some(keys) => format!("about {}", show_count(keys.round() as u64)),
            None => "more than can be estimated".into(),
        };
        match stats.promise {
            Some(promise) => {
                row("keys", format!("{keys} of {}", show_count(promise.keys)));
                let (now, promised) = (show_rate(stats.rate), show_rate(promise.rate));
                row(
                    "rate",
                    format!("{now} now, {promised} promised at capacity"),
                );
            }
            None => {
                row("keys", keys);
                row(
                    "rate",
                    format!("{} now, none promised", show_rate(stats.rate)),
                );
            }
        }
        row(
            "fill",
            format!("{:.1} %  {}", stats.fill() * 100.0, self.picture),
        );
        if let Some(left) = self.left() {
            row("expires", format!("in {}", show_time(left)));
        }
        if !metadata.label.is_empty() {
            row("label", shown(&metadata.label).to_string());
        }
        if !metadata.created_by.is_empty() {
            row("made by", shown(&metadata.created_by).to_string());
        }
        if let Some(run) = metadata.progress {
            let bytes = show_bytes(run.input_bytes);
            let text = match run.is_finished {
                true => format!("finished: all {bytes} of its input"),
                false => format!("interrupted after {bytes} of input"),
            };
            row("last run", text);
        }
        if stats.is_over_capacity() {
            row(
                "WARNING",
                "past its capacity: its rate is above the one promised".into(),
            );
        }
        text
    }
}

/// The name of the scheme; under a secret that is not known it is always SipHash.
fn scheme(hashing: Option<&Hashing>) -> String {
    hashing.map_or_else(|| "siphash".into(), Hashing::to_string)
}

/// The fill of up to forty stretches of the bits, a bar each.
fn picture<B: Bits>(parts: &[&B]) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    // The lowest bar is for what is not quite empty.
    let bar = |fill: f64| BARS[(fill * 8.0).ceil().min(8.0) as usize];
    let ones = |word: u64| f64::from(word.count_ones()) / 64.0;
    match largest(parts) {
        Some(bits) => format!("[{}]", fills(bits, 40, ones).map(bar).collect::<String>()),
        None => String::new(),
    }
}

/// The part that matters: the largest.
fn largest<'a, B: Bits>(parts: &[&'a B]) -> Option<&'a B> {
    parts.iter().copied().max_by_key(|bits| bits.size())
}
