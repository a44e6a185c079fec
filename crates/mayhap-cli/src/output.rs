//! Where lines go: standard output or a file, in large writes.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;

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
        }
    }

    /// Writes some bytes, now or later.
    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.write_out()?;
            if bytes.len() > BUFFER_BYTES {
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
        self.write_out()
    }

    /// Writes what was gathered, and makes it durable where it is in a file.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.write_out()?;
        if self.is_file {
            self.file.sync_data().map_err(Failure::output)?;
        }
        Ok(())
    }

    /// The bytes written so far, what was there before included.
    pub(crate) fn written(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    fn write_out(&mut self) -> Result<()> {
        self.file.write_all(&self.buffer).map_err(Failure::output)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
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
