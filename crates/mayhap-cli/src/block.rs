//! Lines in blocks: read many at a time, and never copied one by one.
//!
//! Every line of a block ends in the terminator: a last line that has none gets one, as awk and uniq do.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mayhap::{Digest, Digester, UniversalHash};

use crate::amounts::{show_bytes, show_count};
use crate::failure::{Failure, Result};
use crate::input::{Reader, Source};
use crate::keys::{KeyArgs, LineArgs};
use crate::shown::shown_path;

/// The bytes of a block, unless a line is longer: a quarter of a level-2 cache, and well above what one
/// system call costs.
pub(crate) const BLOCK_BYTES: usize = 256 << 10;

/// The bytes of memory above which a block is large: it is given back after use, and no other is read before.
const LARGE_BYTES: usize = 4 * BLOCK_BYTES;

/// Some lines, whole.
#[derive(Debug, Default)]
pub(crate) struct Block {
    buffer: Vec<u8>,
    /// Where each line ends, its terminator included.
    ends: Vec<usize>,
    /// The digest of each line's key, when the lines are hashed.
    pub(crate) digests: Vec<Digest>,
    /// The keys that do not stand in the lines as they are, one after another, and where each ends.
    made: Vec<u8>,
    made_ends: Vec<usize>,
    /// Where the block begins in the input, in bytes and in lines.
    pub(crate) first_byte: u64,
    pub(crate) first_line: u64,
}

impl Block {
    /// The number of lines.
    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    /// The lines, each with its terminator.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        pieces(&self.buffer, &self.ends)
    }

    /// The lines as they are printed, and whether each has a key.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&[u8], bool)> {
        self.lines().map(|line| (line, true))
    }

    /// All lines at once.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.ends.last().copied().unwrap_or(0)]
    }

    /// Where in [`bytes`](Block::bytes) each line ends.
    pub(crate) fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Whether it takes much more memory than most, because of a long line.
    pub(crate) fn is_large(&self) -> bool {
        self.buffer.capacity().max(self.made.capacity()) > LARGE_BYTES
    }

    /// A block to be filled again, which takes the memory of this one unless that is much.
    pub(crate) fn emptied(self) -> Block {
        match self.is_large() {
            true => Block::default(),
            false => self,
        }
    }

    /// The keys of the lines.
    pub(crate) fn keys<'a>(&'a self, args: &'a KeyArgs) -> impl Iterator<Item = &'a [u8]> {
        let made = (!args.as_they_stand()).then(|| pieces(&self.made, &self.made_ends));
        let standing = args
            .as_they_stand()
            .then(|| self.lines().map(|line| args.of(line)));
        made.into_iter()
            .flatten()
            .chain(standing.into_iter().flatten())
    }

    /// Finds the lines in the first bytes of the buffer, their keys and their digests.
    fn prepare(&mut self, length: usize, args: &KeyArgs, hash: Option<&LineHash>) -> Result<()> {
        self.ends.clear();
        let found = memchr::memchr_iter(args.terminator(), &self.buffer[..length]);
        self.ends.extend(found.map(|at| at + 1));
        self.made.clear();
        self.made_ends.clear();
        if !args.as_they_stand() {
            for (i, line) in pieces(&self.buffer, &self.ends).enumerate() {
                args.append(line, &mut self.made).map_err(|failure| {
                    failure.hint(format!("line {}", self.first_line + i as u64 + 1))
                })?;
                self.made_ends.push(self.made.len());
            }
        }
        self.digests.clear();
        let mut digests = std::mem::take(&mut self.digests);
        match hash {
            None => {}
            Some(LineHash::Filter(digester)) => {
                digests.extend(self.keys(args).map(|key| digester.digest(key)));
            }
            Some(LineHash::Fresh(hash)) => {
                digests.extend(self.keys(args).map(|key| Digest::from_u64(hash.hash(key))));
            }
        }
        self.digests = digests;
        Ok(())
    }
}

/// How keys are hashed while their lines are read.
#[derive(Debug, Clone)]
pub(crate) enum LineHash {
    /// As the filter hashes that gets the digests.
    Filter(Digester),
    /// By a function drawn for this run, for hashes that stay in memory.
    Fresh(Arc<UniversalHash>),
}

impl LineHash {
    /// Draws a function for this run.
    pub(crate) fn fresh() -> Result<LineHash> {
        Ok(LineHash::Fresh(Arc::new(UniversalHash::random()?)))
    }
}

/// What lies between one end and the next.
pub(crate) fn pieces<'a>(bytes: &'a [u8], ends: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut start = 0;
    ends.iter().map(move |end| {
        let piece = &bytes[start..*end];
        start = *end;
        piece
    })
}

/// Reads inputs, one after another, block by block.
pub(crate) struct Blocks {
    /// The inputs still to be read, the next one last.
    waiting: Vec<Source>,
    reading: Option<Reading>,
    /// What was read past the last whole line.
    rest: Vec<u8>,
    /// Whole lines that were looked at, and are still to be given.
    ahead: Vec<u8>,
    args: KeyArgs,
    hash: Option<LineHash>,
    bytes: u64,
    lines: u64,
    is_live: bool,
    size: Option<u64>,
    /// The bytes read so far as they lie in the files, for whoever shows them.
    seen: Arc<AtomicU64>,
}

struct Reading {
    reader: Reader,
    name: PathBuf,
    is_live: bool,
    /// Why reading ended, after lines that are given first.
    failed: Option<io::Error>,
}

impl Blocks {
    pub(crate) fn new(mut sources: Vec<Source>, args: &KeyArgs, hash: Option<LineHash>) -> Blocks {
        let is_live = sources.iter().any(Source::is_live);
        let size = sources.iter().map(Source::size).sum();
        sources.reverse();
        Blocks {
            waiting: sources,
            reading: None,
            rest: Vec::new(),
            ahead: Vec::new(),
            args: args.clone(),
            hash,
            bytes: 0,
            lines: 0,
            is_live,
            size,
            seen: Arc::default(),
        }
    }

    /// Whether an input gives what there is, and more only when someone writes it.
    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    /// The bytes of all inputs as they lie in the files, when they can be told.
    pub(crate) fn size(&self) -> Option<u64> {
        self.size
    }

    /// Where the number of bytes read so far can be seen.
    pub(crate) fn seen(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.seen)
    }

    /// Fills the block with the next lines; false at the end of all inputs.
    pub(crate) fn next(&mut self, block: &mut Block) -> Result<bool> {
        let length = match self.ahead.is_empty() {
            true => self.read(&mut block.buffer)?,
            false => {
                block.buffer = std::mem::take(&mut self.ahead);
                block.buffer.len()
            }
        };
        if length == 0 {
            return Ok(false);
        }
        block.first_byte = self.bytes;
        block.first_line = self.lines;
        block.prepare(length, &self.args, self.hash.as_ref())?;
        self.bytes += length as u64;
        self.lines += block.count() as u64;
        Ok(true)
    }

    /// Reads whole lines to the front of the buffer; how many bytes they are, 0 at the end of all inputs.
    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<usize> {
        loop {
            let Some(reading) = &mut self.reading else {
                let Some(source) = self.waiting.pop() else {
                    return Ok(0);
                };
                self.reading = Some(Reading {
                    reader: source.reader(&self.seen)?,
                    name: source.name().to_owned(),
                    is_live: source.is_live(),
                    failed: None,
                });
                continue;
            };
            let filled = reading.fill(buffer, &mut self.rest, &self.args.lines);
            let (length, ended) = filled.map_err(|failed| {
                let line = show_count(self.lines + 1);
                failed.failure(&reading.name, &line, self.args.lines.longest())
            })?;
            if ended {
                self.reading = None;
            }
            if length > 0 {
                return Ok(length);
            }
        }
    }

    /// The lines that were looked at and come next.
    pub(crate) fn ahead(&self) -> &[u8] {
        &self.ahead
    }

    /// Looks at more lines, after those that it has looked at; false at the end of all inputs.
    pub(crate) fn look_ahead(&mut self) -> Result<bool> {
        let mut buffer = Vec::new();
        let length = self.read(&mut buffer)?;
        self.ahead.extend_from_slice(&buffer[..length]);
        Ok(length > 0)
    }

    /// Leaves out the first of the lines that it has looked at.
    pub(crate) fn leave_out(&mut self, bytes: usize) {
        let lines = memchr::memchr_iter(self.args.terminator(), &self.ahead[..bytes]).count();
        self.ahead.drain(..bytes);
        self.bytes += bytes as u64;
        self.lines += lines as u64;
    }
}

/// Why no more lines can be read.
enum Unread {
    Failed(io::Error),
    Long,
    NoMemory,
}

impl Unread {
    fn failure(self, input: &Path, line: &str, longest: usize) -> Failure {
        let longest = show_bytes(longest as u64);
        let name = shown_path(input);
        match self {
            Unread::Failed(error) => Failure::file("read", input)(error),
            Unread::Long => Failure::new(format!(
                "cannot read {name}: line {line} is longer than {longest}, the most that a line may have here"
            ))
            .hint("--max-line SIZE reads longer lines, and takes as much memory"),
            Unread::NoMemory => Failure::new(format!("no memory for line {line} of {name}"))
                .hint("--max-line SIZE sets the longest line that is read"),
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
    ) -> std::result::Result<(usize, bool), Unread> {
        if let Some(error) = self.failed.take() {
            return Err(Unread::Failed(error));
        }
        let terminator = lines.terminator();
        // The buffer never has room for a line that is too long: to be full without a line tells one.
        let most = lines.longest() + 1;
        let mut used = rest.len();
        buffer.resize(BLOCK_BYTES.max(most.min(used + BLOCK_BYTES / 2)), 0);
        buffer[..used].copy_from_slice(rest);
        rest.clear();
        // Where the last line ends that is whole.
        let mut whole = 0;
        // Past the size of a block no more is read than the rest of one line.
        while whole == 0 || used < BLOCK_BYTES {
            if used == buffer.len() {
                if used >= most {
                    return Err(Unread::Long);
                }
                let longer = most.min(used + used / 2);
                let more = buffer.try_reserve_exact(longer - used);
                more.map_err(|_| Unread::NoMemory)?;
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
                Err(error) => return Err(Unread::Failed(error)),
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
            if self.is_live && whole > 0 {
                break;
            }
        }
        rest.extend_from_slice(&buffer[whole..used]);
        Ok((whole, false))
    }
}
