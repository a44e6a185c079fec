//! The arguments of `BF.RESERVE` and `BF.INSERT`, in both dialects.

use std::ffi::CStr;

use super::dialect::{Dialect, Texts};
use super::redisbloom::MOST_RATE;
use super::{Chain, Plan};
use crate::limits::Refusal;
use crate::settings::{MEMORY, expansion};
use crate::{Argument, Failure, Server};

/// The rules by which arguments are read.
struct Rules {
    texts: &'static Texts,
    dialect: Dialect,
    /// True if another server has accepted the command.
    obeys: bool,
}

impl Rules {
    fn of<S: Server>(server: &S) -> Rules {
        Rules {
            texts: Texts::now(),
            dialect: Dialect::now(),
            obeys: server.must_obey(),
        }
    }

    /// Returns whether words are RedisBloom's. A log may be RedisBloom's in both dialects.
    fn is_redis(&self) -> bool {
        self.dialect == Dialect::Redis || self.obeys
    }

    fn rate(&self, argument: &impl Argument, bad: &'static CStr) -> Result<f64, Failure> {
        let rate: f64 = argument.parse().ok_or(bad)?;
        if !(rate > 0.0 && rate < 1.0) {
            return Err(self.texts.rate_range.into());
        }
        match self.dialect {
            Dialect::Redis => Ok(rate.min(MOST_RATE)),
            Dialect::Valkey => Ok(rate),
        }
    }

    fn capacity(&self, argument: &impl Argument, bad: &'static CStr) -> Result<u64, Failure> {
        let capacity: i64 = argument.parse().ok_or(bad)?;
        if capacity < 1 || capacity > self.texts.most_capacity && !self.obeys {
            return Err(self.texts.capacity_range.into());
        }
        Ok(capacity.unsigned_abs())
    }

    /// Reads an expansion; 0 means none.
    fn expansion(&self, argument: &impl Argument, bad: &'static CStr) -> Result<i64, Failure> {
        let expansion: i64 = argument.parse().ok_or(bad)?;
        if expansion < 0 || expansion > self.texts.most_expansion && !self.obeys {
            return Err(self.texts.expansion_range.into());
        }
        Ok(expansion)
    }

    /// Finds the option that a word names. RedisBloom goes by first letters; options that only valkey-bloom has are whole words in
    /// both dialects.
    fn word(&self, argument: &impl Argument) -> Option<Word> {
        let is_named = |(text, _): &&(&str, Word)| argument.is(text);
        if let Some(&(_, word)) = WORDS.iter().find(is_named) {
            return Some(word);
        }
        if !self.is_redis() {
            return None;
        }
        let letters = argument.bytes().to_ascii_uppercase();
        match letters[..] {
            [b'I', ..] => Some(Word::Items),
            [b'C', ..] => Some(Word::Capacity),
            [b'E', b'R', ..] => Some(Word::Rate),
            [b'E', ..] => Some(Word::Expansion),
            [b'N', _, b'C', ..] => Some(Word::NoCreate),
            [b'N', ..] => Some(Word::Fixed),
            _ => None,
        }
    }
}

/// The module that wrote a command which makes a filter, judged by its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Writer {
    RedisBloom,
    /// This one, valkey-bloom, or RedisBloom in words that all of them know.
    #[default]
    Any,
}

/// The options of `BF.INSERT`.
#[derive(Default)]
pub(super) struct Options {
    /// The filter to make; `None` for the plan of the settings.
    pub(super) plan: Option<Plan>,
    /// Makes no filter where there is none.
    pub(super) no_create: bool,
    /// The number of keys that it must be able to grow to.
    pub(super) scale_to: Option<u64>,
    pub(super) writer: Writer,
}

/// Reads the plan of `BF.RESERVE key rate capacity [EXPANSION n] [NONSCALING]`.
pub(super) fn reserve<S: Server>(server: &S, arguments: &[S::Argument]) -> Result<Plan, Failure> {
    let [_, _, rate, capacity, rest @ ..] = arguments else {
        return Err(Failure::Arity);
    };
    if rest.len() > 3 {
        return Err(Failure::Arity);
    }
    let rules = Rules::of(server);
    let texts = rules.texts;
    let mut plan = Plan::from_settings();
    plan.rate = rules.rate(rate, texts.bad_rate)?;
    plan.capacity = rules.capacity(capacity, texts.bad_capacity)?;
    match rules.is_redis() {
        true => {
            let at = rest.iter().position(|word| word.is("EXPANSION"));
            let given = match at.map(|at| rest.get(at + 1)) {
                None => None,
                Some(None) => return Err(c"ERR no expansion".into()),
                Some(Some(times)) => Some(rules.expansion(times, texts.bad_expansion)?),
            };
            let is_fixed = rest.iter().any(|word| word.is("NONSCALING"));
            plan.expansion = scaling(plan.expansion, given, is_fixed)?;
        }
        false => match rest {
            [] => {}
            [word] if word.is("NONSCALING") => plan.expansion = None,
            [word, times] if word.is("EXPANSION") => {
                plan.expansion = expansion(rules.expansion(times, texts.bad_expansion)?);
            }
            [_] | [_, _] => return Err(texts.unknown.into()),
            _ => return Err(Failure::Arity),
        },
    }
    Ok(plan)
}

/// Decides how a filter expands, by the words given.
fn scaling(
    default: Option<u32>,
    given: Option<i64>,
    is_fixed: bool,
) -> Result<Option<u32>, Failure> {
    match (given, is_fixed) {
        (Some(times), true) if times > 0 => Err(c"Nonscaling filters cannot expand".into()),
        (_, true) => Ok(None),
        (Some(times), false) => Ok(expansion(times)),
        (None, false) => Ok(default),
    }
}

/// An option of `BF.INSERT`.
#[derive(Clone, Copy)]
enum Word {
    Capacity,
    Rate,
    Expansion,
    Tightening,
    Seed,
    ScaleTo,
    NoCreate,
    Fixed,
    Items,
}

const WORDS: [(&str, Word); 9] = [
    ("TIGHTENING", Word::Tightening),
    ("SEED", Word::Seed),
    ("VALIDATESCALETO", Word::ScaleTo),
    ("CAPACITY", Word::Capacity),
    ("ERROR", Word::Rate),
    ("EXPANSION", Word::Expansion),
    ("NOCREATE", Word::NoCreate),
    ("NONSCALING", Word::Fixed),
    ("ITEMS", Word::Items),
];

/// Reads the options of `BF.INSERT`, and returns its keys with them.
pub(super) fn insert<'a, S: Server>(
    server: &S,
    arguments: &'a [S::Argument],
) -> Result<(Options, &'a [S::Argument]), Failure> {
    let rules = Rules::of(server);
    let texts = rules.texts;
    let [bad_rate, bad_capacity, bad_expansion] = texts.insert_bad;
    let mut plan = Plan::from_settings();
    let (mut given, mut is_fixed, mut is_seeded) = (None, false, false);
    let mut options = Options::default();
    let mut rest = arguments.get(2..).ok_or(Failure::Arity)?;
    let mut items = None;
    while let [first, later @ ..] = rest {
        let word = rules.word(first).ok_or(texts.unknown)?;
        rest = later;
        match word {
            Word::Items => {
                items = Some(rest);
                break;
            }
            Word::NoCreate => {
                options.no_create = true;
                continue;
            }
            Word::Fixed => {
                is_fixed = true;
                continue;
            }
            _ => {}
        }
        let [value, later @ ..] = rest else {
            return Err(Failure::Arity);
        };
        rest = later;
        match word {
            Word::Capacity => plan.capacity = rules.capacity(value, bad_capacity)?,
            Word::Rate => plan.rate = rules.rate(value, bad_rate)?,
            Word::Expansion => given = Some(rules.expansion(value, bad_expansion)?),
            // The rates of layers are fixed, and keys are hashed without a seed: these are checked and not used.
            Word::Tightening => check_tightening(value)?,
            Word::Seed if value.bytes().len() == 32 => is_seeded = true,
            Word::Seed => return Err(c"ERR invalid seed".into()),
            Word::ScaleTo => options.scale_to = Some(rules.capacity(value, bad_capacity)?),
            Word::Items | Word::NoCreate | Word::Fixed => {}
        }
    }
    plan.expansion = scaling(plan.expansion, given, is_fixed)?;
    if plan.expansion.is_none() && options.scale_to.is_some() {
        return Err(c"ERR cannot use NONSCALING and VALIDATESCALETO options together".into());
    }
    options.plan = Some(plan);
    // We replicate EXPANSION 0 instead, and valkey-bloom a seed with it.
    if is_fixed && !is_seeded {
        options.writer = Writer::RedisBloom;
    }
    match items {
        Some([]) => Err(Failure::Arity),
        Some(items) => Ok((options, items)),
        None if rules.dialect == Dialect::Valkey || rules.obeys => Ok((options, &[])),
        None => Err(Failure::Arity),
    }
}

fn check_tightening(argument: &impl Argument) -> Result<(), Failure> {
    let ratio: f64 = argument.parse().ok_or(c"ERR bad tightening ratio")?;
    if ratio > 0.0 && ratio < 1.0 {
        return Ok(());
    }
    Err(c"ERR (0 < tightening ratio range < 1)".into())
}

/// Refuses a filter that could not grow as far as was asked.
pub(super) fn check_scale<S: Server>(
    server: &S,
    chain: &Chain,
    keys: Option<u64>,
) -> Result<(), Failure> {
    let Some(keys) = keys.filter(|_| !server.must_obey()) else {
        return Ok(());
    };
    match chain.scales_to(keys, MEMORY.get().unsigned_abs()) {
        Ok(()) => Ok(()),
        Err(Refusal::Rate) => {
            Err(c"ERR provided VALIDATESCALETO causes false positive to degrade to 0".into())
        }
        Err(_) => {
            Err(c"ERR provided VALIDATESCALETO causes bloom object to exceed memory limit".into())
        }
    }
}
