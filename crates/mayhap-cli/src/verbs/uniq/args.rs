//! The options of `mayhap uniq`, and which of them go together.

use std::path::PathBuf;

use mayhap_program::amounts;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::input::Input;

use super::every::Every;
use crate::filters::held::WaitArgs;
use crate::filters::is_same;
use crate::filters::promise::{GrowArgs, PromiseArgs};
use crate::filters::secret::SecretArgs;
use crate::keys::{KeyArgs, Print};
use crate::output::Output;
use crate::plan::{SIZE_OPTIONS, SizeArgs};

/// Prints each line the first time it is seen.
///
/// Lines stay in order, and one pass is enough. No line is lost in practice: the number expected to be lost is printed at the
/// end. With --rate, --memory or --seen a filter is used, whose expected loss is printed too.
///
/// With --seen a signal (SIGINT, SIGTERM, SIGHUP) stops the run: it prints what it has chosen, and saves the filter.
///
/// Exit codes: 0 when all was printed, 2 on an error, 128 and the number of the signal that stopped it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files of lines; `-` or nothing is standard input
    pub(super) files: Vec<PathBuf>,

    /// Print each distinct line once, after its count
    #[arg(short, long, group = "what", conflicts_with_all = WHOLE, conflicts_with_all = SIZE_OPTIONS)]
    pub(super) count: bool,

    /// Print only repeated lines, once each
    #[arg(short = 'd', long, group = "what", conflicts_with = "how", conflicts_with_all = SIZE_OPTIONS)]
    pub(super) repeated: bool,

    /// Print only lines that occur once
    #[arg(short = 'u', long, group = "what", conflicts_with_all = WHOLE, conflicts_with_all = SIZE_OPTIONS)]
    pub(super) unique: bool,

    /// Print only the repeats: all lines but the first
    #[arg(short = 'v', long, group = "what")]
    pub(super) invert: bool,

    /// Print the whole line, or its key
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHAT",
        hide_short_help = true,
        hide_default_value = true
    )]
    pub(super) print: Print,

    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,

    /// Lose no line for certain, in two passes
    #[arg(long, group = "how", conflicts_with_all = SIZE_OPTIONS)]
    pub(super) exact: bool,

    /// Use this much memory, such as 64M
    #[arg(
        long, value_name = "SIZE", value_parser = amounts::bytes, group = "how",
        conflicts_with_all = SIZE_OPTIONS
    )]
    pub(super) memory: Option<u64>,

    #[command(flatten)]
    pub(super) size: SizeArgs,

    /// Start from this filter, and save it at the end
    #[arg(long, value_name = "FILTER", group = "how")]
    pub(super) seen: Option<PathBuf>,

    /// Save it now and then: every 64M, 30s or 64M,30s
    #[arg(
        long, value_name = "EVERY", value_parser = Every::parse, requires = "seen",
        num_args = 0..=1, require_equals = true, default_missing_value = Every::DEFAULT
    )]
    pub(super) checkpoint: Option<Every>,

    /// With --seen: read the input again from its beginning
    #[arg(long, requires = "seen", hide_short_help = true)]
    pub(super) new_run: bool,

    #[command(flatten)]
    pub(super) grow: GrowArgs,

    #[command(flatten)]
    pub(super) promise: PromiseArgs,

    #[command(flatten)]
    pub(super) secret: SecretArgs,

    #[command(flatten)]
    pub(super) wait: WaitArgs,

    #[command(flatten)]
    pub(super) key: KeyArgs,
}

/// The options that do not go with counts.
const WHOLE: [&str; 2] = ["exact", "seen"];

const EXAMPLES: &str = "Examples:
  mayhap uniq access.log                   each distinct line, in order
  mayhap uniq -t , -k 2 table.csv          the first line of each field 2
  mayhap uniq --seen seen.mayhap urls.txt  only lines that are new since last time
  mayhap uniq --memory 64M access.log      in this much memory";

impl Args {
    /// Returns whether new lines are printed, instead of repeats.
    pub(super) fn prints_new(&self) -> bool {
        !self.invert
    }

    /// The size of the filter that is made for this run alone, if there is one.
    pub(super) fn filter(&self) -> Result<Option<SizeArgs>> {
        let size = self.size.with_defaults()?;
        let counts = self.count || self.repeated || self.unique;
        let is_other_way = self.seen.is_some() || self.memory.is_some() || self.exact || counts;
        Ok(Some(size).filter(|size| !is_other_way && size.rate.is_some()))
    }

    /// Refuses options that would change nothing.
    pub(super) fn check_options(&self) -> Result<()> {
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
        let Some(option) = self.size.given().or(secret).or(accepts) else {
            return Ok(());
        };
        let text = format!("{option} is for a filter, and there is none: hashes are kept");
        Err(Failure::new(text).hint(format!(
            "--rate P or --seen FILTER uses a filter; else leave out {option}"
        )))
    }

    pub(super) fn open_output(&self) -> Result<Output> {
        match &self.output {
            Some(path) => Output::file(path),
            None => Output::standard(),
        }
    }

    /// Describes in words what is printed of the lines: with other options the same input counts as another.
    pub(super) fn what_is_printed(&self) -> String {
        let lines = if self.invert { "repeats" } else { "first" };
        format!("{lines}; {}", self.key.in_words())
    }

    /// Refuses options that need a filter file with the progress of a run in it.
    pub(super) fn check_without_memory(&self) -> Result<()> {
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

    /// Refuses an output that is an input or the filter: it would be cut off before it is read.
    pub(super) fn refuse_to_write_what_is_read(&self, sources: &[Input]) -> Result<()> {
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
        match &self.seen {
            Some(seen) if is_same(seen, path) => refused("filter and output"),
            _ => Ok(()),
        }
    }
}
