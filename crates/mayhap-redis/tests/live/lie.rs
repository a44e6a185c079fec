//! A stand-in for a server that lies: it passes what a client asks on to a real server, and spoils some of the
//! answers. Shared with the tests of the module.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mayhap_redis::{Address, RedisBloom};

use crate::server::{Server, wait};

/// What is done to an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lie {
    /// It is passed on.
    None,
    /// Nothing is passed on, and the connection closed: the answer is lost.
    Lose,
    /// Half of it is.
    Truncate,
    /// A byte at a time, each long before the client gives up.
    Drip,
    /// This, instead of it.
    Instead(&'static [u8]),
    /// This, again and again.
    Endless(&'static [u8]),
    /// Every such byte is another.
    Replace(u8, u8),
}

/// A server that answers through another, and lies when told to.
pub(crate) struct Liar {
    port: u16,
    /// How many answers it spoils.
    lies: Arc<AtomicU64>,
}

impl Liar {
    pub(crate) fn start(server: &Server, lie: Lie) -> Liar {
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

    pub(crate) fn address(&self, name: &str) -> Address {
        let text = format!("redis://127.0.0.1:{}#{name}", self.port);
        let address: Address = text.parse().expect("an address");
        address
            .with_timeout(Duration::from_millis(500))
            .with_patience(Duration::ZERO)
    }

    /// A filter behind it, opened while it is honest, however long a busy machine takes for that.
    pub(crate) fn open(&self, name: &str) -> RedisBloom {
        wait("an honest answer", || {
            RedisBloom::open(&self.address(name), None).ok()
        })
    }

    /// An address whose client waits for an answer until the connection ends.
    pub(crate) fn patient(&self, name: &str) -> Address {
        let minute = Duration::from_secs(60);
        self.address(name)
            .with_timeout(minute)
            .with_patience(minute)
    }

    /// Lies so often from now on.
    pub(crate) fn lie(&self, times: u64) {
        self.lies.store(times, Ordering::SeqCst);
    }
}

/// Passes questions on, and answers back: as they come from a socket, so a test asks one at a time.
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
