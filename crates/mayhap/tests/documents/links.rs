//! The documents compared with the repository: links, examples, and where the posts are explained.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Lists the files of a folder, under the root, whose names end so.
fn files(folder: &str, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect(folder);
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{folder} has no file {end}");
    paths
}

fn documents() -> Vec<(PathBuf, String)> {
    let folders = [
        "",
        "docs",
        "docs/decisions",
        "docs/recipes",
        "bench",
        "fuzz",
        "crates/mayhap-redis",
        "crates/mayhap-python",
    ];
    let paths = folders.iter().flat_map(|folder| files(folder, ".md"));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("UTF-8");
        (path, text)
    };
    paths.map(read).collect()
}

/// The targets of the links in a text.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let ends = text.match_indices("](").map(|(at, _)| &text[at + 2..]);
    ends.filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
}

/// The anchors of the headings in a text, as code hosts make them.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = |letter: &char| letter.is_alphanumeric() || "-_ ".contains(*letter);
        words.chars().filter(kept).collect::<String>()
    };
    headings
        .map(|heading| anchor(heading).replace(' ', "-"))
        .collect()
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let mut count = 0;
    for (path, text) in documents() {
        let folder = path.parent().expect("a file is in a folder");
        for link in links(&text).filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                _ => folder.join(file),
            };
            assert!(target.exists(), "{}: {link}", path.display());
            if !anchor.is_empty() {
                let text = fs::read_to_string(&target).expect("a document");
                let anchors = anchors(&text);
                let is_there = anchors.iter().any(|known| known == anchor);
                assert!(is_there, "{}: {link}", path.display());
            }
            count += 1;
        }
    }
    assert!(count > 100, "only {count} links: are they still found?");
}

#[test]
fn every_example_is_listed_and_fits_a_screen() {
    let list = fs::read_to_string(root().join("docs/choose.md")).expect("a document");
    for path in files("crates/mayhap/examples", ".rs") {
        let name = path.file_stem().expect("a name").to_string_lossy();
        assert!(list.contains(&format!("`{name}`")), "{name} is not listed");
        let text = fs::read_to_string(&path).expect("UTF-8");
        let command = format!("--example {name}");
        assert!(text.contains(&command), "{name} does not say how to run it");
        assert!(text.lines().count() <= 60, "{name} is too long");
    }
}

#[test]
fn posts_are_numbered_in_one_document_only() {
    for (path, text) in documents() {
        let is_origins = path.ends_with("docs/origins.md");
        let names_one = text.to_lowercase().contains("post 00");
        assert!(is_origins || !names_one, "{}", path.display());
    }
}

/// The code in a text, without the comments in it.
fn code(text: &str) -> Vec<String> {
    let blocks = text.split("```").skip(1).step_by(2);
    let bare = |line: &str| {
        let comment = line.find("  //").or(line.find("  # "));
        line[..comment.unwrap_or(line.len())].trim_end().to_string()
    };
    blocks
        .map(|block| block.lines().map(bare).collect::<Vec<_>>().join("\n"))
        .collect()
}

#[test]
fn the_readme_in_chinese_has_the_code_and_the_figures_of_the_other() {
    let read = |name: &str| fs::read_to_string(root().join(name)).expect("a document");
    let (english, chinese) = (read("README.md"), read("README.zh-CN.md"));

    let commands = |text: &str| {
        let code = code(text).into_iter();
        code.filter(|block| !block.contains("./test.sh"))
            .collect::<Vec<_>>()
    };
    assert_eq!(commands(&english), commands(&chinese));
    assert!(commands(&english).len() >= 4);
    // The kind and the numbers of each row of the table.
    let rows = |text: &str| {
        let rows = text.lines().filter(|line| line.starts_with("| `"));
        let figures = rows.map(|row| {
            let cells: Vec<&str> = row.split('|').collect();
            let kept = |letter: &char| letter.is_ascii_digit() || *letter == '.';
            let numbers: String = cells[3..].concat().chars().filter(kept).collect();
            (cells[1].to_string(), numbers)
        });
        figures.collect::<Vec<_>>()
    };
    assert_eq!(rows(&english), rows(&chinese));
    assert!(rows(&english).len() >= 7);
}
