use std::time::{Duration, Instant};

use crate::wire::Wire;
use crate::{engines, on_each, start};
use mayhap_testing::server::wait;

#[test]
fn every_kind_that_takes_keys_takes_them() {
    on_each(|server, mut wire| {
        let mut made = 0;
        for &kind in mayhap::Kind::ALL {
            let reply = wire.ask(&format!("MAYHAP.NEW {kind} {kind} CAPACITY 1000 RATE 0.01"));
            if kind.inserts() == mayhap::Inserts::Never {
                assert!(reply.starts_with("-ERR "), "{kind}: {reply}");
                continue;
            }
            assert_eq!(reply, "+OK", "{kind}");
            assert!(
                wire.ask(&format!("MAYHAP.NEW {kind} {kind}"))
                    .starts_with("-BUSYKEY")
            );
            assert_eq!(
                wire.ask(&format!("MAYHAP.ADD {kind} a b")),
                "[:1 :1]",
                "{kind}"
            );
            assert_eq!(
                wire.ask(&format!("MAYHAP.CONTAINS {kind} a c b")),
                "[:1 :0 :1]",
                "{kind}"
            );
            let info = Wire::new(server.port)
                .resp3()
                .ask(&format!("MAYHAP.INFO {kind}"));
            assert!(
                info.starts_with(&format!("{{$kind ${kind} $hashing $")),
                "{info}"
            );
            assert!(
                info.contains("$rate asked for ,0.01") && info.contains("$over capacity #f"),
                "{info}"
            );

            wire.send(&[b"MAYHAP.DUMP", kind.name().as_bytes()]);
            let file = wire.text();
            let (filter, _) = mayhap::format::native::decode(&file, None).expect("a native file");
            assert!(filter.contains("a") && filter.contains("b"));
            assert_eq!(
                wire.ask_with("MAYHAP.RESTORE copy", &[&file, b"REPLACE"]),
                "+OK"
            );
            assert_eq!(
                wire.ask("DEBUG DIGEST-VALUE copy"),
                wire.ask(&format!("DEBUG DIGEST-VALUE {kind}"))
            );
            made += 1;
        }
        assert!(made > 8);
    });
}

#[test]
fn keys_are_removed_counted_merged_and_have_areas() {
    on_each(|_, mut wire| {
        for (command, reply) in [
            ("MAYHAP.NEW c counting CAPACITY 100 RATE 0.001", "+OK"),
            ("MAYHAP.ADD c a b", "[:1 :1]"),
            ("MAYHAP.REMOVE c a z", "[:1 :0]"),
            ("MAYHAP.CONTAINS c a b", "[:0 :1]"),
            ("MAYHAP.NEW s spectral CAPACITY 100 RATE 0.001", "+OK"),
            ("MAYHAP.ADD s a a a b", "[:1 :0 :0 :1]"),
            ("MAYHAP.COUNT s a b c", "[:3 :1 :0]"),
            ("MAYHAP.NEW p spatial CAPACITY 100 RATE 0.001", "+OK"),
            ("MAYHAP.AREA p SET 2 a b", "[_ _]"),
            ("MAYHAP.AREA p GET a c", "[:2 _]"),
            ("MAYHAP.SETAREA p 1 c", "[_]"),
            ("MAYHAP.AREA p GET a c", "[:2 :1]"),
            ("MAYHAP.NEW x blocked CAPACITY 100 RATE 0.001", "+OK"),
            ("MAYHAP.NEW y blocked CAPACITY 100 RATE 0.001", "+OK"),
            ("MAYHAP.ADD x a", "[:1]"),
            ("MAYHAP.ADD y b", "[:1]"),
            ("MAYHAP.MERGE x y", "+OK"),
            ("MAYHAP.CONTAINS x a b", "[:1 :1]"),
            (
                "MAYHAP.MERGE x x",
                "-ERR a filter is not merged with itself",
            ),
            (
                "MAYHAP.MERGE x",
                "-ERR wrong number of arguments for 'MAYHAP.MERGE' command",
            ),
            ("MAYHAP.NEW w windowed CAPACITY 100 RATE 0.001", "+OK"),
            ("MAYHAP.ADD w a", "[:1]"),
            ("MAYHAP.ROTATE w", "+OK"),
            ("MAYHAP.ROTATE w", "+OK"),
            ("MAYHAP.ROTATE w", "+OK"),
            ("MAYHAP.CONTAINS w a", "[:1]"),
            ("MAYHAP.ROTATE w", "+OK"),
            ("MAYHAP.CONTAINS w a", "[:0]"),
        ] {
            let got = wire.ask(command);
            assert!(got.eq_ignore_ascii_case(reply), "{command}: {got}");
        }
        for command in [
            "MAYHAP.NEW z nokind",
            "MAYHAP.NEW z blocked RATE 2",
            "MAYHAP.NEW z blocked CAPACITY 0",
            "MAYHAP.NEW z blocked WINDOW 5",
            "MAYHAP.NEW z blocked FOO 1",
            "MAYHAP.NEW z blocked SECRET",
            "MAYHAP.REMOVE x a",
            "MAYHAP.COUNT x a",
            "MAYHAP.AREA x GET a",
            "MAYHAP.AREA p SET 0 a",
            "MAYHAP.AREA p FOO a b",
            "MAYHAP.ROTATE x",
            "MAYHAP.MERGE x c",
            "MAYHAP.MERGE x none",
            "MAYHAP.ADD none a",
            "MAYHAP.RESTORE z junk",
        ] {
            let reply = wire.ask(command);
            assert!(reply.starts_with("-ERR "), "{command}: {reply}");
        }
        assert_eq!(wire.ask("EXISTS z"), ":0");
        // Of the kinds that it names, each is made and takes keys; of the others, none is made.
        let refused = wire.ask("MAYHAP.NEW z nokind");
        let named: Vec<&str> = refused
            .trim_start_matches("-ERR the kind is one of ")
            .split(", ")
            .collect();
        for kind in mayhap::Kind::ALL.iter().map(|kind| kind.name()) {
            let made = wire.ask(&format!("MAYHAP.NEW z{kind} {kind}"));
            let is_named = named.contains(&kind);
            assert_eq!(made, if is_named { "+OK" } else { &refused }, "{kind}");
            let insert = match kind {
                "spatial" => "SETAREA zspatial 1".to_string(),
                _ => format!("ADD z{kind}"),
            };
            let inserted = wire.ask(&format!("MAYHAP.{insert} a"));
            assert_eq!(inserted.starts_with('['), is_named, "{kind}: {inserted}");
        }
        assert_eq!(
            wire.ask("MAYHAP.CONTAINS x a b"),
            "[:1 :1]",
            "what was refused changed nothing"
        );
    });
}

#[test]
fn a_window_forgets_by_the_clock_of_the_server() {
    on_each(|_, mut wire| {
        const WINDOW: Duration = Duration::from_millis(900);
        assert_eq!(
            wire.ask("MAYHAP.NEW w windowed CAPACITY 100 RATE 0.001 WINDOW 900"),
            "+OK"
        );
        let begin = Instant::now();
        assert_eq!(wire.ask("MAYHAP.ADD w a"), "[:1]");
        let mut asked = 0;
        wait("the key is forgotten", || {
            let found = wire.ask("MAYHAP.CONTAINS w a") == "[:1]";
            // What is asked within the window is found, however slow the machine is.
            assert!(found || begin.elapsed() >= WINDOW);
            asked += 1;
            (!found).then_some(())
        });
        assert!(asked > 1);
        assert!(
            wire.ask("MAYHAP.ROTATE w")
                .starts_with("-ERR this filter forgets by time")
        );
    });
}

#[test]
fn a_secret_is_needed_and_is_in_no_dump() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("secret");
    let secret = "000102030405060708090a0b0c0d0eff";
    std::fs::write(&path, format!("{secret}\n")).expect("written");
    let path = path.display().to_string();
    for engine in engines() {
        let server = start(&engine, &["SECRET", &path], &[]);
        let mut wire = Wire::new(server.port);
        assert_eq!(
            wire.ask("MAYHAP.NEW f blocked CAPACITY 100 RATE 0.01 SECRET"),
            "+OK"
        );
        wire.ask("MAYHAP.ADD f a");
        assert!(wire.ask("MAYHAP.INFO f").contains("$hashing $siphash"));
        assert_eq!(wire.ask("DEBUG RELOAD"), "+OK");
        assert_eq!(wire.ask("MAYHAP.CONTAINS f a b"), "[:1 :0]");
        wire.send(&[b"MAYHAP.DUMP", b"f"]);
        let file = wire.text();
        let mut key = [0; 16];
        for (byte, digits) in key.iter_mut().zip(secret.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).expect("ASCII");
            *byte = u8::from_str_radix(digits, 16).expect("hex");
        }
        assert!(!file.windows(16).any(|window| window == key));

        let other = start(&engine, &[], &[]);
        let mut wire = Wire::new(other.port);
        let reply = wire.ask_with("MAYHAP.RESTORE f", &[&file]);
        assert!(
            reply.starts_with("-ERR ") && reply.contains("secret"),
            "{reply}"
        );
    }
}
