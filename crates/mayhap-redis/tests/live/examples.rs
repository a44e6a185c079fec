//! The examples of the crate, run as a user runs them.

use std::process::Command;

use crate::server::on_each_engine;

#[test]
fn a_crawler_of_several_processes_fetches_every_page_once() {
    let test = std::env::current_exe().expect("a path");
    let example = test.ancestors().nth(2).expect("a folder");
    let example = example.join("examples/crawler");
    if !example.is_file() {
        eprintln!("SKIPPED: the crawler, which cargo builds when all tests are run");
        return;
    }
    on_each_engine(|server| {
        let redis = format!("redis://127.0.0.1:{}", server.port);
        let run = Command::new(&example)
            .arg(&redis)
            .output()
            .expect("it runs");

        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{text}{said}");
        assert!(text.starts_with("5000 pages fetched, 0 twice\n"), "{text}");

        // Nothing is fetched again while the filter lives.
        let again = Command::new(&example)
            .arg(&redis)
            .output()
            .expect("it runs");
        let text = String::from_utf8_lossy(&again.stdout).into_owned();
        assert!(text.starts_with("0 pages fetched, 0 twice\n"), "{text}");
    });
}
