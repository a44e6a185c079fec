//! A list that changes once a day, and many processes that look things up in it: how do they share it?
//!
//! ```sh
//! cargo run --release --example static_file
//! ```
//!
//! Build a static filter (`Fuse`, or `Ribbon` for the fewest bits) and save it. Every process maps the file: opening takes
//! the same time for any size, and all of them share one copy in memory. Replacing the file disturbs nobody.

use mayhap::format::native::Metadata;
use mayhap::{Fuse, Ribbon, file};

fn main() -> Result<(), mayhap::Error> {
    let passwords = (0..200_000).map(|i| format!("password{i}"));
    let path = std::env::temp_dir().join(format!("mayhap-example-{}", std::process::id()));

    // In the nightly job:
    let leaked = Fuse::with_rate(0.01, passwords.clone())?;
    file::save(&path, &leaked, &Metadata::default())?;

    // In every process:
    let leaked = file::Mapped::open(&path, None)?;
    leaked.verify()?; // reads all of it once, and compares the checksums: only when you want to
    assert!(
        passwords.clone().all(|password| leaked.contains(&password)),
        "all are found"
    );
    let wrong = (0..100_000)
        .filter(|i| leaked.contains(&format!("correct horse {i}")))
        .count();
    assert!(
        wrong < 500,
        "8-bit fingerprints: 1 in 256, though 1 % was asked for"
    );

    let bytes = std::fs::metadata(&path)?.len();
    std::fs::remove_file(&path)?;
    println!(
        "{} bits per key in the file, {wrong} of 100000 others found",
        bytes * 8 / 200_000
    );

    let smaller = Ribbon::with_rate(0.01, passwords)?.stats().bits as f64 / 200_000.0;
    assert!(smaller < 7.4, "the information bound for 1 in 128 is 7");
    println!("{smaller:.2} bits per key as a Ribbon");
    Ok(())
}
