//! Filters of other programs: salted digests in strings, and the modules.

use std::time::Duration;

use mayhap::hash::MessageDigest;
use mayhap::{Promise, Scheme, Shape};
use mayhap_redis::{Error, RedisBloom};
use serde_json::Value;

use mayhap_testing::server::{Server, engines, module, on_each_engine};

fn golden() -> Value {
    let path = "../mayhap/tests/data/golden/digest_filter.json";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = std::fs::read_to_string(path).expect("the vectors");
    serde_json::from_str(&text).expect("vectors")
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16).expect("hex"))
        .collect()
}

/// The keys that a template names.
fn template(keys: &Value) -> impl Fn(u64) -> String + use<'_> {
    let text = |field: &str| keys[field].as_str().expect("a text").to_string();
    let number = |field: &str| keys[field].as_u64().expect("a number");
    let (prefix, suffix) = (text("prefix"), text("suffix"));
    let (start, step) = (number("start"), number("step"));
    move |index| format!("{prefix}{}{suffix}", start + step * index)
}

#[test]
fn strings_of_post_003_are_made_and_read_bit_for_bit() {
    let golden = golden();
    let filters = golden["filters"].as_array().expect("filters");
    on_each_engine(|server| {
        for (case, vector) in filters.iter().enumerate() {
            let digest = match vector["digest"].as_str() {
                Some("MD5") => MessageDigest::Md5,
                Some("SHA-1") => MessageDigest::Sha1,
                Some("SHA-256") => MessageDigest::Sha256,
                other => panic!("{other:?}"),
            };
            let number = |field: &str| vector[field].as_u64().expect("a number");
            let shape = Shape::new(number("m"), number("k") as u32).expect("valid");
            let inserted = &vector["inserted"];
            let count = inserted["count"].as_u64().expect("a number");
            let keys: Vec<String> = (0..count).map(template(inserted)).collect();
            let image = unhex(vector["redis_string_hex"].as_str().expect("hex"));
            let mut connection = server.connection();

            // Made by us, and read as the original left it.
            let open = |name: &str, expiry| {
                let address = server.address(name);
                RedisBloom::open_bits(&address, shape, Scheme::Salted(digest), expiry)
            };
            let names = ["made", "read"].map(|name| format!("{name}-{case}"));
            let mut made = open(&names[0], Some(Duration::from_secs(1000))).expect("valid");
            made.insert_batch(&keys).expect("inserted");
            redis::cmd("SET")
                .arg(&names[1])
                .arg(&image)
                .exec(&mut connection)
                .expect("set");
            let mut read = open(&names[1], None).expect("valid");

            let stored: Vec<u8> = redis::cmd("GET")
                .arg(&names[0])
                .query(&mut connection)
                .expect("bits");
            assert!(stored == image, "filter {case}");
            let left: i64 = redis::cmd("TTL")
                .arg(&names[0])
                .query(&mut connection)
                .expect("a time");
            assert!((990..=1000).contains(&left), "{left}");
            assert_eq!(read.stats().expect("counted").ones, number("bit_count"));
            assert!(
                read.contains_batch(&keys)
                    .expect("asked")
                    .iter()
                    .all(|&found| found)
            );
            let queried = &vector["queries"]["keys"];
            let start = queried["start"].as_u64().expect("a number");
            let count = queried["count"].as_u64().expect("a number");
            let keys: Vec<String> = (0..count).map(template(queried)).collect();
            let found: Vec<u64> = read
                .contains_batch(&keys)
                .expect("asked")
                .into_iter()
                .zip(start..)
                .filter_map(|(found, number)| found.then_some(number))
                .collect();
            let expected = vector["queries"]["contained_numbers"]
                .as_array()
                .expect("numbers");
            let expected: Vec<u64> = expected.iter().filter_map(Value::as_u64).collect();
            assert_eq!(found, expected, "filter {case}");
        }
    });
}

#[test]
fn operations_of_mayhap_alone_are_refused_for_foreign_filters() {
    on_each_engine(|server| {
        let address = server.address("bits");
        let shape = Shape::new(1000, 3).expect("valid");
        let mut bits =
            RedisBloom::open_bits(&address, shape, Scheme::default(), None).expect("valid");
        assert!(bits.insert("key").expect("inserted") && bits.contains("key").expect("asked"));
        assert!(!bits.insert("key").expect("inserted"));
        assert!(matches!(bits.clear(), Err(Error::Option { .. })));
        assert!(matches!(bits.pull(|_, _| ()), Err(Error::Option { .. })));
        assert_eq!(bits.description().expect("known").bits, 1000);
        bits.delete().expect("deleted");
        assert!(server.keys().is_empty());
        let wide = Shape::new(1 << 33, 3).expect("valid");
        let wide = RedisBloom::open_bits(&address, wide, Scheme::default(), None);
        assert!(matches!(wide, Err(Error::Option { .. })));
    });
}

#[test]
fn a_server_without_the_module_says_so() {
    on_each_engine(|server| {
        let address = server.address("module");
        let promise = Promise {
            keys: 1000,
            rate: 0.01,
        };
        for result in [
            RedisBloom::create_module(&address, promise),
            RedisBloom::open_module(&address),
        ] {
            assert!(matches!(result, Err(Error::Unsupported { .. })));
        }
    });
}

/// Makes all calls on a server with a module, which has no filter yet.
fn exercise_module(address: &mayhap_redis::Address) {
    let promise = Promise {
        keys: 10_000,
        rate: 0.001,
    };
    assert!(matches!(
        RedisBloom::open_module(address),
        Err(Error::Missing { .. })
    ));
    let mut filter = RedisBloom::create_module(address, promise).expect("made");

    let new = filter.insert_batch(&["a", "b", "a"]).expect("inserted");

    assert_eq!(new, [true, true, false]);
    let mut other = RedisBloom::open_module(address).expect("there");
    let found = other.contains_batch(&["a", "c", "b"]).expect("asked");
    assert_eq!(found, [true, false, true]);
    let stats = other.stats().expect("stated");
    assert_eq!(stats.keys, Some(2.0));
    assert!(stats.rate > 1e-5 && stats.rate < 1e-2, "{}", stats.rate);
    assert!(matches!(other.description(), Err(Error::Option { .. })));
    other.delete().expect("deleted");
    // The module would make a small filter of its own, and answer no.
    assert!(matches!(filter.insert("c"), Err(Error::Missing { .. })));
    assert!(matches!(filter.contains("a"), Err(Error::Missing { .. })));
}

#[test]
fn a_module_answers_through_the_same_calls() {
    let named = std::env::var("MAYHAP_BLOOM_MODULE").ok();
    let Some(module) = named.or_else(module) else {
        eprintln!("SKIPPED: no module is built, or named by MAYHAP_BLOOM_MODULE");
        return;
    };
    for engine in engines().into_iter().take(1) {
        let server = Server::start(&engine, &["--loadmodule", &module]);
        exercise_module(&server.address("module"));
    }
}

/// A stand-in for a server with a module: it knows only the commands of the test, and answers them in
/// the form that RedisBloom documents.
#[test]
fn answers_of_a_module_are_read_as_documented() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let keys = std::sync::Arc::new(std::sync::Mutex::new(None));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, keys) = (stream.expect("a client"), keys.clone());
            std::thread::spawn(move || serve(stream, &keys));
        }
    });
    let address = format!("redis://127.0.0.1:{port}#module");
    exercise_module(&address.parse().expect("valid"));
}

type Keys = std::sync::Mutex<Option<std::collections::HashSet<String>>>;

fn serve(stream: std::net::TcpStream, keys: &Keys) {
    use std::io::{BufRead as _, BufReader, Write as _};
    let mut output = stream.try_clone().expect("a stream");
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    // The keys of the test are lines of text, as is everything else.
    while let Some(count) = lines.next() {
        let count: usize = count.trim_start_matches('*').parse().expect("a number");
        let words: Vec<String> = (0..count).filter_map(|_| lines.nth(1)).collect();
        let mut keys = keys.lock().expect("no panic");
        let answer = match (words[0].as_str(), keys.as_mut()) {
            ("BF.RESERVE", None) => {
                *keys = Some(Default::default());
                "+OK\r\n".to_string()
            }
            ("BF.INSERT", Some(keys)) => {
                assert_eq!(words[2..4], ["NOCREATE", "ITEMS"]);
                numbers(words[4..].iter().map(|key| keys.insert(key.clone())))
            }
            ("BF.MEXISTS", Some(keys)) => numbers(words[2..].iter().map(|key| keys.contains(key))),
            ("BF.MEXISTS", None) => numbers(words[2..].iter().map(|_| false)),
            ("BF.INFO", Some(keys)) => format!(
                "*10\r\n+Capacity\r\n:10000\r\n+Size\r\n:18000\r\n+Number of filters\r\n:1\r\n\
                 +Number of items inserted\r\n:{}\r\n+Expansion rate\r\n:2\r\n",
                keys.len()
            ),
            ("UNLINK", Some(_)) => {
                *keys = None;
                ":1\r\n".to_string()
            }
            ("BF.INFO" | "BF.INSERT", None) => "-ERR not found\r\n".to_string(),
            ("CLIENT", _) => "+OK\r\n".to_string(),
            other => panic!("{other:?}"),
        };
        output.write_all(answer.as_bytes()).expect("someone reads");
    }
}

fn numbers(answers: impl ExactSizeIterator<Item = bool>) -> String {
    let mut text = format!("*{}\r\n", answers.len());
    for answer in answers {
        text += &format!(":{}\r\n", u8::from(answer));
    }
    text
}
