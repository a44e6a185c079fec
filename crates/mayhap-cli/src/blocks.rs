//! The inputs of a run, to be read in blocks.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mayhap_program::failure::Result;
use mayhap_program::input::Input;

use crate::block::inputs::{Header, Inputs};
use crate::block::ledger::Ledger;
use crate::block::{LineHash, Prepare};
use crate::keys::KeyArgs;

/// Reads inputs, one after another, block by block.
pub(crate) struct Blocks {
    inputs: Inputs,
    ledger: Ledger,
    args: KeyArgs,
    hash: Option<LineHash>,
    is_live: bool,
    size: Option<u64>,
    /// The number of bytes read from the files so far, for the progress bar.
    seen: Arc<AtomicU64>,
}

impl Blocks {
    pub(crate) fn new(sources: Vec<Input>, args: &KeyArgs, hash: Option<LineHash>) -> Blocks {
        let names = sources.iter().map(|source| source.name().to_owned());
        let seen = Arc::default();
        Blocks {
            ledger: Ledger::new(names.collect(), args),
            args: args.clone(),
            hash,
            is_live: sources.iter().any(Input::is_live),
            size: sources.iter().map(Input::size).sum(),
            inputs: Inputs::new(sources, args, &seen),
            seen,
        }
    }

    /// Blocks of the same table as others, whose header is printed once and is the same in all files.
    pub(crate) fn with_header(mut self, header: &Header) -> Blocks {
        self.inputs.header = Arc::clone(header);
        self
    }

    /// Returns whether an input is a pipe or a terminal, which gives more only when someone writes it.
    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    /// The bytes of all inputs as they lie in the files, when their number is known.
    pub(crate) fn size(&self) -> Option<u64> {
        self.size
    }

    /// The number of bytes read so far, which grows while blocks are read.
    pub(crate) fn seen(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.seen)
    }

    /// Splits into what reads lines, prepares them for this many shards, and numbers them: each for another thread.
    pub(crate) fn apart(self, shards: usize) -> (Inputs, Prepare, Ledger) {
        let prepare = Prepare {
            args: self.args,
            hash: self.hash,
            shards,
        };
        (self.inputs, prepare, self.ledger)
    }

    /// The lines that were looked at and are still to be given.
    pub(crate) fn ahead(&self) -> &[u8] {
        self.inputs.ahead()
    }

    /// Looks at more lines, after those that it has looked at; false at the end of all inputs.
    pub(crate) fn look_ahead(&mut self) -> Result<bool> {
        let looked = self.inputs.look_ahead();
        looked.map_err(|ending| self.ledger.failure(ending))
    }

    /// Leaves out the first of the lines that it has looked at.
    pub(crate) fn leave_out(&mut self, bytes: usize) {
        let ledger = &mut self.ledger;
        let count = |input, lines| ledger.leave_out(input, lines);
        self.inputs.leave_out(bytes, count);
    }
}
