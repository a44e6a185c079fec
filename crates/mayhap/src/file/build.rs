//! A filter built in its file: for filters larger than memory, and for work that may be interrupted.
//!
//! The file `.NAME.mayhap-building` beside the target has a header that says *unfinished*, the body, mapped
//! shared and writable, and after the place of the trailer two records of the progress,
//! written in turn, so that one of them is whole at any moment.
//!
//! Bits are only ever set. So whatever mixture of old and new pages is on disk after a crash, it holds
//! every key that was in it at the last checkpoint; some later ones may be there too, and inserting
//! them again changes nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::lock::sibling;
use super::save::{create_for, sync_folder};
use super::{Lock, failed, in_file, map};
use crate::bits::Bitmap;
use crate::filter::{AnyFilter, Assemble as _, Description, Filter, Insert, Inserts, Stats};
use crate::format::native::trailer::{self, ChunkSums, METADATA_MOST};
use crate::format::native::{FORMAT, HEADER_BYTES, Header, Metadata, PROGRESS_BYTES, State};
use crate::format::pieces::each_piece;
use crate::{Error, Key, Result, SecretKey};

/// The bytes kept for one record of progress.
const RECORD_BYTES: u64 = 64;

/// A filter that is being built in a file, and can be continued after a crash.
///
/// * After [`insert`](Build::insert) a key is in the file as the system sees it: it outlives this
///   process, even by `kill -9`, but not a power failure.
/// * After [`checkpoint`](Build::checkpoint) every key so far is on disk, and so is the progress.
/// * Until [`finish`](Build::finish) the target is what it was, and the build is in a file beside it
///   that no reader takes for a filter. [`resume`](Build::resume) continues it.
///
/// Checksums come with `finish`: damage to an unfinished build on disk goes unnoticed. It is for
/// little-endian machines, whose words in memory are the words of the file.
///
/// ```
/// use mayhap::file::{Build, Mapped};
/// use mayhap::format::native::Metadata;
/// use mayhap::Kind;
///
/// let path = std::env::temp_dir().join(format!("build-{}.mayhap", std::process::id()));
/// let mut build = Build::create(&path, &Kind::Blocked.plan(1_000_000, 0.01)?)?;
/// for line in 0..500_u64 {
///     build.insert(&line);
/// }
/// build.checkpoint(500)?;
/// drop(build); // or a crash
///
/// let mut build = Build::resume(&path, None)?;
/// for line in build.progress()..1000 {
///     build.insert(&line);
/// }
/// build.finish(&Metadata::default())?;
/// assert!(Mapped::open(&path, None)?.contains(&999_u64));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
pub struct Build {
    filter: AnyFilter,
    file: File,
    path: PathBuf,
    record: Record,
    lock: Lock,
}

impl Build {
    /// Begins a build for the file at `path`, which need not exist yet. It takes disk space for all of it
    /// now, so that inserting cannot run out of it; except on file systems that copy what is
    /// written (btrfs, ZFS), where a full disk ends the process with a bus error.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] when another writer has the file; [`Error::Unfinished`] when there is a
    /// build already, to be [resumed](Build::resume) or [discarded](Build::discard);
    /// [`Error::File`] when the disk has no room; [`Error::Unsupported`] for kinds whose inserts do
    /// more than set bits; the error of the kind for a filter that cannot exist.
    pub fn create(path: impl AsRef<Path>, description: &Description) -> Result<Build> {
        check_can_build(description)?;
        let lock = Lock::acquire(path)?;
        let path = sibling(lock.target(), "building");
        if is_begun(&path).map_err(failed("create", &path))? {
            return Err(Error::Unfinished { format: FORMAT });
        }
        let mut file = create_for(lock.target(), &path)?;
        let layout = Layout::new(description.clone());
        let failed = failed("create", &path);
        if let Err(error) = reserve(&mut file, layout.length()) {
            let _ = fs::remove_file(&path);
            return Err(failed(error));
        }
        // The header is written last: a file without one was never begun.
        file.sync_all().map_err(&failed)?;
        write_at(&mut file, 0, &layout.header.to_bytes()).map_err(&failed)?;
        file.sync_all().map_err(&failed)?;
        sync_folder(&path)?;
        Build::open(lock, file, &layout)
    }

    /// Continues the build for the file at `path`. `secret` is needed when it was begun with one.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] when another writer has the file, [`Error::File`] when there is no build,
    /// and those of [`native::decode`](crate::format::native::decode) for a header that is not one of
    /// a build.
    pub fn resume(path: impl AsRef<Path>, secret: Option<&SecretKey>) -> Result<Build> {
        let lock = Lock::acquire(path)?;
        let path = sibling(lock.target(), "building");
        let failed = failed("resume", &path);
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .open(&path)
            .map_err(&failed)?;
        let length = file.metadata().map_err(&failed)?.len();
        let mut bytes = [0; HEADER_BYTES as usize];
        let got = length.min(HEADER_BYTES) as usize;
        file.read_exact(&mut bytes[..got]).map_err(&failed)?;
        let header = Header::parse(&bytes, got, secret.into())?;
        check_can_build(&header.description)?;
        let layout = Layout::new(header.description.clone());
        match header.state {
            // The file is shorter than its header claims: no disk space is taken for a claim.
            State::Finished if length < header.least_bytes() => {
                return Err(Error::Truncated {
                    format: FORMAT,
                    expected: header.least_bytes(),
                    got: length,
                });
            }
            // Killed after finishing and before renaming: every key is in it. That must be on disk before the
            // header says again that something is left to do.
            State::Finished => {
                let tail = layout.length().saturating_sub(length);
                file.set_len(layout.length()).map_err(&failed)?;
                reserve_tail(&mut file, length, tail).map_err(&failed)?;
                let before = Record::latest(&mut file, &layout).map_err(&failed)?;
                let record = before.followed_by(u64::MAX);
                record
                    .write(&mut file, &layout)
                    .and_then(|()| write_at(&mut file, 0, &layout.header.to_bytes()))
                    .and_then(|()| file.sync_all())
                    .map_err(&failed)?;
            }
            State::Unfinished if length != layout.length() => {
                return Err(Error::Truncated {
                    format: FORMAT,
                    expected: layout.length(),
                    got: length,
                });
            }
            State::Unfinished => {}
        }
        Build::open(lock, file, &layout)
    }

    /// Removes the build for the file at `path`, if there is one; the file itself stays as it is.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] when another writer has the file, [`Error::File`] when it cannot be removed.
    pub fn discard(path: impl AsRef<Path>) -> Result<()> {
        let lock = Lock::acquire(path)?;
        let path = sibling(lock.target(), "building");
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }

    fn open(lock: Lock, mut file: File, layout: &Layout) -> Result<Build> {
        let path = sibling(lock.target(), "building");
        let record = Record::latest(&mut file, layout).map_err(failed("read", &path))?;
        let map = map::writable(&file, layout.mapped_bytes()).map_err(failed("map", &path))?;
        let description = &layout.header.description;
        let bits = Bitmap::over_map(map, HEADER_BYTES as usize, description.bits);
        let filter = AnyFilter::assemble(description, vec![bits])?;
        Ok(Build {
            filter,
            file,
            path,
            record,
            lock,
        })
    }

    /// Inserts the key; true when it was *definitely* not in the filter before. After
    /// [`resume`](Build::resume) keys past the last checkpoint may be there already.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.insert_bytes(key.key_bytes().as_ref())
    }

    /// Returns whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.filter.contains(key)
    }

    /// The filter as it is now.
    pub fn filter(&self) -> &AnyFilter {
        &self.filter
    }

    /// Returns the number given to the last [`checkpoint`](Build::checkpoint) that is on disk; 0 before the first.
    /// `u64::MAX` when [`finish`](Build::finish) was interrupted: every key is there, and only finishing is
    /// left to do.
    pub fn progress(&self) -> u64 {
        self.record.progress
    }

    /// Makes every key so far durable: when this returns they are on disk.
    ///
    /// # Errors
    ///
    /// [`Error::File`] when the disk fails; keys since the last success may then be lost.
    pub fn flush(&self) -> Result<()> {
        let synced = self.filter.parts().iter().try_for_each(|part| part.flush());
        let synced = synced.and_then(|()| self.file.sync_all());
        synced.map_err(failed("flush", &self.path))
    }

    /// Makes every key so far durable, together with the progress of the work: a number of the
    /// caller's own, such as a line or a byte of the input, which [`progress`](Build::progress) returns
    /// after a crash.
    ///
    /// # Errors
    ///
    /// As [`flush`](Build::flush); the progress is then the old one.
    pub fn checkpoint(&mut self, progress: u64) -> Result<()> {
        self.flush()?;
        let record = self.record.followed_by(progress);
        let layout = Layout::new(self.filter.description());
        let written = record.write(&mut self.file, &layout);
        written.map_err(failed("checkpoint", &self.path))?;
        self.record = record;
        Ok(())
    }

    /// Completes the file and replaces the target by it, in one step and durably.
    ///
    /// # Errors
    ///
    /// [`Error::Long`] for metadata that is too long, [`Error::File`] when the disk fails. The target is then
    /// unchanged, and the build can be resumed.
    pub fn finish(self, metadata: &Metadata) -> Result<()> {
        metadata.to_bytes()?;
        self.flush()?;
        let Build {
            filter,
            mut file,
            path,
            lock,
            ..
        } = self;
        let header = Header::new(filter.description(), metadata);
        let mut sums = ChunkSums::new();
        for part in filter.parts() {
            each_piece(part, u64::to_le_bytes, |bytes| {
                sums.update(bytes);
                Ok::<(), Error>(())
            })?;
        }
        // Unmapped before the trailer is written, which may begin inside the last mapped line.
        drop(filter);

        let mut end = Vec::new();
        trailer::write(&sums.finish(), metadata, &mut end).map_err(in_file("finish", &path))?;
        let length = header.trailer_at() + end.len() as u64;
        let finished = write_at(&mut file, header.trailer_at(), &end)
            .and_then(|()| file.sync_all())
            // Only now, with everything on disk, may the header say that the file is whole.
            .and_then(|()| write_at(&mut file, 0, &header.to_bytes()))
            .and_then(|()| file.set_len(length))
            .and_then(|()| file.sync_all());
        finished.map_err(failed("finish", &path))?;
        lock.put(&path)?;
        sync_folder(lock.target())
    }
}

impl Filter for Build {
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.filter.contains_bytes(key)
    }

    fn stats(&self) -> Stats {
        self.filter.stats()
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.filter.contains_bytes_batch(keys, found);
    }
}

impl Insert for Build {
    #[inline]
    fn insert_bytes(&mut self, key: &[u8]) -> bool {
        let filter = self.filter.as_insert().expect(CAN_INSERT);
        filter.insert_bytes(key)
    }

    fn insert_bytes_batch(&mut self, keys: &[&[u8]], new: &mut [bool]) {
        let filter = self.filter.as_insert().expect(CAN_INSERT);
        filter.insert_bytes_batch(keys, new);
    }
}

const CAN_INSERT: &str = "a build of another kind is neither created nor resumed";

/// Refuses a filter that cannot exist, and kinds whose inserts do more than set bits: after a crash their
/// files would not be filters.
fn check_can_build(description: &Description) -> Result<()> {
    AnyFilter::<Bitmap>::check(description)?;
    description.kind.check_inserts()?;
    match description.kind.inserts() {
        Inserts::BySettingBits => Ok(()),
        _ => Err(Error::Unsupported {
            kind: description.kind.name(),
            what: "be built in its file",
            instead: "build it in memory and save it",
        }),
    }
}

/// The offsets in the file of a build.
struct Layout {
    header: Header,
}

impl Layout {
    fn new(description: Description) -> Layout {
        let header = Header {
            state: State::Unfinished,
            ..Header::new(description, &Metadata::default())
        };
        Layout { header }
    }

    /// The bytes that are mapped: the header and whole lines.
    fn mapped_bytes(&self) -> u64 {
        HEADER_BYTES + self.header.body_bytes().next_multiple_of(64)
    }

    /// The offset of a record: past any trailer, so that finishing does not overwrite it.
    fn record_at(&self, number: u64) -> u64 {
        let trailer_end = self.header.least_bytes() + METADATA_MOST + PROGRESS_BYTES;
        let first = trailer_end.max(self.mapped_bytes());
        first.next_multiple_of(RECORD_BYTES) + number % 2 * RECORD_BYTES
    }

    fn length(&self) -> u64 {
        self.record_at(1) + RECORD_BYTES
    }
}

/// The progress of the work at a checkpoint.
#[derive(Debug, Clone, Copy, Default)]
struct Record {
    /// The number of the checkpoint, from 1.
    number: u64,
    progress: u64,
}

impl Record {
    fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.progress.to_le_bytes());
        let checksum = xxh3_64(&bytes[..16]);
        bytes[16..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Returns the next record; only a forged one can be the last possible.
    fn followed_by(self, progress: u64) -> Record {
        Record {
            number: self.number.saturating_add(1),
            progress,
        }
    }

    /// Writes the record over the one before the last, durably.
    fn write(self, file: &mut File, layout: &Layout) -> io::Result<()> {
        write_at(file, layout.record_at(self.number), &self.to_bytes())?;
        file.sync_all()
    }

    /// Reads the later of the two records that is whole; the first of all when neither is.
    fn latest(file: &mut File, layout: &Layout) -> io::Result<Record> {
        let mut latest = Record::default();
        for slot in 0..2 {
            let mut bytes = [0; 24];
            file.seek(SeekFrom::Start(layout.record_at(slot)))?;
            file.read_exact(&mut bytes)?;
            let (words, _) = bytes.as_chunks();
            let record = Record {
                number: u64::from_le_bytes(words[0]),
                progress: u64::from_le_bytes(words[1]),
            };
            if record.to_bytes() == bytes && record.number > latest.number {
                latest = record;
            }
        }
        Ok(latest)
    }
}

/// Returns whether there is a file with a header, or at least the beginning of one.
fn is_begun(path: &Path) -> io::Result<bool> {
    use io::ErrorKind::{NotFound, UnexpectedEof};
    let mut magic = [0; 8];
    match File::open(path).and_then(|mut file| file.read_exact(&mut magic)) {
        Ok(()) => Ok(magic != [0; 8]),
        Err(error) if matches!(error.kind(), NotFound | UnexpectedEof) => Ok(false),
        Err(error) => Err(error),
    }
}

fn write_at(file: &mut File, at: u64, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)
}

/// Sets the length of the file, with disk space for all of it.
fn reserve(file: &mut File, length: u64) -> io::Result<()> {
    reserve_tail(file, 0, length)
}

/// Takes disk space for zeros from `at` on: writing to a mapped page without it would be a bus error.
fn reserve_tail(file: &mut File, at: u64, length: u64) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    #[cfg(target_os = "linux")]
    {
        let unsupported = [Some(libc::EOPNOTSUPP), Some(libc::ENOSYS)];
        match map::allocate(file, at, length) {
            Err(error) if unsupported.contains(&error.raw_os_error()) => {}
            done => return done,
        }
    }
    file.seek(SeekFrom::Start(at))?;
    io::copy(&mut io::repeat(0).take(length), file).map(drop)
}
