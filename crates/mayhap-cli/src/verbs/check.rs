//! `mayhap check`: which lines have keys in a filter.

use std::fs;
use std::path::Path;

use mayhap::file::Mapped;
use mayhap::{AnyFilter, SecretKey};
use serde_json::json;

use crate::batch::Asked;
use crate::block::Block;
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::filters::{explain, read};
use crate::given::GivenArgs;
use crate::keys::{Keyless, Print};
use crate::output::{Output, print, print_json};
use crate::pipeline::{self, Sink};
use crate::server::Server;

/// Prints the lines whose keys are in the filter: those that are not are certainly absent, those that are
/// printed may be false positives at the filter's rate. Exit codes are grep's: 0 when a line was chosen, 1
/// when none was, 2 for an error.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Choose the lines whose keys are not in the filter
    #[arg(short = 'v', long)]
    invert: bool,

    /// Print `yes` or `no` for every line
    #[arg(long, conflicts_with_all = ["count", "invert"])]
    answers: bool,

    /// Print how many lines are chosen, in place of them
    #[arg(short, long)]
    count: bool,

    /// Print nothing, and stop at the first line that is chosen
    #[arg(short = 'q', long = "silent", conflicts_with_all = ["answers", "count"])]
    silent: bool,

    /// What is printed of each chosen line
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", conflicts_with_all = ["answers", "count", "silent"])]
    print: Print,

    /// Do not read the file and compare its checksums first: begins at once on a filter of any size
    #[arg(long)]
    no_verify: bool,

    #[command(flatten)]
    given: GivenArgs,
}

impl Args {
    pub(crate) fn run(mut self, global: &Global) -> Result<Exit> {
        self.given.key = self.given.key.printing(self.print);
        if self.answers && self.given.key.keyless() == Keyless::Keep {
            let text =
                "--answers has no answer for a line without a key, which --keyless keep keeps";
            return Err(Failure::new(text).hint("use --keyless error, or --keyless skip"));
        }
        let (path, secret) = (&self.given.filter, self.given.secret.secret()?);
        if Server::is_named_by(path) {
            return self.look_up(Server::open(path, secret.as_ref())?, global);
        }
        if !self.no_verify && fits_in_memory(path) {
            let (filter, _, _) = read(path, secret.as_ref())?;
            return self.look_up(&filter, global);
        }
        match Opened::new(path, secret.as_ref())? {
            Opened::Mapped(mapped) => {
                if !self.no_verify {
                    let verified = mapped.verify_on(global.threads());
                    verified.map_err(|error| explain(error, path))?;
                }
                let exit = self.look_up(mapped.filter(), global)?;
                let unchanged = mapped.check_unchanged();
                unchanged.map_err(|error| {
                    Failure::from(error).hint(
                        "what was printed may be wrong: ask again, and replace filters by renaming, as \
                         mayhap does",
                    )
                })?;
                Ok(exit)
            }
            Opened::Loaded(filter) => self.look_up(&filter, global),
        }
    }

    fn look_up(&self, filter: impl Asked, global: &Global) -> Result<Exit> {
        let digester = filter.digester();
        let mut lookup = Lookup {
            filter,
            args: self,
            output: Output::standard()?.on_threads(global.threads())?,
            found: Vec::new(),
            chosen: 0,
            keys: 0,
            silent: self.silent || self.count || global.json,
        };
        match pipeline::run(self.given.blocks(digester)?, global, &mut lookup) {
            Err(Failure::ClosedPipe) if self.silent && lookup.chosen > 0 => {}
            outcome => outcome?,
        }
        lookup.output.flush()?;
        let (keys, chosen) = (lookup.keys, lookup.chosen);
        if global.json && !self.silent {
            print_json(&json!({ "keys": keys, "chosen": chosen, "invert": self.invert }))?;
        } else if self.count {
            print(&format!("{chosen}\n"))?;
        }
        Ok(Exit::found(chosen > 0))
    }
}

/// Whether a file can be read into the memory that is free: what is there cannot change any more. Where the
/// system does not say how much is, it is taken for enough.
fn fits_in_memory(path: &Path) -> bool {
    let Ok(about) = fs::read_to_string("/proc/meminfo") else {
        return true;
    };
    let available = about.lines().find_map(|line| {
        let kibibytes = line
            .strip_prefix("MemAvailable:")?
            .trim()
            .strip_suffix(" kB")?;
        kibibytes.parse::<u64>().ok()
    });
    let bytes = path.metadata().map_or(0, |metadata| metadata.len());
    available.is_none_or(|kibibytes| bytes / 1024 <= kibibytes)
}

/// A filter to be asked: where it lies, or in memory.
enum Opened {
    Mapped(Mapped),
    Loaded(AnyFilter),
}

impl Opened {
    fn new(path: &Path, secret: Option<&SecretKey>) -> Result<Opened> {
        let explain = |error| explain(error, path);
        match Mapped::open(path, secret) {
            Ok(mapped) => Ok(Opened::Mapped(mapped)),
            Err(error @ mayhap::Error::File { .. }) => Err(explain(error)),
            // Perhaps a filter of another program; if not, this tells what is wrong with our own.
            Err(_) => {
                let (filter, _, _) = read(path, secret)?;
                Ok(Opened::Loaded(filter))
            }
        }
    }
}

struct Lookup<'a, F> {
    filter: F,
    args: &'a Args,
    output: Output,
    found: Vec<bool>,
    chosen: u64,
    keys: u64,
    silent: bool,
}

impl<F: Asked> Sink for Lookup<'_, F> {
    fn take(&mut self, block: &Block) -> Result<()> {
        self.filter
            .contains_block(block, &self.args.given.key, &mut self.found)?;
        let invert = self.args.invert;
        let chosen = self.found.iter().map(|found| *found != invert);
        self.keys += block.count() as u64;
        self.chosen += chosen.clone().filter(|chosen| *chosen).count() as u64;
        if self.silent {
            if self.args.silent && self.chosen > 0 {
                return Err(Failure::ClosedPipe);
            }
            return Ok(());
        }
        if self.args.answers {
            for found in &self.found {
                self.output.write(if *found { b"yes\n" } else { b"no\n" })?;
            }
            return Ok(());
        }
        self.output.write_lines(block, chosen)
    }

    fn idle(&mut self) -> Result<()> {
        self.output.flush()
    }
}
