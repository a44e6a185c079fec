//! Where lines go: standard output or a file, in large writes.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::block::Block;
use crate::failure::{Failure, Result};

/// The bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 256 << 10;

/// Output that is gathered and written in large pieces.
pub(crate) struct Output {
    file: File,
    buffer: Vec<u8>,
    written: u64,
    /// Whether it is a file that can be made durable and shortened.
    is_file: bool,
    /// Who writes, if not whoever gathers.
    writer: Option<Writer>,
}

impl Output {
    /// Standard output. A closed pipe is [`Failure::ClosedPipe`].
    pub(crate) fn standard() -> Result<Output> {
        let handle = io::stdout().as_fd().try_clone_to_owned();
        let file = File::from(handle.map_err(Failure::output)?);
        Ok(Output::of(file, false))
    }

    /// A file, kept up to `length` bytes; what follows them is cut off.
    pub(crate) fn file(path: &Path, length: u64) -> Result<Output> {
        let failed = Failure::file("write", path);
        let mut options = OpenOptions::new();
        let opened = options.write(true).create(true).truncate(false).open(path);
        let mut file = opened.map_err(&failed)?;
        let metadata = file.metadata().map_err(&failed)?;
        if metadata.is_file() {
            if metadata.len() < length {
                let text = format!(
                    "{} has {} bytes, but {length} were written before the interruption",
                    path.display(),
                    metadata.len()
                );
                return Err(Failure::new(text).hint("begin anew: remove it and the filter"));
            }
            file.set_len(length).map_err(&failed)?;
            file.seek(SeekFrom::Start(length)).map_err(&failed)?;
        }
        let mut output = Output::of(file, metadata.is_file());
        output.written = length;
        Ok(output)
    }

    fn of(file: File, is_file: bool) -> Output {
        Output {
            file,
            buffer: Vec::with_capacity(BUFFER_BYTES + (BUFFER_BYTES >> 2)),
            written: 0,
            is_file,
            writer: None,
        }
    }

    /// The same output, written by a thread of its own where there are several: the system copies what is
    /// written while the next lines are chosen.
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
                self.file.write_all(bytes).map_err(Failure::output)?;
                self.written += bytes.len() as u64;
                return Ok(());
            }
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes the lines of a block that are chosen: neighbours together.
    pub(crate) fn write_lines(
        &mut self,
        block: &Block,
        chosen: impl Iterator<Item = bool>,
    ) -> Result<()> {
        let bytes = block.bytes();
        // Where the line begins, and where the chosen ones before it do.
        let (mut line, mut run) = (0, 0);
        for (end, chosen) in block.ends().iter().zip(chosen) {
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

    /// Writes what was gathered, and makes it durable where it is in a file.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.flush()?;
        if self.is_file {
            self.file.sync_data().map_err(Failure::output)?;
        }
        Ok(())
    }

    /// The bytes written so far, what was there before included.
    pub(crate) fn written(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Hands over what was gathered.
    fn write_out(&mut self) -> Result<()> {
        self.written += self.buffer.len() as u64;
        match &mut self.writer {
            Some(writer) => {
                let gathered = std::mem::take(&mut self.buffer);
                self.buffer = writer.write(gathered).map_err(Failure::output)?;
            }
            None => {
                self.file.write_all(&self.buffer).map_err(Failure::output)?;
                self.buffer.clear();
            }
        }
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

/// A thread that writes. It is never joined: whoever flushed has waited for it already.
struct Writer {
    full: SyncSender<Vec<u8>>,
    done: Receiver<io::Result<Vec<u8>>>,
    /// The pieces that are not yet known to be written.
    waiting: usize,
}

impl Writer {
    fn new(mut file: File) -> Writer {
        let (full, pieces) = sync_channel::<Vec<u8>>(1);
        let (back, done) = sync_channel(4);
        thread::spawn(move || {
            for mut piece in pieces {
                let outcome = file.write_all(&piece).map(|()| {
                    piece.clear();
                    piece
                });
                if back.send(outcome).is_err() {
                    return;
                }
            }
        });
        Writer {
            full,
            done,
            waiting: 0,
        }
    }

    /// Hands a piece over; gives an empty one back. Fails when one before it could not be written.
    fn write(&mut self, piece: Vec<u8>) -> io::Result<Vec<u8>> {
        self.waiting += 1;
        // Where the thread has ended, what it said last tells why.
        let _ = self.full.send(piece);
        match self.waiting {
            ..3 => Ok(Vec::with_capacity(BUFFER_BYTES)),
            _ => self.receive(),
        }
    }

    fn wait(&mut self) -> io::Result<()> {
        while self.waiting > 0 {
            self.receive()?;
        }
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Vec<u8>> {
        self.waiting -= 1;
        let gone = || io::Error::other("the thread that writes has ended");
        self.done.recv().map_err(|_| gone())?
    }
}

/// Writes a text to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut output = Output::standard()?;
    output.write(text.as_bytes())?;
    output.flush()
}

/// Writes a JSON value to standard output, on one line.
pub(crate) fn print_json(value: &serde_json::Value) -> Result<()> {
    print(&format!("{value}\n"))
}
