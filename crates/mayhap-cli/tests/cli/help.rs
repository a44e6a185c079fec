use std::collections::BTreeMap;

use crate::env::TestEnv;

/// Every verb that the help names, in groups.
pub(crate) fn verbs(env: &TestEnv) -> Vec<String> {
    let help = env.mayhap(&["--help"]).run().code(0);
    let (_, groups) = help.text().split_once("Every day:\n").expect("a list");
    let (groups, _) = groups.split_once("Options of every").expect("its end");
    let verbs = groups
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let verbs: Vec<String> = verbs.map(String::from).collect();
    assert_eq!(
        verbs[..6],
        ["uniq", "check", "add", "new", "info", "merge"],
        "{groups}"
    );
    assert_eq!(verbs.len(), 16, "{groups}");
    verbs
}

#[test]
fn every_verb_explains_itself() {
    let env = TestEnv::new();
    for help in ["--help", "-h"] {
        let main = env.mayhap(&[help]).run().code(0).silent();
        for verb in &verbs(&env) {
            assert!(main.text().contains(verb), "{verb}");
            let run = env.mayhap(&[verb, help]).run().code(0).silent();
            assert!(
                run.text().contains(&format!("Usage: mayhap {verb}")),
                "{}",
                run.text()
            );
        }
    }
    let version = env.mayhap(&["--version"]).run().code(0);
    version.stdout(format!("mayhap {}\n", env!("CARGO_PKG_VERSION")));
}

/// The help of a verb, and its manual page.
fn help_and_page(env: &TestEnv, verb: &str) -> [String; 2] {
    let help = env.mayhap(&[verb, "--help"]).run().code(0);
    env.mayhap(&["man", "pages"]).run().code(0);
    let page = env.read(&format!("pages/mayhap-{verb}.1"));
    [help.text().into(), String::from_utf8(page).expect("UTF-8")]
}

#[test]
fn help_and_manual_say_what_exit_codes_mean_and_show_examples() {
    let env = TestEnv::new();
    for verb in &verbs(&env) {
        for text in help_and_page(&env, verb) {
            assert!(text.contains("Exit codes: 0"), "{verb}: {text}");
            let (_, examples) = text.split_once("Examples:").expect(verb);
            let lines = examples.lines().filter(|line| line.contains("mayhap "));
            assert!(lines.count() >= 3, "{verb}: {examples}");
        }
        let short = env.mayhap(&[verb, "-h"]).run().code(0);
        assert!(!short.text().contains("Examples:"), "{verb}");
    }
}

#[test]
fn options_list_their_values_and_shells_complete_them() {
    let env = TestEnv::new();
    let bash = env.mayhap(&["completions", "bash"]).run().code(0);
    for (verb, names) in [
        (
            "new",
            &[
                "blocked",
                "scalable",
                "guava64",
                "rapidhash-protected",
                "parquet",
            ][..],
        ),
        ("new", &["fuse", "cascade"]),
        ("convert", &["native", "guava", "parquet", "spark", "dcso"]),
    ] {
        let help = env.mayhap(&[verb, "--help"]).run().code(0);
        for name in names {
            assert!(help.text().contains(name), "{verb}: {name}");
            assert!(bash.text().contains(name), "{name}");
        }
    }
    let refused = env.mayhap(&["new", "f", "--kind", "blokked"]).run();
    refused.fails_with(&["blokked", "blocked"]);
}

#[test]
fn the_examples_of_the_help_are_true() {
    let env = TestEnv::new();
    for filter in ["seen", "a", "b", "monday", "tuesday", "spam"] {
        env.filter(&format!("{filter}.mayhap"), 1000, 1e-6, "ann\n");
    }
    for (name, options) in [
        ("live", "--kind counting"),
        ("often", "--kind spectral"),
        ("zones", "--kind spatial"),
        ("week", "--kind windowed --rotate-by command"),
        ("shared.bin", "--format guava"),
    ] {
        let file = if name.contains('.') {
            name.into()
        } else {
            format!("{name}.mayhap")
        };
        let new = env.shell(&format!("mayhap new {file} -n 1000 -p 1e-6 {options}"));
        new.run().code(0);
    }
    env.shell(
        "echo ann | mayhap add --quiet live.mayhap; echo ann | mayhap add --quiet often.mayhap",
    )
    .run()
    .code(0);
    env.shell("echo ann | mayhap add --quiet --area 2 zones.mayhap")
        .run()
        .code(0);
    for name in ["urls.txt", "keys", "access.log", "words.txt", "gone.txt"] {
        env.write(name, "ann\nbob\n");
    }
    env.write("others", "x\ny\n");
    env.write("good.txt", "x\ny\n");
    env.write("table.csv", "1,ann\n2,bob\n");
    env.write("numbers.txt", "3\n1\n3\n");
    env.write("others.txt", "3\n");
    let mut count = 0;
    for verb in verbs(&env) {
        let help = env.mayhap(&[&verb, "--help"]).run().code(0);
        let (_, examples) = help.text().split_once("Examples:\n").expect("examples");
        for example in examples.lines().take_while(|line| line.starts_with("  ")) {
            let example = example.trim();
            let command = example.split("  ").next().expect("a command");
            assert!(command.contains(&format!("mayhap {verb}")), "{command}");
            // There is no server here, and not every machine has these.
            if command.contains("redis://") {
                continue;
            }
            // Those that make a file make it once.
            let script = format!("rm -f {}; {command}", made_by(command));
            let run = env.shell(&script).run();
            assert!(
                matches!(run.exit_code(), Some(0 | 1)),
                "{command}: {}",
                run.stderr
            );
            count += 1;
        }
    }
    assert!(count >= 30, "{count}");
}

/// The file that an example of `new`, `merge` or `convert` makes, which must not be there.
fn made_by(command: &str) -> &str {
    let words = command.split_whitespace();
    let words: Vec<&str> = words.filter(|word| !word.starts_with("--")).collect();
    match words.get(1) {
        Some(&"merge") if words[3..].contains(&words[2]) => "",
        Some(&"new" | &"merge") => words[2],
        Some(&"convert") => words[3],
        _ => "",
    }
}

#[test]
fn completions_know_every_verb() {
    let env = TestEnv::new();
    let (verbs, options) = (verbs(&env), ["checkpoint", "accept-rate"].map(String::from));
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = env.mayhap(&["completions", shell]).run().code(0).silent();
        for word in verbs.iter().chain(&options) {
            assert!(run.text().contains(word), "{shell}: {word}");
        }
    }
    let bash = env.mayhap(&["completions", "bash"]).run().code(0).stdout;
    env.write("completions", bash);
    env.shell("sh -n completions || bash -n completions")
        .run()
        .code(0);
}

#[test]
fn there_is_a_manual_page_for_every_verb() {
    let env = TestEnv::new();
    let main = env.mayhap(&["man"]).run().code(0).silent();
    assert!(main.text().contains(".TH mayhap 1"), "{}", main.text());

    env.mayhap(&["man", "pages/man1"])
        .run()
        .code(0)
        .stdout("")
        .silent();

    for verb in &verbs(&env) {
        let page = env.read(&format!("pages/man1/mayhap-{verb}.1"));
        assert!(page.windows(4).any(|bytes| bytes == b".TH "), "{verb}");
    }
    env.read("pages/man1/mayhap.1");
}

/// The pages fit a terminal of 80 columns.
#[test]
fn help_is_short() {
    let env = TestEnv::new();
    let page = |words: &[&str]| {
        let run = env.mayhap(words).env("COLUMNS", "80").run().code(0);
        let text = run.text().to_owned();
        let is_wide = |line: &&str| line.chars().count() > 80;
        assert_eq!(text.lines().find(is_wide), None, "{words:?}");
        text
    };
    let options = |text: &str| {
        let is_option = |line: &&str| line.starts_with("  -") || line.starts_with("      --");
        text.lines().filter(is_option).count()
    };

    let short = page(&["uniq", "-h"]);
    let long = page(&["uniq", "--help"]);
    assert!(short.lines().count() <= 40, "{short}");
    assert!(long.lines().count() <= 120, "{long}");
    assert!(options(&long) <= 28, "{}", options(&long));
    assert!(page(&["-h"]).lines().count() <= 30);
    for verb in verbs(&env) {
        let short = page(&[&verb, "-h"]);
        assert!(short.lines().count() <= 40, "{short}");
        page(&[&verb, "--help"]);
    }
}

#[test]
fn a_letter_means_the_same_on_every_verb() {
    let env = TestEnv::new();
    let mut meanings = BTreeMap::new();
    for verb in verbs(&env) {
        let help = env.mayhap(&[&verb, "--help"]).run().code(0);
        for line in help.text().lines() {
            let Some((letter, long)) = line.trim_start().split_once(", --") else {
                continue;
            };
            let long = long.split([' ', '[']).next().unwrap_or_default().to_owned();
            let first = meanings.entry(letter.to_owned()).or_insert(long.clone());
            assert_eq!(*first, long, "{verb} {letter}");
        }
    }
    assert!(meanings.len() > 15, "{meanings:?}");
}

/// The values that shells complete, which are those that help lists: the verb, the option and a value.
fn values(env: &TestEnv) -> Vec<[String; 3]> {
    let bash = env.mayhap(&["completions", "bash"]).run().code(0);
    let (mut verb, mut option) = (String::new(), String::new());
    let mut values = Vec::new();
    for line in bash.text().lines() {
        let line = line.trim();
        if let Some(name) = line
            .strip_prefix("mayhap__subcmd__")
            .and_then(|name| name.strip_suffix(')'))
        {
            verb = name.to_owned();
        } else if line.starts_with("--") && line.ends_with(')') {
            option = line.trim_end_matches(')').to_owned();
        } else if let Some((_, words)) = line.split_once("compgen -W \"") {
            let words = words
                .split('"')
                .next()
                .unwrap_or_default()
                .split_whitespace();
            let is_listed = !option.is_empty() && !words.clone().any(|word| word.starts_with('-'));
            values.extend(
                words
                    .filter(|_| is_listed)
                    .map(|word| [verb.clone(), option.clone(), word.into()]),
            );
        } else if line.starts_with("return") {
            option.clear();
        }
    }
    values
}

#[test]
fn every_value_that_help_lists_is_accepted_or_lacks_what_is_named() {
    let env = TestEnv::new();
    env.write("keys", "1\n");
    env.write("others", "2\n");
    env.write_private("secret", &[7; 16]);
    let new = |name: &str, words: &str| {
        let script = format!("mayhap new {name} keys -p 1e-6 {words}");
        env.shell(&script).run().code(0);
    };
    for kind in ["blocked", "counting", "spectral", "spatial"] {
        new(kind, &format!("--kind {kind}"));
    }
    let values = values(&env);
    for [verb, option, format] in &values {
        if (verb.as_str(), option.as_str()) == ("convert", "--to") {
            new(format, &format!("--format {format}"));
        }
    }
    let kinds = values.iter();
    let kinds = kinds.filter(|[verb, option, _]| verb == "new" && option == "--kind");
    assert_eq!(kinds.count(), mayhap::Kind::ALL.len());

    let (mut count, verbs) = (0, verbs(&env));
    for [verb, option, value] in &values {
        // A server is needed: `server.rs` has them. Some verbs are not in the help.
        if option == "--home" || !verbs.contains(verb) {
            continue;
        }
        // Reading takes a file of that format.
        let reads = matches!(option.as_str(), "--format" | "--to");
        let filter = if reads { value } else { "blocked" };
        let words = match (verb.as_str(), option.as_str()) {
            ("new", "--policy") => "out keys -p 1% --kind spectral".into(),
            ("new", "--counter-bits") => "out keys -p 1% --kind counting".into(),
            ("new", "--rotate-by") => "out keys -p 1% --kind windowed".into(),
            ("new", "--kind") => "out keys".into(),
            ("new", "--keyless") => "out keys -p 1% -k 1".into(),
            ("new", _) => "out keys -p 1%".into(),
            ("convert", "--to") => format!("{filter} out"),
            ("convert", _) => format!("{filter} out --to {value}"),
            ("merge", _) => format!("out {filter}"),
            ("explain", _) => format!("{filter} 1"),
            ("overlap", _) => format!("{filter} {filter}"),
            ("info", _) => filter.to_owned(),
            ("uniq", "--keyless") => "keys -k 1".into(),
            ("uniq", _) => "keys".into(),
            (verb, option) => {
                let filter = match verb {
                    "remove" => "counting",
                    "count" => "spectral",
                    "area" => "spatial",
                    _ => filter,
                };
                let keys = if verb == "guard" { "others" } else { "keys" };
                let key = if option == "--keyless" { " -k 1" } else { "" };
                format!("{filter} {keys}{key}")
            }
        };
        let run = |more: &str| {
            let script = format!("rm -f out; mayhap {verb} {words} {option} {value} {more}");
            (env.shell(&script).run(), script)
        };
        let (mut outcome, mut script) = run("");
        // The words that are missing, and words that give them.
        for (missing, more) in [
            ("--rate P", "-p 1%"),
            ("--excluded FILE", "--excluded others"),
            ("--second FILE", "-p 1% --second others"),
            ("--secret-file", "--secret-file secret"),
        ] {
            if outcome.exit_code() == Some(2) && outcome.stderr.contains(missing) {
                (outcome, script) = run(more);
            }
        }
        let is_accepted = matches!(outcome.exit_code(), Some(0 | 1));
        assert!(is_accepted, "{script}: {}", outcome.stderr);
        count += 1;
    }
    assert!(count > 150, "{count}");
}
