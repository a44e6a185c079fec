//! Registration when the module is loaded: types, commands, rights and settings.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::Ordering;

use mayhap_commands::Value;
use mayhap_commands::syntax::{self, Parameter, Type};

use super::{Context, registered};
use crate::raw;

/// The layout of the structures that describe commands: the bindings have it as a value of C, which no other language can use.
static VERSION: raw::RedisModuleCommandInfoVersion = raw::RedisModuleCommandInfoVersion {
    version: 1,
    sizeof_historyentry: size_of::<raw::RedisModuleCommandHistoryEntry>(),
    sizeof_keyspec: size_of::<raw::RedisModuleCommandKeySpec>(),
    sizeof_arg: size_of::<raw::RedisModuleCommandArg>(),
};

/// The version of this module that had the commands first.
const SINCE: &CStr = c"0.1.0";

/// The end of a list of arguments.
const END: raw::RedisModuleCommandArg = raw::RedisModuleCommandArg {
    name: std::ptr::null(),
    type_: 0,
    key_spec_index: -1,
    token: std::ptr::null(),
    summary: std::ptr::null(),
    since: std::ptr::null(),
    flags: 0,
    deprecated_since: std::ptr::null(),
    subargs: std::ptr::null_mut(),
    display_text: std::ptr::null(),
};

/// A parameter as the server takes it: it points into the parameter, and has no choices yet.
fn argument(parameter: &Parameter) -> raw::RedisModuleCommandArg {
    let (type_, key) = match parameter.type_ {
        Type::Text => (
            raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING,
            -1,
        ),
        Type::Integer => (
            raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_INTEGER,
            -1,
        ),
        Type::Double => (
            raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_DOUBLE,
            -1,
        ),
        Type::Key(range) => (
            raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY,
            range,
        ),
        Type::Token => (
            raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_PURE_TOKEN,
            -1,
        ),
        Type::OneOf => (
            raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_ONEOF,
            -1,
        ),
    };
    let optional = match parameter.is_optional {
        true => raw::REDISMODULE_CMD_ARG_OPTIONAL,
        false => 0,
    };
    let multiple = match parameter.is_multiple {
        true => raw::REDISMODULE_CMD_ARG_MULTIPLE,
        false => 0,
    };
    let token = parameter.token.as_ref();
    raw::RedisModuleCommandArg {
        name: parameter.name.as_ptr(),
        type_,
        key_spec_index: key,
        token: token.map_or(std::ptr::null(), |token| token.as_ptr()),
        flags: (optional | multiple) as c_int,
        ..END
    }
}

/// The keys from argument `first` to `last` more, or to the end for -1, and what is done with them.
fn key_range(first: c_int, last: c_int, does: u32) -> raw::RedisModuleCommandKeySpec {
    // SAFETY: all zeros are a range without notes.
    let mut keys: raw::RedisModuleCommandKeySpec = unsafe { std::mem::zeroed() };
    keys.flags = u64::from(does);
    keys.begin_search_type = raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX;
    keys.bs.index.pos = first;
    keys.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_RANGE;
    keys.fk.range.lastkey = last;
    keys.fk.range.keystep = 1;
    keys.fk.range.limit = 0;
    keys
}

/// Everything that is registered when the module is loaded.
pub(crate) struct Registrar<'a> {
    context: &'a Context,
    /// True if the server refused something.
    refused: Cell<bool>,
}

impl<'a> Registrar<'a> {
    pub(crate) fn new(context: &'a Context) -> Registrar<'a> {
        let refused = Cell::new(false);
        Registrar { context, refused }
    }

    fn note(&self, status: c_int) {
        self.refused.set(self.refused.get() || status != 0);
    }

    /// Returns whether the server took everything.
    pub(crate) fn is_whole(&self) -> bool {
        !self.refused.get()
    }

    /// Lets errors of reading and writing snapshots come to the module, so that they do not end the server.
    pub(crate) fn handle_errors(&self) {
        let options = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS as c_int;
        call!(RedisModule_SetModuleOptions(self.context.raw, options));
    }

    /// A type of values.
    pub(crate) fn data_type<V: Value>(&self, methods: &mut raw::RedisModuleTypeMethods) {
        let (context, name) = (self.context.raw, V::NAME.as_ptr());
        let version = V::VERSION;
        let type_ = call!(RedisModule_CreateDataType(context, name, version, methods));
        self.note(c_int::from(type_.is_null()));
        registered(V::TYPE).store(type_, Ordering::Relaxed);
    }

    /// A command, whose first argument is a key.
    pub(crate) fn command(
        &self,
        name: &CStr,
        entry: raw::RedisModuleCmdFunc,
        flags: &CStr,
        category: &CStr,
    ) {
        let context = self.context.raw;
        self.note(call!(RedisModule_CreateCommand(
            context,
            name.as_ptr(),
            entry,
            flags.as_ptr(),
            1,
            1,
            1
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

    /// Describes a command for `COMMAND`: its syntax, its effect, and its keys.
    pub(crate) fn describe(
        &self,
        name: &CStr,
        flags: &CStr,
        summary: &CStr,
        parameters: &[Parameter],
    ) {
        let command = call!(RedisModule_GetCommand(self.context.raw, name.as_ptr()));
        if command.is_null() {
            return;
        }
        let reads = raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS;
        let writes = raw::REDISMODULE_CMD_KEY_RW
            | raw::REDISMODULE_CMD_KEY_ACCESS
            | raw::REDISMODULE_CMD_KEY_UPDATE;
        let does = match flags.to_bytes().starts_with(b"readonly") {
            true => reads,
            false => writes,
        };
        let has_others = parameters.iter().any(|one| one.type_ == Type::Key(1));
        let mut keys = vec![key_range(1, 0, does)];
        if has_others {
            keys.push(key_range(2, -1, reads));
        }
        // SAFETY: an empty range ends the list, and all zeros are one.
        keys.push(unsafe { std::mem::zeroed() });
        // Lives until the server has copied what it needs.
        let mut choices: Vec<Vec<raw::RedisModuleCommandArg>> = Vec::new();
        let mut arguments = Vec::new();
        for parameter in parameters {
            let mut argument = argument(parameter);
            if !parameter.choices.is_empty() {
                let mut list: Vec<_> = parameter.choices.iter().map(self::argument).collect();
                list.push(END);
                argument.subargs = list.as_mut_ptr();
                choices.push(list);
            }
            arguments.push(argument);
        }
        arguments.push(END);
        let info = raw::RedisModuleCommandInfo {
            version: &VERSION,
            summary: summary.as_ptr(),
            complexity: std::ptr::null(),
            since: SINCE.as_ptr(),
            history: std::ptr::null_mut(),
            tips: std::ptr::null(),
            arity: syntax::arity(parameters),
            key_specs: keys.as_mut_ptr(),
            args: arguments.as_mut_ptr(),
        };
        self.note(call!(RedisModule_SetCommandInfo(command, &info)));
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

    /// A setting that is yes or no.
    pub(crate) fn choice(
        &self,
        name: &CStr,
        flags: u32,
        default: bool,
        get: raw::RedisModuleConfigGetBoolFunc,
        set: raw::RedisModuleConfigSetBoolFunc,
        which: *mut c_void,
    ) {
        self.note(call!(RedisModule_RegisterBoolConfig(
            self.context.raw,
            name.as_ptr(),
            c_int::from(default),
            flags,
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

    /// Returns whether the server is Valkey.
    pub(crate) fn is_valkey(&self) -> bool {
        self.context.is_valkey()
    }

    /// The version of the server: 0x070F00 for 7.15.0.
    pub(crate) fn server_version(&self) -> c_int {
        call!(RedisModule_GetServerVersion())
    }
}
