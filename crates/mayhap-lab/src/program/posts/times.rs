//! The times that post 004 printed.

use std::hint::black_box;
use std::time::Instant;

use mayhap::hash::murmur3;
use mayhap::hash::{MessageDigest, salted_hashes};
use mayhap::{AnyFilter, Assemble as _, Blocked, Bloom, Description, Digester, Scheme, Sizing};
use mayhap_lab::{Distribution, Drawn, Role};
use mayhap_program::failure::Result;

use super::{KEYS, Outcome, Row, Verdict};
use crate::data::Data;
use crate::fill::{ask, insert};
use crate::run::Run;

/// Post 004: ten million numbers inserted and looked up, and hashing alone.
pub(super) fn times(seed: u64, run: &Run, outcome: &mut Outcome) -> Result<()> {
    let data = Data::Drawn(Drawn::new(Distribution::Uniform, seed));
    let shape = Sizing::MurmurFloorMod.shape(KEYS, 0.03)?;
    let theirs = seconds(
        Bloom::new(shape, Scheme::MurmurFloorMod)?.description(),
        &data,
        run,
    )?;
    let blocked = seconds(Blocked::plan(KEYS, 0.03)?, &data, run)?;
    let rows = [
        ("10 000 000 inserts", "3.853 s", theirs.0, blocked.0),
        ("10 000 000 lookups", "3.907 s", theirs.1, blocked.1),
        (
            "both",
            "8.798 s",
            theirs.0 + theirs.1,
            blocked.0 + blocked.1,
        ),
    ];
    for (what, printed, theirs, blocked) in rows {
        let times = [theirs, blocked].map(|time| format!("{time:.3} s"));
        outcome.time(what, Some(printed), times, "");
    }
    hashes(run, outcome)
}

impl Outcome {
    /// Adds a time of post 004, of its algorithm and of `Blocked`.
    pub(super) fn time(
        &mut self,
        what: &str,
        printed: Option<&str>,
        [theirs, blocked]: [String; 2],
        note: &str,
    ) {
        self.rows.push(Row {
            post: "004",
            what: what.into(),
            printed: printed.map(String::from),
            theirs,
            blocked,
            verdict: Verdict::Time,
            note: note.into(),
        });
    }
}

/// Times all inserts and all lookups on one thread, in seconds; numbers become text, as in the post.
pub(super) fn seconds(description: Description, data: &Data, run: &Run) -> Result<(f64, f64)> {
    let mut filter = AnyFilter::new(&description)?;
    let start = Instant::now();
    let mut members = data.stream(Role::Member, KEYS)?;
    insert(&mut filter, &mut members, KEYS, run)?;
    let inserts = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let mut found = 0_u64;
    ask(
        &filter,
        &mut data.stream(Role::Absent, KEYS)?,
        KEYS,
        run,
        |answer| found += u64::from(answer),
    )?;
    black_box(found);
    Ok((inserts, start.elapsed().as_secs_f64()))
}

fn hashes(run: &Run, outcome: &mut Outcome) -> Result<()> {
    let printed = format!(
        "{:08x}",
        murmur3::hash32(b"334324324234234sfsfsdfwwrtregreg", 0).swap_bytes()
    );
    outcome.rows.push(Row {
        post: "004",
        what: "murmur3_32 of its sample".into(),
        printed: Some("539aa3e7".into()),
        verdict: if printed == "539aa3e7" {
            Verdict::Agrees
        } else {
            Verdict::Differs
        },
        theirs: printed,
        blocked: "–".into(),
        note: "the post shows the output of this test below another program, which prints none \
             of it."
            .into(),
    });
    let key = &b"KFETHGRETWERFSDFWEFWEFWF"[..];
    let time = |hash: &dyn Fn(&[u8]) -> u64| {
        let start = Instant::now();
        let sum = (0..KEYS).fold(0_u64, |sum, _| sum.wrapping_add(hash(black_box(key))));
        black_box(sum);
        start.elapsed().as_secs_f64() * 1e3
    };
    let native = time(&|key| Digester::default().digest(key).hi);
    run.check()?;
    let md5 = time(&|key| {
        salted_hashes(MessageDigest::Md5, key)
            .next()
            .map_or(0, |hash| hash as u64)
    });
    run.check()?;
    let murmur = time(&|key| u64::from(murmur3::hash32(key, 0)));
    for (what, printed, theirs) in [
        ("10 000 000 times MD5", "4857 ms", md5),
        ("10 000 000 times murmur3_32", "2057 ms", murmur),
    ] {
        let times = [theirs, native].map(|time| format!("{time:.0} ms"));
        outcome.time(what, Some(printed), times, "");
    }
    Ok(())
}
