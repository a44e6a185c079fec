//! A stand-in for a server that lies: it forwards a client's requests to a real server, and spoils some of the
//! answers. Shared with the tests of the module.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mayhap_redis::{Address, Answer, Error, RedisBloom};

use crate::server::{Server, wait};

/// The treatment of an answer.
#[derive(Debug, Clone, Copy)]
pub enum Lie {
    /// Forwarded unchanged.
    None,
    /// Dropped, and the connection closed: the answer is lost.
    Lose,
    /// Cut in half.
    Truncate,
    /// Sent a byte at a time, each long before the client gives up.
    Drip,
    /// Replaced by this.
    Instead(&'static [u8]),
    /// Replaced by this, again and again.
    Endless(&'static [u8]),
    /// Changed: every such byte becomes the other.
    Replace(u8, u8),
}

/// A server that answers through another, and lies on request.
pub struct Liar {
    port: u16,
    /// The number of answers that it will spoil.
    lies: Arc<AtomicU64>,
}

impl Liar {
    /// Starts one in front of this server.
    pub fn start(server: &Server, lie: Lie) -> Liar {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let lies = Arc::new(AtomicU64::new(0));
        let (behind, count) = (server.port, lies.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", behind)) else {
                    return;
                };
                pass(&client, &server, lie, &count);
            }
        });
        Liar { port, lies }
    }

    /// Returns the address of a filter behind it.
    pub fn address(&self, name: &str) -> Address {
        let text = format!("redis://127.0.0.1:{}#{name}", self.port);
        let address: Address = text.parse().expect("an address");
        address
            .with_timeout(Duration::from_millis(500))
            .with_patience(Duration::ZERO)
    }

    /// Opens a filter behind it while it is honest, however long a busy machine takes for that.
    pub fn open(&self, name: &str) -> RedisBloom {
        wait("an honest answer", || {
            RedisBloom::open(&self.address(name), None).ok()
        })
    }

    /// Returns an address whose client waits for an answer until the connection ends.
    pub fn patient(&self, name: &str) -> Address {
        let minute = Duration::from_secs(60);
        self.address(name)
            .with_timeout(minute)
            .with_patience(minute)
    }

    /// Spoils this many answers from now on.
    pub fn lie(&self, times: u64) {
        self.lies.store(times, Ordering::SeqCst);
    }
}

/// Loses an answer to an insert into an empty filter, and asserts that the keys of that batch are in doubt, that they
/// are inserted, and that no other key is.
pub fn keys_of_a_lost_answer_are_in_doubt(server: &Server, name: &str) {
    let keys = |range: std::ops::Range<u32>| -> Vec<_> { range.map(u32::to_le_bytes).collect() };
    let liar = Liar::start(server, Lie::Lose);
    let mut filter = RedisBloom::open(&liar.patient(name), None).expect("honest so far");
    filter.insert_batch(&keys(0..10)).expect("honest so far");

    liar.lie(1);
    let error = filter.insert_batch(&keys(5..15));

    // Carried out the first time: all of it is in doubt, even keys that were there before.
    let Err(Error::Interrupted {
        answers,
        error: None,
        ..
    }) = error
    else {
        panic!("{error:?}");
    };
    assert_eq!(answers, [Answer::Doubtful; 10]);
    let new = filter.insert_batch(&keys(0..20)).expect("no doubt");
    assert_eq!(new.iter().filter(|&&new| new).count(), 5);
}

/// Forwards requests and answers, as they arrive from a socket: a test has to send one request at a time.
fn pass(client: &TcpStream, server: &TcpStream, lie: Lie, lies: &Arc<AtomicU64>) {
    let copy = |stream: &TcpStream| stream.try_clone().expect("a stream");
    let (mut from, mut to) = (copy(client), copy(server));
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    let (mut from, mut to, lies) = (copy(server), copy(client), lies.clone());
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 20];
        while let Ok(count) = from.read(&mut buffer) {
            if count == 0 {
                break;
            }
            let less = |left: u64| left.checked_sub(1);
            let lies = lies.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
            let lie = if lies.is_ok() { lie } else { Lie::None };
            if spoil(&mut to, &mut buffer[..count], lie).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}

fn spoil(to: &mut TcpStream, answer: &mut [u8], lie: Lie) -> std::io::Result<()> {
    let end = || Err(std::io::Error::from(std::io::ErrorKind::ConnectionAborted));
    match lie {
        Lie::None => to.write_all(answer),
        Lie::Lose => end(),
        Lie::Truncate => {
            to.write_all(&answer[..answer.len() / 2])?;
            end()
        }
        Lie::Drip => {
            for byte in answer {
                to.write_all(&[*byte])?;
                std::thread::sleep(Duration::from_millis(100));
            }
            Ok(())
        }
        Lie::Instead(bytes) => to.write_all(bytes),
        Lie::Endless(bytes) => {
            let many = bytes.repeat(1000);
            loop {
                to.write_all(&many)?;
            }
        }
        Lie::Replace(old, new) => {
            for byte in answer.iter_mut().filter(|byte| **byte == old) {
                *byte = new;
            }
            to.write_all(answer)
        }
    }
}
