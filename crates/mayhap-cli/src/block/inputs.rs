//! Reads inputs one after another, whole lines at a time, on one thread.

use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use mayhap_program::input::Input;

use crate::csv::Records;
use crate::keys::KeyArgs;
use crate::lines::{BLOCK_BYTES, LineArgs};
use crate::made::Stop;

use super::ahead::{Ahead, Bytes};
use super::ending::{Ending, Result, Why};
use super::{Block, Part, Prepare};

/// The inputs of a run, read up to somewhere.
pub(crate) struct Inputs {
    /// The inputs still to be read.
    waiting: Arc<Ahead>,
    reading: Option<Reading>,
    /// The inputs that were begun: the name of each, and its records if lines are records.
    pub(super) begun: Vec<(PathBuf, Option<Records>)>,
    /// The bytes read past the last whole line.
    pub(super) rest: Vec<u8>,
    /// Whole lines that were looked at and are still to be given, and the parts of inputs that they come from.
    ahead: Vec<u8>,
    parts: VecDeque<Part>,
    pub(super) args: KeyArgs,
    pub(crate) header: Header,
    /// True when no more lines are wanted after some that were given.
    is_over: bool,
}

/// The first header, and the file that it is in.
pub(crate) type Header = Arc<OnceLock<(Vec<u8>, PathBuf)>>;

struct Reading {
    reader: Bytes,
    is_live: bool,
    /// Why reading ended, after lines that are given first.
    failed: Option<io::Error>,
}

impl Inputs {
    pub(crate) fn new(sources: Vec<Input>, args: &KeyArgs, seen: &Arc<AtomicU64>) -> Inputs {
        Inputs {
            waiting: Arc::new(Ahead::new(sources, seen)),
            reading: None,
            begun: Vec::new(),
            rest: Vec::new(),
            ahead: Vec::new(),
            parts: VecDeque::new(),
            args: args.clone(),
            header: Header::default(),
            is_over: false,
        }
    }

    /// Lets threads besides the one that reads unpack inputs before their turn, if there are any and memory is not limited.
    pub(crate) fn read_ahead(&self, threads: usize) -> Arc<Ahead> {
        if threads > 1 && !self.args.lines.keeps_to_memory() {
            self.waiting.allow();
        }
        Arc::clone(&self.waiting)
    }

    /// Returns whether all was read.
    pub(crate) fn is_done(&self) -> bool {
        let is_read = self.reading.is_none() && self.waiting.is_empty() && self.parts.is_empty();
        self.is_over || is_read
    }

    /// Fills the block with the next lines, which are then to be prepared; false at the end of all inputs.
    pub(crate) fn fill(
        &mut self,
        block: &mut Block,
        prepare: &Prepare,
    ) -> std::result::Result<bool, Ending> {
        while !self.is_over {
            let filled = self.fill_once(block, prepare);
            let input = self.begun.len().saturating_sub(1);
            match filled.map_err(|why| Ending { input, why })? {
                None => return Ok(false),
                Some(false) => {}
                Some(true) => {
                    self.is_over = block.stop.is_some();
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Fills like [`fill`](Inputs::fill); also false for lines that are all to be read again with those after them.
    fn fill_once(&mut self, block: &mut Block, prepare: &Prepare) -> Result<Option<bool>> {
        let part = match self.parts.pop_front() {
            None => self.read(&mut block.buffer)?,
            Some(part) => {
                let later = self.ahead.split_off(part.length);
                block.buffer = std::mem::replace(&mut self.ahead, later);
                Some(part)
            }
        };
        let Some(part) = part else {
            return Ok(None);
        };
        block.begin(part);
        // Where a record ends depends on all that comes before it.
        let Some(records) = self.begun[part.input].1.as_mut() else {
            return Ok(Some(true));
        };
        if let Some(stop) = block.prepare_records(prepare, Some(records)) {
            let rest = &block.buffer[block.bytes().len()..part.length];
            block.stop = match stop {
                Stop::NoKey(no_key) => Some(Why::NoKey(no_key)),
                Stop::Unfinished => self.keep_for_later(&part, rest).err(),
            };
        }
        Ok(Some(!block.ends.is_empty() || block.stop.is_some()))
    }

    /// Reads whole lines of one input to the front of the buffer; nothing at the end of all inputs.
    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<Option<Part>> {
        loop {
            let Some(reading) = &mut self.reading else {
                let Some((source, reader)) = self.waiting.next() else {
                    return Ok(None);
                };
                self.reading = Some(Reading {
                    reader: reader.map_err(Why::Failed)?,
                    is_live: source.is_live(),
                    failed: None,
                });
                let name = source.name().to_owned();
                self.begun.push((name, self.args.records()));
                continue;
            };
            let (length, is_last) = reading.fill(buffer, &mut self.rest, &self.args.lines)?;
            if is_last {
                self.reading = None;
            }
            if length == 0 {
                continue;
            }
            let mut part = Part {
                input: self.begun.len() - 1,
                length,
                header: None,
                is_last,
            };
            if self.read_header(&mut part, &buffer[..length])? {
                return Ok(Some(part));
            }
        }
    }

    /// The lines that were looked at and come next.
    pub(crate) fn ahead(&self) -> &[u8] {
        &self.ahead
    }

    /// Looks at more lines, after those that it has looked at; false at the end of all inputs.
    pub(crate) fn look_ahead(&mut self) -> std::result::Result<bool, Ending> {
        let mut buffer = Vec::new();
        let part = self.read(&mut buffer);
        let input = self.begun.len().saturating_sub(1);
        let Some(part) = part.map_err(|why| Ending { input, why })? else {
            return Ok(false);
        };
        self.ahead.extend_from_slice(&buffer[..part.length]);
        match self.parts.back_mut() {
            // A record may begin in one and end in the next.
            Some(last) if last.input == part.input => {
                last.length += part.length;
                last.is_last = part.is_last;
            }
            _ => self.parts.push_back(part),
        }
        Ok(true)
    }

    /// Leaves out the first of the lines that it has looked at, and calls `count` with the input and number of them.
    pub(crate) fn leave_out(&mut self, bytes: usize, mut count: impl FnMut(usize, u64)) {
        let mut left = bytes;
        while left > 0
            && let Some(part) = self.parts.front_mut()
        {
            let out = left.min(part.length);
            let lines =
                memchr::memchr_iter(self.args.lines.terminator(), &self.ahead[..out]).count();
            self.ahead.drain(..out);
            count(part.input, lines as u64);
            part.header = None;
            part.length -= out;
            if part.length == 0 {
                self.parts.pop_front();
            }
            left -= out;
        }
    }
}

impl Reading {
    /// Fills the buffer with whole lines; how many bytes they are, and whether the input has ended.
    fn fill(
        &mut self,
        buffer: &mut Vec<u8>,
        rest: &mut Vec<u8>,
        lines: &LineArgs,
    ) -> Result<(usize, bool)> {
        if let Some(error) = self.failed.take() {
            return Err(Why::Unread(error));
        }
        let terminator = lines.terminator();
        // The buffer never has room for a line that is too long: when it is full without a line, the line is one.
        let most = lines.longest() + 1;
        let mut used = rest.len();
        buffer.resize(BLOCK_BYTES.max(most.min(used + BLOCK_BYTES / 2)), 0);
        buffer[..used].copy_from_slice(rest);
        rest.clear();
        // Where the last line ends that is whole.
        let mut whole = 0;
        // Of a record that takes many lines, as much again is read: it is looked through from its beginning each time.
        let least = match used > BLOCK_BYTES {
            true => most.min(2 * used),
            false => 0,
        };
        // Past the size of a block no more is read than the rest of one line.
        while whole == 0 || used < BLOCK_BYTES.max(least) {
            if used == buffer.len() {
                if used >= most {
                    return Err(Why::Long);
                }
                let longer = most.min(used + used / 2);
                let more = buffer.try_reserve_exact(longer - used);
                more.map_err(|_| Why::NoMemory)?;
                buffer.resize(longer, 0);
            }
            let end = buffer.len().min(used + BLOCK_BYTES);
            let count = match self.reader.read(&mut buffer[used..end]) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // The lines before it come first. What was read of the next one is not a line.
                Err(error) if whole > 0 => {
                    self.failed = Some(error);
                    return Ok((whole, false));
                }
                Err(error) => return Err(Why::Unread(error)),
            };
            if count == 0 {
                if whole < used {
                    // The last line has no terminator; there is always room for one more byte.
                    buffer.truncate(used);
                    buffer.push(terminator);
                    whole = used + 1;
                }
                return Ok((whole, true));
            }
            if let Some(at) = memchr::memrchr(terminator, &buffer[used..used + count]) {
                whole = used + at + 1;
            }
            used += count;
            // What someone is writing just now is not kept waiting for more.
            if self.is_live && whole > 0 && used >= least {
                break;
            }
        }
        rest.extend_from_slice(&buffer[whole..used]);
        Ok((whole, false))
    }
}
