//! Filters as files: opened with their secret, and saved only when they keep their promise.

use std::fs::{self, File};
use std::io::{self, BufReader, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Instant;

use clap::Args;
use mayhap::file::{self, Inspected, Lock};
use mayhap::format::native::{self, Metadata};
use mayhap::format::{self, Format};
use mayhap::{
    AnyFilter, Description, Digester, Filter as _, Hashing, Inserts, Scalable, Scheme, SecretKey,
    Stats,
};
use zeroize::Zeroizing;

use crate::amounts::{show_count, show_rate};
use crate::cli::Global;
use crate::failure::{Failure, Result, advise, note, warn};
use crate::server::{Server, ServerArgs, not_on_a_server};
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
    /// MAYHAP_SECRET may hold the digits instead, and MAYHAP_SECRET_FILE the name of the file
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

impl SecretArgs {
    /// The secret that was given, if any.
    pub(crate) fn secret(&self) -> Result<Option<SecretKey>> {
        let wrong = |what: &str| {
            let text = format!("{what} holds no secret: 16 bytes or 32 hex digits are expected");
            Failure::new(text).hint("make one: (umask 077; head -c 16 /dev/urandom > secret)")
        };
        let default = || std::env::var_os("MAYHAP_SECRET_FILE").map(PathBuf::from);
        if let Some(path) = &self.secret_file.clone().or_else(default) {
            let bytes = read_secret(path)?;
            let secret = <[u8; 16]>::try_from(&bytes[..])
                .ok()
                .map(Zeroizing::new)
                .or_else(|| hex(&bytes));
            let secret = secret.ok_or_else(|| wrong(&shown_path(path).to_string()))?;
            return Ok(Some(SecretKey::from_bytes(*secret)));
        }
        match std::env::var_os("MAYHAP_SECRET") {
            Some(digits) => {
                let secret = hex(&Zeroizing::new(digits.into_encoded_bytes()));
                let secret = secret.ok_or_else(|| wrong("MAYHAP_SECRET"))?;
                Ok(Some(SecretKey::from_bytes(*secret)))
            }
            None => Ok(None),
        }
    }

    /// Whether a secret is given on the command line: in a variable it is only a default.
    pub(crate) fn is_asked(&self) -> bool {
        self.secret_file.is_some()
    }

    /// Says that a secret on the command line is not needed, where nothing is looked up.
    pub(crate) fn note_unneeded(&self) {
        if self.is_asked() {
            note("no secret is needed here: --secret-file is not read");
        }
    }

    /// Refuses a filter that takes no secret, when one is given on the command line: whoever gives it counts on it.
    pub(crate) fn check_used(&self, filter: &Description, path: &Path) -> Result<()> {
        self.check_used_by(&[filter], path)
    }

    /// The same of several filters: one that takes the secret is enough.
    pub(crate) fn check_used_by(&self, filters: &[&Description], path: &Path) -> Result<()> {
        let mut hashings = filters.iter().map(|filter| &filter.hashing);
        let is_keyed = hashings.any(|hashing| {
            matches!(
                hashing,
                Hashing::Scheme(Scheme::Native(Digester::SipHash { .. }))
            )
        });
        if self.is_asked() && !is_keyed {
            let text = format!(
                "a secret is given, but {} was made without one",
                name_of(path)
            );
            return Err(Failure::new(text).hint(
                "leave out --secret-file; to have a keyed filter, make it again with the secret",
            ));
        }
        Ok(())
    }
}

/// What a user may say about a filter in its file.
#[derive(Debug, Clone, Args)]
pub(crate) struct TextArgs {
    /// A short name, kept in the file
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,

    /// Who or what made it, kept in the file
    #[arg(long, value_name = "TEXT")]
    pub(crate) created_by: Option<String>,
}

impl TextArgs {
    /// Refuses a text where it cannot be kept.
    pub(crate) fn check(&self, format: Format, path: &Path) -> Result<()> {
        let is_kept = format == Format::Native && !Server::is_named_by(path);
        for (option, text) in [("--label", &self.label), ("--created-by", &self.created_by)] {
            if text.is_some() && !is_kept {
                let text = format!("{option} has no place in {}", name_of(path));
                return Err(Failure::new(text).hint(format!(
                    "files of our own format keep it: leave out {option}, or the format"
                )));
            }
        }
        Ok(())
    }
}

/// What to do when another program is writing the filter.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct WaitArgs {
    /// Wait while another program writes the file, instead of failing
    #[arg(long)]
    wait: bool,
}

impl WaitArgs {
    /// Whether waiting is asked for.
    pub(crate) fn is_asked(self) -> bool {
        self.wait
    }

    /// Takes the lock of a filter, before anything is decided by what is there.
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

/// Reads a file that can hold a secret: regular, small, and a warning when others may read it too.
fn read_secret(path: &Path) -> Result<Zeroizing<Vec<u8>>> {
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
    // Room for all of it: a vector that grows leaves what it held behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(SECRET_BYTES as usize));
    let file = File::open(path).map_err(&failed)?;
    file.take(SECRET_BYTES)
        .read_to_end(&mut bytes)
        .map_err(&failed)?;
    Ok(bytes)
}

/// The 16 bytes of 32 hex digits.
fn hex(text: &[u8]) -> Option<Zeroizing<[u8; 16]>> {
    let text = str::from_utf8(text).ok()?.trim();
    let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u128::from_str_radix(text, 16).ok().filter(|_| is_hex)?;
    Some(Zeroizing::new(number.to_be_bytes()))
}

/// What to do with a filter that holds more keys than it was made for.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Past capacity")]
pub(crate) struct PromiseArgs {
    /// Accept a filter that is past its capacity, with the higher rate it then has
    #[arg(long)]
    accept_rate: bool,
}

/// Whether a filter may become one that grows.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Past capacity")]
pub(crate) struct GrowArgs {
    /// Let a blocked filter grow past its capacity: it becomes a scalable one, which promises twice the rate for any
    /// number of keys
    #[arg(long)]
    grow: bool,
}

impl GrowArgs {
    /// Whether a filter that can grow is asked for.
    pub(crate) fn is_asked(self) -> bool {
        self.grow
    }

    /// Refuses to let a filter on a server grow.
    pub(crate) fn refuse_server(self) -> Result<()> {
        match self.grow {
            true => Err(not_on_a_server("--grow")),
            false => Ok(()),
        }
    }

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
    /// Whether a filter may be past its capacity.
    pub(crate) fn accepts(self) -> bool {
        self.accept_rate
    }

    /// Refuses a filter that does not keep its promise, unless that was accepted.
    pub(crate) fn check(&self, filter: &AnyFilter, path: &Path, global: &Global) -> Result<()> {
        let Some(text) = past_capacity(&filter.stats()) else {
            return Ok(());
        };
        let text = format!("{} {text}", name_of(path));
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

/// How far a filter is past its capacity, if it is.
pub(crate) fn past_capacity(stats: &Stats) -> Option<String> {
    let promise = stats.promise.filter(|_| stats.is_over_capacity())?;
    let keys = match stats.keys {
        Some(keys) => format!("about {} keys", show_count(keys.round() as u64)),
        None => "more keys than can be estimated".into(),
    };
    Some(format!(
        "would hold {keys}, but was made for {} at {}: its rate would be {}",
        show_count(promise.keys),
        show_rate(promise.rate),
        show_rate(stats.rate),
    ))
}

/// A filter in a file that nobody else can write meanwhile.
pub(crate) struct Held {
    pub(crate) filter: AnyFilter,
    pub(crate) metadata: Metadata,
    pub(crate) format: Format,
    /// What a user attached to a file of DCSO's bloom.
    pub(crate) data: Vec<u8>,
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

    /// Refuses to replace what is there, unless that was asked for; says what can be done otherwise.
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
    pub(crate) fn read(self, secret: Option<&SecretKey>) -> Result<Held> {
        if is_gzip(&self.path)? {
            let text = format!(
                "{} is compressed: it can be read, not changed",
                self.path.display()
            );
            return Err(Failure::new(text).hint("`mayhap convert` writes it uncompressed"));
        }
        let (filter, metadata, format, data) = read_with_data(&self.path, secret)?;
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

/// Whether two names are of one filter.
pub(crate) fn is_same(left: &Path, right: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    canonical(left) == canonical(right)
}

/// Reads a filter of any format, or from a server, every checksum compared, and what is said about it.
pub(crate) fn read(
    path: &Path,
    secret: Option<&SecretKey>,
) -> Result<(AnyFilter, Metadata, Format)> {
    let (filter, metadata, format, _) = read_with_data(path, secret)?;
    Ok((filter, metadata, format))
}

/// As [`read`], and what a user attached to a file of DCSO's bloom.
pub(crate) fn read_with_data(
    path: &Path,
    secret: Option<&SecretKey>,
) -> Result<(AnyFilter, Metadata, Format, Vec<u8>)> {
    if Server::is_named_by(path) {
        let filter = Server::open(path, secret)?.pull()?;
        return Ok((filter, Metadata::default(), Format::Native, Vec::new()));
    }
    let plain = |(filter, format, data)| (filter, Metadata::default(), format, data);
    let opened = match is_gzip(path)? {
        // As DCSO's bloom writes with --gzip.
        true => {
            let file = File::open(path).map_err(Failure::file("open", path))?;
            let unpacked = Unpacked::new(Gzip::new(BufReader::new(file)));
            format::open_reader_with_data(unpacked, secret).map(plain)
        }
        // Filter and metadata out of one reading: the file may be replaced between two.
        false => match file::load(path, secret) {
            Err(mayhap::Error::Unknown {
                what: "magic number",
                ..
            }) => file::open_with_data(path, secret).map(plain),
            loaded => {
                loaded.map(|(filter, metadata)| (filter, metadata, Format::Native, Vec::new()))
            }
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
