//! Where lines come from: files and standard input, plain or compressed.

use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read, Seek as _, SeekFrom};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::amounts::show_bytes;
use crate::failure::{Failure, Result, warn};
use crate::shown::shown_path;

/// The bytes that begin a gzip and a Zstandard file.
const GZIP: &[u8] = &[0x1F, 0x8B];
const ZSTD: &[u8] = &[0x28, 0xB5, 0x2F, 0xFD];

/// The bytes that begin a frame of a Zstandard file that holds no data, after a first one from 0x50 to 0x5F.
const SKIPPED: &[u8] = &[0x2A, 0x4D, 0x18];

/// What a file is, by its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
    /// More bytes are needed to tell.
    Unknown,
}

impl Packing {
    fn of(beginning: &[u8]) -> Packing {
        if beginning == GZIP {
            return Packing::Gzip;
        }
        if beginning == ZSTD || matches!(beginning, [0x50..=0x5F, rest @ ..] if rest == SKIPPED) {
            return Packing::Zstd;
        }
        let skipped = matches!(beginning, [0x50..=0x5F, rest @ ..] if SKIPPED.starts_with(rest));
        match skipped
            || [GZIP, ZSTD]
                .iter()
                .any(|magic| magic.starts_with(beginning))
        {
            true => Packing::Unknown,
            false => Packing::Plain,
        }
    }
}

/// One input.
#[derive(Debug)]
pub(crate) struct Source {
    name: PathBuf,
    file: File,
    /// Where in the file the input begins, when it can be read from there again.
    start: Option<u64>,
    /// The bytes of it, when they can be told.
    size: Option<u64>,
    /// Whether its readers keep their own place. The place of a file is one for all who share its handle.
    is_apart: bool,
}

impl Source {
    /// The inputs that a command line names: `-`, or no name at all, is standard input.
    pub(crate) fn open_all(paths: &[PathBuf]) -> Result<Vec<Source>> {
        if paths.is_empty() {
            return Ok(vec![Source::standard_input()?]);
        }
        let open = |path: &PathBuf| match path.as_os_str() == "-" {
            true => Source::standard_input(),
            false => Source::open(path),
        };
        paths.iter().map(open).collect()
    }

    fn standard_input() -> Result<Source> {
        let name = PathBuf::from("standard input");
        let handle = io::stdin().as_fd().try_clone_to_owned();
        let file = handle.map_err(Failure::file("open", &name))?;
        Source::of(File::from(file), name)
    }

    fn open(path: &Path) -> Result<Source> {
        let file = File::open(path).map_err(Failure::file("open", path))?;
        Source::of(file, path.to_owned())
    }

    fn of(mut file: File, name: PathBuf) -> Result<Source> {
        let metadata = file.metadata().map_err(Failure::file("open", &name))?;
        if metadata.is_dir() {
            let text = format!("cannot read {}: it is a directory", shown_path(&name));
            return Err(Failure::new(text).hint("name the files in it"));
        }
        let start = match metadata.is_file() {
            true => file.stream_position().ok(),
            false => None,
        };
        let size = start.map(|start| metadata.len().saturating_sub(start));
        Ok(Source {
            name,
            file,
            start,
            size,
            is_apart: false,
        })
    }

    /// What it is called in messages.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// The bytes of it as they lie there, when they can be told.
    pub(crate) fn size(&self) -> Option<u64> {
        self.size
    }

    /// Whether it gives what there is, and more only when someone writes it.
    pub(crate) fn is_live(&self) -> bool {
        self.start.is_none()
    }

    /// The same input once more, from its beginning: to be read apart from all other readers of it, on
    /// any thread.
    pub(crate) fn again(&self) -> Result<Source> {
        let file = self
            .file
            .try_clone()
            .map_err(Failure::file("read", &self.name))?;
        Ok(Source {
            name: self.name.clone(),
            file,
            start: self.start,
            size: self.size,
            is_apart: self.start.is_some(),
        })
    }

    /// Whether it is the file at this path.
    pub(crate) fn is_file(&self, path: &Path) -> bool {
        let (Ok(ours), Ok(theirs)) = (self.file.metadata(), path.metadata()) else {
            return false;
        };
        ours.is_file() && (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino())
    }

    /// Makes sure that the input can be read twice: what cannot is copied to a temporary file.
    pub(crate) fn keep(&mut self, quiet: bool) -> Result<()> {
        if self.start.is_some() {
            return Ok(());
        }
        let failed = |error: io::Error| {
            let text = format!("cannot keep a copy of {}: {error}", shown_path(&self.name));
            Failure::new(text)
                .hint("give a file, which needs no copy, or set TMPDIR to a roomier folder")
        };
        if !quiet {
            let name = shown_path(&self.name);
            warn(format!(
                "{name} cannot be read twice: keeping a copy in a temporary file"
            ));
        }
        let mut copy = tempfile::tempfile().map_err(failed)?;
        let size = io::copy(&mut self.file, &mut copy).map_err(failed)?;
        copy.rewind().map_err(failed)?;
        self.file = copy;
        self.start = Some(0);
        self.size = Some(size);
        Ok(())
    }

    /// Reads the input from its beginning, decompressed where it is compressed. The bytes read of the
    /// file are added to `seen`.
    pub(crate) fn reader(&self, seen: &Arc<AtomicU64>) -> Result<Reader> {
        let failed = Failure::file("read", &self.name);
        let mut file = Counted {
            file: self.file.try_clone().map_err(&failed)?,
            place: self.start.filter(|_| self.is_apart),
            seen: Arc::clone(seen),
        };
        if let (Some(start), None) = (self.start, file.place) {
            let whence = SeekFrom::Start(start);
            file.file.seek(whence).map_err(&failed)?;
        }
        let mut beginning = Vec::new();
        while Packing::of(&beginning) == Packing::Unknown {
            let mut byte = [0];
            match file.read(&mut byte) {
                Ok(0) => break,
                Ok(_) => beginning.push(byte[0]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        let packing = Packing::of(&beginning);
        let bytes = Cursor::new(beginning).chain(BufReader::with_capacity(1 << 16, file));
        Ok(match packing {
            Packing::Gzip => Reader::Gzip(flate2::read::MultiGzDecoder::new(bytes)),
            Packing::Zstd => Reader::Zstd(Frames::new(bytes)),
            Packing::Plain | Packing::Unknown => Reader::Plain(bytes),
        })
    }
}

/// A file, and how much of it was read.
pub(crate) struct Counted {
    file: File,
    /// Where its own reading is, if it keeps its own place.
    place: Option<u64>,
    seen: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.place {
            Some(place) => {
                let count = self.file.read_at(buffer, *place)?;
                *place += count as u64;
                count
            }
            None => self.file.read(buffer)?,
        };
        self.seen.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The file, after what was read of it to see what it is. Decompressors read a few bytes at a time.
type Bytes = Chain<Cursor<Vec<u8>>, BufReader<Counted>>;

/// The bytes of an input.
pub(crate) enum Reader {
    Plain(Bytes),
    Gzip(flate2::read::MultiGzDecoder<Bytes>),
    Zstd(Frames),
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Reader::Plain(bytes) => bytes.read(buffer),
            Reader::Gzip(bytes) => bytes.read(buffer),
            Reader::Zstd(frames) => frames.read(buffer),
        }
    }
}

/// A filter that is being unpacked, up to a size that is no surprise: a small file can unpack to a thousand times
/// its size. One that is not compressed may have any size, for the file is as large.
pub(crate) struct Unpacked<R> {
    bytes: R,
    left: u64,
}

/// The most bytes of a filter that is compressed.
const UNPACKED_BYTES: u64 = 1 << 30;

impl<R: Read> Unpacked<R> {
    pub(crate) fn new(bytes: R) -> Unpacked<R> {
        Unpacked {
            bytes,
            left: UNPACKED_BYTES,
        }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            io::Error::other(format!(
                "it unpacks to more than {}: unpack it first, with gunzip",
                show_bytes(UNPACKED_BYTES)
            ))
        })?;
        Ok(count)
    }
}

/// The frames of a Zstandard file, one after another.
pub(crate) struct Frames {
    /// The rest of the input, when no frame has it.
    input: Option<Bytes>,
    frame: Option<Box<Frame>>,
}

type Frame = ruzstd::decoding::StreamingDecoder<Bytes, ruzstd::decoding::FrameDecoder>;

impl Frames {
    fn new(input: Bytes) -> Frames {
        Frames {
            input: Some(input),
            frame: None,
        }
    }

    /// Begins the next frame; false at the end of the input.
    fn begin(&mut self, mut input: Bytes) -> io::Result<bool> {
        loop {
            let mut magic = Vec::new();
            input.by_ref().take(4).read_to_end(&mut magic)?;
            if magic.is_empty() {
                return Ok(false);
            }
            if let [0x50..=0x5F, 0x2A, 0x4D, 0x18] = magic[..] {
                let mut length = [0; 4];
                input.read_exact(&mut length)?;
                let length = u64::from(u32::from_le_bytes(length));
                io::copy(&mut input.by_ref().take(length), &mut io::sink())?;
                continue;
            }
            let (beginning, file) = input.into_inner();
            magic.extend_from_slice(&beginning.get_ref()[beginning.position() as usize..]);
            let frame = Frame::new(Cursor::new(magic).chain(file)).map_err(invalid)?;
            self.frame = Some(Box::new(frame));
            return Ok(true);
        }
    }
}

fn invalid(error: impl std::fmt::Display) -> io::Error {
    let text = format!("no valid Zstandard frame: {error}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let count = frame.read(buffer)?;
                if count > 0 {
                    return Ok(count);
                }
            }
            if let Some(frame) = self.frame.take() {
                // The decoder reads the checksum, and leaves it to us to compare it.
                let stated = frame.decoder.get_checksum_from_data();
                if stated.is_some() && stated != frame.decoder.get_calculated_checksum() {
                    return Err(invalid("its checksum does not match"));
                }
                self.input = Some(frame.into_inner());
            }
            let Some(input) = self.input.take() else {
                return Ok(0);
            };
            if !self.begin(input)? {
                return Ok(0);
            }
        }
    }
}
