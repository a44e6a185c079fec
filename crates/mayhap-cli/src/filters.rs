//! Filters as files: opened with their secret, and saved only when they keep their promise.

use std::fs::{self, File};
use std::io::{self, BufReader, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Once;

use clap::Args;
use mayhap::file::{self, Inspected, Lock};
use mayhap::format::native::{self, Metadata};
use mayhap::format::{self, Format};
use mayhap::{AnyFilter, Filter as _, Inserts, Scalable, SecretKey};

use crate::amounts::{show_count, show_rate};
use crate::cli::Global;
use crate::failure::{Failure, Result, advise, warn};
use crate::server::Server;
use crate::shown::shown_path;
use crate::unpack::{Gzip, Unpacked};

/// The bytes read of a file with a secret: one with more has none, but for blanks around its digits.
const SECRET_BYTES: u64 = 256;

/// The secret of keyed filters. It never stands on the command line, where others can see it.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Secrets")]
pub(crate) struct SecretArgs {
    /// A file with a secret: 16 bytes, or 32 hex digits. A filter made with it is keyed, and opens only with it.
    /// Where others choose the keys, a filter needs one, or they can prepare keys that collide. The variable
    /// MAYHAP_SECRET may hold the digits instead
    #[arg(long, value_name = "FILE", env = "MAYHAP_SECRET_FILE")]
    secret_file: Option<PathBuf>,
}

impl SecretArgs {
    /// The secret that was given, if any.
    pub(crate) fn secret(&self) -> Result<Option<SecretKey>> {
        let wrong = |what: &str| {
            let text = format!("{what} holds no secret: 16 bytes or 32 hex digits are expected");
            Failure::new(text).hint("make one: (umask 077; head -c 16 /dev/urandom > secret)")
        };
        if let Some(path) = &self.secret_file {
            let bytes = read_secret(path)?;
            let secret = <[u8; 16]>::try_from(&bytes[..])
                .ok()
                .or_else(|| hex(&bytes));
            let secret = secret.ok_or_else(|| wrong(&shown_path(path).to_string()))?;
            return Ok(Some(SecretKey::from_bytes(secret)));
        }
        match std::env::var_os("MAYHAP_SECRET") {
            Some(digits) => {
                let secret = hex(digits.as_encoded_bytes());
                let secret = secret.ok_or_else(|| wrong("MAYHAP_SECRET"))?;
                Ok(Some(SecretKey::from_bytes(secret)))
            }
            None => Ok(None),
        }
    }
}

/// Reads a file that can hold a secret: regular, small, and a warning when others may read it too.
fn read_secret(path: &Path) -> Result<Vec<u8>> {
    static WARNED: Once = Once::new();
    let failed = Failure::file("read", path);
    // Before it is opened: to open a pipe is to wait for whoever writes to it.
    let metadata = fs::metadata(path).map_err(&failed)?;
    if !metadata.is_file() {
        return Err(failed(io::Error::other("not a regular file")).hint(
            "a secret is read from a file of 16 bytes or 32 hex digits, or from MAYHAP_SECRET",
        ));
    }
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        WARNED.call_once(|| {
            let name = shown_path(path);
            advise(format!(
                "others may read the secret in {name}, whose mode is {mode:03o}: chmod 600 {name}"
            ));
        });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(&failed)?;
    file.take(SECRET_BYTES)
        .read_to_end(&mut bytes)
        .map_err(&failed)?;
    Ok(bytes)
}

/// The 16 bytes of 32 hex digits.
fn hex(text: &[u8]) -> Option<[u8; 16]> {
    let text = str::from_utf8(text).ok()?.trim();
    let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u128::from_str_radix(text, 16).ok().filter(|_| is_hex)?;
    Some(number.to_be_bytes())
}

/// What to do with a filter that holds more keys than it was made for.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Past capacity")]
pub(crate) struct PromiseArgs {
    /// Save a filter that is past its capacity, at the rate it then has
    #[arg(long)]
    accept_rate: bool,
}

/// Whether a filter may become one that grows.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Past capacity")]
pub(crate) struct GrowArgs {
    /// Let a blocked filter grow: it becomes a scalable one, which promises twice its rate for any number of
    /// keys
    #[arg(long)]
    grow: bool,
}

impl GrowArgs {
    /// Makes the filter one that grows, when that was asked for.
    pub(crate) fn apply(self, filter: AnyFilter) -> Result<AnyFilter> {
        match filter {
            AnyFilter::Blocked(filter) if self.grow => Ok(Scalable::from_blocked(filter)?.into()),
            filter if self.grow && filter.kind().inserts() != Inserts::Growing => {
                let text = format!("a {} filter cannot grow", filter.kind());
                Err(Failure::new(text)
                    .hint("blocked ones can, and those of a kind that grows by itself"))
            }
            filter => Ok(filter),
        }
    }
}

impl PromiseArgs {
    /// Refuses a filter that does not keep its promise, unless that was accepted.
    pub(crate) fn check(&self, filter: &AnyFilter, path: &Path, global: &Global) -> Result<()> {
        let stats = filter.stats();
        let Some(promise) = stats.promise.filter(|_| stats.is_over_capacity()) else {
            return Ok(());
        };
        let keys = match stats.keys {
            Some(keys) => format!("about {} keys", show_count(keys.round() as u64)),
            None => "more keys than it can tell".into(),
        };
        let text = format!(
            "{} would hold {keys}, but was made for {} at {}: its rate would be {}",
            name_of(path),
            show_count(promise.keys),
            show_rate(promise.rate),
            show_rate(stats.rate),
        );
        if self.accept_rate {
            if !global.quiet {
                warn(text);
            }
            return Ok(());
        }
        Err(Failure::new(format!("{text}; nothing was saved")).hint(
            "--grow makes it a filter that grows, at twice its rate; --accept-rate saves it as it is; \
             and `mayhap new --kind scalable` makes one that grows from the beginning",
        ))
    }
}

/// A filter in a file that nobody else can write meanwhile.
pub(crate) struct Held {
    pub(crate) filter: AnyFilter,
    pub(crate) metadata: Metadata,
    pub(crate) format: Format,
    /// Nobody else writes the file meanwhile; a server needs no lock.
    lock: Option<Lock>,
    path: PathBuf,
}

/// The place of a filter that nobody else can write meanwhile.
pub(crate) struct Reserved {
    lock: Option<Lock>,
    path: PathBuf,
}

impl Reserved {
    /// Whether a filter is there already. It stays so: whoever makes or removes one holds the lock.
    pub(crate) fn is_taken(&self) -> bool {
        self.path.exists()
    }

    /// Refuses to replace a file that is there, unless that was asked for.
    pub(crate) fn refuse_to_replace(&self, force: bool) -> Result<()> {
        if self.is_taken() && !force {
            let text = format!("{} is there already", shown_path(&self.path));
            return Err(
                Failure::new(text).hint("--force replaces it; `mayhap add` inserts into it")
            );
        }
        Ok(())
    }

    /// Reads the filter that is there.
    pub(crate) fn read(self, secret: Option<&SecretKey>) -> Result<Held> {
        if is_gzip(&self.path)? {
            let text = format!(
                "{} is compressed: it can be read, not changed",
                self.path.display()
            );
            return Err(Failure::new(text).hint("`mayhap convert` writes it uncompressed"));
        }
        let (filter, metadata, format) = read(&self.path, secret)?;
        Ok(self.hold(filter, metadata, format))
    }

    /// The filter that is to be there.
    pub(crate) fn hold(self, filter: AnyFilter, metadata: Metadata, format: Format) -> Held {
        Held {
            filter,
            metadata,
            format,
            lock: self.lock,
            path: self.path,
        }
    }
}

impl Held {
    /// Takes the lock of an existing filter and reads it.
    pub(crate) fn open(path: &Path, secret: Option<&SecretKey>) -> Result<Held> {
        Held::reserve(path)?.read(secret)
    }

    /// Takes the lock of a filter, before anything is decided by what is there.
    pub(crate) fn reserve(path: &Path) -> Result<Reserved> {
        let lock = match Server::is_named_by(path) {
            true => None,
            false => Some(Lock::acquire(path)?),
        };
        Ok(Reserved {
            lock,
            path: path.to_owned(),
        })
    }

    /// Replaces the file, or the filter on a server, in one step.
    pub(crate) fn save(&self) -> Result<()> {
        let Some(lock) = &self.lock else {
            return Server::push(&self.path, &self.filter);
        };
        let written = lock.replace(|output| match self.format {
            Format::Native => native::write(&self.filter, &self.metadata, output),
            format => format::convert(&self.filter, format, output),
        });
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

/// Reads a filter of any format, or from a server, every checksum compared, and what is said about it.
pub(crate) fn read(
    path: &Path,
    secret: Option<&SecretKey>,
) -> Result<(AnyFilter, Metadata, Format)> {
    if Server::is_named_by(path) {
        let filter = Server::open(path, secret)?.pull()?;
        return Ok((filter, Metadata::default(), Format::Native));
    }
    let plain = |(filter, format)| (filter, Metadata::default(), format);
    let opened = match is_gzip(path)? {
        // As DCSO's bloom writes with --gzip.
        true => {
            let file = File::open(path).map_err(Failure::file("open", path))?;
            let unpacked = Unpacked::new(Gzip::new(BufReader::new(file)));
            format::open_reader(unpacked, secret).map(plain)
        }
        // Filter and metadata out of one reading: the file may be replaced between two.
        false => match file::load(path, secret) {
            Err(mayhap::Error::Unknown {
                what: "magic number",
                ..
            }) => file::open(path, secret).map(plain),
            loaded => loaded.map(|(filter, metadata)| (filter, metadata, Format::Native)),
        },
    };
    opened.map_err(|error| explain(error, path))
}

/// Looks at a filter file of any format, every checksum compared. That needs no secret, and answers for no key.
pub(crate) fn inspect(path: &Path) -> Result<Inspected> {
    file::inspect(path).map_err(|error| explain(error, path))
}

/// Whether a file begins as gzip files do; what cannot be read is left to whoever reads it.
pub(crate) fn is_gzip(path: &Path) -> Result<bool> {
    // To open a pipe is to wait for whoever writes to it, and to read it takes from the next reader.
    if Server::is_named_by(path) || path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Ok(false);
    }
    let mut beginning = [0; 2];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut beginning));
    Ok(read.is_ok() && beginning == [0x1F, 0x8B])
}

/// What a filter is called in messages: an address without its password.
pub(crate) fn name_of(path: &Path) -> String {
    match Server::is_named_by(path) {
        true => Server::shown(path),
        false => path.display().to_string(),
    }
}

/// Adds the name of the file to an error that does not say it.
pub(crate) fn explain(error: mayhap::Error, path: &Path) -> Failure {
    let named = matches!(error, mayhap::Error::File { .. });
    match Failure::from(error) {
        Failure::Wrong { text, hint } if !named => Failure::Wrong {
            text: format!("{}: {text}", path.display()),
            hint,
        },
        failure => failure,
    }
}
