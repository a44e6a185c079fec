//! From the two sets of keys to levels.

use alloc::vec::Vec;

use super::levels::{Level, MAX_LEVELS, write_sizes};
use crate::bits::{Bitmap, Bits as _};
use crate::{Error, Result, Shape, hash::Digest};

/// Builds the levels for two sets that have no key in common. The included keys are [`distinct`], and
/// the shape of the first level is theirs. `at_level` gives a key another digest for each later level.
///
/// # Errors
///
/// When the sets overlap, do not come to an end, or there is no memory for them.
pub(super) fn build(
    included: Vec<Digest>,
    excluded: impl Iterator<Item = Digest>,
    first: Shape,
    at_level: impl Fn(Digest, u32) -> Digest,
) -> Result<(Bitmap, Vec<Level>)> {
    let mut bits = Bitmap::new(first.bits())?;
    for digest in &included {
        digest.probe(first).for_each(|position| {
            bits.set(position);
        });
    }
    let passes = |digest: &Digest| digest.probe(first).every(|position| bits.get(position));
    let wrong = distinct(excluded.filter(passes))?;
    check_apart(&included, &wrong)?;

    let mut levels = Vec::from([Level {
        start: 0,
        bits: first.bits(),
    }]);
    // The keys of the last level, and those of the other set that get through all levels so far.
    let (mut last, mut others) = (included, wrong);
    while !others.is_empty() {
        let index = levels.len() as u32;
        if index == MAX_LEVELS {
            return Err(Error::Unbuilt {
                attempts: MAX_LEVELS,
            });
        }
        let level = Level::after(bits.size(), others.len() as u64);
        bits.grow(level.end())?;
        for digest in &others {
            bits.set(level.position(at_level(*digest, index)));
        }
        last.retain(|digest| level.passes(&bits, at_level(*digest, index)));
        (last, others) = (others, last);
        levels.push(level);
    }
    write_sizes(&levels, &mut bits)?;
    Ok((bits, levels))
}

/// The distinct digests, ascending. Two keys that share theirs are one key to a filter.
///
/// # Errors
///
/// When there is no memory for them.
pub(super) fn distinct(digests: impl Iterator<Item = Digest>) -> Result<Vec<Digest>> {
    let mut distinct = Vec::new();
    for digest in digests {
        if distinct.len() == distinct.capacity() {
            let more = distinct.len() / 2 + 64;
            distinct
                .try_reserve_exact(more)
                .map_err(|_| Error::Memory {
                    bits: 128 * (distinct.len() + more) as u64,
                })?;
        }
        distinct.push(digest);
    }
    distinct.sort_unstable_by_key(order);
    distinct.dedup();
    Ok(distinct)
}

fn order(digest: &Digest) -> (u64, u64) {
    (digest.hi, digest.lo)
}

/// Refuses sets that have a key in common: it would be in every level, and there would be no end.
fn check_apart(included: &[Digest], excluded: &[Digest]) -> Result<()> {
    let is_shared = |digest: &&Digest| {
        let same = included.binary_search_by_key(&order(digest), order);
        same.is_ok()
    };
    match excluded.iter().filter(is_shared).count() {
        0 => Ok(()),
        keys => Err(Error::Overlap { keys: keys as u64 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digester;

    fn digests(numbers: core::ops::Range<u64>) -> impl Iterator<Item = Digest> {
        numbers.map(|number| Digester::default().digest(&number.to_le_bytes()))
    }

    #[test]
    fn levels_that_hash_alike_do_not_come_to_an_end() {
        let first = Shape::for_capacity(1000, 0.1).expect("valid");
        let sets = || {
            (
                distinct(digests(0..1000)).expect("few"),
                digests(1000..10_000),
            )
        };

        let (included, excluded) = sets();
        let apart = build(included, excluded, first, |digest, level| {
            digest.remix(u64::from(level))
        });
        assert!(apart.is_ok());

        let (included, excluded) = sets();
        let alike = build(included, excluded, first, |digest, _| digest);
        assert!(matches!(alike, Err(Error::Unbuilt { attempts: 64 })));
    }
}
