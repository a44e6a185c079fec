//! The commands of one batch, and its answers: pure, so that they are the same however they are sent.

use std::collections::HashMap;

use redis::Value;

use crate::address::Durable;
use crate::answer::{Heard, note};
use crate::frame::{Fate, Frame, Replies, Ticket};
use crate::home::Home;
use crate::settings::{Generation, Settings};
use crate::sharding::KeyBits;
use crate::slots::ServerKey;
use crate::value;
use crate::{Answer, Result};

/// The most keys of a frame, and the most bits: they keep a server busy for some milliseconds, and
/// no client waits longer for another's frame.
const MOST_KEYS: usize = 1024;
const MOST_BITS: usize = 1 << 14;

/// The most keys of a frame that carries the keys themselves, and the most bytes of them.
const MOST_SENT_KEYS: usize = 4096;
const MOST_SENT_BYTES: usize = 1 << 20;

/// The part of a batch that fits a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameSize {
    keys: usize,
    bytes: usize,
}

impl FrameSize {
    /// Frames with a command for each key, which has this many hashes.
    pub(crate) fn of_bits(hashes: u32) -> FrameSize {
        FrameSize {
            keys: (MOST_BITS / hashes as usize).clamp(1, MOST_KEYS),
            bytes: usize::MAX,
        }
    }

    /// Frames with this many commands for each key.
    pub(crate) fn shared_by(self, commands: usize) -> FrameSize {
        FrameSize {
            keys: (self.keys / commands).max(1),
            ..self
        }
    }

    /// Frames whose one command has the keys themselves.
    pub(crate) fn of_keys() -> FrameSize {
        FrameSize {
            keys: MOST_SENT_KEYS,
            bytes: MOST_SENT_BYTES,
        }
    }

    /// Returns how many of these keys go into the next frame: at least one.
    pub(crate) fn count(self, keys: &[&[u8]]) -> usize {
        let mut bytes = 0_usize;
        let fits = |key: &&&[u8]| {
            bytes = bytes.saturating_add(key.len());
            bytes <= self.bytes
        };
        let fitting = keys.iter().take(self.keys).take_while(fits).count();
        fitting.max(keys.len().min(1))
    }
}

/// The commands about the keys of a batch.
enum Asked {
    /// One command for each key, about its bits.
    Bits(Vec<(KeyBits, Ticket)>),
    /// One command with all keys, for the module.
    Keys(Ticket),
}

/// The shards of a generation that occur in a batch.
pub(crate) struct Shards<'a> {
    name: &'a str,
    settings: &'a Settings,
    pub(crate) generation: &'a Generation,
    met: HashMap<u32, ServerKey>,
}

impl<'a> Shards<'a> {
    pub(crate) fn new(name: &'a str, settings: &'a Settings, generation: &'a Generation) -> Self {
        Shards {
            name,
            settings,
            generation,
            met: HashMap::new(),
        }
    }

    /// Returns the key of a shard; calls `first` the first time.
    fn meet(&mut self, shard: u32, first: impl FnOnce(&ServerKey)) -> &ServerKey {
        self.met.entry(shard).or_insert_with(|| {
            let key = self.settings.shard(self.name, self.generation, shard);
            first(&key);
            key
        })
    }

    /// Returns the command that asks for the length of a shard, and the length it must have.
    fn measure(&self, shard: u32) -> (redis::Cmd, u64) {
        let key = &self.met[&shard].key;
        let mut command = redis::cmd("STRLEN");
        command.arg(key);
        (command, self.generation.shard_bytes(shard))
    }
}

/// The shards that must have their full length.
struct Lengths(Vec<(Ticket, u64)>);

impl Lengths {
    fn hold(&self, replies: &mut Replies) -> bool {
        self.0.iter().all(|(ticket, bytes)| {
            let length = replies.take(*ticket);
            length == Value::Int(*bytes as i64)
        })
    }
}

/// Questions about keys, for one frame.
pub(crate) struct Questions {
    asked: Asked,
    lengths: Lengths,
}

impl Questions {
    pub(crate) fn new(frame: &mut Frame, mut shards: Shards<'_>, keys: &[&[u8]]) -> Questions {
        if shards.generation.home == Home::Module {
            let key = shards.meet(0, |_| ());
            let ticket = frame.plain(key, value::about("MAYHAP.CONTAINS", key, keys));
            return Questions {
                asked: Asked::Keys(ticket),
                lengths: Lengths(Vec::new()),
            };
        }
        let layout = &shards.generation.layout;
        let places = keys
            .iter()
            .map(|key| {
                let place = layout.place(key);
                let shard = shards.meet(place.shard, |_| ());
                let ticket = frame.plain(shard, place.test(&shard.key));
                (place, ticket)
            })
            .collect();
        // Asked last: a string that is whole now was whole when it was read, because its name is never used
        // again.
        let mut lengths = Vec::new();
        for (&shard, key) in &shards.met {
            let (command, bytes) = shards.measure(shard);
            lengths.push((frame.plain(key, command), bytes));
        }
        Questions {
            asked: Asked::Bits(places),
            lengths: Lengths(lengths),
        }
    }

    /// Returns an answer for each of this many keys; `None` when bits are missing.
    pub(crate) fn answers(self, replies: &mut Replies, count: usize) -> Option<Vec<bool>> {
        if !self.lengths.hold(replies) {
            return None;
        }
        let test = |(place, ticket): (KeyBits, Ticket)| place.tested(&replies.take(ticket));
        match self.asked {
            Asked::Bits(places) => places.into_iter().map(test).collect(),
            Asked::Keys(ticket) => value::answers(&replies.take(ticket), count),
        }
    }
}

/// The insertion of keys, for one frame.
///
/// A shard's commands are one transaction: its length, then the bits of each key, then its expiry. If
/// the shard is gone, the transaction leaves a shorter string, which never becomes a shard. If it is
/// gone because it expired, the last command deletes that string before anyone else sees it.
///
/// A value of the module is one command, then its expiry, also as a transaction.
pub(crate) struct Insertion {
    asked: Asked,
    lengths: Lengths,
    /// The answers with the number of replicas that have the bits, if that was asked for.
    copies: Vec<Ticket>,
}

impl Insertion {
    pub(crate) fn new(
        frame: &mut Frame,
        mut shards: Shards<'_>,
        keys: &[&[u8]],
        expires: Option<u64>,
        durable: Option<Durable>,
    ) -> Insertion {
        let generation = shards.generation;
        let mut lengths = Vec::new();
        let asked = match generation.home {
            Home::Strings => {
                let set = |key: &&[u8]| set_bits(frame, &mut shards, key, &mut lengths);
                Asked::Bits(keys.iter().map(set).collect())
            }
            Home::Module => {
                let key = shards.meet(0, |_| ());
                Asked::Keys(frame.atomic(key, value::about("MAYHAP.ADD", key, keys)))
            }
        };
        if let Some(expires) = expires {
            for shard in shards.met.values() {
                let mut command = redis::cmd("PEXPIREAT");
                command.arg(&shard.key).arg(expires);
                frame.atomic(shard, command);
            }
        }
        let mut copies = Vec::new();
        if let Some(Durable { replicas, time }) = durable {
            for shard in shards.met.values() {
                let mut command = redis::cmd("WAIT");
                command.arg(replicas).arg(time.as_millis() as u64);
                copies.push(frame.plain(shard, command));
            }
        }
        Insertion {
            asked,
            lengths: Lengths(lengths),
            copies,
        }
    }

    /// Returns how many replicas have all of the bits, at least.
    pub(crate) fn reached(&self, replies: &mut Replies) -> u32 {
        let copies = self.copies.iter().map(|ticket| replies.take(*ticket));
        let copies = copies.map(|answer| match answer {
            Value::Int(copies) => u32::try_from(copies).unwrap_or(0),
            _ => 0,
        });
        copies.min().unwrap_or(u32::MAX)
    }

    /// Records the fate of the keys; false when bits are missing. A shard that is not whole has none
    /// of them: what the transaction wrote there never counts as a filter.
    pub(crate) fn note(
        self,
        keys: &[&[u8]],
        replies: &mut Replies,
        answers: &mut [Answer],
    ) -> Result<bool> {
        let mut whole = true;
        let mut gone = Vec::new();
        for (ticket, bytes) in self.lengths.0 {
            let length = replies.take(ticket);
            let answered = matches!(replies.fate(ticket), Fate::Answered | Fate::Repeated);
            if answered && length != Value::Int(bytes as i64) {
                gone.push(ticket.unit);
                whole = false;
            }
        }
        let hear = |replies: &Replies, ticket: Ticket, changed: Option<bool>| Heard {
            unit: ticket.unit,
            fate: match gone.contains(&ticket.unit) {
                true => Fate::Unsent,
                false => replies.fate(ticket),
            },
            changed,
            elsewhere: false,
        };
        let heard: Vec<Heard> = match self.asked {
            Asked::Bits(places) => {
                let changed = |(place, ticket): (KeyBits, Ticket)| {
                    let answer = replies.take(ticket);
                    hear(replies, ticket, place.was_new(&answer))
                };
                places.into_iter().map(changed).collect()
            }
            Asked::Keys(ticket) => {
                let answer = replies.take(ticket);
                let added = value::answers(&answer, keys.len());
                let changed = |index: usize| added.as_ref().map(|added| added[index]);
                let heard = (0..keys.len()).map(|index| hear(replies, ticket, changed(index)));
                heard.collect()
            }
        };
        note(keys, &heard, answers)?;
        Ok(whole)
    }
}

/// Sets the bits of a key; asks for the length of its shard first, the first time.
fn set_bits(
    frame: &mut Frame,
    shards: &mut Shards<'_>,
    key: &[u8],
    lengths: &mut Vec<(Ticket, u64)>,
) -> (KeyBits, Ticket) {
    let generation = shards.generation;
    let place = generation.layout.place(key);
    let shard = shards.meet(place.shard, |shard| {
        let mut command = redis::cmd("STRLEN");
        command.arg(&shard.key);
        let bytes = generation.shard_bytes(place.shard);
        lengths.push((frame.atomic(shard, command), bytes));
    });
    let ticket = frame.atomic(shard, place.set(&shard.key));
    (place, ticket)
}
