//! Standard output or a file, written in large pieces.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind::{NotFound, PermissionDenied};
use std::io::{self, IsTerminal as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use mayhap_program::amounts::show_bytes;
use mayhap_program::failure::{Failure, Result};
use rustix::fs::OFlags;
use xxhash_rust::xxh3::Xxh3;

use crate::block::Block;
use crate::progress;
use crate::writer::{BUFFER_BYTES, Writer};

/// Output that is gathered and written in large pieces.
pub(crate) struct Output {
    file: File,
    buffer: Vec<u8>,
    /// The place in the file of the next byte to be gathered.
    at: u64,
    /// True when it is a file, which can be made durable.
    is_file: bool,
    /// The folder whose names must be made durable with the file.
    folder: Option<PathBuf>,
    /// The writer thread, if there is one.
    writer: Option<Writer>,
    /// The account of what a run wrote, if it keeps one.
    account: Option<Account>,
    /// The rest of a file that is only appended to, which may hold what comes next.
    there: Option<There>,
}

/// A hash of what a run wrote, together with the runs that it continues.
struct Account {
    start: u64,
    hash: Xxh3,
    seed: u64,
}

/// The output of a run: from where to where in its file, and its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) seed: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) hash: u64,
}

/// The part of an existing output that stays.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keep {
    /// Nothing: the file begins empty.
    Nothing,
    /// All that was written before, which must be there; what follows it is cut off.
    All(Extent),
    /// All that was written before, if it is there.
    Any(Extent),
}

impl Output {
    /// Standard output. A closed pipe is [`Failure::ClosedPipe`].
    pub(crate) fn standard() -> Result<Output> {
        let handle = io::stdout().as_fd().try_clone_to_owned();
        let file = File::from(handle.map_err(Failure::output)?);
        if file.is_terminal() {
            progress::results_on_terminal();
        }
        Ok(Output::of(file, false))
    }

    /// Standard output of a run that keeps account of it. If it is a file that is appended to (`>>`) and holds what was
    /// written before, it may hold what comes next too, which is then not written twice.
    pub(crate) fn standard_from(keep: Keep, seed: u64, terminator: u8) -> Result<Output> {
        let mut output = Output::standard()?;
        output.refuse_closed()?;
        let metadata = output.file.metadata().map_err(Failure::output)?;
        output.account = Some(Account::new(0, seed));
        if !metadata.is_file() {
            return Ok(output);
        }
        output.is_file = true;
        // The name is known where there is /proc, and the file still has one.
        let path = fs::read_link("/proc/self/fd/1").ok();
        output.folder = path.and_then(|path| Some(path.parent()?.to_owned()));
        output.at = match output.is_appended_to() {
            true => metadata.len(),
            false => output.file.stream_position().map_err(Failure::output)?,
        };
        if let (Keep::All(extent), true) = (keep, output.is_appended_to())
            && let Ok(file) = File::open("/proc/self/fd/1")
            && let Some(account) = Account::of(&file, extent).map_err(Failure::output)?
        {
            output.at = extent.end;
            output.account = Some(account);
            output.there = Some(There { file, terminator });
        } else {
            output.account = Some(Account::new(output.at, seed));
        }
        Ok(output)
    }

    /// Refuses a standard output that is closed: what is printed would be lost, and marked as seen.
    ///
    /// Before `main` runs, Rust opens `/dev/null` for reading and writing in place of a closed stream. A shell opens it
    /// only for writing, as most programs do. Programs that open it like Rust (Python's `DEVNULL`) look the same as a
    /// closed stream, and are refused too, with a hint.
    fn refuse_closed(&self) -> Result<()> {
        let null = fs::metadata("/dev/null").map(|null| null.rdev()).ok();
        let own = self.file.metadata().map_err(Failure::output)?;
        let is_null = own.file_type().is_char_device() && Some(own.rdev()) == null;
        let flags = rustix::fs::fcntl_getfl(&self.file).unwrap_or(OFlags::empty());
        if is_null && flags.contains(OFlags::RDWR) {
            let text = "standard output is closed: lines would be marked as seen and go nowhere";
            return Err(Failure::new(text)
                .hint("-o FILE writes to a file; to throw the lines away, say -o /dev/null"));
        }
        Ok(())
    }

    /// Returns whether it is a file that was opened for appending, as `>>` does.
    pub(crate) fn is_appended_to(&self) -> bool {
        let flags = rustix::fs::fcntl_getfl(&self.file);
        self.is_file && flags.is_ok_and(|flags| flags.contains(OFlags::APPEND))
    }

    /// A file, which begins empty.
    pub(crate) fn file(path: &Path) -> Result<Output> {
        let mut output = Output::file_from(path, Keep::Nothing, 0)?;
        output.account = None;
        Ok(output)
    }

    /// A file of a run that keeps account of it.
    pub(crate) fn file_from(path: &Path, keep: Keep, seed: u64) -> Result<Output> {
        let failed = Failure::file("write", path);
        let mut options = OpenOptions::new();
        let options = options.write(true).truncate(false);
        let opened = match options.open(path) {
            // A file that must be there is not made.
            Err(error) if error.kind() == NotFound => match keep {
                Keep::All(extent) if extent.start < extent.end => {
                    return Err(missing(path, extent));
                }
                _ => options.create(true).open(path),
            },
            opened => opened,
        };
        let mut file = opened.map_err(&failed)?;
        let metadata = file.metadata().map_err(&failed)?;
        if !metadata.is_file() {
            let mut output = Output::of(file, false);
            output.account = Some(Account::new(0, seed));
            return Ok(output);
        }
        let found = match keep {
            Keep::All(extent) | Keep::Any(extent) if metadata.len() >= extent.end => {
                let reader = File::open(path).map_err(&failed)?;
                Account::of(&reader, extent).map_err(&failed)?
            }
            _ => None,
        };
        let (account, length) = match (keep, found) {
            (Keep::All(extent) | Keep::Any(extent), Some(account)) if extent.start < extent.end => {
                (account, extent.end)
            }
            // That a file was written to is known, but not that it is this one.
            (Keep::All(extent), _) if extent.end > 0 && metadata.len() > 0 => {
                return Err(missing(path, extent));
            }
            (Keep::All(extent), None) if extent.start < extent.end => {
                return Err(missing(path, extent));
            }
            _ => (Account::new(0, seed), 0),
        };
        file.set_len(length).map_err(&failed)?;
        file.seek(SeekFrom::Start(length)).map_err(&failed)?;
        let mut output = Output::of(file, true);
        output.account = Some(account);
        output.at = length;
        let path = path.canonicalize().map_err(&failed)?;
        output.folder = path.parent().map(Path::to_owned);
        Ok(output)
    }

    /// Refuses a file that does not hold what it should, and changes nothing.
    pub(crate) fn check(path: &Path, keep: Keep) -> Result<()> {
        let Keep::All(extent) = keep else {
            return Ok(());
        };
        let found = File::open(path).and_then(|file| match file.metadata()?.is_file() {
            true => Account::of(&file, extent).map(|account| account.is_some()),
            false => Ok(true),
        });
        match found {
            Ok(true) => Ok(()),
            Err(error) if error.kind() != NotFound => Err(Failure::file("read", path)(error)),
            _ if extent.start == extent.end => Ok(()),
            _ => Err(missing(path, extent)),
        }
    }

    fn of(file: File, is_file: bool) -> Output {
        Output {
            file,
            buffer: Vec::with_capacity(BUFFER_BYTES + (BUFFER_BYTES >> 2)),
            at: 0,
            is_file,
            folder: None,
            writer: None,
            account: None,
            there: None,
        }
    }

    /// The same output, written by its own thread if there are several: the system copies what is written while the next
    /// lines are chosen.
    pub(crate) fn on_threads(mut self, threads: usize) -> Result<Output> {
        if threads > 1 {
            let file = self.file.try_clone().map_err(Failure::output)?;
            self.writer = Some(Writer::new(file));
        }
        Ok(self)
    }

    /// Writes some bytes, now or later.
    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.write_out()?;
            if bytes.len() > BUFFER_BYTES {
                self.wait()?;
                let there = self.pass(bytes)?;
                return self
                    .file
                    .write_all(&bytes[there..])
                    .map_err(Failure::output);
            }
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes the chosen lines of a block, and those without a key that are printed.
    pub(crate) fn write_lines(
        &mut self,
        block: &Block,
        mut chosen: impl Iterator<Item = bool>,
    ) -> Result<()> {
        let (bytes, ends, passed) = block.printed();
        if passed.is_empty() {
            return self.write_runs(bytes, ends, chosen);
        }
        let mut passed = passed.iter().peekable();
        let chosen = (0..ends.len()).map_while(|line| {
            let passed = passed.next_if(|passed| passed.line == line);
            passed.map_or_else(|| chosen.next(), |passed| Some(passed.is_printed))
        });
        self.write_runs(bytes, ends, chosen)
    }

    /// Writes the chosen pieces, adjacent ones together.
    fn write_runs(
        &mut self,
        bytes: &[u8],
        ends: &[usize],
        chosen: impl Iterator<Item = bool>,
    ) -> Result<()> {
        // Where the line begins, and where the chosen ones before it do.
        let (mut line, mut run) = (0, 0);
        for (end, chosen) in ends.iter().zip(chosen) {
            if !chosen {
                if run < line {
                    self.write(&bytes[run..line])?;
                }
                run = *end;
            }
            line = *end;
        }
        if run < line {
            self.write(&bytes[run..line])?;
        }
        Ok(())
    }

    /// Writes what was gathered.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.write_out()?;
        self.wait()
    }

    /// Writes what was gathered, and makes it durable where it is in a file, with the file's name.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.flush()?;
        if self.is_file {
            self.file.sync_all().map_err(Failure::output)?;
        }
        let Some(folder) = self.folder.take() else {
            return Ok(());
        };
        match File::open(&folder) {
            Ok(opened) => opened.sync_all().map_err(Failure::file("sync", &folder)),
            // One that may not be read, or is gone with its file, cannot be synced.
            Err(error) if matches!(error.kind(), NotFound | PermissionDenied) => Ok(()),
            Err(error) => Err(Failure::file("sync", &folder)(error)),
        }
    }

    /// The output of the run so far, with the runs that it continues. Call [`sync`](Output::sync) before.
    pub(crate) fn extent(&self) -> Option<Extent> {
        self.account.as_ref().map(|account| Extent {
            seed: account.seed,
            start: account.start,
            end: self.at,
            hash: account.hash.digest(),
        })
    }

    /// Hands over what was gathered.
    fn write_out(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut gathered = std::mem::take(&mut self.buffer);
        let there = self.pass(&gathered)?;
        if there > 0 {
            gathered.drain(..there);
        }
        match &mut self.writer {
            Some(writer) => self.buffer = writer.write(gathered).map_err(Failure::output)?,
            None => {
                self.file.write_all(&gathered).map_err(Failure::output)?;
                gathered.clear();
                self.buffer = gathered;
            }
        }
        Ok(())
    }

    /// Adds the next bytes, which are whole lines, to the account. Returns how many of them the file has already.
    fn pass(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut skipped = 0;
        if let Some(there) = self.there.take() {
            let (common, is_end) = there.common(self.at, bytes).map_err(Failure::output)?;
            if common < bytes.len() && !is_end {
                skipped =
                    memchr::memrchr(there.terminator, &bytes[..common]).map_or(0, |at| at + 1);
                self.begin_after_others(&there)?;
                self.count(&bytes[skipped..]);
                return Ok(skipped);
            }
            skipped = common;
            self.there = Some(there).filter(|_| common == bytes.len());
        }
        self.count(bytes);
        Ok(skipped)
    }

    fn count(&mut self, bytes: &[u8]) {
        if let Some(account) = &mut self.account {
            account.hash.update(bytes);
            self.at += bytes.len() as u64;
        }
    }

    /// Starts again after what someone else has appended meanwhile, on a new line.
    fn begin_after_others(&mut self, there: &There) -> Result<()> {
        self.wait()?;
        self.at = self.file.metadata().map_err(Failure::output)?.len();
        let mut last = [there.terminator];
        let before = self.at.saturating_sub(1);
        there
            .file
            .read_exact_at(&mut last, before)
            .map_err(Failure::output)?;
        if last != [there.terminator] {
            self.file
                .write_all(&[there.terminator])
                .map_err(Failure::output)?;
            self.at += 1;
        }
        let seed = self.account.as_ref().map_or(0, |account| account.seed);
        self.account = Some(Account::new(self.at, seed));
        Ok(())
    }

    /// Waits until all that was handed over is written.
    fn wait(&mut self) -> Result<()> {
        match &mut self.writer {
            Some(writer) => writer.wait().map_err(Failure::output),
            None => Ok(()),
        }
    }
}

impl Account {
    fn new(start: u64, seed: u64) -> Account {
        Account {
            start,
            hash: Xxh3::with_seed(seed),
            seed,
        }
    }

    /// The account of what was written before, when the file holds it.
    fn of(file: &File, extent: Extent) -> io::Result<Option<Account>> {
        let mut account = Account::new(extent.start, extent.seed);
        let mut at = extent.start;
        let mut piece = vec![0; BUFFER_BYTES];
        while at < extent.end {
            let most = piece
                .len()
                .min(usize::try_from(extent.end - at).unwrap_or(usize::MAX));
            let count = file.read_at(&mut piece[..most], at)?;
            if count == 0 {
                return Ok(None);
            }
            account.hash.update(&piece[..count]);
            at += count as u64;
        }
        Ok(Some(account).filter(|account| account.hash.digest() == extent.hash))
    }
}

/// A file that is appended to, after the last bytes that are known to be in it.
struct There {
    file: File,
    terminator: u8,
}

impl There {
    /// Returns how many of these bytes the file has from a place on, and whether it ends there.
    fn common(&self, at: u64, bytes: &[u8]) -> io::Result<(usize, bool)> {
        let mut piece = vec![0; bytes.len() + 1];
        let mut count = 0;
        while count < piece.len() {
            match self.file.read_at(&mut piece[count..], at + count as u64)? {
                0 => break,
                more => count += more,
            }
        }
        let pairs = bytes.iter().zip(&piece[..count]);
        let common = pairs.take_while(|(left, right)| left == right).count();
        Ok((common, common == count))
    }
}

/// The error of an output that does not hold what it should.
fn missing(path: &Path, extent: Extent) -> Failure {
    let (name, bytes) = (path.display(), show_bytes(extent.end - extent.start));
    let text = format!(
        "{name} does not hold what the last run wrote, {bytes} up to byte {}",
        extent.end
    );
    Failure::new(text).hint(
        "bring it back; or --new-run writes only what the filter has not seen, and begins the file again",
    )
}

/// Writes a text to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut output = Output::standard()?;
    output.write(text.as_bytes())?;
    output.flush()
}

/// Bytes as a JSON value: a string, or `{"hex": …}` where they are not UTF-8.
pub(crate) fn json_text(bytes: &[u8]) -> serde_json::Value {
    match str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => {
            let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
            serde_json::json!({ "hex": digits.collect::<String>() })
        }
    }
}

/// Writes a JSON value to standard output, on one line.
pub(crate) fn print_json(value: &serde_json::Value) -> Result<()> {
    print(&format!("{value}\n"))
}
