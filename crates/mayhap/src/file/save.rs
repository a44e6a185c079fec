//! Replacing a file in one step.
//!
//! The new bytes go to a file beside the target, `.NAME.mayhap-saving`, which is made durable and then
//! renamed over it; then the folder is made durable. Whatever happens, and whenever, the target is the old
//! file or the new one, whole. The next writer reuses what a dead writer left beside it. Nobody can read
//! the new file who cannot read the old one.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::lock::{foreign, private, sibling};
use super::{Lock, failed, in_file};
use crate::Result;
use crate::filter::Assemble;
use crate::format::native::{self, Metadata};

/// Saves a filter in the native format: afterwards the file is the new one, durably, or after an error
/// the old one.
///
/// An existing file's permissions are kept, and a link to it stays a link. Its owner and group are kept as far as the
/// system lets this process: root can keep both, others a group they are in. If the group changes, the new one may do
/// only what everyone may. On Linux its extended attributes are kept, and its access control list if the group is.
/// Other names of the file (hard links) keep the old filter: a file that is read is never changed.
///
/// # Errors
///
/// [`Error::Locked`](crate::Error::Locked) when another writer has the file,
/// [`Error::File`](crate::Error::File) when writing fails, and those of [`native::write`]. When only
/// syncing the folder fails, the file is the new one but may not survive a power failure.
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
    /// The error of `write`, and [`Error::File`](crate::Error::File) when writing fails; the file is
    /// then the old one.
    pub fn replace(&self, write: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
        let temporary = Temporary::create(sibling(self.target(), "saving"), self.target())?;
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

/// A file that is removed unless it is kept.
struct Temporary {
    path: PathBuf,
    file: File,
    kept: bool,
}

impl Temporary {
    /// Creates the file. One that exists already belongs to a dead writer: a living one would hold the lock.
    fn create(path: PathBuf, target: &Path) -> Result<Temporary> {
        let file = create_for(target, &path)?;
        Ok(Temporary {
            path,
            file,
            kept: false,
        })
    }

    /// Keeps the file: it has another name now.
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

/// Creates an empty file that did not exist before, to replace the target: with its permissions, if there
/// is one, before anything is in it. Never follows a link.
pub(super) fn create_for(target: &Path, path: &Path) -> Result<File> {
    let old = match fs::metadata(target) {
        Ok(metadata) if metadata.is_file() => Some(metadata),
        Ok(_) => {
            let error = io::Error::other("not a regular file");
            return Err(failed("replace", target)(error));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed("replace", target)(error)),
    };
    let failed = failed("create", path);
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => {
            fs::remove_file(path).map_err(super::failed("remove", path))?;
        }
        Ok(_) => return Err(failed(foreign(path))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    let mut options = private();
    #[cfg(unix)]
    if old.is_none() {
        // The caller's umask decides who may read the target, from the beginning.
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o666);
    }
    let file = options.create_new(true).open(path).map_err(&failed)?;
    if let Some(old) = old
        && let Err(error) = liken(&file, target, &old)
    {
        let _ = fs::remove_file(path);
        return Err(failed(error));
    }
    Ok(file)
}

/// Gives a new file the properties of the one it replaces, as far as possible.
fn liken(file: &File, target: &Path, old: &fs::Metadata) -> io::Result<()> {
    let permissions = inherit(file, old)?;
    let is_same = permissions == old.permissions();
    file.set_permissions(permissions)?;
    #[cfg(target_os = "linux")]
    {
        // The list says what the group may do, and was meant for the old group.
        let kept = ["user.", "system.posix_acl_"];
        super::attributes::copy(target, file, &kept[..1 + usize::from(is_same)])?;
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (target, is_same);
    Ok(())
}

/// Gives a new file the owner and group of the old one, as far as this process may, and returns the permissions that
/// it can then have.
#[cfg(unix)]
fn inherit(file: &File, old: &fs::Metadata) -> io::Result<fs::Permissions> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
    let (owner, group) = (old.uid(), old.gid());
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (owner, group)
        && fchown(file, Some(owner), Some(group)).is_err()
        && fchown(file, None, Some(group)).is_err()
        && new.gid() != group
    {
        // The bits of the group were meant for the old group: members of another could read the file.
        let mode = old.mode();
        return Ok(fs::Permissions::from_mode(
            (mode & !0o070) | (mode & ((mode & 0o7) << 3)),
        ));
    }
    Ok(old.permissions())
}

#[cfg(not(unix))]
fn inherit(_: &File, old: &fs::Metadata) -> io::Result<fs::Permissions> {
    Ok(old.permissions())
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
