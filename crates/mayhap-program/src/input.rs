//! Files and standard input, plain or compressed.

use std::fs::{self, File, Metadata};
use std::io::{self, BufReader, Cursor, Read, Seek as _, SeekFrom};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::failure::{Failure, Result, advise};
use crate::shown::shown_path;
use crate::unpack::{self, Frames, Gzip, Other, Packing};

/// One input.
#[derive(Debug)]
pub struct Input {
    name: PathBuf,
    place: Origin,
    /// The identity of the file, when it is one: its device, and its number there.
    identity: Option<(u64, u64)>,
    /// The number of bytes, when it is known.
    size: Option<u64>,
}

/// The place of an input.
#[derive(Debug)]
enum Origin {
    /// At the path that is its name, and open only while it is read: there may be more than can be open at once.
    Named,
    /// Open already. A regular file begins at `start`, where it can be read from again.
    Open {
        file: File,
        start: Option<u64>,
        /// True when its readers keep their own position. All that share the handle of a file share its position.
        is_apart: bool,
    },
}

impl Input {
    /// The inputs that a command line names: `-`, or no name at all, is standard input.
    pub fn open_all(paths: &[PathBuf]) -> Result<Vec<Input>> {
        if paths.is_empty() {
            return Ok(vec![Input::standard_input()?]);
        }
        let open = |path: &PathBuf| match path.as_os_str() == "-" {
            true => Input::standard_input(),
            false => Input::named(path),
        };
        paths.iter().map(open).collect()
    }

    fn standard_input() -> Result<Input> {
        let name = PathBuf::from("standard input");
        let handle = io::stdin().as_fd().try_clone_to_owned();
        let mut file = File::from(handle.map_err(Failure::file("open", &name))?);
        let metadata = file.metadata().map_err(Failure::file("open", &name))?;
        let start = match metadata.is_file() {
            true => file.stream_position().ok(),
            false => None,
        };
        let place = Origin::Open {
            file,
            start,
            is_apart: false,
        };
        let size = start.map(|start| metadata.len().saturating_sub(start));
        Input::of(name, place, &metadata, size)
    }

    /// A file. Whether it can be opened is tried before anything else is done.
    fn named(path: &Path) -> Result<Input> {
        let failed = Failure::file("open", path);
        let mut metadata = fs::metadata(path).map_err(&failed)?;
        // Opening a pipe waits for a writer.
        if metadata.is_file() {
            let file = File::open(path).map_err(&failed)?;
            metadata = file.metadata().map_err(&failed)?;
        }
        let size = metadata.is_file().then_some(metadata.len());
        Input::of(path.to_owned(), Origin::Named, &metadata, size)
    }

    fn of(name: PathBuf, place: Origin, metadata: &Metadata, size: Option<u64>) -> Result<Input> {
        if metadata.is_dir() {
            let text = format!("cannot read {}: it is a directory", shown_path(&name));
            return Err(Failure::new(text).hint("name the files in it"));
        }
        Ok(Input {
            name,
            place,
            identity: identity(metadata),
            size,
        })
    }

    /// Its name in messages.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The number of its bytes, packed or not, when it is known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Returns whether it is a pipe or a terminal, which gives more only when someone writes it.
    pub fn is_live(&self) -> bool {
        match &self.place {
            Origin::Named => self.identity.is_none(),
            Origin::Open { start, .. } => start.is_none(),
        }
    }

    /// Returns whether it has a name, by which every reader opens it for itself.
    pub fn is_named(&self) -> bool {
        matches!(self.place, Origin::Named)
    }

    /// The same input again, from its beginning: to be read apart from all its other readers, on any thread.
    pub fn again(&self) -> Result<Input> {
        let place = match &self.place {
            Origin::Named => Origin::Named,
            Origin::Open { file, start, .. } => Origin::Open {
                file: file
                    .try_clone()
                    .map_err(Failure::file("read", &self.name))?,
                start: *start,
                is_apart: start.is_some(),
            },
        };
        Ok(Input {
            name: self.name.clone(),
            place,
            identity: self.identity,
            size: self.size,
        })
    }

    /// Returns whether it is the file at this path.
    pub fn is_file(&self, path: &Path) -> bool {
        let theirs = path
            .metadata()
            .ok()
            .and_then(|metadata| identity(&metadata));
        self.identity.is_some() && self.identity == theirs
    }

    /// Makes sure that the input can be read twice: a pipe is copied to a temporary file.
    pub fn keep(&mut self) -> Result<()> {
        if !self.is_live() {
            return Ok(());
        }
        let failed = |error: io::Error| {
            let text = format!("cannot keep a copy of {}: {error}", shown_path(&self.name));
            Failure::new(text)
                .hint("give a file, which needs no copy, or set TMPDIR to a roomier folder")
        };
        advise(format!(
            "{} cannot be read twice: keeping a copy in a temporary file",
            shown_path(&self.name)
        ));
        let mut copy = tempfile::tempfile().map_err(failed)?;
        let size = io::copy(&mut self.open()?, &mut copy).map_err(failed)?;
        copy.rewind().map_err(failed)?;
        self.place = Origin::Open {
            file: copy,
            start: Some(0),
            is_apart: false,
        };
        self.size = Some(size);
        Ok(())
    }

    /// A handle to read it by.
    fn open(&self) -> Result<File> {
        let file = match &self.place {
            Origin::Open { file, .. } => {
                return file.try_clone().map_err(Failure::file("read", &self.name));
            }
            Origin::Named => File::open(&self.name).map_err(Failure::file("open", &self.name))?,
        };
        let metadata = file.metadata().map_err(Failure::file("open", &self.name))?;
        match identity(&metadata) == self.identity {
            true => Ok(file),
            false => Err(Failure::new(format!(
                "{} is another file than it was at first",
                shown_path(&self.name)
            ))),
        }
    }

    /// Reads the input from its beginning, decompressed where it is compressed. The bytes read of the
    /// file are added to `seen`.
    pub fn reader(&self, seen: &Arc<AtomicU64>) -> Result<Reader> {
        let failed = Failure::file("read", &self.name);
        let mut file = Counted {
            file: self.open()?,
            place: None,
            seen: Arc::clone(seen),
        };
        match self.place {
            Origin::Open {
                start: Some(start),
                is_apart: false,
                ..
            } => {
                let whence = SeekFrom::Start(start);
                file.file.seek(whence).map_err(&failed)?;
            }
            Origin::Open { start, .. } => file.place = start,
            Origin::Named => {}
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
        if let Packing::Other(other) = packing {
            return Err(self.packed_by(other));
        }
        let bytes = Cursor::new(beginning).chain(BufReader::with_capacity(1 << 16, file));
        Ok(Reader(match packing {
            Packing::Gzip => Unpacking::Gzip(Gzip::new(bytes)),
            Packing::Zstd => Unpacking::Zstd(Frames::new(bytes)),
            Packing::Plain | Packing::Unknown | Packing::Other(_) => Unpacking::Plain(bytes),
        }))
    }

    /// The refusal of an input that is packed in a way that is not read.
    fn packed_by(&self, other: &Other) -> Failure {
        let name = shown_path(&self.name);
        let file = match &self.place {
            Origin::Named => format!(" {name}"),
            Origin::Open { .. } => String::new(),
        };
        let text = format!("{name} is packed by {}, which is not read here", other.name);
        Failure::new(text).hint(format!(
            "unpack it first: {}{file} | mayhap …",
            other.unpack
        ))
    }
}

/// The identity of a regular file: its device, and its number there.
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
}

/// A file, and how much of it was read.
struct Counted {
    file: File,
    /// Its own position, if it keeps one.
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

/// The bytes of an input, unpacked.
pub struct Reader(Unpacking);

type Bytes = unpack::Bytes<BufReader<Counted>>;

enum Unpacking {
    Plain(Bytes),
    Gzip(Gzip<Bytes>),
    Zstd(Frames<BufReader<Counted>>),
}

impl Reader {
    /// Returns whether the bytes are those of the file, not unpacked.
    pub fn is_plain(&self) -> bool {
        matches!(self.0, Unpacking::Plain(_))
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Unpacking::Plain(bytes) => bytes.read(buffer),
            Unpacking::Gzip(bytes) => bytes.read(buffer),
            Unpacking::Zstd(frames) => frames.read(buffer),
        }
    }
}
