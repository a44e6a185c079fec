//! A connection to one server that times out as a whole.
//!
//! The timeouts of sockets start again with every byte, so a server that sends a byte at a time could hold its client
//! for as long as it likes. Here everything that is sent and read between two calls of [`Connection::allow`] has to be
//! done by one deadline, and has a limit of bytes.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use redis::{ConnectionAddr, ConnectionInfo, ErrorKind, RedisResult, Value};

use crate::resp::Reader;

/// The most bytes of the answers to one exchange: many times what the largest has, and far less than all memory.
const MOST_BYTES: u64 = 256 << 20;

pub(crate) struct Connection {
    stream: Stream,
    reader: Reader,
}

impl Connection {
    /// Connects and logs in, within this time.
    pub(crate) fn open(info: &ConnectionInfo, timeout: Duration) -> RedisResult<Connection> {
        let mut connection = Connection {
            stream: Stream::open(info.addr(), Instant::now() + timeout)?,
            reader: Reader::new(),
        };
        let settings = info.redis_settings();
        if let Some(password) = settings.password() {
            let mut command = redis::cmd("AUTH");
            if let Some(user) = settings.username() {
                command.arg(user);
            }
            connection.command(command.arg(password), ErrorKind::AuthenticationFailed)?;
        }
        if settings.db() != 0 {
            let mut command = redis::cmd("SELECT");
            connection.command(command.arg(settings.db()), ErrorKind::InvalidClientConfig)?;
        }
        Ok(connection)
    }

    fn command(&mut self, command: &redis::Cmd, refused: ErrorKind) -> RedisResult<()> {
        self.send(&command.get_packed_command())?;
        match self.receive()? {
            Value::ServerError(error) if refused == ErrorKind::AuthenticationFailed => {
                let message = error.details().unwrap_or_default().to_string();
                Err((refused, "the password is not accepted", message).into())
            }
            Value::ServerError(error) => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Sets the time for everything that is sent and received from now on.
    pub(crate) fn allow(&mut self, timeout: Duration) {
        let socket = self.stream.socket();
        socket.until = Instant::now() + timeout;
        socket.left = MOST_BYTES;
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> RedisResult<()> {
        self.stream.write_all(bytes)?;
        Ok(self.stream.flush()?)
    }

    /// Receives the next answer.
    pub(crate) fn receive(&mut self) -> RedisResult<Value> {
        self.reader.value(&mut self.stream)
    }
}

enum Stream {
    Plain(Socket),
    #[cfg(feature = "tls")]
    Tls(Box<rustls::StreamOwned<rustls::ClientConnection, Socket>>),
}

impl Stream {
    fn open(address: &ConnectionAddr, until: Instant) -> RedisResult<Stream> {
        match address {
            ConnectionAddr::Tcp(host, port) => {
                Ok(Stream::Plain(Socket::connect(host, *port, until)?))
            }
            #[cfg(feature = "tls")]
            ConnectionAddr::TcpTls { host, port, .. } => {
                let socket = Socket::connect(host, *port, until)?;
                Ok(Stream::Tls(Box::new(tls(host, socket)?)))
            }
            #[cfg(unix)]
            ConnectionAddr::Unix(path) => Ok(Stream::Plain(Socket {
                file: File::Unix(UnixStream::connect(path)?),
                until,
                left: MOST_BYTES,
            })),
            _ => Err((ErrorKind::InvalidClientConfig, "no way to connect").into()),
        }
    }

    fn socket(&mut self) -> &mut Socket {
        match self {
            Stream::Plain(socket) => socket,
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => &mut stream.sock,
        }
    }
}

/// Begins TLS with a host whose certificate an authority of this machine has signed.
#[cfg(feature = "tls")]
fn tls(
    host: &str,
    socket: Socket,
) -> RedisResult<rustls::StreamOwned<rustls::ClientConnection, Socket>> {
    let refuse = |error: &dyn std::fmt::Display| {
        let message = error.to_string();
        redis::RedisError::from((ErrorKind::InvalidClientConfig, "TLS", message))
    };
    let mut authorities = rustls::RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    authorities.add_parsable_certificates(found.certs);
    let config = rustls::ClientConfig::builder()
        .with_root_certificates(authorities)
        .with_no_client_auth();
    let name = rustls::pki_types::ServerName::try_from(host.to_string());
    let name = name.map_err(|error| refuse(&error))?;
    let client = rustls::ClientConnection::new(std::sync::Arc::new(config), name);
    let client = client.map_err(|error| refuse(&error))?;
    Ok(rustls::StreamOwned::new(client, socket))
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(buffer),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.flush(),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => stream.flush(),
        }
    }
}

enum File {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

/// A socket with a deadline.
struct Socket {
    file: File,
    until: Instant,
    /// The bytes that may still be read.
    left: u64,
}

impl Socket {
    fn connect(host: &str, port: u16, until: Instant) -> io::Result<Socket> {
        let mut trouble = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, remaining(until)?) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Socket {
                        file: File::Tcp(stream),
                        until,
                        left: MOST_BYTES,
                    });
                }
                Err(error) => trouble = error,
            }
        }
        Err(trouble)
    }
}

/// The time left until the deadline.
fn remaining(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(io::ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let time = Some(remaining(self.until)?);
        let count = match &mut self.file {
            File::Tcp(stream) => stream
                .set_read_timeout(time)
                .and_then(|()| stream.read(buffer))?,
            #[cfg(unix)]
            File::Unix(stream) => stream
                .set_read_timeout(time)
                .and_then(|()| stream.read(buffer))?,
        };
        let left = self.left.checked_sub(count as u64);
        self.left = left.ok_or_else(|| {
            let message = "the answer is longer than any the server has to give";
            io::Error::new(io::ErrorKind::InvalidData, message)
        })?;
        Ok(count)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let time = Some(remaining(self.until)?);
        match &mut self.file {
            File::Tcp(stream) => stream
                .set_write_timeout(time)
                .and_then(|()| stream.write(bytes)),
            #[cfg(unix)]
            File::Unix(stream) => stream
                .set_write_timeout(time)
                .and_then(|()| stream.write(bytes)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
