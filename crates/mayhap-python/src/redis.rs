//! Filters on a server that many processes share.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mayhap::format::native::Metadata;
use mayhap::{Digester, Kind};
use mayhap_redis::{Address, Expiry, Options, RedisBloom, Window};
use pyo3::prelude::*;

use crate::body::Body;
use crate::columns::{Keys, Source, objects};
use crate::error::{Result, value};
use crate::filter::instance;
use crate::key::key;
use crate::make::Secret;
use crate::one;
use crate::stats::Stats;

/// A filter in Redis or Valkey. Of all processes that add a key, exactly one gets True.
#[pyclass(frozen, subclass, weakref, module = "pymayhap")]
pub(crate) struct RedisFilter {
    url: String,
    /// One conversation with the server at a time. None after it was closed.
    client: Mutex<Option<RedisBloom>>,
}

fn seconds(time: f64, what: &str) -> Result<Duration> {
    let refused = |_| {
        value(format!(
            "{what} is {time} seconds; expected a number above 0"
        ))
    };
    Duration::try_from_secs_f64(time).map_err(refused)
}

impl RedisFilter {
    /// Talks to the server while other Python threads run.
    fn talk<R: Send>(
        &self,
        py: Python<'_>,
        talk: impl FnOnce(&mut RedisBloom) -> mayhap_redis::Result<R> + Send,
    ) -> Result<R> {
        let answer = py.detach(|| {
            let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
            match client.as_mut() {
                Some(client) => talk(client).map_err(crate::error::Error::from),
                None => Err(value("the filter is closed; expected one that is open")),
            }
            .map_err(PyErr::from)
        });
        Ok(answer?)
    }

    fn many(&self, keys: &Bound<'_, PyAny>, talk: Talk) -> Result<Vec<bool>> {
        let py = keys.py();
        let mut answers = Vec::new();
        let mut ask = |keys: Keys<'_>| {
            let found = match keys {
                Keys::Numbers(numbers) => {
                    let numbers: Vec<[u8; 8]> =
                        numbers.iter().map(|key| key.to_le_bytes()).collect();
                    let numbers: Vec<&[u8]> = numbers.iter().map(|key| &key[..]).collect();
                    self.talk(py, |client| talk(client, &numbers))?
                }
                Keys::Bytes(keys) => self.talk(py, |client| talk(client, keys))?,
            };
            answers.extend(found);
            Ok(())
        };
        match Source::of(keys)? {
            // Rows without a key get no answer from the server, so that the answers would not be in line.
            Source::Columns(..) => {
                let list = keys
                    .call_method0("tolist")
                    .or_else(|_| keys.call_method0("to_list"))
                    .or_else(|_| keys.call_method0("to_pylist"))?;
                objects(&list, || false, ask)?;
            }
            Source::Sequence(sequence) | Source::Objects(sequence) => {
                objects(&sequence, || false, ask)?
            }
            Source::Iterator(objects) => {
                let list = pyo3::types::PyList::empty(py);
                for object in objects {
                    list.append(object?)?;
                }
                crate::columns::objects(list.as_any(), || false, &mut ask)?;
            }
        }
        Ok(answers)
    }
}

type Talk = fn(&mut RedisBloom, &[&[u8]]) -> mayhap_redis::Result<Vec<bool>>;

fn insert(client: &mut RedisBloom, keys: &[&[u8]]) -> mayhap_redis::Result<Vec<bool>> {
    client.insert_batch(keys)
}

fn contains(client: &mut RedisBloom, keys: &[&[u8]]) -> mayhap_redis::Result<Vec<bool>> {
    client.contains_batch(keys)
}

#[pymethods]
impl RedisFilter {
    /// The filter of this name on the server, which is made where there is none.
    ///
    /// Without a capacity one that exists is opened. ``window`` forgets keys after that many seconds; ``expire`` has the
    /// whole filter go away that many seconds after it was made.
    #[new]
    #[pyo3(signature = (url, capacity = None, rate = 0.01, *, kind = "blocked", secret = None, window = None, generations = 7, expire = None, timeout = None))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        py: Python<'_>,
        url: String,
        capacity: Option<i64>,
        rate: f64,
        kind: &str,
        secret: Option<Secret>,
        window: Option<f64>,
        generations: u32,
        expire: Option<f64>,
        timeout: Option<f64>,
    ) -> Result<RedisFilter> {
        let mut address: Address = url.parse()?;
        if let Some(timeout) = timeout {
            address = address.with_timeout(seconds(timeout, "timeout")?);
        }
        let secret = secret.map(|secret| secret.0);
        let client = match capacity {
            None => py.detach(|| RedisBloom::open(&address, secret.as_ref()))?,
            Some(capacity) => {
                let keys = u64::try_from(capacity).unwrap_or_default();
                let kind: Kind = kind.parse()?;
                let window = match window {
                    Some(span) => Some(Window {
                        span: seconds(span, "window")?,
                        generations,
                    }),
                    None => None,
                };
                let mut plan = match window {
                    Some(window) => window.plan(kind, keys, rate)?,
                    None => kind.plan(keys, rate)?,
                };
                if let Some(key) = secret.clone() {
                    plan = plan.hashed_by(Digester::SipHash { key })?;
                }
                let expiry = match expire {
                    Some(time) => Some(Expiry::After(seconds(time, "expire")?)),
                    None => None,
                };
                let options = Options {
                    expiry,
                    ..Options::default()
                };
                py.detach(|| match window {
                    None => RedisBloom::open_or_create(&address, &plan, &options),
                    Some(window) => {
                        match RedisBloom::create_window(&address, window, &plan, &options) {
                            Err(mayhap_redis::Error::Exists { .. }) => {
                                RedisBloom::open(&address, secret.as_ref())
                            }
                            client => client,
                        }
                    }
                })?
            }
        };
        Ok(RedisFilter {
            url,
            client: Mutex::new(Some(client)),
        })
    }

    /// Inserts a key; True for exactly one of all processes that do.
    #[pyo3(signature = (key, /))]
    fn add(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Result<bool> {
        let key = self::key(key)?;
        let key = key.as_ref();
        self.talk(py, |client| client.insert(key))
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> Result<bool> {
        let key = self::key(key)?;
        let key = key.as_ref();
        self.talk(py, |client| client.contains(key))
    }

    /// Inserts each key, in one round trip for each thousand; True where this process was the first.
    #[pyo3(signature = (keys, /))]
    fn add_many(&self, keys: &Bound<'_, PyAny>) -> Result<Vec<bool>> {
        self.many(keys, insert)
    }

    /// Whether each key may be in the filter, in one round trip for each thousand.
    #[pyo3(signature = (keys, /))]
    fn contains_many(&self, keys: &Bound<'_, PyAny>) -> Result<Vec<bool>> {
        self.many(keys, contains)
    }

    /// Inserts every key and returns how many were new.
    #[pyo3(signature = (keys, /))]
    fn update(&self, keys: &Bound<'_, PyAny>) -> Result<usize> {
        Ok(self
            .many(keys, insert)?
            .into_iter()
            .filter(|&new| new)
            .count())
    }

    /// What the filter holds now. The server counts every bit.
    fn stats(&self, py: Python<'_>) -> Result<Stats> {
        Ok(self.talk(py, RedisBloom::stats)?.into())
    }

    /// Forgets every key.
    fn clear(&self, py: Python<'_>) -> Result<()> {
        self.talk(py, RedisBloom::clear)
    }

    /// A copy of the filter in memory.
    fn pull<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let filter = self.talk(py, |client| client.pull(|_, _| ()))?;
        instance(one::class(py)?, Body::Plain(filter))
    }

    /// A copy of the filter in a file.
    #[pyo3(signature = (path, /))]
    fn save(&self, py: Python<'_>, path: PathBuf) -> Result<()> {
        self.talk(py, |client| client.save(&path, &Metadata::default()))
    }

    /// Deletes the filter on the server.
    fn delete(&self, py: Python<'_>) -> Result<()> {
        let deleted = py.detach(|| {
            let client = self
                .client
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            client.map_or(Ok(()), RedisBloom::delete)
        });
        Ok(deleted?)
    }

    /// Ends the conversation with the server; the filter stays there.
    fn close(&self) {
        drop(
            self.client
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
    }

    fn __repr__(slf: &Bound<'_, Self>) -> Result<String> {
        // What is between the scheme and the host may be a password.
        let url = &slf.get().url;
        let shown = match (url.find("://"), url.rfind('@')) {
            (Some(scheme), Some(at)) if at > scheme => {
                format!("{}…{}", &url[..scheme + 3], &url[at..])
            }
            _ => url.clone(),
        };
        Ok(format!("{}({shown:?})", slf.get_type().name()?))
    }
}
