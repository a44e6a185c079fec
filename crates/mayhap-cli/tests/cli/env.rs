use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tempfile::TempDir;

/// The time after which a run counts as hung. Only a failing test ever waits for it.
const HUNG: Duration = Duration::from_secs(120);

/// A folder of its own for every test.
pub(crate) struct TestEnv {
    folder: TempDir,
}

impl TestEnv {
    pub(crate) fn new() -> TestEnv {
        TestEnv {
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("the folder is writable");
    }

    /// A file that nobody else may read, such as a secret.
    pub(crate) fn write_private(&self, name: &str, bytes: &[u8]) {
        use std::os::unix::fs::OpenOptionsExt as _;
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(self.path(name));
        let written = file.and_then(|mut file| file.write_all(bytes));
        written.expect("the folder is writable");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The names in the folder, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("the folder is there");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("readable").file_name().into_string())
            .map(|name| name.expect("tests name files in UTF-8"))
            .collect();
        names.sort();
        names
    }

    /// The command with some words.
    pub(crate) fn mayhap(&self, words: impl Words) -> Run {
        self.program(Path::new(env!("CARGO_BIN_EXE_mayhap")))
            .args(words)
    }

    /// Runs the command to its end, with this on standard input.
    pub(crate) fn fed(&self, words: impl Words, input: impl AsRef<[u8]>) -> Outcome {
        self.mayhap(words).input(input).run()
    }

    /// Asserts that the command succeeds, and what it prints for an input.
    #[track_caller]
    pub(crate) fn gives(
        &self,
        words: impl Words,
        input: impl AsRef<[u8]>,
        output: impl AsRef<[u8]>,
    ) {
        self.fed(words, input).code(0).stdout(output);
    }

    /// Runs the command to its end, which must be a success.
    #[track_caller]
    pub(crate) fn ok(&self, words: impl Words) -> Outcome {
        self.mayhap(words).run().code(0)
    }

    /// Runs the command to its end, which must be a failure that has these words.
    #[track_caller]
    pub(crate) fn fails(&self, words: impl Words, why: &[&str]) -> Outcome {
        self.mayhap(words).run().fails_with(why)
    }

    /// Returns what `info --json` says of a filter.
    #[track_caller]
    pub(crate) fn info(&self, name: &str) -> serde_json::Value {
        self.ok(&["info", "--json", name]).json()
    }

    /// A shell script, in which `mayhap` is the command.
    pub(crate) fn shell(&self, script: &str) -> Run {
        let mut run = self.program(Path::new("sh"));
        run.command.arg("-c").arg(script);
        let folder = Path::new(env!("CARGO_BIN_EXE_mayhap")).parent();
        let folder = folder.expect("a file is in a folder").to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path =
            std::env::join_paths(std::iter::once(folder).chain(std::env::split_paths(&path)));
        run.command.env("PATH", path.expect("no colon in it"));
        run
    }

    /// Any program, in the folder and without our variables.
    pub(crate) fn program(&self, program: &Path) -> Run {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path());
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"MAYHAP_") {
                command.env_remove(name);
            }
        }
        command.env_remove("CLICOLOR_FORCE").env("LC_ALL", "C");
        Run {
            command,
            input: Vec::new(),
        }
    }

    /// A filter of some keys, one per line.
    pub(crate) fn filter(&self, name: &str, capacity: u64, rate: f64, keys: &str) {
        let (capacity, rate) = (capacity.to_string(), rate.to_string());
        self.ok(&["new", name, "--capacity", &capacity, "--rate", &rate]);
        self.fed(&["add", name], keys).code(0);
    }
}

/// Words of a command line: a list of them, or a text with blanks between them.
pub(crate) trait Words {
    fn words(&self) -> Vec<&str>;
}

impl Words for &str {
    fn words(&self) -> Vec<&str> {
        self.split(' ').filter(|word| !word.is_empty()).collect()
    }
}

impl Words for &String {
    fn words(&self) -> Vec<&str> {
        self.split(' ').filter(|word| !word.is_empty()).collect()
    }
}

impl Words for &[&str] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Words for Vec<&str> {
    fn words(&self) -> Vec<&str> {
        self.clone()
    }
}

impl<const N: usize> Words for &[&str; N] {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl Words for &Vec<&str> {
    fn words(&self) -> Vec<&str> {
        self.to_vec()
    }
}

/// A command that is about to run.
pub(crate) struct Run {
    pub(crate) command: Command,
    input: Vec<u8>,
}

impl Run {
    /// Sets standard input; empty unless given.
    pub(crate) fn input(mut self, bytes: impl AsRef<[u8]>) -> Run {
        self.input = bytes.as_ref().to_vec();
        self
    }

    pub(crate) fn arg(mut self, word: impl AsRef<OsStr>) -> Run {
        self.command.arg(word);
        self
    }

    pub(crate) fn args(mut self, words: impl Words) -> Run {
        self.command.args(words.words());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Run {
        self.command.env(name, value);
        self
    }

    /// Runs it to the end.
    pub(crate) fn run(self) -> Outcome {
        let Run { mut command, input } = self;
        let name = format!("{command:?}");
        let mut child = spawn(&mut command);
        let mut pipe = child.stdin.take().expect("it is piped");
        // A command may end before it has read everything.
        let feeder = thread::spawn(move || drop(pipe.write_all(&input)));
        let output = wait(child, &name);
        feeder.join().expect("no panic");
        Outcome::of(output, name)
    }
}

/// Starts a command with pipes to and from it.
pub(crate) fn spawn(command: &mut Command) -> Child {
    let command = command.stdin(Stdio::piped());
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn();
    child.unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Waits for a command to end, and fails when it does not.
pub(crate) fn wait(child: Child, name: &str) -> Output {
    let id = child.id().to_string();
    let (send, receive) = mpsc::channel();
    let waiter = thread::spawn(move || drop(send.send(child.wait_with_output())));
    match receive.recv_timeout(HUNG) {
        Ok(output) => {
            waiter.join().expect("no panic");
            output.expect("a child can be waited for")
        }
        Err(_) => {
            let _ = Command::new("kill").args(["-9", &id]).status();
            panic!("{name} does not end");
        }
    }
}

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    code: Option<i32>,
    name: String,
}

impl Outcome {
    pub(crate) fn of(output: Output, name: String) -> Outcome {
        let stderr = String::from_utf8(output.stderr).expect("messages are UTF-8");
        assert!(!stderr.contains("panicked"), "{name}: {stderr}");
        assert!(!stderr.contains('\x1b'), "{name}: colour in a pipe");
        Outcome {
            stdout: output.stdout,
            stderr,
            code: output.status.code(),
            name,
        }
    }

    /// The exit code; none after a signal.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        self.code
    }

    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn code(self, expected: i32) -> Outcome {
        let (name, stderr) = (&self.name, &self.stderr);
        assert_eq!(self.code, Some(expected), "{name}: {stderr}");
        self
    }

    /// Asserts standard output.
    #[track_caller]
    pub(crate) fn stdout(self, expected: impl AsRef<[u8]>) -> Outcome {
        let expected = expected.as_ref();
        if self.stdout != expected {
            let at = self.stdout.iter().zip(expected);
            let at = at.take_while(|(left, right)| left == right).count();
            let around = |bytes: &[u8]| {
                let range = at.saturating_sub(20)..bytes.len().min(at + 60);
                String::from_utf8_lossy(&bytes[range]).into_owned()
            };
            panic!(
                "{}: {} bytes in place of {}, different from byte {at} on: {:?} in place of {:?}; {}",
                self.name,
                self.stdout.len(),
                expected.len(),
                around(&self.stdout),
                around(expected),
                self.stderr,
            );
        }
        self
    }

    /// Asserts that standard error has all of these words, and that nothing went to standard output.
    #[track_caller]
    pub(crate) fn fails_with(self, words: &[&str]) -> Outcome {
        let outcome = self.code(2).stdout("");
        assert!(outcome.stderr.starts_with("error: "), "{}", outcome.stderr);
        outcome.says(words)
    }

    /// Asserts that standard error has all of these words.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Outcome {
        for word in words {
            let (name, stderr) = (&self.name, &self.stderr);
            assert!(stderr.contains(word), "{name}: no `{word}` in: {stderr}");
        }
        self
    }

    /// Asserts that standard error is empty.
    #[track_caller]
    pub(crate) fn silent(self) -> Outcome {
        assert_eq!(self.stderr, "", "{}", self.name);
        self
    }

    /// Standard output as text.
    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.stdout).expect("UTF-8")
    }

    /// Standard output as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        let value = serde_json::from_slice(&self.stdout);
        value.unwrap_or_else(|error| panic!("{}: {error}: {}", self.name, self.text()))
    }
}

/// Returns whether this process is root, which permissions do not bind.
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

/// Bytes as gzip packs them.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// Bytes as Zstandard packs them.
pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// The numbers of a range, one per line.
pub(crate) fn numbers(range: Range<u64>) -> String {
    range.map(|number| format!("{number}\n")).collect()
}
