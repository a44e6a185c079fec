//! `mayhap info --verify`: whether filter files are as they were written.

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

/// Compares every checksum of filter files, and prints a line for each. One that fails is reported, and the others are
/// compared.
pub(crate) fn run(named: &NamedArgs, global: &Global) -> Result<Exit> {
    let mut failed = 0;
    for path in &named.filters {
        let on_server = Server::is_named_by(path);
        let counted = || {
            let stats = Server::inspect(path)?.stats().map_err(server::failed);
            stats.map(|_| Format::Native)
        };
        // A format of another program, which has no secret.
        let read = || read(path, named.open.format, None).map(|(_, _, format)| format);
        let verified = match is_gzip(path)? {
            _ if on_server => counted(),
            is_gzip if is_gzip || named.open.format.is_foreign() => read(),
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
        } else if let Ok(format) = verified {
            print(&match format {
                _ if on_server => format!("{shown}: whole; a server keeps no checksums\n"),
                Format::Native => format!("{shown}: every checksum matches\n"),
                format => format!("{shown}: whole; the format {format} has no checksums\n"),
            })?;
        }
    }
    match failed {
        0 => Ok(Exit::Success),
        _ if named.filters.len() == 1 => Ok(Exit::Failure),
        _ => Err(Failure::new(format!(
            "{failed} of {} files failed",
            named.filters.len()
        ))),
    }
}
