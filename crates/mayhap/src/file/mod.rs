//! Filters in files: saved whole or not at all, loaded, mapped, and built in place.
//!
//! | | memory | the file is |
//! | --- | --- | --- |
//! | [`save`] | the filter's | replaced in one step, under a [`Lock`] |
//! | [`load`] | the filter's | read to the end, every checksum compared |
//! | [`open`] | the filter's | the same, in any [`Format`] |
//! | [`inspect`] | the filter's | the same; needs no secret, and looks up no key |
//! | [`Mapped`] | pages that lookups touch | opened in O(1), verified when asked to |
//! | [`Build`] | pages that inserts touch | made beside the target, and moved there when finished |
//!
//! Writers of one file exclude each other by a lock beside it; readers need none, because a file is
//! never changed, only replaced.

#[cfg(target_os = "linux")]
mod attributes;
#[cfg(target_endian = "little")]
mod build;
mod inspect;
mod lock;
mod map;
mod mapped;
mod save;

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;

#[cfg(target_endian = "little")]
pub use build::Build;
pub use inspect::{Inspected, inspect, verify};
pub use lock::Lock;
#[cfg(unix)]
pub use map::exit_on_bus_error;
pub use mapped::Mapped;
pub use save::save;

pub use crate::address::{hidden_part, shown};
use crate::filter::AnyFilter;
use crate::format::native::{self, Metadata};
use crate::format::{self, Format};
use crate::{Error, Result, SecretKey};

/// Reads the filter in a file, and its metadata. Every checksum is compared.
///
/// # Errors
///
/// As [`native::decode`], and [`Error::File`] when the file cannot be opened.
///
/// ```
/// use mayhap::format::native::Metadata;
/// use mayhap::{Blocked, file};
///
/// let path = std::env::temp_dir().join(format!("load-{}.mayhap", std::process::id()));
/// let mut filter = Blocked::with_capacity(1000, 0.01)?;
/// filter.insert("key");
/// file::save(&path, &filter, &Metadata::default())?;
///
/// let (loaded, _) = file::load(&path, None)?;
/// assert_eq!(Blocked::try_from(loaded)?, filter);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn load(path: impl AsRef<Path>, secret: Option<&SecretKey>) -> Result<(AnyFilter, Metadata)> {
    let (file, length) = open_regular(path.as_ref())?;
    native::read_whole(
        BufReader::with_capacity(1 << 16, file),
        length,
        secret.into(),
    )
}

/// Reads the filter in a file of any format, and returns the format too.
///
/// # Errors
///
/// As [`format::open`], and [`Error::File`] when the file cannot be opened.
///
/// ```
/// use mayhap::format::{self, Format};
/// use mayhap::{Bloom, Scheme, Shape, file};
///
/// let path = std::env::temp_dir().join(format!("open-{}.bin", std::process::id()));
/// let filter = Bloom::new(Shape::new(1024, 7)?, Scheme::Guava64)?.into();
/// file::Lock::acquire(&path)?.replace(|output| format::convert(&filter, Format::Guava, output))?;
///
/// assert_eq!(file::open(&path, None)?, (filter, Format::Guava));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn open(path: impl AsRef<Path>, secret: Option<&SecretKey>) -> Result<(AnyFilter, Format)> {
    let (filter, format, _) = open_with_data(path, None, secret)?;
    Ok((filter, format))
}

/// Reads a filter as [`open`] does, and returns the user's data in the file; see [`format::open_reader_with_data`]. A
/// `format` that is given is not guessed.
///
/// # Errors
///
/// As [`open`].
pub fn open_with_data(
    path: impl AsRef<Path>,
    format: Option<Format>,
    secret: Option<&SecretKey>,
) -> Result<(AnyFilter, Format, Vec<u8>)> {
    let path = path.as_ref();
    let (file, length) = open_regular(path)?;
    let before = Stamp::of(&file).map_err(failed("open", path))?;
    let input = BufReader::with_capacity(1 << 16, &file);
    let opened = format::open::open_known(input, Some(length), format, secret)?;
    // Most formats have no checksum that would reveal a mixture of old and new bytes.
    before.check(&file, path)?;
    Ok(opened)
}

/// The length of a file and the time of its last change, which reveal a change in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    length: u64,
    /// `None` on systems that do not report it.
    changed: Option<std::time::SystemTime>,
}

impl Stamp {
    fn of(file: &File) -> io::Result<Stamp> {
        let metadata = file.metadata()?;
        Ok(Stamp {
            length: metadata.len(),
            changed: metadata.modified().ok(),
        })
    }

    /// Refuses a file that has changed.
    fn check(self, file: &File, path: &Path) -> Result<()> {
        match Stamp::of(file) {
            Ok(now) if now == self => Ok(()),
            Ok(_) => {
                let text = "it was changed in place meanwhile";
                Err(failed("rely on", path)(io::Error::other(text)))
            }
            Err(error) => Err(failed("read", path)(error)),
        }
    }
}

/// Opens a regular file for reading, and returns its length.
fn open_regular(path: &Path) -> Result<(File, u64)> {
    let failed = failed("open", path);
    let check = |metadata: &fs::Metadata| match metadata.is_file() {
        true => Ok(()),
        false => Err(failed(io::Error::other("not a regular file"))),
    };
    // Checked before it is opened: opening a pipe would wait for a writer.
    check(&fs::metadata(path).map_err(&failed)?)?;
    let file = File::open(path).map_err(&failed)?;
    let metadata = file.metadata().map_err(&failed)?;
    check(&metadata)?;
    Ok((file, metadata.len()))
}

/// Makes an error for a failed operation on a file.
fn failed(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Error {
    move |error| Error::File {
        action,
        path: path.to_owned(),
        error,
    }
}

/// Adds the operation and the file to an error that does not name them.
fn in_file(action: &'static str, path: &Path) -> impl Fn(Error) -> Error {
    move |error| match error {
        Error::Io(error) => failed(action, path)(error),
        other => other,
    }
}
