//! Files as memory: the only unsafe code of `file`.
//!
//! A map is unsafe because another process can change the file under it. Here that can change answers
//! but not memory safety: mapped bytes are only ever used as integers, of which every value is valid,
//! and no unsafe code has an index, a length or a pointer from them. Where a filter says where to look
//! next (the table of a ribbon, the sizes in a cascade, the lengths in a white list), the look is a
//! checked one: [`Bits::word`](crate::bits::Bits::word), which is zero past the end. The unchecked reads, of
//! `Bloom` and `Fuse`, have positions from the header alone, which was read into memory of its own; and
//! over a map that is only read, they too are checked.
//! A file that another process *shortens* ends this one with a bus error on the next access past its
//! end: a stop, not corruption, and one that can be explained ([`exit_on_bus_error`]). Neither happens among those who use this library, which replaces
//! files and never changes them, and builds only under the lock.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapMut, MmapOptions};

/// What to say on a bus error, and which code to exit with.
#[cfg(unix)]
static LAST_WORDS: std::sync::OnceLock<(&str, i32)> = std::sync::OnceLock::new();

/// From now on a bus error of this process prints a message on standard error and exits with a code, instead
/// of ending it without a word. That is what becomes of a process that reads a [`Mapped`](super::Mapped)
/// filter whose file another program cuts short. For programs, not for libraries: a process has one such
/// handler. The first call counts.
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
    // SAFETY: the handler takes what a handler of a signal is given, and calls nothing that a handler may
    // not call.
    unsafe { libc::signal(libc::SIGBUS, handler as libc::sighandler_t) };
}

/// Says the last words, and exits. Runs in a signal handler: it reads what was set before the handler was,
/// takes no lock and no memory.
#[cfg(unix)]
extern "C" fn explain(_: libc::c_int) {
    let (message, code) = LAST_WORDS.get().copied().unwrap_or(("", 2));
    // SAFETY: `write` may be called in a handler, and reads as many bytes as the message has.
    unsafe { libc::write(2, message.as_ptr().cast(), message.len()) };
    // SAFETY: `_exit` may be called in a handler, and does not return to the access that failed.
    unsafe { libc::_exit(code) }
}

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

/// Takes disk space for `length` bytes from `at` on, all zeros where the file has none yet.
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
