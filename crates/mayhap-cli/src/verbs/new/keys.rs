//! A filter of keys: as large as they need, or as large as was asked for.

use std::collections::BTreeSet;
use std::path::PathBuf;

use mayhap::{
    AnyFilter, Description, Digester, Filter as _, Fuse, Hashing, Inserts, Kind, Ribbon, Scheme,
    hash::Digest,
    kinds::{Cascade, FuseShape, RibbonShape, ShiftingAssociation, ShiftingMultiplicity},
    sets::Fingerprints,
};
use mayhap_program::amounts::{show_bytes, show_count};
use mayhap_program::failure::{Failure, Result};
use mayhap_program::input::Input;

use super::Args;
use crate::batch::Inserter;
use crate::block::{Block, LineHash};
use crate::blocks::Blocks;
use crate::filters::name_of;
use crate::filters::promise::past_capacity;
use crate::keys::KeyArgs;
use crate::pipeline::{self, Sink};
use crate::plan::PlanArgs;

impl Args {
    /// Makes the filter of the keys that are named.
    pub(super) fn filled(&self, threads: usize) -> Result<AnyFilter> {
        if self.like.is_some() {
            return self.inserted(self.empty()?, self.open()?, threads);
        }
        let mut plan = self.plan.with_defaults()?;
        // The keys are counted: the variable is for filters without keys.
        plan.size.capacity = self.plan.size.capacity;
        let secret = self.secret.secret()?;
        if plan
            .kind
            .is_some_and(|kind| kind.inserts() == Inserts::Never)
        {
            return self.solved(plan, threads);
        }
        let mut sources = self.open()?;
        if plan.size.capacity.is_none() && !plan.is_shape() {
            // What cannot be made of any number of keys is refused before they are read.
            plan.size.capacity = Some(1);
            plan.description(self.format, secret.as_ref())?;
            for source in &mut sources {
                source.keep()?;
            }
            plan.size.capacity = Some(self.count(again(&sources)?, threads)?);
            sources = again(&sources)?;
        }
        let filter = plan.filter(self.format, secret.as_ref())?;
        self.inserted(filter, sources, threads)
    }

    fn open(&self) -> Result<Vec<Input>> {
        Input::open_all(&self.keys)
    }

    /// The number of distinct keys, at least 1.
    fn count(&self, sources: Vec<Input>, threads: usize) -> Result<u64> {
        let mut counter = Counter::default();
        let blocks = Blocks::new(sources, &self.key, Some(LineHash::fresh()?));
        pipeline::run(blocks, threads, &mut counter)?;
        Ok(counter.distinct.count().max(1))
    }

    /// Inserts all keys into a filter. One that they exceed is refused.
    fn inserted(
        &self,
        mut filter: AnyFilter,
        sources: Vec<Input>,
        threads: usize,
    ) -> Result<AnyFilter> {
        let is_counted = self.like.is_none() && self.plan.size.capacity.is_none();
        Inserter::new(&mut filter, &self.key).run(sources, threads)?;
        match past_capacity(&filter.stats()).filter(|_| !is_counted) {
            None => Ok(filter),
            Some(text) => {
                let text = format!("{} {text}; nothing was saved", name_of(&self.filter));
                Err(Failure::new(text)
                    .hint("without --capacity and --like the keys are counted first"))
            }
        }
    }

    /// Makes a filter of a kind that takes all its keys at once.
    fn solved(&self, mut plan: PlanArgs, threads: usize) -> Result<AnyFilter> {
        let kind = plan.kind.unwrap_or(Kind::Fuse);
        let is_cascade = kind == Kind::Cascade;
        let rate = self.plan.size.rate.filter(|_| is_cascade);
        let sized = self.plan.size.capacity.map(|_| "--capacity");
        let sized = sized.or(rate.map(|_| "--rate"));
        if let Some(option) = sized.or(plan.is_shape().then_some("--bits")) {
            let text =
                format!("{option} is not for the kind {kind}, which is as large as its keys need");
            return Err(Failure::new(text).hint(format!("leave out {option}")));
        }
        // Any size will do: only how it hashes, and whether that can be, is taken from it.
        plan.size.capacity = Some(1);
        if is_cascade {
            plan.size.rate = Some(0.5);
        }
        let secret = self.secret.secret()?;
        let description = plan.description(self.format, secret.as_ref())?;
        let (digester, rate) = (digester(&description), plan.size.rate.unwrap_or_default());
        Ok(match kind {
            Kind::Fuse => {
                let shape = FuseShape::for_rate(1, rate)?;
                let digests = self.digests(digester.clone(), threads)?;
                Fuse::build_digests(digester, shape.fingerprint_bits(), digests)?.into()
            }
            Kind::Ribbon => {
                let shape = RibbonShape::for_rate(1, rate)?;
                let digests = self.digests(digester.clone(), threads)?;
                Ribbon::build_digests(digester, shape.fingerprint_bits(), digests)?.into()
            }
            Kind::Cascade => {
                let excluded = needed(&self.excluded, "--excluded FILE: keys not in the set")?;
                let [included, excluded] =
                    [&self.keys, excluded].map(|paths| self.read(paths, threads));
                Cascade::build(digester, &included?, &excluded?)?.into()
            }
            Kind::ShiftingAssociation => {
                let second = needed(&self.second, "--second FILE: keys of the second set")?;
                let [first, second] = [&self.keys, second]
                    .map(|paths| self.read(paths, threads).map(BTreeSet::from_iter));
                ShiftingAssociation::from_sets(&first?, &second?, rate)?.into()
            }
            _ => ShiftingMultiplicity::from_keys(self.read(&self.keys, threads)?, rate)?.into(),
        })
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

    /// The digest of every key.
    fn digests(&self, digester: Digester, threads: usize) -> Result<Vec<Digest>> {
        let mut collected = Collected::default();
        let hash = Some(LineHash::Filter(digester));
        let blocks = Blocks::new(self.open()?, &self.key, hash);
        pipeline::run(blocks, threads, &mut collected)?;
        Ok(collected.digests)
    }
}

/// The files of an option, which must be there.
fn needed<'a>(files: &'a Vec<PathBuf>, option: &str) -> Result<&'a Vec<PathBuf>> {
    match files.is_empty() {
        true => Err(Failure::new(format!("the kind needs {option}"))),
        false => Ok(files),
    }
}

/// The same inputs from their beginning.
fn again(sources: &[Input]) -> Result<Vec<Input>> {
    sources.iter().map(Input::again).collect()
}

/// The digester of a filter of a kind that has one.
fn digester(description: &Description) -> Digester {
    match &description.hashing {
        Hashing::Scheme(Scheme::Native(digester)) => digester.clone(),
        _ => Digester::default(),
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
