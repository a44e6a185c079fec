//! The blocks in progress, and the task that each of them needs next.

use std::collections::VecDeque;
use std::sync::Arc;

use mayhap_program::failure::{Failure, Result};

use crate::block::Block;
use crate::block::ahead::{Ahead, Step};
use crate::block::ending::Ending;
use crate::block::inputs::Inputs;

/// The blocks that a shard answers about before others have their turn.
const BLOCKS_OF_A_TURN: u64 = 4;

/// The state of a run.
pub(super) struct State<S> {
    /// Taken while a thread reads, and when all is read.
    pub(super) inputs: Option<Box<Inputs>>,
    /// The blocks in flight, in order, and the most of them.
    pub(super) slots: VecDeque<Slot>,
    most: usize,
    /// The number of the first of them: how many the sink has taken.
    pub(super) first: u64,
    /// The number of the last one that counts, if something is wrong with a line of it: shards go no further.
    pub(super) last: u64,
    pub(super) seats: Vec<Seat<S>>,
    ahead: Arc<Ahead>,
    /// Blocks to be filled again.
    pub(super) spare: Vec<Block>,
    /// True while there is a block with a long line: no other is read before it is gone.
    pub(super) is_large: bool,
    /// The threads that were started, and those that wait.
    pub(super) started: usize,
    pub(super) waiting: usize,
    pub(super) caller_waits: bool,
    /// True when the caller has left.
    pub(super) is_over: bool,
    /// True when a thread has ended that should not have.
    pub(super) is_broken: bool,
}

/// The stage of a block.
pub(super) enum Slot {
    Reading,
    Preparing,
    Ready(Ready),
    /// The end of all blocks, and what is wrong if something is.
    End(Option<Ending>),
}

/// A block that is prepared, and the answers so far.
pub(super) struct Ready {
    pub(super) block: Arc<Block>,
    pub(super) answers: Vec<Vec<u64>>,
    /// The shards that have not answered.
    pub(super) missing: usize,
    pub(super) failed: Option<Failure>,
}

impl Ready {
    /// The block with all answers.
    pub(super) fn finish(self) -> Result<Block> {
        self.failed.map_or(Ok(()), Err)?;
        let block = Arc::into_inner(self.block);
        let mut block = block.expect("a thread lets go of it before it answers");
        block.take_answers(self.answers);
        Ok(block)
    }
}

/// A shard, unless it is answering, and the number of the next block for it.
pub(super) struct Seat<S> {
    pub(super) shard: Option<S>,
    next: u64,
}

/// The work that a thread can do next.
pub(super) enum Task<S> {
    Read {
        inputs: Box<Inputs>,
        block: Box<Block>,
        number: u64,
    },
    Answer {
        seat: usize,
        shard: S,
        /// Blocks, each with memory for the answers.
        blocks: Vec<(Arc<Block>, Vec<u64>)>,
        number: u64,
    },
    Unpack(Step),
}

impl<S> State<S> {
    pub(super) fn new(
        inputs: Inputs,
        shards: &mut Vec<S>,
        most: usize,
        ahead: &Arc<Ahead>,
    ) -> State<S> {
        let seat = |shard| Seat {
            shard: Some(shard),
            next: 0,
        };
        State {
            inputs: Some(Box::new(inputs)),
            slots: VecDeque::new(),
            most,
            first: 0,
            last: u64::MAX,
            seats: shards.drain(..).map(seat).collect(),
            ahead: Arc::clone(ahead),
            spare: Vec::new(),
            is_large: false,
            started: 0,
            waiting: 0,
            caller_waits: false,
            is_over: false,
            is_broken: false,
        }
    }

    pub(super) fn slot(&mut self, number: u64) -> &mut Slot {
        &mut self.slots[(number - self.first) as usize]
    }

    /// Returns whether the sink can take the first block.
    pub(super) fn is_complete(&self) -> bool {
        match self.slots.front() {
            Some(Slot::Ready(ready)) => ready.missing == 0,
            Some(Slot::End(_)) => true,
            _ => false,
        }
    }

    /// The first block, if the sink can take it.
    pub(super) fn pop_complete(&mut self) -> Option<Slot> {
        if !self.is_complete() {
            return None;
        }
        self.first += 1;
        self.slots.pop_front()
    }

    /// Returns whether no block is in progress, except one that is being read.
    pub(super) fn awaits_input(&self) -> bool {
        self.slots.len() <= 1 && self.slots.iter().all(|slot| matches!(slot, Slot::Reading))
    }

    pub(super) fn can_read(&self) -> bool {
        let has_room = self.slots.len() < self.most && !self.is_large;
        self.inputs.is_some() && has_room && self.last == u64::MAX
    }

    /// The shards that can answer about a block.
    pub(super) fn able_seats(&self) -> impl Iterator<Item = usize> {
        let is_able = |seat: &Seat<S>| {
            // The end is taken before any shard reaches it.
            let place = seat.next.checked_sub(self.first);
            let slot = place.and_then(|place| self.slots.get(place as usize));
            let is_free = seat.shard.is_some() && seat.next <= self.last;
            is_free && matches!(slot, Some(Slot::Ready(_)))
        };
        (0..self.seats.len()).filter(move |seat| is_able(&self.seats[*seat]))
    }

    /// The number of tasks, with or without reading.
    pub(super) fn tasks(&self, reads: bool) -> usize {
        let tasks = self.able_seats().count() + usize::from(reads && self.can_read());
        tasks + self.ahead.tasks()
    }

    /// Hands back the shards: all are there when the sink has taken the last block that counts.
    pub(super) fn shards(&mut self) -> impl Iterator<Item = S> {
        self.seats.drain(..).filter_map(|seat| seat.shard)
    }

    /// Begins the most urgent task: those that free blocks come first.
    pub(super) fn begin(&mut self, reads: bool) -> Option<Task<S>> {
        if let Some(seat) = self.able_seats().min_by_key(|seat| self.seats[*seat].next) {
            let number = self.seats[seat].next;
            let most = (self.last - number).saturating_add(1).min(BLOCKS_OF_A_TURN);
            let slots = self.slots.iter_mut().skip((number - self.first) as usize);
            let ready = slots.take(most as usize).map_while(|slot| match slot {
                Slot::Ready(ready) => Some(ready),
                _ => None,
            });
            let take = |ready: &mut Ready| {
                let answers = std::mem::take(&mut ready.answers[seat]);
                (Arc::clone(&ready.block), answers)
            };
            let blocks: Vec<_> = ready.map(take).collect();
            self.seats[seat].next += blocks.len() as u64;
            let shard = self.seats[seat].shard.take()?;
            return Some(Task::Answer {
                seat,
                shard,
                blocks,
                number,
            });
        }
        if !reads || !self.can_read() {
            return self.ahead.begin().map(Task::Unpack);
        }
        self.slots.push_back(Slot::Reading);
        Some(Task::Read {
            inputs: self.inputs.take()?,
            block: Box::new(self.spare.pop().unwrap_or_default()),
            number: self.first + self.slots.len() as u64 - 1,
        })
    }
}
