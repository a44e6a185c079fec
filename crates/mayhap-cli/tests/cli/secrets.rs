use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::env::TestEnv;

const DIGITS: &str = "000102030405060708090a0b0c0d0e0f";

fn keyed(env: &TestEnv) {
    env.write_private("secret", &(0..16).collect::<Vec<u8>>());
    let new = [
        "new",
        "f",
        "-n1000",
        "-p1e-9",
        "--scheme",
        "siphash",
        "--secret-file",
        "secret",
    ];
    env.mayhap(&new).run().code(0).stdout("").silent();
    let add = env
        .mayhap(&["add", "f", "--secret-file", "secret"])
        .input("a\nb\n")
        .run();
    add.code(0);
}

#[test]
fn a_secret_comes_from_a_file_of_bytes_or_digits_or_from_the_environment() {
    let env = TestEnv::new();
    keyed(&env);
    env.write_private("digits", format!("{DIGITS}\n").as_bytes());

    let check = || env.mayhap(&["check", "f"]).input("a\nx\nb\n");
    for run in [
        check().args(&["--secret-file", "secret"]),
        check().args(&["--secret-file", "digits"]),
        check().env("MAYHAP_SECRET", DIGITS),
        check().env("MAYHAP_SECRET", DIGITS.to_uppercase()),
        check().env("MAYHAP_SECRET_FILE", "secret"),
    ] {
        run.run().code(0).stdout("a\nb\n").silent();
    }
    let uniq = env
        .mayhap(&["uniq", "--seen", "f"])
        .env("MAYHAP_SECRET", DIGITS);
    uniq.input("b\nc\n").run().code(0).stdout("c\n");
    for words in [&["info", "f"][..], &["verify", "f"], &["merge", "g", "f"]] {
        env.mayhap(words).env("MAYHAP_SECRET", DIGITS).run().code(0);
    }
}

#[test]
fn without_its_secret_a_keyed_filter_answers_nothing() {
    let env = TestEnv::new();
    keyed(&env);
    let before = env.read("f");

    for words in [
        &["check", "f"][..],
        &["add", "f"],
        &["explain", "f", "a"],
        &["merge", "g", "f"],
        &["uniq", "--seen", "f"],
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
    let info = env
        .mayhap(&["info", "f", "--secret-file", "secret"])
        .run()
        .code(0);
    assert!(!info.text().contains(&DIGITS[4..]), "{}", info.text());
    let info = env
        .mayhap(&["info", "--json", "f", "--secret-file", "secret"])
        .run()
        .code(0);
    assert_eq!(info.json()["scheme"], "siphash");
    assert!(!info.text().contains(&DIGITS[4..]), "{}", info.text());
}

#[test]
fn what_is_no_secret_is_refused() {
    let env = TestEnv::new();
    let new = ["new", "f", "-n1000", "-p0.01", "--scheme", "siphash"];

    env.mayhap(&new)
        .run()
        .fails_with(&["siphash needs a secret", "hint"]);
    for secret in [
        "",
        "short",
        "g00102030405060708090a0b0c0d0e0f",
        "+0102030405060708090a0b0c0d0e0f0",
    ] {
        let run = env.mayhap(&new).env("MAYHAP_SECRET", secret).run();
        run.fails_with(&["MAYHAP_SECRET", "32 hex digits"]);
    }
    env.write_private("secret", &[7; 17]);
    let run = env.mayhap(&new).args(&["--secret-file", "secret"]).run();
    run.fails_with(&["secret holds no secret", "16 bytes"]);
    let run = env.mayhap(&new).args(&["--secret-file", "missing"]).run();
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
            let run = env.mayhap(&["check", "f", "--secret-file", "secret"]);
            run.input("a\n")
        };

        let outcome = check().run().code(0).stdout("a\n");

        let warnings = outcome.stderr.matches("warning: ").count();
        assert_eq!(warnings, usize::from(is_open), "{}", outcome.stderr);
        if is_open {
            outcome.says(&["others may read the secret in secret", "chmod 600 secret"]);
        }
        check().args(&["--quiet"]).run().code(0).silent();
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
        let run = env.mayhap(&["check", "f", "--secret-file", name]);
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
        ("new", &["new", "new", "-n1000", "-p1e-6"][..]),
        (
            "scalable",
            &["new", "scalable", "-n1000", "-p1e-6", "--kind=scalable"],
        ),
        (
            "counting",
            &["new", "counting", "-n1000", "-p1e-6", "--kind=counting"],
        ),
        ("bits", &["new", "bits", "--bits=5120", "--hashes=5"]),
        ("fuse", &["build", "fuse", "keys", "-p0.001"]),
        (
            "ribbon",
            &["build", "ribbon", "keys", "-p0.001", "--kind=ribbon"],
        ),
        (
            "blocked",
            &["build", "blocked", "keys", "-p0.001", "--kind=blocked"],
        ),
        ("seen", &["uniq", "--quiet", "--seen=seen", "keys"]),
    ] {
        let run = env.mayhap(words).env("MAYHAP_SECRET_FILE", "secret").run();
        run.code(0);
        let info = env.mayhap(&["info", "--json", name]);
        let info = info.args(&["--secret-file", "secret"]).run().code(0);
        assert_eq!(info.json()["scheme"], "siphash", "{name}");
        env.mayhap(&["check", name]).run().fails_with(&["secret"]);
    }
}

#[test]
fn a_secret_that_a_filter_cannot_have_is_refused() {
    let env = TestEnv::new();
    env.write("keys", "a\nb\n");

    for words in [
        &["new", "f", "-n1000", "-p0.01", "--scheme=rapidhash"][..],
        &["new", "f", "-n1000", "-p0.01", "--scheme=guava64"],
        &["new", "f", "-n1000", "-p0.01", "--format=guava"],
        &["new", "f", "-n1000", "-p0.01", "--kind=split-block"],
        &["build", "f", "keys", "-p0.01", "--kind=split-block"],
        &[
            "build",
            "f",
            "keys",
            "-p0.01",
            "--kind=shifting-multiplicity",
        ],
        &["uniq", "--seen=f", "--scheme=rapidhash", "keys"],
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
        &["add", "f", "keys"][..],
        &["merge", "g", "f"],
        &["convert", "f", "g", "--to", "native"],
        &["guard", "f", "keys"],
        &["uniq", "--seen", "f", "keys"],
        &["check", "f", "keys"],
        &["check", "--no-verify", "f", "keys"],
        &["explain", "f", "a"],
        &["overlap", "f", "f"],
    ] {
        let run = env.mayhap(words).args(&["--secret-file", "secret"]).run();
        run.fails_with(&["a secret is given, but f was made without one", "hint"]);
    }
    // Nothing is looked up by these, so it is only said.
    for verb in ["info", "verify"] {
        let run = env.mayhap(&[verb, "f", "--secret-file", "secret"]).run();
        run.code(0).says(&["no secret is needed"]);
        env.mayhap(&[verb, "f"]).run().code(0).silent();
    }
    for words in [
        &["uniq", "keys"][..],
        &["uniq", "-c", "keys"],
        &["uniq", "--memory=1M"],
    ] {
        let run = env.mayhap(words).args(&["--secret-file", "secret"]).run();
        run.fails_with(&["--secret-file is for a filter", "--seen"]);
    }
    assert_eq!(env.read("f"), before);
    assert_eq!(env.names(), ["f", "keys", "secret"]);
    // A variable is a default, for the filters that take a secret.
    for (name, value) in [("MAYHAP_SECRET", DIGITS), ("MAYHAP_SECRET_FILE", "secret")] {
        for words in [
            &["add", "f", "keys"][..],
            &["uniq", "-c", "keys"],
            &["uniq", "keys"],
        ] {
            env.mayhap(words).env(name, value).run().code(0);
        }
    }
}

#[test]
fn of_several_filters_one_that_takes_the_secret_is_enough() {
    let env = TestEnv::new();
    env.write_private("secret", &[7; 16]);
    env.filter("f", 100, 1e-9, "a\n");
    let new = ["new", "g", "-n100", "-p1e-9", "--secret-file=secret"];
    env.mayhap(&new).run().code(0);

    let check = ["check", "--also=g", "f", "--secret-file=secret"];
    let run = env.mayhap(&check).input("a\nb\n").run();

    run.code(0).stdout("f\ta\n");
}

#[test]
fn help_says_who_needs_a_secret() {
    let env = TestEnv::new();
    for verb in ["new", "build", "uniq"] {
        let help = env.mayhap(&[verb, "--help"]).run().code(0);
        let text = help.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("Where others choose the keys"),
            "{verb}: {text}"
        );
        assert!(text.contains("--secret-file"), "{verb}: {text}");
    }
}
