//! Constructors of filters: from a capacity and a rate, from all their keys, or from bytes and files.

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
use crate::columns::{Keys, Nulls, Source, objects};
use crate::error::{Result, value};
use crate::filter::Filter;
use crate::key::key;
use crate::stats::bytes_of_bits;

/// A new filter that has no class yet, and the number of its keys if they were counted.
#[pyclass(frozen, module = "pymayhap")]
pub(crate) struct Made(Mutex<Option<(Body, Option<u64>)>>);

impl Made {
    fn empty(body: Body) -> Made {
        Made(Mutex::new(Some((body, Some(0)))))
    }

    /// Wraps a filter of a file, which was opened without reading all of it.
    fn uncounted(body: Body) -> Made {
        Made(Mutex::new(Some((body, None))))
    }

    /// Wraps a filter and counts its keys, for the warning that there are too many.
    pub(crate) fn filled(body: Body) -> Result<Made> {
        // A saturated filter may have any number of keys.
        let keys = body
            .stats()?
            .keys
            .map_or(1 << 63, |keys| keys.ceil() as u64);
        Ok(Made(Mutex::new(Some((body, Some(keys))))))
    }

    pub(crate) fn take(&self) -> Result<(Body, Option<u64>)> {
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

/// Copies the bytes of an object that has a buffer.
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

/// Describes the filter that these arguments ask for.
fn described(
    kind: &str,
    capacity: i64,
    rate: f64,
    secret: Option<Secret>,
    scheme: Option<&str>,
    option: Option<u32>,
) -> Result<Description> {
    // A negative capacity is refused as 0 is.
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

/// Makes an empty filter for a capacity and a rate. The option is the number of areas of a spatial filter.
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

/// Makes a windowed filter whose generations end when the caller says so.
#[pyfunction]
#[pyo3(signature = (capacity, rate, secret = None))]
pub(crate) fn make_timed(capacity: i64, rate: f64, secret: Option<Secret>) -> Result<Made> {
    let keys = u64::try_from(capacity).unwrap_or_default();
    let filter = Windowed::new(keys, rate, Rotation::ByCaller, digester(secret))?;
    Ok(Made::empty(Body::Plain(filter.into())))
}

/// Returns the number of bytes that a filter for a capacity and a rate would take.
#[pyfunction]
#[pyo3(signature = (kind, capacity, rate))]
pub(crate) fn planned_bytes(kind: &str, capacity: i64, rate: f64) -> Result<u64> {
    let plan = described(kind, capacity, rate, None, None, None)?;
    Ok(bytes_of_bits(plan.bits))
}

/// Returns the digests of all keys, 16 bytes each.
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

/// Calls `take` with the keys of any source, run by run.
fn each_run(keys: &Bound<'_, PyAny>, take: &mut impl FnMut(Keys<'_>) -> Result<()>) -> Result<()> {
    match Source::of(keys)? {
        Source::Columns(mut columns, _) => {
            while let Some(some) = columns.next(keys.py(), 1)? {
                for column in some {
                    column.runs(0..column.len(), Nulls::One, |keys, _| take(keys))?;
                }
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

/// Copies the bytes of all keys.
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

/// Builds a filter of keys that never change.
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

/// Builds a filter of two sets of keys.
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

/// Decodes a filter from its bytes.
pub(crate) fn decode(bytes: &[u8], secret: Option<Secret>) -> Result<AnyFilter> {
    let secret = secret.as_ref().map(|secret| &secret.0);
    Ok(format::open(bytes, secret)?.0)
}

/// Opens a filter that stays in its file; one of another format is read into memory.
#[pyfunction]
#[pyo3(signature = (path, secret = None))]
pub(crate) fn open_file(py: Python<'_>, path: PathBuf, secret: Option<Secret>) -> Result<Made> {
    let secret = secret.map(|secret| secret.0);
    explain_bus_errors(py)?;
    let body = py.detach(|| match Mapped::open(&path, secret.as_ref()) {
        Ok(mapped) => Ok(Body::Mapped(Box::new(mapped))),
        Err(Error::Unrecognised { .. } | Error::Truncated { .. }) => {
            file::open(&path, secret.as_ref()).map(|(filter, _)| Body::Read(filter))
        }
        Err(error) => Err(error),
    })?;
    Ok(Made::uncounted(body))
}

/// Makes the process say why it ends, if a file is cut short while it is mapped. Leaves Python's own handler alone,
/// which shows where it ended.
fn explain_bus_errors(py: Python<'_>) -> Result<()> {
    #[cfg(unix)]
    if !py
        .import("faulthandler")?
        .call_method0("is_enabled")?
        .extract::<bool>()?
    {
        file::exit_on_bus_error(BUS_ERROR, 128 + 7);
    }
    Ok(())
}

#[cfg(unix)]
const BUS_ERROR: &str = "pymayhap: bus error: a file that is mapped into memory was cut short, such as that of an opened \
     filter; save() and edit() replace files, and load() reads one into memory\n";

/// Begins a filter that is built in its file, or continues the one that was begun there.
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
    let boxed = |build| Body::Build(Box::new(build));
    match py.detach(|| Build::create(&path, &plan)) {
        Err(Error::Unfinished { .. }) => {
            let build = py.detach(|| Build::resume(&path, key.as_ref()))?;
            Ok(Made::uncounted(boxed(build)))
        }
        build => Ok(Made::empty(boxed(build?))),
    }
}

/// Removes what an unfinished build left beside a file.
#[pyfunction]
pub(crate) fn discard_build(py: Python<'_>, path: PathBuf) -> Result<()> {
    Ok(py.detach(|| Build::discard(&path))?)
}

/// The lock of a file that is to be written.
#[pyclass(frozen, module = "pymayhap")]
pub(crate) struct FileLock(Mutex<Option<Lock>>);

#[pymethods]
impl FileLock {
    /// Locks a file: waits while another process has the lock, or raises BlockingIOError.
    #[new]
    #[pyo3(signature = (path, wait))]
    fn new(py: Python<'_>, path: PathBuf, wait: bool) -> Result<FileLock> {
        let lock = py.detach(|| match wait {
            true => Lock::wait(&path),
            false => Lock::acquire(&path),
        })?;
        Ok(FileLock(Mutex::new(Some(lock))))
    }

    /// Replaces the file by a filter.
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

    /// Unlocks the file.
    fn release(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Replaces a file by a filter, in one step.
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
