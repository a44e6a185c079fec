//! A filter that stays in its file.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::Mmap;
use xxhash_rust::xxh3::xxh3_64;

use super::{Stamp, failed, map, open_regular};
use crate::bits::Bitmap;
use crate::filter::{AnyFilter, Assemble as _, Description, Filter, Stats};
use crate::format::native::trailer::{self, damaged_chunk};
use crate::format::native::{Access, CHUNK_BYTES, FORMAT, HEADER_BYTES, Header, Metadata};
use crate::format::source::{Source, check_last_word};
use crate::{Error, Key, Result, SecretKey};

/// A filter in a native file, opened in O(1) and read-only: lookups load the pages they touch,
/// and processes that map one file share them.
///
/// Opening compares the header's checksum and the length of the file; [`verify`](Mapped::verify)
/// compares the rest. While a file is mapped, it may be replaced (the map keeps the old one) but must
/// not be changed in place: answers could change with it ([`check_unchanged`](Mapped::check_unchanged)), and a
/// file cut short ends the process on access ([`exit_on_bus_error`](super::exit_on_bus_error)).
///
/// ```
/// use mayhap::format::native::Metadata;
/// use mayhap::{Blocked, file};
///
/// let path = std::env::temp_dir().join(format!("mapped-{}.mayhap", std::process::id()));
/// let mut filter = Blocked::with_capacity(1000, 0.01)?;
/// filter.insert("key");
/// file::save(&path, &filter, &Metadata::default())?;
///
/// let mapped = file::Mapped::open(&path, None)?;
/// assert!(mapped.contains("key") && !mapped.contains("another"));
/// mapped.verify()?;
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
pub struct Mapped {
    filter: AnyFilter,
    header: Header,
    /// The header as it was read.
    first: [u8; HEADER_BYTES as usize],
    file: File,
    opened: Stamp,
    path: PathBuf,
}

impl Mapped {
    /// Opens the filter in a file. `secret` is needed for one that was made with a secret.
    ///
    /// # Errors
    ///
    /// Those of [`native::decode`](crate::format::native::decode), except for damage after the header;
    /// [`Error::File`] when the file cannot be opened or mapped.
    pub fn open(path: impl AsRef<Path>, secret: Option<&SecretKey>) -> Result<Mapped> {
        Mapped::open_for(path.as_ref(), secret.into())
    }

    pub(super) fn open_for(path: &Path, access: Access<'_>) -> Result<Mapped> {
        let (file, length) = open_regular(path)?;
        let opened = Stamp::of(&file).map_err(failed("open", path))?;
        let mut source = Source::new(&file, FORMAT, Some(length));
        let mut bytes = [0; HEADER_BYTES as usize];
        let got = source.fill_up_to(&mut bytes)?;
        let header = Header::parse(&bytes, got, access)?.finished()?;
        source.need(header.least_bytes())?;

        let whole = map::read_only(&file, length).map_err(failed("map", path))?;
        check_length(&header, &whole)?;
        let parts = parts(&header, &file, path)?;
        let filter = AnyFilter::assemble(&header.description, parts)?;
        Ok(Mapped {
            filter,
            header,
            first: bytes,
            file,
            opened,
            path: path.to_owned(),
        })
    }

    /// Refuses a file that was changed in place since it was opened, by its length and the time of its last
    /// change: answers since then may be wrong. A file that was replaced is not changed: the map keeps the old
    /// one.
    ///
    /// # Errors
    ///
    /// [`Error::File`] when it was changed.
    pub fn check_unchanged(&self) -> Result<()> {
        self.opened.check(&self.file, &self.path)
    }

    /// Returns whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.filter.contains(key)
    }

    /// The filter over the mapped bits, to be matched by kind. Cloning it copies it into memory.
    ///
    /// You can look up keys in it, but not change it:
    ///
    /// ```compile_fail,E0596
    /// fn insert(mapped: &mut mayhap::file::Mapped) {
    ///     mapped.filter().insert("key");
    /// }
    /// ```
    pub fn filter(&self) -> &AnyFilter {
        &self.filter
    }

    /// Describes the filter: everything but its bits.
    pub fn description(&self) -> Description {
        self.header.description.clone()
    }

    /// The notes about the filter. Reads the trailer and compares its checksum.
    ///
    /// # Errors
    ///
    /// When the trailer is damaged.
    pub fn metadata(&self) -> Result<Metadata> {
        self.trailer(&self.whole()?, |_, _| ())
    }

    /// Compares every checksum: reads the whole file once.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`], naming the first damaged chunk; [`Error::Field`] for a body that no writer
    /// makes.
    pub fn verify(&self) -> Result<()> {
        self.verify_on(1)
    }

    /// Compares every checksum, on this many threads.
    ///
    /// # Errors
    ///
    /// As [`verify`](Mapped::verify).
    pub fn verify_on(&self, threads: usize) -> Result<()> {
        let whole = self.whole()?;
        if whole[..HEADER_BYTES as usize] != self.first {
            return Err(Error::Damaged {
                format: FORMAT,
                part: "header",
                index: 0,
                offset: 0,
            });
        }
        let mut sums = Vec::new();
        self.trailer(&whole, |_, sum| sums.push(sum))?;
        let body = &whole[HEADER_BYTES as usize..self.header.trailer_at() as usize];
        let chunks: Vec<&[u8]> = body.chunks(CHUNK_BYTES as usize).collect();
        let (next, damaged) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(chunk) = chunks.get(index as usize) else {
                    break;
                };
                if sums.get(index as usize) != Some(&xxh3_64(chunk)) {
                    damaged.fetch_min(index, Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(chunks.len()) {
                scope.spawn(work);
            }
            work();
        });
        match damaged.into_inner() {
            u64::MAX => {}
            index => return Err(damaged_chunk(index)),
        }
        let last = body
            .last_chunk()
            .map_or(0, |word| u64::from_le_bytes(*word));
        match self.filter.parts().last() {
            Some(part) => check_last_word(FORMAT, last, *part),
            None => Ok(()),
        }
    }

    /// Maps all bytes of the file as they are on disk.
    fn whole(&self) -> Result<Mmap> {
        map::read_only(&self.file, self.opened.length).map_err(failed("map", &self.path))
    }

    fn trailer(&self, whole: &Mmap, see: impl FnMut(u64, u64)) -> Result<Metadata> {
        let bytes = &whole[self.header.trailer_at() as usize..];
        let length = Some(whole.len() as u64);
        let source = Source::new(bytes, FORMAT, length);
        let mut source = source.starting_at(self.header.trailer_at());
        trailer::read(&mut source, &self.header, see)
    }
}

/// Maps the parts of a file whose length is the one its header states, each separately.
fn parts(header: &Header, file: &File, path: &Path) -> Result<Vec<Bitmap>> {
    let mut at = HEADER_BYTES;
    let mut part = |bits: u64| {
        let start = at;
        at += bits.div_ceil(64) * 8;
        if cfg!(target_endian = "little") && bits > 0 && start.is_multiple_of(64) {
            return map::part(file, start, bits).map_err(failed("map", path));
        }
        // Not at a line, or not in the byte order of this CPU: read into memory.
        let mut file = file;
        file.seek(SeekFrom::Start(start))?;
        let mut source = Source::new(file, FORMAT, Some(at - start));
        source
            .words(bits, u64::from_le_bytes, |_| ())
            .map(|(part, _)| part)
    };
    let layout = AnyFilter::<Bitmap>::layout(&header.description)?;
    layout.into_iter().map(&mut part).collect()
}

/// Compares the length of the file with the header and the length of the metadata.
fn check_length(header: &Header, bytes: &[u8]) -> Result<()> {
    let got = bytes.len() as u64;
    let mut expected = header.least_bytes();
    if header.has_metadata {
        let at = (header.trailer_at() + 8 * header.chunks()) as usize;
        if let Some(length) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            expected += 4 + trailer::metadata_length(*length)?;
        }
    }
    match got.cmp(&expected) {
        std::cmp::Ordering::Less => Err(Error::Truncated {
            format: FORMAT,
            expected,
            got,
        }),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(Error::Extra {
            format: FORMAT,
            expected,
        }),
    }
}

impl Filter for Mapped {
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
