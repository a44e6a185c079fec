//! The functions that a page calls, over numbers and two buffers.
//!
//! The page asks for room by `input`, writes a key or words there, and calls a function; text and bytes that a function
//! returns are at `output`, `output_length` bytes long. Filters have numbers from 0 on. There is one thread, as in all
//! WebAssembly: a worker has filters of its own.
// Names that a page can call need unsafe attributes; there is no unsafe block. No other crate calls them.
#![allow(unsafe_code, unreachable_pub)]

use std::cell::RefCell;

use mayhap::Kind;

use crate::draw::{self, Form, Numbers};
use crate::{Exhibit, Refusal, Request, json, own, plan};

#[derive(Default)]
struct Desk {
    input: Vec<u8>,
    output: Vec<u8>,
    exhibits: Vec<Option<Exhibit>>,
}

thread_local! {
    static DESK: RefCell<Desk> = RefCell::default();
}

/// The return value for a refusal; the reason is at `output`.
const REFUSED: i32 = -1;

fn with_desk<R>(work: impl FnOnce(&mut Desk) -> R) -> R {
    DESK.with_borrow_mut(work)
}

impl Desk {
    fn refuse(&mut self, refusal: &Refusal) -> i32 {
        self.output = json::error(refusal).into_bytes();
        REFUSED
    }

    /// Calls `work` with an exhibit and the key at `input`; returns 1 or 0 for its answer.
    fn with_key(
        &mut self,
        exhibit: u32,
        work: impl FnOnce(&mut Exhibit, &[u8]) -> Result<bool, Refusal>,
    ) -> i32 {
        let Some(Some(shown)) = self.exhibits.get_mut(exhibit as usize) else {
            return self.refuse(&no_filter());
        };
        match work(shown, &self.input) {
            Ok(answer) => i32::from(answer),
            Err(refusal) => self.refuse(&refusal),
        }
    }

    /// Writes what `shown` makes of an exhibit to the output.
    fn show(&mut self, exhibit: u32, shown: impl FnOnce(&Exhibit, &[u8]) -> Vec<u8>) {
        self.output = match self.exhibits.get(exhibit as usize) {
            Some(Some(exhibit)) => shown(exhibit, &self.input),
            _ => json::error(&no_filter()).into_bytes(),
        };
    }
}

fn no_filter() -> Refusal {
    Refusal::new("other", "there is no such filter")
}

/// Returns the address for this many bytes of input.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: u32) -> *mut u8 {
    with_desk(|desk| {
        desk.input.clear();
        desk.input.resize(length as usize, 0);
        desk.input.as_mut_ptr()
    })
}

/// The address of the output.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    with_desk(|desk| desk.output.as_ptr())
}

/// The bytes of the output.
#[unsafe(no_mangle)]
pub extern "C" fn output_length() -> u32 {
    with_desk(|desk| desk.output.len() as u32)
}

/// Writes the names of kinds and schemes to the output.
#[unsafe(no_mangle)]
pub extern "C" fn names() {
    with_desk(|desk| desk.output = json::names().into_bytes());
}

/// Makes the filter that the words at the input ask for, and returns its number.
#[unsafe(no_mangle)]
pub extern "C" fn make(capacity: f64, rate: f64, bits: f64, hashes: u32) -> i32 {
    with_desk(|desk| {
        let words = String::from_utf8_lossy(&desk.input).into_owned();
        let shape = (bits > 0.0).then_some((bits as u64, hashes));
        let made = Request::new(&words, capacity as u64, rate, shape).and_then(Exhibit::new);
        match made {
            Ok(exhibit) => {
                let free = desk.exhibits.iter().position(Option::is_none);
                let place = free.unwrap_or(desk.exhibits.len());
                match free {
                    Some(free) => desk.exhibits[free] = Some(exhibit),
                    None => desk.exhibits.push(Some(exhibit)),
                }
                place as i32
            }
            Err(refusal) => desk.refuse(&refusal),
        }
    })
}

/// Drops a filter.
#[unsafe(no_mangle)]
pub extern "C" fn forget(exhibit: u32) {
    with_desk(|desk| {
        if let Some(place) = desk.exhibits.get_mut(exhibit as usize) {
            *place = None;
        }
    });
}

/// Inserts the key at the input: 1 when it was definitely new, 0 when it may have been there.
#[unsafe(no_mangle)]
pub extern "C" fn insert(exhibit: u32, label: u32) -> i32 {
    with_desk(|desk| desk.with_key(exhibit, |shown, key| shown.insert(key, label)))
}

/// Looks up the key at the input: 1 when it may be there.
#[unsafe(no_mangle)]
pub extern "C" fn contains(exhibit: u32) -> i32 {
    with_desk(|desk| desk.with_key(exhibit, |shown, key| Ok(shown.contains(key))))
}

/// Removes the key at the input: 0 when it was certainly not there.
#[unsafe(no_mangle)]
pub extern "C" fn remove(exhibit: u32) -> i32 {
    with_desk(|desk| desk.with_key(exhibit, |shown, key| shown.remove(key)))
}

/// Ends a generation.
#[unsafe(no_mangle)]
pub extern "C" fn rotate(exhibit: u32) -> i32 {
    with_desk(|desk| {
        desk.with_key(exhibit, |shown, _| {
            shown.rotate();
            Ok(true)
        })
    })
}

/// Writes what is known about the key at the input to the output.
#[unsafe(no_mangle)]
pub extern "C" fn answer(exhibit: u32) {
    with_desk(|desk| desk.show(exhibit, |shown, key| json::answer(shown, key).into_bytes()));
}

/// Writes the description and statistics of the filter to the output.
#[unsafe(no_mangle)]
pub extern "C" fn about(exhibit: u32) {
    with_desk(|desk| desk.show(exhibit, |shown, _| json::about(shown).into_bytes()));
}

/// Writes the bits of a part, the lowest first, to the output.
#[unsafe(no_mangle)]
pub extern "C" fn part(exhibit: u32, part: u32) {
    with_desk(|desk| {
        desk.show(exhibit, |shown, _| {
            let parts = shown.parts();
            parts
                .get(part as usize)
                .map_or(Vec::new(), |part| part.to_bytes())
        });
    });
}

fn numbers(first: f64, step: f64, count: u32) -> Numbers {
    Numbers {
        first: first as u64,
        step: step as u64,
        count: u64::from(count),
    }
}

/// Inserts the keys of numbers, and returns how many were definitely new.
#[unsafe(no_mangle)]
pub extern "C" fn insert_numbers(
    exhibit: u32,
    form: u32,
    first: f64,
    step: f64,
    count: u32,
) -> f64 {
    with_desk(|desk| {
        let shown = desk.exhibits.get_mut(exhibit as usize);
        let filter = shown.and_then(Option::as_mut).and_then(Exhibit::filter_mut);
        match (filter, Form::numbered(form)) {
            (Some(filter), Some(form)) => {
                let new = draw::insert(filter, numbers(first, step, count), form);
                new.map_or(f64::from(REFUSED), |new| new as f64)
            }
            _ => f64::from(REFUSED),
        }
    })
}

/// Looks up the keys of numbers: returns how many are found, and writes the first hundred to the output.
#[unsafe(no_mangle)]
pub extern "C" fn find_numbers(exhibit: u32, form: u32, first: f64, step: f64, count: u32) -> f64 {
    with_desk(|desk| {
        let shown = desk.exhibits.get(exhibit as usize);
        let filter = shown.and_then(Option::as_ref).and_then(Exhibit::filter);
        let (Some(filter), Some(form)) = (filter, Form::numbered(form)) else {
            return f64::from(REFUSED);
        };
        let found = draw::found(filter, numbers(first, step, count), form);
        desk.output = json::numbers(&found[..found.len().min(100)]).into_bytes();
        found.len() as f64
    })
}

/// Searches the keys of decimal numbers from `first` on for one that an attacker wants: one that is found, or, with
/// `fresh` 1, one all of whose places are empty. Returns the number, or -1 after this many tries.
#[unsafe(no_mangle)]
pub extern "C" fn forge(exhibit: u32, fresh: u32, first: f64, tries: u32) -> f64 {
    with_desk(|desk| {
        let Some(Some(shown)) = desk.exhibits.get(exhibit as usize) else {
            return f64::from(REFUSED);
        };
        let mut key = String::new();
        let wanted = |&number: &u64| {
            let key = Form::Decimal.write(number, &mut key);
            match fresh {
                0 => shown.contains(key),
                _ => {
                    let mut places = shown.places(key).into_iter().flat_map(|layer| layer.places);
                    places.all(|place| place.value == 0)
                }
            }
        };
        let first = first as u64;
        let found = (first..first + u64::from(tries)).find(wanted);
        found.map_or(f64::from(REFUSED), |number| number as f64)
    })
}

/// Measures the rate on the lines at the input, with a filter of the kind with this code, and writes the result to the
/// output. The lines are dropped.
#[unsafe(no_mangle)]
pub extern "C" fn measure(kind: u32, rate: f64) {
    with_desk(|desk| {
        let text = std::mem::take(&mut desk.input);
        let kind = u16::try_from(kind).ok().and_then(Kind::from_code);
        let measured = own::measure(&text, kind.unwrap_or(Kind::Blocked), rate);
        desk.output = match measured {
            Ok(measured) => json::measured(&measured).into_bytes(),
            Err(error) => json::error(&error.into()).into_bytes(),
        };
    });
}

/// Writes the sizes for a capacity and a rate to the output.
#[unsafe(no_mangle)]
pub extern "C" fn plan_for(capacity: f64, rate: f64) {
    with_desk(|desk| {
        desk.output = match plan::plan(capacity as u64, rate) {
            Ok(plan) => json::plan(&plan).into_bytes(),
            Err(error) => json::error(&error.into()).into_bytes(),
        };
    });
}

/// The rate of a standard filter of this many bits and hashes with this many keys.
#[unsafe(no_mangle)]
pub extern "C" fn rate_at(bits: f64, hashes: u32, keys: f64) -> f64 {
    plan::rate(bits as u64, hashes, keys as u64)
}
