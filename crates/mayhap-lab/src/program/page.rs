//! The destination of a page for a browser.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use mayhap::file::Lock;
use mayhap_program::failure::{Failure, Result};

/// The destination of a page.
pub(crate) enum Page {
    Standard,
    /// A file, which is replaced when the page is complete.
    File(Lock),
    /// A device or a pipe: written to, never replaced.
    Through(PathBuf),
}

impl Page {
    /// Refuses a folder, and locks a file.
    pub(crate) fn open(path: &Path) -> Result<Page> {
        if path == Path::new("-") {
            return Ok(Page::Standard);
        }
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                let error = io::Error::from(io::ErrorKind::IsADirectory);
                Err(Failure::file("write", path)(error))
            }
            Ok(metadata) if !metadata.is_file() => Ok(Page::Through(path.to_owned())),
            _ => Ok(Page::File(Lock::acquire(path)?)),
        }
    }

    /// Writes the page: a file is replaced whole or not at all.
    pub(crate) fn write(&self, text: &str) -> Result<()> {
        match self {
            Page::Standard => print(text),
            Page::File(lock) => Ok(lock.replace(|file| Ok(file.write_all(text.as_bytes())?))?),
            Page::Through(path) => {
                let file = OpenOptions::new().write(true).open(path);
                let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
                written.map_err(Failure::file("write", path))
            }
        }
    }
}

/// Writes a text to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_bytes());
    written
        .and_then(|()| output.flush())
        .map_err(Failure::output)
}
