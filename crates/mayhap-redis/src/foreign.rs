//! Filters of other programs: a bare string of bits, set by `SETBIT`, and the Bloom filters of the
//! servers' modules, behind the same calls.

use std::time::Duration;

use mayhap::{Description, Kind, Promise, Scheme, Shape, Stats};
use redis::{Cmd, Value};

use crate::answer::{Heard, note};
use crate::frame::{Fate, Frame, Replies, Ticket};
use crate::home::Home;
use crate::plan::FrameSize;
use crate::router::{Router, Wire};
use crate::settings::text;
use crate::sharding::{KeyBits, MOST_STRING_BITS, Sharding};
use crate::slots::ServerKey;
use crate::value::{answer, answers, unexpected};
use crate::{Answer, Error, Result};

/// The value that the other program keeps under its key.
#[derive(Debug, Clone)]
enum Form {
    /// A string: bit `i` is bit `i` of `SETBIT`.
    Bits {
        layout: Sharding,
        description: Description,
        /// The time to live of a string that an insert makes.
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
            form: self.form.clone(),
        }
    }
}

impl<W: Wire> Foreign<W> {
    /// Opens a string of bits, which need not exist yet.
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
        let (layout, description, _) = Sharding::new(&description, Some(1), MOST_STRING_BITS)?;
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

    /// Opens an existing filter of the module.
    pub(crate) async fn module(router: Router<W>, key: &str) -> Result<Foreign<W>> {
        let mut foreign = Foreign {
            router,
            key: ServerKey::new(key.into()),
            form: Form::Module,
        };
        foreign.stats().await?;
        Ok(foreign)
    }

    /// Makes a new filter of the module.
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

    /// Inserts the keys of one frame, and records the fate of each, whatever else happens.
    pub(crate) async fn insert_frame(
        &mut self,
        keys: &[&[u8]],
        answers: &mut [Answer],
    ) -> Result<()> {
        let Form::Bits { layout, expiry, .. } = self.form.clone() else {
            return self.insert_into_module(keys, answers).await;
        };
        let mut frame = Frame::new();
        if let Some(expiry) = expiry {
            // One byte, as such filters begin: with its time to live, and only if there is no string yet.
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
        let (mut replies, error) = self.router.attempt(frame).await;
        let heard = places.into_iter().map(|(place, set)| Heard {
            unit: set.unit,
            fate: replies.fate(set),
            changed: place.was_new(&replies.take(set)),
            elsewhere: false,
        });
        let heard: Vec<Heard> = heard.collect();
        note(keys, &heard, answers)?;
        self.outcome(error)
    }

    /// Inserts into a filter of the module, which makes one of its own size on the first insert unless the command
    /// forbids it.
    async fn insert_into_module(&mut self, keys: &[&[u8]], answers: &mut [Answer]) -> Result<()> {
        let mut command = self.command("BF.INSERT");
        command.arg("NOCREATE").arg("ITEMS").arg(keys);
        let mut frame = Frame::new();
        let ticket = frame.plain(&self.key, command);
        let (mut replies, error) = self.router.attempt(frame).await;
        let added = replies.take(ticket);
        // A full filter refuses keys one by one, each with an error.
        let mut refused = None;
        let heard = (0..keys.len()).map(|index| {
            let mut heard = Heard {
                unit: ticket.unit,
                fate: replies.fate(ticket),
                changed: None,
                elsewhere: false,
            };
            let Value::Array(values) = &added else {
                return heard;
            };
            match values.get(index) {
                Some(Value::ServerError(error)) => {
                    refused = Some(Error::from_server(error));
                    heard.fate = Fate::Unsent;
                }
                Some(value) => heard.changed = answer(value),
                None => {}
            }
            heard
        });
        let heard: Vec<Heard> = heard.collect();
        note(keys, &heard, answers)?;
        self.outcome(refused.or(error))
    }

    fn outcome(&self, error: Option<Error>) -> Result<()> {
        match error {
            Some(error) => Err(self.missing_if_not_found(error.named(&self.key.key))),
            None => Ok(()),
        }
    }

    /// Looks up the keys of one frame; for each, returns whether it may be in the filter.
    pub(crate) async fn contains_frame(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        let Form::Bits { layout, .. } = self.form.clone() else {
            return self.ask_module(keys).await;
        };
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
        let test = |(place, test): (KeyBits, Ticket)| {
            let answer = replies.take(test);
            let tested = place.tested_or_absent(&answer);
            tested.ok_or_else(|| unexpected(&answer))
        };
        places.into_iter().map(test).collect()
    }

    pub(crate) async fn stats(&mut self) -> Result<Stats> {
        let Form::Bits {
            layout,
            description,
            ..
        } = self.form.clone()
        else {
            return self.module_stats().await;
        };
        match self.ask(self.command("BITCOUNT")).await? {
            Value::Int(ones) => Ok(layout.stats(&description, &[ones.max(0) as u64])),
            other => Err(unexpected(&other)),
        }
    }

    /// Estimates the state from the keys and bytes that the module reports; it does not report its ones.
    async fn module_stats(&mut self) -> Result<Stats> {
        let info = self.ask(self.command("BF.INFO")).await;
        let info = info.map_err(|error| self.missing_if_not_found(error))?;
        let Value::Array(values) = &info else {
            return Err(unexpected(&info));
        };
        let field = |name: &str| {
            let pairs = values.chunks_exact(2);
            let mut named = pairs.filter(|pair| text(&pair[0]).is_some_and(|it| it.contains(name)));
            named.next().map(|pair| &pair[1])
        };
        let number = |name: &str| match field(name) {
            Some(Value::Int(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        let capacity = number("Capacity").filter(|capacity| *capacity > 0);
        let bits = number("Size").and_then(|bytes| bytes.checked_mul(8));
        let (Some(keys), Some(capacity), Some(bits)) = (number("inserted"), capacity, bits) else {
            return Err(unexpected(&info));
        };
        let stated = field("Error rate")
            .and_then(|value| redis::from_redis_value_ref::<f64>(value).ok())
            .filter(|rate| *rate > 0.0 && *rate < 1.0);
        // RedisBloom does not report its rate: this is that of a standard filter of this size when it is full.
        let per_key = bits as f64 / capacity as f64;
        let rate = stated.unwrap_or_else(|| (-per_key * std::f64::consts::LN_2.powi(2)).exp());
        Ok(Stats {
            bits,
            ones: 0,
            keys: Some(keys as f64),
            rate,
            promise: Some(Promise {
                keys: capacity,
                rate,
            }),
        })
    }

    /// Deletes the key.
    pub(crate) async fn remove(&mut self) -> Result<()> {
        self.ask(self.command("UNLINK")).await.map(drop)
    }

    /// The description; a module does not report one.
    pub(crate) fn description(&self) -> Result<Description> {
        match &self.form {
            Form::Bits { description, .. } => Ok(description.clone()),
            Form::Module => Err(self.unable("a description")),
        }
    }

    /// Refuses operations that only filters of this crate have.
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

    /// Looks up keys in the module. It answers *no* where there is no filter, or something else, so the frame asks for
    /// that too.
    async fn ask_module(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        let mut frame = Frame::new();
        let mut command = self.command("BF.MEXISTS");
        let ticket = frame.plain(&self.key, command.arg(keys).take());
        let there = frame.plain(&self.key, self.command("BF.INFO"));
        let replies = self.run(frame).await;
        let mut replies = replies.map_err(|error| self.missing_if_not_found(error))?;
        let found = replies.take(ticket);
        match (answers(&found, keys.len()), replies.take(there)) {
            (Some(found), Value::Array(_)) => Ok(found),
            (Some(_), other) => Err(unexpected(&other)),
            (None, _) => Err(unexpected(&found)),
        }
    }

    /// Recognises the modules' messages for a missing filter.
    fn missing_if_not_found(&self, error: Error) -> Error {
        match error {
            Error::Server { message } if message.contains("not") => Error::Missing {
                name: self.key.key.clone(),
            },
            other => other,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.key.key
    }

    pub(crate) fn frame_size(&self) -> FrameSize {
        match &self.form {
            Form::Bits { description, .. } => FrameSize::of_bits(description.hashes),
            Form::Module => FrameSize::of_keys(),
        }
    }

    pub(crate) fn home(&self) -> Home {
        match self.form {
            Form::Bits { .. } => Home::Strings,
            Form::Module => Home::Module,
        }
    }

    async fn run(&mut self, frame: Frame) -> Result<Replies> {
        let replies = self.router.run(frame).await;
        replies.map_err(|error| error.named(&self.key.key))
    }
}
