//! Keys seen lately: a filter per stretch of time, each of which goes away by itself.
//!
//! Time is cut into generations by the clients' clocks. A key is inserted into the generation of now
//! and looked for in that and the last few, so that it is remembered for at least the span asked for,
//! and at most one generation longer. Every insert also looks at the next generation, in the same
//! transaction: exactly one of many clients is told that a key is new as long as their clocks differ
//! by less than a generation.
//!
//! Costs a test per generation for each key, and their rates add up: [`Window::plan`] allows for it.

use std::time::Duration;

use mayhap::{Description, Kind, Stats};
use redis::Value;

use crate::core::Core;
use crate::expiry::now;
use crate::plan::frame_keys;
use crate::router::{Frame, Router, Ticket, Wire};
use crate::settings::{Generation, Options, Placement, Settings};
use crate::shards::make_if_absent;
use crate::slots::ServerKey;
use crate::{Error, Result};

/// How long keys are remembered, and in how many steps they are forgotten.
///
/// ```
/// use std::time::Duration;
/// use mayhap::Kind;
/// use mayhap_redis::Window;
///
/// // The last seven days, forgotten day by day; ten million keys a week, one in a hundred mistaken.
/// let week = Window { span: Duration::from_secs(7 * 24 * 3600), generations: 7 };
/// let day = week.plan(Kind::Blocked, 10_000_000, 0.01)?;
/// assert!(day.promise.is_some_and(|day| day.rate < 0.01 / 7.0));
/// # Ok::<(), mayhap_redis::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// A key is remembered for so long after it was last inserted.
    pub span: Duration,
    /// The steps in which keys are forgotten: 1 to 64.
    pub generations: u32,
}

impl Window {
    /// The description of one generation, when so many keys come evenly within the span and the rate
    /// of the whole window is to be this.
    ///
    /// # Errors
    ///
    /// As [`Kind::plan`].
    pub fn plan(&self, kind: Kind, keys: u64, rate: f64) -> Result<Description> {
        self.check()?;
        let each = keys.div_ceil(u64::from(self.generations));
        Ok(kind.plan(each, rate / f64::from(self.generations + 1))?)
    }

    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |what, got: String, expected: &str| {
            Err(Error::Option {
                what,
                got,
                expected: expected.into(),
            })
        };
        if !(1..=64).contains(&self.generations) {
            return refuse("generations", self.generations.to_string(), "1 to 64");
        }
        let least = u128::from(self.generations) * 100;
        let most = 3_652 * 24 * 3600 * 1000;
        if !(least..=most).contains(&self.span.as_millis()) {
            let span = format!("{:?}", self.span);
            return refuse("span", span, "100 ms for each generation to 10 years");
        }
        Ok(())
    }

    /// The milliseconds of a generation.
    fn step(&self) -> u64 {
        (self.span.as_millis() as u64).div_ceil(u64::from(self.generations))
    }

    /// The line in the settings.
    pub(crate) fn to_text(self) -> String {
        format!("{} {}", self.span.as_millis(), self.generations)
    }

    pub(crate) fn from_text(text: &str) -> Option<Window> {
        let (span, generations) = text.split_once(' ')?;
        let window = Window {
            span: Duration::from_millis(span.parse().ok()?),
            generations: generations.parse().ok()?,
        };
        window.check().is_ok().then_some(window)
    }
}

pub(crate) struct WindowCore<W> {
    router: Router<W>,
    name: String,
    settings: Settings,
    window: Window,
    /// What every generation is like.
    each: Generation,
}

impl<W: Clone> Clone for WindowCore<W> {
    fn clone(&self) -> WindowCore<W> {
        WindowCore {
            router: self.router.clone(),
            name: self.name.clone(),
            settings: self.settings.clone(),
            each: self.each.clone(),
            ..*self
        }
    }
}

impl<W: Wire> WindowCore<W> {
    pub(crate) async fn create(
        mut router: Router<W>,
        name: &str,
        window: Window,
        description: &Description,
        options: &Options,
    ) -> Result<WindowCore<W>> {
        window.check()?;
        let each = Generation::new("w".into(), description, options.shards, None, false)?;
        let mut settings = Settings::of(options);
        settings.window = Some(window);
        let (key, command) = settings.swap(name, Some(&each), None);
        let mut frame = Frame::new();
        let ticket = frame.plain(&key, command);
        let replies = router.run(frame).await;
        let mut replies = replies.map_err(|error| error.named(name))?;
        if replies.take(ticket) != Value::Int(1) {
            return Err(Error::Exists { name: name.into() });
        }
        settings.lines[0] = each.to_line();
        settings.live = Some(each.clone());
        Ok(WindowCore {
            router,
            name: name.into(),
            settings,
            window,
            each,
        })
    }

    /// The window that a filter turned out to be.
    pub(crate) fn of(core: Core<W>) -> std::result::Result<WindowCore<W>, Box<Core<W>>> {
        match (core.settings.window, core.settings.live.clone()) {
            (Some(window), Some(each)) => Ok(WindowCore {
                router: core.router,
                name: core.name,
                settings: core.settings,
                window,
                each,
            }),
            _ => Err(Box::new(core)),
        }
    }

    pub(crate) async fn insert_batch(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        let mut new = Vec::with_capacity(keys.len());
        for keys in keys.chunks(self.frame_keys()) {
            new.extend(self.insert_frame(keys).await?);
        }
        Ok(new)
    }

    async fn insert_frame(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        let now = self.now();
        let mut frame = Frame::new();
        let mut made = Vec::new();
        let mut answers: Vec<(_, Ticket, Vec<Ticket>)> = Vec::with_capacity(keys.len());
        for key in keys {
            let place = self.each.layout.place(key);
            let (unit, current) = self.shard(now, place.shard);
            if !made.contains(&place.shard) {
                made.push(place.shard);
                let bytes = self.each.layout.shard_bytes(place.shard);
                let expires = (now + self.oldest() + 1) * self.window.step();
                make_if_absent(&mut frame, &unit, &current, bytes, expires);
            }
            let set = frame.atomic(&unit, place.set(&current));
            let mut test = |generation| {
                let (_, key) = self.shard(generation, place.shard);
                frame.atomic(&unit, place.test(&key))
            };
            let others = self.others(now).map(&mut test).collect();
            answers.push((place, set, others));
        }
        let look = self.look(&mut frame);
        let replies = self.router.run(frame).await;
        let mut replies = replies.map_err(|error| error.named(&self.name))?;
        self.check(&replies.take(look))?;
        let answer = |(place, set, others): (crate::layout::Place, Ticket, Vec<Ticket>)| {
            let seen = others
                .into_iter()
                .any(|other| place.tested_or_absent(&replies.take(other)));
            place.was_new(&replies.take(set)) && !seen
        };
        Ok(answers.into_iter().map(answer).collect())
    }

    pub(crate) async fn contains_batch(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>> {
        let mut found = Vec::with_capacity(keys.len());
        for keys in keys.chunks(self.frame_keys()) {
            let now = self.now();
            let mut frame = Frame::new();
            let mut answers = Vec::with_capacity(keys.len());
            for key in keys {
                let place = self.each.layout.place(key);
                let tests: Vec<Ticket> = std::iter::once(now)
                    .chain(self.others(now))
                    .map(|generation| {
                        let (unit, key) = self.shard(generation, place.shard);
                        frame.plain(&unit, place.test(&key))
                    })
                    .collect();
                answers.push((place, tests));
            }
            let look = self.look(&mut frame);
            let replies = self.router.run(frame).await;
            let mut replies = replies.map_err(|error| error.named(&self.name))?;
            self.check(&replies.take(look))?;
            found.extend(answers.into_iter().map(|(place, tests)| {
                tests
                    .into_iter()
                    .any(|test| place.tested_or_absent(&replies.take(test)))
            }));
        }
        Ok(found)
    }

    pub(crate) async fn stats(&mut self) -> Result<Stats> {
        let now = self.now();
        let mut all: Option<Stats> = None;
        for generation in now.saturating_sub(self.oldest())..=now {
            let mut ones = Vec::new();
            for shard in 0..self.each.shards {
                let (unit, key) = self.shard(generation, shard);
                let mut frame = Frame::new();
                let mut command = redis::cmd("BITCOUNT");
                let ticket = frame.plain(&unit, command.arg(&key).take());
                let replies = self.router.run(frame).await;
                let mut replies = replies.map_err(|error| error.named(&self.name))?;
                match replies.take(ticket) {
                    Value::Int(count) => ones.push(count.max(0) as u64),
                    _ => ones.push(0),
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
        Ok(all.expect("there is a generation of now"))
    }

    /// Forgets every key.
    pub(crate) async fn clear(&mut self) -> Result<()> {
        let now = self.now();
        // One more on either side, for clocks that differ from ours.
        for generation in now.saturating_sub(self.oldest() + 1)..=now + 1 {
            let mut frame = Frame::new();
            for shard in 0..self.each.shards {
                let (unit, key) = self.shard(generation, shard);
                let mut command = redis::cmd("UNLINK");
                frame.plain(&unit, command.arg(&key).take());
            }
            self.router.run(frame).await?;
        }
        Ok(())
    }

    pub(crate) async fn remove(mut self) -> Result<()> {
        let key = Settings::key(&self.name);
        let mut frame = Frame::new();
        let mut command = redis::cmd("DEL");
        frame.plain(&key, command.arg(&key.key).take());
        self.router.run(frame).await?;
        self.clear().await
    }

    pub(crate) fn description(&self) -> Description {
        self.each.description
    }

    pub(crate) fn shards(&self) -> u32 {
        self.each.shards
    }

    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Refuses what only filters can do.
    pub(crate) fn unable(&self, what: &'static str) -> Error {
        Error::Option {
            what,
            got: "asked of a window".into(),
            expected: "a filter without one".into(),
        }
    }

    /// The number of the generation of now.
    fn now(&self) -> u64 {
        now() / self.window.step()
    }

    /// How many generations back keys are remembered.
    fn oldest(&self) -> u64 {
        u64::from(self.window.generations)
    }

    /// The generations besides that of now: those before, and the next, for clocks that are ahead.
    fn others(&self, now: u64) -> impl Iterator<Item = u64> + use<W> {
        (now.saturating_sub(self.oldest())..now).chain(std::iter::once(now + 1))
    }

    /// The name of a shard in a generation, and what all generations of the shard have in common: they
    /// are in one slot, so that a transaction can span them.
    fn shard(&self, generation: u64, shard: u32) -> (ServerKey, String) {
        let name = &self.name;
        let (unit, key) = match self.settings.placement {
            Placement::Together => (
                format!("mayhap:{{{name}}}:{shard}"),
                format!("mayhap:{{{name}}}:w{generation}:{shard}"),
            ),
            Placement::Spread => (
                format!("mayhap:{{{name}:{shard}}}"),
                format!("mayhap:{{{name}:{shard}}}:w{generation}"),
            ),
        };
        (ServerKey::new(unit), key)
    }

    fn look(&self, frame: &mut Frame) -> Ticket {
        let (key, command) = Settings::read(&self.name);
        frame.plain(&key, command)
    }

    fn check(&self, state: &Value) -> Result<()> {
        if self.settings.says(state) {
            return Ok(());
        }
        Err(Error::Missing {
            name: self.name.clone(),
        })
    }

    fn frame_keys(&self) -> usize {
        let each = frame_keys(self.each.description.hashes);
        (each / (self.window.generations as usize + 2)).max(1)
    }
}
