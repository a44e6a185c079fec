//! Over TLS, with the password from the environment, which is set for a separate process.

use std::path::Path;
use std::process::Command;

use mayhap::Kind;
use mayhap_redis::{Address, Error, Options, RedisBloom};

use mayhap_testing::server::{Server, engines, free_port};

/// A certificate for `localhost`, and the authority that signed it; false without `openssl`.
fn certify(folder: &Path) -> bool {
    std::fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").expect("written");
    let steps = [
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=authority",
        "req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost",
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt -days 2 \
         -extfile names",
    ];
    steps.iter().all(|step| {
        let mut command = Command::new("openssl");
        command.args(step.split(' ')).current_dir(folder);
        command.output().is_ok_and(|done| done.status.success())
    })
}

#[test]
fn a_filter_is_reached_over_tls() {
    let folder = tempfile::tempdir().expect("a folder");
    if !certify(folder.path()) {
        eprintln!("SKIPPED: no openssl to make certificates");
        return;
    }
    let file = |name: &str| {
        folder
            .path()
            .join(name)
            .to_str()
            .expect("a path")
            .to_string()
    };
    for engine in engines()
        .into_iter()
        .filter(|engine| engine.name == "redis")
    {
        let port = free_port().to_string();
        let (certificate, key, authority) =
            (file("server.crt"), file("server.key"), file("ca.crt"));
        let arguments = [
            ["--tls-port", &port],
            ["--tls-cert-file", &certificate],
            ["--tls-key-file", &key],
            ["--tls-ca-cert-file", &authority],
            ["--tls-auth-clients", "no"],
            ["--requirepass", "hunter2"],
        ];
        let _server = Server::start(&engine, &arguments.concat());

        let inside = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "tls::inside", "--ignored", "--nocapture"])
            .env("SSL_CERT_FILE", &authority)
            .env("MAYHAP_REDIS_PASSWORD", "hunter2")
            .env("MAYHAP_TEST_PORT", &port)
            .output()
            .expect("it runs");

        let said = String::from_utf8_lossy(&inside.stdout).into_owned();
        let errors = String::from_utf8_lossy(&inside.stderr);
        assert!(
            inside.status.success() && said.contains("1 passed"),
            "{said}{errors}"
        );
    }
}

/// The work of the separate process.
#[test]
#[ignore = "run by a_filter_is_reached_over_tls, with its environment"]
fn inside() {
    let port = std::env::var("MAYHAP_TEST_PORT").expect("set by the test");
    let address: Address = format!("rediss://localhost:{port}#seen")
        .parse()
        .expect("valid");
    let description = Kind::Blocked.plan(1000, 0.01).expect("valid");
    let mut filter = RedisBloom::create(&address, &description, &Options::default()).expect("made");
    assert!(filter.insert("key").expect("inserted"));
    assert!(filter.contains("key").expect("asked"));
    // The certificate is for localhost alone.
    let other: Address = format!("rediss://127.0.0.1:{port}#seen")
        .parse()
        .expect("valid");
    let error = RedisBloom::open(&other, None).err().expect("not trusted");
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");

    #[cfg(feature = "tokio-tls")]
    tokio::runtime::Runtime::new()
        .expect("a runtime")
        .block_on(async {
            let mut filter = mayhap_redis::AsyncRedisBloom::open(&address, None)
                .await
                .expect("there");
            assert!(filter.contains("key").await.expect("asked"));
        });
}
