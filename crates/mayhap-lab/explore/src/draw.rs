//! Millions of keys, for experiments in the page.

use std::fmt::Write as _;

use mayhap::hash::{Digest, mix};
use mayhap::{AnyFilter, Filter as _};

/// The form of the `i`-th key of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The number in decimal digits.
    Decimal,
    /// The number in four bytes, the lowest first, like Guava's `integerFunnel`.
    Bytes,
    /// A UUID of version 4, drawn from the number.
    Uuid,
    /// A 64-bit number drawn from it, in decimal digits.
    Random,
}

impl Form {
    /// The form of this number: 0 to 3 in the order above.
    pub fn numbered(number: u32) -> Option<Form> {
        [Form::Decimal, Form::Bytes, Form::Uuid, Form::Random]
            .get(number as usize)
            .copied()
    }

    /// Writes the key of a number into the buffer, which is cleared first.
    pub fn write(self, number: u64, key: &mut String) -> &[u8] {
        key.clear();
        let written = match self {
            Form::Decimal => write!(key, "{number}"),
            Form::Random => write!(key, "{}", mix(number) as i64),
            Form::Uuid => {
                let Digest { hi, lo } = Digest::from_u64(number).remix(4);
                write!(
                    key,
                    "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
                    hi >> 32,
                    hi >> 16 & 0xFFFF,
                    hi & 0xFFF,
                    lo >> 48 & 0x3FFF | 0x8000,
                    lo & 0xFFFF_FFFF_FFFF
                )
            }
            // Characters below 256 would take two bytes: see `with_key`.
            Form::Bytes => Ok(()),
        };
        written.expect("a string takes all");
        key.as_bytes()
    }

    fn with_key<R>(self, number: u64, key: &mut String, read: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Form::Bytes => read(&(number as u32).to_le_bytes()),
            _ => read(self.write(number, key)),
        }
    }
}

/// Some of the numbers of an experiment.
#[derive(Debug, Clone, Copy)]
pub struct Numbers {
    /// The first.
    pub first: u64,
    /// The difference to the next.
    pub step: u64,
    /// The number of numbers.
    pub count: u64,
}

impl Numbers {
    fn iter(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |i| self.first + i * self.step)
    }
}

/// Inserts the keys of these numbers, and returns how many were definitely new.
///
/// # Errors
///
/// When the kind is built once.
pub fn insert(filter: &mut AnyFilter, numbers: Numbers, form: Form) -> mayhap::Result<u64> {
    let (filter, mut key) = (filter.as_insert()?, String::new());
    let new = numbers
        .iter()
        .filter(|&number| form.with_key(number, &mut key, |key| filter.insert_bytes(key)));
    Ok(new.count() as u64)
}

/// Returns the numbers whose keys are found.
pub fn found(filter: &AnyFilter, numbers: Numbers, form: Form) -> Vec<u64> {
    let mut key = String::new();
    let is_found =
        |&number: &u64| form.with_key(number, &mut key, |key| filter.contains_bytes(key));
    numbers.iter().filter(is_found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::{Bloom, Kind, Scheme, Sizing};

    #[test]
    fn even_numbers_are_always_found_and_odd_ones_at_the_rate() {
        let shape = Sizing::MurmurFloorMod.shape(100_000, 0.01).expect("valid");
        let filter = Bloom::new(shape, Scheme::MurmurFloorMod).expect("small");
        let mut filter = AnyFilter::from(filter);
        let even = Numbers {
            first: 0,
            step: 2,
            count: 100_000,
        };
        let new = insert(&mut filter, even, Form::Decimal).expect("inserts");
        assert!(new > 95_000 && new <= 100_000);

        let odd = Numbers {
            first: 1,
            step: 2,
            count: 100_000,
        };
        let wrong = found(&filter, odd, Form::Decimal);

        assert!(wrong.iter().all(|number| number % 2 == 1));
        assert!((800..1300).contains(&wrong.len()), "{}", wrong.len());
        assert_eq!(found(&filter, even, Form::Decimal).len(), 100_000);
    }

    #[test]
    fn drawn_keys_are_distinct_and_well_formed() {
        let mut filter =
            AnyFilter::new(&Kind::Blocked.plan(20_000, 1e-6).expect("valid")).expect("small");
        let numbers = Numbers {
            first: 7,
            step: 1,
            count: 10_000,
        };
        for form in [Form::Uuid, Form::Random, Form::Bytes] {
            assert_eq!(insert(&mut filter, numbers, form).expect("inserts"), 10_000);
        }
        let mut key = String::new();
        assert_eq!(Form::Uuid.write(1, &mut key).len(), 36);
        assert_eq!(&key[14..15], "4");
        assert_eq!(Form::numbered(3), Some(Form::Random));
        assert_eq!(Form::numbered(4), None);
    }
}
