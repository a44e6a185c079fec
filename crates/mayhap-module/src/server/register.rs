//! What is registered when the module is loaded: types, commands, rights and settings.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};

use super::{Context, Stored};
use crate::raw;

/// Everything that is registered when the module is loaded.
pub(crate) struct Registrar<'a> {
    context: Context<'a>,
    /// Whether the server refused something.
    refused: Cell<bool>,
}

impl<'a> Registrar<'a> {
    pub(crate) fn new(context: Context<'a>) -> Registrar<'a> {
        let refused = Cell::new(false);
        Registrar { context, refused }
    }

    fn note(&self, status: c_int) {
        self.refused.set(self.refused.get() || status != 0);
    }

    /// Whether the server took everything.
    pub(crate) fn is_whole(&self) -> bool {
        !self.refused.get()
    }

    /// Lets errors of reading and writing snapshots come to the module, so that they do not end the server.
    pub(crate) fn handle_errors(&self) {
        let options = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS as c_int;
        call!(RedisModule_SetModuleOptions(self.context.raw, options));
    }

    /// A type of values.
    pub(crate) fn data_type<V: Stored>(
        &self,
        name: &CStr,
        version: c_int,
        methods: &mut raw::RedisModuleTypeMethods,
    ) {
        let (context, name) = (self.context.raw, name.as_ptr());
        let type_ = call!(RedisModule_CreateDataType(context, name, version, methods));
        self.note(c_int::from(type_.is_null()));
        V::registered().set(type_);
    }

    /// A command; `keys` are the first, the last and the step between arguments that are keys.
    pub(crate) fn command(
        &self,
        name: &CStr,
        entry: raw::RedisModuleCmdFunc,
        flags: &CStr,
        keys: (c_int, c_int, c_int),
        category: &CStr,
    ) {
        let context = self.context.raw;
        let (first, last, step) = keys;
        self.note(call!(RedisModule_CreateCommand(
            context,
            name.as_ptr(),
            entry,
            flags.as_ptr(),
            first,
            last,
            step
        )));
        if has!(RedisModule_SetCommandACLCategories) && has!(RedisModule_AddACLCategory) {
            let command = call!(RedisModule_GetCommand(context, name.as_ptr()));
            if !command.is_null() {
                call!(RedisModule_SetCommandACLCategories(
                    command,
                    category.as_ptr()
                ));
            }
        }
    }

    /// A category for `ACL`, where the server has them for modules.
    pub(crate) fn category(&self, name: &CStr) {
        if has!(RedisModule_AddACLCategory) {
            // Another module may have it already: the commands are added to it all the same.
            call!(RedisModule_AddACLCategory(self.context.raw, name.as_ptr()));
        }
    }

    /// A section of `INFO`.
    pub(crate) fn info(&self, callback: raw::RedisModuleInfoFunc) {
        self.note(call!(RedisModule_RegisterInfoFunc(
            self.context.raw,
            callback
        )));
    }

    /// A setting that is a whole number.
    pub(crate) fn number(
        &self,
        name: &CStr,
        flags: u32,
        range: (i64, i64, i64),
        get: raw::RedisModuleConfigGetNumericFunc,
        set: raw::RedisModuleConfigSetNumericFunc,
        which: *mut c_void,
    ) {
        let (default, least, most) = range;
        self.note(call!(RedisModule_RegisterNumericConfig(
            self.context.raw,
            name.as_ptr(),
            default,
            flags,
            least,
            most,
            get,
            set,
            None,
            which
        )));
    }

    /// A setting that is a text.
    pub(crate) fn text(
        &self,
        name: &CStr,
        flags: u32,
        default: &CStr,
        get: raw::RedisModuleConfigGetStringFunc,
        set: raw::RedisModuleConfigSetStringFunc,
        which: *mut c_void,
    ) {
        self.note(call!(RedisModule_RegisterStringConfig(
            self.context.raw,
            name.as_ptr(),
            default.as_ptr(),
            flags,
            get,
            set,
            None,
            which
        )));
    }

    /// Takes the values that the server's configuration has for the settings.
    pub(crate) fn load_settings(&self) {
        self.note(call!(RedisModule_LoadConfigs(self.context.raw)));
    }

    /// Whether the server is Valkey.
    pub(crate) fn is_valkey(&self) -> bool {
        self.context.is_valkey()
    }

    /// The version of the server: 0x070F00 for 7.15.0.
    pub(crate) fn server_version(&self) -> c_int {
        call!(RedisModule_GetServerVersion())
    }
}
