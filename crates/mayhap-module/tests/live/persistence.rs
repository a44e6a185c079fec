use crate::foreign::Dump;
use crate::wire::Wire;
use crate::{engines, start};
use mayhap_testing::kill::DURABLE;
use mayhap_testing::server::{Engine, Server, wait};

/// Filters of both families, some of them grown, emptied or forgetful.
fn fill(wire: &mut Wire) {
    for command in [
        "BF.RESERVE grown 0.001 10",
        "BF.RESERVE fixed 0.01 1000 NONSCALING",
        "BF.RESERVE expanding 0.01 10 EXPANSION 1",
        "CF.RESERVE cuckoo 50",
        "CF.RESERVE buckets 50 BUCKETSIZE 4 EXPANSION 2",
        "MAYHAP.NEW counting counting CAPACITY 1000 RATE 0.01",
        "MAYHAP.NEW window windowed CAPACITY 1000 RATE 0.01 WINDOW 3600000",
        "MAYHAP.NEW lately windowed CAPACITY 30 RATE 0.01",
        "MAYHAP.NEW scalable scalable CAPACITY 10 RATE 0.01",
        "MAYHAP.NEW spatial spatial CAPACITY 100 RATE 0.01",
    ] {
        assert_eq!(wire.ask(command), "+OK", "{command}");
    }
    Dump::grown().load(wire, "foreign");
    for key in 0..300 {
        let commands = [
            format!("BF.ADD grown {key}"),
            format!("BF.MADD fixed {key} {}", key + 1),
            format!("BF.INSERT expanding ITEMS {key}"),
            format!("BF.ADD made{} {key}", key % 3),
            format!("CF.ADD cuckoo {key}"),
            format!("CF.INSERTNX buckets ITEMS {key} {}", key + 1),
            format!("CF.ADD cuckoo removed{key}"),
            format!("CF.DEL cuckoo removed{key}"),
            format!("CF.INSERT created{} ITEMS {key}", key % 3),
            format!("CF.INSERT foreign ITEMS {key} {key} again{key}"),
            format!("CF.DEL foreign again{key}"),
            format!("MAYHAP.ADD counting {key} {}", key + 1),
            format!("MAYHAP.ADD window {key}"),
            format!("MAYHAP.ADD lately {key}"),
            format!("MAYHAP.ADD scalable {key}"),
            format!("MAYHAP.AREA spatial SET {} {key}", key % 3 + 1),
            format!("MAYHAP.REMOVE counting {key}"),
        ];
        // All at once: the server waits for the disk once, and not after each.
        for command in &commands {
            let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
            wire.send(&words);
        }
        for command in &commands {
            let reply = wire.reply();
            assert!(!reply.starts_with('-'), "{command}: {reply}");
        }
    }
}

const NAMES: [&str; 17] = [
    "grown",
    "fixed",
    "expanding",
    "cuckoo",
    "buckets",
    "created0",
    "created1",
    "created2",
    "foreign",
    "made0",
    "made1",
    "made2",
    "counting",
    "window",
    "lately",
    "scalable",
    "spatial",
];

fn digests(wire: &mut Wire) -> Vec<(&'static str, String)> {
    let digest = |name| (name, wire.ask(&format!("DEBUG DIGEST-VALUE {name}")));
    NAMES.map(digest).to_vec()
}

fn assert_keys(wire: &mut Wire) {
    for key in 0..300 {
        for name in ["grown", "fixed", "expanding"] {
            assert_eq!(
                wire.ask(&format!("BF.EXISTS {name} {key}")),
                ":1",
                "{name} {key}"
            );
        }
        assert_eq!(wire.ask(&format!("BF.EXISTS made{} {key}", key % 3)), ":1");
        for name in [
            "cuckoo",
            "buckets",
            "foreign",
            &format!("created{}", key % 3),
        ] {
            assert_eq!(
                wire.ask(&format!("CF.EXISTS {name} {key}")),
                ":1",
                "{name} {key}"
            );
        }
        for name in ["window", "scalable"] {
            assert_eq!(
                wire.ask(&format!("MAYHAP.CONTAINS {name} {key}")),
                "[:1]",
                "{name} {key}"
            );
        }
    }
}

fn with_commands(engine: &Engine) -> Server {
    start(engine, &["DIALECT", "redis"], &DURABLE)
}

#[test]
fn no_acknowledged_key_is_lost_when_the_server_is_killed() {
    for engine in engines() {
        let mut server = with_commands(&engine);
        let mut wire = Wire::new(server.port);
        fill(&mut wire);
        let before = digests(&mut wire);

        server.restart();

        let mut wire = Wire::new(server.port);
        assert_keys(&mut wire);
        assert_eq!(digests(&mut wire), before);
    }
}

#[test]
fn no_acknowledged_key_is_lost_when_the_commands_were_rewritten() {
    // With a snapshot at the begin of the file, and as commands alone.
    for preamble in ["yes", "no"] {
        for engine in engines() {
            let mut server = with_commands(&engine);
            let mut wire = Wire::new(server.port);
            fill(&mut wire);
            let set = format!("CONFIG SET aof-use-rdb-preamble {preamble}");
            assert_eq!(wire.ask(&set), "+OK");
            let before = digests(&mut wire);
            assert!(wire.ask("BGREWRITEAOF").starts_with('+'));
            wait("the commands are rewritten", || {
                let info = wire.ask("INFO persistence");
                let is_done = info.contains("aof_rewrite_in_progress:0")
                    && info.contains("aof_rewrite_scheduled:0");
                is_done.then(|| assert!(info.contains("aof_last_bgrewrite_status:ok")))
            });
            wire.ask("BF.ADD grown after");

            server.restart();

            let mut wire = Wire::new(server.port);
            assert_eq!(wire.ask("BF.EXISTS grown after"), ":1");
            assert_keys(&mut wire);
            assert_eq!(digests(&mut wire)[1..], before[1..]);
        }
    }
}

#[test]
fn snapshots_hold_every_filter() {
    for engine in engines() {
        let mut server = start(&engine, &["DIALECT", "redis"], &[]);
        let mut wire = Wire::new(server.port);
        fill(&mut wire);
        let before = digests(&mut wire);
        assert_eq!(wire.ask("SAVE"), "+OK");

        server.restart();

        let mut wire = Wire::new(server.port);
        assert_keys(&mut wire);
        assert_eq!(digests(&mut wire), before);
    }
}

#[test]
fn replicas_have_what_their_master_has_whatever_their_settings() {
    for engine in engines() {
        let master = start(
            &engine,
            &["DIALECT", "redis"],
            &["--repl-diskless-sync-delay", "0"],
        );
        let mut wire = Wire::new(master.port);
        wire.ask("BF.ADD early a");
        let port = master.port.to_string();
        let sizes = ["INITIAL_SIZE", "7", "ERROR_RATE", "0.2"];
        let expansions = ["CF_MAX_EXPANSIONS", "1"];
        let arguments = [&["DIALECT", "redis"], &sizes[..], &expansions].concat();
        let replica = start(&engine, &arguments, &["--replicaof", "127.0.0.1", &port]);
        let mut copy = Wire::new(replica.port);
        wait("the replica is in step", || {
            let info = copy.ask("INFO replication");
            info.contains("master_link_status:up").then_some(())
        });

        fill(&mut wire);
        wire.ask("COPY grown copied");
        wire.ask("CF.RESERVE fixed_cuckoo 10 EXPANSION 0");
        let many: Vec<String> = (0..100).map(|key| key.to_string()).collect();
        let many = format!("CF.INSERT fixed_cuckoo ITEMS {}", many.join(" "));
        assert!(wire.ask(&many).contains(":-1"));
        wire.ask("CF.COMPACT cuckoo");
        wire.ask("BF.RESERVE full 0.01 2 NONSCALING");
        wire.ask("BF.MADD full a b");
        assert!(wire.ask("BF.MADD full c d").starts_with('-'));
        wire.ask("MAYHAP.NEW other counting CAPACITY 1000 RATE 0.01");
        wire.ask("MAYHAP.MERGE other counting");
        assert_eq!(wire.ask("WAIT 1 30000"), ":1");

        assert_eq!(digests(&mut copy), digests(&mut wire));
        for name in ["early", "copied", "full", "other", "fixed_cuckoo"] {
            let ask = format!("DEBUG DIGEST-VALUE {name}");
            assert_eq!(copy.ask(&ask), wire.ask(&ask), "{name}");
        }
        assert_keys(&mut copy);
        for command in [
            "BF.ADD grown x",
            "MAYHAP.SETAREA spatial 1 x",
            "MAYHAP.AREA spatial SET 1 x",
        ] {
            assert!(copy.ask(command).starts_with("-READONLY"), "{command}");
        }
        let ask = "MAYHAP.AREA spatial GET 1 2 x";
        assert_eq!(copy.ask(ask), wire.ask(ask));
        // None of the commands that came from the master failed.
        let stats = copy.ask("INFO commandstats");
        for line in stats.lines().filter(|line| {
            ["bf.", "cf.", "mayhap."]
                .iter()
                .any(|family| line.contains(family))
        }) {
            let own = [
                "bf.exists",
                "bf.add",
                "cf.exists",
                "mayhap.area",
                "mayhap.contains",
            ];
            let is_own = own.iter().any(|name| line.contains(name));
            assert!(is_own || line.contains("failed_calls=0"), "{line}");
        }
    }
}

#[test]
fn keys_that_were_there_already_are_not_sent_to_replicas() {
    for engine in engines() {
        let server = with_commands(&engine);
        let mut wire = Wire::new(server.port);
        let size = |wire: &mut Wire| {
            let info = wire.ask("INFO persistence");
            let line = info
                .lines()
                .find_map(|line| line.strip_prefix("aof_current_size:"));
            line.expect("a line").trim().to_string()
        };
        wire.ask("BF.MADD f a b c");
        let before = size(&mut wire);
        wire.ask("BF.MADD f a b c");
        wire.ask("BF.ADD f a");
        wire.ask("BF.EXISTS f a");
        assert_eq!(size(&mut wire), before);
        wire.ask("BF.ADD f d");
        assert_ne!(size(&mut wire), before);
    }
}
