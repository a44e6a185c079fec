//! The originals themselves: they read what we write and answer alike, and the other way round.
//!
//! If a program is missing, its test is skipped, with a line on standard error that says so.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::data::key;
use mayhap::format::dcso::{self, Envelope};
use mayhap::format::guava;
use mayhap::{Bloom, Insert, Scheme, Sizing};

const KEYS: u64 = 500;
const RATE: f64 = 0.05;

/// Reports that a test did not run, past the capture of a test's output, and counts such tests.
fn skip(why: &str) {
    static SKIPPED: AtomicUsize = AtomicUsize::new(0);
    let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    let line = format!("SKIPPED: {why} ({count} skipped in these tests)\n");
    std::io::stderr()
        .write_all(line.as_bytes())
        .expect("standard error");
}

/// A temporary folder.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("{name}-{}", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind is in the folder of build results and does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Keys as lines: the ones inserted, then as many again.
fn lines(numbers: std::ops::Range<u64>) -> Vec<u8> {
    numbers
        .flat_map(|number| [key("texts", number), b"\n".to_vec()].concat())
        .collect()
}

/// Runs a command on these lines and returns what it prints.
fn run(command: &mut Command, input: &[u8]) -> Vec<u8> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn().expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let feed = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("the command ends");
    feed.join()
        .expect("no panic")
        .expect("the command reads its input");
    assert!(output.status.success(), "{command:?}: {}", output.status);
    output.stdout
}

fn bloom(arguments: &[&str], file: &Path, input: &[u8]) -> Vec<u8> {
    run(Command::new("bloom").args(arguments).arg(file), input)
}

/// Returns whether there is a command `bloom`, and it is DCSO's.
fn has_bloom() -> bool {
    let output = Command::new("bloom")
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    output.is_ok_and(|output| output.stdout.starts_with(b"Bloom Filter version"))
}

/// The lines of the keys that our filter finds, as `bloom check` prints them.
fn found(filter: &Bloom) -> Vec<u8> {
    let asked = (0..2 * KEYS).filter(|&number| filter.contains(&key("texts", number)));
    asked.flat_map(|number| lines(number..number + 1)).collect()
}

#[test]
fn dcsos_command_and_we_read_each_others_files() {
    if !has_bloom() {
        return skip("DCSO's command bloom is not there (Debian: golang-github-dcso-bloom-cli)");
    }
    let folder = Folder::new("dcso");
    let (ours, theirs) = (folder.file("ours.bloom"), folder.file("theirs.bloom"));
    let mut envelope = Envelope::with_capacity(KEYS, RATE).expect("valid");
    for number in 0..KEYS {
        envelope.insert(&key("texts", number));
    }
    let mut bytes = Vec::new();
    dcso::write(&envelope, &mut bytes).expect("memory");
    std::fs::write(&ours, &bytes).expect("disk");

    // Ours, looked up by the command.
    let answers = bloom(&["check"], &ours, &lines(0..2 * KEYS));
    assert!(answers == found(&envelope.filter), "other answers");

    // Their file of the same keys is the same file.
    let create = ["create", "-n", "500", "-p", "0.05"];
    bloom(&create, &theirs, &lines(0..KEYS));
    assert!(
        std::fs::read(&theirs).expect("disk") == bytes,
        "other bytes"
    );

    // Ours, inserted into by the command, looked up by us.
    bloom(&["insert"], &ours, &lines(KEYS..KEYS + 50));
    let inserted = std::fs::read(&ours).expect("disk");
    let inserted = dcso::read(&inserted[..]).expect("a whole file");
    for number in KEYS..KEYS + 50 {
        envelope.insert(&key("texts", number));
    }
    assert_eq!(inserted, envelope);
}

const GUAVA: &str = "/usr/share/java/guava.jar";

fn java(arguments: &[&str], file: &Path, input: &[u8]) -> Vec<u8> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/foreign/Guava.java");
    let (verb, rest) = arguments.split_first().expect("a verb");
    let mut command = Command::new("java");
    command
        .args(["-cp", GUAVA])
        .arg(source)
        .arg(verb)
        .arg(file)
        .args(rest);
    run(&mut command, input)
}

#[test]
fn guava_and_we_read_each_others_files() {
    // Running a source file needs the compiler, so a JDK and not only a JRE.
    let javac = Command::new("javac")
        .arg("-version")
        .stdin(Stdio::null())
        .output();
    if !javac.is_ok_and(|output| output.status.success()) {
        return skip("there is no JDK to run Guava with (Debian: default-jdk-headless)");
    }
    if !Path::new(GUAVA).exists() {
        return skip("Guava is not there (Debian: libguava-java)");
    }
    let folder = Folder::new("guava");
    let (ours, theirs) = (folder.file("ours.bin"), folder.file("theirs.bin"));

    // Theirs, looked up by us. Its version decides which of its sizing rules it has.
    java(&["create", "500", "0.05"], &theirs, &lines(0..KEYS));
    let bytes = std::fs::read(&theirs).expect("disk");
    let read = guava::read(&bytes[..]).expect("a whole file");
    let rules = [Sizing::Guava, Sizing::GuavaBefore33_4];
    let shapes = rules.map(|rule| rule.shape(KEYS, RATE).expect("valid"));
    assert!(shapes.contains(&read.shape()), "{:?}", read.shape());
    assert_eq!(*read.scheme(), Scheme::Guava64);

    // Our file of the same keys is the same file.
    let mut filter = Bloom::new(read.shape(), Scheme::Guava64).expect("small");
    filter.insert_all((0..KEYS).map(|number| key("texts", number)));
    assert_eq!(filter, read);

    // Our file of more keys, looked up by Guava.
    filter.insert_all((KEYS..KEYS + 50).map(|number| key("texts", number)));
    let mut bytes = Vec::new();
    guava::write(&filter, &mut bytes).expect("memory");
    std::fs::write(&ours, &bytes).expect("disk");
    let answers = java(&["check"], &ours, &lines(0..2 * KEYS));
    let expected: Vec<u8> = (0..2 * KEYS)
        .map(|number| b'0' + u8::from(filter.contains(&key("texts", number))))
        .collect();
    assert!(answers == expected, "other answers");
}
