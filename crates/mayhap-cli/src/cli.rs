//! What can be typed.

use std::num::NonZeroUsize;

use clap::parser::ValueSource;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::exit::Exit;
use crate::failure::{Result, be_quiet};
use crate::verbs::{
    add, area, build, check, completions, convert, count, eval, explain, guard, info, man, merge,
    new, remove, rotate, size, sort, uniq, verify,
};

/// Have I seen this key before? No (certain) or mayhap (probably), in a few bits per key.
///
/// Keys are lines of files or of standard input, plain, gzip or Zstandard; any bytes will do.
/// Filters are files, replaced whole or not at all, in our own format or that of Guava, Parquet, Spark
/// or DCSO's bloom. Exit codes are grep's: 0 found or done, 1 nothing found, 2 an error.
#[derive(Debug, Parser)]
#[command(
    name = "mayhap",
    version,
    max_term_width = 100,
    propagate_version = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    verb: Verb,

    #[command(flatten)]
    global: Global,
}

/// What means the same on every verb.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Global {
    /// Print nothing on standard error but errors
    #[arg(long, global = true, env = "MAYHAP_QUIET", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) quiet: bool,

    /// Answer in JSON, one object per line
    #[arg(long, global = true, env = "MAYHAP_JSON", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) json: bool,

    /// The number of threads; as many as there are cores unless given. The output is the same
    #[arg(long, global = true, value_name = "N", env = "MAYHAP_THREADS")]
    pub(crate) threads: Option<NonZeroUsize>,

    #[arg(skip)]
    quiet_was_typed: bool,
}

impl Global {
    /// Whether `--quiet` was typed, and does not come from the environment: a variable that silences words must not
    /// silence results.
    pub(crate) fn quiet_was_typed(&self) -> bool {
        self.quiet_was_typed
    }
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print each line the first time it is seen
    Uniq(Box<uniq::Args>),
    /// Make an empty filter
    New(new::Args),
    /// Make a filter of exactly these keys
    Build(build::Args),
    /// Insert keys into a filter
    Add(add::Args),
    /// Print the lines whose keys are in a filter
    Check(check::Args),
    /// Show why a filter answers as it does about a key
    Explain(explain::Args),
    /// Take keys out of a filter that counts
    Remove(remove::Args),
    /// Tell how often keys have come
    Count(count::Args),
    /// Tell which area, or which of two sets, keys belong to
    Area(area::Args),
    /// Keep a white list of keys that a filter finds wrongly
    Guard(guard::Args),
    /// Let a filter that forgets go on to its next generation
    Rotate(rotate::Args),
    /// Tell what a filter is, and how full
    Info(info::Args),
    /// Make one filter of several: their union, or their intersection
    Merge(merge::Args),
    /// Write a filter in another format
    Convert(convert::Args),
    /// Compare every checksum of filter files
    Verify(verify::Args),
    /// Plan: bits, keys, rate and memory of every kind, from what is known of them
    Size(size::Args),
    /// Sort and deduplicate non-negative integers through a bitmap
    Sort(sort::Args),
    /// Measure: is the promised rate true, how fast is it, and what did the posts print?
    Eval(eval::Args),
    /// Print the completions of a shell
    Completions(completions::Args),
    /// Write the manual pages
    Man(man::Args),
}

impl Cli {
    /// What was typed.
    pub(crate) fn typed() -> std::result::Result<Cli, clap::Error> {
        let matches = Cli::command().try_get_matches()?;
        let mut cli = Cli::from_arg_matches(&matches)?;
        let mut of_verb = &matches;
        while let Some((_, matches)) = of_verb.subcommand() {
            of_verb = matches;
        }
        let source = of_verb.value_source("quiet");
        cli.global.quiet_was_typed = source == Some(ValueSource::CommandLine);
        Ok(cli)
    }

    /// Does what was typed.
    pub(crate) fn run(self) -> Result<Exit> {
        let global = &self.global;
        if global.quiet {
            be_quiet();
        }
        match self.verb {
            Verb::Uniq(args) => args.run(global),
            Verb::New(args) => args.run(global),
            Verb::Build(args) => args.run(global),
            Verb::Add(args) => args.run(global),
            Verb::Check(args) => args.run(global),
            Verb::Explain(args) => args.run(global),
            Verb::Remove(args) => args.run(global),
            Verb::Count(args) => args.run(global),
            Verb::Area(args) => args.run(global),
            Verb::Guard(args) => args.run(global),
            Verb::Rotate(args) => args.run(global),
            Verb::Info(args) => args.run(global),
            Verb::Merge(args) => args.run(global),
            Verb::Convert(args) => args.run(global),
            Verb::Verify(args) => args.run(global),
            Verb::Size(args) => args.run(global),
            Verb::Sort(args) => args.run(global),
            Verb::Eval(args) => args.run(global),
            Verb::Completions(args) => args.run(),
            Verb::Man(args) => args.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_typed_is_consistent() {
        Cli::command().debug_assert();
    }
}
