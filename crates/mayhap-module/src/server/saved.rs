//! Values that leave the server: snapshots, files of commands, digests, and the lines of `INFO`.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_longlong};

use mayhap_commands::Log;

use super::{Context, bytes_of};
use crate::raw;

/// A snapshot that a value is written to or read from, as strings of at most a MiB.
pub(crate) struct Snapshot {
    raw: *mut raw::RedisModuleIO,
    buffer: Vec<u8>,
    /// The bytes of the buffer that have been read.
    at: usize,
}

/// The bytes of one string in a snapshot.
const PIECE: usize = 1 << 20;

impl Snapshot {
    /// The snapshot of a call.
    ///
    /// # Safety
    ///
    /// The server must have given the pointer, for a call that lasts as long as this.
    pub(crate) unsafe fn new(raw: *mut raw::RedisModuleIO) -> Snapshot {
        Snapshot {
            raw,
            buffer: Vec::new(),
            at: 0,
        }
    }

    /// Writes what is left in the buffer.
    pub(crate) fn finish(&mut self) {
        if !self.buffer.is_empty() {
            let start = self.buffer.as_ptr().cast();
            call!(RedisModule_SaveStringBuffer(
                self.raw,
                start,
                self.buffer.len()
            ));
            self.buffer.clear();
        }
    }

    /// Returns whether everything that was loaded has been read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.buffer.len()
    }

    /// The name of the key whose value this is, with bytes that are not printable escaped.
    pub(crate) fn key(&self) -> String {
        let name = call!(RedisModule_GetKeyNameFromIO(self.raw));
        if name.is_null() {
            return String::new();
        }
        // SAFETY: it is a string of the server, which it keeps for as long as the snapshot is read or written.
        unsafe { bytes_of(name) }.escape_ascii().to_string()
    }

    /// Writes a line into the server's log.
    pub(crate) fn log(&self, text: &CStr) {
        let context = call!(RedisModule_GetContextFromIO(self.raw));
        // SAFETY: the context belongs to the snapshot and is used at once.
        unsafe { Context::new(context) }.log(c"warning", text);
    }

    /// Returns the value that was just loaded, unless it could not be.
    fn loaded<T>(&self, value: T) -> std::io::Result<T> {
        match call!(RedisModule_IsIOError(self.raw)) {
            0 => Ok(value),
            _ => Err(std::io::ErrorKind::InvalidData.into()),
        }
    }

    fn load(&mut self) -> std::io::Result<()> {
        let mut length = 0;
        let start = call!(RedisModule_LoadStringBuffer(self.raw, &mut length));
        if start.is_null() {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        self.buffer.clear();
        self.at = 0;
        let room = self.buffer.try_reserve_exact(length);
        if room.is_ok() {
            // SAFETY: the server says that `length` bytes begin there, and they stay until they are freed below.
            let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
            self.buffer.extend_from_slice(bytes);
        }
        call!(RedisModule_Free(start.cast()));
        room.map_err(|_| std::io::ErrorKind::OutOfMemory.into())
    }
}

impl mayhap_commands::Snapshot for Snapshot {
    fn unsigned(&mut self) -> std::io::Result<u64> {
        let value = call!(RedisModule_LoadUnsigned(self.raw));
        self.loaded(value)
    }

    fn double(&mut self) -> std::io::Result<f64> {
        let value = call!(RedisModule_LoadDouble(self.raw));
        self.loaded(value)
    }

    fn bytes(&mut self) -> std::io::Result<Vec<u8>> {
        self.load()?;
        self.at = 0;
        Ok(std::mem::take(&mut self.buffer))
    }
}

impl std::io::Write for Snapshot {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PIECE {
            self.finish();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl std::io::Read for Snapshot {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        if self.is_at_end() {
            self.load()?;
        }
        let left = &self.buffer[self.at..];
        let taken = left.len().min(into.len());
        into[..taken].copy_from_slice(&left[..taken]);
        self.at += taken;
        Ok(taken)
    }
}

/// A file of commands that is being written.
pub(crate) struct Rewritten {
    raw: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
}

impl Rewritten {
    /// The file of a call, for one key.
    ///
    /// # Safety
    ///
    /// The server must have given the pointers, for a call that lasts as long as this.
    pub(crate) unsafe fn new(
        raw: *mut raw::RedisModuleIO,
        key: *mut raw::RedisModuleString,
    ) -> Rewritten {
        Rewritten { raw, key }
    }
}

impl Log for Rewritten {
    fn whole(&mut self, command: &CStr, bytes: &[u8]) {
        let (format, start) = (c"sb".as_ptr(), bytes.as_ptr());
        call!(RedisModule_EmitAOF(
            self.raw,
            command.as_ptr(),
            format,
            self.key,
            start,
            bytes.len()
        ));
    }

    fn piece(&mut self, command: &CStr, iterator: u64, bytes: &[u8]) {
        let (format, start) = (c"slb".as_ptr(), bytes.as_ptr());
        let number = iterator as c_longlong;
        call!(RedisModule_EmitAOF(
            self.raw,
            command.as_ptr(),
            format,
            self.key,
            number,
            start,
            bytes.len()
        ));
    }
}

/// A digest of all data that is being made.
pub(crate) fn add_to_digest(digest: *mut raw::RedisModuleDigest, bytes: &[u8]) {
    let start = bytes.as_ptr().cast();
    call!(RedisModule_DigestAddStringBuffer(
        digest,
        start,
        bytes.len()
    ));
    call!(RedisModule_DigestEndSequence(digest));
}

/// Adds a section with these numbers to what `INFO` reports.
pub(crate) fn report(info: *mut raw::RedisModuleInfoCtx, section: &CStr, fields: &[(&CStr, u64)]) {
    // Refused when another section was asked for.
    if call!(RedisModule_InfoAddSection(info, section.as_ptr())) != 0 {
        return;
    }
    for (name, value) in fields {
        call!(RedisModule_InfoAddFieldULongLong(
            info,
            name.as_ptr(),
            *value
        ));
    }
}
