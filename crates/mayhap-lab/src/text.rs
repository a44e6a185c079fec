//! Keys as text.

use std::io::Write as _;

/// The parts of addresses.
const HOSTS: [&str; 8] = [
    "www.example.org",
    "shop.example.net",
    "example.com",
    "news.example.org",
    "cdn-3.example.net",
    "m.example.com",
    "archive.example.org",
    "api.example.dev",
];
const FOLDERS: [&str; 8] = [
    "",
    "item/",
    "blog/2026/",
    "a/b/",
    "products/garden/",
    "wiki/",
    "img/large/",
    "user/profile/",
];
const TAILS: [&str; 4] = ["", ".html", "?page=2", "?utm_source=letter"];

/// Appends a number in decimal.
pub(crate) fn number(bytes: &mut Vec<u8>, number: i64) {
    write!(bytes, "{number}").expect("a vector takes all");
}

/// Appends the UUID, version 4, that has all 64 bits of `word` and 58 of `more`.
pub(crate) fn uuid(bytes: &mut Vec<u8>, word: u64, more: u64) {
    let random = u128::from(word) << 58 | u128::from(more >> 6);
    let (first, second) = ((random >> 90) as u32, (random >> 74) as u16);
    let third = 0x4000 | (random >> 62) as u16 & 0x0FFF;
    let last = 1 << 63 | random as u64 & ((1 << 62) - 1);
    let (fourth, fifth) = (last >> 48, last & ((1 << 48) - 1));
    write!(
        bytes,
        "{first:08x}-{second:04x}-{third:04x}-{fourth:04x}-{fifth:012x}"
    )
    .expect("a vector takes all");
}

/// Appends an address that has all 64 bits of `word` in it.
pub(crate) fn url(bytes: &mut Vec<u8>, word: u64) {
    let host = HOSTS[(word >> 61) as usize];
    let folder = FOLDERS[(word >> 58 & 7) as usize];
    let tail = TAILS[(word >> 56 & 3) as usize];
    write!(bytes, "https://{host}/{folder}{word:016x}{tail}").expect("a vector takes all");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_of_version_4() {
        for (word, more) in [(0, 0), (u64::MAX, u64::MAX), (0x0123_4567_89AB_CDEF, 1)] {
            let mut bytes = Vec::new();
            uuid(&mut bytes, word, more);
            let text = String::from_utf8(bytes).expect("ASCII");
            let lengths: Vec<usize> = text.split('-').map(str::len).collect();
            assert_eq!(lengths, [8, 4, 4, 4, 12], "{text}");
            assert_eq!(&text[14..15], "4", "{text}");
            assert!("89ab".contains(&text[19..20]), "{text}");
        }
    }
}
