//! Headers that claim more than follows take no memory. The test runs in a process of its own, because it measures the
//! address space of the whole process.

use super::child;
use mayhap::format::{self, Format};
use mayhap::{Error, Result};

/// The most bytes of address space this process had. Allocated memory counts, touched or not.
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
fn child_that_reads_claims() {
    const LIMIT: u64 = 1 << 20;
    let Some(path) = child::file() else { return };
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
        eprintln!("SKIPPED: this system does not report the peak of the address space");
        return;
    };
    println!("claims: the address space grew by {}", after - before);
    assert!(after - before <= LIMIT, "grew by {}", after - before);
}

#[test]
fn a_claimed_length_takes_no_memory() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let file = folder.path().join("claim");

    let mut command = child::command("faults::claims::child_that_reads_claims", &file);
    let output = command.output().expect("started");

    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    print!("{said}{complained}");
    assert!(output.status.success(), "{said}{complained}");
    assert!(
        said.contains("claims: ") || complained.contains("SKIPPED"),
        "the child did nothing: {said}{complained}"
    );
}
