//! A crawler of several processes that fetches no page twice in a week: the filter and the queue are in Redis.
//!
//! `cargo run --release -p mayhap-redis --example crawler -- redis://localhost`. See docs/recipes/crawler-on-redis.md.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use mayhap::Kind;
use mayhap_redis::{Address, Answer, Error, Expiry, Options, RedisBloom};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const PAGES: u64 = 5000;
const WORKERS: u64 = 4;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [redis] => manage(redis),
        [redis, site] => crawl(redis, site),
        _ => Err("usage: crawler redis://host".into()),
    }
}

/// Starts the site and the workers, waits for them, and counts.
fn manage(redis: &str) -> Result<()> {
    let site = TcpListener::bind("127.0.0.1:0")?;
    let address = site.local_addr()?.to_string();
    let fetched = Arc::new(Mutex::new(Vec::new()));
    let log = fetched.clone();
    std::thread::spawn(move || {
        for visitor in site.incoming().map_while(|visitor| visitor.ok()) {
            serve(visitor, &log);
        }
    });

    let mut queue = redis::Client::open(redis)?.get_connection()?;
    if seen(redis)?.insert("/0")? {
        redis::pipe()
            .rpush("queue", "/0")
            .incr("unfinished", 1)
            .exec(&mut queue)?;
    }
    let began = Instant::now();
    let program = std::env::current_exe()?;
    let start = |_| Command::new(&program).args([redis, &address]).spawn();
    let workers: Vec<_> = (0..WORKERS).map(start).collect::<std::io::Result<_>>()?;
    for mut worker in workers {
        assert!(worker.wait()?.success());
    }

    let took = began.elapsed();
    let fetched = fetched.lock().expect("no panic");
    let pages: BTreeSet<&String> = fetched.iter().collect();
    let mut seen = seen(redis)?;
    let stats = seen.stats()?;
    println!(
        "{} pages fetched, {} twice; {WORKERS} processes, {:.1} s",
        pages.len(),
        fetched.len() - pages.len(),
        took.as_secs_f64()
    );
    println!("{} bytes, a rate of {:.0e} now", stats.bits / 8, stats.rate);
    if let Some(end) = seen.expires()? {
        let left = end.duration_since(SystemTime::now()).unwrap_or_default();
        println!("forgotten in {:.1} days", left.as_secs_f64() / 86_400.0);
    }
    Ok(())
}

/// Opens the filter that all processes share. The first makes it; a week later it is gone, and pages are fetched again.
fn seen(redis: &str) -> Result<RedisBloom> {
    let address: Address = format!("{redis}#seen").parse()?;
    let options = Options {
        expiry: Some(Expiry::After(Duration::from_secs(7 * 24 * 3600))),
        ..Options::default()
    };
    // One page in a million is mistaken for seen and never fetched.
    Ok(RedisBloom::open_or_create(
        &address,
        &Kind::Blocked.plan(100_000, 1e-6)?,
        &options,
    )?)
}

/// Runs one of many processes: takes a page from the queue, fetches it, and puts its unseen links into the queue.
fn crawl(redis: &str, site: &str) -> Result<()> {
    let mut seen = seen(redis)?;
    let mut queue = redis::Client::open(redis)?.get_connection()?;
    // Counts pages in the queue or being fetched: at zero everything is done.
    while redis::cmd("GET")
        .arg("unfinished")
        .query::<i64>(&mut queue)?
        > 0
    {
        let next: Option<(String, String)> = redis::cmd("BLPOP")
            .arg("queue")
            .arg(0.1)
            .query(&mut queue)?;
        let Some((_, page)) = next else { continue };
        let links = fetch(site, &page)?;
        let mut commands = redis::pipe();
        commands.atomic();
        for link in unseen(&mut seen, &links)? {
            commands.rpush("queue", link).incr("unfinished", 1);
        }
        commands.decr("unfinished", 1).exec(&mut queue)?;
    }
    Ok(())
}

/// Returns the links that are new to all processes: exactly one of those that see a link at once gets it.
fn unseen<'a>(seen: &mut RedisBloom, links: &'a [String]) -> Result<Vec<&'a String>> {
    let answers = match seen.insert_batch(links) {
        Ok(new) => new,
        // An answer was lost: better to fetch a page twice than never.
        Err(Error::Interrupted {
            answers,
            error: None,
            ..
        }) => answers
            .iter()
            .map(|it| matches!(it, Answer::New | Answer::Doubtful))
            .collect(),
        Err(error) => return Err(error.into()),
    };
    Ok(links
        .iter()
        .zip(answers)
        .filter_map(|(link, new)| new.then_some(link))
        .collect())
}

/// Fetches a page and returns its links.
fn fetch(site: &str, page: &str) -> Result<Vec<String>> {
    let mut stream = TcpStream::connect(site)?;
    write!(stream, "GET {page} HTTP/1.0\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let links = text
        .split("href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    Ok(links.map(String::from).collect())
}

/// Answers with a page of ten links, and records that it was fetched.
fn serve(mut stream: TcpStream, fetched: &Mutex<Vec<String>>) -> Option<()> {
    let mut line = String::new();
    BufReader::new(stream.try_clone().ok()?)
        .read_line(&mut line)
        .ok()?;
    let page = line.split(' ').nth(1)?;
    fetched.lock().ok()?.push(page.into());
    let number: u64 = page.trim_start_matches('/').parse().ok()?;
    let link = |index: u64| format!("<a href=\"/{}\">", (number * 7 + index * index + 1) % PAGES);
    let links: String = (0..10).map(link).collect();
    write!(stream, "HTTP/1.0 200 OK\r\n\r\n<html>{links}</html>").ok()
}
