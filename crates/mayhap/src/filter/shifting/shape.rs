//! The shape of a shifting membership filter, and what it promises.
//!
//! Symbols: `m` positions, `k` probes per key, `t` of them shifted for each that is not, `w` bits in a
//! window, `n` keys, `c = nk/m`, `p = e^-c` the share of zeros. Probes at a distance of each other are
//! not independent: another key may set both at once, if it has the same distance. With one shift,
//! both bits of a window are ones with probability `(1-p)² + p² (e^(c/2(w-1)) - 1)`, and a key is
//! claimed with that to the power of `k/2`. (The paper has `(1-p)(1-p+p²/(w-1))`, a little high.)

use core::fmt;

use core::array;

use super::{WIDEST, Windows};
use crate::filter::{Kind, load};
use crate::shape::check_request;
use crate::{Error, Result, Shape};

/// The most shifted probes for each that is not: eight bits of a window at a time.
const MOST_SHIFTS: u32 = 7;

/// The fewest distances that each of several shifts has to choose from. With fewer, keys have too many
/// probes at the same distances for the formula of the rate to hold.
const LEAST_SLICE: u32 = 8;

/// The load from which on every bit is taken for a one: one in nine million is not.
const FULL: f64 = 16.0;

/// The most bits of a window that a key has: those, and the first.
const MOST_CELLS: usize = MOST_SHIFTS as usize + 1;

/// The fewest positions that are chosen for a capacity, as for the standard filter.
const LEAST_POSITIONS: f64 = 1024.0;

/// The size of a [`Shifting`](crate::kinds::Shifting) filter, and the layout of its probes.
///
/// ```
/// use mayhap::{Shape, kinds::ShiftingShape};
///
/// let shape = ShiftingShape::for_capacity(1_000_000, 0.01)?;
/// assert_eq!((shape.hashes(), shape.windows()), (6, 3));
/// let standard = Shape::for_capacity(1_000_000, 0.01)?;
/// assert!((shape.bits() as f64) < 1.03 * standard.bits() as f64);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShiftingShape {
    windows: Windows,
    shifts: u32,
    /// The distances to choose from for each shift, and the number of shifts.
    distances: Shape,
}

impl fmt::Display for ShiftingShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} positions, {} hashes, {} shifts of up to {} bits",
            self.positions(),
            self.hashes(),
            self.shifts,
            self.span()
        )
    }
}

impl ShiftingShape {
    /// A shape of `shape.bits()` positions and `shape.hashes()` probes per key, every second one
    /// shifted by up to 56 bits.
    ///
    /// # Errors
    ///
    /// When the number of hashes is odd.
    pub fn new(shape: Shape) -> Result<ShiftingShape> {
        ShiftingShape::with_shifts(shape, WIDEST, 1)
    }

    /// A shape with windows of `span` bits and `shifts` shifted probes in each.
    ///
    /// More shifts are fewer reads and a higher rate: two shifts save a third of the reads that one
    /// has, and at 12 hashes raise the rate by 6 %; see `docs/filters.md`.
    ///
    /// # Errors
    ///
    /// When `span` is not 2 to 57, `shifts` is not 1 to 7 or several have fewer than 8 distances each
    /// to choose from, or the number of hashes is not a multiple of `shifts + 1`.
    pub fn with_shifts(shape: Shape, span: u32, shifts: u32) -> Result<ShiftingShape> {
        check_offsets(span, shifts)?;
        let count = windows_per_key(shape.hashes(), shifts)?;
        let windows = Windows::new(Shape::new(shape.bits(), count)?, span)?;
        ShiftingShape::from_windows(windows, shifts)
    }

    /// The smallest shape with one shift whose predicted rate with `keys` keys is at most `rate`.
    ///
    /// # Errors
    ///
    /// When `keys` is 0, `rate` is not strictly between 0 and 1, or 2^63 bits do not suffice.
    pub fn for_capacity(keys: u64, rate: f64) -> Result<ShiftingShape> {
        check_request(keys, rate)?;
        let fewer = 2 * (libm::floor(-libm::log2(rate) / 2.0) as u32).max(1);
        let fewer_hashes = smallest(keys, rate, fewer)?;
        let more_hashes = smallest(keys, rate, fewer + 2)?;
        if fewer_hashes.bits() <= more_hashes.bits() {
            Ok(fewer_hashes)
        } else {
            Ok(more_hashes)
        }
    }

    /// The shape of a file's fields; the inverse of [`detail`](ShiftingShape::detail).
    pub(super) fn from_numbers(bits: u64, hashes: u32, detail: u32) -> Result<ShiftingShape> {
        let (span, shifts) = (detail & 0xFF, detail >> 8);
        check_offsets(span, shifts)?;
        let count = windows_per_key(hashes, shifts)?;
        ShiftingShape::from_windows(Windows::within(bits, count, span)?, shifts)
    }

    /// The bits of a window, and the number of shifts above them.
    pub(super) fn detail(self) -> u32 {
        self.shifts << 8 | self.span()
    }

    fn from_windows(windows: Windows, shifts: u32) -> Result<ShiftingShape> {
        // At least one distance, as checked.
        let distances = Shape::new(u64::from((windows.span() - 1) / shifts), shifts)?;
        let shape = ShiftingShape {
            windows,
            shifts,
            distances,
        };
        // What `rate_at` and `keys_at` take for the standard filter's shape must be one.
        Shape::new(shape.positions(), shape.hashes()).map(|_| shape)
    }

    /// The number of bits: one for each position, and a window after the last.
    pub fn bits(self) -> u64 {
        self.windows.bits()
    }

    /// The number of positions, `m`: what the bits of a standard filter are.
    pub fn positions(self) -> u64 {
        self.windows.first().bits()
    }

    /// The number of bits that a key sets, `k`.
    pub fn hashes(self) -> u32 {
        self.windows() * (self.shifts + 1)
    }

    /// The number of windows of a key: what is read for one that is there, `k / (t + 1)`.
    pub fn windows(self) -> u32 {
        self.windows.first().hashes()
    }

    /// The number of bits of a window, `w`.
    pub fn span(self) -> u32 {
        self.windows.span()
    }

    /// The number of shifted probes in each window, `t`.
    pub fn shifts(self) -> u32 {
        self.shifts
    }

    #[inline]
    pub(super) fn parts(self) -> (Windows, Shape) {
        (self.windows, self.distances)
    }

    /// Predicts the false-positive rate after `keys` distinct keys.
    pub fn rate_at(self, keys: u64) -> f64 {
        if keys == 0 {
            return 0.0;
        }
        let throws = f64::from(self.hashes()) * keys as f64;
        self.rate_of(-throws * libm::log1p(-1.0 / self.positions() as f64))
    }

    /// The false-positive rate of a filter that has `ones` ones now.
    pub fn rate_with(self, ones: u64) -> f64 {
        let fill = ones as f64 / self.positions() as f64;
        if fill >= 1.0 {
            return 1.0;
        }
        self.rate_of(-libm::log1p(-fill))
    }

    /// Estimates how many distinct keys made `ones` ones; `None` when there are too many to estimate.
    pub fn keys_at(self, ones: u64) -> Option<f64> {
        let standard = Shape::new(self.positions(), self.hashes()).expect("checked when made");
        standard.keys_at(ones)
    }

    /// The rate when each position was thrown at `load` times on average: `load` is `nk/m`.
    fn rate_of(self, load: f64) -> f64 {
        if load <= 0.0 {
            return 0.0;
        }
        libm::pow(self.covered(load), f64::from(self.windows()))
    }

    /// The share of windows all of whose bits at random distances are ones, by inclusion and
    /// exclusion: a set of cells is all zeros with probability `p^size`, a little more where another
    /// key would set two of them at once.
    fn covered(self, load: f64) -> f64 {
        if load > FULL {
            return 1.0;
        }
        let cells = self.shifts as usize + 1;
        let zero = libm::exp(-load);
        let independent = libm::pow(-libm::expm1(-load), cells as f64);
        let together: [[f64; MOST_CELLS]; MOST_CELLS] = array::from_fn(|left| {
            array::from_fn(|right| match left < right && right < cells {
                true => self.coincidences(left, right),
                false => 0.0,
            })
        });
        let mut excess = 0.0;
        for set in 0_u32..1 << cells {
            let members = || (0..cells).filter(|&cell| set >> cell & 1 == 1);
            let pairs = members().flat_map(|right| members().map(move |left| (left, right)));
            let shared: f64 = pairs.map(|(left, right)| together[left][right]).sum();
            let size = set.count_ones();
            let sign = if size.is_multiple_of(2) { 1.0 } else { -1.0 };
            let zeros = libm::pow(zero, f64::from(size));
            excess += sign * zeros * libm::expm1(load * shared / cells as f64);
        }
        (independent + excess).clamp(independent, 1.0)
    }

    /// Returns how many pairs of another key's probes, on average, lie as far apart as two cells of a window.
    fn coincidences(self, left: usize, right: usize) -> f64 {
        let cells = self.shifts as usize + 1;
        let apart = self.apart(left, right);
        let mut expected = 0.0;
        for later in 1..cells {
            for earlier in 0..later {
                let other = self.apart(earlier, later);
                expected += apart.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
            }
        }
        expected
    }

    /// The distribution of the distance between two probes of a window. The first is at its
    /// beginning, the others each somewhere in a slice of their own.
    fn apart(self, left: usize, right: usize) -> [f64; WIDEST as usize] {
        let slice = self.distances.bits() as usize;
        let mut chance = [0.0; WIDEST as usize];
        for after in 0..slice {
            let place = 1 + (right - 1) * slice + after;
            if left == 0 {
                chance[place] += 1.0 / slice as f64;
                continue;
            }
            for before in 0..slice {
                let distance = place - (1 + (left - 1) * slice + before);
                chance[distance] += 1.0 / (slice * slice) as f64;
            }
        }
        chance
    }
}

fn field(field: &'static str, got: u32, expected: &'static str) -> Error {
    Error::Field {
        format: Kind::Shifting.name(),
        field,
        got: i64::from(got),
        expected,
    }
}

fn check_offsets(span: u32, shifts: u32) -> Result<()> {
    if !(2..=WIDEST).contains(&span) {
        return Err(field("window", span, "2 to 57 bits"));
    }
    if shifts == 1 || (2..=MOST_SHIFTS).contains(&shifts) && span > LEAST_SLICE * shifts {
        return Ok(());
    }
    Err(field(
        "number of shifts",
        shifts,
        "1, or up to 7 with 8 bits of the window for each",
    ))
}

/// The windows of a key, when its probes fill them.
fn windows_per_key(hashes: u32, shifts: u32) -> Result<u32> {
    if hashes == 0 || hashes > Shape::MAX_HASHES || !hashes.is_multiple_of(shifts + 1) {
        return Err(field(
            "number of hashes",
            hashes,
            "a multiple of the probes in a window (2 with one shift), up to 4096",
        ));
    }
    Ok(hashes / (shifts + 1))
}

/// The smallest shape with this many hashes that keeps the rate.
fn smallest(keys: u64, rate: f64, hashes: u32) -> Result<ShiftingShape> {
    let any = ShiftingShape::new(Shape::new(LEAST_POSITIONS as u64, hashes)?)?;
    let target = libm::pow(rate, 1.0 / f64::from(any.windows()));
    // The share of covered windows rises with the load; 64 halvings find where it is the target.
    let exceeds = |load| any.covered(load) > target;
    let highest = load::highest((0.0, FULL), 64, load::arithmetic, exceeds);
    let positions = libm::ceil(f64::from(hashes) * keys as f64 / highest).max(LEAST_POSITIONS);
    // Infinite where the rate is too low for any load.
    if positions >= (1_u64 << 63) as f64 {
        return Err(Error::TooLarge { keys, rate });
    }
    let mut positions = positions as u64;
    loop {
        let shape = ShiftingShape::new(Shape::new(positions, hashes)?)?;
        if shape.rate_at(keys) <= rate {
            return Ok(shape);
        }
        positions += 1 + (positions >> 40);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(positions: u64, hashes: u32, span: u32, shifts: u32) -> ShiftingShape {
        let shape = Shape::new(positions, hashes).expect("valid");
        ShiftingShape::with_shifts(shape, span, shifts).expect("valid")
    }

    /// Asserts that `got` prints as `expected` when rounded to as many significant digits.
    #[track_caller]
    fn assert_digits(got: f64, expected: f64, digits: i32) {
        let tolerance = expected.abs() * libm::pow(10.0, f64::from(1 - digits)) * 0.51;
        let off = (got - expected).abs();
        assert!(off <= tolerance, "{got} is not {expected}");
    }

    #[test]
    fn the_table_is_predicted_to_six_digits() {
        for (m, n, k, span, expected) in [
            (22_008, 1000, 8, 57, 7.958_92e-5),
            (22_008, 1500, 8, 57, 1.010_61e-3),
            (32_000, 4000, 6, 57, 0.021_927_6),
            (100_000, 10_000, 8, 57, 8.618_05e-3),
            (100_000, 10_000, 8, 25, 8.840_33e-3),
            (100_000, 10_000, 8, 8, 9.859_55e-3),
        ] {
            let shape = shape(m, k, span, 1);
            assert_digits(
                shape.rate_of(f64::from(k) * n as f64 / m as f64),
                expected,
                6,
            );
            // Whole throws instead of an average load: a little more.
            let more = shape.rate_at(n) / expected;
            assert!((1.0..1.001).contains(&more), "{more}");
        }
    }

    #[test]
    fn the_best_load_is_that_of_the_formula() {
        // With `load` probes for each position and m/n of these for each key, k = load m/n.
        let base = |load: f64| libm::pow(shape(1024, 2, 57, 1).covered(load), load / 2.0);
        assert_digits(base(0.697_01), 0.619_828, 6);
        assert!(base(0.697_01) <= base(0.6965).min(base(0.6975)));
    }

    #[test]
    fn more_shifts_are_predicted_as_simulated() {
        for (shifts, simulated) in [(1, 0.003_15), (2, 0.003_27), (3, 0.003_70), (5, 0.005_19)] {
            let predicted = shape(100_000, 12, 57, shifts).rate_at(8000);
            assert!((predicted / simulated - 1.0).abs() < 0.05, "{predicted}");
        }
    }

    #[test]
    fn a_shape_for_a_capacity_keeps_its_rate_at_the_price_of_few_bits() {
        for rate in [0.9, 0.5, 0.1, 0.03, 0.01, 1e-3, 1e-6, 1e-12, 1e-100] {
            for keys in [1, 100, 10_000, 1_000_000_000] {
                let shape = ShiftingShape::for_capacity(keys, rate).expect("valid");
                assert!(shape.rate_at(keys) <= rate);
                assert!(shape.hashes().is_multiple_of(2));
                let standard = Shape::for_capacity(keys, rate).expect("valid");
                let ratio = shape.positions() as f64 / standard.bits() as f64;
                if keys > 1000 && rate < 0.2 {
                    assert!((0.99..1.08).contains(&ratio), "{ratio} at {rate}");
                }
            }
        }
        for (rate, expected) in [(0.01, 1.0077), (0.001, 1.0045)] {
            let bits = ShiftingShape::for_capacity(1_000_000, rate)
                .expect("valid")
                .bits();
            let standard = Shape::for_capacity(1_000_000, rate).expect("valid");
            assert_digits(bits as f64 / standard.bits() as f64, expected, 5);
        }
        let huge = ShiftingShape::for_capacity(u64::MAX, 0.01);
        assert!(matches!(huge, Err(Error::TooLarge { .. })));
    }

    #[test]
    fn rates_are_between_zero_and_one_and_rise_with_the_keys() {
        for (positions, span, shifts) in [(1, 2, 1), (64, 57, 7), (1000, 17, 2), (1000, 2, 1)] {
            let shape = shape(positions, 8 * 3, span, shifts);
            let mut last = 0.0;
            for keys in [0, 1, 2, 5, 10, 100, 1000, 1 << 40, u64::MAX] {
                let rate = shape.rate_at(keys);
                assert!((last..=1.0).contains(&rate), "{rate} with {keys} keys");
                last = rate;
            }
            let (none, all) = (shape.rate_with(0), shape.rate_with(shape.bits()));
            assert_eq!((none, all), (0.0, 1.0));
        }
        for rate in [0.999, 1.0 - f64::EPSILON] {
            let shape = ShiftingShape::for_capacity(1 << 40, rate).expect("valid");
            assert!(shape.rate_at(1 << 40) <= rate);
        }
    }

    #[test]
    fn odd_hashes_and_windows_out_of_range_are_refused() {
        let odd = ShiftingShape::new(Shape::new(1000, 7).expect("valid"));
        assert!(matches!(
            odd,
            Err(Error::Field {
                field: "number of hashes",
                got: 7,
                ..
            })
        ));
        let even = Shape::new(1000, 12).expect("valid");
        for (span, shifts) in [
            (0, 1),
            (1, 1),
            (58, 1),
            (57, 0),
            (57, 8),
            (57, 4),
            (16, 2),
            (56, 7),
        ] {
            let refused = ShiftingShape::with_shifts(even, span, shifts);
            assert!(
                matches!(refused, Err(Error::Field { .. })),
                "{span} {shifts}"
            );
        }
        let most = Shape::new(1 << 63, 2).expect("valid");
        assert!(matches!(ShiftingShape::new(most), Err(Error::Bits { .. })));
    }

    #[test]
    fn a_shape_comes_back_from_its_description() {
        for (positions, hashes, span, shifts) in [(1, 2, 2, 1), (999, 12, 57, 5), (64, 8, 57, 7)] {
            let shape = shape(positions, hashes, span, shifts);
            let (bits, detail) = (shape.bits(), shape.detail());
            let described = ShiftingShape::from_numbers(bits, hashes, detail);
            assert_eq!(described.expect("as it is"), shape);
        }
        for detail in [0, 57, 1 << 16 | 1 << 8 | 57, u32::MAX] {
            assert!(
                ShiftingShape::from_numbers(1000, 6, detail).is_err(),
                "{detail}"
            );
        }
    }
}
