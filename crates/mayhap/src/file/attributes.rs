//! Extended attributes, which a new file takes over from the one that it replaces.
//!
//! Those of users and the access control list are copied. The system's own (`security.`, `trusted.`)
//! belong to one file, as a label or a checksum of its bytes, and the system gives the new file its own.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;

/// Copies the attributes of the file at a path whose names begin with one of these.
///
/// # Errors
///
/// When an attribute can be neither read nor kept; the error names it.
pub(super) fn copy(from: &Path, to: &File, beginnings: &[&str]) -> io::Result<()> {
    let from = CString::new(from.as_os_str().as_bytes())?;
    for name in names(&from)? {
        let is_kept = |beginning: &&str| name.to_bytes().starts_with(beginning.as_bytes());
        if !beginnings.iter().any(is_kept) {
            continue;
        }
        copy_one(&from, to, &name).map_err(|error| {
            let name = name.to_string_lossy();
            let text = format!("its attribute {name} cannot be kept: {error}");
            io::Error::new(error.kind(), text)
        })?;
    }
    Ok(())
}

/// The names of all attributes.
fn names(path: &CStr) -> io::Result<Vec<CString>> {
    let read = sized(|bytes, size| {
        // SAFETY: the path ends in a zero, and `sized` promises that `size` bytes may be written at `bytes`.
        unsafe { libc::listxattr(path.as_ptr(), bytes.cast(), size) }
    });
    let bytes = match read {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(Vec::new()),
        read => read?,
    };
    let ends_in_zero = bytes.split_inclusive(|byte| *byte == 0);
    let names = ends_in_zero.filter_map(|name| CStr::from_bytes_with_nul(name).ok());
    Ok(names.map(CStr::to_owned).collect())
}

fn copy_one(from: &CStr, to: &File, name: &CStr) -> io::Result<()> {
    let value = sized(|bytes, size| {
        // SAFETY: path and name end in a zero, and `sized` promises that `size` bytes may be written at `bytes`.
        unsafe { libc::getxattr(from.as_ptr(), name.as_ptr(), bytes, size) }
    })?;
    // SAFETY: the descriptor is open for as long as `to` is borrowed, the name ends in a zero, and the length given
    // is that of the value.
    let done = unsafe {
        libc::fsetxattr(
            to.as_raw_fd(),
            name.as_ptr(),
            value.as_ptr().cast(),
            value.len(),
            0,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the bytes that a system call writes. Without room the call returns how many there are, otherwise how many it
/// wrote. `call` is given a pointer to as many bytes as it is told.
fn sized(call: impl Fn(*mut c_void, usize) -> isize) -> io::Result<Vec<u8>> {
    let length =
        |returned: isize| usize::try_from(returned).map_err(|_| io::Error::last_os_error());
    loop {
        let mut bytes = vec![0; length(call(ptr::null_mut(), 0))?];
        match length(call(bytes.as_mut_ptr().cast(), bytes.len())) {
            // There are more by now: try again.
            Err(error) if error.raw_os_error() == Some(libc::ERANGE) => {}
            written => {
                bytes.truncate(written?);
                return Ok(bytes);
            }
        }
    }
}
