//! `CF.*`: the commands of RedisBloom's cuckoo filters, over a [`Nest`].
//!
//! Replies and errors are RedisBloom's in both dialects: valkey-bloom has no such commands. A command that cannot be done whole
//! changes nothing: where a batch finds no room, every key of it that is not there already is reported as refused.

use std::ffi::CStr;

use crate::bf::{ITEM_EXISTS, NOT_FOUND, WRONG_TYPE, allows};
use crate::ffi::{Failure, Outcome};
use crate::nest::{Keys, Nest, Refusal};
use crate::own::Plan;
use crate::pieces::{self, Pieces as _, Place};
use crate::server::{Argument, Context, Found, Key};
use crate::settings::{EXPANSIONS, MOST_CUCKOO, default_cuckoo_plan, secret};

const FULL: &CStr = c"Filter is full";
const EXPANDED: &CStr = c"Maximum expansions reached";
const NO_MEMORY: &CStr = c"ERR Insufficient memory";
const BAD_CAPACITY: &CStr = c"Bad capacity";
const INVALID_POSITION: &CStr = c"Invalid position";

/// A number of an option.
fn number(
    value: &Argument,
    bad: &'static CStr,
    (least, most): (i64, i64),
    range: &'static CStr,
) -> Result<u32, Failure> {
    let number: i64 = value.parse().ok_or(bad)?;
    if !(least..=most).contains(&number) {
        return Err(range.into());
    }
    Ok(number as u32)
}

/// The plan of `CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n]`.
fn asked(arguments: &[Argument]) -> Result<Plan, Failure> {
    let [_, _, capacity, rest @ ..] = arguments else {
        return Err(Failure::Arity);
    };
    if rest.len() % 2 != 0 {
        return Err(Failure::Arity);
    }
    let capacity: i64 = capacity.parse().ok_or(BAD_CAPACITY)?;
    let mut plan = default_cuckoo_plan();
    for pair in rest.chunks_exact(2) {
        let (word, value) = (&pair[0], &pair[1]);
        if word.is("MAXITERATIONS") {
            plan.iterations = number(
                value,
                c"Couldn't parse MAXITERATIONS",
                (1, 65_535),
                c"MAXITERATIONS: value must be in the range [1, 65535]",
            )?;
        } else if word.is("BUCKETSIZE") {
            plan.bucket = number(
                value,
                c"Couldn't parse BUCKETSIZE",
                (1, 255),
                c"BUCKETSIZE: value must be in the range [1, 255]",
            )?;
        } else if word.is("EXPANSION") {
            plan.expansion = number(
                value,
                c"Couldn't parse EXPANSION",
                (0, 32_768),
                c"EXPANSION: value must be in the range [0, 32768]",
            )?;
        } else {
            return Err(c"Unknown argument received".into());
        }
    }
    plan.capacity = checked(
        capacity,
        &plan,
        c"Capacity must be in the range [2 * BUCKETSIZE, 1073741824]",
    )?;
    Ok(plan)
}

/// A capacity of at least two buckets.
fn checked(capacity: i64, plan: &Plan, range: &'static CStr) -> Result<u64, Failure> {
    let least = 2 * i64::from(plan.bucket);
    if !(least..=MOST_CUCKOO).contains(&capacity) {
        return Err(range.into());
    }
    Ok(capacity.unsigned_abs())
}

/// `CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n]`
pub(crate) fn reserve(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let plan = asked(arguments)?;
    let name = &arguments[1];
    let mut key = context.write(name);
    match key.find::<Nest>() {
        Found::Missing => {}
        Found::Other => return Err(WRONG_TYPE.into()),
        Found::Value(_) => return Err(ITEM_EXISTS.into()),
    }
    key.put(made(context, plan)?);
    replicate_making(context, name, plan);
    context.notify(c"cuckoo.reserve", name);
    context.simple(c"OK");
    Ok(())
}

fn made(context: Context<'_>, plan: Plan) -> Result<Nest, Failure> {
    let nest = Nest::new(plan, secret(), &allows(context));
    nest.map_err(|_| NO_MEMORY.into())
}

/// Has the replicas make a filter as it was made here, whatever their own settings are.
fn replicate_making(context: Context<'_>, name: &Argument, plan: Plan) {
    let numbers = [
        plan.capacity,
        plan.bucket.into(),
        plan.iterations.into(),
        plan.expansion.into(),
    ];
    let [capacity, bucket, iterations, expansion] = numbers.map(|number| number.to_string());
    let words: [&[u8]; 7] = [
        capacity.as_bytes(),
        b"BUCKETSIZE",
        bucket.as_bytes(),
        b"MAXITERATIONS",
        iterations.as_bytes(),
        b"EXPANSION",
        expansion.as_bytes(),
    ];
    context.replicate_as(c"CF.RESERVE", name, &words, &[]);
}

/// What an insert asks for, besides its keys.
struct Insert {
    which: Keys,
    /// The filter to make where there is none; `None` if none is made.
    plan: Option<Plan>,
}

impl Insert {
    fn by_default(which: Keys) -> Insert {
        let plan = Some(default_cuckoo_plan());
        Insert { which, plan }
    }

    /// The options of `CF.INSERT`, found by their first letters, and its keys.
    fn read(which: Keys, arguments: &[Argument]) -> Result<(Insert, &[Argument]), Failure> {
        let mut rest = arguments.get(2..).ok_or(Failure::Arity)?;
        let mut plan = default_cuckoo_plan();
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
                    plan.capacity = checked(capacity, &plan, range)?;
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

    /// Inserts keys, into a filter that is made for them where there is none, and has the replicas do the same. Inside is why
    /// keys found no room.
    fn run(
        &self,
        context: Context<'_>,
        name: &Argument,
        keys: &[&[u8]],
        new: &mut [bool],
    ) -> Result<Result<(), Refusal>, Failure> {
        let mut key = context.write(name);
        // What a master has accepted is done here too.
        let most = match context.must_obey() {
            true => usize::MAX,
            false => EXPANSIONS.get() as usize + 1,
        };
        let mut made = None;
        let nest = match key.find::<Nest>() {
            Found::Other => return Err(WRONG_TYPE.into()),
            Found::Value(nest) => nest,
            Found::Missing => {
                let plan = self.plan.ok_or(NOT_FOUND)?;
                made.insert(self::made(context, plan)?)
            }
        };
        match nest.insert(self.which, keys, new, most, &allows(context)) {
            Ok(()) => {}
            Err(Refusal::Memory) => return Err(NO_MEMORY.into()),
            Err(refusal) => {
                // Of a batch that was refused, keys that are there already are still no new ones.
                nest.contains_batch(keys, new);
                new.iter_mut().for_each(|is_found| *is_found = !*is_found);
                return Ok(Err(refusal));
            }
        }
        let is_changed = self.which == Keys::All || new.contains(&true);
        if let (Some(nest), Some(plan)) = (made, self.plan) {
            key.put(nest);
            replicate_making(context, name, plan);
        }
        if is_changed {
            context.replicate();
            context.notify(c"cuckoo.add", name);
        }
        Ok(Ok(()))
    }
}

/// `CF.ADD key key`
pub(crate) fn add(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    add_one(context, arguments, Keys::All)
}

/// `CF.ADDNX key key`
pub(crate) fn addnx(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    add_one(context, arguments, Keys::New)
}

fn add_one(context: Context<'_>, arguments: &[Argument], which: Keys) -> Outcome {
    let [_, name, item] = arguments else {
        return Err(Failure::Arity);
    };
    let mut new = [false];
    match Insert::by_default(which).run(context, name, &[item.bytes()], &mut new)? {
        Ok(()) => context.boolean(which == Keys::All || new[0]),
        Err(Refusal::Expansions) => return Err(EXPANDED.into()),
        Err(_) => return Err(FULL.into()),
    }
    Ok(())
}

/// `CF.INSERT key [CAPACITY n] [NOCREATE] ITEMS key...`
pub(crate) fn insert(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let (keys, is_done) = insert_many(context, arguments, Keys::All)?;
    context.array(keys.len());
    let is_resp3 = context.is_resp3();
    for _ in keys {
        match is_resp3 {
            true => context.boolean(is_done),
            false => context.integer(if is_done { 1 } else { -1 }),
        }
    }
    Ok(())
}

/// `CF.INSERTNX key [CAPACITY n] [NOCREATE] ITEMS key...`
pub(crate) fn insertnx(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let (new, is_done) = insert_many(context, arguments, Keys::New)?;
    context.array(new.len());
    for is_new in new {
        context.integer(match (is_new, is_done) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => -1,
        });
    }
    Ok(())
}

/// Which keys were new, and whether the batch found room.
fn insert_many(
    context: Context<'_>,
    arguments: &[Argument],
    which: Keys,
) -> Result<(Vec<bool>, bool), Failure> {
    let (insert, items) = Insert::read(which, arguments)?;
    let keys: Vec<&[u8]> = items.iter().map(Argument::bytes).collect();
    let mut new = vec![false; keys.len()];
    let done = insert.run(context, &arguments[1], &keys, &mut new)?;
    Ok((new, done.is_ok()))
}

/// The filter that is asked for keys: no key is in a value of another type.
fn looked_up<'k>(key: &'k mut Key<'_>) -> Option<&'k Nest> {
    match key.find::<Nest>() {
        Found::Value(nest) => Some(nest),
        Found::Missing | Found::Other => None,
    }
}

/// `CF.EXISTS key key`
pub(crate) fn exists(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name, item] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = context.read(name);
    let nest = looked_up(&mut key);
    context.boolean(nest.is_some_and(|nest| nest.contains(item.bytes())));
    Ok(())
}

/// `CF.MEXISTS key key...`
pub(crate) fn mexists(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name, items @ ..] = arguments else {
        return Err(Failure::Arity);
    };
    if items.is_empty() {
        return Err(Failure::Arity);
    }
    let keys: Vec<&[u8]> = items.iter().map(Argument::bytes).collect();
    let mut found = vec![false; keys.len()];
    let mut key = context.read(name);
    if let Some(nest) = looked_up(&mut key) {
        nest.contains_batch(&keys, &mut found);
    }
    context.array(found.len());
    for is_found in found {
        context.boolean(is_found);
    }
    Ok(())
}

/// `CF.COUNT key key`
pub(crate) fn count(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name, item] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = context.read(name);
    let nest = looked_up(&mut key);
    let count = nest.map_or(0, |nest| nest.count(item.bytes()));
    context.integer(count as i64);
    Ok(())
}

/// The filter under a key; `missing` is the error where there is none.
fn needed<'k>(key: &'k mut Key<'_>, missing: &'static CStr) -> Result<&'k mut Nest, Failure> {
    match key.find::<Nest>() {
        Found::Value(nest) => Ok(nest),
        Found::Missing => Err(missing.into()),
        Found::Other => Err(WRONG_TYPE.into()),
    }
}

/// `CF.DEL key key`
pub(crate) fn del(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name, item] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = context.write(name);
    let is_removed = needed(&mut key, c"Not found")?.remove(item.bytes());
    if is_removed {
        context.replicate();
        context.notify(c"cuckoo.del", name);
    }
    context.boolean(is_removed);
    Ok(())
}

/// `CF.COMPACT key`
pub(crate) fn compact(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = context.write(name);
    needed(&mut key, c"Cuckoo filter was not found")?.compact();
    context.replicate();
    context.notify(c"cuckoo.compact", name);
    context.simple(c"OK");
    Ok(())
}

/// What `CF.INFO` and `CF.DEBUG` report: the name in either, and the number.
fn fields(nest: &Nest) -> [(&'static CStr, &'static str, u64); 8] {
    let facts = nest.facts();
    [
        (c"Size", "bytes", nest.bytes()),
        (c"Number of buckets", "buckets", facts.buckets),
        (c"Number of filters", "filters", facts.layers),
        (c"Number of items inserted", "items", nest.keys()),
        (c"Number of items deleted", "deletes", facts.removed),
        (c"Bucket size", "bktsize", facts.bucket.into()),
        (c"Expansion rate", "expansion", facts.expansion.into()),
        (c"Max iterations", "max_iterations", facts.iterations.into()),
    ]
}

/// `CF.INFO key`
pub(crate) fn info(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = context.read(name);
    let fields = fields(needed(&mut key, NOT_FOUND)?);
    context.map(fields.len());
    for (name, _, value) in fields {
        context.simple(name);
        context.integer(value as i64);
    }
    Ok(())
}

/// `CF.DEBUG key`
pub(crate) fn debug(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = context.read(name);
    let fields = fields(needed(&mut key, NOT_FOUND)?);
    let fields = fields.map(|(_, name, value)| format!("{name}:{value}"));
    context.bulk(fields.join(" ").as_bytes());
    Ok(())
}

/// `CF.SCANDUMP key iterator`
pub(crate) fn scandump(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name, iterator] = arguments else {
        return Err(Failure::Arity);
    };
    let mut key = context.read(name);
    let nest = needed(&mut key, NOT_FOUND)?;
    let iterator: u64 = iterator.parse().ok_or(INVALID_POSITION)?;
    context.array(2);
    if nest.keys() == 0 {
        context.integer(0);
        context.null();
        return Ok(());
    }
    let (next, piece) = pieces::piece(nest, iterator).unwrap_or_default();
    context.integer(next as i64);
    context.bulk(&piece);
    Ok(())
}

/// `CF.LOADCHUNK key iterator piece`
pub(crate) fn loadchunk(context: Context<'_>, arguments: &[Argument]) -> Outcome {
    let [_, name, iterator, piece] = arguments else {
        return Err(Failure::Arity);
    };
    let iterator: Option<u64> = iterator.parse();
    let iterator = iterator.filter(|&at| at > 0).ok_or(INVALID_POSITION)?;
    let piece = piece.bytes();
    let mut key = context.write(name);
    match key.find::<Nest>() {
        Found::Other => return Err(WRONG_TYPE.into()),
        Found::Missing if iterator == 1 => {
            let nest = Nest::begin(piece, secret(), &allows(context));
            key.put(nest.map_err(|_| c"Invalid header")?);
        }
        Found::Missing => return Err(NOT_FOUND.into()),
        Found::Value(_) if iterator == 1 => return Err(ITEM_EXISTS.into()),
        Found::Value(nest) => {
            let refused = c"Couldn't load chunk!";
            let (place, bits) = pieces::locate(nest, iterator, piece).map_err(|_| refused)?;
            match place {
                Place::At(layer, start) if nest.load_bits(layer, start, bits) => {}
                _ => return Err(refused.into()),
            }
        }
    }
    context.replicate();
    context.notify(c"cuckoo.loadchunk", name);
    context.simple(c"OK");
    Ok(())
}
