//! A generation that is a value of mayhap's server module: its commands and answers.
//!
//! The module hashes the keys, and refuses to insert into a missing filter, so neither lengths nor
//! tombstones are needed.

use mayhap::format::native::{self, Metadata};
use mayhap::{AnyFilter, Bitmap, Promise, Stats, bits::Bits};
use redis::{Cmd, Value};

use crate::frame::{Frame, command};
use crate::home::Home;
use crate::remote::Remote;
use crate::router::Wire;
use crate::settings::{Generation, Settings, text};
use crate::slots::ServerKey;
use crate::{Error, Result};

/// The script that makes a value with its expiry, unless it exists: then nothing changes, however often and late it is
/// sent.
const MAKE: &str = "\
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call(ARGV[2], KEYS[1], unpack(ARGV, 3))
redis.call('PEXPIREAT', KEYS[1], ARGV[1])
return 1";

/// The source from which the module makes a filter.
#[derive(Debug)]
pub(crate) enum Recipe {
    /// The kind, capacity and rate, from which the module computes the same description.
    Plan(&'static str, Promise),
    /// A native file.
    File(Vec<u8>),
}

impl Recipe {
    /// The recipe of an empty filter.
    pub(crate) fn empty(generation: &Generation) -> Result<Recipe> {
        let description = &generation.description;
        if let Some(promise) = description.promise {
            let plan = description.kind.plan(promise.keys, promise.rate)?;
            if plan == *description {
                return Ok(Recipe::Plan(description.kind.name(), promise));
            }
        }
        Recipe::file(&AnyFilter::<Bitmap>::new(description)?)
    }

    /// The recipe of a copy of a filter.
    pub(crate) fn file<B: Bits>(filter: &AnyFilter<B>) -> Result<Recipe> {
        let mut file = Vec::new();
        native::write(filter, &Metadata::default(), &mut file)?;
        Ok(Recipe::File(file))
    }

    /// The command that makes it, unless it exists.
    pub(crate) fn make(&self, key: &ServerKey, expires: u64) -> Cmd {
        let mut make = redis::cmd("EVAL");
        make.arg(MAKE).arg(1).arg(&key.key).arg(expires);
        match self {
            Recipe::Plan(kind, Promise { keys, rate }) => {
                make.arg("MAYHAP.NEW").arg(kind);
                make.arg("CAPACITY").arg(keys).arg("RATE").arg(rate);
            }
            Recipe::File(file) => {
                make.arg("MAYHAP.RESTORE").arg(file);
            }
        }
        make
    }
}

/// A command about keys.
pub(crate) fn about(name: &str, key: &ServerKey, keys: &[&[u8]]) -> Cmd {
    let bytes: usize = keys.iter().map(|key| key.len()).sum();
    let mut command = Cmd::with_capacity(2 + keys.len(), name.len() + key.key.len() + bytes);
    command.arg(name).arg(&key.key).arg(keys);
    command
}

/// Parses the module's answers for this many keys; `None` when they are something else.
pub(crate) fn answers(value: &Value, count: usize) -> Option<Vec<bool>> {
    let Value::Array(values) = value else {
        return None;
    };
    let answers: Option<Vec<bool>> = values.iter().map(answer).collect();
    answers.filter(|answers| answers.len() == count)
}

/// Parses the module's answer for a key.
pub(crate) fn answer(value: &Value) -> Option<bool> {
    match value {
        Value::Int(answer @ (0 | 1)) => Some(*answer == 1),
        Value::Boolean(answer) => Some(*answer),
        _ => None,
    }
}

impl<W: Wire> Remote<W> {
    /// Places the generation in the home that was asked for; by default in the module, if there is one that can keep
    /// it.
    pub(crate) async fn settle(
        &mut self,
        generation: Generation,
        wanted: Option<Home>,
    ) -> Result<Generation> {
        match (wanted, generation.clone().at(Home::Module)) {
            (Some(Home::Strings), _) | (None, Err(_)) => Ok(generation),
            (Some(Home::Module), Err(error)) => Err(error),
            (wanted, Ok(settled)) => match (self.has_module().await?, wanted) {
                (true, _) => Ok(settled),
                (false, None) => Ok(generation),
                (false, Some(_)) => Err(Error::NoModule {
                    name: self.name.clone(),
                }),
            },
        }
    }

    /// Returns whether the server that has this name has the module, and lets this user use it.
    async fn has_module(&mut self) -> Result<bool> {
        let mut frame = Frame::new();
        let key = Settings::key(&self.name);
        frame.plain(&key, command("MAYHAP.INFO", &key));
        match self.router.run(frame).await {
            // There is no filter under that key, and the module says so.
            Ok(_) | Err(Error::Lost { .. } | Error::WrongType { .. }) => Ok(true),
            Err(Error::NoModule { .. } | Error::Denied { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the module's figures for a generation; `None` when it is gone.
    pub(crate) async fn value_stats(&mut self, generation: &Generation) -> Result<Option<Stats>> {
        match self.ask_value("MAYHAP.INFO", generation).await? {
            Some(info) => {
                let stats = stats(&info, generation.description.promise);
                stats.map(Some).ok_or_else(|| unexpected(&info))
            }
            None => Ok(None),
        }
    }

    /// Copies a generation; `None` when it is gone.
    pub(crate) async fn value_copy(
        &mut self,
        generation: &Generation,
    ) -> Result<Option<AnyFilter>> {
        match self.ask_value("MAYHAP.DUMP", generation).await? {
            Some(Value::BulkString(file)) => Ok(Some(native::decode(&file, None)?.0)),
            Some(other) => Err(unexpected(&other)),
            None => Ok(None),
        }
    }

    async fn ask_value(&mut self, name: &str, generation: &Generation) -> Result<Option<Value>> {
        let key = self.settings.shard(&self.name, generation, 0);
        let mut frame = Frame::new();
        let ticket = frame.plain(&key, command(name, &key));
        match self.router.run(frame).await {
            Ok(mut replies) => Ok(Some(replies.take(ticket))),
            Err(Error::Lost { .. } | Error::WrongType { .. }) => Ok(None),
            Err(error) => Err(error.named(&self.name)),
        }
    }
}

/// Parses the answer to `MAYHAP.INFO`: names and values in turn, or in pairs.
fn stats(info: &Value, promise: Option<Promise>) -> Option<Stats> {
    let fields: Vec<(&Value, &Value)> = match info {
        Value::Array(values) => values.chunks_exact(2).map(|p| (&p[0], &p[1])).collect(),
        Value::Map(pairs) => pairs.iter().map(|(name, value)| (name, value)).collect(),
        _ => return None,
    };
    let field = |name: &str| {
        let mut fields = fields.iter();
        let found = fields.find(|(field, _)| text(field).is_some_and(|it| it == name));
        found.map(|(_, value)| *value)
    };
    let number = |name: &str| match field(name)? {
        Value::Nil => Some(None),
        value => redis::from_redis_value_ref::<f64>(value).ok().map(Some),
    };
    let whole = |name: &str| match field(name)? {
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    };
    Some(Stats {
        bits: whole("bits")?,
        ones: whole("ones")?,
        keys: number("keys")?,
        rate: number("rate")??,
        promise,
    })
}

pub(crate) fn unexpected(value: &Value) -> Error {
    Error::Server {
        message: format!("{value:?}"),
    }
}
