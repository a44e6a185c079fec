//! `mayhap merge`: one filter of several.

use std::path::PathBuf;

use mayhap::format::Format;
use mayhap::format::native::Metadata;
use mayhap::{AnyFilter, Assemble as _, Merge as _};
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result, advise};
use mayhap_program::global::Global;

use crate::filters::held::ReplaceArgs;
use crate::filters::promise::PromiseArgs;
use crate::filters::{OpenArgs, TextArgs, explain, is_same, name_of, read_with_data};
use crate::verbs::info;

/// Makes one filter of several: their union, or their intersection.
///
/// The filters must be built alike: the same kind, shape and scheme. OUT may be one of them: `mayhap merge all all new` adds
/// the keys of `new` to `all`. Another file that exists is replaced only with --force.
///
/// Exit codes: 0 when it was written, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file to write
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// The filters to read
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,

    /// Keep only the keys that all inputs have
    #[arg(long)]
    intersection: bool,

    #[command(flatten)]
    texts: TextArgs,

    #[command(flatten)]
    replace: ReplaceArgs,

    #[command(flatten)]
    promise: PromiseArgs,

    #[command(flatten)]
    open: OpenArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap merge all.mayhap a.mayhap b.mayhap  the keys of both
  mayhap merge a.mayhap a.mayhap b.mayhap    adds the keys of b to a
  mayhap merge --intersection common.mayhap a.mayhap b.mayhap";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        let OpenArgs { format, secret } = &self.open;
        let key = secret.secret()?;
        // First: the output may be one of the inputs.
        let reserved = self.replace.wait.reserve(&self.output)?;
        if !self.inputs.iter().any(|path| is_same(path, &self.output)) {
            reserved.refuse_to_replace(
                self.replace.force,
                "named among the inputs too it keeps its keys: mayhap merge OUT OUT IN",
            )?;
        }
        let mut merged: Option<(AnyFilter, Format)> = None;
        let mut said = Said::default();
        for path in &self.inputs {
            let (filter, metadata, format, data) = read_with_data(path, *format, key.as_ref())?;
            secret.check_used(&[&filter.description()], path)?;
            if is_same(path, &self.output) {
                said.of_output = Some(metadata.clone());
            }
            said.texts.push((metadata.label, metadata.created_by));
            said.data.push((path, data));
            match &mut merged {
                None => merged = Some((filter, format)),
                Some((all, _)) => {
                    let outcome = match self.intersection {
                        true => all.intersect(&filter),
                        false => all.union(&filter),
                    };
                    outcome.map_err(|error| explain(error, path))?;
                }
            }
        }
        let (filter, format) = merged.expect("at least one input is required");
        self.texts.check(format, &self.output)?;
        self.promise.check(&filter, &self.output)?;
        let metadata = said.metadata(&self.texts)?;
        let mut held = reserved.hold(filter, metadata, format);
        if format == Format::Dcso {
            held.data = said.data(&self.output);
        }
        held.save()?;
        if global.json {
            info::print_json(&held)?;
        }
        Ok(Exit::Success)
    }
}

/// The texts and data of the inputs.
#[derive(Default)]
struct Said<'a> {
    /// The texts of the output, when it is one of the inputs: it stays the file that it was, and the run that fills it
    /// continues.
    of_output: Option<Metadata>,
    /// Label and created-by text of each.
    texts: Vec<(String, String)>,
    /// The data attached to each.
    data: Vec<(&'a PathBuf, Vec<u8>)>,
}

impl Said<'_> {
    /// The texts of the output: those asked for, else its own, else those of the inputs.
    fn metadata(&self, asked: &TextArgs) -> Result<Metadata> {
        let before = self.of_output.clone();
        let mut metadata = before.unwrap_or_else(|| Metadata {
            label: joined(self.texts.iter().map(|(label, _)| label)),
            created_by: joined(self.texts.iter().map(|(_, created_by)| created_by)),
            progress: None,
        });
        if let Some(label) = &asked.label {
            metadata.label.clone_from(label);
        }
        if let Some(created_by) = &asked.created_by {
            metadata.created_by.clone_from(created_by);
        }
        for (option, text, most) in [
            ("--label", &metadata.label, Metadata::LABEL_MOST),
            (
                "--created-by",
                &metadata.created_by,
                Metadata::CREATED_BY_MOST,
            ),
        ] {
            let bytes = text.len() as u64;
            if bytes > most {
                let text = format!(
                    "the texts of the inputs have {bytes} bytes together, and a file at most {most}"
                );
                return Err(Failure::new(text).hint(format!("{option} TEXT says what to keep")));
            }
        }
        Ok(metadata)
    }

    /// The data of the output, when it is one of the inputs, else of the first that has any. What is left out is reported.
    fn data(self, output: &std::path::Path) -> Vec<u8> {
        let is_output = |(path, _): &&(&PathBuf, Vec<u8>)| is_same(path, output);
        let has_any = |(_, data): &&(&PathBuf, Vec<u8>)| !data.is_empty();
        let chosen = self.data.iter().find(is_output);
        let chosen = chosen.or_else(|| self.data.iter().find(has_any));
        let chosen = chosen.map(|(_, data)| data.clone()).unwrap_or_default();
        for (path, data) in &self.data {
            if !data.is_empty() && *data != chosen {
                let name = name_of(path);
                advise(format!("the data attached to {name} are left out"));
            }
        }
        chosen
    }
}

/// Each text once, in order.
fn joined<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for text in texts {
        if !text.is_empty() && !distinct.contains(&text.as_str()) {
            distinct.push(text);
        }
    }
    distinct.join(", ")
}
