use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::env::TestEnv;
use crate::help::verbs;

const DIGITS: &str = "000102030405060708090a0b0c0d0e0f";

fn keyed(env: &TestEnv) {
    env.write_private("secret", &(0..16).collect::<Vec<u8>>());
    let new = "new f -n1000 -p1e-9 --scheme siphash --secret-file secret";
    env.ok(new).stdout("").silent();
    env.fed("add f --secret-file secret", "a\nb\n").code(0);
}

#[test]
fn a_secret_comes_from_a_file_of_bytes_or_digits_or_from_the_environment() {
    let env = TestEnv::new();
    keyed(&env);
    env.write_private("digits", format!("{DIGITS}\n").as_bytes());

    let check = || env.mayhap("check f").input("a\nx\nb\n");
    for run in [
        check().args("--secret-file secret"),
        check().args("--secret-file digits"),
        check().env("MAYHAP_SECRET", DIGITS),
        check().env("MAYHAP_SECRET", DIGITS.to_uppercase()),
        check().env("MAYHAP_SECRET_FILE", "secret"),
    ] {
        run.run().code(0).stdout("a\nb\n").silent();
    }
    let uniq = env.mayhap("uniq --seen f").env("MAYHAP_SECRET", DIGITS);
    uniq.input("b\nc\n").run().code(0).stdout("c\n");
    for words in ["info f", "verify f", "merge g f"] {
        env.mayhap(words).env("MAYHAP_SECRET", DIGITS).run().code(0);
    }
}

/// Filters that hold a key of their own merge only with those that were made like them.
#[test]
fn a_filter_that_uniq_makes_has_its_own_key_and_one_made_like_it_has_the_same() {
    let env = TestEnv::new();
    let seen = |name: &str, lines: &str| {
        let words = format!("uniq --quiet -n1000 -p1e-9 --seen {name}");
        env.gives(&words, lines, lines);
    };
    seen("f", "a\nb\n");
    seen("other", "c\n");

    env.fails(
        "merge all f other",
        &["by another key", "mayhap new", "--like"],
    );
    env.ok("new like --like f").silent();
    seen("like", "c\n");
    env.ok("merge all f like");

    env.gives("check all", "a\nb\nc\nd\n", "a\nb\nc\n");
    let info = env.ok("info all");
    assert!(
        info.text()
            .contains("universal, by its own key, in the file")
    );
    let info = env.ok("info --json f all");
    let key = u64::from_le_bytes(env.read("f")[16..24].try_into().expect("eight bytes"));
    for shown in [key.to_string(), format!("{key:x}"), format!("{key:X}")] {
        assert!(!info.text().contains(&shown), "{}", info.text());
    }
    let explained = env.ok("explain f a");
    assert!(explained.text().contains("universal"));
    // With a shape and a promise of its own, but nothing in it.
    let of = |name: &str| env.info(name);
    env.ok("new empty --like f");
    for field in [
        "kind",
        "scheme",
        "bits",
        "hashes",
        "capacity",
        "promised_rate",
    ] {
        assert_eq!(of("f")[field], of("empty")[field], "{field}");
    }
    assert_eq!(of("empty")["ones"], 0);

    env.fails("new g --like f -n 10", &["--like"]);
}

#[test]
fn without_its_secret_a_keyed_filter_answers_nothing() {
    let env = TestEnv::new();
    keyed(&env);
    let before = env.read("f");

    for words in [
        "check f",
        "add f",
        "explain f a",
        "merge g f",
        "uniq --seen f",
    ] {
        let run = || env.mayhap(words).input("a\n");
        run()
            .run()
            .fails_with(&["f", "secret", "hint", "MAYHAP_SECRET"]);
        let wrong = run().env("MAYHAP_SECRET", DIGITS.replace('a', "b")).run();
        wrong.fails_with(&["f", "secret"]);
    }
    assert_eq!(env.read("f"), before);
    assert_eq!(env.names(), ["f", "secret"]);
}

#[test]
fn the_secret_is_not_in_the_file_nor_in_any_output() {
    let env = TestEnv::new();
    keyed(&env);

    let secret = env.read("secret");
    let file = env.read("f");
    assert!(!file.windows(16).any(|window| window == secret));
    let info = env.ok("info f --secret-file secret");
    assert!(!info.text().contains(&DIGITS[4..]), "{}", info.text());
    let info = env.ok("info --json f --secret-file secret");
    assert_eq!(info.json()["scheme"], "siphash");
    assert!(!info.text().contains(&DIGITS[4..]), "{}", info.text());
}

#[test]
fn what_is_no_secret_is_refused() {
    let env = TestEnv::new();
    let new = "new f -n1000 -p0.01 --scheme siphash";

    env.fails(new, &["siphash needs a secret", "hint"]);
    for secret in [
        "",
        "short",
        "g00102030405060708090a0b0c0d0e0f",
        "+0102030405060708090a0b0c0d0e0f0",
    ] {
        let run = env.mayhap(new).env("MAYHAP_SECRET", secret).run();
        run.fails_with(&["MAYHAP_SECRET", "32 hex digits"]);
    }
    env.write_private("secret", &[7; 17]);
    let run = env.mayhap(new).args("--secret-file secret").run();
    run.fails_with(&["secret holds no secret", "16 bytes"]);
    let run = env.mayhap(new).args("--secret-file missing").run();
    run.fails_with(&["cannot read missing"]);
    assert_eq!(env.names(), ["secret"]);
}

#[test]
fn a_secret_that_others_may_read_is_used_with_a_warning() {
    let env = TestEnv::new();
    keyed(&env);
    for (mode, is_open) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true)] {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(env.path("secret"), permissions).expect("it is ours");
        let check = || {
            let run = env.mayhap("check f --secret-file secret");
            run.input("a\n")
        };

        let outcome = check().run().code(0).stdout("a\n");

        let warnings = outcome.stderr.matches("warning: ").count();
        assert_eq!(warnings, usize::from(is_open), "{}", outcome.stderr);
        if is_open {
            outcome.says(&["others may read the secret in secret", "chmod 600 secret"]);
        }
        check().args("-q --quiet").run().code(0).silent();
    }
}

#[test]
fn what_is_no_small_regular_file_is_no_secret() {
    let env = TestEnv::new();
    keyed(&env);
    env.shell("mkfifo pipe; mkdir folder; head -c 300M /dev/zero > large")
        .run()
        .code(0);
    for (name, words) in [
        ("/dev/zero", "not a regular file"),
        ("/dev/urandom", "not a regular file"),
        ("pipe", "not a regular file"),
        ("folder", "not a regular file"),
        ("large", "holds no secret"),
    ] {
        let run = env.mayhap(&format!("check f --secret-file {name}"));
        run.input("a\n").run().code(2).says(&[name, words]);
    }
}

/// A secret alone once made a filter without one, and `build` wanted a word of its own.
#[test]
fn a_secret_means_a_keyed_filter_wherever_one_is_made() {
    let env = TestEnv::new();
    env.write("secret", (0..16).collect::<Vec<u8>>());
    env.write("keys", "a\nb\n");

    for (name, words) in [
        ("new", "new new -n1000 -p1e-6"),
        ("scalable", "new scalable -n1000 -p1e-6 --kind=scalable"),
        ("counting", "new counting -n1000 -p1e-6 --kind=counting"),
        ("bits", "new bits --bits=5120 --hashes=5"),
        ("fuse", "build fuse keys -p0.001"),
        ("ribbon", "build ribbon keys -p0.001 --kind=ribbon"),
        ("blocked", "build blocked keys -p0.001 --kind=blocked"),
        ("seen", "uniq --quiet --seen=seen keys"),
    ] {
        let run = env.mayhap(words).env("MAYHAP_SECRET_FILE", "secret").run();
        run.code(0);
        let info = env.mayhap(&format!("info --json {name}"));
        let info = info.args("--secret-file secret").run().code(0);
        assert_eq!(info.json()["scheme"], "siphash", "{name}");
        env.fails(&format!("check {name}"), &["secret"]);
    }
}

#[test]
fn a_secret_that_a_filter_cannot_have_is_refused() {
    let env = TestEnv::new();
    env.write("keys", "a\nb\n");

    for words in [
        "new f -n1000 -p0.01 --scheme=rapidhash",
        "new f -n1000 -p0.01 --scheme=guava64",
        "new f -n1000 -p0.01 --format=guava",
        "new f -n1000 -p0.01 --kind=split-block",
        "build f keys -p0.01 --kind=split-block",
        "build f keys -p0.01 --kind=shifting-multiplicity",
        "new f keys -p0.01 --scheme=rapidhash",
    ] {
        let run = env.mayhap(words).env("MAYHAP_SECRET", DIGITS).run();
        run.fails_with(&["a secret is given", "takes none", "hint"]);
    }
    assert_eq!(env.names(), ["keys"]);
}

#[test]
fn a_secret_that_is_typed_is_used_or_refused() {
    let env = TestEnv::new();
    env.write_private("secret", &(0..16).collect::<Vec<u8>>());
    env.write("keys", "a\n");
    env.filter("f", 100, 1e-9, "a\n");
    let before = env.read("f");

    for words in [
        "add f keys",
        "merge g f",
        "convert f g --to native",
        "guard f keys",
        "uniq --seen f keys",
        "check f keys",
        "check --no-verify f keys",
        "explain f a",
        "overlap f f",
    ] {
        let run = env.mayhap(words).args("--secret-file secret").run();
        run.fails_with(&["a secret is given, but f was made without one", "hint"]);
    }
    // Nothing is looked up by these, so it is only said.
    for verb in ["info", "verify"] {
        let run = env.mayhap(&format!("{verb} f --secret-file secret")).run();
        run.code(0).says(&["no secret is needed"]);
        env.ok(&format!("{verb} f")).silent();
    }
    for words in ["uniq keys", "uniq -c keys", "uniq --memory=1M"] {
        let run = env.mayhap(words).args("--secret-file secret").run();
        run.fails_with(&["--secret-file is for a filter", "--seen"]);
    }
    assert_eq!(env.read("f"), before);
    assert_eq!(env.names(), ["f", "keys", "secret"]);
    // A variable is a default, for the filters that take a secret.
    for (name, value) in [("MAYHAP_SECRET", DIGITS), ("MAYHAP_SECRET_FILE", "secret")] {
        for words in ["add f keys", "uniq -c keys", "uniq keys"] {
            env.mayhap(words).env(name, value).run().code(0);
        }
    }
}

#[test]
fn of_several_filters_one_that_takes_the_secret_is_enough() {
    let env = TestEnv::new();
    env.write_private("secret", &[7; 16]);
    env.filter("f", 100, 1e-9, "a\n");
    let new = "new g -n100 -p1e-9 --secret-file=secret";
    env.ok(new);

    let check = "check --also=g f --secret-file=secret";
    env.gives(check, "a\nb\n", "f\ta\n");
}

#[test]
fn help_says_who_needs_a_secret() {
    let env = TestEnv::new();
    for verb in ["new", "build", "uniq"] {
        let help = env.ok(&format!("{verb} --help"));
        let text = help.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("Where others choose the keys"),
            "{verb}: {text}"
        );
        assert!(text.contains("--secret-file"), "{verb}: {text}");
    }
}

/// A line of words that the verb can do something with; a value is tried in the place of each.
fn words_of(verb: &str) -> &'static [&'static str] {
    match verb {
        "uniq" | "sort" => &["numbers"],
        "new" => &["g", "-n100", "-p0.01"],
        "build" => &["g", "numbers", "-p0.01"],
        "add" | "check" | "remove" | "count" | "area" | "guard" => &["f", "numbers"],
        "explain" => &["f", "1"],
        "info" | "verify" | "rotate" => &["f"],
        "merge" => &["g", "f", "f"],
        "overlap" => &["f", "f"],
        "convert" => &["f", "g", "--to=native"],
        "size" => &["-n100", "-p0.01"],
        _ => &[],
    }
}

/// Every line of words of a verb that has this value in one place, and whether it is there for a file of lines.
fn lines_with(env: &TestEnv, verb: &str, value: &str) -> Vec<(Vec<String>, bool)> {
    let words: Vec<String> = words_of(verb).iter().map(|word| word.to_string()).collect();
    let mut lines = vec![([&words[..], &[value.to_owned()]].concat(), true)];
    for at in (0..words.len()).filter(|at| !words[*at].starts_with('-')) {
        let mut line = words.clone();
        let is_input = line[at] == "numbers";
        line[at] = value.to_owned();
        lines.push((line, is_input));
    }
    let help = env.ok(&format!("{verb} --help"));
    let options = help.text().lines().filter_map(|line| {
        let (_, option) = line
            .split_once("--")
            .filter(|_| line.trim().starts_with('-'))?;
        let (name, _) = option
            .split_once([' ', '['])
            .filter(|_| option.contains('<'))?;
        Some(format!("--{name}={value}"))
    });
    for option in options {
        lines.push(([&words[..], &[option]].concat(), false));
    }
    lines
}

/// `info` once printed half of a secret in hexadecimal, and `uniq` the password of an address.
#[test]
fn no_message_has_a_secret_or_a_password_wherever_they_are_given() {
    const SECRET: &str = "d6063f9ac41b7e2558a0f3b9c77d11e4";
    let bytes: Vec<u8> = (0..16)
        .map(|at| u8::from_str_radix(&SECRET[2 * at..2 * at + 2], 16).expect("digits"))
        .collect();
    let env = TestEnv::new();
    let prepare = || {
        env.write_private("bytes", &bytes);
        env.write_private("digits", SECRET.as_bytes());
        env.write("numbers", "1\n2\n");
        env.write("f", env.read("filter"));
    };
    env.filter("filter", 100, 1e-9, "1\n");
    let of_letters: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
    let check = |text: &str, what: &str| {
        let text = text.to_lowercase().replace("\\x", "");
        for hidden in [SECRET, &of_letters] {
            let has = |at: usize| text.contains(&hidden[at..at + 8]);
            assert!(!(0..hidden.len() - 8).any(has), "{what}: {text}");
        }
        assert!(!text.contains("hunter2"), "{what}: {text}");
    };
    let values = [
        "bytes",
        "digits",
        "redis://user:hunter2@127.0.0.1:1#x",
        "redis://user:hunter2@127.0.0.1:1",
        "redis+unix:///none?pass=hunter2#x",
        "http://:hunter2@localhost/a#x",
    ];
    let mut tried = 0;
    for verb in verbs(&env) {
        for value in values {
            for (words, is_input) in lines_with(&env, &verb, value) {
                prepare();
                let run = env.mayhap(&verb);
                let run = words.iter().fold(run, |run, word| run.arg(word)).run();
                check(&run.stderr, &format!("{verb} {words:?}"));
                // The lines of a file are what some verbs are asked to print.
                if !is_input {
                    let stdout = String::from_utf8_lossy(&run.stdout);
                    check(&stdout, &format!("{verb} {words:?}"));
                }
                tried += 1;
            }
        }
    }
    for name in [
        "QUIET",
        "JSON",
        "THREADS",
        "MEMORY",
        "CAPACITY",
        "RATE",
        "KIND",
        "SCHEME",
        "SECRET",
        "SECRET_FILE",
        "REDIS_PASSWORD",
    ] {
        // The digits themselves belong in one variable alone.
        let digits = [SECRET, &SECRET[..31]];
        let digits = digits.into_iter().filter(|_| name == "SECRET");
        for value in values.into_iter().chain(digits) {
            for words in ["new h", "uniq", "check f", &format!("check {}", values[2])] {
                prepare();
                let run = env
                    .mayhap(words)
                    .env(&format!("MAYHAP_{name}"), value)
                    .run();
                let said = [String::from_utf8_lossy(&run.stdout), run.stderr.into()].concat();
                check(&said, &format!("MAYHAP_{name}={value} {words:?}"));
                tried += 1;
            }
        }
    }
    assert!(tried > 1000, "{tried}");
}
