//! No room for the file. A limit on the size of files stands in for a full disk: the same system calls
//! fail, at the same places, and no privilege is needed.

use std::fs;
use std::path::Path;

use mayhap::file::{Build, save};
use mayhap::format::native::{self, Metadata};
use mayhap::{Blocked, Error, Kind};
use tempfile::TempDir;

use super::child;

/// Blocks of 512 bytes that a child may have in a file: 32 KiB.
const BLOCKS: u32 = 64;

/// Keys for a filter far larger than that.
const KEYS: u64 = 1_000_000;

#[test]
fn child_that_saves_what_does_not_fit() {
    let Some(path) = child::file() else { return };
    let filter = Blocked::with_capacity(KEYS, 0.01).expect("memory");
    let error = save(&path, &filter, &Metadata::default()).expect_err("no room");
    assert!(
        matches!(
            error,
            Error::File {
                action: "write",
                ..
            }
        ),
        "{error}"
    );
    println!("refused: {error}");
}

#[test]
fn child_that_builds_what_does_not_fit() {
    let Some(path) = child::file() else { return };
    let description = Kind::Blocked.plan(KEYS, 0.01).expect("valid");
    let error = Build::create(&path, &description).expect_err("no room");
    assert!(
        matches!(
            error,
            Error::File {
                action: "create",
                ..
            }
        ),
        "{error}"
    );
    println!("refused: {error}");
}

#[cfg(unix)]
#[track_caller]
fn assert_refused_and_kept(test: &str) {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("filter");
    let old = Blocked::with_capacity(100, 0.01).expect("memory");
    save(&path, &old, &Metadata::default()).expect("saved");
    let before = fs::read(&path).expect("there");

    let mut command = child::limited_command(test, &path, BLOCKS);
    let output = command.output().expect("started");

    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complained}");
    let refusal = said.lines().find(|line| line.contains("refused: "));
    let refusal = refusal.unwrap_or_else(|| panic!("nothing refused: {said}"));
    assert!(refusal.contains("filter"), "names no file: {refusal}");
    println!("{refusal}");
    assert_eq!(fs::read(&path).expect("there"), before);
    let left = fs::read_dir(folder.path()).expect("there").count();
    assert_eq!(left, 1, "something was left behind");
}

#[cfg(unix)]
#[test]
fn saving_without_room_says_so_and_keeps_the_old_file() {
    assert_refused_and_kept("faults::full::child_that_saves_what_does_not_fit");
}

#[cfg(unix)]
#[test]
fn a_build_without_room_says_so_before_it_begins() {
    assert_refused_and_kept("faults::full::child_that_builds_what_does_not_fit");
}

#[test]
fn writing_to_a_full_device_is_an_error() {
    let device = Path::new("/dev/full");
    if !device.exists() {
        eprintln!("SKIPPED writing_to_a_full_device_is_an_error: there is no /dev/full here");
        return;
    }
    let filter = Blocked::with_capacity(100, 0.01).expect("memory");
    let output = fs::OpenOptions::new().write(true).open(device);
    let error = native::write(&filter, &Metadata::default(), output.expect("writable"));
    assert!(matches!(error, Err(Error::Io(_))), "{error:?}");
}
