//! The commands of one round trip, and their answers: pure.
//!
//! A [`Frame`] has a unit for each server key it touches: while a slot moves, its keys are on either node.
//! A unit is sent as a whole, again and again until it is answered. A unit that was sent twice may have been
//! carried out twice: its [`Fate`] records that.

use std::collections::HashMap;

use redis::{Cmd, Pipeline, Value};

use crate::slots::ServerKey;
use crate::{Error, Result};

/// A command whose first argument is a server key.
pub(crate) fn command(name: &str, key: &ServerKey) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(&key.key);
    command
}

/// Commands for one server key.
#[derive(Debug)]
struct Unit {
    slot: u16,
    /// Commands that are carried out as one, between `MULTI` and `EXEC`.
    atomic: Vec<Cmd>,
    /// Commands that are carried out after those, one by one.
    plain: Vec<Cmd>,
}

/// A unit as it is sent.
pub(crate) struct Sealed {
    pub(crate) slot: u16,
    /// The number of commands between `MULTI` and `EXEC`, and after them.
    atomic: usize,
    plain: usize,
    pub(crate) pipeline: Pipeline,
}

impl Sealed {
    fn new(unit: Unit) -> Sealed {
        let (atomic, plain) = (unit.atomic.len(), unit.plain.len());
        let mut pipeline = Pipeline::with_capacity(atomic + plain + 2);
        if atomic > 0 {
            pipeline.add_command(redis::cmd("MULTI"));
            for command in unit.atomic {
                pipeline.add_command(command);
            }
            pipeline.add_command(redis::cmd("EXEC"));
        }
        for command in unit.plain {
            pipeline.add_command(command);
        }
        Sealed {
            slot: unit.slot,
            atomic,
            plain,
            pipeline,
        }
    }

    /// The same for a node that is taking over the slot: it needs `ASKING` before a transaction, and
    /// before each other command.
    pub(crate) fn asking(&self) -> Pipeline {
        let mut pipeline = Pipeline::with_capacity(self.pipeline.len() * 2);
        let transaction = if self.atomic > 0 { self.atomic + 2 } else { 0 };
        for (index, command) in self.pipeline.cmd_iter().enumerate() {
            if index == 0 || index >= transaction {
                pipeline.cmd("ASKING");
            }
            pipeline.add_command(command.clone());
        }
        pipeline
    }

    /// Returns whether the server may have carried out any of it, judging by its answers to the pipeline. It has not
    /// when `EXEC` was refused, or every command that sets bits: those answer arrays.
    pub(crate) fn ran(&self, values: &[Value], asking: bool) -> bool {
        let refused = |value: &Value| matches!(value, Value::ServerError(_));
        if self.atomic == 0 {
            return !values.iter().all(refused);
        }
        match values.get(self.atomic + 1 + usize::from(asking)) {
            Some(Value::Array(answers)) => {
                let idle = |value: &Value| refused(value) || matches!(value, Value::Int(_));
                !answers.iter().all(idle)
            }
            Some(answer) => !refused(answer),
            None => true,
        }
    }

    /// Sorts the server's answers to the pipeline.
    pub(crate) fn reply(&self, mut values: Vec<Value>, asking: bool) -> Result<Reply> {
        let refuse = || Error::Server {
            message: "another number of answers than there were commands".into(),
        };
        if asking {
            // Each of these is answered `OK`, as is `MULTI`; no other command is.
            let transaction = if self.atomic > 0 { self.atomic + 3 } else { 0 };
            let mut index = 0;
            values.retain(|_| {
                index += 1;
                let after = index > transaction && (index - transaction) % 2 == 1;
                !(after || index == 1)
            });
        }
        let mut atomic = Vec::new();
        if self.atomic > 0 {
            let plain = values.split_off((self.atomic + 2).min(values.len()));
            match values.pop() {
                Some(Value::Array(answers)) => atomic = answers,
                _ => return Err(refuse()),
            }
            values = plain;
        }
        if atomic.len() != self.atomic || values.len() != self.plain {
            return Err(refuse());
        }
        for answer in atomic.iter().chain(&values) {
            if let Value::ServerError(error) = answer {
                return Err(Error::from_server(error));
            }
        }
        Ok(Reply {
            atomic,
            plain: values,
        })
    }
}

/// The answers to a unit.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    atomic: Vec<Value>,
    plain: Vec<Value>,
}

/// The place of the answer to a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticket {
    pub(crate) unit: usize,
    index: usize,
    atomic: bool,
}

/// The commands of one round trip.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    units: Vec<Unit>,
    by_key: HashMap<String, usize>,
}

impl Frame {
    pub(crate) fn new() -> Frame {
        Frame::default()
    }

    /// The units as they are sent.
    pub(crate) fn seal(self) -> Vec<Sealed> {
        self.units.into_iter().map(Sealed::new).collect()
    }

    fn unit(&mut self, key: &ServerKey) -> usize {
        if let Some(unit) = self.by_key.get(&key.key) {
            return *unit;
        }
        self.units.push(Unit {
            slot: key.slot,
            atomic: Vec::new(),
            plain: Vec::new(),
        });
        let unit = self.units.len() - 1;
        self.by_key.insert(key.key.clone(), unit);
        unit
    }

    /// Adds a command that is carried out together with the other atomic ones of its server key.
    pub(crate) fn atomic(&mut self, key: &ServerKey, command: Cmd) -> Ticket {
        let unit = self.unit(key);
        self.units[unit].atomic.push(command);
        Ticket {
            unit,
            index: self.units[unit].atomic.len() - 1,
            atomic: true,
        }
    }

    /// Adds a command that is carried out after the atomic ones of its server key.
    pub(crate) fn plain(&mut self, key: &ServerKey, command: Cmd) -> Ticket {
        let unit = self.unit(key);
        self.units[unit].plain.push(command);
        Ticket {
            unit,
            index: self.units[unit].plain.len() - 1,
            atomic: false,
        }
    }
}

/// The fate of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Never carried out.
    Unsent,
    /// Perhaps carried out; the answer was lost.
    Lost,
    /// Answered, but it was sent before, and may have been carried out then.
    Repeated,
    /// Answered.
    Answered,
}

/// The answers to a frame, and the fate of each unit.
#[derive(Debug)]
pub(crate) struct Replies(Vec<(Fate, Reply)>);

impl Replies {
    pub(crate) fn new(units: Vec<(Fate, Reply)>) -> Replies {
        Replies(units)
    }

    /// Takes the answer to a command; nil when there was none.
    pub(crate) fn take(&mut self, ticket: Ticket) -> Value {
        let (_, reply) = &mut self.0[ticket.unit];
        let values = if ticket.atomic {
            &mut reply.atomic
        } else {
            &mut reply.plain
        };
        values
            .get_mut(ticket.index)
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// The fate of the unit of a command.
    pub(crate) fn fate(&self, ticket: Ticket) -> Fate {
        self.0[ticket.unit].0
    }
}
