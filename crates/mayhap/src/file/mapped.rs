//! A filter that stays in its file.

use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::Mmap;
use xxhash_rust::xxh3::xxh3_64;

use super::{Stamp, failed, map, open_regular};
use crate::bits::{Bitmap, BitmapView};
use crate::filter::{AnyFilter, Assemble as _, Description, Filter, Stats};
use crate::format::native::trailer::{self, damaged_chunk};
use crate::format::native::{Access, CHUNK_BYTES, FORMAT, HEADER_BYTES, Header, Metadata};
use crate::format::source::{Source, check_last_word};
use crate::{Error, Key, Result, SecretKey};

/// A filter in a native file, opened in O(1) and read-only: lookups bring in the pages they touch,
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
    filter: AnyFilter<BitmapView<Body>>,
    header: Header,
    /// The header as it was read.
    first: [u8; HEADER_BYTES as usize],
    map: Arc<Mmap>,
    file: File,
    opened: Stamp,
    path: PathBuf,
}

/// The bits of one part of a mapped filter: bytes of its file.
pub struct Body {
    map: Arc<Mmap>,
    bytes: Range<usize>,
}

impl AsRef<[u8]> for Body {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.map[self.bytes.clone()]
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} bytes)", self.as_ref().len())
    }
}

impl Mapped {
    /// Opens the filter in a file. `secret` is needed for one that was made with a secret.
    ///
    /// # Errors
    ///
    /// As [`native::decode`](crate::format::native::decode), but for damage after the header;
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

        let map = map::read_only(&file, length).map_err(failed("map", path))?;
        check_length(&header, &map)?;
        let map = Arc::new(map);
        let filter = AnyFilter::assemble(&header.description, views(&header, &map)?)?;
        Ok(Mapped {
            filter,
            header,
            first: bytes,
            map,
            file,
            opened,
            path: path.to_owned(),
        })
    }

    /// Refuses a file that was changed in place since it was opened, by its length and the time of its last
    /// change: answers since then may be wrong. One that was replaced is not changed: the map keeps the old
    /// one.
    ///
    /// # Errors
    ///
    /// [`Error::File`] when it was changed.
    pub fn check_unchanged(&self) -> Result<()> {
        self.opened.check(&self.file, &self.path)
    }

    /// Whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.filter.contains(key)
    }

    /// The filter over the mapped bits, to be matched by kind.
    pub fn filter(&self) -> &AnyFilter<BitmapView<Body>> {
        &self.filter
    }

    /// Everything about the filter but its bits.
    pub fn description(&self) -> Description {
        self.header.description.clone()
    }

    /// What is said about the filter. Reads the trailer and compares its checksum.
    ///
    /// # Errors
    ///
    /// When the trailer is damaged.
    pub fn metadata(&self) -> Result<Metadata> {
        self.trailer(|_, _| ())
    }

    /// Compares every checksum: reads the whole file once.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`], naming the first chunk that is; [`Error::Field`] for a body that no writer
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
        if self.map[..HEADER_BYTES as usize] != self.first {
            return Err(Error::Damaged {
                format: FORMAT,
                part: "header",
                index: 0,
                offset: 0,
            });
        }
        let mut sums = Vec::new();
        self.trailer(|_, sum| sums.push(sum))?;
        let body = &self.map[HEADER_BYTES as usize..self.header.trailer_at() as usize];
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

    fn trailer(&self, see: impl FnMut(u64, u64)) -> Result<Metadata> {
        let bytes = &self.map[self.header.trailer_at() as usize..];
        let length = Some(self.map.len() as u64);
        let source = Source::new(bytes, FORMAT, length);
        let mut source = source.starting_at(self.header.trailer_at());
        trailer::read(&mut source, &self.header, see)
    }
}

/// The parts of a file as long as its header says.
fn views(header: &Header, map: &Arc<Mmap>) -> Result<Vec<BitmapView<Body>>> {
    // None ends past the map, whose length was checked, so each is an address on this machine.
    let mut at = HEADER_BYTES as usize;
    let mut view = |bits: u64| {
        let start = at;
        at += bits.div_ceil(64) as usize * 8;
        let map = Arc::clone(map);
        let bytes = start..at;
        BitmapView::new(Body { map, bytes }, bits)
    };
    let layout = AnyFilter::<Bitmap>::layout(&header.description)?;
    layout.into_iter().map(&mut view).collect()
}

/// Holds the length of the file against what the header, and the length of the metadata, say.
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
