//! How much worse do chosen keys make a filter, and what does a secret save?
//!
//! Not a timing: the rate, in percent, of a filter of 1000 keys at 1 % (9586 bits, 7 hashes) after each
//! attack. The ratio is to honest keys.

use mayhap::{Bloom, Digester, Insert, Scheme, SecretKey, Shape, bits::Bits as _};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::members;
use mayhap_bench::measure::Measurement;
use mayhap_bench::report::Report;

const KEYS: u64 = 1000;

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![],
        urls: vec![],
        rates: vec![],
        rounds: 1,
        only: vec![],
        record: false,
    })?;
    let mut report = Report::new("attacks", "rate in percent, from the ones");
    let mut rows = Vec::new();
    let mut add =
        |name: &str, rate: f64| rows.push(Measurement::exact(name, "rate %", 100.0 * rate));

    let honest = filled(Digester::default(), members(0..KEYS))?;
    add("honest keys", honest.stats().rate);
    for hostile in [100, 250, 500, 1000] {
        let mut filter = filled(Digester::default(), members(0..KEYS - hostile))?;
        let (chosen, candidates) = pollute(&mut filter, hostile);
        let name = format!("{} % chosen, {candidates} candidates", hostile / 10);
        add(&name, filter.stats().rate);
        if hostile == KEYS {
            let secret = Digester::SipHash {
                key: SecretKey::from_bytes([1; 16]),
            };
            add(
                "the same keys under a secret",
                filled(secret, chosen)?.stats().rate,
            );
        }
    }
    for candidates in [2, 10, 100] {
        let rate = lazily_polluted(candidates)?.stats().rate;
        add(&format!("the best of {candidates} candidates each"), rate);
    }
    report.add("1000 keys at 1 %".into(), "honest keys", rows);
    report.close(arguments.record)
}

fn filled(digester: Digester, keys: impl IntoIterator<Item = u64>) -> Result<Bloom> {
    let mut filter = Bloom::new(Shape::new(9586, 7)?, Scheme::Native(digester))?;
    filter.insert_all(keys);
    Ok(filter)
}

/// Inserts so many keys that set seven fresh bits each; returns them and how many were looked at.
fn pollute(filter: &mut Bloom, count: u64) -> (Vec<u64>, u64) {
    let mut chosen = Vec::new();
    let mut candidate = 0;
    while (chosen.len() as u64) < count {
        if fresh_bits(filter, candidate) == 7 {
            filter.insert(&candidate);
            chosen.push(candidate);
        }
        candidate += 1;
    }
    (chosen, candidate)
}

fn lazily_polluted(candidates: u64) -> Result<Bloom> {
    let mut filter = filled(Digester::default(), [])?;
    for round in 0..KEYS {
        let offered = round * candidates..(round + 1) * candidates;
        let best = offered.max_by_key(|&key| fresh_bits(&filter, key));
        filter.insert(&best.ok_or("no candidate")?);
    }
    Ok(filter)
}

fn fresh_bits(filter: &Bloom, key: u64) -> usize {
    let mut positions = filter
        .scheme()
        .positions(&key.to_le_bytes(), filter.shape());
    positions.retain(|&position| !filter.bits().get(position));
    positions.sort();
    positions.dedup();
    positions.len()
}
