//! Files changed as damage or a forger would change them.

use std::fs;
use std::path::Path;

use mayhap::format::native;
use mayhap::format::{self, Format};

use crate::forge::{forged, secret};
use crate::random::Random;

/// The bytes of a native header.
const HEADER: usize = 64;

/// The longest file that a changed header is given a body for.
const LONGEST: u64 = 16 << 10;

/// The offsets and lengths of the fields of a native header.
const FIELDS: [(usize, usize); 11] = [
    (0, 8),
    (8, 2),
    (10, 2),
    (12, 2),
    (14, 2),
    (16, 8),
    (24, 8),
    (32, 4),
    (36, 4),
    (40, 8),
    (48, 8),
];

/// Makes a small file of every kind and scheme, and of every format of other programs.
pub fn files(folder: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder).expect("the folder of golden files");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("readable").path())
        .collect();
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let file = fs::read(path).expect("readable");
        let (filter, _) = native::decode(&file, Some(&secret())).expect("golden");
        files.push(file);
        for &format in Format::ALL {
            let mut foreign = Vec::new();
            if format != Format::Native && format::convert(&filter, format, &mut foreign).is_ok() {
                files.push(foreign);
            }
        }
    }
    files
}

/// Makes one to four changes to one of the files; mends the checksums of most native ones.
pub fn mutant(files: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut file = any(files, random).clone();
    let is_native = file.starts_with(b"\x8DMAYHAP\n");
    for _ in 0..=random.below(4) {
        change(&mut file, files, random);
    }
    if is_native && random.below(2) == 0 {
        fit(&mut file);
    }
    match is_native && random.below(8) > 0 {
        true => forged(&file).unwrap_or(file),
        false => file,
    }
}

fn any<'a, T>(all: &'a [T], random: &mut Random) -> &'a T {
    &all[random.below(all.len() as u64) as usize]
}

fn change(file: &mut Vec<u8>, files: &[Vec<u8>], random: &mut Random) {
    let length = file.len() as u64;
    // Half of the changes are in the header, although the body is longer.
    let at = match random.below(2) {
        0 => random.below(length.clamp(1, HEADER as u64)),
        _ => random.below(length.max(1)),
    } as usize;
    match random.below(10) {
        0 | 1 => {
            if let Some(byte) = file.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        2..=4 => {
            let (at, width) = *any(&FIELDS, random);
            overwrite(file, at, &extreme(random).to_le_bytes()[..width]);
        }
        5 => {
            let width = 1 << random.below(4);
            let value = match random.below(2) {
                0 => extreme(random).to_le_bytes(),
                _ => extreme(random).to_be_bytes(),
            };
            overwrite(file, at, &value[8 - width..]);
        }
        6 => {
            // A field, or everything from here on, of another file.
            let other = any(files, random);
            let (field, width) = *any(&FIELDS, random);
            let range = match random.below(4) {
                0 => at..other.len(),
                _ => field..field + width,
            };
            if let Some(bytes) = other.get(range.clone()) {
                let bytes = bytes.to_vec();
                overwrite(file, range.start, &bytes);
            }
        }
        7 => file.truncate(at),
        8 => {
            let more = random.below(100);
            file.extend((0..more).map(|_| random.next() as u8));
        }
        _ => {
            // Words removed, or inserted twice.
            let end = (at + 8 * (1 + random.below(8) as usize)).min(file.len());
            let words: Vec<u8> = match random.below(2) {
                0 => file.drain(at.min(end)..end).collect(),
                _ => file[at.min(end)..end].to_vec(),
            };
            let to = random.below(file.len() as u64 + 1) as usize;
            file.splice(to..to, words);
        }
    }
}

fn overwrite(file: &mut [u8], at: usize, bytes: &[u8]) {
    for (to, byte) in file.iter_mut().skip(at).zip(bytes) {
        *to = *byte;
    }
}

/// Draws a number at the edge of some range.
fn extreme(random: &mut Random) -> u64 {
    let power = 1_u64 << random.below(64);
    match random.below(8) {
        0 => random.below(20),
        1 => power,
        2 => power.wrapping_sub(1),
        3 => power + 1,
        4 => u64::MAX - random.below(3),
        5 => 512 * random.below(64),
        6 => {
            let rates = [
                0.0,
                -0.0,
                1.0,
                0.5,
                1e-300,
                5e-324,
                -1.0,
                1.0 - f64::EPSILON,
                f64::NAN,
                f64::INFINITY,
            ];
            any(&rates, random).to_bits()
        }
        _ => random.next(),
    }
}

/// Gives a file the length that its header states, if that is small: a file of the wrong length is refused
/// before anything else is checked.
fn fit(file: &mut Vec<u8>) {
    let Some(header) = file.first_chunk::<HEADER>() else {
        return;
    };
    let size = u64::from_le_bytes(*header[24..].first_chunk().expect("eight bytes"));
    if size > LONGEST * 8 {
        return;
    }
    let body = size.div_ceil(64) as usize * 8;
    let sums = if body > 0 { 16 } else { 8 };
    let metadata = match header[14] & 1 {
        0 => 0,
        _ => 4 + 2 * 4,
    };
    let progress = match header[14] & 2 {
        0 => 0,
        _ => 64,
    };
    let filler = header[40];
    file.resize(HEADER + body + sums + metadata + progress, filler);
    if metadata > 0 {
        let at = HEADER + body + sums - 8;
        overwrite(file, at, &8_u32.to_le_bytes());
    }
}
