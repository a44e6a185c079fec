//! Many processes write one file: none undoes what another was told is done.

use std::fs;
use std::io::Write as _;

use crate::env::{Run, TestEnv, spawn, wait};
use mayhap_testing::turns::{random, rounds};

/// Starts a process for each of some lines, all at once, and returns what came of it: exit code and output.
fn race(lines: &[String], command: impl Fn(usize) -> Run) -> Vec<(Option<i32>, String)> {
    let start = |(index, lines): (usize, &String)| {
        let mut child = spawn(&mut command(index).command);
        let mut pipe = child.stdin.take().expect("piped");
        // It may have ended already.
        let _ = pipe.write_all(lines.as_bytes());
        child
    };
    let children: Vec<_> = lines.iter().enumerate().map(start).collect();
    let ended = children.into_iter().map(|child| wait(child, "one of many"));
    ended
        .map(|output| {
            let text = String::from_utf8(output.stdout).expect("our own lines");
            (output.status.code(), text)
        })
        .collect()
}

#[test]
fn what_one_of_many_printed_as_new_is_in_the_filter() {
    let (mut acknowledged, mut refused) = (0, 0);
    for round in 0..rounds(30) {
        let env = TestEnv::new();
        let mut random = random("uniq", round);
        let lines: Vec<String> = (0..3).map(|_| format!("key {}\n", random.next())).collect();

        let ended = race(&lines, |_| env.mayhap("uniq --quiet --seen f"));

        for ((code, printed), line) in ended.iter().zip(&lines) {
            match code {
                Some(0) => assert_eq!(printed, line, "round {round}"),
                // Another had the lock: nothing was printed that is forgotten.
                code => assert_eq!((*code, &**printed), (Some(2), ""), "round {round}"),
            }
            acknowledged += printed.lines().count();
            refused += usize::from(printed.is_empty());
            if printed.is_empty() {
                continue;
            }
            env.gives("check f", printed, printed);
        }
        assert_eq!(env.names(), ["f"], "round {round}");
    }
    assert!(acknowledged > 0);
    println!("races: {acknowledged} keys acknowledged and kept, {refused} runs refused");
}

#[test]
fn a_filter_made_meanwhile_is_not_replaced() {
    for round in 0..rounds(10) {
        let env = TestEnv::new();
        // The first has the lock when it says so, and waits for keys.
        let mut first = spawn(&mut env.mayhap("build f -p 1e-9").command);
        let lock = env.path(".f.mayhap-lock");
        while !fs::read(&lock).is_ok_and(|text| !text.is_empty()) {
            std::thread::yield_now();
        }

        for words in [
            "new f -n10 -p0.1",
            "build f -p0.1",
            "uniq --seen f",
            "merge f f",
            "convert f f --to native",
        ] {
            let run = env.fed(words, "other\n");
            run.fails_with(&["f", "another program is writing this file"]);
        }
        let mut pipe = first.stdin.take().expect("piped");
        pipe.write_all(b"key\n").expect("it reads");
        drop(pipe);
        assert!(wait(first, "build").status.success(), "round {round}");
        let refused = env.fed("build f -p0.1", "other\n");
        refused.fails_with(&["f is there already"]);
        env.gives("check f", "key\nother\n", "key\n");
        assert_eq!(env.names(), ["f"]);
    }
}

#[test]
fn keys_that_were_added_outlast_everyone_who_rewrites_the_filter() {
    let mut added = 0;
    for round in 0..rounds(10) {
        let env = TestEnv::new();
        env.filter("f", 1000, 1e-9, "");
        let mut random = random("rewrite", round);
        let lines: Vec<String> = (0..6).map(|_| format!("key {}\n", random.next())).collect();

        let ended = race(&lines, |index| match index % 3 {
            0 => env.mayhap("add f"),
            1 => env.mayhap("convert f f --to native"),
            _ => env.mayhap("merge f f"),
        });

        for (index, ((code, _), line)) in ended.iter().zip(&lines).enumerate() {
            assert!(matches!(code, Some(0 | 2)), "round {round}: {code:?}");
            if index % 3 == 0 && *code == Some(0) {
                env.gives("check f", line, line);
                added += 1;
            }
        }
    }
    println!("rewrites: {added} keys added and kept");
}
