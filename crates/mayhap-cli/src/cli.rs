//! What can be typed.

use std::num::NonZeroUsize;

use clap::parser::ValueSource;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::exit::Exit;
use crate::failure::{Result, be_quiet};
use crate::verbs::{
    add, area, build, check, completions, convert, count, eval, explain, explore, guard, info, man,
    merge, new, overlap, remove, rotate, size, sort, uniq, verify,
};

/// Have I seen this key before? No (certain) or mayhap (probably), in a few bits per key.
///
/// Keys are lines of files or of standard input, plain or compressed by gzip or Zstandard; any bytes will do. Filters
/// are files, in our own format or that of Guava, Parquet, Spark, DCSO's bloom or RedisBloom, or are on a server. A file is
/// replaced whole or not at all.
///
/// Exit codes are grep's: 0 when something was found or all went well, 1 when nothing was found, 2 on an error.
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

    /// Print results as JSON, one object per line
    #[arg(long, global = true, env = "MAYHAP_JSON", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) json: bool,

    /// Use this many threads; one per core unless given. The output does not depend on it
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

// The help of a verb is the comment of its arguments.
#[derive(Debug, Subcommand)]
enum Verb {
    Uniq(Box<uniq::Args>),
    New(new::Args),
    Build(build::Args),
    Add(add::Args),
    Check(check::Args),
    Explain(explain::Args),
    Remove(remove::Args),
    Count(count::Args),
    Area(area::Args),
    Guard(guard::Args),
    Rotate(rotate::Args),
    Info(info::Args),
    Merge(merge::Args),
    Overlap(overlap::Args),
    #[command(visible_aliases = ["pull", "push"])]
    Convert(convert::Args),
    Verify(verify::Args),
    Size(size::Args),
    Sort(sort::Args),
    Eval(eval::Args),
    Explore(explore::Args),
    Completions(completions::Args),
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
            Verb::Overlap(args) => args.run(global),
            Verb::Convert(args) => args.run(global),
            Verb::Verify(args) => args.run(global),
            Verb::Size(args) => args.run(global),
            Verb::Sort(args) => args.run(global),
            Verb::Eval(args) => args.run(global),
            Verb::Explore(args) => args.run(global),
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
