//! Headers that claim what does not follow take no memory. One test in its own process, because it
//! measures the address space of all of it.

use mayhap::format::{self, Format};
use mayhap::{Error, Result};

/// The most bytes of address space this process had. Memory that was taken counts, touched or not.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmPeak:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// A header of each format without a checksum, with the largest body it can claim, and a few bytes.
fn claims() -> Vec<(Format, Vec<u8>)> {
    let dcso: [u64; 6] = [1, 9, 0.01_f64.to_bits(), 3, 1 << 53, 0];
    let parquet = [
        &[0x15, 0xc0, 0xff, 0xff, 0xff, 0x0f][..],
        &[0x1c, 0x1c, 0, 0].repeat(3),
        &[0],
    ];
    let mut claims = vec![
        (Format::Guava, vec![1, 7, 0x7F, 0xFF, 0xFF, 0xFF]),
        (
            Format::Spark,
            vec![0, 0, 0, 1, 0, 0, 0, 3, 0x7F, 0xFF, 0xFF, 0xFF],
        ),
        (Format::Parquet, parquet.concat()),
        (
            Format::Dcso,
            dcso.iter().flat_map(|field| field.to_le_bytes()).collect(),
        ),
    ];
    for (_, bytes) in &mut claims {
        bytes.extend_from_slice(&[0xFF; 100]);
    }
    claims
}

#[track_caller]
fn assert_truncated<T>(read: Result<T>, bytes: &[u8]) {
    match read {
        Err(Error::Truncated { expected, got, .. }) => {
            assert_eq!(got, bytes.len() as u64);
            assert!(expected > 1 << 30, "{expected}");
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("read"),
    }
}

#[test]
fn a_claimed_length_takes_no_memory() {
    const LIMIT: u64 = 1 << 20;
    let folder = tempfile::TempDir::new().expect("a folder");
    let path = folder.path().join("claim");
    let claims = claims();
    let before = peak_bytes();

    for (format, bytes) in &claims {
        std::fs::write(&path, bytes).expect("written");
        assert_truncated(format::open(bytes, None), bytes);
        assert_truncated(format.decode(bytes, None), bytes);
        assert_truncated(format::open_reader(&bytes[..], None), bytes);
        assert_truncated(mayhap::file::open(&path, None), bytes);
    }

    let (Some(before), Some(after)) = (before, peak_bytes()) else {
        eprintln!(
            "SKIPPED the measure of a_claimed_length_takes_no_memory: no peak is stated here"
        );
        return;
    };
    println!("claims: the address space grew by {}", after - before);
    assert!(after - before <= LIMIT, "grew by {}", after - before);
}
