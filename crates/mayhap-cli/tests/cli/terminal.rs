use crate::env::TestEnv;

#[test]
fn progress_is_not_mixed_with_results_on_a_terminal() {
    let env = TestEnv::new();
    if !env
        .shell("command -v script")
        .run()
        .stdout
        .starts_with(b"/")
    {
        println!("SKIPPED: there is no `script` to make a terminal with");
        return;
    }
    // What a terminal shows that is standard error, and standard output where it is not elsewhere.
    let shown = |command: &str| {
        let script = format!("script -qec '{command}' /dev/null < /dev/null");
        let run = env
            .shell(&script)
            .env("TERM", "xterm")
            .env("SHELL", "/bin/sh");
        let stdout = run.run().code(0).stdout;
        String::from_utf8(stdout)
            .expect("UTF-8")
            .replace("\r\n", "\n")
    };
    let numbers: String = (1..=200_000).map(|i| format!("{i}\n")).collect();

    for options in ["", " --threads 1"] {
        let results = shown(&format!("seq 200000 | mayhap uniq{options}"));
        let rest = results.strip_prefix(&numbers).unwrap_or_else(|| {
            let place = results.find('\x1b').unwrap_or(0);
            panic!(
                "progress among the results: {:?}",
                results.get(place..place + 60)
            )
        });
        assert_eq!(rest.lines().count(), 1, "{rest:?}");
        assert!(
            rest.starts_with("200 000 lines, 200 000 distinct"),
            "{rest:?}"
        );
    }
    // It is there where the results are not.
    for elsewhere in [
        "seq 200000 | mayhap uniq > out",
        "seq 200000 | mayhap uniq -o out",
    ] {
        let progress = shown(elsewhere);
        assert!(progress.contains('\x1b'), "{elsewhere}: {progress:?}");
    }
}

#[test]
fn colour_and_progress_are_for_terminals() {
    // Every other test asserts that there is no escape in standard error; here it is asked for by force,
    // and forbidden again.
    let env = TestEnv::new();
    let run = env.mayhap("uniq missing").env("CLICOLOR_FORCE", "1");
    let mut coloured = run.command;
    let coloured = coloured.output().expect("it runs");
    assert!(
        coloured.stderr.contains(&0x1B),
        "no colour even when forced"
    );

    let plain = env.mayhap("uniq missing").env("NO_COLOR", "1");
    plain.run().fails_with(&["error: cannot open missing"]);
}
