//! The dependencies of the workspace: licences, sources and versions, by the rules of deny.toml.
//!
//! `cargo deny` checks the same and more, if it is installed; this needs only cargo.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Lists every package that is compiled for this machine, as cargo describes it.
fn packages() -> Vec<Value> {
    let target = Command::new("rustc").arg("-vV").output().expect("rustc");
    let target = String::from_utf8(target.stdout).expect("UTF-8");
    let host = target.lines().find_map(|line| line.strip_prefix("host: "));
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--all-features",
            "--locked",
        ])
        .args(["--filter-platform", host.expect("a host")])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo");
    assert!(output.status.success(), "{output:?}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

/// The strings of the list `allow` in deny.toml.
fn allowed() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deny.toml");
    let text = fs::read_to_string(path).expect("deny.toml");
    let (_, list) = text.split_once("allow = [").expect("the list");
    let (list, _) = list.split_once(']').expect("its end");
    let quoted = list.split('"').skip(1).step_by(2);
    quoted.map(String::from).collect()
}

/// Returns whether these licences satisfy a licence expression: either side of a choice, both sides of `AND`.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.trim();
    for (word, needs_all) in [(" OR ", false), ("/", false), (" AND ", true)] {
        let sides = split_outside(expression, word);
        if sides.len() > 1 {
            let mut met = sides.iter().map(|side| is_met(side, allowed));
            return if needs_all {
                met.all(|met| met)
            } else {
                met.any(|met| met)
            };
        }
    }
    let inside = expression
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    match inside {
        Some(inside) => is_met(inside, allowed),
        None => allowed.iter().any(|licence| licence == expression),
    }
}

/// Splits a text at a word that is not in parentheses.
fn split_outside<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 && at >= start && text[at..].starts_with(word) => {
                parts.push(&text[start..at]);
                start = at + word.len();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[test]
fn every_dependency_has_a_licence_that_is_allowed() {
    let allowed = allowed();
    assert!(allowed.len() >= 5, "{allowed:?}");

    let refused: Vec<String> = packages()
        .iter()
        .filter(|package| !is_met(package["license"].as_str().unwrap_or_default(), &allowed))
        .map(|package| format!("{} {}", package["name"], package["license"]))
        .collect();

    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn every_dependency_comes_from_the_registry_and_has_a_version() {
    for package in packages() {
        let name = &package["name"];
        let source = package["source"].as_str();
        let is_ours = package["manifest_path"].as_str().is_some_and(|path| {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            Path::new(path).starts_with(root.canonicalize().expect("the root"))
        });
        match source {
            None => assert!(is_ours, "{name} is a path outside of the workspace"),
            Some(source) => assert!(source.contains("crates.io-index"), "{name}: {source}"),
        }
        for dependency in package["dependencies"].as_array().expect("a list") {
            let is_wild = dependency["req"] == "*" && dependency["path"].is_null();
            assert!(!(is_ours && is_wild), "{name}: {}", dependency["name"]);
        }
    }
}

#[test]
fn licence_expressions_are_parsed_correctly() {
    let allowed = ["MIT".to_string(), "ISC".to_string()];

    for met in [
        "MIT",
        "MIT OR GPL-3.0",
        "GPL-3.0/MIT",
        "MIT AND ISC",
        "(GPL-3.0 OR MIT) AND ISC",
    ] {
        assert!(is_met(met, &allowed), "{met}");
    }
    for refused in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR ISC) AND GPL-3.0",
        "MIT-0",
    ] {
        assert!(!is_met(refused, &allowed), "{refused}");
    }
}
