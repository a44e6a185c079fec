//! The maps of the repository against the repository: their lists are complete. That links lead somewhere is for
//! `documents.rs`.
//!
//! ARCHITECTURE.md shows every source file and says where unsafe code is, CONTRIBUTING.md what a new kind touches.
//! These tests read the documents; when one fails, the document is what to mend.

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

/// The files under a folder of the repository with one of these endings, as paths from its root. Links are left out:
/// what they lead to is there itself.
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

#[test]
fn the_architecture_shows_every_source_file() {
    let shown = links(&read("ARCHITECTURE.md"));
    let mut sources = files("crates/mayhap/src", &[".rs"]);
    sources.extend(files("crates/mayhap-derive/src", &[".rs"]));
    sources.extend(files("crates/mayhap-explore/src", &[".rs"]));
    sources.extend(files("crates/mayhap-module/src", &[".rs"]));
    sources.extend(files("crates/mayhap-redis/src", &[".rs"]));
    sources.extend(files("crates/mayhap-python/src", &[".rs"]));
    // A verb is a file of its name, which needs no map.
    let command = files("crates/mayhap-cli/src", &[".rs"]);
    sources.extend(command.into_iter().filter(|path| !path.contains("/verbs/")));
    assert!(sources.len() > 100, "{}", sources.len());

    let missing: Vec<&String> = sources.difference(&shown).collect();

    assert!(missing.is_empty(), "not in ARCHITECTURE.md: {missing:#?}");
}

#[test]
fn the_architecture_lists_the_files_with_unsafe_code_and_no_others() {
    let architecture = read("ARCHITECTURE.md");
    let mut listed = links(section(&architecture, "Unsafe code"));
    listed.remove("crates/mayhap/tests/maps.rs");

    // The lint is an error elsewhere: no other file can have any.
    for crate_root in [
        "crates/mayhap/src/lib.rs",
        "crates/mayhap-module/src/lib.rs",
        "crates/mayhap-explore/src/lib.rs",
    ] {
        assert!(
            read(crate_root).contains("#![deny(unsafe_code)]"),
            "{crate_root}"
        );
    }
    for crate_root in [
        "crates/mayhap-redis/src/lib.rs",
        "crates/mayhap-cli/src/main.rs",
    ] {
        assert!(
            read(crate_root).contains("#![forbid(unsafe_code)]"),
            "{crate_root}"
        );
    }
    let mut sources = files("crates/mayhap/src", &[".rs"]);
    sources.extend(files("crates/mayhap-module/src", &[".rs"]));
    sources.extend(files("crates/mayhap-explore/src", &[".rs"]));
    let allowed: BTreeSet<String> = sources
        .into_iter()
        .filter(|path| read(path).contains("allow(unsafe_code"))
        .collect();

    assert_eq!(listed, allowed, "left: ARCHITECTURE.md; right: the code");
}

/// Whether a text has the name of a kind as a word: of its type, or as users type it.
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
