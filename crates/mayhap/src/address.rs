//! Paths and addresses in messages: without passwords.

use std::ops::Range;
use std::path::Path;

/// Formats a path for a message, without its [`hidden_part`].
pub fn shown(path: &Path) -> String {
    let mut text = path.to_string_lossy().into_owned();
    let hidden = hidden_part(text.as_bytes());
    if !hidden.is_empty() {
        text.replace_range(hidden, "…");
    }
    text
}

/// Returns the part of an address `scheme://user:password@host` that messages leave out, because it may hold a
/// password: everything before its last `@`, and its query. Empty if there is none.
///
/// An address may be given by mistake wherever a file can be named, so every name is checked.
///
/// ```
/// use mayhap::file::hidden_part;
///
/// let address = "redis://me:secret@example.org#seen";
/// assert_eq!(&address[hidden_part(address.as_bytes())], "me:secret");
/// assert!(hidden_part(b"folder/seen.mayhap").is_empty());
/// ```
pub fn hidden_part(name: &[u8]) -> Range<usize> {
    let Some(scheme) = name.windows(3).position(|letters| letters == b"://") else {
        return 0..0;
    };
    let start = scheme + 3;
    let find = |letter: u8| name[start..].iter().rposition(|other| *other == letter);
    let rest = name.len() - start;
    let user = find(b'@').unwrap_or(0);
    let query = find(b'?').map_or(0, |query| {
        find(b'#').filter(|name| *name > query).unwrap_or(rest)
    });
    start..start + user.max(query)
}
