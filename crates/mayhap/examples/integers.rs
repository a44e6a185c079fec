//! My keys are integers below a known limit. Do I need a filter at all?
//!
//! ```sh
//! cargo run --release --example integers
//! ```
//!
//! No: one bit per possible value is exact. Ten million values take 1.25 MB; sorting and removing duplicates is one pass.

use mayhap::{Bitmap, bits::Tally};

fn main() -> Result<(), mayhap::Error> {
    let mut few = vec![4_u32, 7, 2, 5, 3, 7];
    mayhap::sort(&mut few)?;
    assert_eq!(few, [2, 3, 4, 5, 7]);
    println!("sorted and distinct: {few:?}");

    // A million draws below ten million, which repeat themselves now and then.
    let draw = |i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 29).wrapping_pow(3) % 10_000_000;
    let draws = (0..1_000_000).map(draw);
    let mut seen = Bitmap::new(10_000_000)?;
    let mut tally = Tally::new(10_000_000)?;
    let mut distinct = 0;
    for draw in draws.clone() {
        distinct += usize::from(seen.set(draw));
        tally.count(draw)?;
    }

    let mut sorted: Vec<u64> = draws.collect();
    sorted.sort_unstable();
    sorted.dedup();
    assert!(
        seen.ones().eq(sorted.iter().copied()),
        "exact, and in order"
    );
    assert_eq!(distinct, sorted.len());
    let once = tally.once().count();
    assert_eq!(once + tally.often().count(), distinct);
    println!(
        "1000000 draws: {distinct} distinct, {once} of them drawn once; {} kB",
        seen.to_bytes().len() / 1000
    );
    Ok(())
}
