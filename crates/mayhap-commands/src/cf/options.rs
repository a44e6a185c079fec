//! The arguments of `CF.RESERVE` and `CF.INSERT`.

use std::ffi::CStr;
use std::ops::RangeInclusive;

use super::{Keys, Layout, Plan};
use crate::settings::MOST_CUCKOO;
use crate::{Argument, Failure, Server};

const BAD_CAPACITY: &CStr = c"Bad capacity";

/// Reads the number of the option `word`, which is in a range.
fn number(word: &str, value: &impl Argument, range: RangeInclusive<u32>) -> Result<u32, Failure> {
    let number: Option<i64> = value.parse();
    let number = number.ok_or_else(|| Failure::Made(format!("Couldn't parse {word}")))?;
    let number = u32::try_from(number).ok();
    let number = number.filter(|number| range.contains(number));
    number.ok_or_else(|| {
        let (least, most) = range.into_inner();
        Failure::Made(format!(
            "{word}: value must be in the range [{least}, {most}]"
        ))
    })
}

/// Reads the plan and the layout of `CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] [LAYOUT name]`.
pub(super) fn reserve<S: Server>(
    server: &S,
    arguments: &[S::Argument],
) -> Result<(Plan, Layout), Failure> {
    let [_, _, capacity, rest @ ..] = arguments else {
        return Err(Failure::Arity);
    };
    if rest.len() % 2 != 0 {
        return Err(Failure::Arity);
    }
    let capacity: i64 = capacity.parse().ok_or(BAD_CAPACITY)?;
    let mut plan = Plan::from_settings();
    let mut layout = None;
    for pair in rest.chunks_exact(2) {
        let (word, value) = (&pair[0], &pair[1]);
        if word.is("LAYOUT") {
            let named = Layout::ALL.into_iter().find(|one| value.is(one.name()));
            layout = Some(named.ok_or(c"LAYOUT: value must be mayhap or redisbloom")?);
            continue;
        }
        let numbers = [
            ("MAXITERATIONS", 1..=65_535, &mut plan.iterations),
            ("BUCKETSIZE", 1..=255, &mut plan.bucket),
            ("EXPANSION", 0..=32_768, &mut plan.expansion),
        ];
        let named = numbers.into_iter().find(|(name, ..)| word.is(name));
        let (name, range, set) = named.ok_or(c"Unknown argument received")?;
        *set = number(name, value, range)?;
    }
    plan.capacity = checked(
        server,
        capacity,
        &plan,
        c"Capacity must be in the range [2 * BUCKETSIZE, 1073741824]",
    )?;
    Ok((plan, layout.unwrap_or_else(|| default_layout(server))))
}

/// The layout of a filter that is made without naming one: in a log, where our own commands name it, that of RedisBloom. Only that
/// layout takes, passes over, refuses and removes the same keys as the server that wrote the log.
pub(super) fn default_layout<S: Server>(server: &S) -> Layout {
    match server.must_obey() {
        true => Layout::RedisBloom,
        false => Layout::Own,
    }
}

/// Checks that a capacity is at least two buckets.
fn checked<S: Server>(
    server: &S,
    capacity: i64,
    plan: &Plan,
    range: &'static CStr,
) -> Result<u64, Failure> {
    let least = 2 * i64::from(plan.bucket);
    if !(least..=MOST_CUCKOO).contains(&capacity) && !server.must_obey() {
        return Err(range.into());
    }
    Ok(capacity.max(1).unsigned_abs())
}

/// The options of an insert.
pub(super) struct Insert {
    pub(super) which: Keys,
    /// The filter to make where there is none; `None` if none is made.
    pub(super) plan: Option<Plan>,
}

impl Insert {
    pub(super) fn by_default(which: Keys) -> Insert {
        let plan = Some(Plan::from_settings());
        Insert { which, plan }
    }

    /// Reads the options of `CF.INSERT`, which are known by their first letters, and returns its keys with them.
    pub(super) fn read<'a, S: Server>(
        server: &S,
        which: Keys,
        arguments: &'a [S::Argument],
    ) -> Result<(Insert, &'a [S::Argument]), Failure> {
        let mut rest = arguments.get(2..).ok_or(Failure::Arity)?;
        let mut plan = Plan::from_settings();
        let mut creates = true;
        loop {
            let [word, later @ ..] = rest else {
                return Err(Failure::Arity);
            };
            rest = later;
            match word.bytes().first().map(u8::to_ascii_uppercase) {
                Some(b'I') => break,
                Some(b'N') => creates = false,
                Some(b'C') => {
                    let [capacity, later @ ..] = rest else {
                        return Err(Failure::Arity);
                    };
                    let capacity = capacity.parse().ok_or(BAD_CAPACITY)?;
                    let range = c"Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
                    plan.capacity = checked(server, capacity, &plan, range)?;
                    rest = later;
                }
                _ => return Err(c"Unknown argument received".into()),
            }
        }
        if rest.is_empty() {
            return Err(Failure::Arity);
        }
        let plan = creates.then_some(plan);
        Ok((Insert { which, plan }, rest))
    }
}
