//! Running this executable again, as another process.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The environment variable with the file that a child works on.
const FILE: &str = "MAYHAP_CHILD_FILE";

/// Returns a command that runs one test of this executable on `file`.
pub(crate) fn command(test: &str, file: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("known"));
    tell(&mut command, test, file);
    command
}

/// Returns the same command, with at most `blocks` of 512 bytes in any file, and no signal when there are more.
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

/// The file that this process works on, if it is a child.
pub(crate) fn file() -> Option<PathBuf> {
    std::env::var_os(FILE).map(PathBuf::from)
}
