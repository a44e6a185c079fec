//! The files themselves.

use std::collections::BTreeSet;
use std::path::Path;

use super::data::{Case, SECTIONS, json, path, read, report, sha256};

/// Files that the manifest does not list: itself and the document.
const UNLISTED: [&str; 2] = ["README.md", "manifest.json"];

#[test]
fn every_listed_file_has_the_size_and_digest_of_the_manifest() {
    let manifest = json("manifest.json");
    let manifest = Case {
        name: "manifest.json".into(),
        value: &manifest,
    };

    let mut asserted = 0;
    for file in manifest.parts("files") {
        let bytes = read(file.text("path"));
        assert_eq!(bytes.len() as u64, file.count("bytes"), "{file}");
        assert_eq!(sha256(&bytes), file.text("sha256"), "{file}");
        asserted += 1;
    }

    assert_eq!(asserted, 78);
    report("manifest.json/files", asserted);
}

#[test]
fn no_file_is_missing_from_the_manifest() {
    let mut present = BTreeSet::new();
    collect_files(&path(""), &path(""), &mut present);

    let mut expected: BTreeSet<String> = UNLISTED.map(String::from).into();
    let manifest = json("manifest.json");
    for file in manifest["files"].as_array().expect("a list of files") {
        expected.insert(file["path"].as_str().expect("a path").into());
    }
    assert_eq!(present, expected);
}

#[test]
fn no_array_of_any_file_is_missing_from_the_table_of_sections() {
    let mut found = BTreeSet::new();
    let manifest = json("manifest.json");
    for file in manifest["files"].as_array().expect("a list of files") {
        let file = file["path"].as_str().expect("a path");
        if !file.ends_with(".json") {
            continue;
        }
        for (name, value) in json(file).as_object().expect("an object") {
            match (value.as_array(), value.is_object()) {
                (Some(entries), _) => found.insert((file.to_string(), name.clone(), entries.len())),
                (None, true) => found.insert((file.to_string(), name.clone(), 1)),
                (None, false) => continue,
            };
        }
    }

    let table = SECTIONS.map(|(file, name, entries)| (file.to_string(), name.to_string(), entries));
    assert_eq!(found, BTreeSet::from(table));
}

fn collect_files(folder: &Path, root: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            collect_files(&path, root, found);
            continue;
        }
        let relative = path.strip_prefix(root).expect("a path below the root");
        found.insert(
            relative
                .to_str()
                .expect("a path in UTF-8")
                .replace('\\', "/"),
        );
    }
}
