//! What does a static filter cost, by its number of keys, and what does building it?
//!
//! The first table is that of the paper (Graf and Lemire, 2022): slots and bits per key, and how often the
//! first attempt at building succeeds. The others are timings beside xorf, of the same algorithm.

use std::rc::Rc;
use std::time::Duration;

use mayhap::{Assemble as _, Digester, Filter, Fuse};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::{Block, Sample, absent, member_sample, members};
use mayhap_bench::measure::{Measurement, Race};
use mayhap_bench::peers::{Batched, Contender, Fuse as Xorf, OurFuse, OurRibbon, fill};
use mayhap_bench::report::{Report, count};

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![1_000_000, 10_000_000],
        urls: vec![1_000_000],
        rates: vec![],
        rounds: 5,
        only: vec![],
        record: false,
    })?;
    let mut report = Report::new("fuse", "sizes; ns per key, median (least–greatest)");
    let baseline = <Xorf as Contender<u64>>::NAME;
    let most = arguments.keys.iter().copied().max().unwrap_or(1000);
    report.add("8-bit fingerprints".into(), baseline, sizes(most)?);
    for &keys in &arguments.keys {
        let title = format!("{} u64 keys", count(keys));
        report.add(title, baseline, times::<u64>(keys, arguments.rounds)?);
    }
    for &keys in &arguments.urls {
        let title = format!("{} URL keys", count(keys));
        report.add(title, baseline, times::<[u8]>(keys, arguments.rounds)?);
    }
    report.close(arguments.record)
}

/// Sizes and first attempts, up to this many keys; as many builds each as take a million keys, at least 5.
fn sizes(most: u64) -> Result<Vec<Measurement>> {
    let mut measurements = Vec::new();
    for keys in (1..)
        .map(|power| 10_u64.pow(power))
        .take_while(|&keys| keys <= most)
    {
        let builds = (1_000_000 / keys).clamp(5, 1000);
        let (mut slots, mut first, mut wrong) = (0, 0, 0);
        for build in 0..builds {
            let set = members(build * keys..(build + 1) * keys);
            let filter = Fuse::build(Digester::default(), 8, set)?;
            slots = filter.shape().slots();
            // The lowest seven bits are the attempt.
            first += u64::from(filter.description().detail & 0x7F == 0);
            filter.contains_each(absent(0..100_000), |found| wrong += u64::from(found));
        }
        let per_key = slots as f64 / keys as f64;
        let name = format!("{} keys", count(keys));
        let mut add = |group, number| {
            measurements.push(Measurement::exact(&name, group, number));
        };
        add("slots", slots as f64);
        add("slots per key", per_key);
        add("bits per key", 8.0 * per_key);
        add("first attempts, %", 100.0 * first as f64 / builds as f64);
        add(
            "rate × 256",
            256.0 * wrong as f64 / (builds * 100_000) as f64,
        );
    }
    Ok(measurements)
}

/// Building and looking up, ours and xorf's, in turns; `Ribbon` at the same rate.
fn times<K: Sample + ?Sized>(keys: u64, rounds: usize) -> Result<Vec<Measurement>>
where
    Xorf: Contender<K>,
    OurFuse: Contender<K>,
    Batched<OurFuse>: Contender<K>,
    OurRibbon: Contender<K>,
    Batched<OurRibbon>: Contender<K>,
{
    let mut race = Race::new();
    enter::<K, Xorf>(&mut race, keys)?;
    enter::<K, OurFuse>(&mut race, keys)?;
    enter::<K, Batched<OurFuse>>(&mut race, keys)?;
    enter::<K, OurRibbon>(&mut race, keys)?;
    enter::<K, Batched<OurRibbon>>(&mut race, keys)?;
    Ok(race.run(rounds))
}

fn enter<K: Sample + ?Sized, C: Contender<K>>(race: &mut Race<'static>, keys: u64) -> Result<()> {
    let mut filter = C::with_capacity(keys, 0.01)?;
    fill(&mut filter, keys)?;
    let filter = Rc::new(filter);
    let hits = K::Block::of(member_sample(keys, K::PER_BLOCK));
    let misses = K::Block::of(absent(0..K::PER_BLOCK));
    for (group, block) in [("hit", hits), ("miss", misses)] {
        let (filter, asked) = (filter.clone(), block.count());
        race.enter(C::NAME, group, asked, move || filter.count(&block));
    }
    race.enter_timed(C::NAME, "build", keys, move || build::<K, C>(keys));
    Ok(())
}

/// How long a build takes, and the bits it makes.
fn build<K: Sample + ?Sized, C: Contender<K>>(keys: u64) -> (Duration, u64) {
    let mut filter = C::with_capacity(keys, 0.01).expect("as before");
    let time = fill(&mut filter, keys).expect("as before");
    (time, filter.bits())
}
