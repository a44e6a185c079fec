//! Writers that are killed (`kill -9`) at random moments.
//!
//! Runs 60 rounds, or `MAYHAP_KILL_ROUNDS`. The moments are drawn from a fixed seed, but
//! what a writer does at that moment depends on the machine: whatever it is, the file must be whole.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use mayhap::file::{Build, Mapped, load, save};
use mayhap::format::native::Metadata;
use mayhap::{AnyFilter, Blocked, Insert, Kind};
use tempfile::TempDir;

use super::child;
use mayhap_testing::random::Random;

fn rounds() -> u32 {
    let stated = std::env::var("MAYHAP_KILL_ROUNDS").ok();
    stated.map_or(60, |rounds| rounds.parse().expect("a number"))
}

/// The old filter and the new one, of several chunks.
fn old_and_new() -> [AnyFilter; 2] {
    [0, 1_000_000].map(|first| {
        let mut filter = Blocked::with_capacity(2_000_000, 0.01).expect("memory");
        filter.insert_all(first..first + 200_000_u32);
        filter.into()
    })
}

/// Waits until the child has begun its work, and a little longer, and kills it.
fn kill(mut child: Child, random: &mut Random, most_microseconds: u64) {
    let output = BufReader::new(child.stdout.take().expect("piped"));
    let mut lines = output.lines();
    let working = lines.any(|line| line.is_ok_and(|line| line.contains("working")));
    if !working {
        let stated = std::io::read_to_string(child.stderr.take().expect("piped"));
        panic!("the child never worked: {}", stated.expect("text"));
    }
    std::thread::sleep(Duration::from_micros(random.below(most_microseconds)));
    child.kill().expect("still there, for it never ends");
    let status = child.wait().expect("killed");
    assert_eq!(status.code(), None, "it ended by itself: {status}");
}

#[test]
fn child_that_saves_for_ever() {
    let Some(path) = child::file() else { return };
    let filters = old_and_new();
    println!("working");
    for filter in filters.iter().cycle() {
        save(&path, filter, &Metadata::default()).expect("saved");
    }
}

#[test]
fn a_writer_killed_at_any_moment_leaves_the_old_file_or_the_new_one() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("filter");
    let filters = old_and_new();
    save(&path, &filters[0], &Metadata::default()).expect("saved");
    let mut random = Random(9);
    let (mut seen, mut in_the_act) = ([0, 0], 0);
    for round in 0..rounds() {
        let mut command = child::command("faults::killed::child_that_saves_for_ever", &path);
        kill(command.spawn().expect("started"), &mut random, 30_000);

        let (filter, _) = load(&path, None).unwrap_or_else(|error| panic!("{round}: {error}"));
        let which = filters.iter().position(|one| *one == filter);
        seen[which.unwrap_or_else(|| panic!("round {round}: neither old nor new"))] += 1;
        let mapped = Mapped::open(&path, None).expect("whole");
        mapped.verify().expect("whole");
        in_the_act += u32::from(folder.path().join(".filter.mayhap-saving").exists());
    }
    save(&path, &filters[0], &Metadata::default()).expect("the dead hold no lock");
    let left = fs::read_dir(folder.path()).expect("there").count();
    assert_eq!(left, 1, "what the dead left is used up");
    assert!(in_the_act > 0, "no writer was killed in the act");
    println!(
        "killed writers: {} rounds, {in_the_act} in the act of writing, 0 torn; found one filter \
         {} times, the other {} times",
        rounds(),
        seen[0],
        seen[1]
    );
}

/// The keys of a build, and the keys between checkpoints.
const KEYS: u64 = 2_000_000;
const STEP: u64 = 20_000;

fn begin(path: &Path) -> Build {
    let description = Kind::Blocked.plan(KEYS, 0.01).expect("valid");
    match Build::resume(path, None) {
        Ok(build) => build,
        Err(_) => Build::create(path, &description).expect("room"),
    }
}

/// Builds to the end, again and again.
#[test]
fn child_that_builds_for_ever() {
    let Some(path) = child::file() else { return };
    println!("working");
    loop {
        let mut build = begin(&path);
        for first in (build.progress()..KEYS).step_by(STEP as usize) {
            for key in first..first + STEP {
                build.insert(&key);
            }
            build.checkpoint(first + STEP).expect("durable");
        }
        build.finish(&Metadata::default()).expect("finished");
    }
}

#[test]
fn a_build_killed_at_any_moment_is_resumed_where_it_was() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("filter");
    let mut expected = Blocked::with_capacity(KEYS, 0.01).expect("memory");
    expected.insert_all(0..KEYS);
    let expected = AnyFilter::from(expected);
    let mut random = Random(10);
    let (mut resumed, mut finished) = (0, 0);
    for round in 0..rounds().div_ceil(3) {
        let mut command = child::command("faults::killed::child_that_builds_for_ever", &path);
        kill(command.spawn().expect("started"), &mut random, 150_000);

        if let Ok(build) = Build::resume(&path, None) {
            let kept = (0..build.progress()).all(|key| build.contains(&key));
            assert!(kept, "round {round}: lost before {}", build.progress());
            resumed += u32::from(build.progress() > 0);
        }
        if path.exists() {
            let (filter, _) = load(&path, None).unwrap_or_else(|error| panic!("{round}: {error}"));
            assert!(
                filter == expected,
                "round {round}: finished, but not the filter"
            );
            finished += 1;
        }
    }
    let mut build = begin(&path);
    for key in build.progress()..KEYS {
        build.insert(&key);
    }
    build.finish(&Metadata::default()).expect("finished");
    assert!(load(&path, None).expect("whole").0 == expected);
    assert!(
        resumed > 0,
        "no build was killed between its first checkpoint and its end"
    );
    println!(
        "killed builds: {} rounds, {resumed} resumed past a checkpoint, {finished} found a \
         finished file, 0 keys lost",
        rounds().div_ceil(3)
    );
}
