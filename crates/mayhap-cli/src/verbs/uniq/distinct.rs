//! Estimates the number of distinct hashes in 16 KiB: HyperLogLog.
//!
//! Each register keeps the longest run of leading zeros among the hashes it got; the sum over all of them gives
//! their number with a standard error of 0.81 %, whether there were ten or 2^50. After Flajolet et al.,
//! "HyperLogLog", 2007, with the estimator of Ertl, "New cardinality estimation algorithms for HyperLogLog
//! sketches", 2017, which needs neither tables nor special cases.

/// Registers are chosen by this many bits of a hash.
const INDEX_BITS: u32 = 14;

/// The bits of a hash that are left to count zeros in.
const REST_BITS: usize = 64 - INDEX_BITS as usize;

/// Estimates the number of distinct hashes.
pub(super) struct Distinct {
    registers: Box<[u8; 1 << INDEX_BITS]>,
}

impl Distinct {
    /// The standard error of [`count`](Distinct::count), as a share of the number.
    pub(super) const ERROR: f64 = 1.04 / (1_u32 << (INDEX_BITS / 2)) as f64;

    pub(super) fn new() -> Distinct {
        Distinct {
            registers: Box::new([0; 1 << INDEX_BITS]),
        }
    }

    #[inline]
    pub(super) fn insert(&mut self, hash: u64) {
        let register = &mut self.registers[(hash >> REST_BITS) as usize];
        // A one below the rest ends the count where the rest is all zeros.
        let rest = hash << INDEX_BITS | 1 << (INDEX_BITS - 1);
        let rank = rest.leading_zeros() as u8 + 1;
        *register = (*register).max(rank);
    }

    /// Estimates the number of distinct hashes that were inserted.
    pub(super) fn count(&self) -> f64 {
        let size = self.registers.len() as f64;
        // How many registers have each rank.
        let mut ranks = [0_u32; REST_BITS + 2];
        for rank in self.registers.iter() {
            ranks[usize::from(*rank)] += 1;
        }
        let share = |rank: usize| f64::from(ranks[rank]) / size;
        let mut sum = size * full(1.0 - share(REST_BITS + 1));
        for rank in (1..=REST_BITS).rev() {
            sum = 0.5 * (sum + f64::from(ranks[rank]));
        }
        sum += size * empty(share(0));
        size * size / (2.0 * std::f64::consts::LN_2 * sum)
    }
}

/// The contribution of registers that got no hash: x + Σ x^(2^i) 2^(i-1), Ertl's sigma.
fn empty(share: f64) -> f64 {
    if share == 1.0 {
        return f64::INFINITY;
    }
    let (mut power, mut weight, mut sum) = (share, 1.0, share);
    loop {
        power *= power;
        let before = sum;
        sum += power * weight;
        weight += weight;
        if sum == before {
            return sum;
        }
    }
}

/// The contribution of registers that can rise no further: Ertl's tau.
fn full(share: f64) -> f64 {
    if share == 0.0 || share == 1.0 {
        return 0.0;
    }
    let (mut root, mut weight, mut sum) = (share, 1.0, 1.0 - share);
    loop {
        root = root.sqrt();
        let before = sum;
        weight *= 0.5;
        sum -= (1.0 - root).powi(2) * weight;
        if sum == before {
            return sum / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed(number: u64) -> u64 {
        mayhap::hash::mix(number.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// 20 sketches of each number, fixed seeds: the mean is within four standard errors of the truth (18 % of
    /// one sketch's for 20 of them), and each sketch within four of its own.
    #[test]
    fn any_number_of_hashes_is_estimated_within_the_error() {
        assert_eq!(Distinct::new().count(), 0.0);
        for number in [1_u64, 10, 1000, 10_000, 100_000, 1_000_000] {
            let mut mean = 0.0;
            for round in 0..20_u64 {
                let mut sketch = Distinct::new();
                let first = round << 32;
                (first..first + number).for_each(|key| sketch.insert(mixed(key)));
                // Twice is as once.
                (first..first + number / 2).for_each(|key| sketch.insert(mixed(key)));
                let off = sketch.count() / number as f64 - 1.0;
                assert!(off.abs() < 4.0 * Distinct::ERROR, "{number}: {off}");
                mean += off / 20.0;
            }
            assert!(
                mean.abs() < 4.0 * Distinct::ERROR / 20_f64.sqrt(),
                "{number}: {mean}"
            );
            println!("{number} {mean}");
        }
    }
}
