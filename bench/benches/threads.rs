//! The cost of sharing a filter for one thread, and the gain of more threads.
//!
//! All threads work on one filter, each on its own part of the keys; the time is from the first start to the last end,
//! and a cell is that by the keys of all threads together. The ratio is to a plain `Blocked` in one thread: 0.25 is four
//! times as fast. *Batches* hand over all keys at once, *singly* is one call per key. *insert* is of keys that are new,
//! *again* of keys that are there. The mutex is taken for 1024 keys at a time.

use std::rc::Rc;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use mayhap::{AtomicBlocked, Blocked, Filter, Insert};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::{Sample, absent, member_sample, members};
use mayhap_bench::measure::Race;
use mayhap_bench::report::{Report, count, percent};

/// The work of one thread on its part of the keys; it returns how many were found or new.
type Work<F> = fn(&F, &[u64]) -> u64;

/// The keys that are inserted while the mutex is held.
const PER_LOCK: usize = 1024;

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![1_000_000, 100_000_000],
        urls: vec![],
        rates: vec![0.01],
        rounds: 7,
        only: vec![],
        record: false,
    })?;
    let mut report = Report::new("threads", "ns per key of all threads together");
    for &rate in &arguments.rates {
        for &keys in &arguments.keys {
            let mut race = Race::new();
            enter_lookups(&mut race, &arguments, keys, rate)?;
            enter_inserts(&mut race, &arguments, keys, rate)?;
            let results = race.run(arguments.rounds);
            let title = format!("{} u64 keys, {}", count(keys), percent(rate));
            report.add(title, "Blocked", results);
        }
    }
    report.close(arguments.record)
}

/// 1, 2, 4 … as many as the machine has cores, but at least 2.
fn thread_counts() -> impl Iterator<Item = usize> {
    let cores = thread::available_parallelism()
        .map_or(2, usize::from)
        .max(2);
    (0..)
        .map(|power| 1 << power)
        .take_while(move |threads| *threads <= cores)
}

fn name(filter: &str, threads: usize) -> String {
    match threads {
        1 => format!("{filter}, 1 thread"),
        _ => format!("{filter}, {threads} threads"),
    }
}

/// Looks the keys up in batches.
fn look(filter: &impl Filter, keys: &[u64]) -> u64 {
    let mut found = 0;
    filter.contains_each(keys, |is_found| found += u64::from(is_found));
    found
}

/// Lookups of members and absent keys in a full filter.
fn enter_lookups(
    race: &mut Race<'static>,
    arguments: &Arguments,
    keys: u64,
    rate: f64,
) -> Result<()> {
    let mut plain = Blocked::with_capacity(keys, rate)?;
    plain.insert_all(members(0..keys));
    let shared = Rc::new(AtomicBlocked::from(plain.clone()));
    let plain = Rc::new(plain);
    let hits: Rc<[u64]> = member_sample(keys, u64::PER_BLOCK).collect();
    let misses: Rc<[u64]> = absent(0..u64::PER_BLOCK).collect();
    let of_plain: [Work<Blocked>; 2] = [look, |filter, keys| {
        keys.iter().filter(|key| filter.contains(*key)).count() as u64
    }];
    let of_shared: [Work<AtomicBlocked>; 2] = [look, |filter, keys| {
        keys.iter().filter(|key| filter.contains(*key)).count() as u64
    }];
    for (group, block, way) in [
        ("hit, batches", &hits, 0),
        ("miss, batches", &misses, 0),
        ("hit, singly", &hits, 1),
        ("miss, singly", &misses, 1),
    ] {
        if arguments.takes("Blocked") {
            let (filter, block) = (plain.clone(), block.clone());
            let pass = move || on_threads(1, &*filter, &block, of_plain[way]);
            race.enter_timed("Blocked", group, u64::PER_BLOCK, pass);
        }
        for threads in thread_counts() {
            let (filter, block) = (shared.clone(), block.clone());
            let pass = move || on_threads(threads, &*filter, &block, of_shared[way]);
            let name = name("AtomicBlocked", threads);
            race.enter_timed(&name, group, u64::PER_BLOCK, pass);
        }
    }
    Ok(())
}

/// Inserts into a filter that is half full, and so again at the start of every pass.
fn enter_inserts(
    race: &mut Race<'static>,
    arguments: &Arguments,
    keys: u64,
    rate: f64,
) -> Result<()> {
    let mut half = Blocked::with_capacity(keys, rate)?;
    half.insert_all(members(0..keys / 2));
    let half = Rc::new(half);
    // As many fresh keys as half the capacity, at most a block.
    let fresh = (keys / 2).min(u64::PER_BLOCK);
    let new: Rc<[u64]> = absent(0..fresh).collect();
    let there: Rc<[u64]> = member_sample(keys / 2, fresh).collect();

    let of_plain: [Work<Mutex<Blocked>>; 2] = [
        |filter, keys| {
            let mut new = 0;
            for keys in keys.chunks(PER_LOCK) {
                let mut filter = filter.lock().expect("no panic");
                filter.insert_each(keys, |is_new| new += u64::from(is_new));
            }
            new
        },
        // One thread alone: the lock is taken once.
        |filter, keys| {
            let mut filter = filter.lock().expect("no panic");
            keys.iter().filter(|key| filter.insert(*key)).count() as u64
        },
    ];
    let of_shared: [Work<AtomicBlocked>; 2] = [
        |filter, keys| {
            let mut new = 0;
            filter.insert_each(keys, |is_new| new += u64::from(is_new));
            new
        },
        |filter, keys| keys.iter().filter(|key| filter.insert(*key)).count() as u64,
    ];
    for (group, block, way) in [
        ("insert, batches", &new, 0),
        ("insert, singly", &new, 1),
        ("again, batches", &there, 0),
    ] {
        let entry = |threads: usize| (half.clone(), block.clone(), threads);
        if arguments.takes("Blocked") {
            let (half, block, _) = entry(1);
            // The whole part under one lock: as fast as no lock at all.
            let alone: Work<Mutex<Blocked>> = match way {
                0 => |filter, keys| {
                    let mut new = 0;
                    let mut filter = filter.lock().expect("no panic");
                    filter.insert_each(keys, |is_new| new += u64::from(is_new));
                    new
                },
                _ => of_plain[1],
            };
            let pass = move || on_threads(1, &Mutex::new(Blocked::clone(&half)), &block, alone);
            race.enter_timed("Blocked", group, fresh, pass);
        }
        for threads in thread_counts() {
            let (half, block, threads) = entry(threads);
            let pass = move || {
                let shared = AtomicBlocked::from(Blocked::clone(&half));
                on_threads(threads, &shared, &block, of_shared[way])
            };
            race.enter_timed(&name("AtomicBlocked", threads), group, fresh, pass);
        }
        for threads in thread_counts().filter(|_| way == 0 && arguments.takes("Mutex")) {
            let (half, block, threads) = entry(threads);
            let pass = move || {
                let shared = Mutex::new(Blocked::clone(&half));
                on_threads(threads, &shared, &block, of_plain[0])
            };
            race.enter_timed(&name("Mutex<Blocked>", threads), group, fresh, pass);
        }
    }
    Ok(())
}

/// Runs `work` on equal parts of the keys at once; the time from the first start to the last end.
fn on_threads<F: Sync>(threads: usize, filter: &F, keys: &[u64], work: Work<F>) -> (Duration, u64) {
    let part = keys.len().div_ceil(threads).max(1);
    let parts = keys.chunks(part);
    let ready = Barrier::new(parts.len());
    let worker = |keys| {
        ready.wait();
        let start = Instant::now();
        let sum = work(filter, keys);
        (start, Instant::now(), sum)
    };
    let done: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = parts.map(|keys| scope.spawn(|| worker(keys))).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, _>| worker.join().expect("no panic");
        workers.into_iter().map(join).collect()
    });
    let start = done.iter().map(|(start, ..)| *start).min();
    let end = done.iter().map(|(_, end, _)| *end).max();
    let time = end
        .zip(start)
        .map_or(Duration::ZERO, |(end, start)| end - start);
    (time, done.iter().map(|(.., sum)| sum).sum())
}
