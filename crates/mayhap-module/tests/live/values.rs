use crate::server::wait;
use crate::wire::Wire;
use crate::{engines, on_each, start};

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

/// A dump as RedisBloom makes it of a filter of 100 keys at 0.01 that has the key `hello`: header and bits.
pub(crate) fn foreign_dump() -> (Vec<u8>, Vec<u8>) {
    let bits_per_key = -(0.005_f64.ln()) / std::f64::consts::LN_2.powi(2);
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
            let server = start(&engine, &["DIALECT", dialect, "INITIAL_SIZE", "500"], &[]);
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
            assert!(
                wire.ask("ACL CAT bloom").contains("bf.add")
                    || wire.ask("ACL CAT bloom").contains("BF.ADD")
            );
            assert_eq!(wire.ask("ACL SETUSER u on nopass ~* -@all +@bloom"), "+OK");
            let mut other = Wire::new(server.port);
            assert_eq!(other.ask("AUTH u x"), "+OK");
            assert_eq!(other.ask("BF.EXISTS f a"), ":1");
            assert!(other.ask("MAYHAP.CONTAINS m a").starts_with("-NOPERM"));
        }
    });
}

#[test]
fn arguments_that_are_not_known_keep_the_module_out() {
    for engine in engines() {
        let server = start(&engine, &[], &["--enable-module-command", "yes"]);
        let module = crate::module();
        let mut wire = Wire::new(server.port);
        assert!(
            wire.ask(&format!("MODULE LOAD {module}"))
                .starts_with("-ERR Error loading")
        );
        assert!(wire.ask("MODULE LIST").contains("$bf"));
    }
}
