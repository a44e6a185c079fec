//! Changed files, through the command.

use std::fs;
use std::path::Path;

use crate::env::TestEnv;
use mayhap_testing::change;
use mayhap_testing::turns;

/// The secret of the golden files that have one, in hex.
const SECRET: &str = "7369787465656e207365637265747321";

#[test]
fn a_changed_file_is_an_error_or_gives_right_answers() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap/tests/data/native/v1");
    let files = change::files(&data);
    let env = TestEnv::new();
    env.write("keys", "a\nb\nc\n");
    let run = |words: &str| {
        // Refuses a panic, and a signal has no code.
        let outcome = env.mayhap(words).env("MAYHAP_SECRET", SECRET).run();
        let code = outcome
            .exit_code()
            .unwrap_or_else(|| panic!("{words:?} was ended"));
        let is_told = code != 2 || outcome.stderr.starts_with("error: ");
        assert!(is_told, "{words:?} ended with {code}: {}", outcome.stderr);
        (code, outcome)
    };
    let (mutants, mut read, mut added) = (turns::rounds(60), 0, 0);
    for round in 0..mutants {
        let mut random = turns::random("mutants of the command", round);
        let mutant = change::mutant(&files, &mut random);
        env.write("f", &mutant);

        let (whole, _) = run("verify f");
        let (stated, _) = run("info --json f");
        let (asked, answers) = run("check --answers f keys");

        assert_eq!(whole, stated, "mutant {round}: {mutant:02x?}");
        assert_eq!(whole == 2, asked == 2, "mutant {round}: {mutant:02x?}");
        assert_eq!(env.read("f"), mutant, "mutant {round} was written");
        if whole == 2 {
            assert!(
                answers.stdout.is_empty(),
                "mutant {round} is damaged and answers"
            );
            run("add f keys").1.code(2);
            assert_eq!(env.read("f"), mutant, "mutant {round} was written");
            continue;
        }
        read += 1;
        // Some kinds take no keys, and full filters no more.
        if run("add --accept-rate f keys").0 == 0 {
            added += 1;
            let (_, outcome) = run("check --answers f keys");
            outcome.stdout("yes\nyes\nyes\n");
            run("verify f").1.code(0);
        }
    }
    fs::remove_file(env.path("f")).expect("it is there");
    assert_eq!(env.names(), ["keys"]);
    println!("{mutants} mutants through the command: {read} read, {added} added to");
    assert!(read > 0 && added > 0);
}
