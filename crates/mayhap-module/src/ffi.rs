//! Everything that the server calls.
//!
//! Each function turns pointers into references, calls safe code, and stops panics: one that left this module would
//! end the server. What a command returns as an error, or panics with, is its reply.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_longlong, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;

use mayhap_commands::census::{BLOOM, CUCKOO};
use mayhap_commands::settings::{self, Setting};
use mayhap_commands::{Failure, Outcome, Server as _, Value};
use xxhash_rust::xxh3::Xxh3Default;

use crate::server::{self, Argument, Context, Rewritten, Snapshot};
use crate::{alloc, raw};

const OK: c_int = 0;
const ERR: c_int = 1;

/// Loads the module.
///
/// # Safety
///
/// Is called by the server alone, with its own pointers.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) unsafe extern "C" fn RedisModule_OnLoad(
    context: *mut raw::RedisModuleCtx,
    arguments: *mut *mut raw::RedisModuleString,
    count: c_int,
) -> c_int {
    let name = c"bf".as_ptr();
    // The version as RedisBloom writes its own: two digits for each part.
    let version = crate::VERSION;
    let api = raw::REDISMODULE_APIVER_1 as c_int;
    // SAFETY: the pointer is the server's, for this call. This finds the functions of the server, so nothing is
    // allocated or called before.
    let status =
        unsafe { redis_module::raw::Export_RedisModule_Init(context.cast(), name, version, api) };
    if status != OK {
        return ERR;
    }
    let loaded = catch_unwind(|| {
        // SAFETY: the pointers are the server's, for this call.
        let context = unsafe { Context::new(context) };
        // SAFETY: as above.
        let arguments = unsafe { context.arguments(arguments, count) };
        match crate::load(&context, arguments) {
            Ok(()) => OK,
            Err(reason) => {
                context.log(c"warning", &c_text(reason));
                ERR
            }
        }
    });
    loaded.unwrap_or(ERR)
}

/// Makes a text for C of another, without its zeros.
pub(crate) fn c_text(text: String) -> CString {
    let mut bytes = text.into_bytes();
    bytes.retain(|&byte| byte != 0);
    CString::new(bytes).unwrap_or_default()
}

/// The function that the server calls for a command, which does what `F` does.
pub(crate) extern "C" fn entry<F: Fn(&Context, &[Argument]) -> Outcome>(
    context: *mut raw::RedisModuleCtx,
    arguments: *mut *mut raw::RedisModuleString,
    count: c_int,
) -> c_int {
    const {
        assert!(
            size_of::<F>() == 0,
            "only functions themselves are commands"
        )
    }
    // SAFETY: the pointers are the server's, for this call.
    let context = unsafe { Context::new(context) };
    let done = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: as above.
        let arguments = unsafe { context.arguments(arguments, count) };
        // SAFETY: a function itself has no bytes, so any place holds one; `row` has seen a value of the type.
        let run: &F = unsafe { std::ptr::NonNull::dangling().as_ref() };
        run(&context, arguments)
    }));
    let failure = match done {
        Ok(Ok(())) => return OK,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::Text(c"ERR mayhap failed in this command; please report it"),
    };
    fail(&context, failure);
    OK
}

fn fail(context: &Context, failure: Failure) {
    let text = match failure {
        Failure::Arity => return context.wrong_arity(),
        Failure::Text(text) => text.to_owned(),
        Failure::Made(text) => c_text(text),
    };
    // Nobody reads an error in a file of commands, and to a master it would be one of the link.
    if context.must_obey() {
        context.log(c"warning", &text);
        return context.null();
    }
    context.error(&text);
}

/// The callbacks of a type.
pub(crate) fn methods<V: Value>() -> raw::RedisModuleTypeMethods {
    raw::RedisModuleTypeMethods {
        version: u64::from(raw::REDISMODULE_TYPE_METHOD_VERSION),
        rdb_load: Some(rdb_load::<V>),
        rdb_save: Some(rdb_save::<V>),
        aof_rewrite: Some(aof_rewrite::<V>),
        mem_usage: Some(mem_usage::<V>),
        digest: Some(digest::<V>),
        free: Some(free::<V>),
        aux_load: None,
        aux_save: None,
        aux_save_triggers: 0,
        free_effort: Some(free_effort::<V>),
        unlink: None,
        copy: Some(copy::<V>),
        defrag: Some(defrag::<V>),
        mem_usage2: None,
        free_effort2: None,
        unlink2: None,
        copy2: None,
        aux_save2: None,
    }
}

/// The value behind a pointer of the server.
///
/// # Safety
///
/// The server must have it from `rdb_load`, `copy` or `Key::put` for the same type, and must not change it meanwhile.
unsafe fn value<'a, V: Value>(value: *const c_void) -> &'a V {
    // SAFETY: as the caller promises.
    unsafe { &*value.cast::<V>() }
}

extern "C" fn rdb_load<V: Value>(io: *mut raw::RedisModuleIO, version: c_int) -> *mut c_void {
    // SAFETY: the pointer is the server's, for this call.
    let mut snapshot = unsafe { Snapshot::new(io) };
    let loaded = catch_unwind(AssertUnwindSafe(|| {
        let value = V::read(version, &mut snapshot)?;
        match snapshot.is_at_end() {
            true => Ok(value),
            false => Err("bytes follow after its end".to_string()),
        }
    }));
    let reason = match loaded {
        Ok(Ok(value)) => return Box::into_raw(Box::new(value)).cast(),
        Ok(Err(reason)) => reason,
        Err(_) => "mayhap failed in reading it".into(),
    };
    snapshot.log(&c_text(format!(
        "the key {} is not loaded: {reason}. It is a {} of version {version}. Where it was saved, remove it and save again, or \
         copy it to a server with this module by {}",
        snapshot.key(),
        V::NAME.to_string_lossy(),
        V::COPIED_BY,
    )));
    std::ptr::null_mut()
}

extern "C" fn rdb_save<V: Value>(io: *mut raw::RedisModuleIO, pointer: *mut c_void) {
    // SAFETY: the pointer is the server's, for this call.
    let mut snapshot = unsafe { Snapshot::new(io) };
    // SAFETY: the server passes a value of this type.
    let value: &V = unsafe { value(pointer) };
    let saved = catch_unwind(AssertUnwindSafe(|| value.write(&mut snapshot)));
    snapshot.finish();
    if !matches!(saved, Ok(Ok(()))) {
        snapshot.log(c"a filter is not saved whole: there is no memory for it");
    }
}

extern "C" fn aof_rewrite<V: Value>(
    io: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
    pointer: *mut c_void,
) {
    // SAFETY: the pointers are the server's, for this call.
    let mut log = unsafe { Rewritten::new(io, key) };
    // SAFETY: the server passes a value of this type.
    let value: &V = unsafe { value(pointer) };
    let written = catch_unwind(AssertUnwindSafe(|| value.rewrite(&mut log)));
    if !matches!(written, Ok(Ok(()))) {
        // SAFETY: the pointer is the server's, for this call.
        let snapshot = unsafe { Snapshot::new(io) };
        snapshot.log(c"a filter is not rewritten whole: there is no memory for it");
    }
}

extern "C" fn mem_usage<V: Value>(pointer: *const c_void) -> usize {
    // SAFETY: the server passes a value of this type.
    let value: &V = unsafe { value(pointer) };
    let bytes = catch_unwind(AssertUnwindSafe(|| value.bytes()));
    usize::try_from(bytes.unwrap_or(0)).unwrap_or(usize::MAX)
}

extern "C" fn digest<V: Value>(digest: *mut raw::RedisModuleDigest, pointer: *mut c_void) {
    // SAFETY: the server passes a value of this type.
    let value: &V = unsafe { value(pointer) };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let mut sum = Sum(Xxh3Default::new());
        if value.write_alike(&mut sum).is_ok() {
            server::add_to_digest(digest, &sum.0.digest128().to_le_bytes());
        }
    }));
}

/// A sum of bytes that are written to it.
struct Sum(Xxh3Default);

impl std::io::Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

extern "C" fn free<V: Value>(pointer: *mut c_void) {
    // SAFETY: the server gives back, once, what `rdb_load`, `copy` or `Key::put` gave it as a box of this type.
    let value = unsafe { Box::from_raw(pointer.cast::<V>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
}

/// The work of dropping a value: from 4 MiB on it is more than the 64 that the server does at once.
extern "C" fn free_effort<V: Value>(
    _: *mut raw::RedisModuleString,
    pointer: *const c_void,
) -> usize {
    1 + mem_usage::<V>(pointer) / (1 << 16)
}

extern "C" fn copy<V: Value>(
    _: *mut raw::RedisModuleString,
    _: *mut raw::RedisModuleString,
    pointer: *const c_void,
) -> *mut c_void {
    // SAFETY: the server passes a value of this type.
    let value: &V = unsafe { value(pointer) };
    match catch_unwind(AssertUnwindSafe(|| Box::new(value.clone()))) {
        Ok(copy) => Box::into_raw(copy).cast(),
        // There was no memory for it.
        Err(_) => std::ptr::null_mut(),
    }
}

/// Moves a value to where the server wants its memory; large blocks have pages of their own and stay, so it is done at once.
extern "C" fn defrag<V: Value>(
    context: *mut raw::RedisModuleDefragCtx,
    _: *mut raw::RedisModuleString,
    place: *mut *mut c_void,
) -> c_int {
    const DONE: c_int = 0;
    if settings::DEFRAG.get() == 0 {
        return DONE;
    }
    let work = || {
        // SAFETY: the server passes the place where it keeps the value.
        let pointer = unsafe { *place };
        // SAFETY: it is a box of this type that `rdb_load`, `copy` or `Key::put` gave the server, which uses it again only when
        // this is done.
        let mut value = unsafe { Box::from_raw(pointer.cast::<V>()) };
        let _ = catch_unwind(AssertUnwindSafe(|| value.reallocate(&alloc::Gathers)));
        let value = Box::into_raw(alloc::reallocate_box(value));
        // SAFETY: as at first.
        unsafe { *place = value.cast() };
    };
    // SAFETY: the context is the server's, for this call.
    unsafe { alloc::gather(context, work) };
    DONE
}

/// The names of a section of `INFO` and of its numbers: memory, filters, layers, keys, capacity.
type Section = (&'static CStr, [&'static CStr; 5]);

/// Under valkey-bloom's names.
const BLOOM_SECTION: Section = (
    c"bloom_core_metrics",
    [
        c"bloom_total_memory_bytes",
        c"bloom_num_objects",
        c"bloom_num_filters_across_objects",
        c"bloom_num_items_across_objects",
        c"bloom_capacity_across_objects",
    ],
);

const CUCKOO_SECTION: Section = (
    c"cuckoo_core_metrics",
    [
        c"cuckoo_total_memory_bytes",
        c"cuckoo_num_objects",
        c"cuckoo_num_filters_across_objects",
        c"cuckoo_num_items_across_objects",
        c"cuckoo_capacity_across_objects",
    ],
);

/// Writes the section of `INFO`.
pub(crate) extern "C" fn info(info: *mut raw::RedisModuleInfoCtx, _for_crash: c_int) {
    let _ = catch_unwind(|| {
        for ((section, names), census) in [(BLOOM_SECTION, &BLOOM), (CUCKOO_SECTION, &CUCKOO)] {
            let counts = census.numbers();
            let fields: Vec<(&CStr, u64)> = names.into_iter().zip(counts).collect();
            server::report(info, section, &fields);
        }
        let moves = [
            (c"bloom_defrag_hits", alloc::MOVED.load(Relaxed)),
            (c"bloom_defrag_misses", alloc::LEFT.load(Relaxed)),
        ];
        server::report(info, c"bloom_defrag_metrics", &moves);
    });
}

/// The setting that a callback is for.
fn setting(which: *mut c_void) -> &'static Setting {
    // SAFETY: the pointer was made of a `&'static Setting` when the setting was registered.
    unsafe { &*which.cast::<Setting>() }
}

/// The data that a setting is registered with, to be found again by its callbacks.
pub(crate) fn pointer_to(setting: &'static Setting) -> *mut c_void {
    std::ptr::from_ref(setting).cast_mut().cast()
}

pub(crate) extern "C" fn get_number(_: *const c_char, which: *mut c_void) -> c_longlong {
    setting(which).get()
}

pub(crate) extern "C" fn set_number(
    _: *const c_char,
    value: c_longlong,
    which: *mut c_void,
    _: *mut *mut raw::RedisModuleString,
) -> c_int {
    setting(which).set(value);
    OK
}

pub(crate) extern "C" fn get_choice(_: *const c_char, which: *mut c_void) -> c_int {
    c_int::from(setting(which).get() != 0)
}

pub(crate) extern "C" fn set_choice(
    _: *const c_char,
    value: c_int,
    which: *mut c_void,
    _: *mut *mut raw::RedisModuleString,
) -> c_int {
    setting(which).set(i64::from(value));
    OK
}

pub(crate) extern "C" fn get_share(
    _: *const c_char,
    which: *mut c_void,
) -> *mut raw::RedisModuleString {
    // The server takes it and asks for it again before it is freed: one text for each setting is kept.
    catch_unwind(|| server::share(setting(which))).unwrap_or(std::ptr::null_mut())
}

pub(crate) extern "C" fn set_share(
    _: *const c_char,
    value: *mut raw::RedisModuleString,
    which: *mut c_void,
    error: *mut *mut raw::RedisModuleString,
) -> c_int {
    // SAFETY: the server passes a string of its own, for this call.
    let text = unsafe { server::bytes_of(value) };
    if setting(which).set_share(text) {
        return OK;
    }
    let text = server::text("a number strictly between 0 and 1 is expected");
    // SAFETY: the server passes a place for the error.
    unsafe { *error = text };
    ERR
}
