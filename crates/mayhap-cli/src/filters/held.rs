//! Filters that change: locked, read, and replaced in one step.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use mayhap::file::Lock;
use mayhap::format::native::{self, Metadata};
use mayhap::format::{self, Format};
use mayhap::{AnyFilter, Assemble as _, SecretKey};
use mayhap_program::failure::{Failure, Result, advise, note};

use super::secret::SecretArgs;
use super::{FormatArgs, is_gzip, name_of, read_with_data};
use crate::server::{Server, ServerArgs};

/// Waits while another program writes the filter, or fails.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct WaitArgs {
    /// Wait while another program writes the filter
    #[arg(long, hide_short_help = true)]
    wait: bool,
}

/// Replaces a filter that is there already, or refuses to.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ReplaceArgs {
    /// Replace a filter that is there already
    #[arg(short, long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) wait: WaitArgs,
}

impl WaitArgs {
    /// Returns whether waiting is asked for.
    pub(crate) fn is_asked(self) -> bool {
        self.wait
    }

    /// Takes the lock of a filter, before anything depends on whether it exists.
    pub(crate) fn reserve(self, path: &Path) -> Result<Reserved> {
        let lock = match Server::is_named_by(path) {
            true => None,
            false => Some(self.lock(path)?),
        };
        Ok(Reserved {
            lock,
            path: path.to_owned(),
        })
    }

    /// Takes the lock of a filter and reads it with its secret, which it must take if it is given on the command line.
    pub(crate) fn hold(self, path: &Path, format: FormatArgs, secret: &SecretArgs) -> Result<Held> {
        let key = secret.secret()?;
        let held = self.reserve(path)?.read(format, key.as_ref())?;
        secret.check_used(&[&held.filter.description()], path)?;
        Ok(held)
    }

    fn lock(self, path: &Path) -> Result<Lock> {
        match Lock::acquire(path) {
            Err(mayhap::Error::Locked { holder, .. }) if self.wait => {
                note(format!(
                    "waiting for {holder}, which writes {}",
                    name_of(path)
                ));
                let begin = Instant::now();
                let lock = Lock::wait(path)?;
                note(format!("waited {:.1} s", begin.elapsed().as_secs_f64()));
                Ok(lock)
            }
            lock => Ok(lock?),
        }
    }
}

/// A filter, and the lock of its file.
pub(crate) struct Held {
    pub(crate) filter: AnyFilter,
    pub(crate) metadata: Metadata,
    pub(crate) format: Format,
    /// The data that a user attached to a file of DCSO's bloom.
    pub(crate) data: Vec<u8>,
    /// The lock of the file; a server needs none.
    lock: Option<Lock>,
    path: PathBuf,
}

/// The path of a filter, and the lock of the file.
pub(crate) struct Reserved {
    lock: Option<Lock>,
    path: PathBuf,
}

impl Reserved {
    /// Returns whether a filter exists. That cannot change: whoever makes or removes one holds the lock.
    pub(crate) fn is_taken(&self) -> bool {
        self.path.exists()
    }

    /// Refuses to replace an existing filter, unless that was asked for. The hint says what else can be done.
    pub(crate) fn refuse_to_replace(&self, force: bool, otherwise: &str) -> Result<()> {
        if force {
            return Ok(());
        }
        let is_taken = match Server::is_named_by(&self.path) {
            true => Server::is_taken(&self.path)?,
            false => self.is_taken(),
        };
        if is_taken {
            let text = format!("{} is there already", name_of(&self.path));
            return Err(Failure::new(text).hint(format!("--force replaces it; {otherwise}")));
        }
        Ok(())
    }

    /// Reads the filter that is there.
    pub(crate) fn read(self, format: FormatArgs, secret: Option<&SecretKey>) -> Result<Held> {
        if is_gzip(&self.path)? {
            let name = name_of(&self.path);
            let text = format!("{name} is compressed: it can be read, not changed");
            return Err(Failure::new(text).hint("`mayhap convert` writes it uncompressed"));
        }
        let (filter, metadata, format, data) = read_with_data(&self.path, format, secret)?;
        let mut held = self.hold(filter, metadata, format);
        held.data = data;
        Ok(held)
    }

    /// The filter that is to be there.
    pub(crate) fn hold(self, filter: AnyFilter, metadata: Metadata, format: Format) -> Held {
        Held {
            filter,
            metadata,
            format,
            data: Vec::new(),
            lock: self.lock,
            path: self.path,
        }
    }
}

impl Held {
    /// Replaces the file, or the filter on a server, in one step.
    pub(crate) fn save(&self) -> Result<()> {
        let Some(lock) = &self.lock else {
            return Server::push(&self.path, &self.filter, ServerArgs::default());
        };
        let before = owner(&self.path);
        let names = fs::metadata(&self.path).map_or(1, |metadata| metadata.nlink());
        let written = lock.replace(|output| match self.format {
            Format::Native => native::write(&self.filter, &self.metadata, output),
            format => {
                format::convert(&self.filter, format, &mut *output)?;
                Ok(output.write_all(&self.data)?)
            }
        });
        if let (Ok(()), Some(before), Some(after)) = (&written, before, owner(&self.path))
            && before != after
        {
            advise(format!(
                "{} belongs to user {} and group {} now, not to {} and {}: only root can keep them",
                name_of(&self.path),
                after.0,
                after.1,
                before.0,
                before.1,
            ));
        }
        if written.is_ok() && names > 1 {
            advise(format!(
                "{} had {names} names (hard links): the others keep the filter as it was; a symbolic link follows it",
                name_of(&self.path),
            ));
        }
        written.map_err(|error| {
            let failure = Failure::from(error);
            match (&failure, self.path.exists()) {
                (Failure::Wrong { text, hint: None }, true) => {
                    Failure::new(format!("{text}; the old file is as it was"))
                }
                _ => failure,
            }
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// The user and group that a file belongs to.
fn owner(path: &Path) -> Option<(u32, u32)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.uid(), metadata.gid()))
}
