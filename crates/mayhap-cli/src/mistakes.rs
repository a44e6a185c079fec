//! Words that cannot be parsed, and what was probably meant.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The options of `new` that decide how a filter is made.
const MAKING: [&str; 8] = [
    "--kind",
    "--scheme",
    "--counter-bits",
    "--policy",
    "--areas",
    "--rotate-by",
    "--bits",
    "--hashes",
];

/// Words that are not verbs, and the command that is meant.
const WORDS: [(&str, &str); 3] = [
    ("version", "mayhap --version"),
    (
        "eval",
        "mayhap-lab rate, speed or posts (cargo install mayhap-lab)",
    ),
    ("explore", "mayhap-lab explore (cargo install mayhap-lab)"),
];

/// Options that other programs or verbs have: the verb, the option, and the one that is meant.
const OPTIONS: [(&str, &str, &str); 4] = [
    ("check", "-n", "--line-number"),
    ("check", "-o", "--print key"),
    ("check", "--only-matching", "--print key"),
    ("size", "-m", "--memory"),
];

/// The refusal, with a tip where it is known what was meant.
pub(crate) fn explained(
    mut error: clap::Error,
    command: &Command,
    words: &[OsString],
) -> clap::Error {
    let word = |error: &clap::Error, kind| match error.get(kind) {
        Some(ContextValue::String(word)) => word.clone(),
        _ => String::new(),
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let typed = word(&error, ContextKind::InvalidSubcommand).to_lowercase();
            if let Some((_, meant)) = WORDS.iter().find(|(word, _)| *word == typed) {
                error.remove(ContextKind::SuggestedSubcommand);
                tip(&mut error, format!("run {meant}"));
            } else if command.find_subcommand(&typed).is_some() {
                let typed = ContextValue::Strings(vec![typed]);
                error.insert(ContextKind::SuggestedSubcommand, typed);
            }
        }
        ErrorKind::UnknownArgument => {
            let option = word(&error, ContextKind::InvalidArg);
            let mut verbs = words.iter().skip(1).filter_map(|word| word.to_str());
            let verb = verbs.find_map(|word| command.find_subcommand(word));
            let verb = verb.map_or("", Command::get_name);
            let mut known = OPTIONS.iter();
            let known = known.find(|known| (known.0, known.1) == (verb, &option));
            if verb == "uniq" && MAKING.contains(&option.as_str()) {
                let asked = asked(&option, words);
                error.remove(ContextKind::SuggestedArg);
                error.remove(ContextKind::Usage);
                let text = format!(
                    "`mayhap new {asked} FILTER` makes such a filter, and `mayhap uniq --seen FILTER` uses it"
                );
                tip(&mut error, text);
            } else if let Some((_, _, meant)) = known {
                tip(&mut error, format!("`mayhap {verb} {meant}` does that"));
            }
        }
        _ => {}
    }
    error
}

fn tip(error: &mut clap::Error, text: String) {
    let text = ContextValue::StyledStrs(vec![text.into()]);
    error.insert(ContextKind::Suggested, text);
}

/// The option and its value, as they were typed.
fn asked(option: &str, words: &[OsString]) -> String {
    let mut words = words.iter().map(|word| word.to_string_lossy());
    let typed = words.find(|word| word.split('=').next() == Some(option));
    match typed {
        Some(typed) if typed.contains('=') => typed.into_owned(),
        _ => {
            let value = words.next().unwrap_or_default();
            format!("{option} {value}").trim_end().to_owned()
        }
    }
}
