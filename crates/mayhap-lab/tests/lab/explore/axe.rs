//! The page under the rules of axe-core, in both languages, light and dark, wide and narrow.

use serde_json::Value;

use super::open;
use crate::browser;

#[test]
fn axe_finds_nothing_to_mend_in_the_explorer() {
    let Some(axe) = browser::axe() else { return };
    let Some(mut opened) = open(1280) else { return };
    for (width, language, scheme) in [
        (1280, "en", "light"),
        (1280, "zh", "dark"),
        (390, "en", "dark"),
        (390, "zh", "light"),
    ] {
        opened.browser.look(width, scheme);
        opened.go_to(&format!("#kind=bloom&deed=1ann&lang={language}"));
        opened
            .browser
            .run(r#"document.getElementById("attack-start").click();"#);
        let broken = opened.browser.broken_rules(&axe);
        assert_eq!(broken, Value::Array(vec![]), "{width} {language} {scheme}");
    }
}
