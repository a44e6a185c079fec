//! Text from outside, as a terminal may get it.
//!
//! Names of files, labels, what a lock or a server says: anyone may have written them, and a terminal obeys what
//! it is sent. What it would obey is shown as an escape, such as `\x1b`; all other text stays as it is.

use std::fmt::{self, Display, Formatter, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Bytes to be shown.
struct Shown<'a>(&'a [u8]);

/// A text as it can be shown.
pub(crate) fn shown(text: &str) -> impl Display {
    Shown(text.as_bytes())
}

/// A path as it can be shown, which need not be UTF-8.
pub(crate) fn shown_path(path: &Path) -> impl Display {
    Shown(path.as_os_str().as_bytes())
}

impl Display for Shown<'_> {
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

/// Whether a terminal does something on this letter other than to show it: controls of both sets, new lines, and
/// what turns the direction of the text around it.
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
    }
}
