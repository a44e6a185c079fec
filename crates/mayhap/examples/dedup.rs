//! How do I print each line of a stream once, without keeping the lines?
//!
//! ```sh
//! cargo run --release --example dedup < samples/visits.txt
//! ```
//!
//! The number of lines is unknown, so the filter grows. A repeat is never printed. A new line is lost only when the
//! filter mistakes it for an old one: at most one in a hundred thousand here. `mayhap uniq` is this program, grown up.

use std::io::{self, BufRead, Write};

use mayhap::Scalable;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const RATE: f64 = 1e-5;
    let mut seen = Scalable::with_capacity(100_000, RATE)?;
    let mut output = io::BufWriter::new(io::stdout().lock());
    let (mut lines, mut printed) = (0, 0);

    for line in io::stdin().lock().split(b'\n') {
        let line = line?;
        lines += 1;
        if seen.insert(&line[..]) {
            printed += 1;
            output.write_all(&line)?;
            output.write_all(b"\n")?;
        }
    }
    output.flush()?;

    let stats = seen.stats();
    assert!(stats.rate <= RATE, "the rate holds for any number of lines");
    let kilobytes = stats.bits / 8000;
    eprintln!("{lines} lines, {printed} printed, {kilobytes} kB of filter");
    Ok(())
}
