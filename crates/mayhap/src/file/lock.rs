//! A lock that lets one process at a time write a file.
//!
//! The lock is a file beside the target, `.NAME.mayhap-lock`, locked by the system: a process that dies,
//! however it dies, no longer holds it. It cannot be the target itself, because saving replaces that: a
//! second writer would lock the old file, which nobody sees any more. The holder removes the lock file;
//! a process that opened it before notices that and starts over, so two never hold it at once.
//!
//! A file with that name is a lock when it is empty or begins like ours. Anything else, a link above all,
//! belongs to someone else: it is neither locked, written nor removed.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::failed;
use crate::{Error, Result};

/// The beginning of the text in a lock file: a file that begins otherwise is not a lock.
const BEGINNING: &str = "mayhap lock: ";

/// The system's error number for file systems without locks; elsewhere there is only [`io::ErrorKind::Unsupported`].
const NO_LOCKS: i32 = {
    #[cfg(unix)]
    {
        libc::ENOLCK
    }
    #[cfg(not(unix))]
    {
        i32::MIN
    }
};

/// The environment variable that allows writing files where the file system has no locks.
const NO_LOCK: &str = "MAYHAP_NO_LOCK";

/// The longest name of a file on Linux, macOS and Windows.
const NAME_MOST: usize = 255;

/// The number of times a lock file may vanish between opening and locking it, and of links that may lead to
/// a target: as many as Linux follows.
const ATTEMPTS: u32 = 40;

/// The right to write a file, held by one process at a time. Released when dropped.
///
/// Hold it from before reading a filter until its changes are saved, so that two processes that change one file
/// do not undo each other's changes.
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
    /// The lock file, which is open as long as it is locked; `None` where the file system has no locks.
    held: Option<(PathBuf, File)>,
}

impl Lock {
    /// Locks `path` for writing; it need not exist yet. A link stands for its target.
    ///
    /// Some network file systems have no locks. There you must set the variable `MAYHAP_NO_LOCK`, to anything, and make
    /// sure that nobody else writes the file. Where there are locks it changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`], at once, when another process or another part of this one holds it, and
    /// [`Error::File`] when the lock file cannot be made, or `path` is a file that nobody may write: replacing it
    /// would need no permission but that of its folder, and root needs none at all.
    pub fn acquire(path: impl AsRef<Path>) -> Result<Lock> {
        Lock::take(path.as_ref(), ATTEMPTS, |file| match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        })
    }

    /// Locks `path` as [`acquire`](Lock::acquire) does, and waits while another process holds it: without end, or until
    /// a signal that the process handles.
    ///
    /// # Errors
    ///
    /// [`Error::File`] when the lock file cannot be made, or a signal arrived.
    ///
    /// ```
    /// use mayhap::file::Lock;
    ///
    /// let path = std::env::temp_dir().join(format!("wait-{}.mayhap", std::process::id()));
    /// let first = Lock::acquire(&path)?;
    /// std::thread::scope(|scope| {
    ///     let second = scope.spawn(|| Lock::wait(&path));
    ///     drop(first);
    ///     second.join().expect("no panic")
    /// })?;
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn wait(path: impl AsRef<Path>) -> Result<Lock> {
        // Each failed attempt means that another process had the lock meanwhile.
        Lock::take(path.as_ref(), u32::MAX, |file| file.lock().map(|()| true))
    }

    /// Takes the lock by calling `lock`, which returns whether it got it.
    fn take(path: &Path, attempts: u32, lock: impl Fn(&File) -> io::Result<bool>) -> Result<Lock> {
        let target = resolve(path)?;
        refuse_read_only(&target)?;
        let path = sibling(&target, "lock");
        let failed = failed("lock", &target);
        for _ in 0..attempts {
            let Some((mut file, is_made)) = open(&path).map_err(&failed)? else {
                continue;
            };
            let held = match lock(&file) {
                Ok(is_ours) => !is_ours,
                Err(error) => {
                    // If it was interrupted, another process holds the file, and will remove it.
                    if is_made && error.kind() != io::ErrorKind::Interrupted {
                        let _ = fs::remove_file(&path);
                    }
                    without_locks(error).map_err(&failed)?;
                    return Ok(Lock {
                        target: target.clone(),
                        held: None,
                    });
                }
            };
            if !is_still(&file, &path) {
                continue;
            }
            let holder = holder(&mut file, &path).map_err(&failed)?;
            if held {
                return Err(Error::Locked {
                    path: target.clone(),
                    holder,
                });
            }
            // The text only serves the error above; a lock without one is still a lock.
            let _ = introduce(&mut file);
            return Ok(Lock {
                target: target.clone(),
                held: Some((path, file)),
            });
        }
        Err(failed(io::Error::other(
            "the lock file is replaced again and again",
        )))
    }

    /// The file that may be written, links resolved.
    pub fn target(&self) -> &Path {
        &self.target
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Still locked while it is removed, and unlocked when the file closes after this. Elsewhere a
        // lock file that was replaced cannot be recognised, so it stays.
        if let Some((path, _)) = &self.held
            && cfg!(unix)
        {
            let _ = fs::remove_file(path);
        }
    }
}

/// Names a file beside `target` for a purpose: `.NAME.mayhap-PURPOSE`, a name that no other program
/// uses. A name that would be too long is replaced by its hash.
pub(super) fn sibling(target: &Path, purpose: &str) -> PathBuf {
    let name = target.file_name().unwrap_or_default();
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(".mayhap-");
    beside.push(purpose);
    if beside.len() > NAME_MOST {
        let hash = xxh3_64(name.as_encoded_bytes());
        beside = format!(".{hash:016x}.mayhap-{purpose}").into();
    }
    target.with_file_name(beside)
}

/// Refuses a file that nobody may write, according to its mode: root may do what that forbids.
fn refuse_read_only(target: &Path) -> Result<()> {
    match fs::metadata(target) {
        Ok(metadata) if metadata.is_file() && metadata.permissions().readonly() => {
            let text = "it is read-only; give its owner the right to write it first";
            let error = io::Error::new(io::ErrorKind::PermissionDenied, text);
            Err(failed("write", target)(error))
        }
        _ => Ok(()),
    }
}

/// Accepts a file system without locks, if the user does; returns any other error.
fn without_locks(error: io::Error) -> io::Result<()> {
    let code = error.raw_os_error();
    let is_without = error.kind() == io::ErrorKind::Unsupported || code == Some(NO_LOCKS);
    match std::env::var_os(NO_LOCK) {
        _ if !is_without => Err(error),
        Some(_) => Ok(()),
        None => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("the file system has no locks; set {NO_LOCK}=1 if nobody else writes the file"),
        )),
    }
}

/// Opens or creates the lock file, and returns whether it created it; `None` when it vanished meanwhile. Never follows
/// a link.
fn open(path: &Path) -> io::Result<Option<(File, bool)>> {
    let mut options = private();
    match options.create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made.map(|file| Some((file, true))),
    }
    let opened = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => private().open(path),
        Ok(_) => return Err(foreign(path)),
        Err(error) => Err(error),
    };
    match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(|file| Some((file, false))),
    }
}

/// Options for a file that nobody else can read from the moment it exists.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The error for a file of another program under a name of ours.
pub(super) fn foreign(path: &Path) -> io::Error {
    let name = path.display();
    io::Error::other(format!("{name} is not ours; move it away"))
}

/// Follows links, including those that lead to a file that does not exist yet.
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

/// Returns whether the path still names the file that was opened by it, and is not a link.
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
    file.rewind()?;
    write!(
        file,
        "{BEGINNING}{} (process {})",
        program.display(),
        std::process::id()
    )
}

/// Returns who holds the lock, or held it last, by the text in it.
fn holder(file: &mut File, path: &Path) -> io::Result<String> {
    let mut text = Vec::new();
    file.take(256).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    match text.strip_prefix(BEGINNING) {
        Some(holder) if !holder.is_empty() => Ok(holder.to_owned()),
        // Killed before it wrote the text, or about to write it.
        _ if BEGINNING.starts_with(&*text) => Ok("another writer".into()),
        _ => Err(foreign(path)),
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

    /// Makes a folder with a file that must not change, under the name of the lock of `target`.
    fn trap(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("mayhap-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("made");
        folder
    }

    #[test]
    fn a_lock_file_that_is_a_link_is_not_followed() {
        let folder = trap("link");
        fs::write(folder.join("precious"), "").expect("written");
        let lock = folder.join(".target.mayhap-lock");
        for leads_to in ["precious", "missing"] {
            std::os::unix::fs::symlink(leads_to, &lock).expect("made");

            let refused = Lock::acquire(folder.join("target")).expect_err("a trap");

            assert!(matches!(refused, Error::File { .. }), "{refused}");
            fs::remove_file(&lock).expect("the link is still there");
        }
        assert_eq!(fs::read_dir(&folder).expect("there").count(), 1);
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_file_of_others_under_the_name_of_a_lock_stays_as_it_is() {
        let folder = trap("foreign");
        let lock = folder.join(".target.mayhap-lock");
        fs::write(&lock, "kept").expect("written");

        let refused = Lock::acquire(folder.join("target")).expect_err("not ours");

        assert!(refused.to_string().contains("not ours"), "{refused}");
        assert_eq!(fs::read_to_string(&lock).expect("there"), "kept");
        // A lock that a dead writer left is ours.
        fs::write(&lock, "mayhap lock: mayhap (process 1)").expect("written");
        drop(Lock::acquire(folder.join("target")).expect("free"));
        assert!(!lock.exists());
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_file_with_the_longest_possible_name_can_be_locked() {
        let folder = trap("long");
        let longest = folder.join("n".repeat(NAME_MOST));
        fs::write(&longest, "").expect("a name that the system takes");

        let lock = Lock::acquire(&longest).expect("free");

        Lock::acquire(&longest).expect_err("held");
        drop(lock);
        assert_eq!(fs::read_dir(&folder).expect("there").count(), 1);
        fs::remove_dir_all(folder).expect("removed");
    }
}
