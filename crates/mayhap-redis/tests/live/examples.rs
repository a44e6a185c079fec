//! The examples of the crate, run as a user runs them.

use std::path::Path;
use std::process::Command;

use mayhap_testing::server::on_each_engine;

/// Crawls a site and returns what the crawler prints.
fn crawl(example: &Path, redis: &str) -> String {
    let run = Command::new(example).arg(redis).output().expect("it runs");
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{text}{said}");
    text
}

#[test]
fn a_crawler_of_several_processes_fetches_every_page_once_in_seven_days() {
    let test = std::env::current_exe().expect("a path");
    let example = test.ancestors().nth(2).expect("a folder");
    let example = example.join("examples/crawler");
    if !example.is_file() {
        eprintln!("SKIPPED: the crawler, which cargo builds when all tests are run");
        return;
    }
    on_each_engine(|server| {
        let redis = format!("redis://127.0.0.1:{}", server.port);

        let text = crawl(&example, &redis);
        assert!(text.starts_with("5000 pages fetched, 0 twice;"), "{text}");
        assert!(text.ends_with("\nforgotten in 7.0 days\n"), "{text}");

        // Nothing is fetched again while the filter lives.
        let text = crawl(&example, &redis);
        assert!(text.starts_with("0 pages fetched, 0 twice;"), "{text}");

        // Seven days later, as far as the server can see: every key expires seven days early.
        let mut connection = server.connection();
        let keys: Vec<String> = redis::cmd("KEYS")
            .arg("*")
            .query(&mut connection)
            .expect("it answers");
        let mut ended = 0;
        for key in &keys {
            let end: i64 = redis::cmd("PTTL")
                .arg(key)
                .query(&mut connection)
                .expect("it answers");
            if end < 0 {
                continue; // the queue and its count stay
            }
            let () = redis::cmd("PEXPIRE")
                .arg(key)
                .arg(end - 7 * 24 * 3_600_000)
                .query(&mut connection)
                .expect("it answers");
            ended += 1;
        }
        assert!(ended >= 1, "{keys:?}");
        let text = crawl(&example, &redis);
        assert!(text.starts_with("5000 pages fetched, 0 twice;"), "{text}");
    });
}
