//! Filters in files of any format, or on a server: read, and named in messages.

pub(crate) mod held;
pub(crate) mod promise;
pub(crate) mod secret;

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use clap::Args;
use mayhap::file::{self, Inspected};
use mayhap::format::native::Metadata;
use mayhap::format::{self, Format};
use mayhap::{AnyFilter, SecretKey};
use mayhap_program::failure::{Failure, Result};
use mayhap_program::unpack::{Gzip, Unpacked};

use crate::server::Server;
use crate::values;
use secret::SecretArgs;

/// The texts that a user can put into the file of a filter.
#[derive(Debug, Clone, Args)]
pub(crate) struct TextArgs {
    /// A short name, kept in the file
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,

    /// The person or program that made it, kept in the file
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
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

/// The format of the filter files that are read.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct FormatArgs {
    /// The format of the filter files to read, where it is in doubt
    #[arg(long, value_name = "FORMAT", hide_short_help = true, value_parser = values::format())]
    format: Option<Format>,
}

/// The format and the secret that filters are opened with.
#[derive(Debug, Clone, Args)]
pub(crate) struct OpenArgs {
    #[command(flatten)]
    pub(crate) format: FormatArgs,

    #[command(flatten)]
    pub(crate) secret: SecretArgs,
}

impl OpenArgs {
    /// Reads a filter, which must take the secret if one is given on the command line.
    pub(crate) fn read(&self, path: &Path) -> Result<AnyFilter> {
        self.secret.read(path, self.format)
    }
}

impl FormatArgs {
    /// Returns whether a format of another program is given.
    pub(crate) fn is_foreign(self) -> bool {
        self.format.is_some_and(|format| format != Format::Native)
    }
}

/// Returns whether two names are of one filter.
pub(crate) fn is_same(left: &Path, right: &Path) -> bool {
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    canonical(left) == canonical(right)
}

/// Reads a filter of any format, or from a server, and its metadata. Every checksum is compared.
pub(crate) fn read(
    path: &Path,
    format: FormatArgs,
    secret: Option<&SecretKey>,
) -> Result<(AnyFilter, Metadata, Format)> {
    let (filter, metadata, format, _) = read_with_data(path, format, secret)?;
    Ok((filter, metadata, format))
}

/// Reads like [`read`], with the data that a user attached to a file of DCSO's bloom.
pub(crate) fn read_with_data(
    path: &Path,
    asked: FormatArgs,
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
            format::open_reader_with_data(unpacked, asked.format, secret).map(plain)
        }
        false if asked.is_foreign() => file::open_with_data(path, asked.format, secret).map(plain),
        // Filter and metadata out of one reading: the file may be replaced between two.
        false => match file::load(path, secret) {
            Err(mayhap::Error::Unrecognised { .. }) if asked.format.is_none() => {
                file::open_with_data(path, None, secret).map(plain)
            }
            loaded => {
                loaded.map(|(filter, metadata)| (filter, metadata, Format::Native, Vec::new()))
            }
        },
    };
    opened.map_err(|error| explain(error, path))
}

/// Looks at a filter file of any format. Every checksum is compared. That needs no secret; no key can be looked up.
pub(crate) fn inspect(path: &Path, asked: FormatArgs) -> Result<Inspected> {
    let inspected = file::inspect(path).map_err(|error| explain(error, path))?;
    match (asked.format, inspected.format()) {
        (Some(asked), format) if asked != format => {
            let text = format!(
                "{} is of the format {format}, and --format is {asked}",
                path.display()
            );
            Err(Failure::new(text).hint("leave out --format"))
        }
        _ => Ok(inspected),
    }
}

/// Returns whether a file begins like a gzip file. A file that cannot be read does not; reading it reports why.
pub(crate) fn is_gzip(path: &Path) -> Result<bool> {
    // Opening a pipe waits for a writer, and reading it takes bytes from the next reader.
    if Server::is_named_by(path) || path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Ok(false);
    }
    let mut beginning = [0; 2];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut beginning));
    Ok(read.is_ok() && beginning == [0x1F, 0x8B])
}

/// The name of a filter in messages: an address without its password.
pub(crate) fn name_of(path: &Path) -> String {
    match Server::is_named_by(path) {
        true => Server::shown(path),
        false => mayhap::file::shown(path),
    }
}

/// Adds the name of the file to an error that does not have it.
pub(crate) fn explain(error: mayhap::Error, path: &Path) -> Failure {
    let named = matches!(error, mayhap::Error::File { .. });
    match Failure::from(error) {
        Failure::Wrong { text, hint } if !named => Failure::Wrong {
            text: format!("{}: {text}", name_of(path)),
            hint,
        },
        failure => failure,
    }
}
