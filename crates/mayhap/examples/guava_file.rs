//! A Java program wrote a Bloom filter. How do I use it?
//!
//! ```sh
//! cargo run --release --example guava_file
//! ```
//!
//! Guava's bits and bytes are reproduced exactly, so filters travel both ways. Files do not say how keys became bytes:
//! use what the Java program used (`i32` for `integerFunnel`, `i64` for `longFunnel`, text for `stringFunnel(UTF_8)`).

use mayhap::format::guava;

/// The bytes that Guava writes for `BloomFilter.create(Funnels.integerFunnel(), 10, 0.01)` after `put` of 1, 2 and 3:
/// strategy, hashes, number of words, words.
const WRITTEN: [u8; 22] = [
    0x01, 0x07, 0x00, 0x00, 0x00, 0x02, // MURMUR128_MITZ_64, 7 hashes, 2 words
    0x48, 0x18, 0x08, 0x00, 0x80, 0x00, 0x0c, 0x08, //
    0x40, 0x20, 0x00, 0x09, 0x48, 0x00, 0x02, 0x00,
];

fn main() -> Result<(), mayhap::Error> {
    let mut filter = guava::read(&WRITTEN[..])?;
    println!(
        "{} bits, {} hashes, {}",
        filter.shape().bits(),
        filter.shape().hashes(),
        filter.scheme()
    );
    for key in 1..=5_i32 {
        let answer = if filter.contains(&key) {
            "mayhap"
        } else {
            "no"
        };
        println!("{key}: {answer}");
    }
    assert!([1, 2, 3].iter().all(|key: &i32| filter.contains(key)));
    assert!(!filter.contains(&4_i32));

    // And back: `BloomFilter.readFrom` takes these bytes.
    let mut unchanged = Vec::new();
    guava::write(&filter, &mut unchanged)?;
    assert_eq!(unchanged, WRITTEN);

    filter.insert(&4_i32);
    let mut changed = Vec::new();
    guava::write(&filter, &mut changed)?;
    assert!(guava::read(&changed[..])?.contains(&4_i32));
    println!("written back: {} bytes", changed.len());
    Ok(())
}
