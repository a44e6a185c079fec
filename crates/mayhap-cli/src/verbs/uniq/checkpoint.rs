//! The progress of a run, and the place where the next one begins.
//!
//! It is written into the file of the filter, so that the two cannot disagree: a file is replaced whole or
//! not at all. Output is made durable before the filter is, so no line is marked as seen that was not
//! written. So the same command can be repeated at any moment: it continues at the
//! places in input and output that the file has, and what was written after that is cut off. A finished run is one
//! whose checkpoint is at the end of its input.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, Instant};

use mayhap::format::Format;
use mayhap::format::native::Progress;
use mayhap_program::amounts::show_bytes;
use mayhap_program::failure::{Failure, Result};
use mayhap_program::input::Input;
use xxhash_rust::xxh3::Xxh3;

use super::args::Args;
use super::every::Every;
use super::seen::Seen;
use crate::blocks::Blocks;
use crate::output::{Extent, Keep, Output};

/// The bytes of input after which another one is recognised, if it did not begin in the same way.
const BEGINNING: u64 = 64 << 10;

/// Saving takes at most one part in this many of the time, where it is by time.
const SHARE_OF_TIME: u32 = 10;

/// Saves the filter of a run now and then, with the progress of the run.
pub(super) struct Checkpoint {
    every: Option<Every>,
    /// The input so far, if the filter's file can hold the progress.
    input: Option<InputHash>,
    /// The input at the last checkpoint.
    last: u64,
    /// The time of that checkpoint, and the time to wait after it.
    saved: Instant,
    wait: Duration,
    /// True when the input cannot be read again and the output is not a file: such a run ends where it is stopped.
    is_stream: bool,
}

/// The beginning of a run: its input and output.
pub(super) struct Start {
    pub(super) from: From,
    pub(super) blocks: Blocks,
    pub(super) output: Keep,
    pub(super) seed: u64,
}

/// The place in its input where a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    Beginning,
    /// After this many bytes, where a run was interrupted.
    Interruption(u64),
    /// After this many bytes, where a run found the end: there is more now.
    End(u64),
    /// Nowhere: the last run finished this input.
    Nowhere,
}

impl Checkpoint {
    /// Finds where to begin, from the progress of the last run in the filter's file.
    pub(super) fn begin(
        seen: &mut Seen,
        args: &Args,
        sources: Vec<Input>,
    ) -> Result<(Checkpoint, Start)> {
        let hash = seen.hash();
        let blocks_of = |sources| Blocks::new(sources, &args.key, hash.clone());
        let mut checkpoint = Checkpoint {
            every: args.checkpoint,
            input: None,
            last: 0,
            saved: Instant::now(),
            wait: args.checkpoint.map_or(Duration::MAX, |every| every.time),
            is_stream: sources.iter().any(Input::is_live) && args.output.is_none(),
        };
        let mut start = Start {
            from: From::Beginning,
            output: Keep::Nothing,
            seed: 0,
            blocks: blocks_of(Vec::new()),
        };
        let Some(held) = seen.held().filter(|held| held.format == Format::Native) else {
            args.check_without_memory()?;
            start.blocks = blocks_of(sources);
            return Ok((checkpoint, start));
        };
        let progress = held.metadata.progress;
        start.seed = match progress {
            Some(progress) => progress.seed,
            None => RandomState::new().build_hasher().finish(),
        };
        let mut input = InputHash::new(start.seed, &args.what_is_printed());
        match progress {
            None => start.blocks = blocks_of(sources),
            Some(progress) if args.new_run => {
                start.output = Keep::Any(extent(&progress));
                start.blocks = blocks_of(sources);
            }
            // Nobody waits for a comparison: what was printed before is seen, and not printed again.
            Some(progress) if progress.is_finished && checkpoint.is_stream => {
                start.blocks = blocks_of(sources);
            }
            Some(progress) => {
                let spare = match sources.iter().any(Input::is_live) {
                    true => None,
                    false => Some(sources.iter().map(Input::again).collect::<Result<_>>()?),
                };
                start.blocks = blocks_of(sources);
                let found = input.find(&progress, &mut start.blocks, args.key.line_end())?;
                match found {
                    Found::Same => {
                        start.output = Keep::All(extent(&progress));
                        start.from = from(&progress, &mut start.blocks)?;
                    }
                    _ if !progress.is_finished => return Err(another_input(&progress)),
                    Found::AnotherBeginning => {}
                    Found::AnotherEnd => {
                        start.blocks = blocks_of(spare.ok_or_else(past_return)?);
                        input = InputHash::new(start.seed, &args.what_is_printed());
                    }
                }
            }
        }
        checkpoint.last = input.bytes;
        checkpoint.input = Some(input);
        Ok((checkpoint, start))
    }

    /// Saves where an output begins that others append to as well: after a kill nothing else shows which of its lines are
    /// ours.
    pub(super) fn open(&self, seen: &mut Seen, output: &Output) -> Result<()> {
        let (Some(input), Some(held)) = (&self.input, seen.held()) else {
            return Ok(());
        };
        let known = held.metadata.progress.map(|progress| extent(&progress));
        if output.is_appended_to() && output.extent() != known {
            held.metadata.progress = input.progress(output, false);
            held.save()?;
        }
        Ok(())
    }

    /// Takes lines to account.
    pub(super) fn pass(&mut self, lines: &[u8]) {
        if let Some(input) = &mut self.input {
            input.update(lines);
        }
    }

    /// Saves the filter when it is time to.
    pub(super) fn save_if_due(&mut self, seen: &mut Seen, output: &mut Output) -> Result<()> {
        let (Some(input), Some(every), Some(held)) = (&self.input, self.every, seen.held()) else {
            return Ok(());
        };
        let since = input.bytes - self.last;
        if since == 0 || since < every.bytes && self.saved.elapsed() < self.wait {
            return Ok(());
        }
        let begun = Instant::now();
        output.sync()?;
        held.metadata.progress = input.progress(output, false);
        held.save()?;
        self.last = input.bytes;
        self.saved = Instant::now();
        self.wait = every.time.max(begun.elapsed() * (SHARE_OF_TIME - 1));
        Ok(())
    }

    /// Notes that the run has finished, or where it was stopped; the output is durable. Returns whether the same command
    /// continues there.
    pub(super) fn end(&mut self, seen: &mut Seen, output: &Output, is_stopped: bool) -> bool {
        let (Some(input), Some(held)) = (&self.input, seen.held()) else {
            return false;
        };
        let is_finished = !is_stopped || self.is_stream;
        held.metadata.progress = input.progress(output, is_finished);
        !is_finished
    }
}

/// The output of the last run.
fn extent(progress: &Progress) -> Extent {
    Extent {
        seed: progress.seed,
        start: progress.output_start,
        end: progress.output_end,
        hash: progress.output_hash,
    }
}

/// The place to begin in an input whose beginning is done.
fn from(progress: &Progress, blocks: &mut Blocks) -> Result<From> {
    if !progress.is_finished {
        return Ok(match progress.input_bytes {
            0 => From::Beginning,
            bytes => From::Interruption(bytes),
        });
    }
    match !blocks.ahead().is_empty() || blocks.look_ahead()? {
        true => Ok(From::End(progress.input_bytes)),
        false => Ok(From::Nowhere),
    }
}

fn another_input(progress: &Progress) -> Failure {
    let bytes = show_bytes(progress.input_bytes);
    Failure::new(format!(
        "this is not the input that the interrupted run read ({bytes} of it), or it was asked for something else"
    ))
    .hint(
        "repeat the same command to finish that run; or --new-run continues with this input: what was left of \
         the other one is not seen yet, and can be given later",
    )
}

fn past_return() -> Failure {
    Failure::new("the input begins as that of the last run does, but continues differently, and cannot be read again")
        .hint("give a file, not a pipe; or --new-run, to read it as a new one")
}

/// A hash of an input so far, and of its beginning.
#[derive(Clone)]
struct InputHash {
    seed: u64,
    hash: Xxh3,
    bytes: u64,
    beginning: Option<u64>,
}

/// The result of comparing an input with the one that a run read.
enum Found {
    Same,
    /// It is another, and no line was left out yet.
    AnotherBeginning,
    AnotherEnd,
}

impl InputHash {
    /// An empty hash, seeded with what will be printed.
    fn new(seed: u64, what: &str) -> InputHash {
        let mut hash = Xxh3::with_seed(seed);
        hash.update(what.as_bytes());
        InputHash {
            seed,
            hash,
            bytes: 0,
            beginning: None,
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        let left = BEGINNING.saturating_sub(self.bytes);
        let (first, rest) = bytes.split_at(bytes.len().min(left as usize));
        self.hash.update(first);
        self.bytes += bytes.len() as u64;
        if self.bytes >= BEGINNING && self.beginning.is_none() {
            self.beginning = Some(self.hash.digest());
        }
        self.hash.update(rest);
    }

    fn progress(&self, output: &Output, is_finished: bool) -> Option<Progress> {
        let output = output.extent()?;
        Some(Progress {
            is_finished,
            seed: self.seed,
            input_bytes: self.bytes,
            beginning_hash: self.beginning.unwrap_or_else(|| self.hash.digest()),
            input_hash: self.hash.digest(),
            output_start: output.start,
            output_end: output.end,
            output_hash: output.hash,
        })
    }

    /// Leaves out the lines that a run has done, if these are the ones.
    fn find(
        &mut self,
        progress: &Progress,
        blocks: &mut Blocks,
        line_end: Option<u8>,
    ) -> Result<Found> {
        let beginning = progress.input_bytes.min(BEGINNING) as usize;
        while blocks.ahead().len() < beginning {
            if !blocks.look_ahead()? {
                return Ok(Found::AnotherBeginning);
            }
        }
        if progress.input_bytes > BEGINNING {
            let mut begun = self.clone();
            begun.update(&blocks.ahead()[..beginning]);
            if begun.beginning != Some(progress.beginning_hash) {
                return Ok(Found::AnotherBeginning);
            }
        }
        let another = match progress.input_bytes > BEGINNING {
            true => Found::AnotherEnd,
            false => Found::AnotherBeginning,
        };
        loop {
            let ahead = blocks.ahead();
            let left = progress.input_bytes - self.bytes;
            if ahead.len() as u64 >= left {
                let Some(done) = self.done(&ahead[..left as usize], progress, line_end) else {
                    return Ok(another);
                };
                self.update(&ahead[..done]);
                blocks.leave_out(done);
                return Ok(Found::Same);
            }
            self.update(ahead);
            blocks.leave_out(ahead.len());
            if !blocks.look_ahead()? {
                return Ok(another);
            }
        }
    }

    /// Returns how many of the last bytes that a run read are done, if these are the same.
    ///
    /// All of them, unless its last line had no end and has grown since: that is another line now.
    fn done(&self, last: &[u8], progress: &Progress, line_end: Option<u8>) -> Option<usize> {
        if progress.input_bytes == 0 {
            return Some(0);
        }
        let is_same = |pieces: [&[u8]; 2]| {
            let mut whole = self.clone();
            for piece in pieces {
                whole.update(piece);
            }
            whole.hash.digest() == progress.input_hash
        };
        if is_same([last, &[]]) {
            return Some(last.len());
        }
        let ((_, line), terminator) = (last.split_last()?, line_end?);
        let line_start = memchr::memrchr(terminator, line).map_or(0, |at| at + 1);
        is_same([line, &[terminator]]).then_some(line_start)
    }
}
