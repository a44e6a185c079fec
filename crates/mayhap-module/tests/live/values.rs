use crate::defrag::count;
use crate::snapshot::folder;
use crate::wire::Wire;
use crate::{engines, on_each, start};
use mayhap_testing::server::{Server, wait};

#[test]
fn a_dump_in_pieces_makes_the_same_filter() {
    on_each(|_, mut wire| {
        wire.ask("BF.RESERVE f 0.001 1000");
        for key in 0..3000 {
            wire.ask(&format!("BF.ADD f {key}"));
        }
        let mut iterator = "0".to_string();
        let mut pieces = 0;
        loop {
            wire.send(&[b"BF.SCANDUMP", b"f", iterator.as_bytes()]);
            let (next, piece) = wire.pair();
            if next == 0 {
                assert!(piece.is_empty());
                break;
            }
            iterator = next.to_string();
            let load = format!("BF.LOADCHUNK g {iterator}");
            assert_eq!(wire.ask_with(&load, &[&piece]), "+OK");
            pieces += 1;
            if pieces == 1 {
                // Only the header is there: an empty filter that can be saved.
                assert_eq!(wire.ask("DEBUG RELOAD"), "+OK");
                assert_eq!(wire.ask("BF.EXISTS g 1"), ":0");
            }
            let crossing = wire.ask_with("BF.LOADCHUNK g 999999999", &[&piece]);
            if pieces > 1 {
                assert_eq!(crossing, "-ERR invalid offset - no link found");
            }
        }
        assert!(pieces > 2, "a header and a piece for each layer");
        assert_eq!(
            wire.ask("DEBUG DIGEST-VALUE f"),
            wire.ask("DEBUG DIGEST-VALUE g")
        );
        assert_eq!(wire.ask("BF.DEBUG f"), wire.ask("BF.DEBUG g"));
    });
}

/// The bytes of the server's memory that are in use now: `INFO` has those of a moment ago.
#[cfg(target_os = "linux")]
fn resident(wire: &mut Wire) -> u64 {
    let path = format!("/proc/{}/statm", count(wire, "process_id"));
    let sizes = std::fs::read_to_string(path).expect("a running process");
    let pages = sizes.split(' ').nth(1).expect("a second number");
    pages.parse::<u64>().expect("a number") * 4096
}

#[cfg(target_os = "linux")]
#[test]
fn filters_of_a_billion_keys_are_counted_and_take_no_memory_until_keys_come() {
    on_each(|_, mut wire| {
        let before = resident(&mut wire);
        for reserve in [
            "BF.RESERVE b 0.01 1000000000",
            "CF.RESERVE c 1000000000",
            "MAYHAP.NEW m blocked CAPACITY 1000000000 RATE 0.01",
        ] {
            assert_eq!(wire.ask(reserve), "+OK");
        }
        // RedisBloom's header of a cuckoo filter with 2^29 buckets of two slots.
        let numbers = [0, 1 << 29, 0, 1_u64].map(u64::to_le_bytes);
        let header = [
            numbers.concat(),
            [2, 20, 1_u16].map(u16::to_le_bytes).concat(),
        ];
        assert_eq!(
            wire.ask_with("CF.LOADCHUNK h 1", &[&header.concat()]),
            "+OK"
        );

        assert!(count(&mut wire, "used_memory") > 4_000_000_000);
        let taken = resident(&mut wire) - before;
        assert!(taken < 16 << 20, "{taken} bytes");
        for (insert, reply) in [
            ("BF.ADD b a", ":1"),
            ("CF.ADD c a", ":1"),
            ("CF.ADD h a", ":1"),
        ] {
            assert_eq!(wire.ask(insert), reply);
        }
        assert_eq!(wire.ask("BF.MEXISTS b a b"), "[:1 :0]");
        assert_eq!(wire.ask("CF.MEXISTS c a b"), "[:1 :0]");
        assert_eq!(wire.ask("CF.MEXISTS h a b"), "[:1 :0]");
        wire.ask("FLUSHALL");
    });
}

#[test]
fn a_filter_in_memory_that_another_has_used_is_empty() {
    on_each(|_, mut wire| {
        let keys: Vec<String> = (0..20_000).map(|key| key.to_string()).collect();
        let keys = keys.join(" ");
        for size in [10_000_000, 1_000_000, 200_000, 10_000_000] {
            assert_eq!(wire.ask(&format!("BF.RESERVE f 0.000001 {size}")), "+OK");
            let found = wire.ask(&format!("BF.MEXISTS f {keys}"));
            assert!(!found.contains(":1"), "{size}");
            let new = wire.ask(&format!("BF.MADD f {keys}"));
            assert!(!new.contains(":0"), "{size}");
            assert_eq!(wire.ask("DEL f"), ":1");
        }
    });
}

#[test]
fn a_small_filter_takes_little_memory_also_after_a_restart() {
    const FILTERS: u64 = 2000;
    on_each(|_, mut wire| {
        let usage = |wire: &mut Wire, key: &str| -> u64 {
            let usage = wire.ask(&format!("MEMORY USAGE {key}"));
            usage[1..].parse().expect("a number")
        };
        for (add, exists, most) in [("BF.ADD", "BF.EXISTS", 330), ("CF.ADD", "CF.EXISTS", 1150)] {
            wire.ask("FLUSHALL SYNC");
            let before = count(&mut wire, "used_memory");
            for user in 0..FILTERS {
                assert_eq!(wire.ask(&format!("{add} user:{user} a")), ":1");
            }
            let one = usage(&mut wire, "user:7");
            assert!(one <= most, "{add}: {one}");
            // The table of keys is the server's.
            let each = (count(&mut wire, "used_memory") - before) / FILTERS;
            println!("{add}: {one} bytes by MEMORY USAGE, {each} of used_memory");
            assert!(each <= most + 32, "{add}: {each}");
            assert_eq!(wire.ask("DEBUG RELOAD"), "+OK");
            assert_eq!(usage(&mut wire, "user:7"), one);
            assert_eq!(wire.ask(&format!("{exists} user:7 a")), ":1");
            // Filled, it answers as before.
            for key in 0..90 {
                wire.ask(&format!("{add} user:7 {key}"));
            }
            let missed = (0..90).find(|key| wire.ask(&format!("{exists} user:7 {key}")) != ":1");
            assert_eq!(missed, None, "{add}");
        }
    });
}

/// A dump as RedisBloom makes it of a filter of 100 keys at 0.01 that has the key `hello`: header and bits.
pub(crate) fn foreign_dump() -> (Vec<u8>, Vec<u8>) {
    let bits_per_key = -(0.005_f64.ln()) / 0.480_453_013_918_201;
    let mut header = 1_u64.to_le_bytes().to_vec();
    header.extend([1_u32, 5, 2].map(u32::to_le_bytes).concat());
    let numbers = [144, 1152, 1, 0.005_f64.to_bits(), bits_per_key.to_bits()];
    header.extend(numbers.map(u64::to_le_bytes).concat());
    header.extend(8_u32.to_le_bytes());
    header.extend(100_u64.to_le_bytes());
    header.push(0);
    let mut bits = vec![0; 144];
    let shape = mayhap::Shape::new(1152, 8).expect("valid");
    for position in mayhap::Scheme::RedisBloom.positions(b"hello", shape) {
        bits[position as usize / 8] |= 1 << (position % 8);
    }
    (header, bits)
}

#[test]
fn a_dump_of_redisbloom_is_taken_and_given_back() {
    on_each(|_, mut wire| {
        let (header, bits) = foreign_dump();
        assert_eq!(wire.ask_with("BF.LOADCHUNK f 1", &[&header]), "+OK");
        assert_eq!(wire.ask_with("BF.LOADCHUNK f 145", &[&bits]), "+OK");
        assert_eq!(wire.ask("BF.MEXISTS f hello absent"), "[:1 :0]");
        assert_eq!(wire.ask("BF.CARD f"), ":1");
        assert_eq!(wire.ask("BF.INFO f CAPACITY"), "[:100]");
        assert_eq!(wire.ask("DEBUG RELOAD"), "+OK");
        wire.send(&[b"BF.SCANDUMP", b"f", b"0"]);
        assert_eq!(wire.pair(), (1, header));
        wire.send(&[b"BF.SCANDUMP", b"f", b"1"]);
        assert_eq!(wire.pair(), (145, bits.clone()));
        wire.send(&[b"BF.SCANDUMP", b"f", b"145"]);
        assert_eq!(wire.pair(), (0, Vec::new()));
        let too_far = wire.ask_with("BF.LOADCHUNK f 146", &[&bits]);
        assert_eq!(too_far, "-ERR invalid chunk - Too big for current filter");
        for key in 0..500 {
            wire.ask(&format!("BF.ADD f {key}"));
            assert_eq!(wire.ask(&format!("BF.EXISTS f {key}")), ":1");
        }
        assert_eq!(wire.ask("BF.EXISTS f hello"), ":1");
        assert_eq!(wire.ask("DEBUG RELOAD"), "+OK");
        assert_eq!(wire.ask("BF.EXISTS f hello"), ":1");
    });
}

#[test]
fn values_are_copied_measured_and_told_apart() {
    on_each(|_, mut wire| {
        wire.ask("BF.RESERVE f 0.01 10000");
        wire.ask("BF.MADD f a b c");
        assert_eq!(wire.ask("COPY f g"), ":1");
        assert_eq!(
            wire.ask("DEBUG DIGEST-VALUE f"),
            wire.ask("DEBUG DIGEST-VALUE g")
        );
        wire.ask("BF.ADD g d");
        assert_ne!(
            wire.ask("DEBUG DIGEST-VALUE f"),
            wire.ask("DEBUG DIGEST-VALUE g")
        );
        assert_eq!(wire.ask("BF.EXISTS f d"), ":0");
        assert_eq!(wire.ask("TYPE f"), "+MBbloom--");

        let usage: u64 = wire.ask("MEMORY USAGE f")[1..].parse().expect("bytes");
        assert!((12_900..14_500).contains(&usage), "{usage}");

        wire.send(&[b"DUMP", b"f"]);
        let dump = wire.text();
        assert_eq!(wire.ask_with("RESTORE h 0", &[&dump]), "+OK");
        assert_eq!(
            wire.ask("DEBUG DIGEST-VALUE f"),
            wire.ask("DEBUG DIGEST-VALUE h")
        );

        let count = |wire: &mut Wire| {
            let info = wire.ask("INFO everything");
            let line = info
                .lines()
                .find_map(|line| line.strip_prefix("bf_bloom_num_objects:"));
            line.expect("a section").trim().to_string()
        };
        assert_eq!(count(&mut wire), "3");
        assert_eq!(wire.ask("UNLINK f g"), ":2");
        // Dropped by another thread, perhaps.
        wait("they are dropped", || {
            (count(&mut wire) == "1").then_some(())
        });
        assert_eq!(wire.ask("FLUSHALL"), "+OK");
        wait("it is dropped", || (count(&mut wire) == "0").then_some(()));
    });
}

#[test]
fn memory_is_the_server_s_own() {
    on_each(|_, mut wire| {
        let used = |wire: &mut Wire| -> u64 {
            let info = wire.ask("INFO memory");
            let line = info
                .lines()
                .find_map(|line| line.strip_prefix("used_memory:"));
            line.expect("a line").trim().parse().expect("bytes")
        };
        let before = used(&mut wire);
        wire.ask("BF.RESERVE f 0.01 10000000");
        let taken = used(&mut wire) - before;
        assert!((12_500_000..16_500_000).contains(&taken), "{taken}");
        wire.ask("DEL f");
        wait("it is given back", || {
            (used(&mut wire) < before + 1_000_000).then_some(())
        });
    });
}

#[test]
fn settings_have_the_names_of_the_peers_and_take_effect() {
    for engine in engines() {
        for (dialect, names) in [
            (
                "redis",
                ["bf-error-rate", "bf-initial-size", "bf-expansion-factor"],
            ),
            (
                "valkey",
                ["bloom-fp-rate", "bloom-capacity", "bloom-expansion"],
            ),
        ] {
            let [_, name, _] = names;
            let server = start(&engine, &["DIALECT", dialect, name, "500"], &[]);
            let mut wire = Wire::new(server.port);
            let prefix = match (engine.name, dialect) {
                ("redis 8", "redis") => "",
                _ => "bf.",
            };
            let [rate, capacity, expansion] = names.map(|name| format!("{prefix}{name}"));
            assert_eq!(
                wire.ask(&format!("CONFIG GET {rate}")),
                format!("[${rate} $0.01]")
            );
            assert_eq!(
                wire.ask(&format!("CONFIG GET {capacity}")),
                format!("[${capacity} $500]")
            );
            assert_eq!(wire.ask(&format!("CONFIG SET {rate} 0.001")), "+OK");
            assert_eq!(wire.ask(&format!("CONFIG SET {capacity} 200")), "+OK");
            assert_eq!(wire.ask(&format!("CONFIG SET {expansion} 4")), "+OK");
            assert!(wire.ask(&format!("CONFIG SET {rate} 1.5")).starts_with('-'));
            assert!(
                wire.ask(&format!("CONFIG SET {capacity} 0"))
                    .starts_with('-')
            );
            wire.ask("BF.ADD f a");
            let info = wire.ask("BF.INFO f");
            assert!(
                info.contains("+Capacity :200 ") && info.contains("+Expansion rate :4"),
                "{info}"
            );
        }
    }
}

#[test]
fn settings_are_read_changed_and_written_to_the_configuration() {
    for engine in engines() {
        for dialect in ["redis", "valkey"] {
            let server = start(&engine, &["DIALECT", dialect], &[]);
            let mut wire = Wire::new(server.port);
            let prefix = match (engine.name, dialect) {
                ("redis 8", "redis") => "",
                _ => "bf.",
            };
            let family = match dialect {
                "redis" => "bf",
                _ => "bloom",
            };
            for name in ["use-random-seed", "defrag-enabled"] {
                let name = format!("{prefix}{family}-{name}");
                let get = format!("CONFIG GET {name}");
                assert_eq!(wire.ask(&get), format!("[${name} $yes]"));
                assert_eq!(wire.ask(&format!("CONFIG SET {name} no")), "+OK");
                assert_eq!(wire.ask(&get), format!("[${name} $no]"));
                assert!(wire.ask(&format!("CONFIG SET {name} 7")).starts_with('-'));
            }
            let limit = format!("{prefix}{family}-memory-usage-limit");
            assert_eq!(wire.ask(&format!("CONFIG SET {limit} 5000000")), "+OK");
            assert_eq!(wire.ask("CONFIG REWRITE"), "+OK");
            let folder = wire.ask("CONFIG GET dir");
            let folder = folder.trim_matches(['[', ']']).split(" $").nth(1);
            let path = std::path::Path::new(folder.expect("a folder")).join("server.conf");
            let file = std::fs::read_to_string(path).expect("a configuration");
            for line in [
                format!("{limit} 5000000"),
                format!("{prefix}{family}-defrag-enabled no"),
            ] {
                assert!(
                    file.lines().any(|written| written == line),
                    "{line}: {file}"
                );
            }
        }
    }
}

#[test]
fn listeners_hear_of_changes_and_rights_can_be_given() {
    on_each(|server, mut wire| {
        wire.ask("CONFIG SET notify-keyspace-events KEA");
        let mut listener = Wire::new(server.port);
        listener.ask("PSUBSCRIBE __keyspace@0__:*");
        wire.ask("BF.RESERVE f 0.01 100");
        wire.ask("BF.ADD f a");
        wire.ask("BF.ADD f a");
        wire.ask("MAYHAP.NEW m counting");
        wire.ask("MAYHAP.ADD m a");
        for event in [
            "f $bloom.reserve",
            "f $bloom.add",
            "m $mayhap.new",
            "m $mayhap.add",
        ] {
            assert_eq!(
                listener.reply(),
                format!("[$pmessage $__keyspace@0__:* $__keyspace@0__:{event}]")
            );
        }
        if server.engine.name != "redis" {
            assert!(wire.ask("ACL CAT bloom").contains("$bf.add"));
            assert_eq!(wire.ask("ACL SETUSER u on nopass ~* -@all +@bloom"), "+OK");
            let mut other = Wire::new(server.port);
            assert_eq!(other.ask("AUTH u x"), "+OK");
            assert_eq!(other.ask("BF.EXISTS f a"), ":1");
            assert!(other.ask("MAYHAP.CONTAINS m a").starts_with("-NOPERM"));
        }
    });
}

#[test]
fn every_setting_is_an_argument_of_the_module_under_all_of_its_names() {
    for engine in engines() {
        let settings = [
            ("bf-error-rate", "0.02"),
            ("INITIAL_SIZE", "300"),
            ("bf.bf-expansion-factor", "3"),
            ("bloom-memory-usage-limit", "5000000"),
            ("BF_DEFRAG_ENABLED", "no"),
            ("cf-initial-size", "2048"),
            ("cf-bucket-size", "4"),
            ("cf-max-iterations", "30"),
            ("cf-expansion-factor", "2"),
            ("CF_MAX_EXPANSIONS", "7"),
        ];
        let arguments: Vec<&str> = settings
            .iter()
            .flat_map(|(name, value)| [*name, *value])
            .collect();
        let server = start(
            &engine,
            &[&["DIALECT", "redis"], &arguments[..]].concat(),
            &[],
        );
        let mut wire = Wire::new(server.port);
        let shown = wire.ask("CONFIG GET *[bc]f-*");
        for part in [
            "bf-error-rate $0.02",
            "bf-initial-size $300",
            "bf-expansion-factor $3",
            "bf-memory-usage-limit $5000000",
            "bf-defrag-enabled $no",
            "cf-initial-size $2048",
            "cf-bucket-size $4",
            "cf-max-iterations $30",
            "cf-expansion-factor $2",
            "cf-max-expansions $7",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        // A server that has no module yet refuses values that cannot be, and names what is accepted.
        let plain = Server::start(&engine, &["--enable-module-command", "yes"]);
        let mut wire = Wire::new(plain.port);
        for (name, value, expected) in [
            (
                "bf-error-rate",
                "1",
                "bf-error-rate is a number strictly between 0 and 1",
            ),
            (
                "CF_BUCKET_SIZE",
                "256",
                "cf-bucket-size is a whole number, 1 to 255",
            ),
            ("bf-defrag-enabled", "2", "bf-defrag-enabled is yes or no"),
            ("bf-none", "2", "unknown argument bf-none"),
        ] {
            let load = format!("MODULE LOAD {} {name} {value}", crate::module());
            assert!(wire.ask(&load).starts_with("-ERR Error loading"), "{name}");
            let log = std::fs::read_to_string(folder(&mut wire).join("log")).expect("a log");
            assert!(log.contains(expected), "{expected}: {log}");
        }
    }
}
