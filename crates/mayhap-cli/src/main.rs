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
mod help;
mod json;
mod keys;
mod lines;
mod made;
mod mistakes;
mod output;
mod pipeline;
mod plan;
mod progress;
mod server;
mod values;
mod verbs;
mod writer;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;
use mayhap_program::exit::Exit;
use mayhap_program::failure::Result;
use mayhap_program::global::Global;
use mayhap_program::refuse;

use given::GivenArgs;
use verbs::{
    add, area, check, convert, count, explain, guard, info, merge, new, overlap, pages, remove,
    rotate, size, sort, uniq,
};

/// The words of the process when a mapped filter is cut short while it is read.
const CUT_SHORT: &str = "error: a filter was cut short while it was read\n\
    hint: what was printed may be wrong: ask again, and replace filters by renaming, as mayhap does\n";

fn main() -> ExitCode {
    mayhap::file::exit_on_bus_error(CUT_SHORT, 2);
    let cli = Cli::typed().unwrap_or_else(|error| refuse(error));
    Exit::of(cli.run()).into()
}

/// Have I seen this key before? No (certain) or mayhap (probably), in a few bits per key.
///
/// Keys are lines of files or of standard input, plain or compressed; any bytes will do. Filters are files, or are on a
/// server. A file is replaced whole or not at all.
///
/// Exit codes are grep's: 0 when something was found or all went well, 1 when nothing was found, 2 on an error.
#[derive(Debug, Parser)]
#[command(name = "mayhap", version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,

    #[command(flatten)]
    global: Global,
}

// The help of a verb is the comment of its arguments, or its own where several share them.
#[derive(Debug, Subcommand)]
enum Verb {
    #[command(alias = "dedupe")]
    Uniq(Box<uniq::Args>),
    #[command(aliases = ["contains", "test"])]
    Check(check::Args),
    #[command(alias = "insert")]
    Add(add::Args),
    #[command(alias = "create")]
    New(Box<new::Args>),
    #[command(aliases = ["stats", "show"])]
    Info(info::Args),
    #[command(alias = "union")]
    Merge(merge::Args),
    Remove(remove::Args),
    Overlap(overlap::Args),
    #[command(aliases = ["pull", "push"])]
    Convert(convert::Args),
    #[command(alias = "plan")]
    Size(size::Args),
    Explain(explain::Args),
    Sort(sort::Args),
    /// Prints how often keys were inserted.
    ///
    /// Each line is printed after the count of its key, from a filter of a kind that counts, such as `spectral`. A count
    /// is never too low, up to what the filter counts, and sometimes too high.
    ///
    /// Exit codes: 0 when the count of a key is above 0, 1 when none is, 2 on an error.
    #[command(after_long_help = count::EXAMPLES)]
    Count(GivenArgs),
    /// Prints which area, or which of two sets, keys belong to.
    ///
    /// Each line is printed after the area of its key and a tab; `-` means that it is certainly in none. In a filter of the
    /// kind `spatial` the area is a number; in one of the kind `shifting-association` it is `first`, `second` or `both`,
    /// or several of them where it may be any.
    ///
    /// Exit codes: 0 when a key has an area, 1 when none has, 2 on an error.
    #[command(after_long_help = area::EXAMPLES)]
    Area(GivenArgs),
    Guard(guard::Args),
    Rotate(rotate::Args),
    #[command(hide = true)]
    Build(Box<new::Args>),
    #[command(hide = true)]
    Verify(info::Args),
    /// Prints a script that completes this command's words in a shell.
    #[command(hide = true)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Writes the manual pages, one for each verb.
    #[command(hide = true)]
    Man {
        /// The folder to write all pages to; without it the main page is printed
        folder: Option<PathBuf>,
    },
}

impl Cli {
    /// Parses the command line.
    fn typed() -> std::result::Result<Cli, clap::Error> {
        let words: Vec<_> = std::env::args_os().collect();
        let command = help::shown(Cli::command());
        let matches = command.clone().try_get_matches_from(&words);
        matches
            .and_then(|matches| Cli::from_arg_matches(&matches))
            .map_err(|error| mistakes::explained(error, &command, &words))
    }

    /// Does what was typed.
    fn run(self) -> Result<Exit> {
        let global = &self.global;
        global.apply();
        match self.verb {
            Verb::Uniq(args) => args.run(global),
            Verb::Check(args) => args.run(global),
            Verb::Add(args) => args.run(global),
            Verb::New(args) => args.run(global),
            Verb::Info(args) => args.run(global),
            Verb::Merge(args) => args.run(global),
            Verb::Remove(args) => args.run(global),
            Verb::Overlap(args) => args.run(global),
            Verb::Convert(args) => args.run(global),
            Verb::Size(args) => args.run(global),
            Verb::Explain(args) => args.run(global),
            Verb::Sort(args) => args.run(global),
            Verb::Count(args) => count::run(&args, global),
            Verb::Area(args) => area::run(&args, global),
            Verb::Guard(args) => args.run(global),
            Verb::Rotate(args) => args.run(global),
            Verb::Build(args) => args.of_keys().run(global),
            Verb::Verify(args) => args.of_checksums().run(global),
            Verb::Completions { shell } => pages::completions(shell, help::plain(Cli::command())),
            Verb::Man { folder } => pages::man(folder.as_deref(), help::plain(Cli::command())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_typed_is_consistent() {
        help::shown(Cli::command()).debug_assert();
        help::plain(Cli::command()).debug_assert();
    }
}
