use crate::foreign::Dump;
use crate::wire::Wire;
use crate::{engines, start};
use mayhap_testing::server::wait;

/// A number that `INFO` reports.
pub(crate) fn count(wire: &mut Wire, name: &str) -> u64 {
    let info = wire.ask("INFO everything");
    let value = info.lines().find_map(|line| line.strip_prefix(name));
    let value = value.and_then(|value| value.strip_prefix(':'));
    value.expect("a line").trim().parse().expect("a number")
}

/// The number of filters of each type at first, and the distance between those that stay.
const FILTERS: usize = 2000;
const KEPT: usize = 20;

/// Sends commands at once, and expects that none fails.
fn send_all(wire: &mut Wire, commands: &[String]) {
    for command in commands {
        let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
        wire.send(&words);
    }
    for command in commands {
        let reply = wire.reply();
        assert!(!reply.starts_with('-'), "{command}: {reply}");
    }
}

/// Small filters of every type, of which most are removed again: what is left is spread over pages that are nearly empty.
fn scatter(wire: &mut Wire) {
    Dump::grown().load(wire, "foreign");
    for index in 0..FILTERS {
        let commands = [
            format!("BF.RESERVE b{index} 0.01 200"),
            format!("BF.MADD b{index} 1 {index}"),
            format!("CF.RESERVE c{index} 200"),
            format!("CF.INSERT c{index} ITEMS 1 {index}"),
            format!("COPY foreign f{index}"),
            format!("CF.INSERT f{index} ITEMS 1 {index}"),
            format!("MAYHAP.NEW m{index} blocked CAPACITY 200 RATE 0.01"),
            format!("MAYHAP.ADD m{index} 1 {index}"),
        ];
        send_all(wire, &commands);
    }
    let removed = (0..FILTERS).filter(|index| !index.is_multiple_of(KEPT));
    let removed: Vec<String> = removed
        .map(|index| format!("DEL b{index} c{index} f{index} m{index}"))
        .collect();
    send_all(wire, &removed);
}

fn digests(wire: &mut Wire) -> Vec<String> {
    let names = (0..FILTERS).step_by(KEPT).flat_map(|index| {
        ["b", "c", "f", "m"].map(|family| format!("DEBUG DIGEST-VALUE {family}{index}"))
    });
    names.map(|ask| wire.ask(&ask)).collect()
}

#[test]
fn filters_are_moved_when_the_server_gathers_its_memory_and_answer_as_before() {
    for engine in engines() {
        let server = start(&engine, &["DIALECT", "redis"], &[]);
        let mut wire = Wire::new(server.port);
        if wire.ask("CONFIG SET activedefrag no") != "+OK"
            || wire.ask("CONFIG SET activedefrag yes") != "+OK"
        {
            eprintln!("SKIPPED: {} was built without defragmentation", engine.name);
            continue;
        }
        for setting in [
            "activedefrag no",
            "active-defrag-ignore-bytes 1",
            "active-defrag-threshold-lower 0",
            "active-defrag-cycle-min 50",
            "active-defrag-cycle-max 75",
        ] {
            assert_eq!(
                wire.ask(&format!("CONFIG SET {setting}")),
                "+OK",
                "{setting}"
            );
        }
        scatter(&mut wire);
        let before = digests(&mut wire);
        assert_eq!(count(&mut wire, "bf_bloom_defrag_hits"), 0);

        assert_eq!(wire.ask("CONFIG SET activedefrag yes"), "+OK");
        // 100 filters of each type are left, with two to four blocks each.
        wait("most are moved", || {
            (count(&mut wire, "bf_bloom_defrag_hits") > 300).then_some(())
        });

        assert_eq!(digests(&mut wire), before);
        assert!(count(&mut wire, "active_defrag_hits") > 300);
        for index in (0..FILTERS).step_by(KEPT) {
            assert_eq!(
                wire.ask(&format!("BF.MEXISTS b{index} 1 {index}")),
                "[:1 :1]"
            );
            for family in ["c", "f"] {
                assert_eq!(
                    wire.ask(&format!("CF.MEXISTS {family}{index} 1 {index}")),
                    "[:1 :1]"
                );
            }
            assert_eq!(
                wire.ask(&format!("MAYHAP.CONTAINS m{index} 1 {index}")),
                "[:1 :1]"
            );
            assert_eq!(wire.ask(&format!("BF.ADD b{index} new")), ":1");
            assert_eq!(wire.ask(&format!("CF.DEL c{index} 1")), ":1");
        }
        assert_eq!(wire.ask("FLUSHALL"), "+OK");
    }
}

#[test]
fn filters_stay_where_they_are_when_that_is_asked_for() {
    for engine in engines() {
        let server = start(&engine, &["DIALECT", "valkey"], &[]);
        let mut wire = Wire::new(server.port);
        if wire.ask("CONFIG SET activedefrag yes") != "+OK" {
            eprintln!("SKIPPED: {} was built without defragmentation", engine.name);
            continue;
        }
        assert_eq!(wire.ask("CONFIG SET activedefrag no"), "+OK");
        assert_eq!(wire.ask("CONFIG SET bf.bloom-defrag-enabled no"), "+OK");
        wire.ask("CONFIG SET active-defrag-ignore-bytes 1");
        wire.ask("CONFIG SET active-defrag-threshold-lower 0");
        scatter(&mut wire);
        assert_eq!(wire.ask("CONFIG SET activedefrag yes"), "+OK");
        // What is not the module's is moved meanwhile.
        wait("the server gathers", || {
            (count(&mut wire, "active_defrag_key_hits") > 30).then_some(())
        });
        assert_eq!(count(&mut wire, "bf_bloom_defrag_hits"), 0);
        assert_eq!(count(&mut wire, "bf_bloom_defrag_misses"), 0);
    }
}
