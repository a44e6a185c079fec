//! The command built without the feature `redis`: an address is refused wherever one can stand.
//!
//! `cargo test -p mayhap-cli --test no_server` builds it so; with all features there is nothing to see here.
#![cfg(not(feature = "redis"))]

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs the command in a folder, with nothing on standard input.
fn mayhap(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mayhap"))
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("the command runs")
}

#[test]
fn an_address_is_refused_by_every_verb_with_the_way_to_get_servers() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = mayhap(folder.path(), &["new", "f", "-n", "100", "-p", "1%"]);
    assert!(made.status.success(), "{made:?}");
    let address = "rediss://user:pass-word@localhost:7000/2#seen";

    for words in [
        &["new", address, "-n", "100", "-p", "1%"][..],
        &["new", address, "-n", "100", "-p", "1%", "--force"],
        &["add", address],
        &["check", address],
        &["info", address],
        &["verify", address],
        &["uniq", "--seen", address],
        &["uniq", "--seen", address, "-n", "100", "-p", "1%"],
        &["overlap", "f", address],
        &["explain", address, "key"],
        &["merge", "g", "f", address],
        &["convert", "f", address, "--to", "native"],
        &["convert", "f", address, "--to", "native", "--force"],
        &["convert", address, "g", "--to", "native"],
    ] {
        let run = mayhap(folder.path(), words);

        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains("rediss://"), "{words:?}: {said}");
        assert!(
            said.contains("cargo install mayhap-cli --features redis"),
            "{words:?}: {said}"
        );
        assert!(!said.contains("pass-word"), "{words:?}: {said}");
        assert!(!folder.path().join("g").exists(), "{words:?}");
    }
}
