//! Files that a real RedisBloom wrote (`tests/data/redisbloom`), and a master that sends what one sends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use crate::snapshot::{crc64, folder};
use crate::wire::Wire;
use crate::{engines, on_each, start};
use mayhap_testing::kill::DURABLE;
use mayhap_testing::server::wait;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/redisbloom")
}

/// The snapshot, under a version that every server reads: it has nothing that version 9 has not.
fn snapshot() -> Vec<u8> {
    let mut file = std::fs::read(data().join("bf-cf.rdb")).expect("a snapshot");
    file[..9].copy_from_slice(b"REDIS0009");
    let end = file.len() - 8;
    let sum = crc64(&file[..end]);
    file[end..].copy_from_slice(&sum.to_le_bytes());
    file
}

/// The commands of the log, as they are on the wire.
fn log() -> Vec<u8> {
    let path = data().join("appendonlydir/appendonly.aof.1.incr.aof");
    std::fs::read(path).expect("a log")
}

/// Returns whether all of these keys are in a filter, asked by `BF.MEXISTS` or `CF.MEXISTS`.
fn assert_found(wire: &mut Wire, ask: &str, letter: char, keys: impl Iterator<Item = u32>) {
    let keys: Vec<String> = keys.map(|key| format!("d-{letter}{key}")).collect();
    let found = wire.ask(&format!("{ask} {}", keys.join(" ")));
    let missing = found.matches(['0', 'f']).count();
    assert_eq!((missing, keys.is_empty()), (0, false), "{ask}: {found}");
}

/// Returns whether everything that RedisBloom saved is there.
fn assert_saved(wire: &mut Wire) {
    for (ask, letter, keys) in [
        ("BF.MEXISTS d:bf", 'a', 0..100),
        ("BF.MEXISTS d:grown", 'g', 0..1500),
        ("BF.MEXISTS d:fixed", 'f', 0..500),
        ("CF.MEXISTS d:cf", 'c', 0..200),
        ("CF.MEXISTS d:cf:grown", 'h', 40..900),
        ("CF.MEXISTS d:cf:one", 'o', 0..60),
    ] {
        assert_found(wire, ask, letter, keys);
    }
    for (name, keys) in [("d:bf", 99), ("d:grown", 1490), ("d:fixed", 500)] {
        assert_eq!(wire.ask(&format!("BF.CARD {name}")), format!(":{keys}"));
    }
    for (name, facts) in [
        (
            "d:cf",
            "buckets:512 filters:1 items:200 deletes:0 bktsize:2 expansion:1 max_iterations:20",
        ),
        (
            "d:cf:grown",
            "buckets:32 filters:4 items:860 deletes:40 bktsize:4 expansion:2 max_iterations:20",
        ),
        (
            "d:cf:one",
            "buckets:256 filters:2 items:63 deletes:0 bktsize:1 expansion:1 max_iterations:20",
        ),
    ] {
        let debug = wire.ask(&format!("CF.DEBUG {name}"));
        assert!(debug.contains(facts), "{name}: {debug}");
    }
    assert_eq!(wire.ask("GET d:string"), "$plain");
}

#[test]
fn a_snapshot_of_a_real_redisbloom_is_loaded_and_saved_again() {
    on_each(|_, mut wire| {
        let path = folder(&mut wire).join("dump.rdb");
        std::fs::write(path, snapshot()).expect("written");

        assert_eq!(wire.ask("DEBUG RELOAD NOSAVE"), "+OK");

        assert_saved(&mut wire);
        // The header that RedisBloom would take back: each number as it came, to the last digit of the bits per key.
        let dump = dumped(&mut wire, "BF.SCANDUMP", "d:grown");
        let mut header = 1490_u64.to_le_bytes().to_vec();
        header.extend([4_u32, 5, 2].map(u32::to_le_bytes).concat());
        for (bits, keys, rate, per_key, hashes, capacity) in [
            (
                2240_u64,
                200_u64,
                0.005_f64,
                11.027753418256411_f64,
                8_u32,
                200_u64,
            ),
            (4992, 400, 0.0025, 12.470448459145377, 9, 400),
            (11_136, 800, 0.00125, 13.91314350003434, 10, 800),
            (24_576, 90, 0.000625, 15.355838540923306, 11, 1600),
        ] {
            let numbers = [bits / 8, bits, keys, rate.to_bits(), per_key.to_bits()];
            header.extend(numbers.map(u64::to_le_bytes).concat());
            header.extend(hashes.to_le_bytes());
            header.extend(capacity.to_le_bytes());
            header.push(0);
        }
        assert_eq!(dump[..header.len()], header);
        // Saved as ours, and loaded again.
        assert_eq!(wire.ask("DEBUG RELOAD"), "+OK");
        assert_saved(&mut wire);
        for (name, letter, keys) in [("d:cf", 'c', 0..200), ("d:cf:grown", 'h', 40..900)] {
            for key in keys {
                let del = format!("CF.DEL {name} d-{letter}{key}");
                assert_eq!(wire.ask(&del), ":1", "{del}");
            }
            assert!(wire.ask(&format!("CF.DEBUG {name}")).contains("items:0 "));
        }
        for times in [4, 3, 2, 1, 0] {
            assert_eq!(wire.ask("CF.COUNT d:cf:one d-o0"), format!(":{times}"));
            wire.ask("CF.DEL d:cf:one d-o0");
        }
    });
}

/// A filter dumped in pieces, one after the other.
fn dumped(wire: &mut Wire, command: &str, name: &str) -> Vec<u8> {
    let (mut bytes, mut iterator) = (Vec::new(), 0);
    loop {
        let ask = iterator.to_string();
        wire.send(&[command.as_bytes(), name.as_bytes(), ask.as_bytes()]);
        let (next, piece) = wire.pair();
        if next == 0 {
            return bytes;
        }
        bytes.extend(piece);
        iterator = next;
    }
}

/// The keys of `d:cfs` that RedisBloom took, by a second program written from the description of the layout: 64 slots are full.
fn taken() -> impl Iterator<Item = u32> {
    let later = [60, 64, 68, 76, 78, 93];
    (0..48).chain(49..59).chain(later)
}

/// Returns whether the log of RedisBloom has made what it had made there.
fn assert_logged(wire: &mut Wire) {
    assert_found(wire, "BF.MEXISTS d:ns", 'n', 0..100);
    assert_eq!(wire.ask("BF.CARD d:ns"), ":100");
    assert_eq!(taken().count(), 64);
    assert_found(wire, "CF.MEXISTS d:cfs", 's', taken());
    let debug = wire.ask("CF.DEBUG d:cfs");
    assert!(debug.contains("filters:1 items:64 "), "{debug}");
}

#[test]
fn a_log_of_a_real_redisbloom_is_replayed_as_it_was_written() {
    for engine in engines() {
        // In the dialect of the server: RedisBloom's log may come to any.
        let mut server = start(&engine, &[], &DURABLE);
        let mut wire = Wire::new(server.port);
        let folder = folder(&mut wire).join("appendonlydir");
        server.kill();
        std::fs::remove_dir_all(&folder).expect("its own log");
        std::fs::create_dir(&folder).expect("a folder");
        for file in std::fs::read_dir(data().join("appendonlydir")).expect("files") {
            let file = file.expect("a file");
            std::fs::copy(file.path(), folder.join(file.file_name())).expect("copied");
        }

        server.restart();

        let mut wire = Wire::new(server.port);
        assert_logged(&mut wire);
        // Clients keep to the rule of this module, and what they do is replayed too.
        assert!(wire.ask("BF.MADD d:ns x y").starts_with('-'));
        assert_eq!(wire.ask("CF.INSERT d:cfs ITEMS x y"), "[:-1 :-1]");
        assert_eq!(wire.ask("CF.DEL d:cfs d-s0"), ":1");
        assert_eq!(wire.ask("CF.ADD d:cfs d-s0"), ":1");
        server.restart();
        assert_logged(&mut Wire::new(server.port));
    }
}

/// A master that sends a snapshot to the replica that comes, then commands.
fn master(snapshot: Vec<u8>, commands: Vec<u8>) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a replica");
        let mut input = BufReader::new(stream);
        loop {
            let words = words(&mut input);
            let first = words.first().map(|word| word.to_ascii_uppercase());
            let reply = match first.as_deref() {
                Some(b"PING") => b"+PONG\r\n".to_vec(),
                Some(b"PSYNC") => {
                    let begin = format!("+FULLRESYNC {:040} 1\r\n${}\r\n", 7, snapshot.len());
                    [begin.as_bytes(), &snapshot, &commands].concat()
                }
                // Until the replica ends.
                None => return,
                Some(_) if words[1] == b"ACK" => continue,
                Some(_) => b"+OK\r\n".to_vec(),
            };
            input.get_mut().write_all(&reply).expect("sent");
        }
    });
    port
}

/// The words of the next command; none when the link has ended.
fn words(input: &mut BufReader<TcpStream>) -> Vec<Vec<u8>> {
    let number = |input: &mut BufReader<TcpStream>| -> usize {
        let mut line = String::new();
        let _ = input.read_line(&mut line);
        line.get(1..)
            .map_or(0, |line| line.trim().parse().expect("a number"))
    };
    let mut words = Vec::new();
    for _ in 0..number(input) {
        let mut word = vec![0; number(input) + 2];
        input.read_exact(&mut word).expect("a word");
        word.truncate(word.len() - 2);
        words.push(word);
    }
    words
}

fn command(words: &str) -> Vec<u8> {
    let words: Vec<&str> = words.split(' ').collect();
    let mut bytes = format!("*{}\r\n", words.len());
    for word in words {
        bytes += &format!("${}\r\n{word}\r\n", word.len());
    }
    bytes.into_bytes()
}

/// The numbers of keys as words.
fn items(letter: char, keys: std::ops::Range<u32>) -> String {
    let keys: Vec<String> = keys.map(|key| format!("d-{letter}{key}")).collect();
    keys.join(" ")
}

#[test]
fn a_replica_of_redisbloom_has_its_keys_whatever_our_limits_are() {
    // Ours would refuse: a batch that does not fit, memory, expansions, and first letters in the other dialect.
    let more = [
        format!("BF.INSERT d:part C 5 NONSCALING I {}", items('p', 0..9)),
        "CF.RESERVE d:twice 2 BUCKETSIZE 1 EXPANSION 0".to_string(),
        "CF.ADD d:twice hello".to_string(),
        "CF.ADD d:twice hello".to_string(),
        "CF.ADD d:twice hello".to_string(),
        "CF.RESERVE d:cf:again 128 BUCKETSIZE 4 EXPANSION 2".to_string(),
        format!("CF.INSERT d:cf:again ITEMS {}", items('h', 0..900)),
        format!("CF.INSERTNX d:nx CAPACITY 64 ITEMS {}", items('x', 0..900)),
        format!("BF.MADD d:many {}", items('m', 0..900)),
        "MAYHAP.NEW d:new bloom CAPACITY 10000 RATE 0.01".to_string(),
        "MAYHAP.ADD d:new d-y0".to_string(),
    ];
    let removals = (0..40).map(|key| format!("CF.DEL d:cf:again d-h{key}"));
    let more = more
        .into_iter()
        .chain(removals)
        .chain(["SET done 1".into()]);
    let commands: Vec<u8> = more.flat_map(|words| command(&words)).collect();
    for engine in engines() {
        let port = master(snapshot(), [log(), commands.clone()].concat()).to_string();
        let limits = ["bf-memory-usage-limit", "1000", "CF_MAX_EXPANSIONS", "1"];
        let link = ["--replicaof", "127.0.0.1", &port];
        let server = start(&engine, &limits, &[&link[..], &DURABLE].concat());
        let mut wire = Wire::new(server.port);
        wait("the replica is in step", || {
            (wire.ask("GET done") == "$1").then_some(())
        });

        assert_saved(&mut wire);
        assert_logged(&mut wire);
        assert_found(&mut wire, "BF.MEXISTS d:part", 'p', 0..5);
        assert_eq!(wire.ask("BF.CARD d:part"), ":5");
        assert_eq!(wire.ask("CF.COUNT d:twice hello"), ":2");
        assert_found(&mut wire, "CF.MEXISTS d:nx", 'x', 0..900);
        assert_found(&mut wire, "BF.MEXISTS d:many", 'm', 0..900);
        assert_eq!(wire.ask("MAYHAP.CONTAINS d:new d-y0"), "[:1]");
        // The same commands have made the same bytes as in RedisBloom.
        let again = dumped(&mut wire, "CF.SCANDUMP", "d:cf:again");
        assert!(again == dumped(&mut wire, "CF.SCANDUMP", "d:cf:grown"));
        assert!(wire.ask("CF.ADD d:cf x").starts_with("-READONLY"));
    }
}
