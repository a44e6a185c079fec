//! Prints each line of standard input the first time it is seen, keeping the order.
//!
//! One pass and 19 bits per line. A distinct line is taken for a repeat one time in ten thousand at
//! most; past its capacity the filter says so at the end.

use std::io::{self, BufRead, BufReader, BufWriter, Write};

use mayhap::Bloom;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let capacity = match std::env::args().nth(1) {
        Some(argument) => argument.parse()?,
        None => 10_000_000,
    };
    let mut seen = Bloom::with_capacity(capacity, 0.0001)?;

    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        let key = line.strip_suffix(b"\n").unwrap_or(&line);
        if seen.insert(key) {
            output.write_all(key)?;
            output.write_all(b"\n")?;
        }
        line.clear();
    }
    output.flush()?;

    let stats = seen.stats();
    if stats.is_over_capacity() {
        eprintln!(
            "more than {capacity} distinct lines: the rate is now {:.2e}; pass a larger capacity",
            stats.rate
        );
    }
    Ok(())
}
