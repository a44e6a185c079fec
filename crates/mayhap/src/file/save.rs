//! Replacing a file in one step.
//!
//! The new bytes go to a file beside the target, `NAME.saving`, which is made durable and then renamed
//! over it; then the folder is made durable. Whatever happens, and whenever, the target is the old
//! file or the new one, whole. What a dead writer left beside it is used up by the next.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::lock::sibling;
use super::{Lock, failed, in_file};
use crate::Result;
use crate::filter::Assemble;
use crate::format::native::{self, Metadata};

/// Saves a filter in the native format: afterwards the file is the new one, durably, or on an error
/// the one it was.
///
/// An existing file's permissions are kept, and a link to it stays a link; its owner and its other
/// hard links are not.
///
/// # Errors
///
/// [`Error::Locked`](crate::Error::Locked) when another writer has the file,
/// [`Error::File`](crate::Error::File) when writing fails, and those of [`native::write`]. When only
/// syncing the folder fails, the file is the new one but may not outlive a power failure.
///
/// ```
/// use mayhap::format::native::Metadata;
/// use mayhap::{Blocked, file};
///
/// let path = std::env::temp_dir().join(format!("save-{}.mayhap", std::process::id()));
/// let filter = Blocked::with_capacity(1000, 0.01)?;
/// file::save(&path, &filter, &Metadata::default())?;
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn save<F: Assemble>(path: impl AsRef<Path>, filter: &F, metadata: &Metadata) -> Result<()> {
    Lock::acquire(path)?.replace(|output| native::write(filter, metadata, output))
}

impl Lock {
    /// Replaces the file by what `write` writes, in any format; see [`save`].
    ///
    /// # Errors
    ///
    /// What `write` returns, and [`Error::File`](crate::Error::File) when writing fails; the file is
    /// then the one it was.
    pub fn replace(&self, write: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
        let temporary = Temporary::create(sibling(self.target(), "saving"))?;
        keep_permissions(self.target(), &temporary.file)?;
        let failed = failed("write", self.target());
        let copy = temporary.file.try_clone().map_err(&failed)?;
        let mut output = BufWriter::with_capacity(1 << 16, copy);
        write(&mut output).map_err(in_file("write", self.target()))?;
        output.flush().map_err(&failed)?;
        drop(output);
        temporary.file.sync_all().map_err(&failed)?;
        self.put(&temporary.path)?;
        temporary.keep();
        sync_folder(self.target())
    }

    /// Renames a file that is complete and durable over the target.
    pub(super) fn put(&self, path: &Path) -> Result<()> {
        fs::rename(path, self.target()).map_err(failed("replace", self.target()))
    }
}

/// A file that is removed when it is not kept.
struct Temporary {
    path: PathBuf,
    file: File,
    kept: bool,
}

impl Temporary {
    /// Makes the file anew. One that is there is a dead writer's: a living one would hold the lock.
    fn create(path: PathBuf) -> Result<Temporary> {
        let file = create_anew(&path)?;
        Ok(Temporary {
            path,
            file,
            kept: false,
        })
    }

    /// Leaves the file alone from now on: it has another name.
    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// An empty file that was not there before: never one that a link leads to.
pub(super) fn create_anew(path: &Path) -> Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failed("remove", path)(error));
        }
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    options.open(path).map_err(failed("create", path))
}

/// Gives `file` the permissions of the target, if there is one, before anything is in it.
pub(super) fn keep_permissions(target: &Path, file: &File) -> Result<()> {
    let failed = failed("replace", target);
    match fs::metadata(target) {
        Ok(metadata) if metadata.is_file() => {
            file.set_permissions(metadata.permissions()).map_err(failed)
        }
        Ok(_) => Err(failed(io::Error::other("not a regular file"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Makes the names in the folder of `target` durable.
pub(super) fn sync_folder(target: &Path) -> Result<()> {
    // Elsewhere folders cannot be opened; renaming is then as durable as the system makes it.
    if cfg!(unix) {
        let folder = match target.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(failed("sync the folder of", target))?;
    }
    Ok(())
}
