//! What does reading half as many places save?
//!
//! `Shifting` against `Bloom` of the same number of positions and of hashes: ten positions per key
//! and eight hashes, as in the paper. A column for keys that are there, one for keys that are not.

use std::rc::Rc;

use mayhap::{
    Bloom, Digester, Filter, Insert, Scheme, Shape,
    bits::Bits as _,
    hash::Digest,
    kinds::{Shifting, ShiftingShape},
};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::{NUMBERS_PER_BLOCK, absent, member_sample, members};
use mayhap_bench::light::Light;
use mayhap_bench::measure::Race;
use mayhap_bench::report::{Report, count};

const POSITIONS_PER_KEY: u64 = 10;
const HASHES: u32 = 8;

const BASELINE: &str = "Bloom";

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![100_000, 100_000_000],
        urls: vec![],
        rates: vec![],
        rounds: 9,
        only: vec![],
        record: false,
    })?;
    let mut report = Report::new("shifting", "ns per lookup, median (least–greatest)");
    for &keys in &arguments.keys {
        let mut race = Race::new();
        enter_limits(&mut race, keys)?;
        enter_bloom(&mut race, &arguments, keys)?;
        enter_shifting(&mut race, &arguments, keys)?;
        let title = format!(
            "{} u64 keys, ten positions each, {HASHES} hashes",
            count(keys)
        );
        report.add(title, BASELINE, race.run(arguments.rounds));
    }
    report.close(arguments.record)
}

/// Keys to ask for: their column, and the keys.
fn questions(keys: u64) -> [(&'static str, Vec<u64>); 2] {
    let hits = member_sample(keys, NUMBERS_PER_BLOCK).collect();
    let misses = absent(0..NUMBERS_PER_BLOCK).collect();
    [("hit", hits), ("miss", misses)]
}

fn positions(keys: u64) -> Result<Shape> {
    Ok(Shape::new(POSITIONS_PER_KEY * keys, HASHES)?)
}

/// One line per key: what no filter of this size can beat, and a quarter of what hits here need.
fn enter_limits(race: &mut Race<'static>, keys: u64) -> Result<()> {
    let light = Rc::new(Light::new(positions(keys)?.bits())?);
    for (group, block) in questions(keys) {
        let light = light.clone();
        let count = block.len() as u64;
        let pass = move || light.read_ahead(&block);
        race.enter("limit: one line, rolling loop", group, count, pass);
    }
    Ok(())
}

fn enter_bloom(race: &mut Race<'static>, arguments: &Arguments, keys: u64) -> Result<()> {
    if !arguments.takes(BASELINE) {
        return Ok(());
    }
    let mut filter = Bloom::new(positions(keys)?, Scheme::default())?;
    filter.insert_all(members(0..keys));
    let filter = Rc::new(filter);
    for (group, block) in questions(keys) {
        let (filter, count) = (filter.clone(), block.len() as u64);
        let pass = move || {
            block
                .iter()
                .map(|key| u64::from(filter.contains(key)))
                .sum()
        };
        race.enter(BASELINE, group, count, pass);
    }
    for (group, block) in questions(keys) {
        let (filter, count) = (filter.clone(), block.len() as u64);
        let pass = move || prefetched(&filter, &block);
        race.enter("Bloom, every line prefetched", group, count, pass);
    }
    Ok(())
}

/// Asks for every line of sixteen keys before the first is looked at. The library does not: for keys
/// that are not there it brings in lines that nobody needs.
#[inline(never)]
fn prefetched(filter: &Bloom, keys: &[u64]) -> u64 {
    let (shape, digester) = (filter.shape(), Digester::default());
    let mut found = 0;
    for batch in keys.as_chunks::<16>().0 {
        let mut digests = [Digest::default(); 16];
        for (digest, key) in digests.iter_mut().zip(batch) {
            *digest = digester.digest(&key.to_le_bytes());
            let positions = digest.probe(shape);
            positions.for_each(|position| filter.bits().prefetch(position));
        }
        for digest in digests {
            found += u64::from(filter.contains_digest(digest));
        }
    }
    found
}

fn enter_shifting(race: &mut Race<'static>, arguments: &Arguments, keys: u64) -> Result<()> {
    for (shifts, name) in [(1, "Shifting"), (3, "Shifting, three shifts")] {
        if !arguments.takes(name) {
            continue;
        }
        let shape = ShiftingShape::with_shifts(positions(keys)?, 57, shifts)?;
        let mut filter = Shifting::new(shape, Digester::default())?;
        filter.insert_all(members(0..keys));
        let filter = Rc::new(filter);
        for (group, block) in questions(keys) {
            let block = Rc::new(block);
            let count = block.len() as u64;
            let (single, asked) = (filter.clone(), block.clone());
            race.enter(name, group, count, move || {
                asked
                    .iter()
                    .map(|key| u64::from(single.contains(key)))
                    .sum()
            });
            let batched = filter.clone();
            race.enter(&format!("{name}, batches"), group, count, move || {
                let mut found = 0;
                batched.contains_each(block.iter(), |is_there| found += u64::from(is_there));
                found
            });
        }
    }
    Ok(())
}
