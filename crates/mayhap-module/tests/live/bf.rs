use crate::wire::Wire;
use crate::{engines, on_each, start};

#[test]
fn replies_are_redisbloom_s_in_both_protocols() {
    on_each(|server, mut two| {
        let mut three = Wire::new(server.port).resp3();
        for (command, reply, reply_3) in [
            ("BF.RESERVE f 0.01 1000", "+OK", ""),
            ("BF.ADD f a", ":1", ""),
            ("BF.ADD f a", ":0", "#f"),
            ("BF.EXISTS f a", ":1", "#t"),
            ("BF.EXISTS f b", ":0", "#f"),
            ("BF.MADD f a b", "[:0 :1]", ""),
            ("BF.MADD f a b", "[:0 :0]", "[#f #f]"),
            ("BF.MEXISTS f a c", "[:1 :0]", "[#t #f]"),
            ("BF.MEXISTS none a c", "[:0 :0]", "[#f #f]"),
            ("BF.EXISTS none a", ":0", "#f"),
            ("BF.CARD f", ":2", ":2"),
            ("BF.CARD none", ":0", ":0"),
            ("BF.INFO f capacity", "[:1000]", "{+Capacity :1000}"),
            ("BF.INFO f ITEMS", "[:2]", "{+Number of items inserted :2}"),
            (
                "BF.INSERT g C 10 ER 0.001 NONSCALING I x y x",
                "[:1 :1 :0]",
                "",
            ),
            ("BF.INFO g EXPANSION", "[_]", "{+Expansion rate _}"),
            ("BF.SCANDUMP f 99999999", "[:0 $]", "[:0 $]"),
        ] {
            assert_eq!(two.ask(command), reply, "{command}");
            if !reply_3.is_empty() {
                assert_eq!(three.ask(command), reply_3, "{command}");
            }
        }
        // The size depends on how the compiler lays out the parts beside the bits.
        let all = [
            "+Capacity :1000 +Size :1",
            "+Number of filters :1 +Number of items inserted :2 +Expansion rate :2",
        ];
        for (info, ends) in [
            (two.ask("BF.INFO f"), ['[', ']']),
            (three.ask("BF.INFO f"), ['{', '}']),
        ] {
            assert!(
                info.starts_with(ends[0]) && info.ends_with(ends[1]),
                "{info}"
            );
            assert!(all.iter().all(|part| info.contains(part)), "{info}");
        }
        let debug = two.ask("BF.DEBUG f");
        assert!(
            debug.starts_with(
                "[$size:2 $bytes:1344 bits:10752 hashes:7 hashwidth:64 capacity:1000 size:2 ratio:"
            ),
            "{debug}"
        );
        two.ask("SET text x");
        assert_eq!(two.ask("BF.EXISTS text a"), ":0");
        assert_eq!(two.ask("BF.MEXISTS text a b"), "[:0 :0]");
    });
}

#[test]
fn replies_are_valkey_bloom_s_in_its_dialect() {
    for engine in engines() {
        let server = start(&engine, &["DIALECT", "valkey"], &[]);
        let mut wire = Wire::new(server.port).resp3();
        for (command, reply) in [
            ("BF.ADD f a", "#t"),
            ("BF.EXISTS f a", "#t"),
            ("BF.MEXISTS f a b", "[#t #f]"),
            ("BF.INSERT g CAPACITY 50 TIGHTENING 0.4", "[]"),
            ("BF.INFO g CAPACITY", ":50"),
            ("BF.INFO g ERROR", ",0.01"),
            (
                "BF.INSERT h NONSCALING VALIDATESCALETO 100 ITEMS a",
                "-ERR cannot use NONSCALING and VALIDATESCALETO options together",
            ),
            (
                "BF.INSERT h CAPACITY 100 VALIDATESCALETO 100000000000 ITEMS a",
                "-ERR provided VALIDATESCALETO causes bloom object to exceed memory limit",
            ),
            ("BF.INSERT h SEED short ITEMS a", "-ERR invalid seed"),
            (
                "BF.INSERT h TIGHTENING 2 ITEMS a",
                "-ERR (0 < tightening ratio range < 1)",
            ),
            ("BF.INSERT h FOO ITEMS a", "-ERR unknown argument received"),
            ("BF.RESERVE h 1 100", "-ERR (0 < error rate range < 1)"),
            (
                "BF.RESERVE h 0.1 0",
                "-ERR (capacity should be larger than 0)",
            ),
            ("BF.RESERVE h 0.1 x", "-ERR bad capacity"),
            (
                "BF.RESERVE h 0.000001 100000000000",
                "-ERR operation exceeds bloom object memory limit",
            ),
            ("BF.RESERVE h 0.1 10 FOO", "-ERR unknown argument received"),
            ("BF.RESERVE f 0.1 10", "-ERR item exists"),
            ("BF.INFO f FOO", "-ERR invalid information value"),
            (
                "BF.LOAD h x",
                "-ERR bloom object decoding failed. Unsupported version",
            ),
            ("BF.LOAD f x", "-BUSYKEY Target key name already exists."),
            ("SET text x", "+OK"),
            ("BF.EXISTS text a", WRONG_TYPE),
            ("BF.MEXISTS text a", WRONG_TYPE),
        ] {
            assert_eq!(wire.ask(command), reply, "{command}");
        }
        let info = wire.ask("BF.INFO f");
        assert!(info.starts_with("{+Capacity :100 +Size :"), "{info}");
        assert!(
            info.contains("+Error rate ,0.01 +Expansion rate :2 +Tightening ratio ,"),
            "{info}"
        );
        assert!(info.contains("+Max scaled capacity :"), "{info}");
    }
}

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn errors_have_redisbloom_s_words() {
    on_each(|_, mut wire| {
        wire.ask("SET text x");
        wire.ask("BF.RESERVE f 0.01 10");
        for (command, reply) in [
            ("BF.RESERVE g x 10", "-ERR bad error rate"),
            (
                "BF.RESERVE g 0 10",
                "-ERR error rate must be in the range (0.000000, 1.000000)",
            ),
            (
                "BF.RESERVE g 1 10",
                "-ERR error rate must be in the range (0.000000, 1.000000)",
            ),
            (
                "BF.RESERVE g nan 10",
                "-ERR error rate must be in the range (0.000000, 1.000000)",
            ),
            ("BF.RESERVE g 0.1 x", "-ERR bad capacity"),
            (
                "BF.RESERVE g 0.1 0",
                "-ERR capacity must be in the range [1, 1073741824]",
            ),
            (
                "BF.RESERVE g 0.1 1073741825",
                "-ERR capacity must be in the range [1, 1073741824]",
            ),
            ("BF.RESERVE g 0.1 10 EXPANSION", "-ERR no expansion"),
            ("BF.RESERVE g 0.1 10 EXPANSION x", "-ERR bad expansion"),
            (
                "BF.RESERVE g 0.1 10 EXPANSION 32769",
                "-ERR expansion must be in the range [0, 32768]",
            ),
            (
                "BF.RESERVE g 0.1 10 EXPANSION 2 NONSCALING",
                "-Nonscaling filters cannot expand",
            ),
            ("BF.RESERVE f 0.1 10", "-ERR item exists"),
            ("BF.INSERT g ERROR x ITEMS a", "-Bad error rate"),
            ("BF.INSERT g CAPACITY x ITEMS a", "-Bad capacity"),
            ("BF.INSERT g EXPANSION x ITEMS a", "-Bad expansion"),
            ("BF.INSERT g FOO ITEMS a", "-Unknown argument received"),
            ("BF.INSERT g NOCREATE ITEMS a", "-ERR not found"),
            ("BF.INFO none", "-ERR not found"),
            ("BF.INFO f foo", "-Invalid information value"),
            ("BF.DEBUG none", "-ERR not found"),
            ("BF.SCANDUMP none 0", "-ERR not found"),
            ("BF.SCANDUMP f x", "-Second argument must be numeric"),
            ("BF.LOADCHUNK g x y", "-ERR Second argument must be numeric"),
            ("BF.LOADCHUNK g 1 y", "-ERR received bad data"),
            ("BF.LOADCHUNK g 2 y", "-ERR not found"),
            ("BF.LOADCHUNK f 1 y", "-ERR received bad data"),
        ] {
            assert_eq!(wire.ask(command), reply, "{command}");
        }
        for command in [
            "BF.RESERVE text 0.1 10",
            "BF.ADD text a",
            "BF.MADD text a b",
            "BF.INSERT text ITEMS a",
            "BF.CARD text",
            "BF.INFO text",
            "BF.DEBUG text",
            "BF.SCANDUMP text 0",
            "BF.LOADCHUNK text 1 a",
            "BF.LOAD text a",
            "MAYHAP.ADD f a",
        ] {
            assert_eq!(wire.ask(command), WRONG_TYPE, "{command}");
        }
        for command in [
            "BF.RESERVE f 0.1",
            "BF.ADD f",
            "BF.ADD f a b",
            "BF.MADD f",
            "BF.INSERT f",
            "BF.INSERT f ITEMS",
            "BF.EXISTS f",
            "BF.MEXISTS f",
            "BF.CARD",
            "BF.INFO",
            "BF.SCANDUMP f",
            "BF.LOADCHUNK f 1",
            "BF.DEBUG",
        ] {
            let reply = wire.ask(command);
            assert!(
                reply.starts_with("-ERR wrong number of arguments for"),
                "{command}: {reply}"
            );
        }
        assert_eq!(wire.ask("EXISTS g"), ":0", "nothing was made on the way");
    });
}

#[test]
fn a_batch_that_does_not_fit_changes_nothing() {
    on_each(|_, mut wire| {
        wire.ask("BF.RESERVE f 0.0001 5 NONSCALING");
        assert_eq!(wire.ask("BF.MADD f a b c"), "[:1 :1 :1]");
        let digest = wire.ask("DEBUG DIGEST-VALUE f");
        let full = "-ERR non scaling filter is full";
        assert_eq!(wire.ask("BF.MADD f a d e g"), full);
        assert_eq!(wire.ask("BF.INSERT f ITEMS d e g"), full);
        assert_eq!(wire.ask("DEBUG DIGEST-VALUE f"), digest);
        assert_eq!(
            wire.ask("BF.MADD f a d e d"),
            "[:0 :1 :1 :0]",
            "two keys are new"
        );
        assert_eq!(wire.ask("BF.ADD f x"), full);
        assert_eq!(wire.ask("BF.ADD f a"), ":0");
        assert_eq!(
            wire.ask("BF.INSERT g CAPACITY 2 NONSCALING ITEMS a b c"),
            full
        );
        assert_eq!(wire.ask("EXISTS g"), ":0");
    });
}

#[test]
fn a_filter_that_is_too_large_is_an_error_and_not_the_end_of_the_server() {
    for engine in engines() {
        let server = start(&engine, &["DIALECT", "redis"], &["--maxmemory", "32mb"]);
        let mut wire = Wire::new(server.port);
        for rate in ["0.25", "0.01", "0.000000001"] {
            let reply = wire.ask(&format!("BF.RESERVE f {rate} 1073741824"));
            assert_eq!(reply, "-ERR Insufficient memory to create filter");
        }
        assert!(
            wire.ask("MAYHAP.NEW f bloom CAPACITY 1000000000000")
                .starts_with("-ERR ")
        );
        assert_eq!(wire.ask("EXISTS f"), ":0");

        // One that grows is refused where the next layer would be too large, and keeps what it has.
        let name = if engine.name == "redis 8" {
            "bf-memory-usage-limit"
        } else {
            "bf.bf-memory-usage-limit"
        };
        assert_eq!(wire.ask(&format!("CONFIG SET {name} 10000")), "+OK");
        assert_eq!(wire.ask("BF.RESERVE f 0.01 1000"), "+OK");
        let mut refused = 0;
        for key in 0..5000 {
            match &wire.ask(&format!("BF.ADD f {key}"))[..] {
                "-ERR problem inserting into filter" => refused += 1,
                reply => assert!(reply.starts_with(':'), "{reply}"),
            }
        }
        assert!(refused > 1000, "{refused}");
        assert!(
            wire.ask("BF.INFO f SIZE")
                .trim_matches(['[', ':', ']'])
                .parse::<u64>()
                .expect("a size")
                <= 10_000
        );
    }
}

#[test]
fn a_filter_keeps_its_rate_while_it_grows_on_the_server() {
    on_each(|_, mut wire| {
        wire.ask("BF.RESERVE f 0.01 100");
        for batch in 0..200 {
            let keys: Vec<String> = (0..100)
                .map(|key| format!("key{}", batch * 100 + key))
                .collect();
            let reply = wire.ask(&format!("BF.MADD f {}", keys.join(" ")));
            assert!(reply.starts_with('['), "{reply}");
            assert!(
                !wire
                    .ask(&format!("BF.MEXISTS f {}", keys.join(" ")))
                    .contains(":0")
            );
        }
        // 20 000 absent keys at 1 %: a standard deviation is 14.
        let mut wrong = 0;
        for batch in 0..200 {
            let keys: Vec<String> = (0..100)
                .map(|key| format!("no{}", batch * 100 + key))
                .collect();
            wrong += wire
                .ask(&format!("BF.MEXISTS f {}", keys.join(" ")))
                .matches(":1")
                .count();
        }
        assert!(wrong < 260, "{wrong} of 20000");
        let all = wire.ask("BF.INFO f");
        let card = wire.ask("BF.CARD f");
        assert!(
            all.contains(&format!("Number of items inserted {card}")),
            "{all}"
        );
    });
}
