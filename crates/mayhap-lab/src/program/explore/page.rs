//! Assembling the files of the page into one.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

/// The place of each file in the first: a comment with its name.
const FILES: [(&str, &[&str]); 3] = [
    ("style", &[include_str!("page/style.css")]),
    (
        "worker",
        &[
            include_str!("page/engine.js"),
            include_str!("page/worker.js"),
        ],
    ),
    (
        "script",
        &[
            include_str!("page/engine.js"),
            include_str!("page/english.js"),
            include_str!("page/chinese.js"),
            include_str!("page/words.js"),
            include_str!("page/picture.js"),
            include_str!("page/keys.js"),
            include_str!("page/steps.js"),
            include_str!("page/sizes.js"),
            include_str!("page/runs.js"),
            include_str!("page/attack.js"),
            include_str!("page/main.js"),
        ],
    ),
];

/// Assembles the page, with the filters in it.
pub(super) fn assemble(wasm: &[u8]) -> String {
    let mut page = String::from(include_str!("page/index.html"));
    for (name, texts) in FILES {
        let place = format!("/* {name} */");
        assert!(page.contains(&place), "index.html has a place for {name}");
        page = page.replacen(&place, &texts.join("\n"), 1);
    }
    page.replacen("/* wasm */", &base64(&compressed(wasm)), 1)
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            text.push(match digit <= three.len() {
                true => char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]),
                false => '=',
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10.
        for (plain, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }

    #[test]
    fn the_page_is_whole_and_requests_nothing() {
        let page = assemble(b"wasm");
        for (name, _) in FILES {
            assert!(!page.contains(&format!("/* {name} */")), "{name}");
        }
        for other in ["http:", "https:", " src=", "@import", "url("] {
            assert!(!page.contains(other), "{other}");
        }
    }
}
