//! Files as memory: the only unsafe code of `file`.
//!
//! A map is unsafe because another process can change the file under it. Here that can change answers
//! but not memory safety: mapped bytes are only ever used as integers, of which every value is valid,
//! and no unsafe code has an index, a length or a pointer from them. Where a filter says where to look
//! next (the table of a ribbon, the sizes in a cascade, the lengths in a white list), the look is a
//! checked one: [`Bits::word`](crate::Bits::word), which is zero past the end. The unchecked reads, of
//! `Bloom` and `Fuse`, have positions from the header alone, which was read into memory of its own; and
//! over a map that is only read, they too are checked.
//! A file that another process *shortens* ends this one with a bus error on the next access past its
//! end: a stop, not corruption. Neither happens among those who use this library, which replaces
//! files and never changes them, and builds only under the lock.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapMut, MmapOptions};

/// Maps the first `length` bytes, to be read.
pub(super) fn read_only(file: &File, length: u64) -> io::Result<Mmap> {
    let mut options = MmapOptions::new();
    options.len(addressable(length)?);
    // SAFETY: the map is read as bytes, all of whose values are valid, by bounds-checked slices
    // whose length is that of the map and not of the file. Of those who write filters through this
    // library none changes a file that has its final name; what others do is described above.
    unsafe { options.map(file) }
}

/// Maps the first `length` bytes, shared with the file: what is written to memory is written there.
#[cfg(target_endian = "little")]
pub(super) fn writable(file: &File, length: u64) -> io::Result<MmapMut> {
    let mut options = MmapOptions::new();
    options.len(addressable(length)?);
    // SAFETY: the map is used as words, all of whose values are valid, by bounds-checked slices.
    // The file is a build, whose only writer and reader holds the lock beside it (`Build` has it as
    // long as the map), so nobody else that knows of it changes it.
    unsafe { options.map_mut(file) }
}

fn addressable(length: u64) -> io::Result<usize> {
    let too_large = |_| io::Error::other("too large for the addresses of this machine");
    usize::try_from(length).map_err(too_large)
}
