//! Which of 250 million integers occur exactly once, in memory that 250 million integers do not fit into?
//!
//! ```sh
//! cargo run --release --example once -- 250000000
//! ```
//!
//! Two bits per possible value say whether it occurred never, once, or more often: 1 GiB for all 32-bit integers,
//! however many there are, and exact. Without an argument a million are counted, and compared with the result of
//! sorting them.

use std::time::Instant;

use mayhap::bits::Tally;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: u64 = match std::env::args().nth(1) {
        Some(count) => count.parse()?,
        None => 1_000_000,
    };
    // A third more values than integers, so that many occur once and many do not.
    let limit = (count + count / 3).clamp(1, 1 << 32);
    let integers = || (0..count).map(|i| mayhap::hash::mix(i) % limit);

    let begin = Instant::now();
    let mut tally = Tally::new(limit)?;
    for integer in integers() {
        tally.count(integer)?;
    }
    let once = tally.once().count();
    let (taken, bytes) = (begin.elapsed(), limit.div_ceil(4));
    println!("{once} of {count} integers occur once; {bytes} bytes, {taken:.1?}");

    if count <= 10_000_000 {
        let mut sorted: Vec<u64> = integers().collect();
        sorted.sort_unstable();
        let alone: Vec<u64> = sorted
            .chunk_by(|left, right| left == right)
            .filter(|run| run.len() == 1)
            .map(|run| run[0])
            .collect();
        assert!(tally.once().eq(alone), "exact, and in order");
    }
    Ok(())
}
