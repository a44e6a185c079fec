//! Many programs on one server that is killed and started again: no line is lost, and one is printed twice
//! only where doubt was announced.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::env::TestEnv;
use crate::turns::{random, rounds};

const CLIENTS: u64 = 8;

/// A private server that keeps what it acknowledged, on a port of its own.
struct Server {
    child: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    /// Starts one in a folder; `None`, said loudly, where there is no such program.
    fn start(folder: PathBuf) -> Option<Server> {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("bound").port();
        drop(free);
        let Ok(child) = command(port, &folder).spawn() else {
            eprintln!("SKIPPED: many programs on one server, for want of redis-server");
            return None;
        };
        let mut server = Server {
            child,
            port,
            folder,
        };
        server.wait();
        Some(server)
    }

    fn wait(&mut self) {
        let end = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            // Another program may have taken the port for a moment.
            if self.child.try_wait().expect("it was started").is_some() {
                self.child = command(self.port, &self.folder).spawn().expect("it starts");
            }
            assert!(Instant::now() < end, "the server does not answer");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// How many are connected, and this one who asks.
    fn clients(&self) -> u64 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it answers");
        stream.write_all(b"INFO clients\r\nQUIT\r\n").expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("answered");
        let count = text
            .lines()
            .find_map(|line| line.strip_prefix("connected_clients:"));
        count.expect("told").trim().parse().expect("a number")
    }

    /// Ends it without warning, and starts it again on what it had written.
    fn crash(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
        self.child = command(self.port, &self.folder).spawn().expect("it starts");
        self.wait();
    }
}

fn command(port: u16, folder: &Path) -> Command {
    let mut command = Command::new("redis-server");
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args([
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
        ])
        .arg("--dir")
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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
    let folder = tempfile::tempdir().expect("a folder");
    let Some(mut server) = Server::start(folder.path().to_owned()) else {
        return;
    };
    let seen = format!("redis://127.0.0.1:{}#seen", server.port);
    let capacity = (CLIENTS * count).to_string();
    let made = env.mayhap(&["new", &seen, "-n", &capacity, "-p", "1e-9"]);
    made.run().code(0);
    let words = ["uniq", "--seen", &seen];

    let (outputs, killed) = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (env, words) = (&env, &words);
                scope.spawn(move || {
                    let outcome = env.mayhap(words).input(lines(client, count)).run();
                    outcome.code(0)
                })
            })
            .collect();
        let mut random = random("eight_programs_on_a_server_that_dies_lose_no_line", 0);
        let mut killed = 0;
        // A client that has not reached a server yet does not wait for one.
        let connected = |server: &Server| server.clients() > CLIENTS;
        while !connected(&server) && clients.iter().all(|client| !client.is_finished()) {
            thread::sleep(Duration::from_millis(5));
        }
        while killed < kills && clients.iter().any(|client| !client.is_finished()) {
            thread::sleep(Duration::from_millis(100 + random.below(300)));
            server.crash();
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
    let folder = tempfile::tempdir().expect("a folder");
    let Some(server) = Server::start(folder.path().to_owned()) else {
        return;
    };
    for round in 0..rounds(3) {
        let seen = format!("redis://127.0.0.1:{}#seen-{round}", server.port);
        let words = ["uniq", "--seen", &seen, "-n", "10000", "-p", "1e-9"];
        let printed: usize = thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|_| {
                    scope.spawn(|| {
                        let outcome = env.mayhap(&words).input("a\nb\na\nc\n").run();
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
