//! Arguments of the program, and whether help and documents agree with them.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::lab;

const VERBS: [&str; 4] = ["rate", "speed", "posts", "explore"];

#[track_caller]
fn printed(words: &[&str]) -> String {
    let output = lab().args(words).output().expect("the program runs");
    assert!(output.status.success(), "{words:?}");
    assert!(output.stderr.is_empty(), "{words:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn every_verb_explains_itself_in_help_and_manual() {
    let folder = tempfile::tempdir().expect("a folder");
    printed(&["man", folder.path().to_str().expect("UTF-8")]);
    let main = printed(&["--help"]);

    for verb in VERBS {
        assert!(main.contains(&format!("\n  {verb} ")), "{verb}: {main}");
        let page = folder.path().join(format!("mayhap-lab-{verb}.1"));
        let page = fs::read_to_string(page).expect("a page");
        for text in [printed(&[verb, "--help"]), page] {
            assert!(text.contains("Exit codes: 0"), "{verb}: {text}");
            let (_, examples) = text.split_once("Examples:").expect(verb);
            let lines = examples.lines().filter(|line| line.contains("mayhap"));
            assert!(lines.count() >= 3, "{verb}: {examples}");
        }
    }
    let version = printed(&["--version"]);
    assert_eq!(
        version,
        format!("mayhap-lab {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn shells_complete_verbs_kinds_and_distributions() {
    let bash = printed(&["completions", "bash"]);
    for word in VERBS.into_iter().chain(["blocked", "guava64", "gaussian"]) {
        assert!(bash.contains(word), "{word}");
    }
}

/// Types a command from a document, or from the help, in a folder without files. The page is refused, because it is
/// a folder, before anything is measured.
fn type_in(folder: &Path, command: &str) -> Output {
    let words: Vec<&str> = command.split_whitespace().collect();
    let report = words.iter().position(|word| *word == "--report");
    let words: Vec<&str> = match report {
        Some(at) => [&words[..at], &words[at + 2..]].concat(),
        None => words,
    };
    let at = words.iter().position(|word| *word == "mayhap-lab");
    let words = &words[at.expect("a command of the lab") + 1..];
    let page: &[&str] = match words {
        ["explore", ..] => &[],
        _ => &["--report", "."],
    };
    let output = lab().args(words).args(page).current_dir(folder).output();
    output.expect("the program runs")
}

#[test]
fn the_commands_of_help_and_documents_can_be_typed() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut texts: Vec<String> = VERBS.map(|verb| printed(&[verb, "--help"])).into();
    for document in ["docs/lab.md", "docs/explore.md", "README.md"] {
        let text = fs::read_to_string(root.join(document)).expect("a document");
        let blocks = text.split("```").skip(1).step_by(2);
        texts.extend(blocks.map(String::from));
    }
    let mut count = 0;
    for line in texts.iter().flat_map(|text| text.lines()) {
        let command = line.trim().split("  ").next().unwrap_or_default();
        let command = command.split(['#', '>']).next().unwrap_or_default();
        let command = command
            .rsplit('|')
            .find(|part| part.contains("mayhap-lab "));
        let Some(command) = command.filter(|_| !line.starts_with("Usage")) else {
            continue;
        };

        let output = type_in(folder.path(), command);

        let said = String::from_utf8_lossy(&output.stderr);
        let is_refused = said.contains("cannot write .: is a directory");
        assert!(output.status.success() || is_refused, "{line}: {said}");
        count += 1;
    }
    assert!(count >= 15, "{count}");
}
