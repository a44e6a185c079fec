//! How filters are made: from a capacity and a rate, from all their keys, or from bytes and files.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use mayhap::file::{Build, Lock, Mapped};
use mayhap::format::{self, Format};
use mayhap::hash::Digest;
use mayhap::kinds::{
    Cascade, FuseShape, RibbonShape, ShiftingAssociation, ShiftingMultiplicity, Spatial,
    SpatialOptions, Windowed,
};
use mayhap::{
    AnyFilter, Description, Digester, Error, Fuse, Kind, Ribbon, Rotation, Scheme, SecretKey, file,
};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::body::Body;
use crate::columns::{Keys, Source, objects};
use crate::error::{Result, value};
use crate::filter::Filter;
use crate::key::key;

/// A filter that was made and has no class yet, and the keys in it.
#[pyclass(frozen, module = "pymayhap")]
pub(crate) struct Made(Mutex<Option<(Body, u64)>>);

impl Made {
    fn empty(body: Body) -> Made {
        Made(Mutex::new(Some((body, 0))))
    }

    /// Counts the keys, for the warning that there are too many.
    pub(crate) fn filled(body: Body) -> Result<Made> {
        let keys = body.stats()?.keys.unwrap_or_default();
        Ok(Made(Mutex::new(Some((body, keys as u64)))))
    }

    pub(crate) fn take(&self) -> Result<(Body, u64)> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or_else(|| value("the body of the filter was used before"))
    }
}

/// A secret, as 16 bytes.
pub(crate) struct Secret(pub(crate) SecretKey);

impl<'py> FromPyObject<'_, 'py> for Secret {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Secret> {
        let bytes = bytes_of(&object)?;
        let length = bytes.len();
        let secret: [u8; 16] = bytes.as_slice().try_into().map_err(|_| {
            value(format!(
                "the secret has {length} bytes; expected 16, such as of secrets.token_bytes(16)"
            ))
        })?;
        Ok(Secret(SecretKey::from_bytes(secret)))
    }
}

/// The bytes of what has some.
pub(crate) fn bytes_of(object: &Bound<'_, PyAny>) -> Result<Vec<u8>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    Ok(PyBuffer::<u8>::get(object)?.to_vec(object.py())?)
}

fn digester(secret: Option<Secret>) -> Digester {
    match secret {
        Some(Secret(key)) => Digester::SipHash { key },
        None => Digester::default(),
    }
}

/// Describes the filter of a kind.
fn described(
    kind: &str,
    capacity: i64,
    rate: f64,
    secret: Option<Secret>,
    scheme: Option<&str>,
    option: Option<u32>,
) -> Result<Description> {
    // Less than nothing is as little as nothing.
    let keys = u64::try_from(capacity).unwrap_or_default();
    let kind: Kind = kind.parse()?;
    let plan = match (kind, option) {
        (Kind::Spatial, Some(areas)) => {
            let digester = Digester::default();
            Spatial::plan_with(keys, rate, SpatialOptions { areas, digester })?
        }
        _ => kind.plan(keys, rate)?,
    };
    let secret = secret.map(|secret| secret.0);
    Ok(match (scheme, secret) {
        (Some(name), secret) => plan.hashed_by(Scheme::named(name, secret.as_ref())?)?,
        (None, Some(key)) => plan.hashed_by(Digester::SipHash { key })?,
        (None, None) => plan,
    })
}

/// An empty filter for a capacity and a rate. The option is the number of areas of a spatial filter.
#[pyfunction]
#[pyo3(signature = (kind, capacity, rate, secret = None, scheme = None, option = None, is_shared = false))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn make(
    py: Python<'_>,
    kind: &str,
    capacity: i64,
    rate: f64,
    secret: Option<Secret>,
    scheme: Option<&str>,
    option: Option<u32>,
    is_shared: bool,
) -> Result<Made> {
    let plan = described(kind, capacity, rate, secret, scheme, option)?;
    let mut body = Body::Plain(py.detach(|| AnyFilter::new(&plan))?);
    if is_shared {
        body.share();
    }
    Ok(Made::empty(body))
}

/// A filter of lately inserted keys whose generations end when the caller says so.
#[pyfunction]
#[pyo3(signature = (capacity, rate, secret = None))]
pub(crate) fn make_timed(capacity: i64, rate: f64, secret: Option<Secret>) -> Result<Made> {
    let keys = u64::try_from(capacity).unwrap_or_default();
    let filter = Windowed::new(keys, rate, Rotation::ByCaller, digester(secret))?;
    Ok(Made::empty(Body::Plain(filter.into())))
}

/// The number of bytes that a filter for a capacity and a rate would take.
#[pyfunction]
#[pyo3(signature = (kind, capacity, rate))]
pub(crate) fn planned_bytes(kind: &str, capacity: i64, rate: f64) -> Result<u64> {
    let plan = described(kind, capacity, rate, None, None, None)?;
    Ok(plan.bits.div_ceil(64) * 8)
}

/// The digests of all keys, 16 bytes each.
fn digests(keys: &Bound<'_, PyAny>, digester: &Digester) -> Result<Vec<Digest>> {
    let mut digests = Vec::new();
    let mut take = |keys: Keys<'_>| {
        match keys {
            Keys::Numbers(numbers) => {
                digests.extend(
                    numbers
                        .iter()
                        .map(|key| digester.digest(&key.to_le_bytes())),
                );
            }
            Keys::Bytes(keys) => digests.extend(keys.iter().map(|key| digester.digest(key))),
        }
        Ok(())
    };
    each_run(keys, &mut take)?;
    Ok(digests)
}

/// Takes all keys, wherever they are from, to `take`.
fn each_run(keys: &Bound<'_, PyAny>, take: &mut impl FnMut(Keys<'_>) -> Result<()>) -> Result<()> {
    match Source::of(keys)? {
        Source::Columns(columns, _) => {
            for column in columns {
                column.runs(0..column.len(), |keys, _| take(keys))?;
            }
        }
        Source::Sequence(sequence) | Source::Objects(sequence) => {
            objects(&sequence, || false, take)?;
        }
        Source::Iterator(objects) => {
            for object in objects {
                let object = object?;
                take(Keys::Bytes(&[key(&object)?.as_ref()]))?;
            }
        }
    }
    Ok(())
}

/// The bytes of all keys.
fn all_bytes(keys: &Bound<'_, PyAny>) -> Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    each_run(keys, &mut |keys| {
        match keys {
            Keys::Numbers(numbers) => {
                all.extend(numbers.iter().map(|key| key.to_le_bytes().to_vec()));
            }
            Keys::Bytes(keys) => all.extend(keys.iter().map(|key| key.to_vec())),
        }
        Ok(())
    })?;
    Ok(all)
}

/// A filter of keys that never change.
#[pyfunction]
#[pyo3(signature = (kind, keys, rate, secret = None))]
pub(crate) fn make_of(
    kind: &str,
    keys: &Bound<'_, PyAny>,
    rate: f64,
    secret: Option<Secret>,
) -> Result<Made> {
    let py = keys.py();
    let digester = digester(secret);
    let filter: AnyFilter = match kind.parse::<Kind>()? {
        Kind::Fuse => {
            let digests = digests(keys, &digester)?;
            py.detach(|| {
                let shape = FuseShape::for_rate((digests.len() as u64).max(1), rate)?;
                Fuse::build_digests(digester, shape.fingerprint_bits(), digests)
            })?
            .into()
        }
        Kind::Ribbon => {
            let digests = digests(keys, &digester)?;
            py.detach(|| {
                let shape = RibbonShape::for_rate((digests.len() as u64).max(1), rate)?;
                Ribbon::build_digests(digester, shape.fingerprint_bits(), digests)
            })?
            .into()
        }
        Kind::ShiftingMultiplicity => {
            let keys = all_bytes(keys)?;
            py.detach(|| ShiftingMultiplicity::from_keys(keys, rate))?
                .into()
        }
        kind => {
            return Err(value(format!(
                "the kind {kind} is not built from keys alone"
            )));
        }
    };
    Made::filled(Body::Plain(filter))
}

/// A filter of two sets of keys.
#[pyfunction]
#[pyo3(signature = (kind, first, second, rate, secret = None))]
pub(crate) fn make_of_two(
    kind: &str,
    first: &Bound<'_, PyAny>,
    second: &Bound<'_, PyAny>,
    rate: f64,
    secret: Option<Secret>,
) -> Result<Made> {
    let py = first.py();
    let (first, second) = (all_bytes(first)?, all_bytes(second)?);
    let filter: AnyFilter = match kind.parse::<Kind>()? {
        Kind::Cascade => py
            .detach(|| Cascade::build(digester(secret), &first, &second))?
            .into(),
        Kind::ShiftingAssociation => {
            let (first, second) = (first.into_iter().collect(), second.into_iter().collect());
            py.detach(|| ShiftingAssociation::from_sets(&first, &second, rate))?
                .into()
        }
        kind => return Err(value(format!("the kind {kind} is not built from two sets"))),
    };
    Made::filled(Body::Plain(filter))
}

/// The filter of which these are the bytes.
pub(crate) fn decode(bytes: &[u8], secret: Option<Secret>) -> Result<AnyFilter> {
    let secret = secret.as_ref().map(|secret| &secret.0);
    Ok(format::open(bytes, secret)?.0)
}

/// A filter that stays in its file; one of another format is read.
#[pyfunction]
#[pyo3(signature = (path, secret = None))]
pub(crate) fn open_file(py: Python<'_>, path: PathBuf, secret: Option<Secret>) -> Result<Made> {
    let secret = secret.map(|secret| secret.0);
    let body = py.detach(|| match Mapped::open(&path, secret.as_ref()) {
        Ok(mapped) => Ok(Body::Mapped(Box::new(mapped))),
        Err(
            Error::Unknown {
                what: "magic number",
                ..
            }
            | Error::Truncated { .. },
        ) => file::open(&path, secret.as_ref()).map(|(filter, _)| Body::Read(filter)),
        Err(error) => Err(error),
    })?;
    Ok(Made::empty(body))
}

/// A filter that is built in its file, or the one that was begun there.
#[pyfunction]
#[pyo3(signature = (path, kind, capacity, rate, secret = None))]
pub(crate) fn build_file(
    py: Python<'_>,
    path: PathBuf,
    kind: &str,
    capacity: i64,
    rate: f64,
    secret: Option<Secret>,
) -> Result<Made> {
    let key = secret.as_ref().map(|secret| secret.0.clone());
    let plan = described(kind, capacity, rate, secret, None, None)?;
    let build = py.detach(|| match Build::create(&path, &plan) {
        Err(Error::Unfinished { .. }) => Build::resume(&path, key.as_ref()),
        build => build,
    })?;
    Ok(Made::empty(Body::Build(Box::new(build))))
}

/// Removes what an unfinished build left beside a file.
#[pyfunction]
pub(crate) fn discard_build(py: Python<'_>, path: PathBuf) -> Result<()> {
    Ok(py.detach(|| Build::discard(&path))?)
}

/// The right to write a file.
#[pyclass(frozen, module = "pymayhap")]
pub(crate) struct FileLock(Mutex<Option<Lock>>);

#[pymethods]
impl FileLock {
    /// Takes the right to write a file: waits while another has it, or raises BlockingIOError.
    #[new]
    #[pyo3(signature = (path, wait))]
    fn new(py: Python<'_>, path: PathBuf, wait: bool) -> Result<FileLock> {
        let lock = py.detach(|| match wait {
            true => Lock::wait(&path),
            false => Lock::acquire(&path),
        })?;
        Ok(FileLock(Mutex::new(Some(lock))))
    }

    /// Puts a filter in the place of the file.
    fn save(&self, py: Python<'_>, filter: &Bound<'_, Filter>) -> Result<()> {
        let filter = filter.get();
        filter.look(py, |body| {
            let lock = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let lock = lock
                .as_ref()
                .ok_or_else(|| value("the lock was given back"))?;
            replace(lock, body, Format::Native)
        })
    }

    /// Gives the right back.
    fn release(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Writes a filter in the place of a file, in one step.
pub(crate) fn replace(lock: &Lock, body: &Body, format: Format) -> Result<()> {
    let mut refused = None;
    let replaced = lock.replace(|output| {
        body.write(format, output).map_err(|error| {
            refused = Some(error);
            Error::Io(std::io::ErrorKind::Other.into())
        })
    });
    match refused {
        Some(error) => Err(error),
        None => Ok(replaced?),
    }
}
