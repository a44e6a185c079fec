//! The pages of help: verbs in groups, options of all verbs on the first page alone, flags that may be repeated.

use std::fmt::Write as _;

use clap::{ArgAction, Command};

/// The verbs of the first page. The last group is one line of it, unless `--help` asks for more.
const GROUPS: [(&str, &[&str]); 3] = [
    (
        "Every day",
        &["uniq", "check", "add", "new", "info", "merge"],
    ),
    (
        "Now and then",
        &["remove", "overlap", "convert", "size", "explain", "sort"],
    ),
    (KINDS, &["count", "area", "guard", "rotate"]),
];

/// The heading of the last group.
const KINDS: &str = "For particular kinds of filters";

/// The command, for manual pages and shells: with every option of every verb.
pub(crate) fn plain(command: Command) -> Command {
    command
        .max_term_width(100)
        .propagate_version(true)
        .mut_args(repeatable)
        .mut_subcommands(|verb| verb.mut_args(repeatable))
        .mut_arg("threads", |threads| {
            threads.help("Use this many threads; the output does not depend on it")
        })
}

/// The command, for people: with the options of all verbs on the first page alone.
pub(crate) fn shown(command: Command) -> Command {
    let mut command = plain(command);
    let (short, long) = (groups(&command, true), groups(&command, false));
    let header = command.get_styles().get_header();
    let options = format!("{header}Options of every verb:{header:#}\n{{options}}");
    let template = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}".to_owned();
    command = command
        .help_template(template + &options)
        .before_help(short)
        .before_long_help(long)
        .mut_args(|arg| arg.hide_env(true));
    // From here on verbs have the options of all.
    command.build();
    command.mut_subcommands(|verb| {
        let name = verb.get_name().to_owned();
        let end = "Options of every verb (--quiet, --json, --threads): mayhap -h";
        let more = format!("All options: mayhap {name} --help\n{end}");
        let examples = verb.get_after_long_help().map(ToString::to_string);
        let verb = match examples {
            Some(examples) => verb
                .after_help(more)
                .after_long_help(format!("{examples}\n\n{end}")),
            None => verb,
        };
        verb.mut_args(|arg| {
            let id = arg.get_id().as_str();
            let is_general = arg.is_global_set() || id == "help" || id == "version";
            match is_general {
                true => arg.hide(true),
                false => arg,
            }
        })
    })
}

/// Lets a flag be given twice.
fn repeatable(arg: clap::Arg) -> clap::Arg {
    match arg.get_action() {
        ArgAction::SetTrue => {
            let id = arg.get_id().clone();
            arg.overrides_with(id)
        }
        _ => arg,
    }
}

/// The verbs in their groups, each with its first sentence.
fn groups(command: &Command, is_short: bool) -> String {
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let mut text = String::new();
    for (group, verbs) in GROUPS {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}{header}{group}:{header:#}");
        if is_short && group == KINDS {
            let _ = writeln!(text, "  {}", verbs.join(", "));
            continue;
        }
        for name in verbs {
            let verb = command.find_subcommand(name);
            let about = verb.and_then(Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:<8}{literal:#} {about}");
        }
    }
    text.trim_end().to_owned()
}
