//! Mapping files into memory.
//!
//! A map is unsafe because another process can change the file under it. Here that can change answers
//! but not memory safety: mapped bytes are only ever used as integers, of which every value is valid,
//! and no unsafe code takes an index, a length or a pointer from them. Where the bits of a filter say where to look
//! next (the table of a ribbon, the sizes in a cascade, the lengths in a white list), the read is
//! checked: [`Bits::word`](crate::bits::Bits::word) is zero past the end. The unchecked reads, of
//! `Bloom` and `Fuse`, have positions from the header alone, which was read into memory of its own.
//! A file that another process *shortens* ends this one with a bus error on the next access past its
//! end: a stop, not corruption, and one that can be explained ([`exit_on_bus_error`]). Programs that use this library
//! do neither: it replaces files and never changes them, and builds only under the lock.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapMut, MmapOptions};

use crate::bits::Bitmap;

/// The message for a bus error, and the exit code.
#[cfg(unix)]
static LAST_WORDS: std::sync::OnceLock<(&str, i32)> = std::sync::OnceLock::new();

/// Makes a bus error of this process print a message on standard error and exit with a code, from now on, instead
/// of ending it silently. A process gets a bus error when it reads a [`Mapped`](super::Mapped)
/// filter whose file another program cuts short. For programs, not for libraries: a process has one such
/// handler. Only the first call has an effect.
///
/// ```
/// mayhap::file::exit_on_bus_error("error: a filter was cut short while it was read\n", 2);
/// ```
#[cfg(unix)]
pub fn exit_on_bus_error(message: &'static str, code: i32) {
    if LAST_WORDS.set((message, code)).is_err() {
        return;
    }
    let handler = explain as extern "C" fn(libc::c_int);
    // SAFETY: the handler has the signature of a signal handler, and calls only functions that a handler may
    // call.
    unsafe { libc::signal(libc::SIGBUS, handler as libc::sighandler_t) };
}

/// Prints the message and exits. Runs in a signal handler: it reads what was set before the handler was installed,
/// and takes no lock and no memory.
#[cfg(unix)]
extern "C" fn explain(_: libc::c_int) {
    let (message, code) = LAST_WORDS.get().copied().unwrap_or(("", 2));
    // SAFETY: `write` may be called in a handler, and reads no more bytes than the message has.
    unsafe { libc::write(2, message.as_ptr().cast(), message.len()) };
    // SAFETY: `_exit` may be called in a handler, and does not return to the access that failed.
    unsafe { libc::_exit(code) }
}

/// Maps the first `length` bytes for reading.
pub(super) fn read_only(file: &File, length: u64) -> io::Result<Mmap> {
    let mut options = MmapOptions::new();
    options.len(addressable(length)?);
    // SAFETY: the map is read as bytes, all of whose values are valid, by bounds-checked slices
    // whose length is that of the map and not of the file. Programs that write filters through this
    // library never change a file that has its final name; other programs are discussed above.
    unsafe { options.map(file) }
}

/// Maps the `bits` bits that begin at byte `start`, which is at a line. Writes go to memory of this process alone: they
/// clear the bits past the end, up to the end of the last line, which are something else in the file.
pub(super) fn part(file: &File, start: u64, bits: u64) -> io::Result<Bitmap> {
    let mut options = MmapOptions::new();
    // The last line may end past the file, but never past the page that its first word is in.
    options
        .offset(start)
        .len(addressable(bits.div_ceil(512) * 64)?);
    // SAFETY: the map is used as words, all of whose values are valid, by bounds-checked slices and by positions below
    // `bits`. Other processes may do to the file what they may with `read_only`.
    let map = unsafe { options.no_reserve_swap().map_copy(file) }?;
    Ok(Bitmap::over_map(map, 0, bits))
}

/// Maps the first `length` bytes, shared with the file: writes to memory are writes to the file.
#[cfg(target_endian = "little")]
pub(super) fn writable(file: &File, length: u64) -> io::Result<MmapMut> {
    let mut options = MmapOptions::new();
    options.len(addressable(length)?);
    // SAFETY: the map is used as words, all of whose values are valid, by bounds-checked slices.
    // The file is a build, whose only writer and reader holds the lock beside it (`Build` has it as
    // long as the map), so no other process that respects locks changes it.
    unsafe { options.map_mut(file) }
}

/// Takes disk space for `length` bytes from `at` on, zeros where the file has none yet.
#[cfg(target_os = "linux")]
pub(super) fn allocate(file: &File, at: u64, length: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    let too_large = |_| io::Error::from_raw_os_error(libc::EFBIG);
    let at = libc::off64_t::try_from(at).map_err(too_large)?;
    let length = libc::off64_t::try_from(length).map_err(too_large)?;
    loop {
        // SAFETY: the descriptor is open for as long as `file` is borrowed, and no memory is passed.
        if unsafe { libc::fallocate64(file.as_raw_fd(), 0, at, length) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn addressable(length: u64) -> io::Result<usize> {
    let too_large = |_| io::Error::other("too large for the addresses of this machine");
    usize::try_from(length).map_err(too_large)
}
