//! The options that mean the same on every verb.

use std::num::NonZeroUsize;
use std::thread;

use clap::Args;
use clap::builder::FalseyValueParser;

use crate::failure::be_quiet;

/// The options that mean the same on every verb.
///
/// ```
/// use clap::{Args as _, Command, FromArgMatches as _};
/// use mayhap_program::global::Global;
///
/// let matches = Global::augment_args(Command::new("it")).get_matches_from(["it", "--json", "--threads", "3"]);
/// let global = Global::from_arg_matches(&matches)?;
/// assert!(global.json && global.threads() == 3);
/// # Ok::<(), clap::Error>(())
/// ```
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// Print nothing on standard error but errors
    #[arg(long, global = true, env = "MAYHAP_QUIET", value_parser = FalseyValueParser::new())]
    pub quiet: bool,

    /// Print results as JSON, one object per line
    #[arg(long, global = true, env = "MAYHAP_JSON", value_parser = FalseyValueParser::new())]
    pub json: bool,

    /// Use this many threads; one per core unless given
    #[arg(long, global = true, value_name = "N", env = "MAYHAP_THREADS")]
    threads: Option<NonZeroUsize>,
}

impl Global {
    /// Silences what is not an error from now on, if that was asked for.
    pub fn apply(&self) {
        if self.quiet {
            be_quiet();
        }
    }

    /// The number of threads asked for, or else of the machine's cores.
    pub fn threads(&self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        self.threads.map_or_else(cores, NonZeroUsize::get)
    }
}
