//! `mayhap check`: which lines have keys in a filter.

use std::fs;
use std::path::{Path, PathBuf};

use mayhap::file::Mapped;
use mayhap::{AnyFilter, Assemble as _, Description, Digester, SecretKey};
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::global::Global;
use mayhap_program::shown::{shown, shown_path};
use serde_json::json;

use crate::batch::{contains_lines, digester};
use crate::block::Block;
use crate::block::inputs::Header;
use crate::filters::{FormatArgs, explain, name_of, read};
use crate::given::GivenArgs;
use crate::keys::{KeyArgs, Keyless, Print};
use crate::output::{Output, print_json};
use crate::pipeline::{self, Sink};
use crate::server::Server;

/// Prints the lines whose keys are in a filter.
///
/// A key whose line is not printed is certainly not in the filter. A line that is printed may be a false positive, at the
/// filter's rate (`mayhap info` shows it).
///
/// Exit codes: 0 when a line was chosen, 1 when none was, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Choose the lines whose keys are not in the filter
    #[arg(short = 'v', long)]
    invert: bool,

    /// Print how many lines are chosen, instead of them
    #[arg(short, long)]
    count: bool,

    /// Print nothing, and stop at the first chosen line
    #[arg(short = 'q', long = "silent", conflicts_with_all = ["answers", "count", "list"])]
    silent: bool,

    /// Print the names of the files with a chosen line
    #[arg(short = 'l', long = "files-with-matches", conflicts_with = "count")]
    list: bool,

    /// Print `yes` or `no` for every line
    #[arg(long, conflicts_with_all = ["count", "invert", "also", "list", "number", "most", "with_filename"])]
    answers: bool,

    /// Print the whole line, or its key
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", hide_short_help = true, hide_default_value = true, conflicts_with_all = ["answers", "count", "silent", "list"])]
    print: Print,

    /// Print the number of each line before it
    #[arg(long = "line-number")]
    number: bool,

    /// Stop reading a file after this many chosen lines
    #[arg(short = 'm', long = "max-count", value_name = "NUM")]
    most: Option<u64>,

    /// Print the name of its file before each line
    #[arg(
        short = 'H',
        long,
        hide_short_help = true,
        overrides_with = "no_filename"
    )]
    with_filename: bool,

    /// Print no names of files
    #[arg(
        short = 'I',
        long,
        hide_short_help = true,
        overrides_with = "with_filename"
    )]
    no_filename: bool,

    /// Look in this filter too; print which have the key
    #[arg(long, value_name = "FILTER")]
    also: Vec<PathBuf>,

    /// Begin at once, without comparing the filter's checksums
    #[arg(long, hide_short_help = true)]
    no_verify: bool,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    given: GivenArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap check seen.mayhap urls.txt           the lines that are in the filter
  mayhap check -v seen.mayhap < urls.txt      those that are certainly not in it
  mayhap check -c seen.mayhap *.log           how many lines of each file are in it
  mayhap check --also b.mayhap a.mayhap keys  the lines in a, b or both, and which
  if echo ann | mayhap check -q seen.mayhap; then echo seen; fi";

impl Args {
    pub(crate) fn run(mut self, global: &Global) -> Result<Exit> {
        self.given.key = self.given.key.printing(self.print);
        if self.answers && self.given.key.keyless() == Keyless::Keep {
            let text =
                "--answers has no answer for a line without a key, which --keyless keep keeps";
            return Err(Failure::new(text).hint("use --keyless error, or --keyless skip"));
        }
        let secret = self.given.secret.secret()?;
        let (mut filters, mut descriptions) = (Vec::new(), Vec::new());
        for path in std::iter::once(&self.given.filter).chain(&self.also) {
            let opened = Opened::new(
                path,
                self.format,
                secret.as_ref(),
                !self.no_verify,
                global.threads(),
            )?;
            descriptions.push(opened.description()?);
            filters.push((shown(&name_of(path)).to_string(), opened));
        }
        let descriptions: Vec<&Description> = descriptions.iter().collect();
        let secret = &self.given.secret;
        secret.check_used(&descriptions, &self.given.filter)?;
        let exit = self.look_up(&mut filters, global)?;
        for (_, filter) in &filters {
            filter.check_unchanged()?;
        }
        Ok(exit)
    }

    fn look_up(&self, filters: &mut [(String, Opened)], global: &Global) -> Result<Exit> {
        // Several filters may hash in several ways.
        let digester = match filters {
            [(_, filter)] => filter.digester(),
            _ => None,
        };
        let sources = self.given.sources()?;
        let names = (sources.len() > 1 || self.with_filename) && !self.no_filename;
        let by_file =
            names || self.number || self.count || self.list || self.most.is_some() || global.json;
        let groups: Vec<_> = match by_file {
            true => sources.into_iter().map(|source| vec![source]).collect(),
            false => vec![sources],
        };
        let several = groups.len() > 1;
        let found = filters.iter().map(|_| Vec::new()).collect();
        let mut lookup = Lookup {
            filters,
            args: self,
            json: global.json,
            names: names && !self.answers,
            output: Output::standard()?.on_threads(global.threads())?,
            found,
            choice: Vec::new(),
            head: String::new(),
            file: String::new(),
            keys: 0,
            chosen: 0,
            is_done: false,
        };
        let header = Header::default();
        let (mut keys, mut chosen) = (0, 0);
        for sources in groups {
            lookup.begin(
                sources
                    .first()
                    .map_or(Path::new(""), |source| source.name()),
            );
            let blocks = self.given.blocks_of(sources, digester.clone());
            match pipeline::run(blocks.with_header(&header), global.threads(), &mut lookup) {
                Err(Failure::ClosedPipe) if lookup.is_done => {}
                outcome => outcome?,
            }
            lookup.end(several)?;
            keys += lookup.keys;
            chosen += lookup.chosen;
            if self.silent && chosen > 0 {
                break;
            }
        }
        lookup.output.flush()?;
        if global.json && !self.silent && !self.list {
            print_json(&json!({ "keys": keys, "chosen": chosen, "invert": self.invert }))?;
        }
        Ok(Exit::found(chosen > 0))
    }
}

/// Returns whether a file fits in the free memory, where nobody can change it. Where the system does not report how much
/// is free, it does.
fn fits_in_memory(path: &Path) -> bool {
    let Ok(about) = fs::read_to_string("/proc/meminfo") else {
        return true;
    };
    let available = about.lines().find_map(|line| {
        let kibibytes = line
            .strip_prefix("MemAvailable:")?
            .trim()
            .strip_suffix(" kB")?;
        kibibytes.parse::<u64>().ok()
    });
    let bytes = path.metadata().map_or(0, |metadata| metadata.len());
    available.is_none_or(|kibibytes| bytes / 1024 <= kibibytes)
}

/// A filter to be asked: on a server, where it lies, or in memory.
enum Opened {
    Server(Box<Server>),
    Mapped(Mapped),
    Loaded(AnyFilter),
}

impl Opened {
    fn new(
        path: &Path,
        format: FormatArgs,
        secret: Option<&SecretKey>,
        verify: bool,
        threads: usize,
    ) -> Result<Opened> {
        if Server::is_named_by(path) {
            return Ok(Opened::Server(Box::new(Server::open(path, secret)?)));
        }
        let load = || read(path, format, secret).map(|(filter, _, _)| Opened::Loaded(filter));
        if (verify && fits_in_memory(path)) || format.is_foreign() {
            return load();
        }
        let explain = |error| explain(error, path);
        match Mapped::open(path, secret) {
            Ok(mapped) => {
                if verify {
                    mapped.verify_on(threads).map_err(explain)?;
                }
                Ok(Opened::Mapped(mapped))
            }
            Err(error @ mayhap::Error::File { .. }) => Err(explain(error)),
            // Perhaps a filter of another program; if not, this reports what is wrong with our own.
            Err(_) => load(),
        }
    }

    fn description(&self) -> Result<Description> {
        match self {
            Opened::Server(server) => server.description(),
            Opened::Mapped(mapped) => Ok(mapped.description()),
            Opened::Loaded(filter) => Ok(filter.description()),
        }
    }

    /// The digester of a filter that takes digests instead of keys.
    fn digester(&self) -> Option<Digester> {
        match self {
            Opened::Server(_) => None,
            Opened::Mapped(mapped) => digester(&mapped.description()),
            Opened::Loaded(filter) => digester(&filter.description()),
        }
    }

    /// Looks up the keys of a block; one answer each, whether it may be in the filter.
    fn look_up(&mut self, block: &Block, args: &KeyArgs, found: &mut Vec<bool>) -> Result<()> {
        match self {
            Opened::Server(server) => {
                let keys: Vec<&[u8]> = block.keys(args).collect();
                *found = server.contains(&keys)?;
            }
            Opened::Mapped(mapped) => contains_lines(mapped.filter(), block, args, found),
            Opened::Loaded(filter) => contains_lines(filter, block, args, found),
        }
        Ok(())
    }

    /// Refuses a file that was changed while it was read where it lies.
    fn check_unchanged(&self) -> Result<()> {
        let Opened::Mapped(mapped) = self else {
            return Ok(());
        };
        mapped.check_unchanged().map_err(|error| {
            Failure::from(error).hint(
                "what was printed may be wrong: ask again, and replace filters by renaming, as mayhap does",
            )
        })
    }
}

struct Lookup<'a> {
    filters: &'a mut [(String, Opened)],
    args: &'a Args,
    json: bool,
    /// True when names of files are printed.
    names: bool,
    output: Output,
    /// The answers of each filter about a block.
    found: Vec<Vec<bool>>,
    /// The lines of a block that are chosen.
    choice: Vec<bool>,
    /// The text before a line.
    head: String,
    /// The file that is read, and the keys and chosen lines in it.
    file: String,
    keys: u64,
    chosen: u64,
    /// True when no more of the file is needed.
    is_done: bool,
}

impl Lookup<'_> {
    fn begin(&mut self, file: &Path) {
        self.file = shown_path(file).to_string();
        (self.keys, self.chosen, self.is_done) = (0, 0, false);
    }

    /// Prints the result for a whole file.
    fn end(&mut self, several: bool) -> Result<()> {
        let (name, chosen) = (&self.file, self.chosen);
        let text = match (self.args.list, self.args.count, self.json) {
            (true, _, _) if chosen == 0 => return Ok(()),
            (true, _, false) => format!("{name}\n"),
            (true, _, true) => format!("{}\n", json!({ "file": name })),
            (_, true, false) if self.names => format!("{name}:{chosen}\n"),
            (_, true, false) => format!("{chosen}\n"),
            (_, true, true) if several => {
                let object = json!({ "file": name, "keys": self.keys, "chosen": chosen });
                format!("{object}\n")
            }
            _ => return Ok(()),
        };
        self.output.write(text.as_bytes())
    }

    /// Chooses lines by the answers of all filters, up to the most that are wanted.
    fn choose(&mut self, lines: usize) {
        let (found, invert) = (&self.found, self.args.invert);
        let is_chosen = |line: usize| found.iter().any(|found| found[line]) != invert;
        self.choice.clear();
        self.choice.extend((0..lines).map(is_chosen));
        let chosen = self.choice.iter().filter(|chosen| **chosen).count() as u64;
        self.chosen += chosen;
        if let Some(most) = self.args.most
            && self.chosen >= most
        {
            let surplus = (self.chosen - most) as usize;
            let last = self.choice.iter_mut().rev().filter(|chosen| **chosen);
            last.take(surplus).for_each(|chosen| *chosen = false);
            self.chosen = most;
            self.is_done = true;
        }
    }

    /// Prints the chosen lines, each after its file, number and filters, and those without a key that are printed; in JSON,
    /// with answers, all lines.
    fn print(&mut self, block: &Block) -> Result<()> {
        let last = self.choice.iter().rposition(|chosen| *chosen);
        let mut keys = 0;
        for row in block.rows() {
            if self.is_done && last.is_none_or(|last| keys > last) {
                break;
            }
            let key = row.has_key.then_some(keys);
            keys += usize::from(row.has_key);
            let is_chosen = key.map(|key| self.choice[key]);
            if !is_chosen.map_or(row.is_printed, |chosen| chosen || self.args.answers) {
                continue;
            }
            let number = block.first_line + row.line as u64 + 1;
            let found = self.filters.iter().zip(&self.found);
            let found = found.filter(|(_, found)| key.is_some_and(|key| found[key]));
            let mut names = found.map(|((name, _), _)| name.as_str());
            if self.json {
                let mut object = row.json(json!({ "file": self.file, "number": number }));
                if !self.args.also.is_empty() {
                    object["filters"] = names.collect();
                }
                if self.args.answers {
                    object["found"] = is_chosen.into();
                }
                self.output.write(format!("{object}\n").as_bytes())?;
                continue;
            }
            self.head.clear();
            if self.names {
                self.head.push_str(&self.file);
                self.head.push(':');
            }
            if self.args.number {
                self.head.push_str(&format!("{number}:"));
            }
            if let (Some(first), false) = (names.next(), self.args.also.is_empty()) {
                self.head.push_str(first);
                for name in names {
                    self.head.push(',');
                    self.head.push_str(name);
                }
                self.head.push('\t');
            }
            self.output.write(self.head.as_bytes())?;
            self.output.write(row.bytes)?;
        }
        Ok(())
    }
}

impl Sink for Lookup<'_> {
    fn take(&mut self, block: &Block) -> Result<()> {
        let args = self.args;
        for ((_, filter), found) in self.filters.iter_mut().zip(&mut self.found) {
            filter.look_up(block, &args.given.key, found)?;
        }
        self.keys += block.count() as u64;
        self.choose(block.count());
        let one_by_one =
            self.json || self.names || args.number || args.most.is_some() || !args.also.is_empty();
        if args.silent || args.list {
            self.is_done |= self.chosen > 0;
        } else if args.answers && !self.json {
            for found in &self.choice {
                self.output.write(if *found { b"yes\n" } else { b"no\n" })?;
            }
        } else if one_by_one && !args.count {
            self.print(block)?;
        } else if !args.count {
            self.output
                .write_lines(block, self.choice.iter().copied())?;
        }
        match self.is_done {
            true => Err(Failure::ClosedPipe),
            false => Ok(()),
        }
    }

    fn idle(&mut self) -> Result<()> {
        self.output.flush()
    }
}
