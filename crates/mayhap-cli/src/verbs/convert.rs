//! `mayhap convert`: the same bits in another format, or in another place. `pull` and `push` are the same verb.

use std::path::PathBuf;

use mayhap::Assemble as _;
use mayhap::format::Format;
use mayhap_program::amounts::show_bytes;
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result, advise};
use mayhap_program::global::Global;

use crate::filters::held::ReplaceArgs;
use crate::filters::{OpenArgs, is_same, name_of, read_with_data};
use crate::server::{Server, ServerArgs};
use crate::values;
use crate::verbs::info;

/// Copies a filter to another format, or to or from a server.
///
/// The bits stay the same, so the format must be able to hold the filter. OUT may be IN; another filter that exists is
/// replaced only with --force. From or to a server --to may be left out, and the verb is also called `pull` and `push`.
///
/// Exit codes: 0 when it was written, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The filter to read: a file of any format, or redis://host#name
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The file to write, or redis://host#name
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// The format to write
    #[arg(long, value_name = "FORMAT", value_parser = values::format())]
    to: Option<Format>,

    #[command(flatten)]
    replace: ReplaceArgs,

    #[command(flatten)]
    open: OpenArgs,

    #[command(flatten)]
    server: ServerArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap convert shared.bin ours.mayhap --to native  a file of Guava, as our own
  mayhap convert redis://localhost#seen seen.mayhap  from a server to a file
  mayhap convert seen.mayhap redis://localhost#seen  and back";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let to = self.format_to_write()?;
        // First: the output may be the input.
        let reserved = self.replace.wait.reserve(&self.output)?;
        let is_same = is_same(&self.input, &self.output);
        if !is_same {
            reserved.refuse_to_replace(self.replace.force, "or name another")?;
        }
        let is_on_server = Server::is_named_by(&self.output);
        match is_on_server {
            false => self.server.refuse_file(&self.output)?,
            true if self.replace.force || is_same => {
                self.server.refuse_replacing_any(&self.output)?
            }
            true => {}
        }
        let OpenArgs { format, secret } = &self.open;
        let (filter, metadata, _, data) =
            read_with_data(&self.input, *format, secret.secret()?.as_ref())?;
        secret.check_used(&[&filter.description()], &self.input)?;
        let mut held = reserved.hold(filter, metadata, to);
        if to == Format::Dcso {
            held.data = data;
        } else if !data.is_empty() {
            let (name, bytes) = (name_of(&self.input), show_bytes(data.len() as u64));
            advise(format!(
                "{bytes} of data in {name} are left out: only the format dcso has a place for them"
            ));
        }
        match is_on_server {
            true if self.replace.force || is_same => {
                Server::push(&self.output, &held.filter, self.server)?;
            }
            true => Server::push_new(&self.output, &held.filter, self.server)?,
            false => held.save()?,
        }
        if global.json {
            info::print_json(&held)?;
        }
        Ok(Exit::Success)
    }

    /// The format to write. Between files nothing is assumed: `cp` copies those.
    fn format_to_write(&self) -> Result<Format> {
        let servers = [&self.input, &self.output].map(|path| Server::is_named_by(path));
        match self.to {
            Some(format) if servers[1] && format != Format::Native => {
                let text = format!("a filter on a server has no format, and --to is {format}");
                Err(Failure::new(text).hint("leave out --to"))
            }
            Some(format) => Ok(format),
            None if servers.contains(&true) => Ok(Format::Native),
            None => Err(Failure::new("the format to write is missing: --to FORMAT")
                .hint("cp copies a file as it is; --to native writes one of our own")),
        }
    }
}
