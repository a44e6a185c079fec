//! Many programs on one server that is killed and started again: no line is lost, and one is printed twice
//! only where doubt was announced.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use crate::env::TestEnv;
use mayhap_testing::server::{Server, engines};
use mayhap_testing::turns::{random, rounds};

const CLIENTS: u64 = 8;

/// A private server that keeps what it acknowledged; `None`, said loudly, where there is no such program.
fn keeping() -> Option<Server> {
    let options = ["--appendonly", "yes", "--appendfsync", "always"];
    engines()
        .first()
        .map(|engine| Server::start(engine, &options))
}

/// The number of connected clients, this one included.
fn connections(server: &Server) -> u64 {
    let info: redis::RedisResult<redis::InfoDict> =
        redis::cmd("INFO").query(&mut server.connection());
    let info = info.expect("it answers");
    info.get("connected_clients").expect("a number")
}

/// The lines of a client: some are its own, most come to others as well, in another order.
fn lines(client: u64, count: u64) -> String {
    let step = 2 * client + 1;
    (0..count)
        .map(|line| match line % 4 {
            0 => format!("of {client}: {line}\n"),
            _ => format!("of all: {}\n", line * step % count),
        })
        .collect()
}

/// The number of lines that a client announced as doubtful.
fn announced(words: &str) -> usize {
    let Some((_, rest)) = words.split_once("answers about ") else {
        return 0;
    };
    let (number, _) = rest.split_once(" lines").expect("a number of lines");
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

#[test]
fn eight_programs_on_a_server_that_dies_lose_no_line() {
    let env = TestEnv::new();
    let kills = rounds(2);
    let count = 25_000 * kills;
    let Some(mut server) = keeping() else {
        return;
    };
    let seen = server.filter("seen");
    let capacity = (CLIENTS * count).to_string();
    let made = env.mayhap(&format!("new {seen} -n {capacity} -p 1e-9"));
    made.run().code(0);
    let words = format!("uniq --seen {seen}");

    let (outputs, killed) = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (env, words) = (&env, &words);
                scope.spawn(move || {
                    let outcome = env.fed(words, lines(client, count));
                    outcome.code(0)
                })
            })
            .collect();
        let mut random = random("eight_programs_on_a_server_that_dies_lose_no_line", 0);
        let mut killed = 0;
        // A client that has not reached a server yet does not wait for one.
        let connected = |server: &Server| connections(server) > CLIENTS;
        while !connected(&server) && clients.iter().all(|client| !client.is_finished()) {
            thread::sleep(Duration::from_millis(5));
        }
        while killed < kills && clients.iter().any(|client| !client.is_finished()) {
            thread::sleep(Duration::from_millis(100 + random.below(300)));
            server.restart();
            killed += 1;
        }
        let outputs: Vec<_> = clients
            .into_iter()
            .map(|client| client.join().expect("no panic"))
            .collect();
        (outputs, killed)
    });

    let mut printed: HashMap<&[u8], usize> = HashMap::new();
    for output in &outputs {
        for line in output.stdout.split_inclusive(|byte| *byte == b'\n') {
            *printed.entry(line).or_default() += 1;
        }
    }
    let inputs: Vec<String> = (0..CLIENTS).map(|client| lines(client, count)).collect();
    let missing = inputs
        .iter()
        .flat_map(|input| input.as_bytes().split_inclusive(|byte| *byte == b'\n'))
        .filter(|line| !printed.contains_key(line))
        .count();
    let again: usize = printed.values().map(|times| times - 1).sum();
    let doubtful: usize = outputs.iter().map(|output| announced(&output.stderr)).sum();
    println!(
        "{killed} kills under {CLIENTS} programs: {} distinct lines, {missing} lost, {again} printed \
         again of {doubtful} in doubt",
        printed.len()
    );
    assert_eq!(missing, 0, "lines were lost");
    assert!(again <= doubtful, "{again} repeats, {doubtful} in doubt");
}

#[test]
fn eight_programs_that_start_together_share_one_filter() {
    let env = TestEnv::new();
    let Some(server) = keeping() else {
        return;
    };
    for round in 0..rounds(3) {
        let seen = server.filter(&format!("seen-{round}"));
        let words = format!("uniq --seen {seen} -n 10000 -p 1e-9");
        let printed: usize = thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|_| {
                    scope.spawn(|| {
                        let outcome = env.fed(&words, "a\nb\na\nc\n");
                        outcome.code(0).stdout.len() / 2
                    })
                })
                .collect();
            let printed = clients.into_iter().map(|client| client.join());
            printed.map(|printed| printed.expect("no panic")).sum()
        });
        assert_eq!(printed, 3, "round {round}");
    }
}
