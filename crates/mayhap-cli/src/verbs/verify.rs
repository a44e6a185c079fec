//! `mayhap verify`: whether filter files are as they were written.

use std::path::PathBuf;

use mayhap::file::Mapped;
use mayhap::format::Format;
use serde_json::json;

use crate::cli::Global;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::filters::{SecretArgs, explain, name_of, read};
use crate::output::{print, print_json};
use crate::server::Server;
use crate::shown::shown;

/// Compares every checksum. Formats without one are read to the end, which tells whether they are whole.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The filters
    #[arg(required = true)]
    filters: Vec<PathBuf>,

    #[command(flatten)]
    secret: SecretArgs,
}

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let secret = self.secret.secret()?;
        let mut failed = 0;
        for path in &self.filters {
            let on_server = Server::is_named_by(path);
            let verified = match Mapped::open(path, secret.as_ref()) {
                Ok(mapped) => mapped
                    .verify_on(global.threads())
                    .map(|()| Format::Native)
                    .map_err(|error| explain(error, path)),
                Err(_) => read(path, secret.as_ref()).map(|(_, _, format)| format),
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
            _ if self.filters.len() == 1 => Ok(Exit::Failure),
            _ => Err(Failure::new(format!(
                "{failed} of {} files failed",
                self.filters.len()
            ))),
        }
    }
}
