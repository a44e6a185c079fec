//! The secret of a keyed filter: read from a file or a variable, and refused if the filter takes none.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Once;

use clap::Args;
use mayhap::{AnyFilter, Assemble as _, Description, Digester, Hashing, Scheme, SecretKey};
use mayhap_program::failure::{Failure, Result, advise, note};
use mayhap_program::shown::shown_path;
use zeroize::Zeroizing;

use super::{FormatArgs, name_of, read};

/// The bytes read of a file with a secret: enough for its digits and some blanks around them.
const SECRET_BYTES: u64 = 256;

/// The secret of keyed filters. It is never on the command line, where others can see it.
#[derive(Debug, Clone, Args)]
pub(crate) struct SecretArgs {
    /// The file with a secret: 16 bytes or 32 hex digits
    ///
    /// Where others choose the keys, a filter needs one.
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

    /// Returns whether a secret is given on the command line: in a variable it is only a default.
    pub(crate) fn is_asked(&self) -> bool {
        self.secret_file.is_some()
    }

    /// Reports that a secret on the command line is not needed, if nothing is looked up.
    pub(crate) fn note_unneeded(&self) {
        if self.is_asked() {
            note("no secret is needed here: --secret-file is not read");
        }
    }

    /// Reads a filter with the secret, which it must take if it is given on the command line.
    pub(crate) fn read(&self, path: &Path, format: FormatArgs) -> Result<AnyFilter> {
        let (filter, ..) = read(path, format, self.secret()?.as_ref())?;
        self.check_used(&[&filter.description()], path)?;
        Ok(filter)
    }

    /// Refuses a filter that takes no secret, when one is given on the command line: the user relies on it.
    /// Of several filters, one that takes it is enough.
    pub(crate) fn check_used(&self, filters: &[&Description], path: &Path) -> Result<()> {
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

/// Reads a file that can hold a secret: regular, small, and a warning when others may read it too.
fn read_secret(path: &Path) -> Result<Zeroizing<Vec<u8>>> {
    static WARNED: Once = Once::new();
    let failed = Failure::file("read", path);
    // Before it is opened: opening a pipe waits for a writer.
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
