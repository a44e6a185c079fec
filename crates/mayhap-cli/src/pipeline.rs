//! Brings the lines of all inputs to a sink, in order, on all threads.
//!
//! A block of lines is read, prepared (its keys are found and hashed), answered by the shards, and taken by the sink:
//!
//! 1. One thread at a time reads: inputs have one order.
//! 2. Blocks are prepared side by side.
//! 3. Every key belongs to one shard, by its hash. A shard answers about its keys block after block, in the order of the
//!    input, so the first of two equal lines is the first for it too; different shards answer side by side.
//! 4. The sink takes the blocks in order, on the thread that called.
//! 5. Idle threads unpack inputs whose turn has not come, as far as the memory for it goes.
//!
//! No thread is bound to a step: each does what can be done next, the caller too. So two are as busy as sixteen, and one
//! thread takes the same path. Threads are started when there is work for them.

mod tasks;

use std::convert::Infallible;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use mayhap_program::failure::{Failure, Result};

use crate::block::ahead::Ahead;
use crate::block::ending::Ending;
use crate::block::inputs::Inputs;
use crate::block::{Block, Prepare, Share};
use crate::blocks::Blocks;
use crate::progress::Progress;

use tasks::{Ready, Slot, State, Task};

/// The blocks in flight at a time, besides one for every two threads.
const SPARE_BLOCKS: usize = 4;

/// The most shards: with eight, 20 million lookups take less time than reading their lines.
const MOST_SHARDS: usize = 8;

/// The time between two calls of [`Sink::idle`] for a watchful sink.
const PATIENCE: Duration = Duration::from_millis(100);

/// Takes the lines, block by block.
pub(crate) trait Sink {
    /// Takes the next block.
    fn take(&mut self, block: &Block) -> Result<()>;

    /// Called when the next block is not there yet, and someone may be waiting for the result of the last.
    fn idle(&mut self) -> Result<()> {
        Ok(())
    }

    /// Returns whether it has work while no lines come: then [`idle`](Sink::idle) is called ten times a second.
    fn is_watchful(&self) -> bool {
        false
    }
}

/// Answers about the keys whose hashes begin in one way, before the sink takes their block.
pub(crate) trait Shard: Send + 'static {
    /// Appends an answer for each of these keys, in order.
    fn answer(&mut self, keys: Share<'_>, answers: &mut Vec<u64>) -> Result<()>;
}

/// No shard.
impl Shard for Infallible {
    fn answer(&mut self, _: Share<'_>, _: &mut Vec<u64>) -> Result<()> {
        match *self {}
    }
}

/// Gives the lines of all inputs to the sink, block by block. When an input fails, the result of the lines before is
/// written first.
pub(crate) fn run(blocks: Blocks, threads: usize, sink: &mut impl Sink) -> Result<()> {
    run_sharded(blocks, threads, &mut Vec::<Infallible>::new(), sink)
}

/// Runs like [`run`], with the answers of shards in every block.
pub(crate) fn run_sharded(
    blocks: Blocks,
    threads: usize,
    shards: &mut Vec<impl Shard>,
    sink: &mut impl Sink,
) -> Result<()> {
    match run_first(blocks, threads, shards, sink)? {
        None => Ok(()),
        Some(failure) => {
            sink.idle()?;
            Err(failure)
        }
    }
}

/// Runs like [`run_sharded`], for the first of two passes: returns why the input ended early, which the second reports.
pub(crate) fn run_first<S: Shard>(
    blocks: Blocks,
    threads: usize,
    shards: &mut Vec<S>,
    sink: &mut impl Sink,
) -> Result<Option<Failure>> {
    let progress = Progress::new(blocks.size(), blocks.seen());
    let is_live = blocks.is_live();
    // A thread that waits for someone to write more can do nothing else.
    let is_read_apart = is_live && (threads > 1 || sink.is_watchful());
    let (inputs, prepare, mut ledger) = blocks.apart(shards.len());
    let ahead = inputs.read_ahead(threads);
    let pool = Arc::new(Pool {
        state: Mutex::new(State::new(
            inputs,
            shards,
            threads / 2 + SPARE_BLOCKS,
            &ahead,
        )),
        work: Condvar::new(),
        done: Condvar::new(),
        prepare,
        ahead,
        threads: (threads - 1).max(usize::from(is_read_apart)),
        is_live,
        is_read_apart,
    });
    let _over = Over(&pool);
    if is_read_apart {
        pool.start(&mut pool.lock())?;
    }
    loop {
        let mut block = match pool.next(sink)? {
            Next::Block(block) => block,
            Next::End(ending) => {
                let failure = ending.map(|ending| ledger.failure(ending));
                if failure.is_none() {
                    ledger.end();
                }
                shards.extend(pool.lock().shards());
                return Ok(failure);
            }
            Next::Nothing => return Ok(Some(gone())),
        };
        let failed = ledger.pass(&mut block);
        if !block.is_empty() {
            sink.take(&block)?;
        }
        progress.show();
        if failed.is_some() {
            shards.extend(pool.lock().shards());
            return Ok(failed);
        }
        pool.give_back(*block);
    }
}

/// The next thing for the sink.
enum Next {
    Block(Box<Block>),
    /// The end of all blocks, and what is wrong if something is.
    End(Option<Ending>),
    /// A thread has ended in the middle of its work.
    Nothing,
}

/// The failure of a run in which a thread ended without a word: what it did not read must not count as read.
fn gone() -> Failure {
    Failure::new("the input was not read to its end: a thread that reads it has ended")
}

/// The state that threads share.
struct Pool<S> {
    state: Mutex<State<S>>,
    /// The conditions for which threads wait, work, and the caller, a block.
    work: Condvar,
    done: Condvar,
    prepare: Prepare,
    ahead: Arc<Ahead>,
    /// The most threads besides the caller.
    threads: usize,
    is_live: bool,
    /// True when the caller never reads.
    is_read_apart: bool,
}

impl<S: Shard> Pool<S> {
    fn lock(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next block with all answers, or the end. Until then the caller works on other tasks.
    fn next(self: &Arc<Self>, sink: &mut impl Sink) -> Result<Next> {
        let mut has_idled = false;
        let mut state = self.lock();
        loop {
            if state.is_broken {
                return Ok(Next::Nothing);
            }
            if let Some(slot) = state.pop_complete() {
                self.call(&mut state, 0);
                drop(state);
                return match slot {
                    Slot::Ready(ready) => ready.finish().map(|block| Next::Block(Box::new(block))),
                    Slot::End(ending) => Ok(Next::End(ending)),
                    Slot::Reading | Slot::Preparing => Ok(Next::Nothing),
                };
            }
            if let Some(task) = state.begin(!self.is_read_apart) {
                self.call(&mut state, 0);
                drop(state);
                if self.is_live && matches!(task, Task::Read { .. }) {
                    sink.idle()?;
                }
                state = self.work_on(task);
                continue;
            }
            if self.is_live && !has_idled && state.awaits_input() {
                drop(state);
                sink.idle()?;
                has_idled = true;
                state = self.lock();
                continue;
            }
            let wait = match self.is_live && sink.is_watchful() {
                true => PATIENCE,
                false => Duration::MAX,
            };
            state.caller_waits = true;
            let waited = self.done.wait_timeout(state, wait);
            let timeout;
            (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state.caller_waits = false;
            if timeout.timed_out() {
                drop(state);
                sink.idle()?;
                state = self.lock();
            }
        }
    }

    /// Takes a block that the sink is done with.
    fn give_back(self: &Arc<Self>, block: Block) {
        let mut state = self.lock();
        if block.is_large() {
            state.is_large = false;
        }
        state.spare.push(block.emptied());
        self.call(&mut state, 0);
    }

    /// Wakes the caller if it can go on, and one thread if there is more to do than the `own` tasks of this thread. That
    /// thread wakes the next.
    fn call(self: &Arc<Self>, state: &mut State<S>, own: usize) {
        let mut left = state.tasks(true).saturating_sub(own);
        let for_caller = state.tasks(!self.is_read_apart).saturating_sub(own);
        if state.caller_waits && (state.is_complete() || for_caller > 0) {
            state.caller_waits = false;
            self.done.notify_one();
            left = left.saturating_sub(usize::from(!state.is_complete()));
        }
        if left == 0 {
            return;
        }
        if state.waiting > 0 {
            self.work.notify_one();
        } else if state.started < self.threads {
            // Those that there are do the work where the system has no more.
            let _ = self.start(state);
        }
    }

    /// Starts a thread. It is never joined: when the sink fails, the thread may be waiting for input that never comes.
    fn start(self: &Arc<Self>, state: &mut State<S>) -> Result<()> {
        let pool = Arc::clone(self);
        let started = thread::Builder::new().spawn(move || pool.serve());
        let failed = |error| Failure::new(format!("cannot start a thread: {error}"));
        started.map_err(failed)?;
        state.started += 1;
        Ok(())
    }

    /// Works on tasks until the caller has left.
    fn serve(self: Arc<Self>) {
        let _broken = Broken(&self);
        let mut state = self.lock();
        while !state.is_over {
            match state.begin(true) {
                Some(task) => {
                    self.call(&mut state, 0);
                    drop(state);
                    state = self.work_on(task);
                }
                None => {
                    state.waiting += 1;
                    state = self
                        .work
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                    state.waiting -= 1;
                }
            }
        }
    }

    fn work_on(self: &Arc<Self>, task: Task<S>) -> MutexGuard<'_, State<S>> {
        match task {
            Task::Read {
                inputs,
                block,
                number,
            } => self.read(inputs, block, number),
            Task::Answer {
                seat,
                shard,
                blocks,
                number,
            } => self.answer(seat, shard, blocks, number),
            Task::Unpack(step) => {
                self.ahead.work_on(step);
                let mut state = self.lock();
                self.call(&mut state, 1);
                state
            }
        }
    }

    /// Reads a block, lets the next be read, and prepares it.
    fn read(
        self: &Arc<Self>,
        mut inputs: Box<Inputs>,
        mut block: Box<Block>,
        number: u64,
    ) -> MutexGuard<'_, State<S>> {
        let filled = inputs.fill(&mut block, &self.prepare);
        let mut state = self.lock();
        let end = match filled {
            Ok(true) => None,
            Ok(false) => Some(None),
            Err(ending) => Some(Some(ending)),
        };
        if let Some(end) = end {
            *state.slot(number) = Slot::End(end);
            self.call(&mut state, 1);
            return state;
        }
        *state.slot(number) = Slot::Preparing;
        state.is_large = block.is_large();
        match inputs.is_done() {
            true => state.slots.push_back(Slot::End(None)),
            false => state.inputs = Some(inputs),
        }
        self.call(&mut state, 0);
        drop(state);

        block.prepare(&self.prepare);
        let mut state = self.lock();
        let shards = state.seats.len();
        if block.is_last() {
            state.last = state.last.min(number);
        }
        *state.slot(number) = Slot::Ready(Ready {
            answers: block.lend_answers(shards),
            block: Arc::new(*block),
            missing: shards,
            failed: None,
        });
        self.call(&mut state, 1);
        state
    }

    /// Lets a shard answer about its keys of some blocks.
    fn answer(
        self: &Arc<Self>,
        seat: usize,
        mut shard: S,
        blocks: Vec<(Arc<Block>, Vec<u64>)>,
        number: u64,
    ) -> MutexGuard<'_, State<S>> {
        let mut left = blocks.len();
        for (number, (block, mut answers)) in (number..).zip(blocks) {
            let keys = block.of_shard(seat);
            answers.reserve(keys.count());
            let outcome = shard.answer(keys, &mut answers);
            drop(block);
            let mut state = self.lock();
            if let Slot::Ready(ready) = state.slot(number) {
                ready.answers[seat] = answers;
                ready.missing -= 1;
                ready.failed = ready.failed.take().or(outcome.err());
            }
            left -= 1;
            if left == 0 {
                state.seats[seat].shard = Some(shard);
                self.call(&mut state, 1);
                return state;
            }
            self.call(&mut state, 0);
        }
        self.lock()
    }
}

/// Lets the threads end when the caller leaves.
struct Over<'a, S: Shard>(&'a Pool<S>);

impl<S: Shard> Drop for Over<'_, S> {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.work.notify_all();
    }
}

/// Tells the caller when a thread ends in the middle of its work.
struct Broken<'a, S: Shard>(&'a Pool<S>);

impl<S: Shard> Drop for Broken<'_, S> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().is_broken = true;
            self.0.ahead.abandon();
            self.0.done.notify_one();
        }
    }
}

/// The number of shards to divide lookups among: a power of two, and one for every two threads.
pub(crate) fn shards(threads: usize) -> usize {
    many_shards(threads / 2)
}

/// The number of shards where a lookup takes longer than finding its line: one for every thread.
pub(crate) fn many_shards(threads: usize) -> usize {
    1 << threads.clamp(1, MOST_SHARDS).ilog2()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::block::LineHash;
    use crate::keys::KeyArgs;
    use mayhap_program::input::Input;

    const LINES: u64 = 400_000;

    /// A dozen blocks of lines.
    fn blocks(folder: &tempfile::TempDir) -> Blocks {
        let path = folder.path().join("lines");
        let lines: String = (0..LINES).map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, lines).expect("room");
        let sources = Input::open_all(&[path]).expect("it is there");
        let hash = LineHash::fresh().expect("a random source");
        Blocks::new(sources, &KeyArgs::default(), Some(hash))
    }

    /// Notes how many lines it was given, and that each has its own answer.
    #[derive(Default)]
    struct Noted(u64);

    impl Sink for Noted {
        fn take(&mut self, block: &Block) -> Result<()> {
            assert_eq!(block.first_line, self.0);
            assert!(block.answers().iter().copied().eq(block.hashes()));
            self.0 += block.count() as u64;
            Ok(())
        }
    }

    /// Answers with the hash of each key, and does something else before.
    struct Before<F>(F);

    impl<F: FnMut() -> Result<()> + Send + 'static> Shard for Before<F> {
        fn answer(&mut self, keys: Share<'_>, answers: &mut Vec<u64>) -> Result<()> {
            self.0()?;
            answers.extend(keys.hashes());
            Ok(())
        }
    }

    #[test]
    fn every_line_comes_once_in_order_with_its_own_answer() {
        let folder = tempfile::tempdir().expect("room");
        for (threads, shards) in [(1, 1), (2, 1), (3, 2), (4, 4), (20, 8)] {
            let mut shards: Vec<_> = (0..shards).map(|_| Before(|| Ok(()))).collect();
            let (count, mut noted) = (shards.len(), Noted::default());

            let outcome = run_sharded(blocks(&folder), threads, &mut shards, &mut noted);

            assert!(outcome.is_ok());
            assert_eq!((noted.0, shards.len()), (LINES, count));
        }
    }

    #[test]
    fn a_shard_that_fails_ends_the_run_before_its_block() {
        let folder = tempfile::tempdir().expect("room");
        for threads in [1, 2, 6] {
            let mut calls = 0;
            let fails = move || {
                calls += 1;
                match calls {
                    ..4 => Ok(()),
                    _ => Err(Failure::new("enough")),
                }
            };
            let (mut shards, mut noted) = (vec![Before(fails), Before(fails)], Noted::default());

            let outcome = run_sharded(blocks(&folder), threads, &mut shards, &mut noted);

            assert_eq!(outcome.expect_err("it failed").text(), "enough");
            assert!(noted.0 > 0 && noted.0 < LINES / 2, "{}", noted.0);
        }
    }

    /// Work that a thread left undone must not count as done, and nobody may wait for it.
    #[test]
    fn a_thread_that_panics_ends_the_run() {
        let folder = tempfile::tempdir().expect("room");
        let (caller, is_gone) = (thread::current().id(), Arc::new(AtomicBool::new(false)));
        let panics = || {
            let is_gone = Arc::clone(&is_gone);
            Before(move || {
                if thread::current().id() != caller {
                    is_gone.store(true, Ordering::Release);
                    panic!("as it should, for a test");
                }
                // Only another thread ends this, so there is one that answers.
                while !is_gone.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                Ok(())
            })
        };
        let (mut shards, mut noted) = (vec![panics(), panics()], Noted::default());

        let outcome = run_sharded(blocks(&folder), 3, &mut shards, &mut noted);

        let failure = outcome.expect_err("a thread is missing");
        assert!(failure.text().contains("has ended"), "{}", failure.text());
    }
}
