use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::env::TestEnv;

/// The data that the library is tested with.
fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../mayhap/tests/data")
        .join(name)
}

fn json(name: &str) -> Value {
    let path = data(name);
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).expect("JSON")
}

/// A number that past 2^53 is written as a string.
fn number(value: &Value) -> i64 {
    match value {
        Value::String(digits) => digits.parse().expect("decimal"),
        value => value.as_i64().expect("an integer"),
    }
}

/// The keys that a golden file names, as lines; `None` for what cannot stand in a line.
fn lines(spec: &Value) -> Vec<Option<String>> {
    let affine = |line: &dyn Fn(i64) -> String| {
        let (start, step) = (number(&spec["start"]), number(&spec["step"]));
        let numbers = 0..number(&spec["count"]);
        let values = numbers.map(|i| start.wrapping_add(step.wrapping_mul(i)));
        values.map(|value| Some(line(value))).collect()
    };
    match spec["kind"].as_str().expect("a kind") {
        "list" => {
            let keys = spec["keys"].as_array().expect("keys").iter();
            keys.map(|key| match key {
                Value::String(text) if !text.contains('\n') => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            })
            .collect()
        }
        "template" => {
            let part = |name: &str| spec[name].as_str().expect("a text");
            let (prefix, suffix) = (part("prefix"), part("suffix"));
            affine(&|value| format!("{prefix}{value}{suffix}"))
        }
        // Wrapped to 32 bits, as intended.
        "affine32" => affine(&|value| (value as i32).to_string()),
        "affine64" | "decimal_string_of_affine64" => affine(&|value| value.to_string()),
        other => panic!("no keys of kind {other} in a line"),
    }
}

#[test]
fn a_guava_file_is_a_filter_for_every_funnel() {
    let env = TestEnv::new();
    let (mut files, mut answered) = (0, 0);
    for file in ["golden/guava_filters.json", "golden/guava33_filters.json"] {
        for case in json(file)["cases"].as_array().expect("cases") {
            let key_type = match case["funnel"].as_str().expect("a funnel") {
                "string_utf8" => "bytes",
                "unencoded_chars" => "utf16",
                "integer" => "int",
                "long" => "long",
                _ => continue,
            };
            let Some(wire) = case["wire_file"].as_str() else {
                continue;
            };
            let filter = data("golden").join(wire);
            for query in case["queries"].as_array().expect("queries") {
                let found = query["might_contain_true_at"].as_array().expect("places");
                let lines = lines(&query["keys"]);
                let places = lines.iter().enumerate().filter(|(_, line)| line.is_some());
                let mut expected = String::new();
                let mut input = String::new();
                for (place, line) in places {
                    let yes = found.contains(&place.into());
                    expected.push_str(if yes { "yes\n" } else { "no\n" });
                    input.push_str(line.as_ref().expect("a line"));
                    input.push('\n');
                    answered += 1;
                }
                if input.is_empty() {
                    continue;
                }
                println!("{wire} {key_type}");

                let run = env.mayhap(&format!("check --answers --key-type {key_type}"));
                let run = run.arg(&filter).input(input).run();

                let code = i32::from(!expected.contains("yes"));
                run.code(code).stdout(expected).silent();
            }
            files += 1;
        }
    }
    assert!(
        files >= 40 && answered > 10_000,
        "{files} files, {answered} answers"
    );
}

#[test]
fn a_guava_file_that_is_written_is_the_one_that_guava_writes() {
    let env = TestEnv::new();
    let mut files = 0;
    for case in json("golden/guava33_filters.json")["cases"]
        .as_array()
        .expect("cases")
    {
        let key_type = match case["funnel"].as_str().expect("a funnel") {
            "string_utf8" => "bytes",
            "integer" => "int",
            "long" => "long",
            _ => continue,
        };
        let specs = case["inserted"].as_array().expect("keys");
        let inserted: Option<Vec<String>> = specs.iter().flat_map(lines).collect();
        let (Some(wire), Some(keys)) = (case["wire_file"].as_str(), inserted) else {
            continue;
        };
        let capacity = case["expected_insertions"].to_string();
        let rate = case["fpp"].to_string();

        let new = format!("new f --force --format guava -n {capacity} -p {rate}");
        env.ok(&new);
        let input: String = keys.iter().map(|key| format!("{key}\n")).collect();
        let add = format!("add f --accept-rate --key-type {key_type}");
        env.fed(&add, input).code(0);

        assert!(
            env.read("f") == fs::read(data("golden").join(wire)).expect("there"),
            "{wire}"
        );
        files += 1;
    }
    assert!(files >= 3, "{files}");
}

#[test]
fn files_of_dcso_and_spark_are_filters_too() {
    let env = TestEnv::new();
    // Key number i is `clé-` and i; the first thousand were inserted.
    let keys: String = (0..1000).map(|i| format!("cl\u{e9}-{i}\n")).collect();
    for file in [
        "foreign/dcso/texts-1000-0.001.bloom",
        "foreign/spark/v1-texts-1000-14377-0.bin",
        "foreign/spark/v2-texts-1000-14377-0.bin",
    ] {
        let path = data(file);
        let check = env.mayhap("check -c").arg(&path).input(&keys).run();
        check.code(0).stdout("1000\n");
        env.mayhap("info").arg(&path).run().code(0);
        env.mayhap("verify").arg(&path).run().code(0);
    }
}

#[test]
fn a_dump_of_redisbloom_is_a_filter_too_until_it_has_grown() {
    let env = TestEnv::new();
    let keys: String = (0..500).map(|i| format!("cl\u{e9}-{i}\n")).collect();
    for file in ["scaling-single.bf", "fixed-single.bf"] {
        let path = data("foreign/redisbloom").join(file);
        let check = env.mayhap("check -c").arg(&path).input(&keys).run();
        check.code(0).stdout("500\n");
        let info = env.mayhap("info").arg(&path).run().code(0);
        assert!(info.text().contains("redisbloom"), "{}", info.text());
        env.mayhap("verify").arg(&path).run().code(0);
    }
    let grown = data("foreign/redisbloom").join("grown.bf");
    let run = env.mayhap("info").arg(&grown).run();
    run.fails_with(&["number of layers", "has grown", "BF.LOADCHUNK"]);
}

/// The count of 65 793 keys, 01 01 01 and zeros, is a header of Guava's as well: such a dump was refused, and no verb
/// took the name of its format.
#[test]
fn a_dump_that_begins_as_files_of_guava_do_is_read_and_every_verb_takes_the_format() {
    let env = TestEnv::new();
    let new = "new f --format redisbloom -n100000 -p0.01";
    env.ok(new);
    let mut dump = env.read("f");
    for count in [0, 36] {
        dump[count..count + 8].copy_from_slice(&65_793_u64.to_le_bytes());
    }
    let native = "convert f g --to native";
    for (words, code) in [
        ("check f", 1),
        ("explain f key", 1),
        ("info f", 0),
        ("verify f", 0),
        ("overlap f f", 1),
        ("add f", 0),
        ("merge f f", 0),
        (native, 0),
    ] {
        env.write("f", &dump);
        env.fed(words, "key\n").code(code);
        let _ = fs::remove_file(env.path("g"));
        env.write("f", &dump);
        let named = env.mayhap(words).args("--format redisbloom");
        named.input("key\n").run().code(code);
        let _ = fs::remove_file(env.path("g"));
        env.write("f", &dump);
        let wrong = env.mayhap(words).args("--format guava");
        wrong.input("key\n").run().fails_with(&["f: ", "Guava"]);
    }
    env.fails(
        "info f --format native",
        &["redisbloom", "--format is native"],
    );
}

#[test]
fn a_line_that_is_no_key_of_its_type_is_named_with_its_number() {
    let env = TestEnv::new();
    env.ok("new f --format guava -n100 -p0.01");
    for (key_type, input, words) in [
        ("long", &b"1\nx\n"[..], &["64 bits", "line 2"][..]),
        ("long", b"9223372036854775808\n", &["64 bits", "line 1"]),
        ("int", b"1\n2\n2147483648\n", &["32 bits", "line 3"]),
        ("int", b"\n", &["32 bits", "line 1"]),
        ("utf16", b"\xFF\n", &["UTF-8", "line 1"]),
    ] {
        for verb in ["add", "check"] {
            let run = env.fed(&format!("{verb} f --key-type {key_type}"), input);
            run.fails_with(words);
        }
    }
    // Blanks around a number, and a sign, are fine.
    env.fed("add f --key-type long", " -7 \r\n").code(0);
    env.gives("check f --key-type long", "-7\n7\n", "-7\n");
}

/// The data came after the filter, and were cut off when a key was added.
#[test]
fn data_attached_to_a_dcso_file_outlast_every_change() {
    let env = TestEnv::new();
    let attached = |name: &str| {
        let file = env.read(name);
        let bits = u64::from_le_bytes(file[32..40].try_into().expect("8 bytes"));
        file[48 + bits.div_ceil(64) as usize * 8..].to_vec()
    };
    let attach = |name: &str, data: &[u8]| {
        let mut file = env.read(name);
        file.extend_from_slice(data);
        env.write(name, file);
    };
    for name in ["f", "g"] {
        let new = format!("new {name} --format dcso -n 100 -p 1e-6");
        env.ok(&new);
    }
    attach("f", b"seen in March\0\n");
    let data = attached("f");
    assert_eq!(data, b"seen in March\0\n");

    env.fed("add f", "a\n").code(0);
    assert_eq!(attached("f"), data);
    env.gives("uniq --seen f", "a\nb\n", "b\n");
    assert_eq!(attached("f"), data);
    env.ok("convert f copy --to dcso").silent();
    assert_eq!(attached("copy"), data);
    env.ok("merge both g f").silent();
    assert_eq!(attached("both"), data);
    // What is left out is reported.
    attach("g", b"April");
    let merge = env.ok("merge g g f");
    merge.says(&["warning: the data attached to f are left out"]);
    assert_eq!(attached("g"), b"April");
    let convert = env.mayhap("convert f native --to native").run();
    convert.code(0).says(&["15 B of data in f are left out"]);
    env.gives("check f", "a\nb\nc\n", "a\nb\n");
}

#[test]
fn a_filter_that_is_compressed_is_read_and_not_changed() {
    // DCSO's bloom compresses its files when told to.
    let env = TestEnv::new();
    env.ok("new plain --format dcso -n 100 -p 1e-6");
    env.fed("add plain", "a\nb\n").code(0);
    let script = "gzip -c plain > packed && gzip -l packed > /dev/null";
    env.shell(script).run().code(0);

    let packed = env.read("packed");
    env.gives("check packed", "a\nx\n", "a\n");
    env.fed("add packed", "c\n").code(2).says(&["compressed"]);
    assert_eq!(env.read("packed"), packed);
    env.ok("convert packed again --to dcso");
    assert_eq!(env.read("again"), env.read("plain"));
}
