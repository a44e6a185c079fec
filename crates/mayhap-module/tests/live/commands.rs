use crate::on_each;
use crate::wire::Wire;

/// The commands of the module, in capital letters: the server lists them in small ones, as its own.
fn commands(wire: &mut Wire) -> Vec<String> {
    let list = wire.ask("COMMAND LIST FILTERBY MODULE bf");
    assert_eq!(list, list.to_lowercase());
    let names = list.trim_matches(['[', ']']).split(' ');
    names.map(|name| name[1..].to_uppercase()).collect()
}

#[test]
fn every_command_is_documented() {
    on_each(|_, mut wire| {
        let commands = commands(&mut wire);
        assert_eq!(commands.len(), 38, "{commands:?}");
        for command in commands {
            let docs = wire.ask(&format!("COMMAND DOCS {command}"));
            for part in [
                "$summary $",
                "$since $0.1.0",
                "$group $module",
                "$arguments [[",
            ] {
                assert!(docs.contains(part), "{command}: {docs}");
            }
            assert!(
                docs.contains("$name $key $type $key") && docs.contains("$key_spec_index :0"),
                "{command}: {docs}"
            );
        }
        let docs = wire.ask("COMMAND DOCS BF.RESERVE");
        let options = [
            "$name $rate $type $double",
            "$name $expansion $type $integer",
            "$token $EXPANSION",
            "$name $nonscaling $type $pure-token",
        ];
        for part in options {
            assert!(docs.contains(part), "{docs}");
        }
        let docs = wire.ask("COMMAND DOCS MAYHAP.AREA");
        assert!(docs.contains("$type $oneof $arguments [["), "{docs}");
    });
}

#[test]
fn keys_are_found_in_commands_and_are_read_or_written() {
    on_each(|_, mut wire| {
        for command in commands(&mut wire) {
            let more = match command.as_str() {
                "MAYHAP.MERGE" => "b c",
                "CF.INSERT" | "CF.INSERTNX" => "ITEMS b c",
                "MAYHAP.AREA" => "GET b",
                "MAYHAP.ROTATE" => "TO 1",
                _ => "1 2",
            };
            let expected = match command.as_str() {
                "MAYHAP.MERGE" => "[$a $b $c]",
                _ => "[$a]",
            };
            let info = wire.ask(&format!("COMMAND INFO {command}"));
            let takes = info.split(' ').nth(1).expect("how many words it has");
            let takes: usize = takes
                .trim_start_matches([':', '-'])
                .parse()
                .expect("a number");
            let words: Vec<&str> = more.split(' ').collect();
            let words = match info.contains(" :-") {
                true => words,
                false => words[..takes - 2].to_vec(),
            };
            let ask = format!("COMMAND GETKEYS {command} a {}", words.join(" "));
            assert_eq!(wire.ask(ask.trim_end()), expected, "{command}: {info}");
            let is_readonly = info.contains("+readonly");
            assert_eq!(
                info.contains("+RO +access"),
                is_readonly || expected != "[$a]",
                "{info}"
            );
            assert_eq!(info.contains("+RW +access +update"), !is_readonly, "{info}");
        }
    });
}

#[test]
fn a_user_who_may_only_read_keys_looks_up_and_does_not_insert() {
    on_each(|server, mut wire| {
        wire.ask("BF.ADD f a");
        wire.ask("CF.ADD c a");
        wire.ask("MAYHAP.NEW m counting");
        wire.ask("MAYHAP.NEW p spatial");
        wire.ask("MAYHAP.SETAREA p 2 a");
        assert_eq!(wire.ask("ACL SETUSER reader on nopass %R~* +@all"), "+OK");
        let mut reader = Wire::new(server.port);
        assert_eq!(reader.ask("AUTH reader x"), "+OK");
        for command in ["BF.EXISTS f a", "CF.EXISTS c a", "BF.CARD f"] {
            assert_eq!(reader.ask(command), ":1", "{command}");
        }
        assert_eq!(reader.ask("MAYHAP.CONTAINS m a"), "[:0]");
        assert_eq!(reader.ask("MAYHAP.AREA p GET a b"), "[:2 _]");
        for command in [
            "BF.ADD f b",
            "CF.DEL c a",
            "MAYHAP.ADD m a",
            "BF.RESERVE g 0.01 10",
            "MAYHAP.SETAREA p 1 b",
        ] {
            assert!(reader.ask(command).starts_with("-NOPERM"), "{command}");
        }
        // Redis 7 has other words where a module calls a command.
        assert!(reader.ask("MAYHAP.AREA p SET 1 b").starts_with('-'));
        assert_eq!(wire.ask("MAYHAP.AREA p GET b"), "[_]");
    });
}
