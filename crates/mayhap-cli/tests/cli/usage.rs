use crate::env::{TestEnv, numbers};

#[test]
fn what_cannot_be_typed_is_an_error() {
    let env = TestEnv::new();
    for words in [
        &[][..],
        &["nothing"],
        &["uniq", "--nothing"],
        &["uniq", "-c", "-d"],
        &["uniq", "-c", "-u"],
        &["uniq", "-c", "-v"],
        &["uniq", "-c", "--exact"],
        &["uniq", "-d", "--seen", "f"],
        &["uniq", "--exact", "--memory", "1M"],
        &["uniq", "--exact", "--seen", "f"],
        &["uniq", "-k", "0"],
        &["uniq", "-k", "2,1"],
        &["uniq", "-k", "1", "-b", "1"],
        &["uniq", "-t", "ab"],
        &["uniq", "--memory", "much"],
        &["uniq", "--threads", "0"],
        &["check"],
        &["check", "f", "--answers", "-v"],
        &["check", "f", "-q", "-c"],
        &["merge", "out"],
        &["completions", "tcl"],
    ] {
        let run = env.mayhap(words).input("a\n").run().code(2).stdout("");
        assert!(
            run.stderr.contains("Usage") || run.stderr.starts_with("error"),
            "{words:?}"
        );
    }
}

#[test]
fn verbs_that_moved_say_where_they_went_whatever_follows_them() {
    let env = TestEnv::new();
    for (words, instead) in [
        (&["eval"][..], "mayhap-lab rate, speed or posts"),
        (
            &["eval", "rate", "-n", "1k", "--kind", "bloom"],
            "mayhap-lab rate",
        ),
        (&["eval", "--help"], "mayhap-lab rate"),
        (&["explore", "-"], "mayhap-lab explore"),
        (&["explore", "--version"], "mayhap-lab explore"),
    ] {
        let run = env.mayhap(words).run().code(2).stdout("");
        run.says(&[instead, "cargo install mayhap-lab"]);
    }
}

#[test]
fn no_message_shows_how_a_program_prints_its_own_values() {
    let env = TestEnv::new();
    let new = |name: &str, words: &str| {
        let script = format!("mayhap new {name} {words}");
        env.shell(&script).run().code(0);
    };
    env.write("keys", "a\nb\n");
    env.write("secret", [7; 16]);
    env.write("other", [8; 16]);
    env.shell("chmod 600 secret other").run().code(0);
    // Two of each kind that differ in shape, and one that differs in scheme.
    for (kind, more) in [
        ("bloom", "--scheme guava64"),
        ("blocked", "--scheme rapidhash-protected"),
        ("split-block", ""),
        ("counting", "--counter-bits 8"),
        ("spectral", "--policy recurring-minimum"),
        ("shifting", "--scheme rapidhash-protected"),
        ("spatial", "--areas 3"),
        ("scalable", "--scheme rapidhash-protected"),
        ("windowed", "--rotate-by command"),
        ("guarded", "--scheme rapidhash-protected"),
    ] {
        new(kind, &format!("--kind {kind} -n 1000 -p 1%"));
        new(
            &format!("{kind}-2"),
            &format!("--kind {kind} -n 5000 -p 1%"),
        );
        new(
            &format!("{kind}-3"),
            &format!("--kind {kind} -n 1000 -p 1% {more}"),
        );
    }
    for (name, secret) in [("keyed", "secret"), ("keyed-2", "other")] {
        new(name, &format!("-n 1000 -p 1% --secret-file {secret}"));
    }
    env.mayhap(&["build", "fuse", "keys", "-p", "1%"])
        .run()
        .code(0);
    let filters: Vec<String> = env
        .names()
        .into_iter()
        .filter(|name| !["keys", "secret", "other"].contains(&name.as_str()))
        .collect();
    let mut scripts = Vec::new();
    for filter in &filters {
        for format in ["guava", "spark", "parquet", "dcso"] {
            scripts.push(format!("mayhap convert {filter} out --to {format}"));
        }
        let kind = filter.split('-').next().expect("a kind");
        for other in filters
            .iter()
            .filter(|other| other.starts_with(kind) || *other == "fuse")
        {
            scripts.push(format!(
                "mayhap merge out {filter} {other} --secret-file secret"
            ));
            scripts.push(format!("mayhap merge --intersection out {filter} {other}"));
        }
        for verb in [
            "count",
            "area",
            "remove",
            "guard",
            "rotate",
            "add --area 1",
            "add --grow",
        ] {
            scripts.push(format!("mayhap {verb} {filter} < /dev/null"));
        }
    }
    for kind in mayhap::Kind::ALL {
        for more in [
            "--scheme dcso",
            "--scheme siphash",
            "--format guava",
            "--bits 7 --hashes 99999",
        ] {
            scripts.push(format!("mayhap new x --kind {kind} -n 10 -p 1% {more}"));
        }
        scripts.push(format!("mayhap new x --kind {kind} -n 10 -p 1e-30"));
        scripts.push(format!("mayhap new x --kind {kind} -n 1e18 -p 1e-3"));
    }
    let all = scripts
        .iter()
        .map(|script| format!("{script}; rm -f x out\n"));
    let run = env.shell(&all.collect::<String>()).run();
    let messages = run.stderr;
    assert!(messages.matches("error: ").count() > 100, "{messages}");
    for line in messages.lines() {
        // As Debug prints a struct, a tuple, an option.
        let is_debug = [
            "{ ",
            " }",
            "Some(",
            "None",
            "Rapidhash",
            "SipHash",
            "Shape",
            "::",
        ];
        let debug = is_debug.iter().find(|text| line.contains(**text));
        assert!(debug.is_none(), "{debug:?}: {line}");
    }
}

#[test]
fn the_environment_gives_defaults() {
    let env = TestEnv::new();

    let new = env.mayhap(&["new", "f"]);
    let new = new.env("MAYHAP_CAPACITY", "5k").env("MAYHAP_RATE", "2%");
    let new = new.env("MAYHAP_KIND", "bloom").env("MAYHAP_SCHEME", "dcso");
    let info = new.env("MAYHAP_JSON", "1").run().code(0).json();
    assert_eq!(
        (&info["capacity"], &info["promised_rate"]),
        (&5000.into(), &0.02.into())
    );
    assert_eq!(
        (&info["kind"], &info["scheme"]),
        (&"bloom".into(), &"dcso".into())
    );

    // A word on the command line wins.
    let new = env.mayhap(&["new", "g", "--capacity", "7", "--rate", "0.1", "--json"]);
    let new = new.env("MAYHAP_CAPACITY", "5k").env("MAYHAP_RATE", "2%");
    assert_eq!(new.run().code(0).json()["capacity"], 7);

    let quiet = env.mayhap(&["uniq"]).env("MAYHAP_QUIET", "1");
    quiet.input("a\na\n").run().code(0).stdout("a\n").silent();
    for off in ["0", "false", ""] {
        let loud = env.mayhap(&["uniq"]).env("MAYHAP_QUIET", off);
        loud.input("a\na\n").run().code(0).says(&["2 lines"]);
    }
    let threads = env.mayhap(&["uniq"]).env("MAYHAP_THREADS", "many");
    threads.input("a\n").run().fails_with(&["many"]);
    for threads in ["1", "2"] {
        let run = env.mayhap(&["uniq"]).env("MAYHAP_THREADS", threads);
        run.input("a\na\n").run().code(0).stdout("a\n");
    }
}

#[test]
fn a_memory_budget_from_the_environment_is_a_default_and_no_demand() {
    let env = TestEnv::new();
    let input = numbers(0..200_000);
    let store = |words: &[&str]| {
        let run = env
            .mayhap(&["uniq", "--json"])
            .args(words)
            .env("MAYHAP_MEMORY", "1M");
        let run = run.input(&input).run().code(0);
        // A budget that is used up is warned of first.
        let summary = run.stderr.lines().last().expect("a summary");
        let summary: serde_json::Value = serde_json::from_str(summary).expect("JSON");
        summary["store"].as_str().expect("a name").to_owned()
    };

    assert_eq!(store(&[]), "blocked");
    assert_eq!(store(&["--memory", "1G"]), "hashes");
    assert_eq!(store(&["--rate", "0.01"]), "scalable");
    for words in [&["--exact"][..], &["-c"], &["-d"], &["-u"]] {
        let run = env
            .mayhap(&["uniq", "--quiet"])
            .args(words)
            .env("MAYHAP_MEMORY", "1M");
        run.input("a\n").run().code(0);
    }
    let run = env
        .mayhap(&["uniq"])
        .env("MAYHAP_MEMORY", "lots")
        .input("a\n")
        .run();
    run.fails_with(&["MAYHAP_MEMORY", "lots"]);
}

#[test]
fn options_that_would_change_nothing_are_errors() {
    let env = TestEnv::new();
    env.write("keys", "a\n");
    for (words, said) in [
        (
            "new f -n10 -p0.1 --expire 7d",
            &["--expire", "f is a file", "redis://"][..],
        ),
        ("new f -n10 -p0.1 --shards 3", &["--shards", "f is a file"]),
        ("new f -n10 -p0.1 --spread", &["--spread", "f is a file"]),
        (
            "new f --bits 1024 --hashes 3 -n 10",
            &["--bits", "--capacity"],
        ),
        ("new f --bits 1024 --hashes 3 -p 0.1", &["--bits", "--rate"]),
        (
            "new f --bits 1024 --hashes 3 --areas 5",
            &["--areas", "--bits"],
        ),
        (
            "new f -n10 -p0.1 --format guava --label x",
            &["--label", "leave out"],
        ),
        (
            "build f keys -p0.1 --excluded keys",
            &["--excluded", "--kind cascade"],
        ),
        (
            "build f keys -p0.1 --second keys",
            &["--second", "--kind shifting-association"],
        ),
        (
            "build f keys --kind cascade --excluded keys -p0.1",
            &["--rate", "cascade"],
        ),
        ("build f keys", &["--rate"]),
        ("new f -n10 -p0.1 -k 1", &["files of keys"]),
        ("uniq --exact --rate 1%", &["--exact", "--rate"]),
        ("uniq --exact --capacity 5", &["--exact", "--capacity"]),
        ("uniq --memory 1M --rate 1%", &["--memory", "--rate"]),
        ("uniq -c --rate 1%", &["--count", "--rate"]),
        ("uniq -u --capacity 5", &["--unique", "--capacity"]),
        (
            "uniq --capacity 5",
            &["--capacity", "hashes are kept", "--rate P"],
        ),
        // Only `new` asks how a filter is made.
        (
            "uniq --kind bloom --rate 1%",
            &["mayhap new --kind bloom FILTER", "uniq --seen FILTER"],
        ),
        (
            "uniq --seen f --bits=1024 --hashes 3",
            &["mayhap new --bits=1024 FILTER"],
        ),
        // What the parser is to require it does not where something else on the line excludes it.
        ("new f -n10 -p0.1 --hashes 3", &["--hashes", "--capacity"]),
        ("uniq -u --checkpoint=1M", &["--checkpoint", "--seen"]),
        ("uniq -c --new-run", &["--new-run", "--seen"]),
        ("uniq --exact --checkpoint", &["--checkpoint", "--seen"]),
        ("uniq --grow", &["--grow", "--seen"]),
        ("uniq --rate 1% -n10 --grow", &["--grow", "--seen"]),
        ("uniq --memory 1M --wait", &["--wait", "--seen"]),
        ("uniq --accept-rate", &["--accept-rate", "--rate P"]),
        ("uniq -d --accept-rate", &["--accept-rate", "--rate P"]),
        (
            "uniq -i --key-type long",
            &["--ignore-case", "numbers", "--key-type"],
        ),
        (
            "build f keys -p0.1 -i --key-type int",
            &["--ignore-case", "numbers"],
        ),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        env.mayhap(&words).input("a\n").run().fails_with(said);
    }
    assert_eq!(env.names(), ["keys"]);
}

#[test]
fn a_filter_that_is_there_is_what_was_asked_for() {
    let env = TestEnv::new();
    let uniq = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        env.mayhap(&["uniq", "--quiet"])
            .args(&words)
            .input("a\n")
            .run()
    };
    let made = "--seen f --rate 1% --capacity 1k";
    uniq(made).code(0).stdout("a\n");
    let before = env.read("f");

    for (words, said) in [
        (
            "--seen f --rate 2%",
            &["--rate 0.02", "f has 0.01", "leave out --rate"][..],
        ),
        ("--seen f --capacity 2k", &["--capacity 2000", "f has 1000"]),
    ] {
        uniq(words).fails_with(said);
    }
    assert_eq!(env.read("f"), before);

    // The same words are fine, each alone and all together.
    uniq(made).code(0).stdout("");
    for words in ["--rate 0.01", "--capacity 1000"] {
        uniq(&format!("--seen f {words}")).code(0).stdout("");
    }
    // So they are when the filter grows, and when its size was not given.
    for words in [
        "--seen g --rate 1% --capacity 100 --grow",
        "--seen h --rate 1%",
    ] {
        uniq(words).code(0).stdout("a\n");
        uniq(words).code(0).stdout("");
    }
}

#[test]
fn a_filter_of_any_kind_remembers_lines() {
    let env = TestEnv::new();
    for kind in mayhap::Kind::ALL {
        if kind.inserts() == mayhap::Inserts::Never {
            continue;
        }
        let name = kind.name();
        let new = ["new", name, "-n1k", "-p1e-6", "--kind", name];
        env.mayhap(&new).run().code(0);
        for expected in ["a\n", ""] {
            let uniq = env.mayhap(&["uniq", "--quiet", "--seen", name]);
            uniq.input("a\n").run().code(0).stdout(expected);
        }
    }
}

#[test]
fn words_that_people_try_are_understood() {
    let env = TestEnv::new();
    env.write("keys", "a\n");
    for words in [
        "create f -n 10 -p 1e-6",
        "insert f keys",
        "contains f keys",
        "test f keys",
        "stats f",
        "show f",
        "verify f",
        "union g f f",
        "plan -n 10 -p 1%",
        "build h keys -p 1%",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        env.mayhap(&words).run().code(0);
    }
    let uniq = env.mayhap(&["dedupe", "--quiet"]).input("a\na\n").run();
    uniq.code(0).stdout("a\n");
    for (words, said) in [
        (&["UNIQ"][..], "'uniq'"),
        (&["Info", "f"], "'info'"),
        (&["version"], "mayhap --version"),
        (&["check", "-n", "f"], "check --line-number"),
        (&["check", "-o", "f"], "check --print key"),
        (&["check", "--only-matching", "f"], "check --print key"),
        (&["size", "-m", "5M"], "size --memory"),
    ] {
        env.mayhap(words).run().fails_with(&[said]);
    }
}

#[test]
fn a_flag_that_is_given_twice_is_no_error_and_two_values_are() {
    let env = TestEnv::new();
    let flags = ["uniq", "--quiet", "-i", "--quiet", "-i", "-v", "-v"];
    let run = env.mayhap(&flags).input("a\nA\n").run();
    run.code(0).stdout("A\n").silent();
    let run = env.mayhap(&["uniq", "--seen=f", "--seen=g"]).run();
    run.fails_with(&["--seen"]);
    assert!(env.names().is_empty());
}

#[test]
fn no_variable_makes_an_option_an_error() {
    let env = TestEnv::new();
    env.filter("f", 100, 1e-9, "a\n");
    env.write("keys", "a\n");
    for words in [
        "uniq --exact",
        "uniq --memory 1M",
        "uniq -c",
        "uniq -d",
        "uniq -u",
        "uniq --seen f",
        "new shaped --bits 1024 --hashes 3",
        "build cascade --kind cascade --excluded keys",
        "build fuse keys",
        "new counted keys",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let run = env.mayhap(&words).input("b\n");
        let run = run.env("MAYHAP_RATE", "5%").env("MAYHAP_CAPACITY", "77");
        let run = run.env("MAYHAP_KIND", "bloom").env("MAYHAP_MEMORY", "1M");
        run.env("MAYHAP_SCHEME", "rapidhash").run().code(0);
    }
    for name in [
        "MAYHAP_RATE",
        "MAYHAP_CAPACITY",
        "MAYHAP_KIND",
        "MAYHAP_SCHEME",
    ] {
        let run = env.mayhap(&["new", "g", "-n10", "-p0.1"]).env(name, "much");
        run.run().fails_with(&[name, "much"]);
    }
}
