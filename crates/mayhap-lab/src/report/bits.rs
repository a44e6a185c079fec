//! The bits of a filter, to be looked at.

use std::fmt::Write as _;

use super::html::escape;
use mayhap::bits::Bits;

/// The bits shown one by one: as many lines as columns are words of them.
const WORDS_ACROSS: usize = 2;
const LINES: usize = 40;

/// The stretches whose fill is shown, across and down.
const ACROSS: usize = 64;
const DOWN: usize = 8;

/// A sample of a filter's bits, and the fill of all of it.
///
/// ```
/// use mayhap_lab::report::BitsPicture;
///
/// let bits = mayhap::Bitmap::from_words(&[0b0111, 1])?;
/// let picture = BitsPicture::of(&bits, 4.0 / 128.0).titled("A few bits".into());
/// assert!(picture.figure("few").contains("A few bits"));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct BitsPicture {
    pub(super) title: String,
    fill: f64,
    words: Vec<u64>,
    fills: Vec<f64>,
}

impl BitsPicture {
    /// Looks at the first bits of a filter, and at stretches of all.
    pub fn of<B: Bits>(bits: &B, fill: f64) -> BitsPicture {
        let words = bits.size().div_ceil(64).min((WORDS_ACROSS * LINES) as u64);
        BitsPicture {
            title: String::new(),
            fill,
            words: (0..words).map(|index| bits.word(index)).collect(),
            fills: fills(bits, (ACROSS * DOWN) as u64).collect(),
        }
    }

    /// The same, by this name.
    pub fn titled(&self, title: String) -> BitsPicture {
        BitsPicture {
            title,
            ..self.clone()
        }
    }

    /// The share of ones of each stretch, least and greatest.
    fn spread(&self) -> (f64, f64) {
        let least = self.fills.iter().copied().fold(1.0, f64::min);
        (least, self.fills.iter().copied().fold(0.0, f64::max))
    }

    /// The picture. `id` is unique on the page.
    pub fn figure(&self, id: &str) -> String {
        let (least, greatest) = self.spread();
        let stretches = self.fills.len();
        let description = format!(
            "Above, the first {} bits, ones dark. Below, the fill of {stretches} stretches \
             of all bits, {:.1} % to {:.1} %: {:.1} % in all.",
            self.words.len() * 64,
            least * 100.0,
            greatest * 100.0,
            self.fill * 100.0,
        );
        let across = WORDS_ACROSS * 64;
        let strip = LINES + 4;
        let mut svg = format!(
            r#"<svg class="bits" viewBox="0 0 {across} {}" role="img" aria-labelledby="{id}-title {id}-text"><title id="{id}-title">{}</title><desc id="{id}-text">{}</desc><rect class="field" width="{across}" height="{LINES}"/><path class="ones" d="{}"/>"#,
            strip + 2 * DOWN,
            escape(&self.title),
            escape(&description),
            self.runs(),
        );
        let (width, height) = (across as f64 / ACROSS as f64, 2);
        for (i, fill) in self.fills.iter().enumerate() {
            let (x, y) = (width * (i % ACROSS) as f64, strip + height * (i / ACROSS));
            write!(svg, r#"<rect class="cell" x="{x}" y="{y}" width="{width}" height="{height}" opacity="{fill:.3}"/>"#)
                .expect("a string takes all");
        }
        write!(svg, r#"</svg><p class="note">{}</p>"#, escape(&description))
            .expect("a string takes all");
        svg
    }

    /// A stroke for each run of ones in a line.
    fn runs(&self) -> String {
        let mut path = String::new();
        for (line, words) in self.words.chunks(WORDS_ACROSS).enumerate() {
            let is_one = |x: usize| {
                words
                    .get(x / 64)
                    .is_some_and(|word| word >> (x % 64) & 1 == 1)
            };
            let mut x = 0;
            while x < WORDS_ACROSS * 64 {
                let length = (x..WORDS_ACROSS * 64).take_while(|x| is_one(*x)).count();
                if length > 0 {
                    write!(path, "M{x} {line}.5h{length}").expect("a string takes all");
                }
                x += length + 1;
            }
        }
        path
    }
}

/// The fill of up to `stretches` stretches of the bits, from a sample of each.
///
/// ```
/// let bits = mayhap::Bitmap::from_words(&[u64::MAX, 0])?;
/// assert_eq!(mayhap_lab::report::fills(&bits, 64).collect::<Vec<f64>>(), [1.0, 0.0]);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn fills<B: Bits>(bits: &B, stretches: u64) -> impl Iterator<Item = f64> {
    let words = bits.size().div_ceil(64).max(1);
    let stretches = words.min(stretches);
    (0..stretches).map(move |stretch| {
        let range = words * stretch / stretches..words * (stretch + 1) / stretches;
        let step = ((range.end - range.start) / 4096).max(1) as usize;
        let (mut ones, mut seen) = (0, 0);
        for word in range.step_by(step) {
            ones += u64::from(bits.word(word).count_ones());
            seen += 64;
        }
        ones as f64 / f64::from(seen)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::Bitmap;

    #[test]
    fn runs_of_ones_are_strokes() {
        let bits = Bitmap::from_words(&[0b0111, 1 << 63, 1]).expect("small");

        let picture = BitsPicture::of(&bits, 0.5);

        assert_eq!(picture.runs(), "M0 0.5h3M127 0.5h1M0 1.5h1");
        assert_eq!(picture.fills.len(), 3);
    }
}
