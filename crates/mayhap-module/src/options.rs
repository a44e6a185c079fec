//! The arguments of `BF.RESERVE` and `BF.INSERT`, and the errors about them, in both dialects.

use std::ffi::CStr;

use crate::chain::{Chain, Plan, Refusal};
use crate::ffi::Failure;
use crate::server::{Argument, Context};
use crate::settings::{Dialect, MEMORY, default_plan, expansion};

/// The error texts of a dialect, word by word those of the module that it speaks for.
pub(crate) struct Texts {
    bad_rate: &'static CStr,
    rate_range: &'static CStr,
    bad_capacity: &'static CStr,
    capacity_range: &'static CStr,
    bad_expansion: &'static CStr,
    expansion_range: &'static CStr,
    unknown: &'static CStr,
    /// What `BF.INSERT` says of numbers that are none.
    insert_bad: [&'static CStr; 3],
    most_capacity: i64,
    most_expansion: i64,
    pub(crate) bad_field: &'static CStr,
    pub(crate) no_memory: &'static CStr,
    pub(crate) no_growth: &'static CStr,
    pub(crate) no_rate: &'static CStr,
}

static REDIS: Texts = Texts {
    bad_rate: c"ERR bad error rate",
    rate_range: c"ERR error rate must be in the range (0.000000, 1.000000)",
    bad_capacity: c"ERR bad capacity",
    capacity_range: c"ERR capacity must be in the range [1, 1073741824]",
    bad_expansion: c"ERR bad expansion",
    expansion_range: c"ERR expansion must be in the range [0, 32768]",
    unknown: c"Unknown argument received",
    insert_bad: [c"Bad error rate", c"Bad capacity", c"Bad expansion"],
    most_capacity: 1 << 30,
    most_expansion: 32_768,
    bad_field: c"Invalid information value",
    no_memory: c"ERR Insufficient memory to create filter",
    no_growth: c"ERR problem inserting into filter",
    no_rate: c"ERR problem inserting into filter",
};

static VALKEY: Texts = Texts {
    bad_rate: c"ERR bad error rate",
    rate_range: c"ERR (0 < error rate range < 1)",
    bad_capacity: c"ERR bad capacity",
    capacity_range: c"ERR (capacity should be larger than 0)",
    bad_expansion: c"ERR bad expansion",
    expansion_range: c"ERR bad expansion",
    unknown: c"ERR unknown argument received",
    insert_bad: [
        c"ERR bad error rate",
        c"ERR bad capacity",
        c"ERR bad expansion",
    ],
    most_capacity: i64::MAX,
    most_expansion: u32::MAX as i64,
    bad_field: c"ERR invalid information value",
    no_memory: c"ERR operation exceeds bloom object memory limit",
    no_growth: c"ERR operation exceeds bloom object memory limit",
    no_rate: c"ERR false positive degrades to 0 on scale out",
};

impl Texts {
    /// Those of the dialect in use.
    pub(crate) fn now() -> &'static Texts {
        match Dialect::now() {
            Dialect::Redis => &REDIS,
            Dialect::Valkey => &VALKEY,
        }
    }

    fn rate(&self, argument: &Argument, bad: &'static CStr) -> Result<f64, Failure> {
        let rate: f64 = argument.parse().ok_or(bad)?;
        if !(rate > 0.0 && rate < 1.0) {
            return Err(self.rate_range.into());
        }
        // RedisBloom takes no filter for more than a quarter.
        match Dialect::now() {
            Dialect::Redis => Ok(rate.min(0.25)),
            Dialect::Valkey => Ok(rate),
        }
    }

    fn capacity(&self, argument: &Argument, bad: &'static CStr) -> Result<u64, Failure> {
        let capacity: i64 = argument.parse().ok_or(bad)?;
        if capacity < 1 || capacity > self.most_capacity {
            return Err(self.capacity_range.into());
        }
        Ok(capacity.unsigned_abs())
    }

    /// The number that an argument gives as the expansion: 0 means none.
    fn expansion(&self, argument: &Argument, bad: &'static CStr) -> Result<i64, Failure> {
        let expansion: i64 = argument.parse().ok_or(bad)?;
        if expansion < 0 || expansion > self.most_expansion {
            return Err(self.expansion_range.into());
        }
        Ok(expansion)
    }
}

/// What `BF.INSERT` asks for.
#[derive(Default)]
pub(crate) struct Options {
    /// The filter to make; `None` for that of the settings.
    pub(crate) plan: Option<Plan>,
    /// Whether none is made.
    pub(crate) no_create: bool,
    /// How many keys it has to be able to take in the end.
    pub(crate) scale_to: Option<u64>,
}

/// The plan of `BF.RESERVE key rate capacity [EXPANSION n] [NONSCALING]`.
pub(crate) fn reserve(arguments: &[Argument]) -> Result<Plan, Failure> {
    let [_, _, rate, capacity, rest @ ..] = arguments else {
        return Err(Failure::Arity);
    };
    if rest.len() > 3 {
        return Err(Failure::Arity);
    }
    let texts = Texts::now();
    let mut plan = default_plan();
    plan.rate = texts.rate(rate, texts.bad_rate)?;
    plan.capacity = texts.capacity(capacity, texts.bad_capacity)?;
    match Dialect::now() {
        Dialect::Redis => {
            let at = rest.iter().position(|word| word.is("EXPANSION"));
            let given = match at.map(|at| rest.get(at + 1)) {
                None => None,
                Some(None) => return Err(c"ERR no expansion".into()),
                Some(Some(times)) => Some(texts.expansion(times, texts.bad_expansion)?),
            };
            let is_fixed = rest.iter().any(|word| word.is("NONSCALING"));
            plan.expansion = scaling(plan.expansion, given, is_fixed)?;
        }
        Dialect::Valkey => match rest {
            [] => {}
            [word] if word.is("NONSCALING") => plan.expansion = None,
            [word, times] if word.is("EXPANSION") => {
                plan.expansion = expansion(texts.expansion(times, texts.bad_expansion)?);
            }
            [_] | [_, _] => return Err(texts.unknown.into()),
            _ => return Err(Failure::Arity),
        },
    }
    Ok(plan)
}

/// How a filter expands that was asked for with these words.
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

/// Which option a word is. RedisBloom goes by first letters; what only valkey-bloom has is a whole word in both.
fn word(argument: &Argument) -> Option<Word> {
    for (text, word) in [
        ("TIGHTENING", Word::Tightening),
        ("SEED", Word::Seed),
        ("VALIDATESCALETO", Word::ScaleTo),
        ("CAPACITY", Word::Capacity),
        ("ERROR", Word::Rate),
        ("EXPANSION", Word::Expansion),
        ("NOCREATE", Word::NoCreate),
        ("NONSCALING", Word::Fixed),
        ("ITEMS", Word::Items),
    ] {
        if argument.is(text) {
            return Some(word);
        }
    }
    if Dialect::now() == Dialect::Valkey {
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

/// The options of `BF.INSERT`, and its keys.
pub(crate) fn insert<'a>(
    context: Context<'_>,
    arguments: &'a [Argument],
) -> Result<(Options, &'a [Argument]), Failure> {
    let texts = Texts::now();
    let [bad_rate, bad_capacity, bad_expansion] = texts.insert_bad;
    let mut plan = default_plan();
    let (mut given, mut is_fixed) = (None, false);
    let mut options = Options::default();
    let mut rest = arguments.get(2..).ok_or(Failure::Arity)?;
    let mut items = None;
    while let [first, later @ ..] = rest {
        let word = word(first).ok_or(texts.unknown)?;
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
            Word::Capacity => plan.capacity = texts.capacity(value, bad_capacity)?,
            Word::Rate => plan.rate = texts.rate(value, bad_rate)?,
            Word::Expansion => given = Some(texts.expansion(value, bad_expansion)?),
            // Rates of layers are fixed and keys are hashed without a seed: the words are read and not used.
            Word::Tightening => check_tightening(value)?,
            Word::Seed if value.bytes().len() == 32 => {}
            Word::Seed => return Err(c"ERR invalid seed".into()),
            Word::ScaleTo => options.scale_to = Some(texts.capacity(value, bad_capacity)?),
            Word::Items | Word::NoCreate | Word::Fixed => {}
        }
    }
    plan.expansion = scaling(plan.expansion, given, is_fixed)?;
    if plan.expansion.is_none() && options.scale_to.is_some() {
        return Err(c"ERR cannot use NONSCALING and VALIDATESCALETO options together".into());
    }
    options.plan = Some(plan);
    match items {
        Some([]) => Err(Failure::Arity),
        Some(items) => Ok((options, items)),
        None if Dialect::now() == Dialect::Valkey || context.must_obey() => Ok((options, &[])),
        None => Err(Failure::Arity),
    }
}

fn check_tightening(argument: &Argument) -> Result<(), Failure> {
    let ratio: f64 = argument.parse().ok_or(c"ERR bad tightening ratio")?;
    if ratio > 0.0 && ratio < 1.0 {
        return Ok(());
    }
    Err(c"ERR (0 < tightening ratio range < 1)".into())
}

/// Refuses a filter that could not grow as far as was asked.
pub(crate) fn check_scale(chain: &Chain, keys: Option<u64>) -> Result<(), Failure> {
    let Some(keys) = keys else {
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
