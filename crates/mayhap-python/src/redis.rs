//! Filters on a server that many processes share.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mayhap::format::native::Metadata;
use mayhap::{Description, Digester, Kind};
use mayhap_redis::{Address, Expiry, Options, RedisBloom, RedisRebuild as Next, Window};
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
    /// The connection, used by one thread at a time; `None` after it was closed.
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
    fn of(url: String, client: RedisBloom) -> RedisFilter {
        RedisFilter {
            url,
            client: Mutex::new(Some(client)),
        }
    }

    /// Talks to the server while other Python threads run.
    fn talk<R: Send>(
        &self,
        py: Python<'_>,
        talk: impl FnOnce(&mut RedisBloom) -> mayhap_redis::Result<R> + Send,
    ) -> Result<R> {
        talk_to(&self.client, py, talk)
    }

    fn many(&self, keys: &Bound<'_, PyAny>, ask: Ask<RedisBloom>) -> Result<Vec<bool>> {
        many(&self.client, keys, ask)
    }
}

/// A filter that is filled before anyone looks up keys in it: see `RedisFilter.rebuild`.
#[pyclass(frozen, weakref, module = "pymayhap")]
pub(crate) struct RedisRebuild(Mutex<Option<Next>>);

impl RedisRebuild {
    /// Ends the rebuild and closes it.
    fn end(
        &self,
        py: Python<'_>,
        end: impl FnOnce(Next) -> mayhap_redis::Result<()> + Send,
    ) -> Result<()> {
        let ended = py.detach(|| {
            let next = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            next.ok_or_else(closed)
                .and_then(|next| Ok(end(next)?))
                .map_err(PyErr::from)
        });
        Ok(ended?)
    }
}

#[pymethods]
impl RedisRebuild {
    /// Inserts every key and returns how many were new.
    #[pyo3(signature = (keys, /))]
    fn update(&self, keys: &Bound<'_, PyAny>) -> Result<usize> {
        let new = many(&self.0, keys, |next, keys| next.insert_batch(keys))?;
        Ok(new.into_iter().filter(|&new| new).count())
    }

    /// Puts the filter in its place, in one step.
    fn finish(&self, py: Python<'_>) -> Result<()> {
        self.end(py, Next::promote)
    }

    /// Drops the new filter; the old one stays.
    fn abandon(&self, py: Python<'_>) -> Result<()> {
        self.end(py, Next::abandon)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (error, _value, _trace))]
    fn __exit__(
        &self,
        py: Python<'_>,
        error: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> Result<()> {
        match error.is_none() {
            true => self.finish(py),
            false => self.abandon(py),
        }
    }
}

fn closed() -> crate::error::Error {
    value("the filter is closed; expected one that is open")
}

/// Talks to the server from one thread at a time, while other Python threads run.
fn talk_to<C: Send, R: Send>(
    client: &Mutex<Option<C>>,
    py: Python<'_>,
    talk: impl FnOnce(&mut C) -> mayhap_redis::Result<R> + Send,
) -> Result<R> {
    let answer = py.detach(|| {
        let mut client = client.lock().unwrap_or_else(PoisonError::into_inner);
        match client.as_mut() {
            Some(client) => talk(client).map_err(crate::error::Error::from),
            None => Err(closed()),
        }
        .map_err(PyErr::from)
    });
    Ok(answer?)
}

/// Looks up or inserts many keys, in batches.
fn many<C: Send>(
    client: &Mutex<Option<C>>,
    keys: &Bound<'_, PyAny>,
    ask: Ask<C>,
) -> Result<Vec<bool>> {
    let py = keys.py();
    let mut answers = Vec::new();
    let mut ask = |keys: Keys<'_>| {
        let found = match keys {
            Keys::Numbers(numbers) => {
                let numbers: Vec<[u8; 8]> = numbers.iter().map(|key| key.to_le_bytes()).collect();
                let numbers: Vec<&[u8]> = numbers.iter().map(|key| &key[..]).collect();
                talk_to(client, py, |client| ask(client, &numbers))?
            }
            Keys::Bytes(keys) => talk_to(client, py, |client| ask(client, keys))?,
        };
        answers.extend(found);
        Ok(())
    };
    match Source::of(keys)? {
        // The server does not answer for rows without a key, so masks of columns would shift: they become lists.
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

/// A request about many keys: a lookup or an insertion.
type Ask<C> = fn(&mut C, &[&[u8]]) -> mayhap_redis::Result<Vec<bool>>;

/// Parses an address, and sets the timeout.
fn address(url: &str, timeout: Option<f64>) -> Result<Address> {
    let address: Address = url.parse()?;
    Ok(match timeout {
        Some(timeout) => address.with_timeout(seconds(timeout, "timeout")?),
        None => address,
    })
}

/// Describes the filter for a capacity and a rate, or one generation of a window.
fn plan(
    kind: &str,
    capacity: i64,
    rate: f64,
    window: Option<Window>,
    secret: Option<Secret>,
) -> Result<Description> {
    let keys = u64::try_from(capacity).unwrap_or_default();
    let kind: Kind = kind.parse()?;
    let plan = match window {
        Some(window) => window.plan(kind, keys, rate)?,
        None => kind.plan(keys, rate)?,
    };
    Ok(match secret {
        Some(Secret(key)) => plan.hashed_by(Digester::SipHash { key })?,
        None => plan,
    })
}

fn options(expire: Option<f64>) -> Result<Options> {
    let expiry = match expire {
        Some(time) => Some(Expiry::After(seconds(time, "expire")?)),
        None => None,
    };
    Ok(Options {
        expiry,
        ..Options::default()
    })
}

#[pymethods]
impl RedisFilter {
    /// Opens the filter of this name on the server. Raises LookupError if there is none, or one that is not filled yet.
    #[new]
    #[pyo3(signature = (url, *, secret = None, timeout = None))]
    fn new(
        py: Python<'_>,
        url: String,
        secret: Option<Secret>,
        timeout: Option<f64>,
    ) -> Result<RedisFilter> {
        let address = address(&url, timeout)?;
        let secret = secret.map(|secret| secret.0);
        let client = py.detach(|| RedisBloom::open(&address, secret.as_ref()))?;
        Ok(RedisFilter::of(url, client))
    }

    /// Makes an empty filter of this name on the server. Raises ValueError if there is one already; with ``exist_ok``
    /// it opens that one instead.
    ///
    /// With ``window``, keys are forgotten after that many seconds; with ``expire``, the whole filter is deleted that
    /// many seconds after it was made. An empty filter finds no key: use ``rebuild`` for one that must know all keys
    /// first.
    #[staticmethod]
    #[pyo3(signature = (url, capacity, rate = 0.01, *, kind = "blocked", secret = None, window = None, generations = 7, expire = None, timeout = None, exist_ok = false))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn create(
        py: Python<'_>,
        url: String,
        capacity: i64,
        rate: f64,
        kind: &str,
        secret: Option<Secret>,
        window: Option<f64>,
        generations: u32,
        expire: Option<f64>,
        timeout: Option<f64>,
        exist_ok: bool,
    ) -> Result<RedisFilter> {
        let address = address(&url, timeout)?;
        let window = match window {
            Some(span) => Some(Window {
                span: seconds(span, "window")?,
                generations,
            }),
            None => None,
        };
        let key = secret.as_ref().map(|secret| secret.0.clone());
        let plan = plan(kind, capacity, rate, window, secret)?;
        let options = options(expire)?;
        let client = py.detach(|| {
            let made = match window {
                Some(window) => RedisBloom::create_window(&address, window, &plan, &options),
                None if exist_ok => RedisBloom::open_or_create(&address, &plan, &options),
                None => RedisBloom::create(&address, &plan, &options),
            };
            match made {
                Err(mayhap_redis::Error::Exists { .. }) if exist_ok => {
                    RedisBloom::open(&address, key.as_ref())
                }
                made => made,
            }
        })?;
        Ok(RedisFilter::of(url, client))
    }

    /// Begins a filter that replaces the one of this name, if there is one, once it is filled.
    ///
    /// Until the block ends the old filter answers, and keys that others add go into both. If there is no old filter,
    /// lookups raise LookupError. So no key is denied because the filter is not filled yet.
    #[staticmethod]
    #[pyo3(signature = (url, capacity, rate = 0.01, *, kind = "blocked", secret = None, expire = None, timeout = None))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn rebuild(
        py: Python<'_>,
        url: String,
        capacity: i64,
        rate: f64,
        kind: &str,
        secret: Option<Secret>,
        expire: Option<f64>,
        timeout: Option<f64>,
    ) -> Result<RedisRebuild> {
        let address = address(&url, timeout)?;
        let plan = plan(kind, capacity, rate, None, secret)?;
        let options = options(expire)?;
        let next = py.detach(|| RedisBloom::rebuild_at(&address, &plan, &options))?;
        Ok(RedisRebuild(Mutex::new(Some(next))))
    }

    /// Inserts a key; returns True to exactly one of all processes that insert it.
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

    /// Inserts each key, in one round trip per thousand keys; True where this process was the first.
    #[pyo3(signature = (keys, /))]
    fn add_many(&self, keys: &Bound<'_, PyAny>) -> Result<Vec<bool>> {
        self.many(keys, |client, keys| client.insert_batch(keys))
    }

    /// Looks up each key, in one round trip per thousand keys; True where it may be in the filter.
    #[pyo3(signature = (keys, /))]
    fn contains_many(&self, keys: &Bound<'_, PyAny>) -> Result<Vec<bool>> {
        self.many(keys, |client, keys| client.contains_batch(keys))
    }

    /// Inserts every key and returns how many were new.
    #[pyo3(signature = (keys, /))]
    fn update(&self, keys: &Bound<'_, PyAny>) -> Result<usize> {
        Ok(self
            .many(keys, |client, keys| client.insert_batch(keys))?
            .into_iter()
            .filter(|&new| new)
            .count())
    }

    /// Has the server count every bit, and returns the estimated number of keys and the rate now.
    fn stats(&self, py: Python<'_>) -> Result<Stats> {
        Ok(self.talk(py, RedisBloom::stats)?.into())
    }

    /// Forgets every key.
    fn clear(&self, py: Python<'_>) -> Result<()> {
        self.talk(py, RedisBloom::clear)
    }

    /// Copies the filter into memory.
    fn pull<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let filter = self.talk(py, |client| client.pull(|_, _| ()))?;
        instance(one::class(py)?, Body::Plain(filter))
    }

    /// Copies the filter into a file.
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

    /// Closes the connection; the filter stays on the server.
    fn close(&self) {
        drop(
            self.client
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
    }

    fn __repr__(slf: &Bound<'_, Self>) -> Result<String> {
        // The part between scheme and host may be a password.
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
