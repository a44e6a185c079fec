//! The calls of the server, each with the types and lifetimes it has.
//!
//! All functions of the server that are called are called in this folder or in `alloc.rs`; what the server calls is in `ffi.rs`. A
//! function that an older server lacks is `None` in the bindings, and what needs it is left out there.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::raw;

/// Calls a function of the server by its name in the bindings.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: only reads the address of a function, which is written once, when the module is loaded.
        let function = unsafe { raw::$function };
        let function = function.expect("every server from Redis 7.0 on has it");
        // SAFETY: the pointers that are passed come from the server, for this call or for as long as their wrapper
        // lives, or are of Rust values that outlive the call.
        unsafe { function($($argument),*) }
    }};
}

/// Whether the server has a function.
macro_rules! has {
    ($function:ident) => {{
        // SAFETY: only reads the address of a function, which is written once, when the module is loaded.
        let function = unsafe { raw::$function };
        function.is_some()
    }};
}

mod register;
mod saved;

pub(crate) use register::Registrar;
pub(crate) use saved::{Commands, Snapshot, add_to_digest, report};

/// One argument of a command.
#[repr(transparent)]
pub(crate) struct Argument(*mut raw::RedisModuleString);

impl Argument {
    /// Its bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        let mut length = 0;
        let start = call!(RedisModule_StringPtrLen(self.0, &mut length));
        if start.is_null() || length == 0 {
            return &[];
        }
        // SAFETY: the server says that `length` bytes begin there; they live as long as the argument, which is not
        // changed during a command.
        unsafe { std::slice::from_raw_parts(start.cast(), length) }
    }

    /// Whether it is this word, in any case.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.bytes().eq_ignore_ascii_case(word.as_bytes())
    }

    /// The number it stands for.
    pub(crate) fn parse<T: std::str::FromStr>(&self) -> Option<T> {
        std::str::from_utf8(self.bytes()).ok()?.parse().ok()
    }
}

/// What a command is called with, and what it answers through.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    raw: *mut raw::RedisModuleCtx,
    call: PhantomData<&'a ()>,
}

impl<'a> Context<'a> {
    /// The context of a call.
    ///
    /// # Safety
    ///
    /// The server must have given the pointer, for a call that lasts as long as `'a`.
    pub(crate) unsafe fn new(raw: *mut raw::RedisModuleCtx) -> Context<'a> {
        Context {
            raw,
            call: PhantomData,
        }
    }

    /// The arguments of a command.
    ///
    /// # Safety
    ///
    /// `arguments` must point to `count` arguments that live as long as `'a`.
    pub(crate) unsafe fn arguments(
        self,
        arguments: *mut *mut raw::RedisModuleString,
        count: c_int,
    ) -> &'a [Argument] {
        let count = usize::try_from(count).unwrap_or(0);
        // A module that is loaded without arguments is given no place for them.
        if arguments.is_null() {
            return &[];
        }
        // SAFETY: as the caller promises; `Argument` is transparent over the pointers that lie there.
        unsafe { std::slice::from_raw_parts(arguments.cast(), count) }
    }

    pub(crate) fn integer(self, value: i64) {
        call!(RedisModule_ReplyWithLongLong(self.raw, value));
    }

    /// A boolean of the protocol where the client knows it, else 1 or 0: the server asks which.
    pub(crate) fn boolean(self, value: bool) {
        call!(RedisModule_ReplyWithBool(self.raw, c_int::from(value)));
    }

    pub(crate) fn double(self, value: f64) {
        call!(RedisModule_ReplyWithDouble(self.raw, value));
    }

    pub(crate) fn null(self) {
        call!(RedisModule_ReplyWithNull(self.raw));
    }

    pub(crate) fn bulk(self, bytes: &[u8]) {
        let start = bytes.as_ptr().cast();
        call!(RedisModule_ReplyWithStringBuffer(
            self.raw,
            start,
            bytes.len()
        ));
    }

    pub(crate) fn simple(self, text: &CStr) {
        call!(RedisModule_ReplyWithSimpleString(self.raw, text.as_ptr()));
    }

    pub(crate) fn error(self, text: &CStr) {
        call!(RedisModule_ReplyWithError(self.raw, text.as_ptr()));
    }

    /// An array of this many replies, which follow.
    pub(crate) fn array(self, length: usize) {
        call!(RedisModule_ReplyWithArray(self.raw, length as _));
    }

    /// A map of this many pairs, which follow; to clients without maps an array of twice as many.
    pub(crate) fn map(self, length: usize) {
        call!(RedisModule_ReplyWithMap(self.raw, length as _));
    }

    pub(crate) fn wrong_arity(self) {
        call!(RedisModule_WrongArity(self.raw));
    }

    /// Whether the client speaks RESP3.
    pub(crate) fn is_resp3(self) -> bool {
        self.flags() & raw::REDISMODULE_CTX_FLAGS_RESP3 != 0
    }

    /// Whether the command comes from a master or from a file of commands: it was accepted before, and must be done.
    pub(crate) fn must_obey(self) -> bool {
        let obeyed = raw::REDISMODULE_CTX_FLAGS_REPLICATED | raw::REDISMODULE_CTX_FLAGS_LOADING;
        self.flags() & obeyed != 0
    }

    /// Whether an answer goes to a master, which must not be an error.
    pub(crate) fn is_replicated(self) -> bool {
        self.flags() & raw::REDISMODULE_CTX_FLAGS_REPLICATED != 0
    }

    fn flags(self) -> u32 {
        call!(RedisModule_GetContextFlags(self.raw)) as u32
    }

    /// Sends the command to replicas and the file of commands as it was given.
    pub(crate) fn replicate(self) {
        call!(RedisModule_ReplicateVerbatim(self.raw));
    }

    /// Sends another command instead: a key, words and numbers, then arguments as they were given.
    pub(crate) fn replicate_as(
        self,
        command: &CStr,
        key: &Argument,
        words: &[&[u8]],
        rest: &[Argument],
    ) {
        let words: Vec<*mut raw::RedisModuleString> = words
            .iter()
            .map(|word| {
                let start = word.as_ptr().cast();
                call!(RedisModule_CreateString(
                    std::ptr::null_mut(),
                    start,
                    word.len()
                ))
            })
            .collect();
        let rest_start: *const Argument = rest.as_ptr();
        call!(RedisModule_Replicate(
            self.raw,
            command.as_ptr(),
            c"svv".as_ptr(),
            key.0,
            words.as_ptr(),
            words.len(),
            rest_start,
            rest.len(),
        ));
        for word in words {
            call!(RedisModule_FreeString(std::ptr::null_mut(), word));
        }
    }

    /// Sends a keyspace event about a key.
    pub(crate) fn notify(self, event: &CStr, key: &Argument) {
        let generic = raw::REDISMODULE_NOTIFY_GENERIC as c_int;
        call!(RedisModule_NotifyKeyspaceEvent(
            self.raw,
            generic,
            event.as_ptr(),
            key.0
        ));
    }

    /// Writes a line into the server's log.
    pub(crate) fn log(self, level: &CStr, text: &CStr) {
        let format = c"%s".as_ptr();
        call!(RedisModule_Log(
            self.raw,
            level.as_ptr(),
            format,
            text.as_ptr()
        ));
    }

    /// Opens a key to be read.
    pub(crate) fn read(self, name: &Argument) -> Key<'a> {
        self.open(name, raw::REDISMODULE_READ)
    }

    /// Opens a key to be changed.
    pub(crate) fn write(self, name: &Argument) -> Key<'a> {
        self.open(name, raw::REDISMODULE_READ | raw::REDISMODULE_WRITE)
    }

    fn open(self, name: &Argument, mode: u32) -> Key<'a> {
        Key {
            raw: call!(RedisModule_OpenKey(self.raw, name.0, mode as c_int)),
            call: PhantomData,
        }
    }

    /// A number of a section of `INFO`; `None` when the server does not report it.
    pub(crate) fn server_info(self, section: &CStr, field: &CStr) -> Option<u64> {
        let mut failed = 0;
        let info = call!(RedisModule_GetServerInfo(self.raw, section.as_ptr()));
        let number = call!(RedisModule_ServerInfoGetFieldUnsigned(
            info,
            field.as_ptr(),
            &mut failed
        ));
        call!(RedisModule_FreeServerInfo(self.raw, info));
        (failed == 0).then_some(number)
    }

    /// The milliseconds since 1970, by the server's clock.
    pub(crate) fn now(self) -> u64 {
        u64::try_from(call!(RedisModule_Milliseconds())).unwrap_or(0)
    }

    /// Whether the server is Valkey: it has a field of its own in `INFO`.
    pub(crate) fn is_valkey(self) -> bool {
        let info = call!(RedisModule_GetServerInfo(self.raw, c"server".as_ptr()));
        let name = call!(RedisModule_ServerInfoGetFieldC(
            info,
            c"server_name".as_ptr()
        ));
        // SAFETY: it is a text that ends with a zero, or null, and lives until the information is freed.
        let is_valkey = !name.is_null() && unsafe { CStr::from_ptr(name) } == c"valkey";
        call!(RedisModule_FreeServerInfo(self.raw, info));
        is_valkey
    }
}

/// The type of a value, as the server knows it.
pub(crate) struct Registered(AtomicPtr<raw::RedisModuleType>);

impl Registered {
    pub(crate) const fn new() -> Registered {
        Registered(AtomicPtr::new(std::ptr::null_mut()))
    }

    pub(crate) fn set(&self, type_: *mut raw::RedisModuleType) {
        self.0.store(type_, Ordering::Relaxed);
    }

    fn get(&self) -> *mut raw::RedisModuleType {
        self.0.load(Ordering::Relaxed)
    }
}

/// What is found under a key.
pub(crate) enum Found<'k, V> {
    /// Nothing.
    Missing,
    /// Something else.
    Other,
    /// The value.
    Value(&'k mut V),
}

/// A value that lives under a key.
pub(crate) trait Stored: Sized {
    /// The type, once the module is loaded.
    fn registered() -> &'static Registered;
}

/// An open key.
pub(crate) struct Key<'a> {
    /// Null when it was opened to be read, and is missing.
    raw: *mut raw::RedisModuleKey,
    call: PhantomData<&'a ()>,
}

impl Key<'_> {
    /// What is under it.
    pub(crate) fn find<V: Stored>(&mut self) -> Found<'_, V> {
        if self.raw.is_null() {
            return Found::Missing;
        }
        // Null for what is no module's, and for a key that is missing and was opened to be written.
        if call!(RedisModule_ModuleTypeGetType(self.raw)) != V::registered().get() {
            let kind = call!(RedisModule_KeyType(self.raw));
            return match kind as i64 == raw::REDISMODULE_KEYTYPE_EMPTY as i64 {
                true => Found::Missing,
                false => Found::Other,
            };
        }
        let value: *mut V = call!(RedisModule_ModuleTypeGetValue(self.raw)).cast();
        // SAFETY: values of this type are boxes of `V` that `put` and `ffi::rdb_load` made; the server runs one command at a
        // time, and a key is borrowed exclusively for as long as the value is.
        match unsafe { value.as_mut() } {
            Some(value) => Found::Value(value),
            None => Found::Missing,
        }
    }

    /// Puts a value under it, instead of what was there.
    pub(crate) fn put<V: Stored>(&mut self, value: V) {
        let value = Box::into_raw(Box::new(value));
        let type_ = V::registered().get();
        call!(RedisModule_ModuleTypeSetValue(
            self.raw,
            type_,
            value.cast()
        ));
    }
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            call!(RedisModule_CloseKey(self.raw));
        }
    }
}

/// A text of the server's own, made of a Rust one: for the value of a setting.
pub(crate) fn text(text: &str) -> *mut raw::RedisModuleString {
    let start = text.as_ptr().cast();
    call!(RedisModule_CreateString(
        std::ptr::null_mut(),
        start,
        text.len()
    ))
}

/// Gives back a text that [`text`] has made.
pub(crate) fn free_text(text: *mut raw::RedisModuleString) {
    call!(RedisModule_FreeString(std::ptr::null_mut(), text));
}

/// The bytes of a text that the server passes to a callback.
///
/// # Safety
///
/// It must be a string of the server that lives as long as `'a`.
pub(crate) unsafe fn bytes_of<'a>(text: *const raw::RedisModuleString) -> &'a [u8] {
    let mut length = 0;
    let start: *const c_char = call!(RedisModule_StringPtrLen(text, &mut length));
    if start.is_null() {
        return &[];
    }
    // SAFETY: the server says that `length` bytes begin there, and the caller how long they live.
    unsafe { std::slice::from_raw_parts(start.cast(), length) }
}
