//! The arguments of `MAYHAP.NEW` and `MAYHAP.RESTORE`.

use mayhap::{Assemble as _, Description, Digester, Inserts, Kind, Rotation, Windowed};

use super::error;
use super::value::GENERATIONS;
use crate::bf;
use crate::settings::secret;
use crate::{Argument, Failure};

/// The options of `MAYHAP.NEW` and `MAYHAP.RESTORE`.
pub(super) struct Asked {
    pub(super) capacity: u64,
    pub(super) rate: f64,
    /// The milliseconds of a window by time; 0 for none.
    pub(super) window: u64,
    pub(super) has_secret: bool,
    pub(super) replaces: bool,
}

impl Asked {
    /// Reads `[CAPACITY n] [RATE p] [WINDOW milliseconds] [SECRET] [REPLACE]`.
    pub(super) fn read(mut words: &[impl Argument]) -> Result<Asked, Failure> {
        let plan = bf::Plan::from_settings();
        let mut asked = Asked {
            capacity: plan.capacity,
            rate: plan.rate,
            window: 0,
            has_secret: false,
            replaces: false,
        };
        while let [word, rest @ ..] = words {
            words = rest;
            if word.is("SECRET") {
                asked.has_secret = true;
                continue;
            }
            if word.is("REPLACE") {
                asked.replaces = true;
                continue;
            }
            let [value, rest @ ..] = words else {
                return Err(Failure::Arity);
            };
            words = rest;
            if word.is("CAPACITY") {
                asked.capacity = value
                    .parse()
                    .ok_or(c"ERR CAPACITY is a whole number of keys")?;
            } else if word.is("RATE") {
                asked.rate = value
                    .parse()
                    .ok_or(c"ERR RATE is a number between 0 and 1")?;
            } else if word.is("WINDOW") {
                let window = value.parse().filter(|&window: &u64| window > 0);
                asked.window =
                    window.ok_or(c"ERR WINDOW is a number of milliseconds, at least 1")?;
            } else {
                let word = String::from_utf8_lossy(word.bytes());
                return Err(Failure::Made(format!(
                    "ERR unknown option {word}: CAPACITY, RATE, WINDOW, SECRET and REPLACE are known"
                )));
            }
        }
        Ok(asked)
    }

    pub(super) fn period(&self) -> u64 {
        self.window.div_ceil(GENERATIONS)
    }

    pub(super) fn describe(&self, kind: Kind) -> Result<Description, Failure> {
        let digester = match (self.has_secret, secret()) {
            (false, _) => Digester::default(),
            (true, Some(key)) => Digester::SipHash { key: key.clone() },
            (true, None) => {
                return Err(
                    c"ERR there is no secret: load the module with SECRET and a file".into(),
                );
            }
        };
        if self.window > 0 {
            if kind != Kind::Windowed {
                return Err(c"ERR only the kind windowed has a WINDOW".into());
            }
            // A plan has no option for how generations end: that is taken from a small filter.
            let few = Windowed::with_options(1, 0.01, Rotation::ByCaller).map_err(error)?;
            let detail = few.description().detail;
            let plan = Windowed::plan(self.capacity, self.rate).map_err(error)?;
            let plan = Description { detail, ..plan };
            return plan.hashed_by(digester).map_err(error);
        }
        let plan = kind.plan(self.capacity, self.rate).map_err(error)?;
        match self.has_secret {
            true => plan.hashed_by(digester).map_err(error),
            false => Ok(plan),
        }
    }
}

/// Finds the kind of this name, if keys can be inserted into it one by one.
pub(super) fn made_kind(name: &impl Argument) -> Result<Kind, Failure> {
    let kinds = Kind::ALL.iter().copied();
    let kinds = kinds.filter(|kind| kind.inserts() != Inserts::Never);
    let kind = kinds.clone().find(|kind| name.is(kind.name()));
    kind.ok_or_else(|| {
        let names: Vec<&str> = kinds.map(Kind::name).collect();
        Failure::Made(format!("ERR the kind is one of {}", names.join(", ")))
    })
}
