//! The commands on a server in memory: laws that hold for all of them.

mod fake;

use fake::{Fake, Reply, Word, words};
use mayhap_commands::bf::Chain;
use mayhap_commands::cf::Nest;
use mayhap_commands::native::Native;
use mayhap_commands::{Memory, Value};

/// Numbers that look random, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % most
    }

    fn items(&mut self) -> String {
        let count = 1 + self.below(60);
        let item = |_| format!("k{}", self.below(2000));
        (0..count).map(item).collect::<Vec<_>>().join(" ")
    }
}

/// A command on one of few keys.
fn any_command(random: &mut Random) -> String {
    let (items, kind) = (random.items(), random.below(3));
    let item = format!("k{}", random.below(2000));
    match random.below(16) {
        0 => format!(
            "BF.RESERVE b{kind} 0.01 {} EXPANSION {}",
            100 << kind,
            1 + kind
        ),
        1 => format!("BF.RESERVE b{kind} 0.001 500 NONSCALING"),
        2 => format!("BF.ADD b{kind} {item}"),
        3 => format!("BF.MADD b{kind} {items}"),
        4 => format!("BF.INSERT b{kind} CAPACITY 300 ERROR 0.02 ITEMS {items}"),
        5 => format!(
            "CF.RESERVE c{kind} 400 BUCKETSIZE {} EXPANSION {kind}",
            1 + kind
        ),
        6 => format!("CF.RESERVE c{kind} 400 EXPANSION {kind} LAYOUT redisbloom"),
        7 => format!("CF.ADD c{kind} {item}"),
        8 => format!("CF.INSERT c{kind} ITEMS {items}"),
        9 => format!("CF.INSERTNX c{kind} CAPACITY 300 ITEMS {items}"),
        10 => format!("CF.DEL c{kind} {item}"),
        11 => format!("CF.COMPACT c{kind}"),
        12 => {
            let name = ["bloom", "counting", "windowed"][kind as usize];
            format!("MAYHAP.NEW m{kind} {name} CAPACITY 1000")
        }
        13 => format!("MAYHAP.ADD m{kind} {items}"),
        14 => format!("MAYHAP.REMOVE m{kind} {items}"),
        _ => format!("MAYHAP.ROTATE m{kind}"),
    }
}

/// The bytes of all values.
fn all_bytes(server: &Fake) -> Vec<Option<Vec<u8>>> {
    let numbers = 0..3;
    let values = numbers.flat_map(|number| {
        [
            server.bytes_of::<Chain>(&format!("b{number}")),
            server.bytes_of::<Nest>(&format!("c{number}")),
            server.bytes_of::<Native>(&format!("m{number}")),
        ]
    });
    values.collect()
}

#[test]
fn a_replica_that_does_what_is_replicated_has_equal_filters() {
    for seed in 0..6 {
        let mut random = Random(seed);
        let (master, replica) = (Fake::default(), Fake::obeying());
        for _ in 0..400 {
            master.run_line(&any_command(&mut random));
            for command in master.replicated.take() {
                let reply = replica.run_words(&command);
                assert!(!matches!(reply[..], [Reply::Error(_)]), "{reply:?}");
            }
        }
        let bytes = all_bytes(&master);
        assert!(bytes.iter().flatten().count() > 6);
        assert!(bytes == all_bytes(&replica), "seed {seed}");
    }
}

#[test]
fn a_command_that_is_an_error_changes_nothing_and_is_not_replicated() {
    let mut random = Random(7);
    let server = Fake::default();
    let mut errors = 0;
    for _ in 0..600 {
        let before = all_bytes(&server);
        let reply = server.run_line(&any_command(&mut random));
        let replicated = server.replicated.take();
        if matches!(reply[..], [Reply::Error(_)]) {
            errors += 1;
            assert!(replicated.is_empty());
            assert!(all_bytes(&server) == before, "{reply:?}");
        }
    }
    assert!(errors > 100, "{errors}");
}

/// Runs the commands of a rewritten log, and compares what they make.
fn holds_after_rewriting<V: Value>(server: &Fake, name: &str) {
    let copy = Fake::obeying();
    for command in server.log_of::<V>(name) {
        copy.run_words(&command);
    }
    assert!(server.bytes_of::<V>(name) == copy.bytes_of::<V>(name));
}

#[test]
fn a_rewritten_log_makes_equal_filters() {
    let server = Fake::default();
    let items: Vec<String> = (0..3000).map(|key| format!("k{key}")).collect();
    let items = items.join(" ");
    server.run_line(&format!("BF.MADD b {items}"));
    server.run_line(&format!("CF.INSERT c ITEMS {items}"));
    server.run_line("CF.RESERVE r 1000 LAYOUT redisbloom");
    server.run_line(&format!("CF.INSERT r ITEMS {items}"));
    server.run_line("MAYHAP.NEW m windowed CAPACITY 1000 WINDOW 60000");
    server.run_line(&format!("MAYHAP.ADD m {items}"));

    holds_after_rewriting::<Chain>(&server, "b");
    holds_after_rewriting::<Nest>(&server, "c");
    holds_after_rewriting::<Nest>(&server, "r");
    holds_after_rewriting::<Native>(&server, "m");
}

#[test]
fn a_command_with_too_few_or_too_many_words_is_refused() {
    let server = Fake::default();
    for line in [
        "BF.ADD b",
        "BF.ADD b one two",
        "BF.MADD b",
        "BF.RESERVE b 0.01",
        "CF.ADD c",
        "CF.INSERT c ITEMS",
        "CF.DEL c one two",
        "MAYHAP.ADD m",
        "MAYHAP.NEW m",
        "MAYHAP.INFO m more",
    ] {
        let reply = server.run_line(line);
        let expected = Reply::Error("wrong number of arguments".into());
        assert_eq!(reply, [expected], "{line}");
    }
}

#[test]
fn a_filter_larger_than_the_server_allows_is_refused_unless_it_was_accepted_elsewhere() {
    let memory = Memory {
        machine: 1 << 30,
        most: 1 << 21,
        used: 1 << 20,
    };
    let large = words("BF.RESERVE b 0.01 4000000");
    let reply = Fake::default().with(memory).run_words(&large);
    assert!(matches!(reply[..], [Reply::Error(_)]), "{reply:?}");

    let replica = Fake::obeying().with(memory);
    assert_eq!(replica.run_words(&large), [Reply::Simple("OK".into())]);
}

#[test]
fn an_area_is_set_by_the_command_that_writes() {
    let server = Fake::default();
    server.run_line("MAYHAP.NEW m spatial CAPACITY 1000");
    assert_eq!(
        server.run_line("MAYHAP.AREA m SET 3 a b"),
        [Reply::Array(2), Reply::Null, Reply::Null]
    );
    assert_eq!(
        server.run_line("MAYHAP.AREA m GET a"),
        [Reply::Array(1), Reply::Integer(3)]
    );
    let replicated = server.replicated.take();
    let last: &Vec<Word> = replicated.last().expect("it writes");
    assert_eq!(last[..], words("mayhap.setarea m 3 a b"));
}

#[test]
fn a_window_by_time_forgets_on_a_replica_when_it_does_on_its_master() {
    let (master, replica) = (Fake::default(), Fake::obeying());
    let has = |server: &Fake| server.run_line("MAYHAP.CONTAINS m a")[1] == Reply::Boolean(true);
    master.run_line("MAYHAP.NEW m windowed CAPACITY 1000 WINDOW 3000");
    master.run_line("MAYHAP.ADD m a");
    for step in 1..=5 {
        master.clock.set(1000 * step);
        master.run_line(&format!("MAYHAP.ADD m b{step}"));
        for command in master.replicated.take() {
            replica.run_words(&command);
        }
        assert_eq!(has(&master), step <= 3, "{step}");
        assert_eq!(has(&replica), has(&master), "{step}");
    }
}
