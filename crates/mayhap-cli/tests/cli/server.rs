use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use crate::env::{Outcome, TestEnv, numbers, spawn, wait};
use crate::signals::{mortal, send};
use mayhap_testing::server::{Server, engines, module};

/// A private server; `None`, said loudly, where there is no such program.
fn private() -> Option<Server> {
    engines().first().map(|engine| Server::start(engine, &[]))
}

/// The same with the server module; `None`, said loudly, where that is not built either.
fn with_module() -> Option<Server> {
    let Some(module) = module() else {
        eprintln!("SKIPPED: a filter in the server module, which is not built");
        return None;
    };
    let load = ["--loadmodule", &module];
    engines().first().map(|engine| Server::start(engine, &load))
}

#[test]
fn every_verb_takes_a_filter_on_a_server() {
    if let Some(server) = private() {
        every_verb_takes_a_filter(&server, "strings");
    }
}

#[test]
fn every_verb_takes_a_filter_in_the_module_of_a_server() {
    if let Some(server) = with_module() {
        every_verb_takes_a_filter(&server, "module");
    }
}

fn every_verb_takes_a_filter(server: &Server, home: &str) {
    let env = TestEnv::new();
    let (seen, copy) = (server.filter("seen"), server.filter("copy"));
    let run = |words: &str, input: &str| env.fed(words, input);

    run(&format!("check {seen}"), "a\n")
        .code(2)
        .says(&["no filter is named"]);
    run(&format!("new {seen} -n 1000 -p 1e-6 --expire 1h"), "").code(0);
    run(&format!("new {seen} -n 1000 -p 1e-6"), "")
        .code(2)
        .says(&["already"]);
    run(&format!("add {seen}"), "a\nb\na\n")
        .code(0)
        .says(&["3 keys, 2 of them new"]);
    run(&format!("check {seen}"), "a\nx\nb\n")
        .code(0)
        .stdout("a\nb\n");
    run(&format!("check -v {seen}"), "a\nx\n")
        .code(0)
        .stdout("x\n");
    run(&format!("check {seen}"), "x\n").code(1).stdout("");
    run(&format!("uniq --seen {seen}"), "b\nc\nd\nc\n")
        .code(0)
        .stdout("c\nd\n");
    let info = run(&format!("info --json {seen}"), "").code(0);
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).expect("JSON");
    assert_eq!(info["capacity"], 1000);
    assert_eq!(info["home"], home);
    let left = info["expires_in"].as_f64().expect("a number of seconds");
    assert!((1.0..=3600.0).contains(&left), "{left}");
    let text = run(&format!("info {seen}"), "").code(0);
    assert!(text.text().contains("expires   in "), "{}", text.text());
    assert!(text.text().contains(home), "{}", text.text());
    assert_eq!(info["keys"].as_f64().map(f64::round), Some(4.0));

    // To a file, to another name, and back: the same bits.
    run(&format!("convert {seen} file --to native"), "").code(0);
    run("check -c file", "a\nb\nc\nd\ne\n")
        .code(0)
        .stdout("4\n");
    run(&format!("convert file {copy} --to native"), "").code(0);
    run(&format!("convert {copy} again --to native"), "").code(0);
    assert_eq!(env.read("file"), env.read("again"));
    run(&format!("add {copy}"), "e\n").code(0);
    run(&format!("merge both {seen} {copy}"), "").code(0);
    run("check -c both", "a\nb\nc\nd\ne\n")
        .code(0)
        .stdout("5\n");
    run(&format!("verify {seen}"), "").code(0);

    // Past its capacity: the rate now is reported, and a stream refuses to lose more lines than promised.
    let more: String = (0..3000).map(|line| format!("line {line}\n")).collect();
    run(&format!("add {seen}"), &more).code(0);
    let info = run(&format!("info {seen}"), "").code(0);
    assert!(info.text().contains("past its capacity"), "{}", info.text());
    run(&format!("uniq --seen {seen}"), "z\n").fails_with(&["was made for 1 000"]);
}

/// `pull` and `push` with 10^5 keys, between files, strings and the module.
#[test]
fn a_filter_that_is_pulled_and_pushed_answers_alike() {
    let Some(server) = with_module() else {
        return;
    };
    let env = TestEnv::new();
    let run = |words: &str| env.mayhap(words).run();
    let lines = numbers(0..200_000);
    env.write("lines", &lines);
    env.shell("head -100000 lines > keys").run().code(0);
    let check = |filter: &str| run(&format!("check {filter} lines")).code(0).stdout;
    let home = |filter: &str| run(&format!("info --json {filter}")).code(0).json()["home"].clone();
    let [first, strings, again] = ["first", "strings", "again"].map(|name| server.filter(name));
    run(&format!("new {first} -n 100k -p 1%")).code(0);
    run(&format!("add {first} keys")).code(0);
    let expected = check(&first);

    run(&format!("pull {first} file")).code(0);
    run(&format!("push file {strings} --home strings --expire 1h")).code(0);
    run(&format!("push {strings} {again}")).code(0);

    assert!(
        expected.starts_with(&env.read("keys")),
        "all keys are found"
    );
    for filter in ["file", &strings, &again] {
        assert!(check(filter) == expected, "{filter}");
    }
    assert_eq!(home(&first), "module");
    assert_eq!(home(&strings), "strings");
    assert_eq!(home(&again), "module");

    // In its place it changes its home; nothing else is replaced unless that is asked for.
    run(&format!("push {strings} {strings} --home module")).code(0);
    assert_eq!(home(&strings), "module");
    assert!(check(&strings) == expected);
    for words in [format!("push file {again}"), format!("pull {again} lines")] {
        run(&words).fails_with(&["is there already", "--force"]);
    }
    run("new empty -n 100k -p 1%").code(0);
    run(&format!("push empty {again} --force")).code(0);
    run(&format!("check {again} keys")).code(1).stdout("");
    run(&format!("pull {first} file --force")).code(0);
    run(&format!("push file {again} --force --expire 1h")).fails_with(&["--expire"]);
    run(&format!("pull {first} other --home strings")).fails_with(&["--home", "other"]);
    run(&format!("push file {} --to guava", server.filter("guava"))).fails_with(&["--to"]);
    run("convert file other").fails_with(&["--to FORMAT"]);
    assert!(!env.path("other").exists());
}

/// The secret was asked for, though nothing is looked up.
#[test]
fn a_keyed_filter_on_a_server_is_shown_and_verified_without_its_secret() {
    let env = TestEnv::new();
    let Some(server) = private() else {
        return;
    };
    env.write_private("secret", &[7; 16]);
    let keyed = server.filter("keyed");
    let new = format!("new {keyed} -n1000 -p1% --secret-file=secret");
    env.ok(&new);
    let add = env.mayhap(&format!("add {keyed} --secret-file=secret"));
    add.input("a\nb\n").run().code(0);

    let info = env.info(&keyed);
    let verify = env.mayhap(&format!("verify {keyed}")).run();

    assert_eq!(info["scheme"], "siphash");
    assert_eq!(info["keys"].as_f64().map(f64::round), Some(2.0));
    verify
        .code(0)
        .stdout(format!("{keyed}: whole; a server keeps no checksums\n"));
    let check = env.fed(&format!("check {keyed}"), "a\n");
    check.fails_with(&["made with a secret"]);
    // Past its capacity it does not grow there.
    let uniq = format!("uniq --seen {keyed} --secret-file=secret --grow");
    env.fails(&uniq, &["--grow", "server"]);
}

#[test]
fn a_filter_on_a_server_is_replaced_only_on_demand_and_as_demanded() {
    let env = TestEnv::new();
    let Some(server) = private() else {
        return;
    };
    let seen = server.filter("seen");
    let run = |words: &str| env.fed(words, "a\n");
    env.filter("f", 1000, 1e-6, "b\n");
    let new = format!("new {seen} -n 1000 -p 1e-6");
    run(&new).code(0);
    run(&format!("add {seen}")).code(0);

    for words in [
        format!("convert f {seen} --to native"),
        format!("merge {seen} f"),
        format!("build {seen} --kind blocked -p 0.1"),
    ] {
        run(&words).fails_with(&["#seen is there already", "--force"]);
    }
    run(&format!("check {seen}")).code(0).stdout("a\n");
    run(&format!("add {seen} --area 3")).fails_with(&["--area", "on a server"]);
    run(&format!("add {seen} --grow")).fails_with(&["--grow", "on a server"]);
    run(&format!("uniq --seen {seen} --rate 5%")).fails_with(&["--rate 0.05"]);
    run(&format!("uniq --seen {seen} --rate 1e-6"))
        .code(0)
        .stdout("");
    env.mayhap(&new)
        .args("--label x")
        .run()
        .fails_with(&["--label"]);

    // One that is replaced keeps when it goes away; one that is made has what was asked for.
    for option in ["--expire=1h", "--spread"] {
        let run = env.mayhap(&new).args(&["--force", option]).run();
        run.fails_with(&[option.split('=').next().expect("a name"), "#seen"]);
    }
    run(&format!("check {seen}")).code(0);
    env.mayhap(&new).args("--force").run().code(0);
    run(&format!("check {seen}")).code(1);
    let flush = format!("redis-cli -p {} flushall", server.port);
    env.shell(&flush).run().code(0);
    env.mayhap(&new).args("--force --expire 1h").run().code(0);
    let times = format!(
        "redis-cli -p {port} keys '*' | while read key; do redis-cli -p {port} ttl \"$key\"; done",
        port = server.port
    );
    let times = env.shell(&times).run().code(0);
    let times: Vec<i64> = times
        .text()
        .lines()
        .map(|line| line.parse().expect("a number"))
        .collect();
    assert!(!times.is_empty());
    assert!(
        times.iter().all(|time| (1..=3600).contains(time)),
        "{times:?}"
    );
}

#[test]
fn of_two_streams_that_share_a_filter_one_prints_each_line() {
    let env = TestEnv::new();
    let Some(server) = private() else {
        return;
    };
    let seen = server.filter("seen");
    env.ok(&format!("new {seen} -n 100k -p 1e-9"));
    let lines: String = (0..20_000).map(|line| format!("line {line}\n")).collect();

    let outputs = thread::scope(|scope| {
        let runs = [0, 1].map(|_| {
            scope.spawn(|| {
                let run = env.mayhap(&format!("uniq --seen {seen}")).input(&lines);
                run.run().code(0).stdout
            })
        });
        runs.map(|run| run.join().expect("no panic"))
    });

    let mut printed: Vec<&[u8]> = outputs
        .iter()
        .flat_map(|output| output.split_inclusive(|byte| *byte == b'\n'))
        .collect();
    printed.sort();
    let mut expected: Vec<&[u8]> = lines
        .as_bytes()
        .split_inclusive(|byte| *byte == b'\n')
        .collect();
    expected.sort();
    assert_eq!(printed, expected);
}

#[test]
fn a_signal_leaves_on_a_server_exactly_what_was_printed() {
    let env = TestEnv::new();
    let Some(server) = private() else {
        return;
    };
    let seen = server.filter("seen");
    let words = format!("uniq --seen {seen} -n 1000 -p 1e-9");
    let mut child = spawn(&mut mortal(&env, &words).command);
    let mut input = child.stdin.take().expect("piped");
    input.write_all(b"a\nb\na\n").expect("it reads");
    let mut printed = [0; 4];
    let stdout = child.stdout.as_mut().expect("piped");
    stdout.read_exact(&mut printed).expect("two lines");

    send("TERM", &child);
    let outcome = Outcome::of(wait(child, "a stream"), "a stream".into());

    assert_eq!(&printed, b"a\nb\n");
    let words = format!("stopped by SIGTERM after 3 lines; {seen} holds them");
    outcome.code(143).stdout("").says(&[&words]);
    env.gives(&format!("check {seen}"), "a\nb\nc\n", "a\nb\n");
}

/// A way to a server on which the first answer to a transaction is lost: the connection closes instead.
/// Returns its port.
fn losing_an_answer(server: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    thread::spawn(move || {
        let mut was_lost = false;
        for client in listener.incoming().map_while(Result::ok) {
            let mut behind = TcpStream::connect(("127.0.0.1", server)).expect("it answers");
            let copy = |stream: &TcpStream| stream.try_clone().expect("a stream");
            let (mut questions, mut to) = (copy(&client), copy(&behind));
            thread::spawn(move || std::io::copy(&mut questions, &mut to));
            let mut client = client;
            let mut buffer = vec![0; 1 << 20];
            while let Ok(count) = behind.read(&mut buffer) {
                // Only what `EXEC` answers has arrays after something else.
                let answer = &buffer[..count];
                let lost = !was_lost && answer.windows(3).any(|bytes| bytes == b"\r\n*");
                was_lost |= lost;
                if count == 0 || lost || client.write_all(answer).is_err() {
                    break;
                }
            }
            let _ = client.shutdown(Shutdown::Both);
            let _ = behind.shutdown(Shutdown::Both);
        }
    });
    port
}

#[test]
fn lines_whose_answers_are_lost_are_printed_and_announced() {
    let env = TestEnv::new();
    let Some(server) = private() else {
        return;
    };
    let lines: String = (0..3000).map(|line| format!("line {line}\n")).collect();
    env.ok(&["new", &server.filter("seen"), "-n", "10000", "-p", "1e-9"]);
    let seen = format!("redis://127.0.0.1:{}#seen", losing_an_answer(server.port));

    let outcome = env.fed(&format!("uniq --seen {seen}"), &lines);

    outcome.code(0).stdout(&lines).says(&["answers about "]);
}

#[test]
fn a_server_that_is_not_there_is_named_and_its_password_is_not() {
    let env = TestEnv::new();
    env.mayhap("info redis://user:hush@127.0.0.1:1#seen")
        .run()
        .code(2)
        .says(&["127.0.0.1:1"]);
    let outcome = env.fed("check redis://user:hush@127.0.0.1:1#seen", "a\n");
    assert!(!outcome.stderr.contains("hush"), "{}", outcome.stderr);
}
