//! The address of a filter: a server or cluster, and a name on it.

use std::fmt;
use std::time::Duration;

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _};

use crate::{Error, Result};

/// The environment variable that is used when an address has no password.
const PASSWORD_VARIABLE: &str = "MAYHAP_REDIS_PASSWORD";

/// A server or cluster, and the name of a filter on it.
///
/// ```text
/// redis://host:port/database#name        one server; or valkey://
/// rediss://host:port#name                the same over TLS (feature `tls`, async `tokio-tls`); or valkeys://
/// redis+cluster://host:port#name         a cluster, found through any of its nodes
/// redis://host:port?cluster=true#name    the same
/// redis+unix:///path/to/socket#name      a socket of this machine
/// ```
///
/// `user:password@` goes before the host; without a password there, that of the environment variable
/// `MAYHAP_REDIS_PASSWORD` is used. Neither is ever printed.
///
/// ```
/// use mayhap_redis::Address;
///
/// let address: Address = "redis://user:secret@example.org/2#seen".parse()?;
/// assert_eq!(address.name(), "seen");
/// assert_eq!(address.to_string(), "redis://example.org:6379/2#seen");
/// # Ok::<(), mayhap_redis::Error>(())
/// ```
#[derive(Clone)]
pub struct Address {
    info: ConnectionInfo,
    cluster: bool,
    name: String,
    timeout: Duration,
    patience: Duration,
    replicas: u32,
}

/// The number of replicas that must have an insert, and the time to wait for them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Durable {
    pub(crate) replicas: u32,
    pub(crate) time: Duration,
}

impl Address {
    /// The name of the filter.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names another filter on the same server.
    ///
    /// # Errors
    ///
    /// When a filter cannot have this name: see [`Error::Name`].
    pub fn with_name(mut self, name: &str) -> Result<Address> {
        check_name(name)?;
        self.name = name.into();
        Ok(self)
    }

    /// Sets the time to wait for a connection, and for all answers of one round trip; 5 seconds
    /// by default. A server that sends a byte now and then gets no more time. It has to cover the longest
    /// single command: making a shard of 512 MiB takes a good half second.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Address {
        self.timeout = timeout;
        self
    }

    /// Sets the time to keep trying when a connection breaks, a master fails over or a slot
    /// moves; 15 seconds by default, zero for not at all.
    ///
    /// Bits are only ever set, so sending them again changes nothing. If the answer was lost the first
    /// time, an insert that was sent again may find its own bits: it then returns
    /// [`Error::Interrupted`] with the keys that are in doubt.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Address {
        self.patience = patience;
        self
    }

    /// Makes inserts return only when this many replicas have them: `WAIT`, in the
    /// same round trip. Then a fail-over to one of those loses no key that was answered. Zero by
    /// default.
    ///
    /// An insert that reaches fewer within the timeout is [`Error::Unreplicated`]: the master has it.
    #[must_use]
    pub fn with_replicas(mut self, replicas: u32) -> Address {
        self.replicas = replicas;
        self
    }

    pub(crate) fn replicas(&self) -> u32 {
        self.replicas
    }

    pub(crate) fn durable(&self) -> Option<Durable> {
        (self.replicas > 0).then_some(Durable {
            replicas: self.replicas,
            // Answered before the connection times out.
            time: self.timeout * 3 / 4,
        })
    }

    pub(crate) fn info(&self) -> &ConnectionInfo {
        &self.info
    }

    pub(crate) fn is_cluster(&self) -> bool {
        self.cluster
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// The connection parameters of a node that the cluster named.
    pub(crate) fn node(&self, host: &str, port: u16) -> ConnectionInfo {
        let addr = match self.info.addr() {
            ConnectionAddr::TcpTls {
                insecure,
                tls_params,
                ..
            } => ConnectionAddr::TcpTls {
                host: host.into(),
                port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            },
            _ => ConnectionAddr::Tcp(host.into(), port),
        };
        self.info.clone().set_addr(addr)
    }
}

impl std::str::FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Address> {
        let refuse = |expected| Error::Address {
            got: scheme_of(text),
            expected,
        };
        let (url, name) = text
            .split_once('#')
            .ok_or_else(|| refuse("#name at its end"))?;
        // A password with a `#` in it would be cut there, and the rest become a name, which messages show.
        if name.contains(['#', '@']) {
            return Err(refuse(
                "# and @ written as %23 and %40 in a password or a name",
            ));
        }
        let name = percent_decoded(name).ok_or_else(|| refuse("a name in UTF-8"))?;
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| refuse("redis://host:port#name"))?;
        let (scheme, named_cluster) = match scheme.strip_suffix("+cluster") {
            Some(scheme) => (scheme, true),
            None => (scheme, false),
        };
        let (rest, asked_cluster) = without_cluster(rest);
        // The client would need its own TLS built in to know these two names.
        let (scheme, is_secure) = match scheme {
            "rediss" => ("redis", true),
            "valkeys" => ("valkey", true),
            scheme => (scheme, false),
        };
        if is_secure && cfg!(not(feature = "tls")) {
            return Err(refuse("redis://, or the feature `tls` of mayhap-redis"));
        }
        let info = format!("{scheme}://{rest}").into_connection_info();
        let info = info.map_err(|_| {
            refuse(
                "redis://host:port/database#name, or rediss, redis+cluster or redis+unix before \
                 the colon",
            )
        })?;
        let info = if is_secure { over_tls(info) } else { info };
        check_name(&name)?;
        Ok(Address {
            info: with_password_of_environment(info),
            cluster: named_cluster || asked_cluster,
            name,
            timeout: Duration::from_secs(5),
            patience: Duration::from_secs(15),
            replicas: 0,
        })
    }
}

/// Converts a host to one that is reached over TLS.
fn over_tls(info: ConnectionInfo) -> ConnectionInfo {
    let addr = match info.addr() {
        ConnectionAddr::Tcp(host, port) => ConnectionAddr::TcpTls {
            host: host.clone(),
            port: *port,
            insecure: false,
            tls_params: None,
        },
        other => other.clone(),
    };
    info.set_addr(addr)
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cluster = if self.cluster { "+cluster" } else { "" };
        let database = self.info.redis_settings().db();
        match self.info.addr() {
            ConnectionAddr::Tcp(host, port) => write!(f, "redis{cluster}://{host}:{port}")?,
            ConnectionAddr::TcpTls { host, port, .. } => {
                write!(f, "rediss{cluster}://{host}:{port}")?;
            }
            other => write!(f, "redis+unix://{other}")?,
        }
        if database != 0 {
            write!(f, "/{database}")?;
        }
        write!(f, "#{}", self.name)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// Refuses a name that would break out of its hash tag, or that nobody could type.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| !matches!(c, '{' | '}') && !c.is_control();
    if name.is_empty() || name.len() > 200 || !name.chars().all(plain) {
        return Err(Error::Name { got: name.into() });
    }
    Ok(())
}

/// Removes `cluster=…` from the options of an address, and returns whether it was true.
fn without_cluster(rest: &str) -> (String, bool) {
    let Some((path, options)) = rest.split_once('?') else {
        return (rest.into(), false);
    };
    let mut cluster = false;
    let others: Vec<&str> = options
        .split('&')
        .filter(|option| match option.strip_prefix("cluster=") {
            Some(value) => {
                cluster = matches!(value, "true" | "1" | "yes");
                false
            }
            None => true,
        })
        .collect();
    let mut rest = path.to_string();
    if !others.is_empty() {
        rest = format!("{path}?{}", others.join("&"));
    }
    (rest, cluster)
}

fn with_password_of_environment(info: ConnectionInfo) -> ConnectionInfo {
    if info.redis_settings().password().is_some() {
        return info;
    }
    match std::env::var(PASSWORD_VARIABLE) {
        Ok(password) if !password.is_empty() => {
            let settings = info.redis_settings().clone().set_password(password);
            info.set_redis_settings(settings)
        }
        _ => info,
    }
}

/// The scheme of an address that cannot be parsed: an error shows no more of it, because a password may be anywhere in
/// the rest.
fn scheme_of(text: &str) -> String {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.map_or("…".into(), |scheme| format!("{scheme}://…"))
}

/// Replaces each `%xx` by the byte it stands for; `None` when the result is not text.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = after;
            continue;
        }
        let digits = std::str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse().expect("valid")
    }

    #[test]
    fn addresses_say_server_cluster_and_name() {
        let plain = address("redis://localhost/3#seen%20urls");
        assert_eq!(plain.name(), "seen urls");
        assert!(!plain.is_cluster());
        assert_eq!(plain.to_string(), "redis://localhost:6379/3#seen urls");

        for cluster in [
            "redis+cluster://10.0.0.1:7000#a",
            "redis://10.0.0.1:7000?cluster=true#a",
            "redis://10.0.0.1:7000/?protocol=2&cluster=true#a",
        ] {
            assert!(address(cluster).is_cluster(), "{cluster}");
            let shown = address(cluster).to_string();
            assert_eq!(shown, "redis+cluster://10.0.0.1:7000#a");
        }
        assert!(!address("valkey://h?cluster=false#a").is_cluster());
    }

    #[test]
    fn passwords_are_never_shown() {
        for text in ["redis://u:hunter2@h:1#a", "redis://:hunter2@h:1#a"] {
            let address = address(text);
            assert_eq!(
                address.info().redis_settings().password(),
                Some("hunter2"),
                "{text}"
            );
            assert!(!format!("{address} {address:?}").contains("hunter2"));
        }
        for bad in [
            "redis://u:hunter2@h:1",
            "http://:hunter2@h#a",
            "redis://u:hunter2@#a",
            "redis://u:hunter2#a",
            "redis:u:hunter2@h#a",
            "redis://u:x#hunter2@h#a",
            "redis://u:1#hunter2@h",
            "redis://u:x#hunter2{}",
            "redis+unix:///none?pass=hunter2",
        ] {
            let error = bad.parse::<Address>().expect_err("not an address");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn invalid_addresses_are_refused_with_what_is_valid() {
        for bad in [
            "",
            "seen",
            "redis://h",
            "redis:h#a",
            "ftp://h#a",
            "redis://h/x#a",
        ] {
            let error = bad.parse::<Address>();
            assert!(matches!(error, Err(Error::Address { .. })), "{bad}");
        }
        for bad in ["redis://h#", "redis://h#a{b}", "redis://h#a%0Ab"] {
            let error = bad.parse::<Address>();
            assert!(matches!(error, Err(Error::Name { .. })), "{bad}");
        }
    }
}
