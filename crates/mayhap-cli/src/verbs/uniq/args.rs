//! The options of `mayhap uniq`, and which of them go together.

use std::path::{Path, PathBuf};

use mayhap_program::amounts;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::input::Input;

use super::every::Every;
use crate::filters::held::WaitArgs;
use crate::filters::promise::{GrowArgs, PromiseArgs};
use crate::filters::secret::SecretArgs;
use crate::keys::{KeyArgs, Print};
use crate::output::Output;
use crate::plan::{self, PlanArgs};

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
    pub(super) files: Vec<PathBuf>,

    /// Print each distinct line once, after the number of times it occurs. Pipes are read once; their distinct lines stay
    /// in memory
    #[arg(short, long, group = "what", conflicts_with_all = WHOLE, conflicts_with_all = plan::OPTIONS)]
    pub(super) count: bool,

    /// Print only repeated lines, once each, at their second occurrence
    #[arg(short = 'd', long, group = "what", conflicts_with = "how", conflicts_with_all = plan::OPTIONS)]
    pub(super) repeated: bool,

    /// Print only lines that occur once. Pipes are read once, as for -c
    #[arg(short = 'u', long, group = "what", conflicts_with_all = WHOLE, conflicts_with_all = plan::OPTIONS)]
    pub(super) unique: bool,

    /// Print only the repeats: every line but the first of its key
    #[arg(short = 'v', long, group = "what")]
    pub(super) invert: bool,

    /// Lose no line for certain: two passes, in which suspected repeats are compared byte for byte
    #[arg(long, group = "how", conflicts_with_all = plan::OPTIONS)]
    pub(super) exact: bool,

    /// Use this much memory: hashes as long as they fit, then a filter. With -c or -u: lines as long as they fit, then
    /// a temporary file. The variable MAYHAP_MEMORY is the default where no other way is asked for
    #[arg(
        long, value_name = "SIZE", value_parser = amounts::bytes, group = "how",
        conflicts_with_all = plan::OPTIONS
    )]
    pub(super) memory: Option<u64>,

    /// Start from this filter, and save it with the lines seen now. It is made if it does not exist
    #[arg(long, value_name = "FILTER", group = "how")]
    pub(super) seen: Option<PathBuf>,

    /// Save the filter now and then, so that a run that was killed continues there: after this much input, such as
    /// 64M, and after this time, such as 30s, also while the input waits. 1GiB and 30s unless given; 64M,10s is both
    #[arg(
        long, value_name = "SIZE|TIME", value_parser = Every::parse, requires = "seen",
        num_args = 0..=1, require_equals = true, default_missing_value = Every::DEFAULT
    )]
    pub(super) checkpoint: Option<Every>,

    /// With --seen: read the input from its beginning, wherever the last run on this filter stopped, and print what
    /// the filter has not seen
    #[arg(long, requires = "seen")]
    pub(super) new_run: bool,

    /// Print the whole line, or its key
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    pub(super) print: Print,

    /// Write to a file instead of standard output. With --seen it continues where the filter does
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,

    #[command(flatten)]
    pub(super) plan: PlanArgs,

    #[command(flatten)]
    pub(super) wait: WaitArgs,

    #[command(flatten)]
    pub(super) key: KeyArgs,

    #[command(flatten)]
    pub(super) grow: GrowArgs,

    #[command(flatten)]
    pub(super) promise: PromiseArgs,

    #[command(flatten)]
    pub(super) secret: SecretArgs,
}

/// The options that do not go with counts.
const WHOLE: [&str; 2] = ["exact", "seen"];

const EXAMPLES: &str = "Examples:
  mayhap uniq access.log                       each distinct line, in order
  mayhap uniq -t , -k 2 table.csv              the first line of each value of field 2
  mayhap uniq --seen seen.mayhap urls.txt      only lines that earlier runs did not see
  mayhap uniq --memory 64M access.log          in this much memory, with the loss that it states";

impl Args {
    /// Returns whether new lines are printed, instead of repeats.
    pub(super) fn prints_new(&self) -> bool {
        !self.invert
    }

    /// The filter that is made for this run alone, if there is one.
    pub(super) fn filter(&self) -> Result<Option<PlanArgs>> {
        let plan = self.plan.with_defaults()?;
        let counts = self.count || self.repeated || self.unique;
        let is_other_way = self.seen.is_some() || self.memory.is_some() || self.exact || counts;
        Ok(Some(plan).filter(|plan| !is_other_way && (plan.rate.is_some() || plan.is_shape())))
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
        let Some(option) = self.plan.given().or(secret).or(accepts) else {
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
        let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match &self.seen {
            Some(seen) if canonical(seen) == canonical(path) => refused("filter and output"),
            _ => Ok(()),
        }
    }
}
