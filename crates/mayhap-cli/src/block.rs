//! Lines in blocks: read many at a time, and never copied one by one.
//!
//! Every line of a block ends in the terminator: a last line that has none gets one, as awk and uniq do. A record of CSV
//! is a line here, also where it takes several.

mod records;

use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use mayhap::{
    Digester,
    hash::{Digest, UniversalHash},
};

use crate::amounts::{show_bytes, show_count};
use crate::csv::Records;
use crate::failure::{Failure, Result};
use crate::input::{Reader, Source};
use crate::keys::KeyArgs;
use crate::lines::LineArgs;
use crate::made::{Made, Passed, Stop};
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
    /// The keys that do not stand in the lines as they are, and the lines that have none.
    made: Made,
    /// Where the block begins in the input, in bytes and in lines.
    pub(crate) first_byte: u64,
    pub(crate) first_line: u64,
}

impl Block {
    /// The number of lines that have a key.
    pub(crate) fn count(&self) -> usize {
        self.ends.len() - self.made.passed().len()
    }

    /// The lines, each with its terminator, also those without a key.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        pieces(&self.buffer, &self.ends)
    }

    /// All lines at once.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.ends.last().copied().unwrap_or(0)]
    }

    /// What is printed of the lines: themselves or their keys, where each ends, and which are lines without a key.
    pub(crate) fn printed(&self) -> (&[u8], &[usize], &[Passed]) {
        match self.made.shown() {
            Some((bytes, ends)) => (bytes, ends, &[]),
            None => (&self.buffer, &self.ends, self.made.passed()),
        }
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

    /// The keys of the lines that have one.
    pub(crate) fn keys<'a>(&'a self, args: &'a KeyArgs) -> impl Iterator<Item = &'a [u8]> {
        let (bytes, ends) = self.made.keys();
        let made = (!args.as_they_stand()).then(|| pieces(bytes, ends));
        let standing = args
            .as_they_stand()
            .then(|| self.lines().map(|line| args.of(line)));
        made.into_iter()
            .flatten()
            .chain(standing.into_iter().flatten())
    }

    /// Finds the lines in the first bytes of the buffer, their keys and their digests. Returns why they end before
    /// those bytes do, if they do.
    fn prepare(
        &mut self,
        length: usize,
        args: &KeyArgs,
        hash: Option<&LineHash>,
        records: Option<&mut Records>,
        header: Option<bool>,
    ) -> Option<Stop> {
        self.ends.clear();
        self.made.clear();
        let bytes = &self.buffer[..length];
        let stop = match args.as_they_stand() {
            true => {
                let found = memchr::memchr_iter(args.terminator(), bytes);
                self.ends.extend(found.map(|at| at + 1));
                None
            }
            false => self.made.make(bytes, &mut self.ends, args, records, header),
        };
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
        stop
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
    /// Those that were begun.
    inputs: Vec<Input>,
    /// What was read past the last whole line.
    rest: Vec<u8>,
    /// Whole lines that were looked at, and are still to be given, and the parts of inputs that they are.
    ahead: Vec<u8>,
    parts: VecDeque<Part>,
    args: KeyArgs,
    hash: Option<LineHash>,
    bytes: u64,
    lines: u64,
    /// The lines so far that have no key.
    keyless: u64,
    header: Header,
    /// Why there are no more lines, after some that are given first.
    failed: Option<Failure>,
    is_live: bool,
    size: Option<u64>,
    /// The bytes read so far as they lie in the files, for whoever shows them.
    seen: Arc<AtomicU64>,
}

/// The first header, and where it is.
pub(crate) type Header = Arc<OnceLock<(Vec<u8>, PathBuf)>>;

/// An input that was begun.
struct Input {
    name: PathBuf,
    /// Its records, where lines are that.
    records: Option<Records>,
    /// The lines of it that were given or left out.
    lines: u64,
}

/// Whole lines of one input.
struct Part {
    /// Which input it is.
    input: usize,
    length: usize,
    /// Whether it begins with a header, and that is printed.
    header: Option<bool>,
    /// Whether the input ends with it.
    is_last: bool,
}

struct Reading {
    reader: Reader,
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
            inputs: Vec::new(),
            rest: Vec::new(),
            ahead: Vec::new(),
            parts: VecDeque::new(),
            args: args.clone(),
            hash,
            bytes: 0,
            lines: 0,
            keyless: 0,
            header: Header::default(),
            failed: None,
            is_live,
            size,
            seen: Arc::default(),
        }
    }

    /// Blocks of the same table as others, whose header is printed once and is the same in all files.
    pub(crate) fn with_header(self, header: &Header) -> Blocks {
        let header = Arc::clone(header);
        Blocks { header, ..self }
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
        loop {
            if let Some(failure) = self.failed.take() {
                return Err(failure);
            }
            let part = match self.parts.pop_front() {
                None => self.read(&mut block.buffer)?,
                Some(part) => {
                    let later = self.ahead.split_off(part.length);
                    block.buffer = std::mem::replace(&mut self.ahead, later);
                    Some(part)
                }
            };
            let Some(part) = part else {
                self.advise_of_keyless();
                return Ok(false);
            };
            block.first_byte = self.bytes;
            block.first_line = self.lines;
            let records = self.inputs[part.input].records.as_mut();
            let hash = self.hash.as_ref();
            let stop = block.prepare(part.length, &self.args, hash, records, part.header);
            self.account_for(block, &part);
            if let Some(stop) = stop {
                let rest = &block.buffer[block.bytes().len()..part.length];
                self.failed = self.stop(stop, &part, rest).err();
            }
            if !block.ends.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Reads whole lines of one input to the front of the buffer; nothing at the end of all inputs.
    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<Option<Part>> {
        loop {
            let Some(reading) = &mut self.reading else {
                let Some(source) = self.waiting.pop() else {
                    return Ok(None);
                };
                self.reading = Some(Reading {
                    reader: source.reader(&self.seen)?,
                    is_live: source.is_live(),
                    failed: None,
                });
                self.inputs.push(Input {
                    name: source.name().to_owned(),
                    records: self.args.records(),
                    lines: 0,
                });
                continue;
            };
            let input = self.inputs.len() - 1;
            let filled = reading.fill(buffer, &mut self.rest, &self.args.lines);
            let (length, is_last) = filled.map_err(|unread| self.failure(input, unread))?;
            if is_last {
                self.reading = None;
            }
            if length == 0 {
                continue;
            }
            let mut part = Part {
                input,
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
    pub(crate) fn look_ahead(&mut self) -> Result<bool> {
        let mut buffer = Vec::new();
        let Some(part) = self.read(&mut buffer)? else {
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

    /// Leaves out the first of the lines that it has looked at.
    pub(crate) fn leave_out(&mut self, bytes: usize) {
        let mut left = bytes;
        while left > 0
            && let Some(part) = self.parts.front_mut()
        {
            let out = left.min(part.length);
            let lines = memchr::memchr_iter(self.args.terminator(), &self.ahead[..out]).count();
            self.ahead.drain(..out);
            self.inputs[part.input].lines += lines as u64;
            self.lines += lines as u64;
            part.header = None;
            part.length -= out;
            if part.length == 0 {
                self.parts.pop_front();
            }
            left -= out;
        }
        self.bytes += bytes as u64;
    }
}

/// Why no more lines can be read.
enum Unread {
    Failed(io::Error),
    Long,
    NoMemory,
}

impl Blocks {
    /// Why the next line of an input is not read.
    fn failure(&self, input: usize, unread: Unread) -> Failure {
        let input = &self.inputs[input];
        let longest = show_bytes(self.args.lines.longest() as u64);
        let (line, name) = (show_count(input.lines + 1), shown_path(&input.name));
        match unread {
            Unread::Failed(error) => Failure::file("read", &input.name)(error),
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
        // Of a record that takes many lines, as much again is read: it is looked through from its beginning each time.
        let least = match used > BLOCK_BYTES {
            true => most.min(2 * used),
            false => 0,
        };
        // Past the size of a block no more is read than the rest of one line.
        while whole == 0 || used < BLOCK_BYTES.max(least) {
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
            if self.is_live && whole > 0 && used >= least {
                break;
            }
        }
        rest.extend_from_slice(&buffer[whole..used]);
        Ok((whole, false))
    }
}
