//! Filters of other programs: a bare string of bits, as post 003 has it, and the Bloom filters of the
//! servers' modules, behind the same calls.

use std::time::Duration;

use mayhap::{Description, Kind, Promise, Scheme, Shape, Stats};
use redis::{Cmd, Value};

use crate::layout::Layout;
use crate::plan::frame_keys;
use crate::router::{Frame, Router, Wire};
use crate::slots::ServerKey;
use crate::{Error, Result};

/// What the other program keeps under its key.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// A string: bit `i` is what `SETBIT` calls `i`.
    Bits {
        layout: Layout,
        description: Description,
        /// The time to live of a string that is made.
        expiry: Option<Duration>,
    },
    /// A filter of the module, which hashes by itself.
    Module,
}

pub(crate) struct Foreign<W> {
    router: Router<W>,
    key: ServerKey,
    form: Form,
}

impl<W: Clone> Clone for Foreign<W> {
    fn clone(&self) -> Foreign<W> {
        Foreign {
            router: self.router.clone(),
            key: self.key.clone(),
            ..*self
        }
    }
}

impl<W: Wire> Foreign<W> {
    /// A string of bits, which need not be there yet.
    pub(crate) fn bits(
        router: Router<W>,
        key: &str,
        shape: Shape,
        scheme: Scheme,
        expiry: Option<Duration>,
    ) -> Result<Foreign<W>> {
        let description = Description {
            kind: Kind::Bloom,
            hashing: scheme.into(),
            bits: shape.bits(),
            hashes: shape.hashes(),
            detail: 0,
            promise: None,
        };
        let (layout, description, _) = Layout::new(&description, Some(1))?;
        let form = Form::Bits {
            layout,
            description,
            expiry,
        };
        Ok(Foreign {
            router,
            key: ServerKey::new(key.into()),
            form,
        })
    }

    /// A filter of the module that is there.
    pub(crate) async fn module(router: Router<W>, key: &str) -> Result<Foreign<W>> {
        let mut foreign = Foreign {
            router,
            key: ServerKey::new(key.into()),
            form: Form::Module,
        };
        foreign.stats().await?;
        Ok(foreign)
    }

    /// A new filter of the module.
    pub(crate) async fn create_module(
        router: Router<W>,
        key: &str,
        promise: Promise,
    ) -> Result<Foreign<W>> {
        let mut foreign = Foreign {
            router,
            key: ServerKey::new(key.into()),
            form: Form::Module,
        };
        let mut command = foreign.command("BF.RESERVE");
        command.arg(promise.rate).arg(promise.keys);
        foreign.ask(command).await?;
        Ok(foreign)
    }

    pub(crate) async fn insert_batch(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        let Form::Bits {
            layout,
            description,
            expiry,
        } = self.form
        else {
            return self.ask_each("BF.MADD", keys).await;
        };
        let mut new = Vec::with_capacity(keys.len());
        for keys in keys.chunks(frame_keys(description.hashes)) {
            let mut frame = Frame::new();
            if let Some(expiry) = expiry {
                // One byte, as the post makes it: with its time to live, and only if there is none.
                let mut command = self.command("SET");
                command.arg(b"\0").arg("NX");
                command.arg("PX").arg(expiry.as_millis().max(1) as u64);
                frame.atomic(&self.key, command);
            }
            let places: Vec<_> = keys
                .iter()
                .map(|key| {
                    let place = layout.place(key);
                    let set = frame.atomic(&self.key, place.set(&self.key.key));
                    (place, set)
                })
                .collect();
            let mut replies = self.run(frame).await?;
            let answers = places
                .into_iter()
                .map(|(place, set)| place.was_new(&replies.take(set)));
            new.extend(answers);
        }
        Ok(new)
    }

    pub(crate) async fn contains_batch(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        let Form::Bits {
            layout,
            description,
            ..
        } = self.form
        else {
            return self.ask_each("BF.MEXISTS", keys).await;
        };
        let mut found = Vec::with_capacity(keys.len());
        for keys in keys.chunks(frame_keys(description.hashes)) {
            let mut frame = Frame::new();
            let places: Vec<_> = keys
                .iter()
                .map(|key| {
                    let place = layout.place(key);
                    let test = frame.plain(&self.key, place.test(&self.key.key));
                    (place, test)
                })
                .collect();
            let mut replies = self.run(frame).await?;
            let answers = places
                .into_iter()
                .map(|(place, test)| place.tested_or_absent(&replies.take(test)));
            found.extend(answers);
        }
        Ok(found)
    }

    pub(crate) async fn stats(&mut self) -> Result<Stats> {
        let Form::Bits {
            layout,
            description,
            ..
        } = self.form
        else {
            return self.module_stats().await;
        };
        match self.ask(self.command("BITCOUNT")).await? {
            Value::Int(ones) => Ok(layout.stats(&description, &[ones.max(0) as u64])),
            other => Err(unexpected(&other)),
        }
    }

    /// The module tells how many keys it took and how many bytes it has, but not its ones.
    async fn module_stats(&mut self) -> Result<Stats> {
        let info = match self.ask(self.command("BF.INFO")).await {
            Err(Error::Server { message }) if message.contains("not") => {
                return Err(Error::Missing {
                    name: self.key.key.clone(),
                });
            }
            other => other?,
        };
        let fields: Vec<(String, Value)> = match info {
            Value::Array(values) => values
                .chunks(2)
                .filter_map(|pair| Some((crate::settings::text(&pair[0])?, pair.get(1)?.clone())))
                .collect(),
            other => return Err(unexpected(&other)),
        };
        let number = |name: &str| {
            let field = fields.iter().find(|(field, _)| field.contains(name));
            match field {
                Some((_, Value::Int(number))) => Some((*number).max(0) as u64),
                _ => None,
            }
        };
        let keys = number("inserted").unwrap_or(0);
        let capacity = number("Capacity").unwrap_or(0).max(1);
        let bits = number("Size").unwrap_or(0) * 8;
        let rate = fields
            .iter()
            .find(|(field, _)| field.contains("Error rate"));
        let rate = rate.and_then(|(_, value)| redis::from_redis_value_ref::<f64>(value).ok());
        Ok(Stats {
            bits,
            ones: 0,
            keys: Some(keys as f64),
            rate: rate.unwrap_or(f64::NAN),
            promise: rate.map(|rate| Promise {
                keys: capacity,
                rate,
            }),
        })
    }

    /// Deletes the key.
    pub(crate) async fn remove(&mut self) -> Result<()> {
        self.ask(self.command("UNLINK")).await.map(drop)
    }

    /// The description; a module does not tell one.
    pub(crate) fn description(&self) -> Result<Description> {
        match self.form {
            Form::Bits { description, .. } => Ok(description),
            Form::Module => Err(self.unable("a description")),
        }
    }

    /// Refuses what only filters of this crate can do.
    pub(crate) fn unable(&self, what: &'static str) -> Error {
        Error::Option {
            what,
            got: "asked of a filter of another program".into(),
            expected: "a filter that mayhap made".into(),
        }
    }

    fn command(&self, name: &str) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(&self.key.key);
        command
    }

    async fn ask(&mut self, command: Cmd) -> Result<Value> {
        let mut frame = Frame::new();
        let ticket = frame.plain(&self.key, command);
        Ok(self.run(frame).await?.take(ticket))
    }

    /// A command of the module with many keys, and its answer to each.
    async fn ask_each(&mut self, command: &str, keys: &[&[u8]]) -> Result<Vec<bool>> {
        let mut answers = Vec::with_capacity(keys.len());
        for keys in keys.chunks(frame_keys(1)) {
            let mut command = self.command(command);
            command.arg(keys);
            let Value::Array(values) = self.ask(command).await? else {
                return Err(unexpected(&Value::Nil));
            };
            if values.len() != keys.len() {
                return Err(unexpected(&Value::Array(values)));
            }
            for value in values {
                match value {
                    Value::Int(answer) => answers.push(answer == 1),
                    Value::Boolean(answer) => answers.push(answer),
                    other => return Err(unexpected(&other)),
                }
            }
        }
        Ok(answers)
    }

    async fn run(&mut self, frame: Frame) -> Result<crate::router::Replies> {
        let replies = self.router.run(frame).await;
        replies.map_err(|error| error.named(&self.key.key))
    }
}

fn unexpected(value: &Value) -> Error {
    Error::Server {
        message: format!("{value:?}"),
    }
}
