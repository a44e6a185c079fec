//! The posts' experiments with Guava's filter.

use mayhap::{AnyFilter, Assemble as _, Blocked, Bloom, Filter as _, Scheme, Sizing};
use mayhap_lab::{Distribution, Drawn};
use mayhap_program::amounts::show_count;
use mayhap_program::failure::Result;

use super::rates::{agrees, as_theory, both, interval};
use super::times::seconds;
use super::{KEYS, Outcome, Row, Verdict};
use crate::data::Data;
use crate::run::Run;

/// Posts 000 and 002: the integers below ten million, in Guava's filter, as its integerFunnel hashes them.
pub(super) fn integers(run: &Run, outcome: &mut Outcome) -> Result<()> {
    let shape = Sizing::GuavaBefore33_4.shape(KEYS, 0.01)?;
    let theirs = Bloom::new(shape, Scheme::Guava64)?.description();
    let asked = |description| {
        let mut filter = AnyFilter::new(&description)?;
        let target = filter.as_insert()?;
        let step = 10_000;
        for first in (0..KEYS).step_by(step) {
            (first..first + step as u64).for_each(|number| {
                target.insert_bytes(&(number as i32).to_le_bytes());
            });
            run.advance(step as u64)?;
        }
        let found = |number: u64| filter.contains_bytes(&(number as i32).to_le_bytes());
        let wrong = (KEYS..KEYS + 1_000_000)
            .filter(|number| found(*number))
            .count();
        run.advance(1_000_000)?;
        Ok(([1, 2, 3, KEYS].map(found), wrong))
    };
    let (theirs, blocked) = both(theirs, Blocked::plan(KEYS, 0.01)?, asked)?;
    let show = |answers: [bool; 4]| {
        answers
            .map(|answer| if answer { "yes" } else { "no" })
            .join(", ")
    };
    outcome.rows.push(Row {
        post: "000, 002",
        what: "are 1, 2, 3 and 10 000 000 there?".into(),
        printed: Some("yes, yes, yes, no".into()),
        theirs: show(theirs.0),
        blocked: show(blocked.0),
        verdict: agrees(theirs.0 == [true, true, true, false]),
        note: "the post asserts these answers. That 10 000 000 is not found is luck, if likely: one in a hundred numbers is."
            .into(),
    });
    outcome.rows.push(Row {
        post: "000, 002",
        what: "false positives among the next million".into(),
        printed: None,
        theirs: show_count(theirs.1 as u64),
        blocked: show_count(blocked.1 as u64),
        verdict: match theirs.1 == 9957 {
            true => Verdict::AsTheory,
            false => Verdict::Differs,
        },
        note: "9957 come out of Guava 31.1 on Java, too; 1 % is asked for.".into(),
    });
    Ok(())
}

/// Post 004: UUIDs at 0.1 %. The post does not print the output of this test: the output below it is of another.
pub(super) fn uuid(seed: u64, run: &Run, outcome: &mut Outcome) -> Result<()> {
    let rate = 0.001;
    let shape = Sizing::GuavaBefore33_4.shape(KEYS, rate)?;
    let theirs = Bloom::new(shape, Scheme::Guava64)?.description();
    let data = Data::Drawn(Drawn::new(Distribution::Uuid, seed));
    let times = seconds(theirs.clone(), &data, run)?;
    let blocked_times = seconds(Blocked::plan(KEYS, rate)?, &data, run)?;
    let filters = (theirs, Blocked::plan(KEYS, rate)?);
    // The post looks up 9900 absent keys, of which ten false positives are expected: too few to say anything.
    let (theirs, blocked) = outcome.measure_both(filters, KEYS, &data, KEYS, run)?;
    outcome.rows.push(Row {
        post: "004",
        what: "Guava's filter of 10 000 000 UUIDs, 0.1 %".into(),
        printed: None,
        theirs: interval(&theirs),
        blocked: interval(&blocked),
        verdict: as_theory(&theirs),
        note: format!(
            "the post asks for 9900 absent UUIDs, of which {:.1} are expected to be found; here {} were asked for.",
            9900.0 * theirs.predicted().unwrap_or(rate),
            show_count(theirs.negatives)
        ),
    });
    for (what, theirs, blocked) in [
        (
            "10 000 000 UUIDs into Guava's filter",
            times.0,
            blocked_times.0,
        ),
        ("10 000 000 UUIDs looked up in it", times.1, blocked_times.1),
    ] {
        let times = [theirs, blocked].map(|time| format!("{time:.3} s"));
        let note = "UUIDs are drawn on the clock, for both filters alike.";
        outcome.time(what, None, times, note);
    }
    Ok(())
}

/// Post 000: the filter of three string hashes. The post does not measure its rate.
pub(super) fn three_hash(seed: u64, run: &Run, outcome: &mut Outcome) -> Result<()> {
    let (keys, rate) = (1_000_000, 0.01);
    let shape = Sizing::ThreeHash.shape(keys, rate)?;
    let description = Bloom::new(shape, Scheme::ThreeHash)?.description();
    let data = Data::Drawn(Drawn::new(Distribution::Url, seed));
    let filters = (description, Blocked::plan(keys, rate)?);
    let (theirs, blocked) = outcome.measure_both(filters, keys, &data, 1_000_000, run)?;
    outcome.rows.push(Row {
        post: "000",
        what: "three string hashes: 1 000 000 URLs, sized for 1 %".into(),
        printed: None,
        theirs: interval(&theirs),
        blocked: interval(&blocked),
        verdict: match as_theory(&theirs) {
            // No post claims that its hashes are as good as random ones.
            Verdict::Differs => Verdict::Measured,
            verdict => verdict,
        },
        note: format!(
            "three hashes need {:.2} bits per key for 1 %, and its `int` cells 32 times that; blocked needs {:.2}.",
            shape.bits() as f64 / keys as f64,
            Blocked::plan(keys, rate)?.bits as f64 / keys as f64
        ),
    });
    Ok(())
}
