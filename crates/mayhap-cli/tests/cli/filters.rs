use serde_json::Value;

use crate::env::TestEnv;

#[test]
fn the_forms_that_scripts_rely_on() {
    let env = TestEnv::new();
    env.write("keys", "a\nb\nc\n");
    env.write("more", "d\n");

    let run = |words: &str| env.fed(words, "a\nx\n");
    run("new f --capacity 1000 --rate 1e-9")
        .code(0)
        .stdout("")
        .silent();
    run("add f keys more")
        .code(0)
        .stdout("")
        .says(&["4 keys, 4 of them new"]);
    run("add f -").code(0).says(&["2 keys, 1 of them new"]);
    run("check f keys").code(0).stdout("a\nb\nc\n").silent();
    run("check f").code(0).stdout("a\nx\n");
    run("check f -").code(0).stdout("a\nx\n");
    run("check f more -")
        .code(0)
        .stdout("more:d\nstandard input:a\nstandard input:x\n");
    run("info f").code(0);
    run("verify f")
        .code(0)
        .stdout("f: every checksum matches\n");
    run("merge all f f").code(0).stdout("").silent();
    run("check -c all keys").code(0).stdout("3\n");
    run("new g -n 1000 -p 0.01 --kind bloom --scheme guava64").code(0);
    run("convert g g.guava --to guava")
        .code(0)
        .stdout("")
        .silent();
    run("uniq keys more keys").code(0).stdout("a\nb\nc\nd\n");
    run("size --capacity 1000 --rate 0.01").code(0);
    assert_eq!(env.names(), ["all", "f", "g", "g.guava", "keys", "more"]);
}

#[test]
fn check_answers_as_grep_does() {
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\nb\n");
    let check = |options: &str, input: &str| {
        env.mayhap("check f")
            .args(options)
            .input(input)
            .run()
            .silent()
    };

    check("", "x\na\ny\nb\na\n").code(0).stdout("a\nb\na\n");
    check("", "x\ny\n").code(1).stdout("");
    check("-v", "x\na\ny\n").code(0).stdout("x\ny\n");
    check("-v", "a\nb\n").code(1).stdout("");
    check("-c", "x\na\nb\n").code(0).stdout("2\n");
    check("-c", "x\n").code(1).stdout("0\n");
    check("-c -v", "x\na\nb\n").code(0).stdout("1\n");
    check("-q", "x\na\n").code(0).stdout("");
    check("-q", "x\n").code(1).stdout("");
    check("-q -v", "a\n").code(1).stdout("");
    check("-q -v", "a\nx\n").code(0).stdout("");
    check("--answers", "x\na\n").code(0).stdout("no\nyes\n");
    check("--answers", "x\ny\n").code(1).stdout("no\nno\n");
    check("--no-verify", "a\n").code(0).stdout("a\n");
}

#[test]
fn check_chooses_by_field_and_prints_the_line() {
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "ann\nbob\n");

    let run = env
        .mayhap("check f -k 2 -t ,")
        .input("1,ann\n2,eve\n3,bob,x\n");
    run.run().code(0).stdout("1,ann\n3,bob,x\n");
    let run = env
        .mayhap("check f -b 3-5")
        .input("1 ann\n2 eve\n3 bobby\n");
    run.run().code(0).stdout("1 ann\n3 bobby\n");
    let run = env.mayhap("check f -i").input("ANN\nEve\nBob\n");
    run.run().code(0).stdout("ANN\nBob\n");
    env.fed("add f -i -k3", "x y EVE z\n").code(0);
    env.gives("check f", "eve\nEVE\n", "eve\n");
}

#[test]
fn every_kind_finds_all_keys_in_the_same_order_with_any_number_of_threads() {
    let env = TestEnv::new();
    let keys: String = (0..30_000).map(|i| format!("key {i}\n")).collect();
    let absent: String = (0..30_000).map(|i| format!("absent {i}\n")).collect();
    for kind in ["blocked", "bloom", "split-block"] {
        let new = format!("new f --force -n30000 -p0.001 --kind {kind}");
        env.ok(&new);
        env.fed("add f --threads 2", &keys).code(0);
        let one = env.fed("check f --threads 1", &absent);
        // A rate of 0.1 %: 30 of 30 000 are expected; 75 are eight standard deviations away.
        let found = one.text().lines().count();
        assert!(found < 75, "{kind}: {found} false positives");
        for threads in ["1", "2", "3"] {
            let check = |input: &str| env.fed(&format!("check f --threads {threads}"), input);
            check(&keys).code(0).stdout(&keys);
            check(&absent).stdout(&one.stdout);
        }
        let by_two = env.read("f");
        env.ok(&new);
        env.fed("add f --threads 1", &keys).code(0);
        assert!(env.read("f") == by_two, "{kind}");
    }
}

#[test]
fn new_replaces_a_file_only_when_told_to() {
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    let before = env.read("f");

    env.fails("new f -n10 -p0.1", &["f is there already", "--force"]);
    assert_eq!(env.read("f"), before);

    env.ok("new f -n10 -p0.1 --force");
    env.fed("check f", "a\n").code(1);
}

#[test]
fn new_says_what_it_needs() {
    let env = TestEnv::new();
    let new = |options: &str| env.mayhap("new f").args(options).run();

    new("").fails_with(&["--capacity", "--rate"]);
    new("--capacity 10").fails_with(&["--rate"]);
    new("--rate 0.1").fails_with(&["--capacity"]);
    new("--capacity x --rate 0.1").fails_with(&["`x` is not a count"]);
    new("--capacity 0 --rate 0.1").fails_with(&[]);
    for rate in ["0", "1", "1.5", "-1", "nan", "x"] {
        let rate = format!("--rate={rate}");
        new(&format!("--capacity 10 {rate}")).fails_with(&["is not a rate above 0 and below 1"]);
    }
    new("-n10 -p0.1 --kind cube").fails_with(&["cube", "blocked"]);
    new("-n10 -p0.1 --scheme crc").fails_with(&["crc", "rapidhash"]);
    new("-n10 -p0.1 --format zip").fails_with(&["zip", "guava"]);
    new("-n10 -p0.1 --kind blocked --scheme guava64")
        .fails_with(&["the kind blocked does not hash by guava64"]);
    new("-n10 -p0.1 --kind split-block --scheme siphash").fails_with(&["siphash"]);
    new("-n1e15 -p1e-9").fails_with(&[]);
    new("--bits 1000").fails_with(&["--hashes"]);
    assert!(env.names().is_empty());

    new("--bits 1000 --hashes 3 --kind bloom").code(0);
    let info = env.info("f");
    assert_eq!((&info["bits"], &info["hashes"]), (&1000.into(), &3.into()));
    assert_eq!(info["capacity"], Value::Null);
}

#[test]
fn every_scheme_of_new_finds_what_was_added() {
    let env = TestEnv::new();
    for scheme in [
        "rapidhash",
        "guava64",
        "guava32",
        "salted-md5",
        "salted-sha1",
        "salted-sha256",
        "three-hash",
        "murmur",
        "spark1",
        "spark2",
        "dcso",
        "redisbloom",
    ] {
        let new = "new f --force -n1000 -p0.0001 --kind bloom";
        env.mayhap(new)
            .args(&format!("--scheme {scheme}"))
            .run()
            .code(0);
        let add = env.fed("add f", "a\nb\n\nlonger key\n");
        add.code(0).says(&["4 keys, 4 of them new"]);
        env.gives("check f", "a\nlonger key\nc\n\nb\n", "a\nlonger key\n\nb\n");
        let info = env.info("f");
        assert_eq!(info["scheme"], scheme);
        let info = env.ok("info f");
        assert!(info.text().contains(scheme), "{}", info.text());
    }
}

#[test]
fn info_tells_the_truth_now() {
    let env = TestEnv::new();
    let keys: String = (0..5000).map(|i| format!("key {i}\n")).collect();
    let new = [
        "new",
        "f",
        "-n",
        "10k",
        "-p",
        "1%",
        "--label",
        "pages",
        "--created-by",
        "a test",
    ];
    env.ok(&new);
    env.fed("add f", &keys).code(0);

    let info = env.info("f");

    for (field, expected) in [
        ("filter", Value::from("f")),
        ("format", "native".into()),
        ("kind", "blocked".into()),
        ("scheme", "rapidhash".into()),
        ("capacity", 10_000.into()),
        ("promised_rate", 0.01.into()),
        ("over_capacity", false.into()),
        ("label", "pages".into()),
        ("created_by", "a test".into()),
    ] {
        assert_eq!(info[field], expected, "{field}");
    }
    let number = |field: &str| info[field].as_f64().unwrap_or_else(|| panic!("no {field}"));
    assert!((number("keys") - 5000.0).abs() < 150.0, "{info}");
    assert!((1e-5..2e-3).contains(&number("rate")), "{info}");
    assert!(
        (number("fill") - number("ones") / number("bits")).abs() < 1e-12,
        "{info}"
    );
    assert!((number("bits_per_key") * number("keys") / number("bits") - 1.0).abs() < 1e-9);
    assert!(number("hashes") >= 1.0);

    let run = env.ok("info f f");
    let text = run.text();
    for word in [
        "blocked, native format",
        "rapidhash",
        "of 10 000",
        "promised",
        "pages",
        "a test",
        "[",
    ] {
        assert!(text.matches(word).count() >= 2, "no {word} in {text}");
    }
}

#[test]
fn json_is_one_object_per_line_wherever_it_is_asked_for() {
    let env = TestEnv::new();
    let run = |words: &str| {
        env.mayhap(words)
            .arg("--json")
            .input("1\n2\n1\n")
            .run()
            .code(0)
    };

    let new = run("new f -n 100 -p 0.01").json();
    assert_eq!(
        (&new["kind"], &new["keys"]),
        (&"blocked".into(), &0.0.into())
    );
    let add = run("add f").silent().json();
    assert_eq!(
        add,
        serde_json::json!({ "filter": "f", "keys": 3, "new": 2 })
    );
    let check = run("check f -c").json();
    assert_eq!(
        check,
        serde_json::json!({ "keys": 3, "chosen": 3, "invert": false })
    );
    let merge = run("merge g f").json();
    assert_eq!(merge["filter"], "g");
    let convert = run("convert f h --to native").json();
    assert_eq!(convert["format"], "native");
    let verify = run("verify f").json();
    let expected = serde_json::json!({
        "filter": "f", "whole": true, "format": "native", "checksums": true,
    });
    assert_eq!(verify, expected);
    let info = run("info f g");
    for line in info.text().lines() {
        let row: Value = serde_json::from_str(line).expect("an object");
        assert!(row["bits"].is_u64());
    }
    assert_eq!(info.text().lines().count(), 2);
    let sort = run("sort --count").silent().json();
    assert_eq!((&sort["read"], &sort["distinct"]), (&3.into(), &2.into()));
    assert_eq!(sort["store"], "dense");
    assert!(run("size -n100 -p0.01").json()["kinds"].is_array());
}

#[test]
fn convert_writes_what_other_formats_hold_and_refuses_the_rest() {
    let env = TestEnv::new();
    for (format, scheme) in [
        ("guava", "guava64"),
        ("spark", "spark1"),
        ("dcso", "dcso"),
        ("redisbloom", "redisbloom"),
    ] {
        let new = format!("new f --force -n1000 -p0.001 --kind=bloom --scheme {scheme}");
        env.ok(&new);
        env.fed("add f", "a\nb\n").code(0);

        env.ok(&format!("convert f {format} --to {format}"));
        env.ok(&format!("convert {format} back --to native --force"));

        for filter in [format, "back"] {
            env.gives(&format!("check {filter}"), "a\nx\nb\n", "a\nb\n");
        }
        let verify = env.ok(&format!("verify {format}"));
        verify.stdout(format!(
            "{format}: whole; the format {format} has no checksums\n"
        ));
    }
    env.filter("blocked", 1000, 0.01, "a\n");
    for format in ["guava", "spark", "dcso", "parquet", "redisbloom"] {
        let run = env
            .mayhap(&format!("convert blocked out --to {format}"))
            .run();
        run.fails_with(&["blocked"]);
    }
    assert!(!env.path("out").exists());
    env.fails("convert blocked out", &["--to"]);
}

#[test]
fn build_makes_a_filter_of_exactly_these_keys() {
    let env = TestEnv::new();
    let keys: String = (0..20_000)
        .map(|i| format!("key {}\n", i % 10_000))
        .collect();
    let absent: String = (0..10_000).map(|i| format!("absent {i}\n")).collect();
    env.write("keys", &keys);
    let kinds = "fuse ribbon blocked bloom split-block scalable counting guarded";
    for kind in kinds.split(' ') {
        let build = format!("build f --force --quiet --rate 0.01 --kind {kind}");

        env.mayhap(&build)
            .arg("keys")
            .run()
            .code(0)
            .stdout("")
            .silent();

        let check = env.mayhap("check -c f keys").run();
        check.code(0).stdout("20000\n");
        // A rate of 1 %: 100 of 10 000 are expected; 160 are six standard deviations away.
        let check = env.fed("check -c f", &absent);
        let found: u32 = check.text().trim().parse().expect("a number");
        assert!(found < 160, "{kind}: {found} false positives");
        // The same from a pipe.
        let from_file = env.read("f");
        env.fed(&build, &keys).code(0);
        assert!(env.read("f") == from_file, "{kind}");
    }
    env.fails(
        "build f --rate 0.01 keys",
        &["f is there already", "--force"],
    );
}

#[test]
fn a_filter_that_cannot_take_keys_says_so() {
    let env = TestEnv::new();
    env.fed("build f --rate 0.01 --quiet", "a\n").code(0);
    let before = env.read("f");

    for words in ["add f", "uniq --seen f"] {
        env.fed(words, "b\n").fails_with(&["fuse"]);
    }

    assert_eq!(env.read("f"), before);
}
