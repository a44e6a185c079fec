//! The `mayhap` command, as a shell sees it: what goes in, what comes out, and the exit code.

/// A temporary folder, the command run in it, and what is asserted of a run.
#[allow(dead_code, reason = "each test binary uses other parts of it")]
mod env;

/// Seeded bytes, and the plain answer that the command is compared with.
mod oracle;

/// `uniq` against awk and the oracle: every input, mode, option and number of threads.
mod uniq;

/// The same output with one thread and with many, over many blocks.
mod threads;

/// Lines of any bytes: not UTF-8, CRLF, NUL, none, one of a gigabyte.
mod lines;

/// The key of a line: fields, JSON, patterns; lines without one; keys that are printed.
mod keys;

/// Keys in the columns of CSV: headers, quotes, records over several lines.
mod tables;

/// Input that is compressed: gzip and Zstandard, whole and damaged.
mod compressed;

/// Runs that go on: `--seen`, and `--checkpoint` after a kill.
mod resume;

/// Runs that a signal ends.
mod signals;

/// Streams that stall, and counts of what cannot be read twice.
mod streams;

/// Filters past the keys they were made for.
mod capacity;

/// Filter files that are damaged, or not what they were.
mod damage;

/// Files that are missing, folders, unreadable, or on a full disk.
mod files;

/// Output that nobody reads, or that has no room.
mod pipes;

/// `new`, `add`, `check`, `info` and `convert`, as scripts use them.
mod filters;

/// `merge`, and what it and `convert` replace.
mod merge;

/// Filters that another program is writing.
mod locks;

/// `check` in the hands of grep users, and `info` past a bad file or without the secret.
mod check;

/// The verbs that only some kinds have: `remove`, `count`, `guard`, `rotate`; and filters that are made of keys.
mod kinds;

/// Filters on a server that the test starts.
#[cfg(feature = "redis")]
mod server;

/// Filters that other programs made.
mod foreign;

/// Filters with a secret, and where the secret comes from.
mod secrets;

/// `overlap`, against sets whose overlap is known.
mod overlap;

/// `size`, the planner.
mod size;

/// `sort`, against a `BTreeSet`.
mod sort;

/// The command line: mistakes, options that do not fit, defaults from the environment.
mod usage;

/// Colour and progress, which are for terminals.
mod terminal;

/// Help, examples, completions and manual pages.
mod help;

/// The examples of docs/cli.md.
mod docs;
