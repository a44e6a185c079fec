//! Bytes that change, vanish or appear after a file was written.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use mayhap::file::{Mapped, load, save};
use mayhap::format::native::{self, Metadata};
use mayhap::{Blocked, Error, Insert, SecretKey};
use tempfile::TempDir;

use mayhap_testing::random::Random;

fn secret() -> SecretKey {
    SecretKey::from_bytes(*b"sixteen secrets!")
}

/// The committed files: their names and bytes.
fn golden_files() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/native/v1");
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("committed") {
        let path = entry.expect("listed").path();
        let name = path.file_name().expect("a file").to_string_lossy();
        files.push((name.into_owned(), fs::read(&path).expect("readable")));
    }
    assert!(!files.is_empty());
    files
}

/// Returns the results of opening the file as a map, and of verifying it.
fn open_and_verify(path: &Path) -> (Result<(), Error>, Result<(), Error>) {
    match Mapped::open(path, Some(&secret())) {
        Ok(mapped) => (Ok(()), mapped.verify_on(2)),
        Err(error) => (Err(error), Ok(())),
    }
}

/// Asserts that every way to read the file refuses it.
#[track_caller]
fn assert_refused(path: &Path, bytes: &[u8], what: &str) {
    fs::write(path, bytes).expect("written");
    assert!(
        native::decode(bytes, Some(&secret())).is_err(),
        "{what}: decode"
    );
    assert!(load(path, Some(&secret())).is_err(), "{what}: load");
    let (opened, verified) = open_and_verify(path);
    assert!(opened.is_err() || verified.is_err(), "{what}: map");
}

/// Makes a folder in memory, if the system has one: file systems take milliseconds to cut and map a file again.
fn folder() -> TempDir {
    let folder = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new());
    folder.expect("a folder")
}

/// Every byte of the header of every golden file, changed to every other value, and every other byte by each single bit,
/// read from memory and mapped. If it is mapped, `open` already finds damage in the header.
#[test]
fn every_flip_of_every_byte_is_detected() {
    let folder = folder();
    let path = folder.path().join("flipped");
    let (mut decoded, mut opened, mut verified) = (0_u64, 0_u64, 0_u64);
    for (name, whole) in golden_files() {
        fs::write(&path, &whole).expect("written");
        // One byte is written in place: making a file again takes file systems longer.
        let mut file = fs::File::options().write(true).open(&path).expect("there");
        let mut put = |at: usize, byte: u8| {
            file.seek(SeekFrom::Start(at as u64)).expect("inside");
            file.write_all(&[byte]).expect("written");
        };
        let mut bytes = whole.clone();
        for at in 0..whole.len() {
            let flips = (1..=255_u8).filter(|flip| at < 64 || flip.is_power_of_two());
            for flip in flips {
                bytes[at] = whole[at] ^ flip;
                let read = native::decode(&bytes, Some(&secret()));
                assert!(read.is_err(), "{name}: byte {at}, flip {flip:#x}");
                decoded += 1;
            }
            for bit in 0..8 {
                put(at, whole[at] ^ (1 << bit));
                let (open, verify) = open_and_verify(&path);
                assert!(
                    open.is_err() || at >= 64,
                    "{name}: byte {at}, bit {bit}: open"
                );
                assert!(
                    open.is_err() || verify.is_err(),
                    "{name}: byte {at}, bit {bit}: verify"
                );
                opened += u64::from(open.is_err());
                verified += u64::from(verify.is_err());
            }
            bytes[at] = whole[at];
            put(at, whole[at]);
        }
        let (opened, verified) = open_and_verify(&path);
        opened.and(verified).expect("whole again");
    }
    println!(
        "flips detected: {decoded} of {decoded} by reading (every value of header bytes, every bit of others); \
         mapped, every bit: {opened} by open, {verified} by verify, 0 missed"
    );
}

#[test]
fn files_cut_extended_or_zeroed_at_any_boundary_are_refused() {
    let folder = folder();
    let path = folder.path().join("damaged");
    let mut count = 0;
    for (name, whole) in golden_files() {
        let size = u64::from_le_bytes(whole[24..32].try_into().expect("eight bytes"));
        let trailer = 64 + 8 * size.div_ceil(64) as usize;
        let mut bounds = vec![0, 8, 10, 12, 14, 16, 24, 32, 36, 40, 48, 56, 64, 65, 72];
        bounds.extend([
            trailer - 1,
            trailer,
            trailer + 8,
            trailer + 12,
            whole.len() - 8,
            whole.len(),
        ]);
        bounds.retain(|&bound| bound <= whole.len());
        for &bound in &bounds {
            for cut in [bound.saturating_sub(1), bound, bound + 1] {
                if cut < whole.len() {
                    assert_refused(&path, &whole[..cut], &format!("{name} cut at {cut}"));
                    count += 1;
                }
            }
            for end in bounds.iter().copied().filter(|&end| end > bound) {
                let mut zeroed = whole.clone();
                zeroed[bound..end].fill(0);
                if zeroed != whole {
                    assert_refused(&path, &zeroed, &format!("{name} zeroed {bound}..{end}"));
                    count += 1;
                }
                // A hole: the bytes are removed and the rest moves up.
                let holed = [&whole[..bound], &whole[end..]].concat();
                assert_refused(&path, &holed, &format!("{name} without {bound}..{end}"));
                count += 1;
            }
        }
        for extra in [1, 7, 8, 64, 4096] {
            for fill in [0, 0xFF] {
                let mut extended = whole.clone();
                extended.resize(whole.len() + extra, fill);
                assert_refused(&path, &extended, &format!("{name} and {extra} bytes more"));
                count += 1;
            }
        }
    }
    println!("cut, extended and zeroed files refused: {count} of {count}");
}

/// A file of several chunks, damaged at random places in random ways; seed 4.
#[test]
fn random_damage_to_a_large_file_is_refused_and_its_chunk_named() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("large");
    let mut filter = Blocked::with_capacity(3_000_000, 0.01).expect("memory");
    filter.insert_all(0..1_000_000_u32);
    save(&path, &filter, &Metadata::default()).expect("saved");
    let whole = fs::read(&path).expect("there");
    let body_end = 64 + filter.shape().bits() as usize / 8;
    let mut random = Random(4);
    for round in 0..40 {
        let at = random.below(whole.len() as u64) as usize;
        let magnitude = random.below(20);
        let length = 1 + random.below(1 << magnitude) as usize;
        let mut bytes = whole.clone();
        match round % 4 {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes.truncate(at),
            2 => bytes.extend_from_slice(&whole[at..]),
            _ => bytes[at..(at + length).min(whole.len())].fill(0),
        }
        if bytes == whole {
            continue;
        }
        assert_refused(&path, &bytes, &format!("round {round} at {at}"));
    }
    for _ in 0..20 {
        let at = 64 + random.below(body_end as u64 - 64) as usize;
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << random.below(8);
        fs::write(&path, &bytes).expect("written");
        let (opened, verified) = open_and_verify(&path);
        opened.expect("the header is whole");
        let chunk = (at as u64 - 64) >> 20;
        assert!(
            matches!(verified, Err(Error::Damaged { part: "chunk", index, .. }) if index == chunk),
            "{verified:?}"
        );
    }
}
