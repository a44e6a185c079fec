//! The `mayhap` command: *which of these lines have I seen?*
//!
//! This file declares what can be typed, one file in [`verbs`] does each thing, and what they share reads
//! as a sentence: [`input`](mayhap_program::input) gives bytes, [`block`] makes lines of them and [`keys`] keys, [`pipeline`]
//! brings them on all cores to a filter ([`filters`]), and [`output`] writes what comes of it.
#![forbid(unsafe_code)]

mod batch;
mod block;
mod blocks;
mod csv;
mod fields;
mod filters;
mod given;
mod json;
mod keys;
mod lines;
mod made;
mod output;
mod pipeline;
mod plan;
mod progress;
mod server;
mod values;
mod verbs;
mod writer;

use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use mayhap_program::exit::Exit;
use mayhap_program::failure::Result;
use mayhap_program::global::Global;
use mayhap_program::refuse;

use verbs::{
    add, area, build, check, completions, convert, count, explain, guard, info, man, merge, moved,
    new, overlap, remove, rotate, size, sort, uniq, verify,
};

/// The words of the process when a mapped filter is cut short while it is read.
const CUT_SHORT: &str = "error: a filter was cut short while it was read\n\
    hint: what was printed may be wrong: ask again, and replace filters by renaming, as mayhap does\n";

/// The help of `--threads`, which here changes nothing that is printed.
const THREADS: &str =
    "Use this many threads; one per core unless given. The output does not depend on it";

fn main() -> ExitCode {
    mayhap::file::exit_on_bus_error(CUT_SHORT, 2);
    let cli = Cli::typed().unwrap_or_else(|error| refuse(error));
    Exit::of(cli.run()).into()
}

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
    propagate_version = true,
    mut_arg("threads", |threads| threads.help(THREADS))
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,

    #[command(flatten)]
    global: Global,

    /// True when `--quiet` was typed. A variable that silences messages must not silence results.
    #[arg(skip)]
    quiet_was_typed: bool,
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
    Completions(completions::Args),
    Man(man::Args),
    #[command(hide = true)]
    Eval(moved::Args),
    #[command(hide = true)]
    Explore(moved::Args),
}

impl Cli {
    /// Parses the command line.
    fn typed() -> std::result::Result<Cli, clap::Error> {
        let matches = Cli::command().try_get_matches()?;
        let mut cli = Cli::from_arg_matches(&matches)?;
        let mut of_verb = &matches;
        while let Some((_, matches)) = of_verb.subcommand() {
            of_verb = matches;
        }
        let source = of_verb.value_source("quiet");
        cli.quiet_was_typed = source == Some(ValueSource::CommandLine);
        Ok(cli)
    }

    /// Does what was typed.
    fn run(self) -> Result<Exit> {
        let global = &self.global;
        global.apply();
        match self.verb {
            Verb::Uniq(args) => args.run(global),
            Verb::New(args) => args.run(global),
            Verb::Build(args) => args.run(global),
            Verb::Add(args) => args.run(global),
            Verb::Check(args) => args.run(global, self.quiet_was_typed),
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
            Verb::Completions(args) => args.run(Cli::command()),
            Verb::Man(args) => args.run(Cli::command()),
            Verb::Eval(args) => args.refuse("eval", "mayhap-lab rate, speed or posts"),
            Verb::Explore(args) => args.refuse("explore", "mayhap-lab explore"),
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
