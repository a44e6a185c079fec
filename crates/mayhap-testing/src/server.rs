//! Private servers on free ports of the loopback interface, in folders of their own, ended by their
//! process ids.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use mayhap_redis::Address;
use tempfile::TempDir;

/// The longest wait for a server: enough for a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server program.
#[derive(Debug, Clone, PartialEq)]
pub struct Engine {
    /// The name that messages use.
    pub name: &'static str,
    /// The file that is run.
    pub program: PathBuf,
}

/// Redis and Valkey: a name, the environment variable for the path of the program, and the program.
pub const PROGRAMS: [(&str, &str, &str); 2] = [
    ("redis", "MAYHAP_REDIS_SERVER", "redis-server"),
    ("valkey", "MAYHAP_VALKEY_SERVER", "valkey-server"),
];

/// Finds the server programs of this machine. Prints which are missing.
pub fn engines() -> Vec<Engine> {
    found(&PROGRAMS)
}

/// Finds those of the programs that are on this machine.
pub fn found(programs: &[(&'static str, &str, &str)]) -> Vec<Engine> {
    let found = programs.iter().map(|&(name, variable, program)| {
        let program = std::env::var_os(variable)
            .map(PathBuf::from)
            .or_else(|| in_path(program))
            .or_else(|| in_target(program));
        (name, program)
    });
    let found: Vec<_> = found.collect();
    static SAY: Once = Once::new();
    SAY.call_once(|| {
        let missing: Vec<_> = found
            .iter()
            .filter(|(_, program)| program.is_none())
            .collect();
        for (name, _) in &missing {
            eprintln!("SKIPPED: every test on {name}, whose server is not installed");
        }
        eprintln!(
            "live tests: {} engines, {} skipped",
            found.len() - missing.len(),
            missing.len()
        );
    });
    found
        .into_iter()
        .filter_map(|(name, program)| {
            Some(Engine {
                name,
                program: program?,
            })
        })
        .collect()
}

/// The path of the server module, if cargo has built it beside this program.
pub fn module() -> Option<String> {
    let program = std::env::current_exe().expect("a path");
    let name = format!(
        "{}mayhap_module{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let folders = program.ancestors().skip(1).take(2);
    let mut files = folders.map(|folder| folder.join(&name));
    let module = files.find(|file| file.is_file())?;
    Some(module.display().to_string())
}

/// Runs a test on a fresh server of each program.
pub fn on_each_engine(test: impl Fn(&Server)) {
    for engine in engines() {
        eprintln!("on {}", engine.name);
        test(&Server::start(&engine, &[]));
    }
}

fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// The path of a program that the test command installs because no package of the system has it.
fn in_target(program: &str) -> Option<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above
        .map(|folder| folder.join("target/servers").join(program))
        .find(|file| file.is_file())
}

/// A running server.
pub struct Server {
    /// The program that runs.
    pub engine: Engine,
    /// The port it listens on.
    pub port: u16,
    arguments: Vec<String>,
    folder: TempDir,
    child: Option<Child>,
}

impl Server {
    /// Starts one, and waits until it answers.
    pub fn start(engine: &Engine, arguments: &[&str]) -> Server {
        let mut server = Server {
            engine: engine.clone(),
            port: free_port(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            folder: tempfile::tempdir().expect("a folder"),
            child: None,
        };
        // Another program may take the free port before the server listens on it.
        let begin = Instant::now();
        while let Err(log) = server.launch() {
            assert!(begin.elapsed() < PATIENCE, "the server ends: {log}");
            server.port = free_port();
        }
        server
    }

    /// Starts it again, in the same folder and on the same port.
    pub fn restart(&mut self) {
        self.kill();
        wait("the server starts again", || self.launch().ok());
    }

    /// Starts the program, and waits until it answers; an error with its output if it ends instead.
    fn launch(&mut self) -> Result<(), String> {
        let path = self.folder.path().join("log");
        let log = std::fs::File::create(&path).expect("a log");
        // Empty at first: the arguments configure it, and `CONFIG REWRITE` needs a file.
        let configuration = self.folder.path().join("server.conf");
        std::fs::write(&configuration, "").expect("a file");
        let child = Command::new(&self.engine.program)
            .arg(&configuration)
            .args(["--port", &self.port.to_string()])
            .args(["--bind", "127.0.0.1", "--save", "", "--daemonize", "no"])
            .args(["--cluster-port", &self.bus().to_string()])
            .arg("--dir")
            .arg(self.folder.path())
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn();
        let child = self.child.insert(child.expect("the server starts"));
        let port = self.port;
        wait("the server answers", || {
            if let Some(status) = child.try_wait().expect("it was started") {
                let log = std::fs::read_to_string(&path).unwrap_or_default();
                return Some(Err(format!("{status}\n{log}")));
            }
            is_ours(port, child.id()).then_some(Ok(()))
        })
    }

    /// The port of the cluster bus, if it is in a cluster.
    fn bus(&self) -> u16 {
        self.port + 1
    }

    /// Ends it without warning, as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it runs");
            child.wait().expect("it ends");
        }
    }

    /// Opens a separate connection, for a test to look behind the filter.
    pub fn connection(&self) -> redis::Connection {
        client(self.port).expect("it answers")
    }

    /// The address of a filter on it.
    pub fn address(&self, name: &str) -> Address {
        self.filter(name).parse().expect("an address")
    }

    /// The same address as text.
    pub fn filter(&self, name: &str) -> String {
        format!("redis://127.0.0.1:{}#{name}", self.port)
    }

    /// Runs a command behind the filter's back.
    pub fn run(&self, command: &[&str]) {
        let (name, arguments) = command.split_first().expect("a command");
        let ran = redis::cmd(name).arg(arguments).exec(&mut self.connection());
        ran.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    }

    /// The type of a value, as `TYPE` has it.
    pub fn type_of(&self, key: &str) -> String {
        let kind = redis::cmd("TYPE").arg(key).query(&mut self.connection());
        kind.expect("a type")
    }

    /// Every key on it, in order.
    pub fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = redis::cmd("KEYS")
            .arg("*")
            .query(&mut self.connection())
            .expect("keys");
        keys.sort();
        keys
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A cluster of three masters on the loopback interface.
pub struct Cluster {
    /// Three masters, then a replica of each.
    pub nodes: Vec<Server>,
}

impl Cluster {
    /// Starts one, with a replica of each master if wanted.
    pub fn start(engine: &Engine, replicas: bool) -> Cluster {
        Cluster::start_with(engine, replicas, &[])
    }

    /// Starts one whose servers have more arguments.
    pub fn start_with(engine: &Engine, replicas: bool, more: &[&str]) -> Cluster {
        let count = if replicas { 6 } else { 3 };
        let arguments = [
            ["--cluster-enabled", "yes"],
            ["--cluster-node-timeout", "1500"],
            ["--cluster-config-file", "nodes"],
            ["--repl-diskless-sync-delay", "0"],
            ["--cluster-replica-validity-factor", "0"],
        ];
        let nodes: Vec<Server> = (0..count)
            .map(|_| Server::start(engine, &[&arguments.concat(), more].concat()))
            .collect();
        let cluster = Cluster { nodes };
        cluster.join();
        cluster
    }

    fn join(&self) {
        let ask = |node: usize, arguments: &[&str]| -> redis::RedisResult<String> {
            let mut command = redis::cmd("CLUSTER");
            command
                .arg(arguments)
                .query(&mut self.nodes[node].connection())
        };
        for (master, (first, last)) in [("0", "5460"), ("5461", "10922"), ("10923", "16383")]
            .into_iter()
            .enumerate()
        {
            ask(master, &["ADDSLOTSRANGE", first, last]).expect("slots");
        }
        for node in 1..self.nodes.len() {
            let epoch = (node + 1).to_string();
            ask(node, &["SET-CONFIG-EPOCH", &epoch]).expect("an epoch");
            let [port, bus] = [self.nodes[node].port, self.nodes[node].bus()];
            let meet = ["MEET", "127.0.0.1", &port.to_string(), &bus.to_string()];
            ask(0, &meet).expect("met");
        }
        for replica in 3..self.nodes.len() {
            let id = ask(replica - 3, &["MYID"]).expect("an id");
            wait("the replica knows its master", || {
                ask(replica, &["REPLICATE", &id]).ok()
            });
        }
        for node in 0..self.nodes.len() {
            wait("the cluster is whole", || {
                let state = ask(node, &["INFO"]).ok()?;
                let table = ask(node, &["NODES"]).ok()?;
                let known = table.lines().count() == self.nodes.len();
                let replicas = table.matches("slave").count() == self.nodes.len() - 3;
                (state.contains("cluster_state:ok") && known && replicas).then_some(())
            });
        }
        for replica in &self.nodes[3..] {
            wait("the replica is in step", || {
                let text: String = redis::cmd("INFO")
                    .arg("replication")
                    .query(&mut replica.connection())
                    .ok()?;
                text.contains("master_link_status:up").then_some(())
            });
        }
    }

    /// Returns the address of a filter on it.
    pub fn address(&self, name: &str) -> Address {
        let text = format!("redis+cluster://127.0.0.1:{}#{name}", self.nodes[0].port);
        let address: Address = text.parse().expect("an address");
        address.with_patience(Duration::from_secs(20))
    }
}

/// Returns whether this process answers on the port, with all its data loaded. A connection alone proves nothing: on a
/// port where nobody listens yet it may reach itself, and another program may be faster.
fn is_ours(port: u16, process: u32) -> bool {
    let ask =
        || -> redis::RedisResult<redis::InfoDict> { redis::cmd("INFO").query(&mut client(port)?) };
    match ask() {
        Ok(info) => info.get("process_id") == Some(process) && info.get("loading") == Some(0),
        // It asks for a password first.
        Err(error) => error.code() == Some("NOAUTH"),
    }
}

fn client(port: u16) -> redis::RedisResult<redis::Connection> {
    redis::Client::open(("127.0.0.1", port))?.get_connection()
}

/// Finds a port on which nobody listens, nor on the next one; each is handed out once. They are below those
/// that systems give to outgoing connections, one of which may take the port before the server starts.
pub fn free_port() -> u16 {
    static TRIED: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(509);
    loop {
        let pair = first.wrapping_add(TRIED.fetch_add(1, Ordering::Relaxed));
        let port = 12_000 + 2 * (pair % 10_000) as u16;
        let free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if free(port) && free(port + 1) {
            return port;
        }
    }
}

/// Asks again until there is an answer, for at most a minute.
#[track_caller]
pub fn wait<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begin.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
