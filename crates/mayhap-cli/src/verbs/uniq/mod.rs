//! `mayhap uniq`: each line the first time it is seen, in input order.
//!
//! By default a 64-bit hash of every distinct key is kept, so that no line is lost in practice. A filter
//! takes a few bits per key instead, and loses some: how many is stated. `--exact` looks a second time.

mod budget;
mod checkpoint;
mod counts;
mod distinct;
mod exact;
mod first;
mod kept;
mod losses;
mod repeats;
mod seen;

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::amounts::{self, show_bytes, show_count};
use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Failure, Result, say};
use crate::filters::{GrowArgs, PromiseArgs, SecretArgs, WaitArgs};
use crate::input::Input;
use crate::keys::{KeyArgs, Print};
use crate::output::Output;
use crate::plan;
use crate::verbs::new::PlanArgs;

use checkpoint::Every;
use losses::Loss;
use seen::Seen;

/// Prints each line the first time it is seen.
///
/// Lines stay in order, and one pass is enough.
///
/// By default no line is lost in practice: the number expected to be lost is printed at the end, and is
/// below 0.001 for a hundred million distinct lines. With --rate, --memory or --seen a filter is used
/// instead; what that is expected to lose is printed too.
///
/// With --seen a signal (SIGINT, SIGTERM, SIGHUP) stops the run: it prints what it has chosen, and saves the filter.
///
/// Exit codes: 0 when all was printed, 2 on an error, 128 and the number of the signal that stopped it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files of lines; `-` or nothing is standard input
    files: Vec<PathBuf>,

    /// Print each distinct line once, after the number of times it occurs. What is not a file is read once, and its
    /// distinct lines are kept in memory until its end
    #[arg(short, long, group = "what", conflicts_with_all = WHOLE, conflicts_with_all = plan::OPTIONS)]
    count: bool,

    /// Print only repeated lines, once each, at their second occurrence
    #[arg(short = 'd', long, group = "what", conflicts_with = "how", conflicts_with_all = plan::OPTIONS)]
    repeated: bool,

    /// Print only lines that occur once. What is not a file is read once, as for -c
    #[arg(short = 'u', long, group = "what", conflicts_with_all = WHOLE, conflicts_with_all = plan::OPTIONS)]
    unique: bool,

    /// Print only the repeats: every line but the first of its key
    #[arg(short = 'v', long, group = "what")]
    invert: bool,

    /// Lose no line for certain: two passes, in which suspected repeats are compared byte for byte
    #[arg(long, group = "how", conflicts_with_all = plan::OPTIONS)]
    exact: bool,

    /// Use this much memory: hashes as long as they fit, then a filter. With -c or -u: lines as long as they fit, then
    /// a temporary file. The variable MAYHAP_MEMORY is the default where no other way is asked for
    #[arg(
        long, value_name = "SIZE", value_parser = amounts::bytes, group = "how",
        conflicts_with_all = plan::OPTIONS
    )]
    memory: Option<u64>,

    /// Start from this filter, and save it with the lines seen now. It is made if it does not exist
    #[arg(long, value_name = "FILTER", group = "how")]
    seen: Option<PathBuf>,

    /// Save the filter now and then, so that a run that was killed continues there: after this much input, such as
    /// 64M, and after this time, such as 30s, also while the input waits. 1GiB and 30s unless given; 64M,10s is both
    #[arg(
        long, value_name = "SIZE|TIME", value_parser = Every::parse, requires = "seen",
        num_args = 0..=1, require_equals = true, default_missing_value = Every::DEFAULT
    )]
    checkpoint: Option<Every>,

    /// With --seen: read the input from its beginning, wherever the last run on this filter stopped, and print what
    /// the filter has not seen
    #[arg(long, requires = "seen")]
    new_run: bool,

    /// What to print of each line
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    print: Print,

    /// Write to a file instead of standard output. With --seen it continues where the filter does
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    plan: PlanArgs,

    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    key: KeyArgs,

    #[command(flatten)]
    grow: GrowArgs,

    #[command(flatten)]
    promise: PromiseArgs,

    #[command(flatten)]
    secret: SecretArgs,
}

/// What counts do not go with: they are not kept in a filter, nor of keys byte for byte.
const WHOLE: [&str; 2] = ["exact", "seen"];

const EXAMPLES: &str = "Examples:
  mayhap uniq access.log                       each distinct line, in order
  mayhap uniq -t , -k 2 table.csv              the first line of each value of field 2
  mayhap uniq --seen seen.mayhap urls.txt      only lines that earlier runs did not see
  mayhap uniq --memory 64M access.log          in this much memory, with the loss that it states";

impl Args {
    pub(crate) fn run(mut self, global: &Global) -> Result<Exit> {
        self.check_options()?;
        self.key = self.key.printing(self.print);
        let mut sources = Input::open_all(&self.files)?;
        self.refuse_to_write_what_is_read(&sources)?;
        if self.count {
            return counts::run(&mut self, &sources, global);
        }
        if self.unique || self.repeated {
            return repeats::run(&mut self, &sources, global);
        }
        if self.exact {
            for source in &mut sources {
                source.keep(global.quiet)?;
            }
            return exact::run(&self, &sources, global);
        }
        let seen = self.open_seen(global)?;
        first::run(&self, seen, sources, global)
    }

    /// Whether a line is printed for being new, or for being a repeat.
    fn prints_new(&self) -> bool {
        !self.invert
    }

    /// The filter that is made for this run alone, where one is to be.
    fn filter(&self) -> Result<Option<PlanArgs>> {
        let plan = self.plan.with_defaults()?;
        let counts = self.count || self.repeated || self.unique;
        let is_other_way = self.seen.is_some() || self.memory.is_some() || self.exact || counts;
        Ok(Some(plan).filter(|plan| !is_other_way && (plan.rate.is_some() || plan.is_shape())))
    }

    /// Refuses options that would change nothing.
    fn check_options(&self) -> Result<()> {
        self.key.check()?;
        if self.seen.is_some() {
            return Ok(());
        }
        // The parser drops a requirement that something else on the line excludes.
        let of_seen = [
            ("--checkpoint", self.checkpoint.is_some()),
            ("--new-run", self.new_run),
            ("--grow", self.grow.is_asked()),
            ("--wait", self.wait.is_asked()),
        ];
        if let Some((option, _)) = of_seen.iter().find(|(_, is_given)| *is_given) {
            let text = format!("{option} is for a filter that is saved, and none is");
            let hint = format!("--seen FILTER saves one; else leave out {option}");
            return Err(Failure::new(text).hint(hint));
        }
        if self.filter()?.is_some() {
            return Ok(());
        }
        let secret = self.secret.is_asked().then_some("--secret-file");
        let accepts = self.promise.accepts().then_some("--accept-rate");
        let Some(option) = self.plan.given().or(secret).or(accepts) else {
            return Ok(());
        };
        let text = format!("{option} is for a filter, and there is none: hashes are kept");
        Err(Failure::new(text).hint(format!(
            "--rate P or --seen FILTER uses a filter; else leave out {option}"
        )))
    }

    fn open_seen(&mut self, global: &Global) -> Result<Seen> {
        let (promise, secret) = (self.promise, &self.secret);
        if let Some(path) = &self.seen {
            return Seen::saved(
                path, &self.plan, self.grow, self.wait, secret, promise, global,
            );
        }
        if let Some(plan) = self.filter()? {
            return Seen::filter(&plan, secret, promise);
        }
        let default = || plan::default("MAYHAP_MEMORY", amounts::bytes);
        match self
            .memory
            .map_or_else(default, |memory| Ok(Some(memory)))?
        {
            Some(memory) => Seen::within(self.key.lines.keep_to(memory)),
            None => Seen::hashes(global),
        }
    }

    fn open_output(&self) -> Result<Output> {
        match &self.output {
            Some(path) => Output::file(path),
            None => Output::standard(),
        }
    }

    /// What of the lines is printed, in words: with other options the same input is another one.
    fn what_is_printed(&self) -> String {
        let lines = if self.invert { "repeats" } else { "first" };
        format!("{lines}; {}", self.key.in_words())
    }

    /// Refuses what needs a filter's file that can hold how far a run came.
    fn check_without_memory(&self) -> Result<()> {
        if self.seen.is_none() {
            return Ok(());
        }
        let hint = "a filter in a file of our own format can: see `mayhap convert`";
        if self.checkpoint.is_some() {
            let text = "this filter cannot hold how far a run came, as --checkpoint needs";
            return Err(Failure::new(text).hint(hint));
        }
        let Some(path) = self.output.as_ref().filter(|_| !self.new_run) else {
            return Ok(());
        };
        match path.metadata() {
            Ok(metadata) if metadata.is_file() && metadata.len() > 0 => {
                let text = format!(
                    "{} is there already, and this filter cannot hold whether its lines are of the same run",
                    path.display()
                );
                Err(Failure::new(text).hint(format!("--new-run begins it again; {hint}")))
            }
            _ => Ok(()),
        }
    }

    /// A file that is read must not be cut off to be written.
    fn refuse_to_write_what_is_read(&self, sources: &[Input]) -> Result<()> {
        let Some(path) = &self.output else {
            return Ok(());
        };
        let refused = |what: &str| {
            Err(Failure::new(format!("{} is {what}", path.display()))
                .hint("write to another file, and rename it"))
        };
        if sources.iter().any(|source| source.is_file(path)) {
            return refused("input and output");
        }
        let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match &self.seen {
            Some(seen) if canonical(seen) == canonical(path) => refused("filter and output"),
            _ => Ok(()),
        }
    }
}

/// What a run comes to.
pub(super) struct Summary {
    lines: u64,
    distinct: u64,
    /// The number of distinct lines expected to be taken for repeats.
    lost: Loss,
    memory: u64,
    store: &'static str,
}

impl Summary {
    fn print(&self, global: &Global) {
        if global.json {
            let summary = json!({
                "lines": self.lines,
                "distinct": self.distinct,
                "expected_losses": self.lost.lines,
                "expected_losses_error": self.lost.error,
                "memory": self.memory,
                "store": self.store,
            });
            say(summary);
        } else if !global.quiet {
            let (lines, distinct) = (show_count(self.lines), show_count(self.distinct));
            let (lost, memory) = (self.lost.show(), show_bytes(self.memory));
            let store = self.store;
            say(format_args!(
                "{lines} lines, {distinct} distinct; {lost} distinct lines expected lost; {memory} of {store}"
            ));
        }
    }
}
