//! The `mayhap` command, as a shell sees it: what goes in, what comes out, and the exit code.

/// A temporary folder, the command run in it, and what is asserted of a run.
#[allow(dead_code, reason = "each test binary uses other parts of it")]
mod env;

/// Numbers that look random and are the same every time.
#[path = "../../../mayhap/tests/faults/random.rs"]
#[allow(dead_code, reason = "each test binary uses other parts of it")]
mod seeded;

/// Seeded bytes, and the plain answer that the command is compared with.
mod oracle;

/// `uniq` against awk and the oracle: every input, mode, option and number of threads.
mod uniq;

/// The same output with one thread and with many, over many blocks.
mod threads;

/// What bytes lines are made of: not UTF-8, CRLF, NUL, none, one of a gigabyte.
mod lines;

/// What of a line is its key: fields, columns, JSON, patterns; lines without one; keys that are printed.
mod keys;

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

/// `new`, `add`, `check`, `info`, `merge`, `convert` and `verify`, as scripts use them.
mod filters;

/// `check` in the hands of grep users, and `info` and `verify` past a bad file or without the secret.
mod check;

/// The verbs that only some kinds have: `remove`, `count`, `guard`, `rotate`, `build`.
mod kinds;

/// Servers that the tests start.
#[cfg(feature = "redis")]
#[path = "../../../mayhap-redis/tests/live/server.rs"]
#[allow(dead_code, reason = "its own tests start clusters too")]
mod private;

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

/// What can be typed: help, completions, manual pages, defaults from the environment.
mod usage;

/// The examples of docs/cli.md.
mod docs;
