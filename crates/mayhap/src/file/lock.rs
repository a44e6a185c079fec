//! One writer at a time.
//!
//! The lock is a file beside the target, `NAME.lock`, locked by the system: a process that dies, however
//! it dies, no longer holds it. It cannot be the target itself, because saving replaces that: a second
//! writer would lock the old file, which nobody sees any more. The lock file is removed by who holds
//! it; who opened it before that notices and starts over, so two never hold it at once.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::failed;
use crate::{Error, Result};

/// How often a lock file may vanish between opening and locking it, and how many links may lead to
/// a target: as many as Linux follows.
const ATTEMPTS: u32 = 40;

/// The right to write a file, among all who ask for it. Given back when dropped.
///
/// Hold it from before reading a filter until its changes are saved, so that two who change one file
/// do not undo each other.
///
/// ```
/// use mayhap::format::native::{self, Metadata};
/// use mayhap::{AnyFilter, Error, Kind, file};
///
/// let path = std::env::temp_dir().join(format!("lock-{}.mayhap", std::process::id()));
/// let lock = file::Lock::acquire(&path)?;
/// let refused = file::Lock::acquire(&path).expect_err("held already");
/// assert!(matches!(refused, Error::Locked { .. }));
///
/// let filter = AnyFilter::new(&Kind::Blocked.plan(1000, 0.01)?)?;
/// lock.replace(|output| native::write(&filter, &Metadata::default(), output))?;
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
pub struct Lock {
    /// The file that may be written, links resolved.
    target: PathBuf,
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Takes the right to write `path`, which need not exist yet. A link stands for what it leads to.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`], at once, when another process or another part of this one holds it, and
    /// [`Error::File`] when the lock file cannot be made.
    pub fn acquire(path: impl AsRef<Path>) -> Result<Lock> {
        let target = resolve(path.as_ref())?;
        let path = sibling(&target, "lock");
        for _ in 0..ATTEMPTS {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let mut file = options.open(&path).map_err(failed("open", &path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let holder = holder(&mut file);
                    return Err(Error::Locked {
                        path: target,
                        holder,
                    });
                }
                Err(TryLockError::Error(error)) => return Err(failed("lock", &path)(error)),
            }
            if is_still(&file, &path) {
                // Who it is only serves the error above; a lock that does not tell is still a lock.
                let _ = introduce(&mut file);
                return Ok(Lock {
                    target,
                    path,
                    _file: file,
                });
            }
        }
        Err(failed("lock", &path)(io::Error::other(
            "the lock file is a link, or is replaced again and again",
        )))
    }

    /// The file that may be written, links resolved.
    pub fn target(&self) -> &Path {
        &self.target
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Still locked while it is removed, and unlocked as the file closes after this. Elsewhere a
        // lock file that was replaced cannot be told, so it stays.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The file beside `target` with a suffix to its name.
pub(super) fn sibling(target: &Path, suffix: &str) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    target.with_file_name(name)
}

/// Follows links, also those that lead to a file that is not there yet.
fn resolve(path: &Path) -> Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..ATTEMPTS {
        let Ok(next) = fs::read_link(&target) else {
            if target.file_name().is_none() {
                return Err(failed("write", path)(io::Error::other("not a file name")));
            }
            return Ok(target);
        };
        // An absolute link replaces the path it is joined to.
        target = match target.parent() {
            Some(folder) => folder.join(next),
            None => next,
        };
    }
    Err(failed("follow", path)(io::Error::other("too many links")))
}

/// Whether the path still names the file that was opened by it, and is no link.
fn is_still(file: &File, path: &Path) -> bool {
    let (Ok(opened), Ok(named)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        (opened.dev(), opened.ino()) == (named.dev(), named.ino())
    }
    #[cfg(not(unix))]
    {
        opened.is_file() && named.is_file()
    }
}

fn introduce(file: &mut File) -> io::Result<()> {
    let program = std::env::args_os().next().unwrap_or_default();
    let program = Path::new(&program).file_name().unwrap_or_default();
    file.set_len(0)?;
    write!(
        file,
        "{} (process {})",
        program.display(),
        std::process::id()
    )
}

/// Who holds the lock, by what they wrote into it.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(256).read_to_string(&mut text);
    match read {
        Ok(count) if count > 0 => text,
        _ => "another writer".into(),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_resolved_and_a_lock_leaves_nothing_behind() {
        let folder = std::env::temp_dir().join(format!("mayhap-lock-{}", std::process::id()));
        fs::create_dir_all(folder.join("real")).expect("made");
        let link = folder.join("link");
        std::os::unix::fs::symlink("real/target", &link).expect("made");

        let lock = Lock::acquire(&link).expect("free");

        assert_eq!(lock.target(), folder.join("real/target"));
        let refused = Lock::acquire(folder.join("real/target")).expect_err("held");
        let own = format!("(process {})", std::process::id());
        assert!(refused.to_string().contains(&own), "{refused}");
        drop(lock);
        drop(Lock::acquire(&link).expect("free again"));
        assert_eq!(fs::read_dir(folder.join("real")).expect("there").count(), 0);
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_lock_file_that_is_a_link_is_not_written_through() {
        let folder = std::env::temp_dir().join(format!("mayhap-trap-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("made");
        fs::write(folder.join("precious"), "kept").expect("written");
        std::os::unix::fs::symlink("precious", folder.join("target.lock")).expect("made");

        let refused = Lock::acquire(folder.join("target")).expect_err("a trap");

        assert!(matches!(refused, Error::File { .. }), "{refused}");
        let kept = fs::read_to_string(folder.join("precious")).expect("there");
        assert_eq!(kept, "kept");
        fs::remove_dir_all(folder).expect("removed");
    }
}
