//! This executable again, as another process.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Tells a child which file to work on.
const FILE: &str = "MAYHAP_CHILD_FILE";

/// A command that runs one test of this executable, told to work on `file`.
pub(crate) fn command(test: &str, file: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("known"));
    tell(&mut command, test, file);
    command
}

/// The same, with at most `blocks` of 512 bytes in any file, and no signal when there are more.
pub(crate) fn limited_command(test: &str, file: &Path, blocks: u32) -> Command {
    let mut command = Command::new("sh");
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    command.arg("-c").arg(script);
    command.arg(std::env::current_exe().expect("known"));
    tell(&mut command, test, file);
    command
}

fn tell(command: &mut Command, test: &str, file: &Path) {
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env(FILE, file);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
}

/// The file this process is to work on, when it is a child.
pub(crate) fn file() -> Option<PathBuf> {
    std::env::var_os(FILE).map(PathBuf::from)
}
