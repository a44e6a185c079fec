//! Random options and inputs of `uniq`, against a model: the right lines in the right order, a loss that is within its
//! stated error, and options that mean nothing refused before a line is printed.
//!
//! Stores that lose nothing must print exactly what the model does. A filter may take a new key for a repeat: then every
//! other line must be as in the model, and the number of such keys within six standard deviations of the one stated
//! (three stated errors, and six keys where a Poisson number is not normal). Of all these runs 5 % are expected outside
//! two; at most five standard deviations more may be.

mod choice;
mod inputs;
mod lines;
mod options;
mod plan;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::Value;

use crate::env::{Outcome, TestEnv};
use mayhap_testing::turns::{random, rounds, seed};

use choice::{Expected, Keys, Piece, Sure, expected};
use inputs::{Amount, Input};
use options::{Options, Store};

/// The option sets of a short turn.
const SETS: u64 = 600;

/// The result of some rounds.
#[derive(Default)]
struct Tally {
    runs: u64,
    refused: u64,
    /// By hundredths of the capacity, rounded up to a power of ten: the runs that may lose lines, the keys that were
    /// new, those lost, and the runs in which the number stated was off by more than its error.
    by_load: BTreeMap<u64, [u64; 4]>,
    failures: Vec<String>,
}

/// A loss, as it is stated and as it is.
struct Loss {
    stated: f64,
    error: f64,
    lost: u64,
}

impl Loss {
    /// The error of the stated number, with one key allowed for what cannot be halved.
    fn is_outside(&self) -> bool {
        (self.stated - self.lost as f64).abs() > self.error + 1.0
    }

    fn check(&self) -> Result<(), String> {
        let off = (self.stated - self.lost as f64).abs();
        match off <= 3.0 * self.error + 6.0 {
            true => Ok(()),
            false => Err(format!(
                "{} lost, {} ± {} stated",
                self.lost, self.stated, self.error
            )),
        }
    }
}

/// One command, which can be repeated.
struct Case<'a> {
    env: &'a TestEnv,
    round: u64,
    words: Vec<String>,
    input: &'a Input,
}

impl Case<'_> {
    fn run(&self) -> Outcome {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        self.input.give(self.env, self.env.mayhap(&words)).run()
    }

    /// Adds to what went wrong all that is needed to see it again.
    fn expect<T>(&self, compared: Result<T, String>, outcome: &Outcome) -> Result<T, String> {
        compared.map_err(|why| {
            self.input.keep(self.env);
            let folder = format!("model-{}-{}", seed(), self.round);
            let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
            fs::create_dir_all(&folder).expect("ours");
            for name in self.env.names() {
                fs::copy(self.env.path(&name), folder.join(&name)).expect("ours");
            }
            format!(
                "MAYHAP_SEED={} round {}: {why}\nmayhap {:?} {:?}\nin {}\nexit {:?}, {}",
                seed(),
                self.round,
                self.words,
                self.input.names(),
                folder.display(),
                outcome.exit_code(),
                outcome.stderr,
            )
        })
    }
}

#[test]
fn random_options_and_inputs_print_what_the_model_does_and_lose_what_they_state() {
    let rounds = rounds(SETS);
    let tally = Mutex::new(Tally::default());
    let next = AtomicU64::new(0);

    let threads = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut round = next.fetch_add(1, Ordering::Relaxed);
                while round < rounds {
                    if let Err(failure) = torture(round, &tally) {
                        tally.lock().expect("no panic").failures.push(failure);
                    }
                    round = next.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });

    let Tally {
        runs,
        refused,
        by_load,
        failures,
    } = tally.into_inner().expect("no panic");
    println!("{rounds} sets, {runs} runs, {refused} refused");
    for failure in &failures {
        println!("{failure}\n");
    }
    assert!(failures.is_empty(), "{} rounds failed", failures.len());
    let (mut lossy, mut outside) = (0, 0);
    for (load, [runs, new, lost, off]) in by_load {
        println!(
            "up to {load:6} % of capacity: {runs} runs, {lost} of {new} keys lost, {off} outside"
        );
        lossy += runs;
        outside += off;
    }
    let most = 0.05 * lossy as f64;
    assert!(
        outside as f64 <= most + 5.0 * most.sqrt() + 5.0,
        "{outside} of {lossy} losses are off by more than their stated errors"
    );
}

/// One set of options, on one input or two.
fn torture(round: u64, tally: &Mutex<Tally>) -> Result<(), String> {
    let mut random = random("model", round);
    let amount = Amount::draw(&mut random);
    let options = Options::draw(&mut random, amount.distinct.max(1));
    let input = Input::draw(&mut random, &options, amount, 0, "in");
    let env = TestEnv::new();
    env.write_private("secret", b"sixteen bytes ok");
    let mut seen = Keys::new();
    if let Store::Seen(plan) = &options.store
        && let Some(words) = plan.new_words()
    {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let made = env.mayhap(&words).run();
        if made.exit_code() != Some(0) {
            return Err(format!("round {round}: mayhap {words:?}: {}", made.stderr));
        }
    }

    if random.once_in(4) {
        let spoilers = options.spoilers();
        let spoiler = random.pick(&spoilers);
        refuse(round, &env, &input, options.words(), spoiler)?;
        tally.lock().expect("no panic").refused += 1;
    }
    let is_done = try_once(round, &env, &options, &input, &mut seen, tally)?;
    let Store::Seen(plan) = &options.store else {
        return Ok(());
    };
    if !is_done || plan.is_for_one_run {
        return Ok(());
    }
    if let Some(spoiler) = plan.other(&mut random) {
        let words = ["uniq", "--seen=seen", spoiler].map(str::to_owned);
        let secret = plan.has_secret.then(|| "--secret-file=secret".to_owned());
        refuse(
            round,
            &env,
            &input,
            words.into_iter().chain(secret).collect(),
            "",
        )?;
        tally.lock().expect("no panic").refused += 1;
    }
    let again = Amount::draw(&mut random);
    let first = random.below(2 * amount.distinct + 2);
    let second = Input::draw(&mut random, &options, again, first, "next");
    // One that begins as the first is read from where that ended.
    if !second.begins_as(&input) {
        try_once(round, &env, &options, &second, &mut seen, tally)?;
    }
    Ok(())
}

/// Runs the options with words that spoil them: nothing is printed.
fn refuse(
    round: u64,
    env: &TestEnv,
    input: &Input,
    mut words: Vec<String>,
    spoiler: &str,
) -> Result<(), String> {
    words.extend(
        spoiler
            .split(' ')
            .filter(|word| !word.is_empty())
            .map(str::to_owned),
    );
    let case = Case {
        env,
        round,
        words,
        input,
    };
    let outcome = case.run();
    let is_refused = outcome.exit_code() == Some(2)
        && outcome.stdout.is_empty()
        && outcome.stderr.starts_with("error: ");
    let compared = match is_refused {
        true => Ok(()),
        false => Err(format!("`{spoiler}` is not refused")),
    };
    case.expect(compared, &outcome)
}

/// Runs the options once, and compares; whether the run went to its end.
fn try_once(
    round: u64,
    env: &TestEnv,
    options: &Options,
    input: &Input,
    seen: &mut Keys,
    tally: &Mutex<Tally>,
) -> Result<bool, String> {
    let expected = expected(options, &input.lines, seen);
    let case = Case {
        env,
        round,
        words: options.words(),
        input,
    };
    let mut outcome = case.run();
    if let Some(name) = options.output().filter(|name| env.path(name).exists()) {
        let printed = std::mem::replace(&mut outcome.stdout, env.read(name));
        let compared = match printed.is_empty() {
            true => Ok(()),
            false => Err("printed in spite of -o".into()),
        };
        case.expect(compared, &outcome)?;
    }
    let offered = seen.len() as u64;
    let loss = case.expect(compare(options, &expected, &outcome, offered), &outcome)?;

    let mut tally = tally.lock().expect("no panic");
    tally.runs += 1;
    if let Some(loss) = loss.filter(|_| options.may_lose()) {
        let capacity = match &options.store {
            Store::Filter(plan) | Store::Seen(plan) => plan.capacity,
            _ => None,
        };
        let load = (offered * 100).div_ceil(capacity.unwrap_or(offered).max(1));
        let load = [10, 100, 1000, 10_000]
            .into_iter()
            .find(|most| load <= *most);
        let sums = tally.by_load.entry(load.unwrap_or(100_000)).or_default();
        let outside = u64::from(loss.is_outside());
        for (sum, more) in sums.iter_mut().zip([1, expected.new, loss.lost, outside]) {
            *sum += more;
        }
    }
    Ok(outcome.exit_code() == Some(0))
}

/// Compares a run with what is expected of it. Returns its loss where it went to its end.
fn compare(
    options: &Options,
    expected: &Expected,
    outcome: &Outcome,
    offered: u64,
) -> Result<Option<Loss>, String> {
    let limit = match &options.store {
        Store::Filter(plan) | Store::Seen(plan) => plan.limit(),
        _ => None,
    };
    let said = |words: &str| outcome.stderr.contains(words);
    let is_full = said(" would hold ") || said(" the filter is full");
    if is_full && limit.is_none_or(|limit| offered <= limit) {
        return Err(format!(
            "it is not full: {offered} keys are offered, {limit:?} fit"
        ));
    }
    let lost = match_pieces(&outcome.stdout, &expected.pieces, options, is_full)?;
    let code = if is_full || expected.fails { 2 } else { 0 };
    if outcome.exit_code() != Some(code) {
        return Err(format!("exit {code} is expected"));
    }
    if code != 0 {
        return Ok(None);
    }
    if let Some(limit) = limit
        && offered as f64 > 2.0 * limit as f64 + 10.0 * (limit as f64).sqrt() + 10.0
    {
        return Err(format!(
            "it is full: {offered} keys are offered, {limit} fit"
        ));
    }

    let summary = outcome.stderr.lines().find(|line| line.starts_with('{'));
    let summary: Value =
        serde_json::from_str(summary.unwrap_or("")).map_err(|error| error.to_string())?;
    for (name, expected) in [("lines", expected.lines), ("distinct", expected.new - lost)] {
        if summary[name] != expected {
            return Err(format!("{name} is {}, not {expected}", summary[name]));
        }
    }
    let number = |name: &str| {
        summary[name]
            .as_f64()
            .filter(|number| number.is_finite() && *number >= 0.0)
    };
    let loss = match (number("expected_losses"), number("expected_losses_error")) {
        (Some(stated), Some(error)) => Loss {
            stated,
            error,
            lost,
        },
        _ => return Err(format!("no loss is stated: {summary}")),
    };
    match options.may_lose() {
        true => loss.check()?,
        false if loss.stated > 1e-3 => {
            return Err(format!("{} are stated to be lost", loss.stated));
        }
        false => {}
    }
    Ok(Some(loss))
}

/// Finds the pieces in what was printed, in order and with nothing between them. Returns how many new keys were taken
/// for repeats; of a run that ended early that is not known.
fn match_pieces(
    printed: &[u8],
    pieces: &[Piece],
    options: &Options,
    ended_early: bool,
) -> Result<u64, String> {
    let mut tokens = tokens(printed, pieces, options.terminator())?;
    let show = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
    if ended_early {
        let mut rest = pieces.iter();
        return match tokens
            .iter()
            .find(|token| !rest.any(|piece| piece.bytes == **token))
        {
            Some(token) => Err(format!("{:?} is printed out of order", show(token))),
            None => Ok(0),
        };
    }
    // From the end on: a repeat may be the same line as the first of its key, which is before it.
    let may_lose = options.may_lose();
    let mut lost = 0;
    for (number, Piece { bytes, is }) in pieces.iter().enumerate().rev() {
        let is_next = tokens.last().is_some_and(|token| token == bytes);
        let is_printed = match is {
            Sure::Always => true,
            Sure::IfNotLost => is_next || !may_lose,
            Sure::IfLost => is_next && may_lose,
        };
        lost += u64::from(is_printed == (*is == Sure::IfLost) && *is != Sure::Always);
        if is_printed && tokens.pop() != Some(bytes) {
            return Err(format!(
                "{:?}, the piece {number}, is not printed",
                show(bytes)
            ));
        }
    }
    match tokens.last() {
        None => Ok(lost),
        Some(token) => Err(format!("{:?} is printed, and should not be", show(token))),
    }
}

/// The output, cut into pieces. A line end alone does not end a piece: some are in quotes.
fn tokens<'a>(
    mut printed: &'a [u8],
    pieces: &[Piece],
    terminator: u8,
) -> Result<Vec<&'a [u8]>, String> {
    let known: HashSet<&[u8]> = pieces.iter().map(|piece| &piece.bytes[..]).collect();
    let mut tokens = Vec::new();
    while !printed.is_empty() {
        let ends = (0..printed.len()).filter(|at| printed[*at] == terminator);
        let found = ends
            .map(|at| &printed[..=at])
            .find(|piece| known.contains(piece));
        let Some(token) = found else {
            let start = String::from_utf8_lossy(&printed[..printed.len().min(80)]);
            return Err(format!("{start:?} is printed, which no line is"));
        };
        tokens.push(token);
        printed = &printed[token.len()..];
    }
    Ok(tokens)
}
