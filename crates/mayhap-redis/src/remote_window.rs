//! A window on a server: generations that are made, looked up, and found to be lost.

use std::collections::{HashMap, HashSet};

use mayhap::{Description, Stats};
use redis::{Cmd, Value};

use crate::answer::{Heard, note};
use crate::expiry::now;
use crate::frame::{Fate, Frame, Replies, Ticket};
use crate::home::Home;
use crate::plan::FrameSize;
use crate::remote::{Remote, new_id};
use crate::router::{Router, Wire};
use crate::settings::{Access, Generation, Options, Placement, Settings, text};
use crate::sharding::KeyBits;
use crate::shards::{make_if_absent, portions};
use crate::slots::ServerKey;
use crate::window::Window;
use crate::{Answer, Error, Result};

/// The number of times a batch is repeated because the window was cleared meanwhile.
const CLEARS: u32 = 8;

pub(crate) struct RemoteWindow<W> {
    remote: Remote<W>,
    window: Window,
    /// The description of every generation. Its id changes when the window is cleared.
    each: Generation,
}

impl<W: Clone> Clone for RemoteWindow<W> {
    fn clone(&self) -> RemoteWindow<W> {
        RemoteWindow {
            remote: self.remote.clone(),
            each: self.each.clone(),
            ..*self
        }
    }
}

/// A shard of a generation that is read or written, if it was made.
struct Measured {
    generation: u64,
    bytes: u64,
    length: Ticket,
    /// The time of its server, by which it expires.
    clock: Ticket,
}

impl<W: Wire> RemoteWindow<W> {
    pub(crate) async fn create(
        router: Router<W>,
        name: &str,
        window: Window,
        description: &Description,
        options: &Options,
    ) -> Result<RemoteWindow<W>> {
        window.check()?;
        if let Some(expiry) = options.expiry {
            return Err(Error::Option {
                what: "expiry",
                got: format!("{:?}", expiry.time()),
                expected: "none: a window has its span".into(),
            });
        }
        if options.home == Some(Home::Module) {
            return Err(Error::Option {
                what: "home",
                got: "the module for a window".into(),
                expected: "strings, or MAYHAP.NEW windowed, which the module forgets by itself"
                    .into(),
            });
        }
        let each = Generation::new(window_id(), description, options.shards, None, false)?;
        let mut remote = Remote::unknown(router, name, options, Access::Keys(None));
        remote.keep_secret_of(description);
        remote.settings.window = Some(window);
        match remote.swap(Some(&each), None).await? {
            true => Ok(RemoteWindow {
                remote,
                window,
                each,
            }),
            false => Err(Error::Exists { name: name.into() }),
        }
    }

    /// Makes a window of a filter that turned out to be one.
    pub(crate) fn of(remote: Remote<W>) -> std::result::Result<RemoteWindow<W>, Box<Remote<W>>> {
        match (remote.settings.window, remote.settings.live.clone()) {
            (Some(window), Some(each)) => Ok(RemoteWindow {
                remote,
                window,
                each,
            }),
            _ => Err(Box::new(remote)),
        }
    }

    /// Inserts the keys of one frame, and records the fate of each, whatever else happens.
    pub(crate) async fn insert_frame(
        &mut self,
        keys: &[&[u8]],
        answers: &mut [Answer],
    ) -> Result<()> {
        for _ in 0..CLEARS {
            let now = self.now();
            if !self.remote.settings.made.contains(&now) && !self.make(now).await? {
                continue;
            }
            let mut frame = Frame::new();
            let mut measured = Vec::new();
            let mut met = HashSet::new();
            let mut places: Vec<(_, Ticket, Vec<Ticket>)> = Vec::with_capacity(keys.len());
            for key in keys {
                let place = self.each.layout.place(key);
                let (unit, current) = self.shard(now, place.shard);
                if met.insert(place.shard) {
                    measured.extend(self.measure(&mut frame, now, place.shard, Frame::atomic));
                }
                let set = frame.atomic(&unit, place.set(&current));
                let mut test = |generation| {
                    let (_, key) = self.shard(generation, place.shard);
                    frame.atomic(&unit, place.test(&key))
                };
                let others = self.others(now).map(&mut test).collect();
                places.push((place, set, others));
            }
            for shard in met {
                // What is written where a shard was lost expires with the others.
                let (unit, current) = self.shard(now, shard);
                let mut limit = redis::cmd("PEXPIREAT");
                limit.arg(&current).arg(self.expires(now));
                frame.atomic(&unit, limit);
            }
            let look = self.look(&mut frame);
            let (mut replies, error) = self.remote.router.attempt(frame).await;
            let lost = self.lost(&measured, &mut replies);
            let heard = places.into_iter().map(|(place, set, others)| {
                let tests = others
                    .into_iter()
                    .map(|other| place.tested_or_absent(&replies.take(other)));
                let tests: Option<Vec<bool>> = tests.collect();
                let changed = place.was_new(&replies.take(set));
                let gone = |which: &dyn Fn(u64) -> bool| {
                    let mut lost = lost.iter();
                    lost.any(|(unit, generation)| *unit == set.unit && which(*generation))
                };
                Heard {
                    unit: set.unit,
                    fate: match replies.fate(set) {
                        _ if gone(&|generation| generation == now) => Fate::Unsent,
                        Fate::Unsent => Fate::Unsent,
                        _ if gone(&|_| true) => Fate::Lost,
                        fate => fate,
                    },
                    changed: tests.as_ref().and(changed),
                    elsewhere: tests.is_some_and(|found| found.contains(&true)),
                }
            });
            let heard: Vec<Heard> = heard.collect();
            answers.fill(Answer::Unsent);
            note(keys, &heard, answers)?;
            if let Some(error) = error {
                return Err(error.named(&self.remote.name));
            }
            match (self.follow(&replies.take(look))?, lost.is_empty()) {
                (true, _) => {}
                (false, true) => return Ok(()),
                (false, false) => return Err(self.remote.lost()),
            }
        }
        Err(self.remote.unsettled())
    }

    pub(crate) async fn contains_frame(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        for _ in 0..CLEARS {
            let now = self.now();
            let mut frame = Frame::new();
            let mut met = HashSet::new();
            let mut places = Vec::with_capacity(keys.len());
            for key in keys {
                let place = self.each.layout.place(key);
                met.insert(place.shard);
                let tests: Vec<Ticket> = std::iter::once(now)
                    .chain(self.others(now))
                    .map(|generation| {
                        let (unit, key) = self.shard(generation, place.shard);
                        frame.plain(&unit, place.test(&key))
                    })
                    .collect();
                places.push((place, tests));
            }
            let mut measured = Vec::new();
            for shard in met {
                measured.extend(self.measure(&mut frame, now, shard, Frame::plain));
            }
            let look = self.look(&mut frame);
            let mut replies = self.run(frame).await?;
            let lost = self.lost(&measured, &mut replies);
            if self.follow(&replies.take(look))? {
                continue;
            }
            let found = |(place, tests): (KeyBits, Vec<Ticket>)| {
                let tests = tests
                    .into_iter()
                    .map(|test| place.tested_or_absent(&replies.take(test)));
                let tests: Option<Vec<bool>> = tests.collect();
                tests.map(|found| found.contains(&true))
            };
            let found: Option<Vec<bool>> = places.into_iter().map(found).collect();
            return match found {
                Some(found) if lost.is_empty() => Ok(found),
                _ => Err(self.remote.lost()),
            };
        }
        Err(self.remote.unsettled())
    }

    pub(crate) async fn stats(&mut self) -> Result<Stats> {
        'again: for _ in 0..CLEARS {
            let now = self.now();
            let mut all: Option<Stats> = None;
            for generation in now.saturating_sub(self.oldest())..=now {
                let mut ones = Vec::new();
                for shard in 0..self.each.shards {
                    let (unit, key) = self.shard(generation, shard);
                    let mut frame = Frame::new();
                    let mut command = redis::cmd("BITCOUNT");
                    let ticket = frame.plain(&unit, command.arg(&key).take());
                    let measured = self.measure(&mut frame, now, shard, Frame::plain);
                    let look = self.look(&mut frame);
                    let mut replies = self.run(frame).await?;
                    let lost = self.lost(&measured, &mut replies);
                    if self.follow(&replies.take(look))? {
                        continue 'again;
                    }
                    match replies.take(ticket) {
                        Value::Int(count) if lost.is_empty() => ones.push(count.max(0) as u64),
                        _ => return Err(self.remote.lost()),
                    }
                }
                let stats = self.each.layout.stats(&self.each.description, &ones);
                all = Some(match all {
                    None => stats,
                    Some(all) => Stats {
                        bits: all.bits + stats.bits,
                        ones: all.ones + stats.ones,
                        keys: all.keys.zip(stats.keys).map(|(all, keys)| all + keys),
                        rate: 1.0 - (1.0 - all.rate) * (1.0 - stats.rate),
                        promise: None,
                    },
                });
            }
            return Ok(all.expect("there is a generation of now"));
        }
        Err(self.remote.unsettled())
    }

    /// Forgets every key: its generations have other names from now on.
    pub(crate) async fn clear(&mut self) -> Result<()> {
        for _ in 0..CLEARS {
            self.remote.look().await?;
            self.follow_settings()?;
            let fresh = Generation {
                id: window_id(),
                guard: true,
                ..self.each.clone()
            };
            if self.remote.swap(Some(&fresh), None).await? {
                self.discard().await?;
                self.each = fresh;
                return Ok(());
            }
        }
        Err(self.remote.unsettled())
    }

    pub(crate) async fn remove(mut self) -> Result<()> {
        let key = Settings::key(&self.remote.name);
        let mut frame = Frame::new();
        let mut command = redis::cmd("DEL");
        frame.plain(&key, command.arg(&key.key).take());
        self.run(frame).await?;
        self.discard().await
    }

    /// Deletes the existing shards.
    async fn discard(&mut self) -> Result<()> {
        let now = self.now();
        // One more on either side, for clocks that differ from ours.
        for generation in now.saturating_sub(self.oldest() + 1)..=now + 1 {
            let mut frame = Frame::new();
            for shard in 0..self.each.shards {
                let (unit, key) = self.shard(generation, shard);
                let mut command = redis::cmd("UNLINK");
                frame.plain(&unit, command.arg(&key).take());
            }
            self.run(frame).await?;
        }
        Ok(())
    }

    /// Makes the shards of a generation, and then records that they were made; false when the window was
    /// cleared meanwhile. No client inserts into a generation that was not made, so none is made twice,
    /// and one that is missing is known to be lost.
    async fn make(&mut self, generation: u64) -> Result<bool> {
        for shards in portions(&self.each) {
            let mut frame = Frame::new();
            for shard in shards {
                let (unit, key) = self.shard(generation, shard);
                let bytes = self.each.shard_bytes(shard);
                let make = make_if_absent(&key, bytes, self.expires(generation));
                frame.plain(&unit, make);
            }
            self.run(frame).await?;
        }
        let mut frame = Frame::new();
        let oldest = generation.saturating_sub(self.oldest() + 1);
        let settings = &self.remote.settings;
        let (key, command) = settings.note_made(&self.remote.name, generation, oldest);
        frame.plain(&key, command);
        self.run(frame).await?;
        self.remote.look().await?;
        let cleared = self.follow_settings()?;
        Ok(!cleared && self.remote.settings.made.contains(&generation))
    }

    /// Asks for the lengths of a shard in all generations that were made.
    fn measure(
        &self,
        frame: &mut Frame,
        now: u64,
        shard: u32,
        add: fn(&mut Frame, &ServerKey, Cmd) -> Ticket,
    ) -> Vec<Measured> {
        let (unit, _) = self.shard(now, shard);
        let clock = add(frame, &unit, redis::cmd("TIME"));
        let made = |generation: &u64| self.remote.settings.made.contains(generation);
        let generations = std::iter::once(now).chain(self.others(now)).filter(made);
        let measure = |generation| {
            let (_, key) = self.shard(generation, shard);
            let mut command = redis::cmd("STRLEN");
            command.arg(&key);
            Measured {
                generation,
                bytes: self.each.shard_bytes(shard),
                length: add(frame, &unit, command),
                clock,
            }
        };
        generations.map(measure).collect()
    }

    /// Returns the units whose shards are gone before their time, and the generations of those.
    fn lost(&self, measured: &[Measured], replies: &mut Replies) -> Vec<(usize, u64)> {
        let mut lost = Vec::new();
        let mut clocks: HashMap<usize, u64> = HashMap::new();
        for shard in measured {
            let unit = shard.length.unit;
            let answered = matches!(replies.fate(shard.length), Fate::Answered | Fate::Repeated);
            let clock = *clocks
                .entry(unit)
                .or_insert_with(|| milliseconds(&replies.take(shard.clock)));
            let whole = replies.take(shard.length) == Value::Int(shard.bytes as i64);
            if answered && !whole && clock < self.expires(shard.generation) {
                lost.push((unit, shard.generation));
            }
        }
        lost
    }

    pub(crate) fn name(&self) -> &str {
        &self.remote.name
    }

    pub(crate) fn description(&self) -> Description {
        self.each.description.clone()
    }

    pub(crate) fn shards(&self) -> u32 {
        self.each.shards
    }

    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Refuses operations that only filters have.
    pub(crate) fn unable(&self, what: &'static str) -> Error {
        Error::Option {
            what,
            got: "asked of a window".into(),
            expected: "a filter without one".into(),
        }
    }

    /// The number of the current generation.
    fn now(&self) -> u64 {
        now() / self.window.step()
    }

    /// The expiry of a generation, in milliseconds since 1970.
    fn expires(&self, generation: u64) -> u64 {
        (generation + self.oldest() + 1) * self.window.step()
    }

    /// The number of generations back that keys are remembered.
    fn oldest(&self) -> u64 {
        u64::from(self.window.generations)
    }

    /// The generations besides the current one: those before, and the next, for clocks that are ahead.
    fn others(&self, now: u64) -> impl Iterator<Item = u64> + use<W> {
        (now.saturating_sub(self.oldest())..now).chain(std::iter::once(now + 1))
    }

    /// The name of a shard in a generation, and the part that all generations of the shard have in common: they
    /// are in one slot, so that a transaction can span them.
    fn shard(&self, generation: u64, shard: u32) -> (ServerKey, String) {
        let (name, id) = (&self.remote.name, &self.each.id);
        let (unit, key) = match self.remote.settings.placement {
            Placement::Together => (
                format!("mayhap:{{{name}}}:{shard}"),
                format!("mayhap:{{{name}}}:{id}{generation}:{shard}"),
            ),
            Placement::Spread => (
                format!("mayhap:{{{name}:{shard}}}"),
                format!("mayhap:{{{name}:{shard}}}:{id}{generation}"),
            ),
        };
        (ServerKey::new(unit), key)
    }

    async fn run(&mut self, frame: Frame) -> Result<Replies> {
        let replies = self.remote.router.run(frame).await;
        replies.map_err(|error| error.named(&self.remote.name))
    }

    fn look(&self, frame: &mut Frame) -> Ticket {
        let (key, command) = Settings::read(&self.remote.name);
        frame.plain(&key, command)
    }

    /// Adopts the settings in an answer; returns whether the window was cleared, so that a batch has to be
    /// repeated.
    fn follow(&mut self, state: &Value) -> Result<bool> {
        self.remote.adopt(state)?;
        self.follow_settings()
    }

    fn follow_settings(&mut self) -> Result<bool> {
        let Settings { window, live, .. } = &self.remote.settings;
        let (Some(window), Some(each)) = (*window, live) else {
            // A filter of the same name has replaced the window.
            return Err(Error::Missing {
                name: self.remote.name.clone(),
            });
        };
        if each.id == self.each.id {
            return Ok(false);
        }
        (self.window, self.each) = (window, each.clone());
        Ok(true)
    }

    pub(crate) fn frame_size(&self) -> FrameSize {
        let each = FrameSize::of_bits(self.each.description.hashes);
        each.shared_by(self.window.generations as usize + 2)
    }
}

/// Draws a name for the generations of a window that no other window has, before or after it is cleared.
fn window_id() -> String {
    format!("w{}", new_id())
}

/// The milliseconds since 1970 in the answer to `TIME`; 0, before any expiry, when it is not an answer.
fn milliseconds(answer: &Value) -> u64 {
    let Value::Array(parts) = answer else {
        return 0;
    };
    let number = |part: &Value| text(part).and_then(|text| text.parse::<u64>().ok());
    let mut numbers = parts.iter().filter_map(number);
    let (seconds, micros) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    seconds.saturating_mul(1000).saturating_add(micros / 1000)
}
