use crate::wire::Wire;
use crate::{engines, on_each, start};

/// A number of `CF.INFO`.
fn field(wire: &mut Wire, name: &str, field: &str) -> u64 {
    let info = wire.ask(&format!("CF.INFO {name}"));
    let (_, rest) = info.split_once(&format!("+{field} :")).expect("a field");
    let end = rest.find([' ', ']', '}']).expect("an end");
    rest[..end].parse().expect("a number")
}

#[test]
fn replies_are_redisbloom_s_in_both_protocols() {
    on_each(|server, mut two| {
        let mut three = Wire::new(server.port).resp3();
        for (command, reply, reply_3) in [
            ("CF.RESERVE f 1000", "+OK", ""),
            ("CF.ADD f a", ":1", "#t"),
            ("CF.COUNT f a", ":2", ":2"),
            ("CF.COUNT f b", ":0", ":0"),
            ("CF.COUNT none b", ":0", ":0"),
            ("CF.ADDNX f a", ":0", "#f"),
            ("CF.ADDNX f b", ":1", "#f"),
            ("CF.EXISTS f a", ":1", "#t"),
            ("CF.EXISTS f x", ":0", "#f"),
            ("CF.EXISTS none a", ":0", "#f"),
            ("CF.MEXISTS f a x", "[:1 :0]", "[#t #f]"),
            ("CF.MEXISTS none a x", "[:0 :0]", "[#f #f]"),
            ("CF.INSERT f ITEMS c d", "[:1 :1]", "[#t #t]"),
            ("CF.INSERTNX f ITEMS c e", "[:0 :1]", "[:0 :0]"),
            ("CF.INSERT g C 50 I x", "[:1]", "[#t]"),
            ("CF.INSERT g nocreate items x", "[:1]", "[#t]"),
            ("CF.DEL f e", ":1", "#f"),
            ("CF.DEL f x", ":0", "#f"),
            ("CF.COMPACT f", "+OK", "+OK"),
        ] {
            assert_eq!(two.ask(command), reply, "{command}");
            if !reply_3.is_empty() {
                assert_eq!(three.ask(command), reply_3, "{command}");
            }
        }
        // The size depends on how the compiler lays out the parts beside the bits.
        let all = [
            "+Size :",
            "+Number of buckets :588 +Number of filters :1 +Number of items inserted :7",
            "+Number of items deleted :1 +Bucket size :2 +Expansion rate :1 +Max iterations :20",
        ];
        for (info, ends) in [
            (two.ask("CF.INFO f"), ['[', ']']),
            (three.ask("CF.INFO f"), ['{', '}']),
        ] {
            assert!(
                info.starts_with(ends[0]) && info.ends_with(ends[1]),
                "{info}"
            );
            assert!(all.iter().all(|part| info.contains(part)), "{info}");
        }
        let debug = two.ask("CF.DEBUG f");
        assert!(
            debug.contains("buckets:588 filters:1 items:7 deletes:1 bktsize:2"),
            "{debug}"
        );
        two.ask("SET text x");
        two.ask("BF.ADD bloom a");
        for key in ["text", "bloom"] {
            assert_eq!(two.ask(&format!("CF.EXISTS {key} a")), ":0");
            assert_eq!(two.ask(&format!("CF.COUNT {key} a")), ":0");
            for command in [
                "CF.ADD",
                "CF.DEL",
                "CF.INSERT",
                "CF.LOADCHUNK",
                "CF.RESERVE",
            ] {
                let rest = match command {
                    "CF.INSERT" => "ITEMS a",
                    "CF.LOADCHUNK" => "1 a",
                    "CF.RESERVE" => "100",
                    _ => "a",
                };
                let reply = two.ask(&format!("{command} {key} {rest}"));
                assert!(reply.starts_with("-WRONGTYPE"), "{command}: {reply}");
            }
        }
        assert!(two.ask("BF.ADD f a").starts_with("-WRONGTYPE"));
    });
}

#[test]
fn errors_are_redisbloom_s_word_for_word() {
    on_each(|_, mut wire| {
        wire.ask("CF.RESERVE f 1000");
        for (command, error) in [
            ("CF.RESERVE f 1000", "ERR item exists"),
            ("CF.RESERVE g x", "Bad capacity"),
            (
                "CF.RESERVE g 3",
                "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]",
            ),
            (
                "CF.RESERVE g 100 BUCKETSIZE 51",
                "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]",
            ),
            (
                "CF.RESERVE g 1073741825",
                "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]",
            ),
            (
                "CF.RESERVE g 1000 BUCKETSIZE x",
                "Couldn't parse BUCKETSIZE",
            ),
            (
                "CF.RESERVE g 1000 BUCKETSIZE 256",
                "BUCKETSIZE: value must be in the range [1, 255]",
            ),
            (
                "CF.RESERVE g 1000 MAXITERATIONS x",
                "Couldn't parse MAXITERATIONS",
            ),
            (
                "CF.RESERVE g 1000 MAXITERATIONS 0",
                "MAXITERATIONS: value must be in the range [1, 65535]",
            ),
            ("CF.RESERVE g 1000 EXPANSION x", "Couldn't parse EXPANSION"),
            (
                "CF.RESERVE g 1000 EXPANSION 32769",
                "EXPANSION: value must be in the range [0, 32768]",
            ),
            ("CF.RESERVE g 1000 OTHER 1", "Unknown argument received"),
            ("CF.INSERT g CAPACITY x ITEMS a", "Bad capacity"),
            (
                "CF.INSERT g CAPACITY 3 ITEMS a",
                "Capacity must be in the range [cf-bucket-size * 2, 1073741824]",
            ),
            ("CF.INSERT g X ITEMS a", "Unknown argument received"),
            ("CF.INSERT g NOCREATE ITEMS a", "ERR not found"),
            ("CF.DEL g a", "Not found"),
            ("CF.COMPACT g", "Cuckoo filter was not found"),
            ("CF.INFO g", "ERR not found"),
            ("CF.DEBUG g", "ERR not found"),
            ("CF.SCANDUMP g 0", "ERR not found"),
            ("CF.SCANDUMP f x", "Invalid position"),
            ("CF.LOADCHUNK g x x", "Invalid position"),
            ("CF.LOADCHUNK g 0 x", "Invalid position"),
            ("CF.LOADCHUNK g 1 x", "Invalid header"),
            ("CF.LOADCHUNK g 2 x", "ERR not found"),
            ("CF.LOADCHUNK f 1 x", "ERR item exists"),
            ("CF.LOADCHUNK f 2 x", "Couldn't load chunk!"),
        ] {
            assert_eq!(wire.ask(command), format!("-{error}"), "{command}");
        }
        for command in [
            "CF.RESERVE f",
            "CF.RESERVE f 100 BUCKETSIZE",
            "CF.ADD f",
            "CF.ADD f a b",
            "CF.INSERT f ITEMS",
            "CF.INSERT f",
            "CF.INSERT f CAPACITY",
            "CF.EXISTS f",
            "CF.MEXISTS f",
            "CF.COUNT f",
            "CF.DEL f",
            "CF.INFO",
            "CF.SCANDUMP f",
            "CF.LOADCHUNK f 1",
        ] {
            let reply = wire.ask(command);
            assert!(
                reply.starts_with("-ERR wrong number of arguments"),
                "{command}: {reply}"
            );
        }
        assert_eq!(wire.ask("EXISTS g"), ":0");
    });
}

#[test]
fn a_batch_without_room_is_refused_whole() {
    on_each(|server, mut wire| {
        let keys: Vec<String> = (0..400).map(|key| key.to_string()).collect();
        let keys = keys.join(" ");
        wire.ask("CF.RESERVE fixed 100 EXPANSION 0");
        wire.ask("CF.ADD fixed 7");
        let before = wire.ask("DEBUG DIGEST-VALUE fixed");
        let refused = wire.ask(&format!("CF.INSERT fixed ITEMS {keys}"));
        assert_eq!(refused.matches(":-1").count(), 400);
        let refused = wire.ask(&format!("CF.INSERTNX fixed ITEMS {keys}"));
        let absent = refused.matches(":-1").count();
        assert!((380..400).contains(&absent), "{refused}");
        assert_eq!(refused.matches(":0").count(), 400 - absent);
        assert_eq!(wire.ask("DEBUG DIGEST-VALUE fixed"), before);
        let mut three = Wire::new(server.port).resp3();
        let refused = three.ask(&format!("CF.INSERT fixed ITEMS {keys}"));
        assert_eq!(refused.matches("#f").count(), 400);

        // One by one until it is full; then none of those is missed.
        let full = (0..400).find(|key| wire.ask(&format!("CF.ADD fixed {key}")) != ":1");
        let full = full.expect("it is full");
        assert!(full > 100, "{full}");
        assert_eq!(wire.ask(&format!("CF.ADD fixed {full}")), "-Filter is full");
        for key in 0..full {
            assert_eq!(wire.ask(&format!("CF.EXISTS fixed {key}")), ":1");
        }

        // Into a filter that is not there and would be too small, nothing goes: it is not made.
        wire.ask("CONFIG SET bf.cf-expansion-factor 0");
        wire.ask("CONFIG SET cf-expansion-factor 0");
        let refused = wire.ask(&format!("CF.INSERT made CAPACITY 50 ITEMS {keys}"));
        assert_eq!(refused.matches(":-1").count(), 400);
        assert_eq!(wire.ask("EXISTS made"), ":0");
    });
}

#[test]
fn a_key_that_is_removed_as_often_as_it_was_inserted_is_gone() {
    on_each(|_, mut wire| {
        for bucket in [1, 2, 4] {
            wire.ask(&format!("CF.RESERVE f{bucket} 1000 BUCKETSIZE {bucket}"));
            // More than few keys, so that there is a table.
            for key in 0..100 {
                wire.ask(&format!("CF.ADD f{bucket} {key}"));
            }
            for count in 1..=50 {
                assert_eq!(wire.ask(&format!("CF.ADD f{bucket} often")), ":1");
                let counted = wire.ask(&format!("CF.COUNT f{bucket} often"));
                assert_eq!(counted, format!(":{count}"));
            }
            assert_eq!(wire.ask("DEBUG RELOAD"), "+OK");
            for _ in 1..=50 {
                assert_eq!(wire.ask(&format!("CF.DEL f{bucket} often")), ":1");
            }
            assert_eq!(wire.ask(&format!("CF.DEL f{bucket} often")), ":0");
            assert_eq!(wire.ask(&format!("CF.EXISTS f{bucket} often")), ":0");
            let name = format!("f{bucket}");
            assert_eq!(field(&mut wire, &name, "Number of items inserted"), 100);
            assert_eq!(field(&mut wire, &name, "Number of filters"), 1);
        }
    });
}

#[test]
fn filters_grow_as_often_as_is_set_and_keep_their_rate() {
    for engine in engines() {
        let arguments = ["DIALECT", "redis", "CF_MAX_EXPANSIONS", "3"];
        let server = start(&engine, &arguments, &[]);
        let mut wire = Wire::new(server.port);
        wire.ask("CF.RESERVE f 100 EXPANSION 2");
        let mut key = 0;
        let last = loop {
            let reply = wire.ask(&format!("CF.ADD f {key}"));
            if reply != ":1" {
                break reply;
            }
            key += 1;
        };
        assert_eq!(last, "-Maximum expansions reached");
        assert_eq!(field(&mut wire, "f", "Number of filters"), 4);
        assert_eq!(field(&mut wire, "f", "Number of items inserted"), key);
        assert!(key > 1500, "{key}");
        let found = (0..key).filter(|key| wire.ask(&format!("CF.EXISTS f {key}")) == ":1");
        assert_eq!(found.count() as u64, key);
        // 8 bits and two slots a bucket: 1.6 % in the first layer, 0.4 % in all others.
        let absent = (0..5000).filter(|key| wire.ask(&format!("CF.EXISTS f x{key}")) == ":1");
        let absent = absent.count();
        assert!(absent < 130, "{absent} of 5000");

        for removed in 100..key {
            assert_eq!(wire.ask(&format!("CF.DEL f {removed}")), ":1");
        }
        assert_eq!(wire.ask("CF.COMPACT f"), "+OK");
        assert!(field(&mut wire, "f", "Number of filters") < 3);
        for key in 0..100 {
            assert_eq!(wire.ask(&format!("CF.EXISTS f {key}")), ":1");
        }
        for (command, refused) in [
            ("CF.RESERVE big 1073741824", "-ERR Insufficient memory"),
            (
                "CF.INSERT big CAPACITY 1073741824 ITEMS a",
                "-ERR Insufficient memory",
            ),
        ] {
            wire.ask("CONFIG SET maxmemory 100mb");
            assert_eq!(wire.ask(command), refused, "{command}");
        }
        assert_eq!(wire.ask("CF.RESERVE wide 1000 BUCKETSIZE 255"), "+OK");
        assert_eq!(wire.ask("CF.ADD wide a"), ":1");
    }
}

#[test]
fn a_dump_in_pieces_makes_the_same_filter() {
    on_each(|_, mut wire| {
        wire.ask("CF.RESERVE f 1000");
        assert_eq!(wire.ask("CF.SCANDUMP f 0"), "[:0 _]");
        for key in 0..3000 {
            wire.ask(&format!("CF.ADD f {key}"));
        }
        let mut iterator = "0".to_string();
        let mut pieces = 0;
        loop {
            wire.send(&[b"CF.SCANDUMP", b"f", iterator.as_bytes()]);
            let (next, piece) = wire.pair();
            if next == 0 {
                assert!(piece.is_empty());
                break;
            }
            iterator = next.to_string();
            let load = format!("CF.LOADCHUNK g {iterator}");
            assert_eq!(wire.ask_with(&load, &[&piece]), "+OK");
            pieces += 1;
            if pieces == 1 {
                // Only the first piece is there: a filter that can be saved.
                assert_eq!(wire.ask("DEBUG RELOAD"), "+OK");
                assert_eq!(wire.ask("CF.EXISTS g 1"), ":0");
            }
        }
        assert!(pieces > 3, "the first, and a piece for each layer");
        assert_eq!(
            wire.ask("DEBUG DIGEST-VALUE f"),
            wire.ask("DEBUG DIGEST-VALUE g")
        );
        assert_eq!(wire.ask("CF.DEBUG f"), wire.ask("CF.DEBUG g"));
        assert_eq!(wire.ask("TYPE g"), "+MBbloomCF");
    });
}

#[test]
fn a_secret_of_the_module_protects_filters_and_is_needed_to_load_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("secret");
    std::fs::write(&path, [7; 16]).expect("written");
    let path = path.display().to_string();
    for engine in engines() {
        let keyed = start(&engine, &["DIALECT", "redis", "SECRET", &path], &[]);
        let plain = start(&engine, &["DIALECT", "redis"], &[]);
        let [mut keyed, mut plain] = [&keyed, &plain].map(|server| Wire::new(server.port));
        for wire in [&mut keyed, &mut plain] {
            wire.ask("CF.RESERVE f 100");
            wire.ask("CF.INSERT f ITEMS a b c");
        }
        let digest = "DEBUG DIGEST-VALUE f";
        assert_ne!(keyed.ask(digest), plain.ask(digest));
        assert_eq!(keyed.ask("DEBUG RELOAD"), "+OK");
        assert_eq!(keyed.ask("CF.MEXISTS f a b c"), "[:1 :1 :1]");
        keyed.send(&[b"DUMP", b"f"]);
        let dump = keyed.text();
        assert!(plain.ask_with("RESTORE g 0", &[&dump]).starts_with('-'));
        assert_eq!(keyed.ask_with("RESTORE g 0", &[&dump]), "+OK");
        keyed.send(&[b"CF.SCANDUMP", b"f", b"0"]);
        let (_, first) = keyed.pair();
        let refused = plain.ask_with("CF.LOADCHUNK g 1", &[&first]);
        assert_eq!(refused, "-Invalid header");
    }
}
