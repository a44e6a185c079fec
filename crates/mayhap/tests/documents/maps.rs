//! The maps of the repository compared with the repository: their lists are complete. `links.rs` checks that links lead
//! somewhere.
//!
//! ARCHITECTURE.md draws every package and walks without returning, docs/unsafe.md lists the files with unsafe code,
//! CONTRIBUTING.md what a new kind touches.
//! These tests read the documents; when one fails, mend the document.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use mayhap::Kind;

fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let root = crates.and_then(Path::parent).expect("two folders up");
    root.to_path_buf()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Lists the files under a folder of the repository with one of these endings, as paths from its root. Leaves out
/// links: their targets are listed themselves.
fn files(folder: &str, endings: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let entries =
        fs::read_dir(root().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    for entry in entries {
        let entry = entry.expect("an entry");
        let kind = entry.file_type().expect("a type");
        let name = entry.file_name().into_string().expect("UTF-8");
        let path = match folder {
            "." => name,
            _ => format!("{folder}/{name}"),
        };
        if kind.is_dir()
            && !path.ends_with("target")
            && !path.contains("/.")
            && !path.starts_with('.')
        {
            found.extend(files(&path, endings));
        }
        if kind.is_file() && endings.iter().any(|ending| path.ends_with(ending)) {
            found.insert(path);
        }
    }
    found
}

/// The files that a document in the root links to.
fn links(text: &str) -> BTreeSet<String> {
    let targets = text.match_indices("](").map(|(at, _)| &text[at + 2..]);
    let targets = targets.filter_map(|rest| rest.split([')', '#']).next());
    let files = targets.filter(|target| !target.is_empty() && !target.contains("://"));
    files.map(String::from).collect()
}

/// The text under a heading, up to the next of its level.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let start = text.find(&format!("\n## {heading}\n"));
    let start = start.unwrap_or_else(|| panic!("no heading {heading}")) + 4;
    let end = text[start..]
        .find("\n## ")
        .map_or(text.len(), |end| start + end);
    &text[start..end]
}

/// The packages that the project is made of; each has its sources in `src`.
fn packages() -> BTreeSet<String> {
    let entries = fs::read_dir(root().join("crates")).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names
        .map(|name| name.into_string().expect("UTF-8"))
        .collect()
}

#[test]
fn the_architecture_draws_every_package() {
    let architecture = read("ARCHITECTURE.md");
    let drawn = section(&architecture, "The drawing").lines();
    let drawn: BTreeSet<String> = drawn
        .filter_map(|line| line.split_once("── "))
        .filter_map(|(_, rest)| Some(rest.split_once('/')?.0.to_owned()))
        .collect();

    assert_eq!(drawn, packages(), "left: ARCHITECTURE.md; right: crates");
}

#[test]
fn no_walk_returns_to_a_file() {
    let architecture = read("ARCHITECTURE.md");
    let rows = section(&architecture, "Six walks").lines();
    let walks: Vec<&str> = rows.filter(|row| row.contains("](crates/")).collect();
    assert_eq!(walks.len(), 6);
    for walk in walks {
        let steps = walk.matches("](").count();

        assert_eq!(links(walk).len(), steps, "{walk}");
        assert!((2..=9).contains(&steps), "{steps} files: {walk}");
    }
}

#[test]
fn every_source_file_begins_by_saying_what_is_in_it() {
    let mut sources = BTreeSet::new();
    for package in packages() {
        sources.extend(files(&format!("crates/{package}/src"), &[".rs"]));
    }
    assert!(sources.len() > 200, "{}", sources.len());

    let silent: Vec<&String> = sources
        .iter()
        .filter(|path| {
            !["//!", "#![doc = include_str!"]
                .iter()
                .any(|start| read(path).starts_with(start))
        })
        .collect();

    assert!(silent.is_empty(), "without a first line: {silent:#?}");
}

#[test]
fn the_tables_of_unsafe_code_list_the_files_that_have_some_and_no_others() {
    let tables = read("docs/unsafe.md");
    let linked = links(&tables);
    let linked = linked.iter().filter_map(|path| path.strip_prefix("../"));
    let listed: BTreeSet<String> = linked
        .filter(|path| !path.contains("/tests/"))
        .map(String::from)
        .collect();

    // The lint is an error elsewhere, so no other file can have unsafe code.
    for crate_root in [
        "crates/mayhap/src/lib.rs",
        "crates/mayhap-module/src/lib.rs",
        "crates/mayhap-lab/explore/src/lib.rs",
        "crates/mayhap-lab/src/lib.rs",
    ] {
        assert!(
            read(crate_root).contains("#![deny(unsafe_code)]"),
            "{crate_root}"
        );
    }
    for crate_root in [
        "crates/mayhap-commands/src/lib.rs",
        "crates/mayhap-redis/src/lib.rs",
        "crates/mayhap-cli/src/main.rs",
        "crates/mayhap-lab/src/program/main.rs",
        "crates/mayhap-program/src/lib.rs",
    ] {
        assert!(
            read(crate_root).contains("#![forbid(unsafe_code)]"),
            "{crate_root}"
        );
    }
    assert!(read("crates/mayhap-python/Cargo.toml").contains("unsafe_code = \"deny\""));
    let mut sources = files("crates/mayhap/src", &[".rs"]);
    sources.extend(files("crates/mayhap-module/src", &[".rs"]));
    sources.extend(files("crates/mayhap-lab/explore/src", &[".rs"]));
    sources.extend(files("crates/mayhap-lab/src", &[".rs"]));
    sources.extend(files("crates/mayhap-python/src", &[".rs"]));
    let allowed: BTreeSet<String> = sources
        .into_iter()
        .filter(|path| read(path).contains("allow(unsafe_code"))
        .collect();

    assert_eq!(listed, allowed, "left: docs/unsafe.md; right: the code");
}

/// Returns whether a text has the name of a kind as a word: that of its type, or the one that users type.
fn names(text: &str, kind: Kind) -> bool {
    let typed = kind.name();
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    let of_type: String = typed.split('-').map(capital).collect();
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
    [typed, &of_type].into_iter().any(|name| {
        text.match_indices(name).any(|(at, _)| {
            !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part)
        })
    })
}

#[test]
fn contributing_lists_the_files_that_name_every_kind_and_no_others() {
    let contributing = read("CONTRIBUTING.md");
    let listed = links(section(&contributing, "A new kind"));
    let (folders, listed): (BTreeSet<String>, BTreeSet<String>) = listed
        .into_iter()
        .partition(|path| root().join(path).is_dir());

    let mut texts = files("crates", &[".rs", ".md", ".toml"]);
    for folder in ["docs", "fuzz", "bench"] {
        texts.extend(files(folder, &[".rs", ".md", ".toml"]));
    }
    let every = |path: &String| {
        let text = read(path);
        Kind::ALL.iter().all(|&kind| names(&text, kind))
    };
    let naming: BTreeSet<String> = texts.into_iter().filter(every).collect();

    assert_eq!(
        listed, naming,
        "left: CONTRIBUTING.md; right: files that name every kind"
    );
    let golden = "crates/mayhap/tests/data/native/v1";
    assert!(folders.contains(golden), "{folders:?}");
    let golden = files(golden, &[".mayhap"]);
    for &kind in Kind::ALL {
        let is_of_kind = |path: &&String| path.contains(&format!("/{kind}-"));
        assert!(
            golden.iter().any(|path| is_of_kind(&path)),
            "no golden file of {kind}"
        );
    }
}
