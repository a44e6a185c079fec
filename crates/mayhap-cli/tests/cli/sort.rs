use std::collections::{BTreeMap, BTreeSet};

use crate::env::TestEnv;
use crate::oracle::Random;

fn text(numbers: impl IntoIterator<Item = u64>) -> String {
    numbers
        .into_iter()
        .map(|number| format!("{number}\n"))
        .collect()
}

/// Numbers below a bound, in no order, with repeats.
fn numbers(seed: u64, count: usize, bound: u64) -> Vec<u64> {
    let mut random = Random(seed);
    (0..count).map(|_| random.below(bound)).collect()
}

#[test]
fn integers_of_any_size_are_sorted_and_deduplicated() {
    let env = TestEnv::new();
    let edges = [
        0,
        1,
        63,
        64,
        u32::MAX.into(),
        1 << 32,
        1 << 63,
        u64::MAX - 1,
        u64::MAX,
        0,
        64,
    ];
    let mixed = [numbers(1, 5000, 1000), numbers(2, 5000, u64::MAX)].concat();
    for input in [
        edges.to_vec(),
        numbers(3, 20_000, 30_000),
        numbers(4, 20_000, 1 << 27),
        numbers(5, 20_000, 1 << 28),
        numbers(6, 20_000, 1 << 40),
        mixed.clone(),
        mixed.into_iter().rev().collect(),
        vec![7],
        vec![],
    ] {
        let sorted: BTreeSet<u64> = input.iter().copied().collect();
        for threads in ["1", "2"] {
            let run = || {
                env.mayhap(&format!("sort --threads {threads}"))
                    .input(text(input.clone()))
            };
            run().run().code(0).stdout(text(sorted.clone()));
            let count = run().arg("--count").run();
            count.code(0).stdout(format!("{}\n", sorted.len()));
        }
    }
}

#[test]
fn integers_that_occur_once_and_those_that_occur_again_are_told_apart() {
    let env = TestEnv::new();
    for bound in [2000, 1 << 28, 1 << 40, u64::MAX] {
        // Every third number of the first file is in the second too, or again in the first.
        let mut first = numbers(20, 3000, bound);
        let again: Vec<u64> = first.iter().copied().step_by(3).collect();
        first.extend(again.iter().step_by(2));
        env.write("first", text(first.clone()));
        env.write("second", text(again.clone()));
        let mut times = BTreeMap::new();
        for number in first.into_iter().chain(again) {
            *times.entry(number).or_insert(0) += 1;
        }
        let with = |wanted: fn(i32) -> bool| {
            let chosen = times.iter().filter(move |(_, times)| wanted(**times));
            text(chosen.map(|(number, _)| *number))
        };
        for (option, expected) in [
            ("--once", with(|times| times == 1)),
            ("--twice", with(|times| times > 1)),
        ] {
            let run = env.mayhap(&["sort", option, "first", "second"]).run();
            run.code(0).stdout(expected);
        }
    }
    env.fails("sort --once --xor first", &["--once", "--xor"]);
}

#[test]
fn sets_are_joined_as_asked() {
    let env = TestEnv::new();
    // Dense with dense, compressed with compressed, and one with the other.
    for bounds in [
        [1000, 2000, 1500],
        [1 << 40, 1 << 40, 1 << 40],
        [1000, u64::MAX, 1 << 40],
    ] {
        let sets: Vec<BTreeSet<u64>> = (0..3)
            .map(|i| {
                // Common numbers, so that no result is empty.
                let mut set: BTreeSet<u64> = (0..10).collect();
                set.extend(numbers(10 + i as u64, 3000, bounds[i]));
                set
            })
            .collect();
        for (name, set) in ["a", "b", "c"].iter().zip(&sets) {
            env.write(name, text(set.iter().rev().copied()));
        }
        let [a, b, c] = &sets[..] else {
            unreachable!("three sets");
        };
        let or: BTreeSet<u64> = sets.iter().flatten().copied().collect();
        for (option, expected) in [
            ("--or", or.clone()),
            ("--and", &(a & b) & c),
            ("--minus", &(a - b) - c),
            ("--xor", &(a ^ b) ^ c),
        ] {
            let run = env.mayhap(&["sort", option, "a", "b", "c"]).run();
            run.code(0).stdout(text(expected.clone()));
            let run = env.mayhap(&["sort", "-c", option, "a", "b", "c"]).run();
            run.code(0).stdout(format!("{}\n", expected.len()));
        }
        env.ok("sort a b c").stdout(text(or));
        env.ok("sort --and a").stdout(text(a.clone()));
    }
    env.fails("sort --and --or a", &["--and", "--or"]);
}

#[test]
fn ten_million_integers_take_a_bit_each() {
    let env = TestEnv::new();
    let run = env.fed("sort --json --count --max 9999999", "9999999\n0\n");
    let summary = run.code(0).json();
    assert_eq!(
        (&summary["bytes"], &summary["store"]),
        (&1_250_000.into(), &"dense".into())
    );
}

/// It printed the summary alone.
#[test]
fn json_is_an_object_for_each_integer_and_then_a_summary() {
    let env = TestEnv::new();
    let input = "7\n18446744073709551615\n0\n7\n";
    let run = env.fed("sort --json", input).code(0);
    let objects: Vec<serde_json::Value> = run
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();

    let [integers @ .., summary] = &objects[..] else {
        panic!("nothing is printed");
    };
    let integers: Vec<_> = integers
        .iter()
        .map(|object| object["integer"].as_u64())
        .collect();
    assert_eq!(integers, [Some(0), Some(7), Some(u64::MAX)]);
    assert_eq!(
        (&summary["read"], &summary["distinct"]),
        (&4.into(), &3.into())
    );
}

#[test]
fn far_apart_integers_do_not_take_a_bit_for_each_between_them() {
    let env = TestEnv::new();
    let run = env.fed("sort --json --count", "18446744073709551615\n0\n");
    let summary = run.code(0).json();
    assert_eq!(summary["store"], "compressed");
    assert!(
        summary["bytes"].as_u64().expect("a number") < 1000,
        "{summary}"
    );
}

#[test]
fn a_line_that_is_no_number_is_named_with_its_file_and_number() {
    let env = TestEnv::new();
    env.write("good", "1\n2\n");
    for line in [
        "",
        " ",
        "x",
        "-1",
        "+1",
        "1.5",
        "1e3",
        "0x10",
        "1 2",
        "18446744073709551616",
        "99999999999999999999999",
    ] {
        env.write("bad", format!("1\n2\n{line}\n4\n"));
        env.fails(
            "sort good bad",
            &["bad: line 3 is not a non-negative integer"],
        );
    }
    env.fed("sort", b"\xFF\xFE\n")
        .fails_with(&["standard input: line 1"]);
    // The number counts through all blocks.
    let long = format!("{}x\n", text(0..200_000));
    env.fed("sort", long).fails_with(&["line 200001 is not"]);
    // Blanks and carriage returns around a number are no part of it.
    env.gives("sort", " 3\r\n 2 \n007\n", "2\n3\n7\n");
}

#[test]
fn max_is_a_promise() {
    let env = TestEnv::new();
    let sort = |max: &str, input: &str| env.fed(&format!("sort --max {max}"), input);

    sort("10", "10\n0\n").code(0).stdout("0\n10\n");
    sort("10", "3\n11\n").fails_with(&["line 2 is 11, which is above --max"]);
    sort("18446744073709551615", "1\n").fails_with(&["--max is at most"]);
    sort("1e18", "1\n").fails_with(&[]);
}
