//! Refuses a command line that cannot be parsed.

use std::process::exit;

use crate::failure::say;
use crate::shown::words_are_shown_as_given;

/// Reports what is wrong with the words that were typed, or prints the help that they ask for, and ends the process.
pub fn refuse(error: clap::Error) -> ! {
    if !error.use_stderr() || words_are_shown_as_given() {
        error.exit();
    }
    // A shell may have made words of the names of files, which anyone may have chosen; and an address has a password.
    for line in error.render().to_string().lines() {
        say(line);
    }
    exit(error.exit_code())
}
