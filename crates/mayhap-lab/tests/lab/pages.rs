//! The pages of the experiments in a real browser: every picture drawn, tables that sort, keys that work, and no rule
//! of axe-core broken.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::browser::{self, Browser};
use crate::experiments::{number, run};

/// The verb that makes a page, its arguments, and the number of its pictures.
const PAGES: [(&str, &str, usize); 3] = [
    (
        "rate",
        "-n 1k --queries 2k --hashes 4-8 --kind blocked,counting",
        10,
    ),
    (
        "speed",
        "-n 1k,4k --rounds 1 --threads 2 --kind blocked,counting",
        4,
    ),
    ("posts", "statements", 0),
];

/// Counts what is visible, and sorts a table.
const PROBE: &str = r#"
  const pictures = [...document.querySelectorAll("figure svg.chart, figure svg.bits")].map((svg) => {
    const drawn = [...svg.querySelectorAll(".mark, .ones, .cell")];
    const seen = drawn.filter((one) => one.getBoundingClientRect().width > 0);
    const box = svg.getBoundingClientRect();
    return { width: box.width, height: box.height, marks: seen.length, title: svg.querySelector("title").textContent };
  });
  const table = document.querySelector("table");
  table.querySelector("thead th button").click();
  // By keyboard alone: to a chart, and from its first point to the next.
  const first = document.querySelector(".point");
  let tips = [];
  if (first) {
    const tip = document.querySelector(".tip");
    first.focus();
    tips.push(tip.hidden ? "" : tip.textContent);
    first.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    tips.push(tip.hidden ? "" : tip.textContent);
  }
  return {
    pictures, tips,
    stops: [...document.querySelectorAll("svg.chart")].every((svg) => svg.querySelectorAll("[tabindex='0']").length <= 1),
    sticky: getComputedStyle(document.querySelector("thead th")).position,
    cards: document.querySelectorAll(".card").length,
    sorted: table.querySelector("thead th").getAttribute("aria-sort"),
    overflow: document.documentElement.scrollWidth - innerWidth,
    captions: [...document.querySelectorAll("table")].every((table) => table.caption.textContent.length > 0),
  };
"#;

#[test]
fn pages_open_in_a_browser_with_every_picture_drawn_and_axe_finds_nothing_to_mend() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let axe = browser::axe();
    let folder = tempfile::tempdir().expect("a folder");
    for (name, arguments, pictures) in PAGES {
        let page = folder.path().join(format!("{name}.html"));
        run(&format!("{name} {arguments} --report {}", page.display()));
        let text = fs::read_to_string(&page).expect("a page");
        assert!(!text.contains("http:") && !text.contains("https:") && !text.contains(" src="));

        for width in [1280, 390] {
            show(&mut browser, &page, width, "light");
            let found = browser.run(PROBE);
            check(&found, name, pictures);
            assert!(
                number(&found, "overflow") <= 0.0,
                "{name} at {width}: {found}"
            );
            for scheme in ["light", "dark"] {
                let Some(axe) = &axe else { continue };
                show(&mut browser, &page, width, scheme);
                let broken = browser.broken_rules(axe);
                assert_eq!(broken, Value::Array(vec![]), "{name} {width} {scheme}");
            }
        }
    }
    let (requests, console) = browser.noises();
    let is_ours = |address: &String| address.starts_with("file:") || address == "about:blank";
    assert!(requests.iter().all(is_ours), "{requests:?}");
    assert!(console.is_empty(), "{console:?}");
}

fn show(browser: &mut Browser, page: &Path, width: u32, scheme: &str) {
    browser.look(width, scheme);
    browser.open(&format!("file://{}", page.display()));
}

/// Checks the findings of the probe on a page.
#[track_caller]
fn check(found: &Value, name: &str, pictures: usize) {
    let drawn = found["pictures"].as_array().expect("a list");
    assert_eq!(drawn.len(), pictures, "{name}: {found}");
    for picture in drawn {
        assert!(number(picture, "marks") > 0.0, "{name}: {picture}");
        assert!(number(picture, "width") > 250.0 && number(picture, "height") > 100.0);
        assert_ne!(picture["title"], "", "{name}");
    }
    let tips = found["tips"].as_array().expect("a list");
    assert!(tips.iter().all(|tip| tip != ""), "{name}: {tips:?}");
    assert!(tips.is_empty() || tips[0] != tips[1], "{name}: {tips:?}");
    assert_eq!(
        (&found["stops"], &found["sticky"]),
        (&Value::from(true), &Value::from("sticky"))
    );
    assert_eq!(number(found, "cards") > 10.0, name == "posts");
    assert_eq!(found["sorted"], "ascending", "{name}");
    assert_eq!(found["captions"], true, "{name}");
}
