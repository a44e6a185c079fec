//! Post 004's way from a database to a Bloom filter, rung by rung: the memory of each, and the time of a lookup.
//!
//! The first rung is a sorted file, read by binary search: the best an index of a database can do, without
//! transactions and server, so it stands for the fastest database.

use std::collections::HashSet;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::time::Instant;

use mayhap::bits::Bits as _;
use mayhap::sets::Fingerprints;
use mayhap::{Bitmap, Blocked, Digester};
use mayhap_lab::{Distribution, Drawn, Role};
use mayhap_program::amounts::{show_bytes, show_count, show_rate};
use mayhap_program::failure::{Failure, Result};

use super::{Outcome, Row, Verdict};
use crate::data::Data;
use crate::run::Run;

/// The URLs: the number in the second sentence of the post.
const URLS: u64 = 2_000_000;

/// The lookups of absent URLs, and how many of them are made in the file.
const ASKED: u64 = 500_000;
const ASKED_OF_FILE: usize = 20_000;

/// The bits of the post's bitmap.
const BITMAP: u64 = 100_000_000;

/// A rung: its memory, and the results of its lookups of absent URLs.
struct Rung {
    bytes: u64,
    nanoseconds: f64,
    /// The absent URLs that were found, and those that were looked up.
    wrong: u64,
    asked: usize,
}

impl Rung {
    fn of(bytes: u64, asked: &[Vec<u8>], mut contains: impl FnMut(&[u8]) -> bool) -> Rung {
        let start = Instant::now();
        let found = asked.iter().filter(|url| black_box(contains(url))).count();
        Rung {
            bytes,
            nanoseconds: start.elapsed().as_nanos() as f64 / asked.len().max(1) as f64,
            wrong: found as u64,
            asked: asked.len(),
        }
    }

    fn show(&self) -> String {
        format!(
            "{}, {:.0} ns a lookup",
            show_bytes(self.bytes),
            self.nanoseconds
        )
    }

    fn wrong(&self) -> String {
        match self.wrong {
            0 => "No lookup was answered wrongly.".into(),
            wrong => format!(
                "{} of {} lookups of absent URLs were answered wrongly, {}.",
                show_count(wrong),
                show_count(self.asked as u64),
                show_rate(wrong as f64 / self.asked as f64)
            ),
        }
    }
}

pub(super) fn ladder(seed: u64, run: &Run, outcome: &mut Outcome) -> Result<()> {
    let data = Data::Drawn(Drawn::new(Distribution::Url, seed));
    let urls = |role, count| {
        let mut urls: Vec<Vec<u8>> = Vec::new();
        data.stream(role, URLS)?.each(count, |batch| {
            urls.extend(batch.keys().iter().map(|url| url.to_vec()));
            run.advance(batch.count())
        })?;
        Ok::<_, Failure>(urls)
    };
    let (mut members, asked) = (urls(Role::Member, URLS)?, urls(Role::Absent, ASKED)?);
    let blocked = filter(&members, &asked)?;
    members.sort_unstable();
    let text: u64 = members.iter().map(|url| url.len() as u64).sum();
    let mut keep = |what: &str, printed: Option<&str>, rung: &Rung, note: String| {
        outcome.rows.push(Row {
            post: "004",
            what: format!("{what}, 2 000 000 URLs"),
            printed: printed.map(str::to_owned),
            theirs: rung.show(),
            blocked: blocked.show(),
            verdict: Verdict::Measured,
            note: format!("{note} {}", rung.wrong()).trim().into(),
        });
    };
    let rung = sorted_file(&members, &asked[..ASKED_OF_FILE])?;
    keep(
        "database: a sorted file, binary search",
        None,
        &rung,
        "on disk, and in the memory that the system keeps of it; an embedded database would add its own work.".into(),
    );
    run.check()?;
    let rung = hash_set(&members, &asked, text);
    keep(
        "hash set of the URLs",
        None,
        &rung,
        format!(
            "the URLs have {} in all, the table the rest.",
            show_bytes(text)
        ),
    );
    run.check()?;
    let rung = hashes(&members, &asked)?;
    keep(
        "hash set of their hashes",
        None,
        &rung,
        "64 bits of each hash, where the post keeps 128 or 160.".into(),
    );
    let rung = bitmap(&members, &asked)?;
    keep(
        "bitmap of 10^8 bits",
        Some("95 M"),
        &rung,
        "the post takes bits for bytes; see its statement.".into(),
    );
    keep("Bloom filter, blocked, 1 %", None, &blocked, String::new());
    run.check()?;
    Ok(())
}

/// Hashes a URL: all rungs but the first two know only this digest.
fn hash(url: &[u8]) -> u64 {
    Digester::default().digest(url).hi
}

fn hash_set(members: &[Vec<u8>], asked: &[Vec<u8>], text: u64) -> Rung {
    let set: HashSet<&[u8]> = members.iter().map(Vec::as_slice).collect();
    // Buckets are a power of two, at most seven eighths of them in use, each a slice and a byte.
    let buckets = (set.capacity() as u64 * 8 / 7).next_power_of_two();
    Rung::of(buckets * (16 + 1) + text, asked, |url| set.contains(url))
}

fn hashes(members: &[Vec<u8>], asked: &[Vec<u8>]) -> Result<Rung> {
    let mut set = Fingerprints::new();
    for url in members {
        set.insert(hash(url))?;
    }
    Ok(Rung::of(set.bytes(), asked, |url| set.contains(hash(url))))
}

fn bitmap(members: &[Vec<u8>], asked: &[Vec<u8>]) -> Result<Rung> {
    let mut bits = Bitmap::new(BITMAP)?;
    for url in members {
        bits.set(hash(url) % BITMAP);
    }
    Ok(Rung::of(BITMAP / 8, asked, |url| {
        bits.get(hash(url) % BITMAP)
    }))
}

fn filter(members: &[Vec<u8>], asked: &[Vec<u8>]) -> Result<Rung> {
    let mut filter = Blocked::with_capacity(URLS, 0.01)?;
    for url in members {
        filter.insert(url);
    }
    let bytes = filter.shape().bits() / 8;
    Ok(Rung::of(bytes, asked, |url| filter.contains(url)))
}

fn sorted_file(members: &[Vec<u8>], asked: &[Vec<u8>]) -> Result<Rung> {
    let failed = |error: std::io::Error| {
        Failure::new(format!("cannot write a temporary file: {error}"))
            .hint("set TMPDIR to a folder with room for 150 MB")
    };
    let mut file = tempfile::tempfile().map_err(failed)?;
    let mut writer = BufWriter::new(&file);
    let mut bytes = 0;
    for url in members {
        writer
            .write_all(url)
            .and_then(|()| writer.write_all(b"\n"))
            .map_err(failed)?;
        bytes += url.len() as u64 + 1;
    }
    writer.flush().map_err(failed)?;
    drop(writer);
    let mut wrong = None;
    let rung = Rung::of(bytes, asked, |url| {
        find(&mut file, bytes, url).unwrap_or_else(|error| {
            wrong = Some(error);
            false
        })
    });
    match wrong {
        Some(error) => Err(failed(error)),
        None => Ok(rung),
    }
}

/// The bytes that are read around an offset: more than two of the longest URLs.
const WINDOW: usize = 512;

/// Returns whether a sorted file has this line.
fn find(file: &mut File, size: u64, url: &[u8]) -> std::io::Result<bool> {
    let (mut low, mut high) = (0, size);
    let mut window = [0; WINDOW];
    while low < high {
        let middle = low + (high - low) / 2;
        let start = middle.saturating_sub(WINDOW as u64 / 2);
        file.seek(SeekFrom::Start(start))?;
        let mut read = 0;
        while let more @ 1.. = file.read(&mut window[read..])? {
            read += more;
        }
        // The line around the middle.
        let at = (middle - start) as usize;
        let is_end = |byte: &u8| *byte == b'\n';
        let first = window[..at]
            .iter()
            .rposition(is_end)
            .map_or(0, |end| end + 1);
        let last = at
            + window[at..read]
                .iter()
                .position(is_end)
                .unwrap_or(read - at);
        match window[first..last].cmp(url) {
            std::cmp::Ordering::Equal => return Ok(true),
            std::cmp::Ordering::Less => low = start + last as u64 + 1,
            std::cmp::Ordering::Greater => high = start + first as u64,
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sorted_file_has_its_lines_and_no_others() {
        let mut file = tempfile::tempfile().expect("a file");
        let lines: Vec<String> = (0..1000).map(|i| format!("line {:04}", 2 * i)).collect();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        file.write_all(text.as_bytes()).expect("room");

        let mut has = |i: u32| {
            let line = format!("line {i:04}");
            find(&mut file, text.len() as u64, line.as_bytes()).expect("readable")
        };

        assert!((0..2000).all(|i| has(i) == (i % 2 == 0)));
    }
}
