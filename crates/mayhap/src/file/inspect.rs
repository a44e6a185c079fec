//! Inspecting a filter without looking up keys, which needs no secret.

use std::io::BufReader;
use std::path::Path;

use super::{Mapped, open, open_regular};
use crate::filter::{AnyFilter, Assemble as _, Filter as _, Hashing, Kind, Stats};
use crate::format::Format;
use crate::format::native::{self, Access, Metadata};
use crate::{Bitmap, Digester, Error, Result, Scheme};

/// A filter's description and state, read without its secret: everything but which keys are in it.
#[derive(Debug)]
pub struct Inspected {
    // If it was made with a secret, its digester is a stand-in: it never leaves this struct, and no key is looked up
    // with it.
    filter: AnyFilter,
    metadata: Metadata,
    format: Format,
}

/// Reads a file of any format and compares every checksum, as [`open`](super::open) does. Needs no secret.
///
/// # Errors
///
/// Those of [`open`](super::open), except for a missing secret.
///
/// ```
/// use mayhap::format::native::Metadata;
/// use mayhap::{Blocked, Digester, Error, SecretKey, file};
///
/// let path = std::env::temp_dir().join(format!("inspect-{}.mayhap", std::process::id()));
/// let secret = Digester::SipHash { key: SecretKey::random()? };
/// let mut filter: Blocked = Blocked::plan(1000, 0.01)?.hashed_by(secret)?.make()?;
/// filter.insert("key");
/// file::save(&path, &filter, &Metadata::default())?;
///
/// assert!(matches!(file::load(&path, None), Err(Error::SecretNeeded)));
/// let inspected = file::inspect(&path)?;
/// assert_eq!(inspected.stats(), filter.stats());
/// assert_eq!(inspected.hashing(), None, "its secret is not known");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn inspect(path: impl AsRef<Path>) -> Result<Inspected> {
    let path = path.as_ref();
    let (file, length) = open_regular(path)?;
    let input = BufReader::with_capacity(1 << 16, file);
    match native::read_whole(input, length, Access::Look) {
        Err(Error::Unrecognised { .. }) => {
            let (filter, format) = open(path, None)?;
            Ok(Inspected {
                filter,
                metadata: Metadata::default(),
                format,
            })
        }
        read => read.map(|(filter, metadata)| Inspected {
            filter,
            metadata,
            format: Format::Native,
        }),
    }
}

/// Compares every checksum of a native file, on this many threads, without its secret.
///
/// # Errors
///
/// Those of [`Mapped::open`] and [`Mapped::verify`], except for a missing secret.
///
/// ```
/// use mayhap::format::native::Metadata;
/// use mayhap::{Blocked, file};
///
/// let path = std::env::temp_dir().join(format!("verify-{}.mayhap", std::process::id()));
/// file::save(&path, &Blocked::with_capacity(1000, 0.01)?, &Metadata::default())?;
/// file::verify(&path, 2)?;
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn verify(path: impl AsRef<Path>, threads: usize) -> Result<()> {
    Mapped::open_for(path.as_ref(), Access::Look)?.verify_on(threads)
}

impl Inspected {
    /// The kind of filter.
    pub fn kind(&self) -> Kind {
        self.filter.kind()
    }

    /// The number of bits, in all parts together.
    pub fn bits(&self) -> u64 {
        self.filter.description().bits
    }

    /// The number of hashes per key.
    pub fn hashes(&self) -> u32 {
        self.filter.description().hashes
    }

    /// The way keys are hashed; `None` for SipHash under a secret, which is not known here.
    pub fn hashing(&self) -> Option<Hashing> {
        match self.filter.description().hashing {
            Hashing::Scheme(Scheme::Native(Digester::SipHash { .. })) => None,
            hashing => Some(hashing),
        }
    }

    /// Returns the number of ones, the estimated number of keys, and the rate.
    pub fn stats(&self) -> Stats {
        self.filter.stats()
    }

    /// The bits, part by part.
    pub fn parts(&self) -> Vec<&Bitmap> {
        self.filter.parts()
    }

    /// The notes about the filter.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The format of the file.
    pub fn format(&self) -> Format {
        self.format
    }
}
