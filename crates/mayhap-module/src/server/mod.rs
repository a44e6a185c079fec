//! The calls of the server, each with the types and lifetimes it has.
//!
//! All functions of the server that are called are called in this folder or in `alloc.rs`; what the server calls is in `ffi.rs`. A
//! function that an older server lacks is `None` in the bindings, and what needs it is left out there.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use mayhap_commands::settings::{SETTINGS, Setting};
use mayhap_commands::{Found, Memory, Outcome, Server, Type, Value};

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

/// Returns whether the server has a function.
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
pub(crate) use saved::{Rewritten, Snapshot, add_to_digest, report};

/// One argument of a command.
#[repr(transparent)]
pub(crate) struct Argument(*mut raw::RedisModuleString);

impl mayhap_commands::Argument for Argument {
    #[inline]
    fn bytes(&self) -> &[u8] {
        let mut length = 0;
        let start = call!(RedisModule_StringPtrLen(self.0, &mut length));
        if start.is_null() || length == 0 {
            return &[];
        }
        // SAFETY: the server says that `length` bytes begin there; they live as long as the argument, which is not
        // changed during a command.
        unsafe { std::slice::from_raw_parts(start.cast(), length) }
    }
}

/// The context of a call: the server, as the command sees it.
pub(crate) struct Context {
    raw: *mut raw::RedisModuleCtx,
    /// The values that open keys have found, which nothing else may reach; null for none.
    held: Cell<[*mut c_void; MOST_HELD]>,
}

/// The most values that a command holds at a time: `MAYHAP.MERGE` has two.
const MOST_HELD: usize = 2;

impl Context {
    /// The context of a call.
    ///
    /// # Safety
    ///
    /// The server must have given the pointer, for a call that lasts as long as this.
    pub(crate) unsafe fn new(raw: *mut raw::RedisModuleCtx) -> Context {
        Context {
            raw,
            held: Cell::new([std::ptr::null_mut(); MOST_HELD]),
        }
    }

    /// The arguments of a command.
    ///
    /// # Safety
    ///
    /// `arguments` must point to `count` arguments that live as long as the context.
    pub(crate) unsafe fn arguments(
        &self,
        arguments: *mut *mut raw::RedisModuleString,
        count: c_int,
    ) -> &[Argument] {
        let count = usize::try_from(count).unwrap_or(0);
        // A module that is loaded without arguments is given no place for them.
        if arguments.is_null() {
            return &[];
        }
        // SAFETY: as the caller promises; `Argument` is transparent over the pointers that lie there.
        unsafe { std::slice::from_raw_parts(arguments.cast(), count) }
    }

    pub(crate) fn error(&self, text: &CStr) {
        call!(RedisModule_ReplyWithError(self.raw, text.as_ptr()));
    }

    pub(crate) fn wrong_arity(&self) {
        call!(RedisModule_WrongArity(self.raw));
    }

    fn flags(&self) -> u32 {
        call!(RedisModule_GetContextFlags(self.raw)) as u32
    }

    /// Writes a line into the server's log.
    pub(crate) fn log(&self, level: &CStr, text: &CStr) {
        let format = c"%s".as_ptr();
        call!(RedisModule_Log(
            self.raw,
            level.as_ptr(),
            format,
            text.as_ptr()
        ));
    }

    fn open(&self, name: &Argument, mode: u32) -> Key<'_> {
        Key {
            raw: call!(RedisModule_OpenKey(self.raw, name.0, mode as c_int)),
            context: self,
            value: std::ptr::null_mut(),
        }
    }

    /// Replaces a pointer among the values that keys hold.
    ///
    /// # Panics
    ///
    /// When there is none of it, or `to` is held already.
    fn hold(&self, from: *mut c_void, to: *mut c_void) {
        let mut held = self.held.get();
        assert!(to.is_null() || !held.contains(&to), "a key is open twice");
        let place = held.iter_mut().find(|value| **value == from);
        *place.expect("a command holds two values at most") = to;
        self.held.set(held);
    }

    /// Returns whether the server is Valkey: it has a field of its own in `INFO`.
    pub(crate) fn is_valkey(&self) -> bool {
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

impl Server for Context {
    type Argument = Argument;
    type Key<'k> = Key<'k>;

    fn integer(&self, value: i64) {
        call!(RedisModule_ReplyWithLongLong(self.raw, value));
    }

    fn boolean(&self, value: bool) {
        call!(RedisModule_ReplyWithBool(self.raw, c_int::from(value)));
    }

    fn double(&self, value: f64) {
        call!(RedisModule_ReplyWithDouble(self.raw, value));
    }

    fn null(&self) {
        call!(RedisModule_ReplyWithNull(self.raw));
    }

    fn bulk(&self, bytes: &[u8]) {
        let start = bytes.as_ptr().cast();
        call!(RedisModule_ReplyWithStringBuffer(
            self.raw,
            start,
            bytes.len()
        ));
    }

    fn simple(&self, text: &CStr) {
        call!(RedisModule_ReplyWithSimpleString(self.raw, text.as_ptr()));
    }

    fn array(&self, length: usize) {
        call!(RedisModule_ReplyWithArray(self.raw, length as _));
    }

    fn map(&self, length: usize) {
        call!(RedisModule_ReplyWithMap(self.raw, length as _));
    }

    fn is_resp3(&self) -> bool {
        self.flags() & raw::REDISMODULE_CTX_FLAGS_RESP3 != 0
    }

    fn must_obey(&self) -> bool {
        let obeyed = raw::REDISMODULE_CTX_FLAGS_REPLICATED | raw::REDISMODULE_CTX_FLAGS_LOADING;
        if self.flags() & obeyed != 0 {
            return true;
        }
        let Some(must_obey) = *MUST_OBEY.get_or_init(find_must_obey) else {
            return false;
        };
        // SAFETY: the server has given the context, for this call, and has said that this is the function of that name.
        unsafe { must_obey(self.raw) != 0 }
    }

    fn read(&self, name: &Argument) -> Key<'_> {
        self.open(name, raw::REDISMODULE_READ)
    }

    fn write(&self, name: &Argument) -> Key<'_> {
        self.open(name, raw::REDISMODULE_READ | raw::REDISMODULE_WRITE)
    }

    fn replicate(&self) {
        call!(RedisModule_ReplicateVerbatim(self.raw));
    }

    fn replicate_as(&self, command: &CStr, key: &Argument, words: &[&[u8]], rest: &[Argument]) {
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

    fn run(&self, command: &CStr, key: &Argument, rest: &[Argument]) -> Outcome {
        // It may replicate itself (!). Script mode (S) refuses what a read-only replica refuses, C what the user may not do; errors are
        // replies (E), in the client's protocol (0).
        let format = c"!SCE0sv".as_ptr();
        // The command may change any value.
        assert!(self.held.get().iter().all(|value| value.is_null()));
        let rest_start: *const Argument = rest.as_ptr();
        let reply = call!(RedisModule_Call(
            self.raw,
            command.as_ptr(),
            format,
            key.0,
            rest_start,
            rest.len(),
        ));
        if reply.is_null() {
            return Err(c"ERR the server did not run the command".into());
        }
        call!(RedisModule_ReplyWithCallReply(self.raw, reply));
        call!(RedisModule_FreeCallReply(reply));
        Ok(())
    }

    fn notify(&self, event: &CStr, key: &Argument) {
        let generic = raw::REDISMODULE_NOTIFY_GENERIC as c_int;
        call!(RedisModule_NotifyKeyspaceEvent(
            self.raw,
            generic,
            event.as_ptr(),
            key.0
        ));
    }

    fn memory(&self) -> Memory {
        let info = call!(RedisModule_GetServerInfo(self.raw, c"memory".as_ptr()));
        let number = |field: &CStr| {
            let mut failed = 0;
            let number = call!(RedisModule_ServerInfoGetFieldUnsigned(
                info,
                field.as_ptr(),
                &mut failed
            ));
            if failed == 0 { number } else { 0 }
        };
        let memory = Memory {
            machine: number(c"total_system_memory"),
            most: number(c"maxmemory"),
            used: number(c"used_memory"),
        };
        call!(RedisModule_FreeServerInfo(self.raw, info));
        memory
    }

    fn now(&self) -> u64 {
        u64::try_from(call!(RedisModule_Milliseconds())).unwrap_or(0)
    }
}

/// A function of newer servers that the bindings do not have.
type MustObey = unsafe extern "C" fn(*mut raw::RedisModuleCtx) -> c_int;

static MUST_OBEY: OnceLock<Option<MustObey>> = OnceLock::new();

/// Asks the server for the function: Valkey has it from version 8.1 on.
fn find_must_obey() -> Option<MustObey> {
    let mut found: Option<MustObey> = None;
    let name = c"RedisModule_MustObeyClient".as_ptr();
    let place = std::ptr::from_mut(&mut found).cast();
    // On success the server writes the address of the function, which is what an `Option` of one is; else nothing.
    match call!(RedisModule_GetApi(name, place)) {
        0 => found,
        _ => None,
    }
}

/// Returns the place of a type as the server knows it, which is null until the module is loaded.
fn registered(type_: Type) -> &'static AtomicPtr<raw::RedisModuleType> {
    static TYPES: [AtomicPtr<raw::RedisModuleType>; 3] =
        [const { AtomicPtr::new(std::ptr::null_mut()) }; 3];
    &TYPES[type_ as usize]
}

/// An open key.
pub(crate) struct Key<'a> {
    /// Null when it was opened to be read, and is missing.
    raw: *mut raw::RedisModuleKey,
    context: &'a Context,
    /// The value that it holds; null before it has found one.
    value: *mut c_void,
}

impl Key<'_> {
    /// Holds a value instead of the one before.
    fn hold(&mut self, value: *mut c_void) {
        if value != self.value {
            self.context.hold(self.value, value);
            self.value = value;
        }
    }
}

impl mayhap_commands::Key for Key<'_> {
    fn find<V: Value>(&mut self) -> Found<'_, V> {
        if self.raw.is_null() {
            return Found::Missing;
        }
        // Null for what is no module's, and for a key that is missing and was opened to be written.
        if call!(RedisModule_ModuleTypeGetType(self.raw))
            != registered(V::TYPE).load(Ordering::Relaxed)
        {
            let kind = call!(RedisModule_KeyType(self.raw));
            return match kind as i64 == raw::REDISMODULE_KEYTYPE_EMPTY as i64 {
                true => Found::Missing,
                false => Found::Other,
            };
        }
        let value: *mut V = call!(RedisModule_ModuleTypeGetValue(self.raw)).cast();
        self.hold(value.cast());
        // SAFETY: values of this type are boxes of `V`, which alone has it, that `put`, `ffi::rdb_load` and `ffi::copy` made. The
        // server runs one command at a time, and this key alone holds the value, for as long as it is borrowed. Other modules
        // must not write when they are notified of an event, so none frees it meanwhile.
        match unsafe { value.as_mut() } {
            Some(value) => Found::Value(value),
            None => Found::Missing,
        }
    }

    fn put<V: Value>(&mut self, value: V) {
        // The server frees the value that was there, which no other key may hold.
        self.hold(std::ptr::null_mut());
        assert!(self.context.held.get().iter().all(|value| value.is_null()));
        let value = Box::into_raw(Box::new(value));
        let type_ = registered(V::TYPE).load(Ordering::Relaxed);
        call!(RedisModule_ModuleTypeSetValue(
            self.raw,
            type_,
            value.cast()
        ));
    }
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        self.hold(std::ptr::null_mut());
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

/// The texts that the server was given last, one for each setting.
static SHARES: [AtomicPtr<raw::RedisModuleString>; SETTINGS.len()] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; SETTINGS.len()];

/// Makes a text of the server of a setting that is a share. It stays this module's: the one made before is freed.
pub(crate) fn share(setting: &Setting) -> *mut raw::RedisModuleString {
    let index = SETTINGS
        .iter()
        .position(|one| std::ptr::eq(*one, setting))
        .expect("every setting is in the list");
    let made = text(&setting.get_share().to_string());
    let before = SHARES[index].swap(made, Ordering::Relaxed);
    if !before.is_null() {
        call!(RedisModule_FreeString(std::ptr::null_mut(), before));
    }
    made
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_held_once_and_again_when_it_was_let_go() {
        // SAFETY: nothing calls the server by it.
        let context = unsafe { Context::new(std::ptr::null_mut()) };
        let none = std::ptr::null_mut();
        let [one, other, third] = [8, 16, 24].map(std::ptr::without_provenance_mut);
        context.hold(none, one);
        let again = || context.hold(none, one);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(again)).is_err());
        context.hold(none, other);
        let more = || context.hold(none, third);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(more)).is_err());

        context.hold(one, none);
        context.hold(none, one);

        assert_eq!(context.held.get(), [one, other]);
    }
}
