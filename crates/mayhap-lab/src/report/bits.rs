//! Pictures of the bits of a filter, or of its counters or labels.

use std::fmt::Write as _;

use super::html::escape;
use mayhap::AnyFilter;
use mayhap::bits::Bits;
use mayhap_program::fills::fills;

/// The words of bits shown in a line, and the lines.
const WORDS_ACROSS: usize = 2;
const LINES: usize = 40;

/// The counters or labels shown one by one, across and down, and the width of one.
const CELLS_ACROSS: usize = 32;
const CELLS_DOWN: usize = 10;
const CELL: usize = 4;

/// The stretches whose fill is shown, across and down.
const ACROSS: usize = 64;
const DOWN: usize = 8;

/// The meaning of the bits of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cells {
    /// Separate bits.
    Bits,
    /// Numbers of this many bits each, such as counters.
    Numbers(u32),
}

impl Cells {
    /// Returns the meaning of the bits of this filter.
    pub fn of(filter: &AnyFilter) -> Cells {
        match filter {
            AnyFilter::Counting(filter) => Cells::Numbers(filter.width().bits()),
            AnyFilter::Spectral(filter) => Cells::Numbers(filter.width().bits()),
            AnyFilter::Spatial(filter) => Cells::Numbers(filter.shape().width() as u32),
            _ => Cells::Bits,
        }
    }

    /// The share of the cells of a word that are not zero.
    fn share_used(self, word: u64) -> f64 {
        match self {
            Cells::Bits => f64::from(word.count_ones()) / 64.0,
            Cells::Numbers(_) => {
                let used = self.of_word(word).filter(|number| *number > 0).count();
                used as f64 / self.of_word(0).count() as f64
            }
        }
    }

    /// The numbers of a word, lowest first.
    fn of_word(self, word: u64) -> impl Iterator<Item = u64> {
        let width = match self {
            Cells::Bits => 1,
            Cells::Numbers(width) => width.clamp(1, 64),
        };
        (0..64 / width).map(move |index| word >> (index * width) & (u64::MAX >> (64 - width)))
    }
}

/// A sample of a filter's bits, and the fill of all of it.
///
/// ```
/// use mayhap_lab::report::{BitsPicture, Cells};
///
/// let bits = mayhap::Bitmap::from_words(&[0b0111, 1])?;
/// let picture = BitsPicture::of(&bits, Cells::Bits, 4.0 / 128.0).titled("A few bits".into());
/// assert!(picture.figure("few").contains("A few bits"));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Clone)]
pub struct BitsPicture {
    pub(super) title: String,
    cells: Cells,
    fill: f64,
    words: Vec<u64>,
    fills: Vec<f64>,
}

impl BitsPicture {
    /// Samples the first bits of a filter, and measures stretches of all.
    pub fn of<B: Bits>(bits: &B, cells: Cells, fill: f64) -> BitsPicture {
        let words = bits.size().div_ceil(64).min((WORDS_ACROSS * LINES) as u64);
        BitsPicture {
            title: String::new(),
            cells,
            fill,
            words: (0..words).map(|index| bits.word(index)).collect(),
            fills: fills(bits, (ACROSS * DOWN) as u64, |word| cells.share_used(word)).collect(),
        }
    }

    /// Sets the title.
    pub fn titled(&self, title: String) -> BitsPicture {
        BitsPicture {
            title,
            ..self.clone()
        }
    }

    /// The least and the greatest share of ones of the stretches.
    fn spread(&self) -> (f64, f64) {
        let least = self.fills.iter().copied().fold(1.0, f64::min);
        (least, self.fills.iter().copied().fold(0.0, f64::max))
    }

    /// Draws the picture. `id` is unique on the page.
    pub fn figure(&self, id: &str) -> String {
        let (least, greatest) = self.spread();
        let stretches = self.fills.len();
        let across = WORDS_ACROSS * 64;
        let (drawn, tall, what) = match self.cells {
            Cells::Bits => {
                let what = format!("the first {} bits, ones dark", self.words.len() * 64);
                let ones = format!(r#"<path class="ones" d="{}"/>"#, self.runs());
                (ones, LINES, what)
            }
            Cells::Numbers(bits) => {
                let (numbers, count) = self.numbers();
                let what = format!("the first {count} numbers of {bits} bits, greater ones darker");
                (numbers, CELLS_DOWN * CELL, what)
            }
        };
        let description = format!(
            "Above, {what}. Below, the fill of {stretches} stretches of all, {:.1} % to {:.1} %: {:.1} % in all.",
            least * 100.0,
            greatest * 100.0,
            self.fill * 100.0,
        );
        let strip = tall + 4;
        let mut svg = format!(
            r#"<svg class="bits" viewBox="0 0 {across} {}" role="img" aria-labelledby="{id}-title {id}-text"><title id="{id}-title">{}</title><desc id="{id}-text">{}</desc><rect class="field" width="{across}" height="{tall}"/>{drawn}"#,
            strip + 2 * DOWN,
            escape(&self.title),
            escape(&description),
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

    /// Draws a shade and digits for each number that is not zero; returns the number of numbers too.
    fn numbers(&self) -> (String, usize) {
        let numbers: Vec<u64> = self
            .words
            .iter()
            .flat_map(|word| self.cells.of_word(*word))
            .take(CELLS_ACROSS * CELLS_DOWN)
            .collect();
        let most = numbers.iter().copied().max().unwrap_or(0).max(1);
        let mut drawn = String::new();
        for (index, number) in numbers
            .iter()
            .enumerate()
            .filter(|(_, number)| **number > 0)
        {
            let (x, y) = (CELL * (index % CELLS_ACROSS), CELL * (index / CELLS_ACROSS));
            // Light enough to read the digits on the darkest.
            let shade = 0.12 + 0.4 * *number as f64 / most as f64;
            write!(
                drawn,
                r#"<rect class="cell" x="{x}" y="{y}" width="{CELL}" height="{CELL}" opacity="{shade:.2}"/>"#
            )
            .expect("a string takes all");
            if most < 1000 {
                let size = if most < 100 { 2.8 } else { 1.9 };
                write!(
                    drawn,
                    r#"<text class="number" x="{}" y="{:.1}" font-size="{size}" text-anchor="middle">{number}</text>"#,
                    x + CELL / 2,
                    y as f64 + 2.0 + size * 0.36
                )
                .expect("a string takes all");
            }
        }
        (drawn, numbers.len())
    }

    /// Draws a stroke for each run of ones in a line.
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

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::Bitmap;

    #[test]
    fn runs_of_ones_are_strokes() {
        let bits = Bitmap::from_words(&[0b0111, 1 << 63, 1]).expect("small");

        let picture = BitsPicture::of(&bits, Cells::Bits, 0.5);

        assert_eq!(picture.runs(), "M0 0.5h3M127 0.5h1M0 1.5h1");
        assert_eq!(picture.fills.len(), 3);
    }

    #[test]
    fn counters_are_drawn_as_their_values() {
        let bits = Bitmap::from_words(&[0x0300_0000_0000_0021, 0xF]).expect("small");

        let picture = BitsPicture::of(&bits, Cells::Numbers(4), 0.125);

        let (drawn, count) = picture.numbers();
        assert_eq!((drawn.matches("<rect").count(), count), (4, 32));
        for number in [1, 2, 3, 15] {
            assert!(
                drawn.contains(&format!(">{number}</text>")),
                "{number}: {drawn}"
            );
        }
        assert_eq!(
            picture.fills,
            [3.0 / 16.0, 1.0 / 16.0],
            "of counters, not of bits"
        );
    }
}
