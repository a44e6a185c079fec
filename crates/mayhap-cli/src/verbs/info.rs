//! `mayhap info`: what a filter is, and how full.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use mayhap::format::Format;
use mayhap::format::native::Metadata;
use mayhap::{AnyFilter, Assemble as _, Bits, Description, Filter as _, SecretKey, Stats};
use serde_json::{Value, json};

use crate::amounts::{show_bytes, show_count, show_rate};
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::Result;
use crate::filters::{Held, SecretArgs, name_of, read, scheme_name};
use crate::output::{self, print};
use crate::server::Server;
use crate::shown::shown;

/// Tells kind, shape, scheme, fill, the keys in it, and the rate now against the rate promised.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The filters
    #[arg(required = true)]
    filters: Vec<PathBuf>,

    #[command(flatten)]
    secret: SecretArgs,
}

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let secret = self.secret.secret()?;
        for (i, path) in self.filters.iter().enumerate() {
            let facts = Facts::of(path, secret.as_ref())?;
            if global.json {
                output::print_json(&facts.json())?;
                continue;
            }
            if i > 0 {
                print("\n")?;
            }
            print(&facts.text())?;
        }
        Ok(Exit::Success)
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

/// What there is to tell of a filter.
struct Facts {
    name: String,
    place: &'static str,
    description: Description,
    stats: Stats,
    picture: String,
    metadata: Metadata,
}

impl Facts {
    fn of(path: &Path, secret: Option<&SecretKey>) -> Result<Facts> {
        if Server::is_named_by(path) {
            // Counted on the server: nothing is copied.
            let mut server = Server::open(path, secret)?;
            return Ok(Facts {
                name: name_of(path),
                place: "redis",
                description: server.description()?,
                stats: server.stats()?,
                picture: String::new(),
                metadata: Metadata::default(),
            });
        }
        let (filter, metadata, format) = read(path, secret)?;
        Ok(Facts::known(path, &filter, metadata, format))
    }

    fn known(path: &Path, filter: &AnyFilter, metadata: Metadata, format: Format) -> Facts {
        Facts {
            name: name_of(path),
            place: format.name(),
            description: filter.description(),
            stats: filter.stats(),
            picture: picture(&filter.parts()),
            metadata,
        }
    }

    fn json(&self) -> Value {
        let Facts {
            description,
            stats,
            metadata,
            ..
        } = self;
        let mut facts = json!({
            "filter": self.name,
            "format": self.place,
            "kind": description.kind.name(),
            "scheme": scheme_name(description),
            "bits": description.bits,
            "hashes": description.hashes,
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
        facts
    }

    fn text(&self) -> String {
        let Facts {
            description,
            stats,
            metadata,
            ..
        } = self;
        let mut text = format!("{}\n", shown(&self.name));
        let mut row = |name: &str, value: String| {
            writeln!(text, "  {name:<9} {value}").expect("a string takes all");
        };
        row(
            "kind",
            match self.place {
                "redis" => format!("{}, on a server", description.kind),
                format => format!("{}, {format} format", description.kind),
            },
        );
        row("scheme", scheme_name(description));
        let bytes = show_bytes(description.bits.div_ceil(8));
        let bits = show_count(description.bits);
        row(
            "shape",
            format!("{bits} bits ({bytes}), {} hashes", description.hashes),
        );
        let keys = match stats.keys {
            Some(keys) => format!("about {}", show_count(keys.round() as u64)),
            None => "more than it can tell".into(),
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

/// The fill of up to forty stretches of the bits, a bar each.
fn picture<B: Bits>(parts: &[&B]) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    // The lowest bar is for what is not quite empty.
    let bar = |fill: f64| BARS[(fill * 8.0).ceil().min(8.0) as usize];
    match largest(parts) {
        Some(bits) => format!("[{}]", fills(bits, 40).map(bar).collect::<String>()),
        None => String::new(),
    }
}

/// The part that matters: the largest.
pub(crate) fn largest<'a, B: Bits>(parts: &[&'a B]) -> Option<&'a B> {
    parts.iter().copied().max_by_key(|bits| bits.size())
}

/// The fill of up to so many stretches of the bits, from a sample of each.
pub(crate) fn fills<B: Bits>(bits: &B, stretches: u64) -> impl Iterator<Item = f64> {
    let words = bits.size().div_ceil(64).max(1);
    let stretches = words.min(stretches);
    (0..stretches).map(move |stretch| {
        let range = words * stretch / stretches..words * (stretch + 1) / stretches;
        let step = ((range.end - range.start) / 4096).max(1) as usize;
        let (mut ones, mut seen) = (0, 0);
        for word in range.step_by(step) {
            ones += u64::from(bits.word(word).count_ones());
            seen += 64;
        }
        ones as f64 / f64::from(seen)
    })
}
