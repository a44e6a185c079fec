use std::fs;
use std::path::Path;

use crate::env::TestEnv;

/// A command of the documentation, and what it says that the command prints.
struct Example {
    script: String,
    expected: String,
    line: usize,
}

/// The blocks marked `console`: a line that begins with `$ ` is run, what follows it is what it prints on
/// both streams. A line that is only `…` stands for any number of lines; how wide columns are does not matter.
fn examples(text: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut is_console = false;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            is_console = line == "```console";
            continue;
        }
        if !is_console {
            continue;
        }
        match (line.strip_prefix("$ "), examples.last_mut()) {
            (Some(script), _) => examples.push(Example {
                script: script.into(),
                expected: String::new(),
                line: number + 1,
            }),
            (None, Some(example)) => {
                example.expected.push_str(line);
                example.expected.push('\n');
            }
            (None, None) => panic!("line {}: output without a command", number + 1),
        }
    }
    examples
}

/// Compares a text with the expected one, in which a line `…` stands for any lines.
fn matches(expected: &str, text: &str) -> bool {
    let mut parts = expected.split("…\n");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut has_gap = false;
    for part in parts {
        has_gap = true;
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty() || (has_gap && expected.ends_with("…\n"))
}

/// The text with one blank for each run of blanks.
fn squeezed(text: &str) -> String {
    let lines = text.lines();
    let words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    words.map(|line| line + "\n").collect()
}

#[test]
fn every_example_of_the_documentation_prints_what_it_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let env = TestEnv::new();
    let examples = examples(&text);
    assert!(examples.len() >= 30, "{} examples", examples.len());

    for example in examples {
        let run = env.shell(&format!("exec 2>&1; {}", example.script)).run();
        let printed = run.text();
        assert!(
            matches(&squeezed(&example.expected), &squeezed(printed)),
            "docs/cli.md:{}: $ {}\nprints\n{printed}in place of\n{}",
            example.line,
            example.script,
            example.expected,
        );
    }
}

#[test]
fn a_gap_stands_for_any_lines() {
    for (expected, text, answer) in [
        ("a\n", "a\n", true),
        ("a\n", "a\nb\n", false),
        ("a\n…\n", "a\nb\nc\n", true),
        ("a\n…\nc\n", "a\nb\nc\n", true),
        ("a\n…\nc\n", "a\nb\nd\n", false),
        ("…\nc\n", "a\nc\n", true),
        ("", "", true),
        ("", "a\n", false),
    ] {
        assert_eq!(matches(expected, text), answer, "{expected:?} {text:?}");
    }
}
