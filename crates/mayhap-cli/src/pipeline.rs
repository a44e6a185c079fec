//! Reads and hashes on one core what is looked up and written on another.
//!
//! Blocks come in order, whatever the number of threads: so does the output.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::block::{Block, Blocks};
use crate::cli::Global;
use crate::failure::{Failure, Result};

/// The blocks that are on their way at a time.
const BLOCKS: usize = 4;

/// How long a sink waits that has something to do besides.
const PATIENCE: Duration = Duration::from_millis(100);

/// What is done with the lines.
pub(crate) trait Sink {
    /// Takes the next block.
    fn take(&mut self, block: &Block) -> Result<()>;

    /// Called when the next block is not there yet, and someone may wait for what came of the last.
    fn idle(&mut self) -> Result<()> {
        Ok(())
    }

    /// Whether it has something to do while no lines come: then [`idle`](Sink::idle) is called ten times a second.
    fn is_watchful(&self) -> bool {
        false
    }
}

/// Gives the lines of all inputs to the sink, block by block. When an input fails, what came of the lines before is
/// written first.
pub(crate) fn run(blocks: Blocks, global: &Global, sink: &mut impl Sink) -> Result<()> {
    match run_first(blocks, global, sink)? {
        None => Ok(()),
        Some(failure) => {
            sink.idle()?;
            Err(failure)
        }
    }
}

/// As [`run`], for the first of two passes: why the input ended early, if it did, is for the second to tell.
pub(crate) fn run_first(
    mut blocks: Blocks,
    global: &Global,
    sink: &mut impl Sink,
) -> Result<Option<Failure>> {
    let is_live = blocks.is_live();
    let progress = Progress::new(blocks.size(), blocks.seen(), global);
    // A thread that waits for someone to write more can do nothing else.
    let is_apart = global.threads() > 1 || is_live && sink.is_watchful();
    if !is_apart {
        let mut block = Block::default();
        loop {
            match blocks.next(&mut block) {
                Ok(true) => sink.take(&block)?,
                Ok(false) => return Ok(None),
                Err(failure) => return Ok(Some(failure)),
            }
            progress.show();
            if is_live {
                sink.idle()?;
            }
            block = block.emptied();
        }
    }
    let (full, blocks_in) = sync_channel(BLOCKS);
    let (empty, blocks_back) = sync_channel(BLOCKS);
    for _ in 0..BLOCKS {
        empty.send(Block::default()).expect("there is room");
    }
    // Never joined: when the sink fails, the reader may be waiting for input that never comes.
    thread::spawn(move || read(blocks, &full, &blocks_back));
    loop {
        let block = match receive(&blocks_in, is_live, sink)? {
            Ok(Some(block)) => block,
            Ok(None) => return Ok(None),
            Err(failure) => return Ok(Some(failure)),
        };
        sink.take(&block)?;
        progress.show();
        // The reader may have ended.
        let _ = empty.send(block);
    }
}

/// Reads blocks until the input ends, fails, or nobody takes them.
fn read(mut blocks: Blocks, full: &SyncSender<Result<Option<Block>>>, empty: &Receiver<Block>) {
    let mut spare = Vec::new();
    while let Some(mut block) = spare.pop().or_else(|| empty.recv().ok()) {
        let message = match blocks.next(&mut block) {
            Ok(true) => Ok(Some(block)),
            Ok(false) => Ok(None),
            Err(failure) => Err(failure),
        };
        let is_large = matches!(&message, Ok(Some(block)) if block.is_large());
        if full.send(message).is_err() {
            return;
        }
        // One long line at a time: the next is read when all blocks are back.
        while is_large && spare.len() < BLOCKS {
            match empty.recv() {
                Ok(block) => spare.push(block.emptied()),
                Err(_) => return,
            }
        }
    }
}

/// The next block, or `None` at the end.
fn receive(
    blocks: &Receiver<Result<Option<Block>>>,
    is_live: bool,
    sink: &mut impl Sink,
) -> Result<Result<Option<Block>>> {
    let [now, ever] = [Duration::ZERO, Duration::MAX];
    let mut wait = if is_live { now } else { ever };
    loop {
        match blocks.recv_timeout(wait) {
            Ok(block) => return Ok(block),
            Err(RecvTimeoutError::Disconnected) => return Ok(Err(gone())),
            Err(RecvTimeoutError::Timeout) => sink.idle()?,
        }
        wait = if sink.is_watchful() { PATIENCE } else { ever };
    }
}

/// The reader ended without a word: what it did not read must not count as read.
fn gone() -> Failure {
    Failure::new("the input was not read to its end: the thread that reads it has ended")
}

/// Whether results go to a terminal.
static RESULTS_ON_TERMINAL: AtomicBool = AtomicBool::new(false);

/// From now on shows no progress: results go to a terminal, and would be written into the bar.
pub(crate) fn results_on_terminal() {
    RESULTS_ON_TERMINAL.store(true, Ordering::Relaxed);
}

/// A bar on standard error, where that is a terminal and standard output has no results for one.
pub(crate) struct Progress {
    bar: ProgressBar,
    seen: Arc<AtomicU64>,
}

impl Progress {
    fn new(total: Option<u64>, seen: Arc<AtomicU64>, global: &Global) -> Progress {
        let bar = match total {
            Some(total) => ProgressBar::new(total),
            None => ProgressBar::no_length(),
        };
        // Indicatif shows nothing where standard error is no terminal.
        let is_hidden = global.quiet || RESULTS_ON_TERMINAL.load(Ordering::Relaxed);
        bar.set_draw_target(match is_hidden {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr_with_hz(8),
        });
        let template = match total {
            Some(_) => "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            None => "{spinner} {bytes}, {bytes_per_sec}, {elapsed}",
        };
        bar.set_style(ProgressStyle::with_template(template).expect("a valid template"));
        Progress { bar, seen }
    }

    fn show(&self) {
        if !self.bar.is_hidden() {
            self.bar.set_position(self.seen.load(Ordering::Relaxed));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Global {
    /// The number of threads asked for, or that the machine has.
    pub(crate) fn threads(&self) -> usize {
        match self.threads {
            Some(threads) => threads.get(),
            None => thread::available_parallelism().map_or(1, usize::from),
        }
    }
}
