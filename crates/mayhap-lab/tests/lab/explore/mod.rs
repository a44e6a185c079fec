//! The page of `mayhap-lab explore` in a real browser. If there is none, or the program was built without the page, the
//! tests say SKIPPED and why.

mod axe;
mod bits;
mod controls;

use std::path::PathBuf;

use crate::browser::Browser;
use crate::lab;

/// A page in a folder of its own.
struct Opened {
    folder: tempfile::TempDir,
    browser: Browser,
}

impl Opened {
    fn page(&self) -> PathBuf {
        self.folder.path().join("explore.html")
    }

    /// Opens the page at a fragment, and waits until it is ready.
    fn go_to(&mut self, fragment: &str) {
        let address = format!("file://{}{fragment}", self.page().display());
        self.browser.open(&address);
        self.browser.run("await ready; return true;");
    }

    /// Asserts that only the page itself was requested, and that the console is empty.
    #[track_caller]
    fn assert_quiet(&self) {
        let (requests, console) = self.browser.noises();
        let page = format!("file://{}", self.page().display());
        let is_own = |address: &String| {
            address.starts_with(&page) || address.starts_with("blob:") || address == "about:blank"
        };
        let others: Vec<&String> = requests.iter().filter(|address| !is_own(address)).collect();
        assert!(others.is_empty(), "requests: {others:?}");
        assert!(
            requests.iter().any(|address| address.starts_with(&page)),
            "none was seen"
        );
        assert!(console.is_empty(), "{console:?}");
    }
}

/// Writes the page and opens it, if that is possible here.
fn open(width: u32) -> Option<Opened> {
    let mut browser = Browser::start()?;
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("explore.html");
    let written = lab()
        .args(["explore", "--quiet"])
        .arg(&page)
        .output()
        .expect("the command runs");
    if !written.status.success() {
        let error = String::from_utf8_lossy(&written.stderr).into_owned();
        assert_eq!(written.status.code(), Some(2), "{error}");
        assert!(error.contains("hint: ") && !page.exists(), "{error}");
        eprintln!("SKIPPED: {}", error.trim());
        return None;
    }
    assert!(written.stdout.is_empty() && written.stderr.is_empty());
    browser.look(width, "light");
    let mut opened = Opened { browser, folder };
    opened.go_to("");
    Some(opened)
}

#[test]
fn the_page_goes_to_standard_output_whole() {
    let run = |arguments: &[&str]| {
        let output = lab().args(arguments).output();
        output.expect("the program runs")
    };
    let printed = run(&["explore", "-"]);
    if !printed.status.success() {
        eprintln!(
            "SKIPPED: {}",
            String::from_utf8_lossy(&printed.stderr).trim()
        );
        return;
    }
    let text = String::from_utf8(printed.stdout).expect("UTF-8");
    assert!(text.starts_with("<!doctype html>") && text.ends_with("</html>\n"));
    assert!(text.len() < 600_000, "{} bytes", text.len());
    for other in ["http:", "https:", " src=", "@import", "url("] {
        assert!(!text.contains(other), "{other}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    assert_eq!(
        run(&["explore", path]).status.code(),
        Some(2),
        "a folder is not a page"
    );
}
