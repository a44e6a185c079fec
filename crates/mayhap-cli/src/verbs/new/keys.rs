//! `mayhap build`: a filter of exactly these keys, as large as they need.

use std::collections::BTreeSet;
use std::path::PathBuf;

use mayhap::format::Format;
use mayhap::format::native::Metadata;
use mayhap::{
    AnyFilter, Digester, Fuse, Kind, Ribbon,
    hash::Digest,
    kinds::{Cascade, FuseShape, RibbonShape, ShiftingAssociation, ShiftingMultiplicity},
    sets::Fingerprints,
};
use mayhap_program::amounts::{self, show_bytes, show_count};
use mayhap_program::exit::Exit;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::global::Global;
use mayhap_program::input::Input;

use crate::batch::Inserter;
use crate::block::{Block, LineHash};
use crate::blocks::Blocks;
use crate::filters::held::WaitArgs;
use crate::filters::secret::SecretArgs;
use crate::keys::KeyArgs;
use crate::pipeline::{self, Sink};
use crate::plan;
use crate::values;
use crate::verbs::info;

/// Makes a filter of exactly these keys.
///
/// The keys are counted first, so you need not know how many there are. The kinds that cannot be changed later, such as
/// `fuse`, are made only here.
///
/// Exit codes: 0 when it was made, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file to make
    filter: PathBuf,

    /// Files of keys, one per line; `-` or nothing is standard input
    keys: Vec<PathBuf>,

    /// The false-positive rate, such as 0.01, 1e-6 or 1% [env: MAYHAP_RATE]
    #[arg(short = 'p', long, value_name = "P", value_parser = amounts::rate)]
    rate: Option<f64>,

    /// The kind of filter; `mayhap size` compares their sizes
    #[arg(long, value_name = "KIND", default_value = "fuse", value_parser = values::kind())]
    kind: Kind,

    /// Files of keys that are certainly not in the set, for the kind `cascade`: it answers exactly for both
    #[arg(long, value_name = "FILE", num_args = 1)]
    excluded: Vec<PathBuf>,

    /// Files of keys of the second set, for the kind `shifting-association`: it reports which of two
    /// sets a key is in
    #[arg(long, value_name = "FILE", num_args = 1)]
    second: Vec<PathBuf>,

    /// Replace a file that exists
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    key: KeyArgs,

    #[command(flatten)]
    secret: SecretArgs,
}

const EXAMPLES: &str = "Examples:
  mayhap build known.mayhap keys -p 1%                  a `fuse` filter of the lines of keys
  mayhap build small.mayhap keys --kind ribbon -p 0.1%  a smaller one, at a lower rate
  mayhap build exact.mayhap keys --kind cascade --excluded others";

impl Args {
    pub(crate) fn run(self, global: &Global) -> Result<Exit> {
        self.check_options()?;
        let reserved = self.wait.reserve(&self.filter)?;
        reserved.refuse_to_replace(self.force, "`mayhap add` inserts into it")?;
        let (secret, threads) = (self.secret.secret()?, global.threads());
        let is_keyed = secret.is_some();
        let digester = secret.map_or_else(Digester::default, |key| Digester::SipHash { key });
        let filter = match self.kind {
            Kind::Fuse => {
                let shape = FuseShape::for_rate(1, self.rate()?)?;
                let digests = self.digests(digester.clone(), threads)?;
                Fuse::build_digests(digester, shape.fingerprint_bits(), digests)?.into()
            }
            Kind::Ribbon => {
                let shape = RibbonShape::for_rate(1, self.rate()?)?;
                let digests = self.digests(digester.clone(), threads)?;
                Ribbon::build_digests(digester, shape.fingerprint_bits(), digests)?.into()
            }
            Kind::Cascade => self.cascade(digester, threads)?,
            Kind::ShiftingAssociation | Kind::ShiftingMultiplicity | Kind::SplitBlock
                if is_keyed =>
            {
                return Err(plan::takes_no_secret(self.kind));
            }
            Kind::ShiftingAssociation if self.second.is_empty() => {
                let text = "the kind shifting-association needs the keys of the second set";
                return Err(Failure::new(text).hint("--second FILE, once or more often"));
            }
            Kind::ShiftingAssociation => {
                let [first, second] = [&self.keys, &self.second]
                    .map(|paths| self.read(paths, threads).map(BTreeSet::from_iter));
                ShiftingAssociation::from_sets(&first?, &second?, self.rate()?)?.into()
            }
            Kind::ShiftingMultiplicity => {
                let keys = self.read(&self.keys, threads)?;
                ShiftingMultiplicity::from_keys(keys, self.rate()?)?.into()
            }
            kind => self.inserted(kind, digester, threads)?,
        };
        let held = reserved.hold(filter, Metadata::default(), Format::Native);
        held.save()?;
        if global.json {
            info::print_json(&held)?;
        }
        Ok(Exit::Success)
    }

    /// Refuses an option that the kind does not have.
    fn check_options(&self) -> Result<()> {
        self.key.check()?;
        let is_cascade = self.kind == Kind::Cascade;
        let is_association = self.kind == Kind::ShiftingAssociation;
        for (option, given, fits) in [
            ("--excluded", !self.excluded.is_empty(), is_cascade),
            ("--second", !self.second.is_empty(), is_association),
            ("--rate", self.rate.is_some(), !is_cascade),
        ] {
            if given && !fits {
                let text = format!("{option} is not for the kind {}", self.kind);
                return Err(Failure::new(text).hint(match option {
                    "--excluded" => "--kind cascade separates two sets exactly",
                    "--second" => {
                        "--kind shifting-association reports which of two sets a key is in"
                    }
                    _ => "a cascade is exact for the keys of both sets: leave out the rate",
                }));
            }
        }
        Ok(())
    }

    fn rate(&self) -> Result<f64> {
        let rate = self
            .rate
            .map_or_else(plan::default_rate, |rate| Ok(Some(rate)))?;
        let missing = || {
            Failure::new(format!("the kind {} needs --rate P", self.kind))
                .hint("such as 0.01, 1e-6 or 1%")
        };
        rate.ok_or_else(missing)
    }

    /// Every key of some files, in memory.
    fn read(&self, paths: &[PathBuf], threads: usize) -> Result<Vec<Vec<u8>>> {
        let mut keys = Keys {
            args: &self.key,
            keys: Vec::new(),
        };
        let blocks = Blocks::new(Input::open_all(paths)?, &self.key, None);
        pipeline::run(blocks, threads, &mut keys)?;
        Ok(keys.keys)
    }

    fn cascade(&self, digester: Digester, threads: usize) -> Result<AnyFilter> {
        if self.excluded.is_empty() {
            return Err(
                Failure::new("the kind cascade needs the keys that are not in the set")
                    .hint("--excluded FILE, once or more often"),
            );
        }
        let (included, excluded) = (
            self.read(&self.keys, threads)?,
            self.read(&self.excluded, threads)?,
        );
        Ok(Cascade::build(digester, &included, &excluded)?.into())
    }

    /// The digest of every key.
    fn digests(&self, digester: Digester, threads: usize) -> Result<Vec<Digest>> {
        let mut collected = Collected::default();
        let blocks = Blocks::new(
            Input::open_all(&self.keys)?,
            &self.key,
            Some(LineHash::Filter(digester)),
        );
        pipeline::run(blocks, threads, &mut collected)?;
        Ok(collected.digests)
    }

    /// Counts in a first pass, and inserts in a second.
    fn inserted(&self, kind: Kind, digester: Digester, threads: usize) -> Result<AnyFilter> {
        let mut sources = Input::open_all(&self.keys)?;
        for source in &mut sources {
            source.keep()?;
        }
        let again = || sources.iter().map(Input::again).collect::<Result<Vec<_>>>();
        let mut counter = Counter::default();
        pipeline::run(
            Blocks::new(
                again()?,
                &self.key,
                Some(LineHash::Filter(digester.clone())),
            ),
            threads,
            &mut counter,
        )?;

        let mut description = kind.plan(counter.distinct.count().max(1), self.rate()?)?;
        if kind != Kind::SplitBlock {
            description.hashing = digester.into();
        }
        let mut filter = AnyFilter::new(&description)?;
        Inserter::new(&mut filter, &self.key).run(again()?, threads)?;
        Ok(filter)
    }
}

/// Every key.
struct Keys<'a> {
    args: &'a KeyArgs,
    keys: Vec<Vec<u8>>,
}

impl Sink for Keys<'_> {
    fn take(&mut self, block: &Block) -> Result<()> {
        self.keys.extend(block.keys(self.args).map(<[u8]>::to_vec));
        Ok(())
    }
}

/// The digest of every key.
#[derive(Default)]
struct Collected {
    digests: Vec<Digest>,
}

impl Sink for Collected {
    fn take(&mut self, block: &Block) -> Result<()> {
        let more = block.digests.len();
        self.digests.try_reserve(more).map_err(|_| {
            let bytes = (self.digests.len() + more) as u64 * size_of::<Digest>() as u64;
            let (keys, bytes) = (
                show_count((self.digests.len() + more) as u64),
                show_bytes(bytes),
            );
            Failure::new(format!("no memory for {bytes} of digests of {keys} keys"))
        })?;
        self.digests.extend_from_slice(&block.digests);
        Ok(())
    }
}

/// The number of distinct keys, but for hashes that collide.
#[derive(Default)]
struct Counter {
    distinct: Fingerprints,
}

impl Sink for Counter {
    fn take(&mut self, block: &Block) -> Result<()> {
        let hashes = block.digests.iter().map(|digest| digest.hi);
        self.distinct.insert_each(hashes, |_| ())?;
        Ok(())
    }
}
