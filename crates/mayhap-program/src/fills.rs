//! The fill of bits from their beginning to their end, for pictures.

use mayhap::bits::Bits;

/// The words of a stretch that are looked at, at most twice as many: enough to see it.
const SAMPLE: u64 = 4096;

/// The fill of up to `stretches` stretches of the bits, from a sample of each. `share` returns how full one word is, from 0 to 1.
///
/// ```
/// use mayhap_program::fills::fills;
///
/// let bits = mayhap::Bitmap::from_words(&[u64::MAX, 0])?;
/// let ones = |word: u64| f64::from(word.count_ones()) / 64.0;
/// assert_eq!(fills(&bits, 64, ones).collect::<Vec<f64>>(), [1.0, 0.0]);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn fills<B: Bits>(
    bits: &B,
    stretches: u64,
    share: impl Fn(u64) -> f64,
) -> impl Iterator<Item = f64> {
    let words = bits.size().div_ceil(64).max(1);
    let stretches = words.min(stretches);
    (0..stretches).map(move |stretch| {
        let range = words * stretch / stretches..words * (stretch + 1) / stretches;
        let step = ((range.end - range.start) / SAMPLE).max(1) as usize;
        let (mut sum, mut seen) = (0.0, 0.0);
        for word in range.step_by(step) {
            sum += share(bits.word(word));
            seen += 1.0;
        }
        sum / seen
    })
}
