//! `mayhap verify`: whether filter files are as they were written.

use mayhap::format::Format;
use mayhap::{Error, file};
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::global::Global;
use mayhap_program::shown::shown;
use serde_json::json;

use crate::filters::{explain, is_gzip, name_of, read};
use crate::given::NamedArgs;
use crate::output::{print, print_json};
use crate::server::{self, Server};

/// Compares every checksum of filter files.
///
/// A file whose checksums match is as it was written. Formats of other programs have no checksums: their files are read to
/// the end, which shows whether they are whole. Of a filter on a server the length of every part is compared. No secret is
/// needed. A filter that fails is reported, and the others are compared.
///
/// Exit codes: 0 when all are whole, 2 when one is not.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    named: NamedArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap verify *.mayhap                       a line for each file
  mayhap verify --quiet seen.mayhap || echo damaged
  mayhap verify --json *.mayhap                an object for each";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        self.named.secret.note_unneeded();
        let mut failed = 0;
        for path in &self.named.filters {
            let on_server = Server::is_named_by(path);
            let counted = || {
                let stats = Server::inspect(path)?.stats().map_err(server::failed);
                stats.map(|_| Format::Native)
            };
            // A format of another program, which has no secret.
            let read = || read(path, self.named.format, None).map(|(_, _, format)| format);
            let verified = match is_gzip(path)? {
                _ if on_server => counted(),
                is_gzip if is_gzip || self.named.format.is_foreign() => read(),
                _ => match file::verify(path, global.threads()) {
                    Ok(()) => Ok(Format::Native),
                    Err(Error::Unrecognised { .. }) => read(),
                    Err(error) => Err(explain(error, path)),
                },
            };
            let name = name_of(path);
            let shown = shown(&name);
            if let Err(failure) = &verified {
                failed += 1;
                failure.report();
            }
            if global.json {
                let format = verified.as_ref().ok().map(|format| format.name());
                print_json(&json!({
                    "filter": name,
                    "whole": verified.is_ok(),
                    "format": if on_server { Some("redis") } else { format },
                    "checksums": !on_server && format == Some("native"),
                }))?;
            } else if let (Ok(format), false) = (verified, global.quiet) {
                print(&match format {
                    _ if on_server => format!("{shown}: whole; a server keeps no checksums\n"),
                    Format::Native => format!("{shown}: every checksum matches\n"),
                    format => format!("{shown}: whole; the format {format} has no checksums\n"),
                })?;
            }
        }
        match failed {
            0 => Ok(Exit::Success),
            _ if self.named.filters.len() == 1 => Ok(Exit::Failure),
            _ => Err(Failure::new(format!(
                "{failed} of {} files failed",
                self.named.filters.len()
            ))),
        }
    }
}
