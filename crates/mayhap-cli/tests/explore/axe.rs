//! The page by the rules of axe-core, in both languages, in light and in dark, wide and narrow.

use std::{env, fs};

use serde_json::{Value, json};

use crate::open;

/// With `MAYHAP_AXE` the path of `axe.min.js`, of axe-core 4.
#[test]
fn axe_finds_nothing_to_mend_in_the_explorer() {
    let Ok(axe) = env::var("MAYHAP_AXE") else {
        eprintln!("SKIPPED: MAYHAP_AXE does not name axe.min.js");
        return;
    };
    let axe = fs::read_to_string(axe).expect("MAYHAP_AXE names a file");
    for width in [1280, 390] {
        let Some(mut opened) = open(width) else {
            return;
        };
        for (language, scheme) in [
            ("en", "light"),
            ("en", "dark"),
            ("zh", "light"),
            ("zh", "dark"),
        ] {
            let media = json!({ "features": [
                { "name": "prefers-color-scheme", "value": scheme },
                { "name": "prefers-reduced-motion", "value": "reduce" },
            ] });
            opened.browser.call("Emulation.setEmulatedMedia", media);
            let address = format!(
                "file://{}#kind=bloom&deed=1ann&lang={language}",
                opened.page().display()
            );
            opened.browser.go_to(&address);
            opened.browser.run(&format!("{axe}; return true;"));
            let broken = opened.browser.run(
                r##"
                document.getElementById("attack-start").click();
                const found = await window.axe.run({ resultTypes: ["violations"] });
                return found.violations.map((rule) => `${rule.id}: ${rule.nodes[0].html}`);
                "##,
            );
            assert_eq!(broken, Value::Array(vec![]), "{width} {language} {scheme}");
        }
    }
}
