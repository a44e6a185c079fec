use crate::env::TestEnv;

/// Every verb that the help names.
pub(crate) fn verbs(env: &TestEnv) -> Vec<String> {
    let help = env.mayhap(&["--help"]).run().code(0);
    let (_, verbs) = help.text().split_once("Commands:\n").expect("a list");
    let (verbs, _) = verbs.split_once("\n\n").expect("its end");
    let verbs = verbs
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let verbs: Vec<String> = verbs
        .filter(|verb| *verb != "help")
        .map(String::from)
        .collect();
    for known in [
        "uniq", "new", "add", "check", "info", "merge", "convert", "verify", "size", "sort",
    ] {
        assert!(verbs.iter().any(|verb| verb == known), "no {known}");
    }
    verbs
}

#[test]
fn every_verb_explains_itself() {
    let env = TestEnv::new();
    for help in ["--help", "-h"] {
        let main = env.mayhap(&[help]).run().code(0).silent();
        for verb in &verbs(&env) {
            assert!(main.text().contains(&format!("  {verb} ")), "{verb}");
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
        ("build", &["fuse", "cascade"]),
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
            let names: &[&str] = match verb.as_str() {
                "convert" => &["convert", "pull", "push"],
                verb => &[verb],
            };
            let is_of_verb = |name: &&str| command.contains(&format!("mayhap {name}"));
            assert!(names.iter().any(is_of_verb), "{command}");
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

/// The file that an example of `new`, `build`, `merge` or `convert` makes, which must not be there.
fn made_by(command: &str) -> &str {
    let words = command.split_whitespace();
    let words: Vec<&str> = words.filter(|word| !word.starts_with("--")).collect();
    match words.get(1) {
        Some(&"merge") if words[3..].contains(&words[2]) => "",
        Some(&"new" | &"build" | &"merge") => words[2],
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
