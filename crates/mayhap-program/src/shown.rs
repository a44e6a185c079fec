//! Text from outside, as a terminal may get it.
//!
//! Names of files, labels, messages of a lock or a server: anyone may have written them, and a terminal obeys what it is
//! sent. What it would obey is shown as an escape, such as `\x1b`; all other text stays as it is.
//!
//! An address may have a password in it, and may be typed in the wrong place. So no message shows that part of a word on
//! the command line, or of a variable that we read.

use std::ffi::OsString;
use std::fmt::{self, Display, Formatter, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::LazyLock;

use mayhap::file::hidden_part;

/// Bytes to be shown.
struct Shown(Vec<u8>);

/// The parts of the given words that are never shown: `://` and what follows it, up to where an address can be shown again.
static HIDDEN: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let ours = |name: &[u8]| name.starts_with(b"MAYHAP_");
    let variables = std::env::vars_os().filter(|(name, _)| ours(name.as_bytes()));
    let words = std::env::args_os().chain(variables.map(|(_, value)| value));
    let hidden = words.filter_map(|word| {
        let part = hidden_part(word.as_bytes());
        (!part.is_empty()).then(|| word.as_bytes()[part.start - 3..part.end].to_vec())
    });
    hidden.collect()
});

/// A text as it can be shown.
pub fn shown(text: &str) -> impl Display {
    let mut text = text.to_owned();
    for hidden in &*HIDDEN {
        text = text.replace(&*String::from_utf8_lossy(hidden), "://…");
    }
    Shown(text.into_bytes())
}

/// A path as it can be shown, which need not be UTF-8.
pub fn shown_path(path: &Path) -> impl Display {
    let mut bytes = path.as_os_str().as_bytes().to_vec();
    let hidden = hidden_part(&bytes);
    if !hidden.is_empty() {
        bytes.splice(hidden, "…".bytes());
    }
    Shown(bytes)
}

/// Returns whether all words on the command line, and our variables, can be shown as they are.
pub(crate) fn words_are_shown_as_given() -> bool {
    let is_plain =
        |word: OsString| shown_path(Path::new(&word)).to_string() == word.to_string_lossy();
    HIDDEN.is_empty() && std::env::args_os().all(is_plain)
}

impl Display for Shown {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for letter in chunk.valid().chars() {
                match letter {
                    '\n' | '\r' | '\t' => write!(f, "{}", letter.escape_default())?,
                    '\0'..='\x7F' if letter.is_control() => write!(f, "\\x{:02x}", letter as u32)?,
                    _ if is_obeyed(letter) => write!(f, "{}", letter.escape_unicode())?,
                    _ => f.write_char(letter)?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// Returns whether a terminal does anything with this letter but show it: controls of both sets, line breaks, and marks that
/// change the direction of the text around them.
fn is_obeyed(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_all_else_stays() {
        for (text, expected) in [
            ("", ""),
            ("seen in März, 日本 \\ \"a\"", "seen in März, 日本 \\ \"a\""),
            ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
            ("a\r\nb\tc\0\x7f", "a\\r\\nb\\tc\\x00\\x7f"),
            ("\u{9b}31m", "\\u{9b}31m"),
            (
                "a\u{202e}b\u{2066}c\u{2028}",
                "a\\u{202e}b\\u{2066}c\\u{2028}",
            ),
        ] {
            assert_eq!(shown(text).to_string(), expected);
        }
        let path = Path::new(OsStr::from_bytes(b"a\xff\xc3(\x1b"));
        assert_eq!(shown_path(path).to_string(), "a\\xff\\xc3(\\x1b");
        let path = Path::new("redis://me:p@ss@host#seen");
        assert_eq!(shown_path(path).to_string(), "redis://…@host#seen");
    }
}
