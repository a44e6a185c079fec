//! The figures of the shifting filters: formulas beside measurements, and their rivals at equal bits.
//!
//! Not a timing. `--only membership`, `association` or `multiplicity` for one kind, `--rounds` for the
//! filters behind each number. After Yang et al., PVLDB 9(5), 2016.

use std::f64::consts::LN_2;

use mayhap::{
    Bloom, Digester, Insert, Scheme, Shape,
    kinds::{Region, Shifting, ShiftingAssociation, ShiftingMultiplicity, ShiftingShape},
};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::{absent, members};
use mayhap_bench::figures::{Figures, digits};

/// How many absent keys each filter is asked for.
const ABSENT: u64 = 500_000;

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![],
        urls: vec![],
        rates: vec![],
        rounds: 40,
        only: vec![],
        record: false,
    })?;
    let rounds = arguments.rounds as u64;
    let mut figures = Figures::new("figures-shifting", "rates and shares of shifting filters");
    if arguments.takes("membership") {
        membership(&mut figures, rounds)?;
        shifts(&mut figures, rounds)?;
        optimum(&mut figures);
    }
    if arguments.takes("association") {
        association(&mut figures, rounds.div_ceil(4))?;
    }
    if arguments.takes("multiplicity") {
        exactness(&mut figures)?;
        rivals(&mut figures)?;
    }
    figures.close(arguments.record)
}

/// The keys of a round, which no other has.
fn keys(round: u64, count: u64) -> impl Iterator<Item = u64> {
    members(round << 32..(round << 32) + count)
}

/// The share of absent keys that filters claim; `fill` makes the filter of a round.
fn measured<F: Fn(&u64) -> bool>(rounds: u64, fill: impl Fn(u64) -> Result<F>) -> Result<f64> {
    let mut wrong = 0;
    for round in 0..rounds {
        let claims = fill(round)?;
        let asked = absent(round * ABSENT..(round + 1) * ABSENT);
        wrong += asked.filter(|absent| claims(absent)).count();
    }
    Ok(wrong as f64 / (rounds * ABSENT) as f64)
}

fn measured_shifting(shape: ShiftingShape, count: u64, rounds: u64) -> Result<f64> {
    measured(rounds, |round| {
        let mut filter = Shifting::new(shape, Digester::default())?;
        filter.insert_all(keys(round, count));
        Ok(move |key: &u64| filter.contains(key))
    })
}

fn measured_bloom(shape: Shape, count: u64, rounds: u64) -> Result<f64> {
    measured(rounds, |round| {
        let mut filter = Bloom::new(shape, Scheme::default())?;
        filter.insert_all(keys(round, count));
        Ok(move |key: &u64| filter.contains(key))
    })
}

/// The paper's rate of a window: `(1-p)(1 - p + p²/(w-1))`, `p = e^-load`.
fn published(load: f64, span: f64) -> f64 {
    let zero = (-load).exp();
    (1.0 - zero) * (1.0 - zero + zero * zero / (span - 1.0))
}

/// The rate of a filter that has all `k` bits of a key in one word of 64: over the number of keys
/// in a word, which is Poisson's.
fn one_word(m: u64, n: u64, k: u32) -> f64 {
    let mean = 64.0 * n as f64 / m as f64;
    let (mut chance, mut rate) = ((-mean).exp(), 0.0);
    for keys in 1..200 {
        chance *= mean / f64::from(keys);
        let ones = 1.0 - (1.0 - 1.0 / 64.0_f64).powf(f64::from(keys) * f64::from(k));
        rate += chance * ones.powf(f64::from(k));
    }
    rate
}

fn membership(figures: &mut Figures, rounds: u64) -> Result<()> {
    let mut rows = Vec::new();
    for (m, n, k, span) in [
        (22_008, 1000, 8, 57),
        (22_008, 1500, 8, 57),
        (32_000, 4000, 6, 57),
        (44_000, 4000, 6, 57),
        (100_000, 10_000, 8, 57),
        (100_000, 10_000, 8, 25),
        (100_000, 10_000, 8, 8),
    ] {
        let standard = Shape::new(m, k)?;
        let shape = ShiftingShape::with_shifts(standard, span, 1)?;
        let load = f64::from(k) * n as f64 / m as f64;
        let paper = published(load, f64::from(span)).powf(f64::from(k) / 2.0);
        let rate = measured_shifting(shape, n, rounds)?;
        rows.push([
            m.to_string(),
            n.to_string(),
            k.to_string(),
            span.to_string(),
            digits(paper),
            digits(shape.rate_at(n)),
            digits(rate),
            digits(standard.rate_at(n)),
            digits(measured_bloom(standard, n, rounds)?),
            format!("{:.1}", one_word(m, n, k) / shape.rate_at(n)),
        ]);
    }
    let heads = [
        "m",
        "n",
        "k",
        "w",
        "the paper's formula",
        "ours",
        "measured",
        "Bloom, formula",
        "Bloom, measured",
        "all bits in one word ÷",
    ];
    figures.add("Membership: false-positive rates", heads, &rows);
    Ok(())
}

fn shifts(figures: &mut Figures, rounds: u64) -> Result<()> {
    let standard = Shape::new(100_000, 12)?;
    let mut rows = Vec::new();
    for shifts in [1, 2, 3, 5] {
        let shape = ShiftingShape::with_shifts(standard, 57, shifts)?;
        rows.push([
            shifts.to_string(),
            shape.windows().to_string(),
            (shape.windows() + shifts).to_string(),
            digits(shape.rate_at(8000)),
            digits(measured_shifting(shape, 8000, rounds)?),
            digits(standard.rate_at(8000)),
        ]);
    }
    let heads = ["shifts", "reads", "hashes", "formula", "measured", "Bloom"];
    let title = "Membership: more shifts, m = 100000, n = 8000, k = 12, w = 57";
    figures.add(title, heads, &rows);
    Ok(())
}

/// The load that makes the rate lowest for given positions per key, by the paper's formula.
fn optimum(figures: &mut Figures) {
    let mut rows = Vec::new();
    for (name, span) in [
        ("57", 57.0),
        ("25", 25.0),
        ("without end: Bloom", f64::INFINITY),
    ] {
        // k = load m/n, so the rate is this to the power of m/n.
        let base = |load: f64| published(load, span).powf(load / 2.0);
        let loads = (600_000..800_000).map(|millionth| f64::from(millionth) / 1e6);
        let best = loads.min_by(|a, b| base(*a).total_cmp(&base(*b)));
        let best = best.expect("not empty");
        rows.push([name.into(), digits(best), digits(base(best))]);
    }
    let heads = ["w", "k ÷ m/n", "rate to the power of n/m"];
    figures.add("Membership: the best number of hashes", heads, &rows);
}

/// Two sets of 10 000 keys, 2500 of them in both.
const UNION: u64 = 17_500;

fn region(index: u64) -> Region {
    match index {
        0..7500 => Region::First,
        7500..10_000 => Region::Both,
        _ => Region::Second,
    }
}

fn association(figures: &mut Figures, rounds: u64) -> Result<()> {
    let mut rows = Vec::new();
    for k in [4, 6, 8, 12] {
        let m = (UNION as f64 * f64::from(k) / LN_2).ceil() as u64;
        let rival_bits = (10_000.0 * f64::from(k) / LN_2).ceil() as u64;
        let (mut asked, mut clear) = ([0.0; 3], [0.0; 3]);
        let (mut rival_clear, mut rival_wrong) = ([0.0; 3], [0.0; 3]);
        for round in 0..rounds {
            let mut filter = ShiftingAssociation::new(Shape::new(m, k)?, 57, Digester::default())?;
            let rival = Bloom::new(Shape::new(rival_bits, k)?, Scheme::default())?;
            let (mut first, mut second) = (rival.clone(), rival);
            for (index, key) in (0..).zip(keys(round, UNION)) {
                let region = region(index);
                filter.insert_region(&key, region);
                if region != Region::Second {
                    first.insert(&key);
                }
                if region != Region::First {
                    second.insert(&key);
                }
            }
            for (index, key) in (0..).zip(keys(round, UNION)) {
                let region = region(index);
                let at = region as usize;
                let count = |holds: bool| f64::from(u8::from(holds));
                asked[at] += 1.0;
                clear[at] += count(filter.regions(&key).only() == Some(region));
                // Two filters that both claim a key cannot tell whether one of them is wrong.
                let both = first.contains(&key) && second.contains(&key);
                rival_clear[at] += count(!both);
                rival_wrong[at] += count(both && region != Region::Both);
            }
        }
        let mean = |shares: [f64; 3]| -> f64 {
            let each = shares.iter().zip(asked);
            each.map(|(share, asked)| share / asked).sum::<f64>() / 3.0
        };
        let hit = 1.0 - 0.5_f64.powi(k as i32);
        rows.push([
            k.to_string(),
            m.to_string(),
            digits(hit * hit),
            digits(mean(clear)),
            (2 * rival_bits).to_string(),
            digits(2.0 / 3.0 * hit),
            digits(mean(rival_clear)),
            digits(mean(rival_wrong)),
            format!("{:.3}", mean(clear) / mean(rival_clear)),
        ]);
    }
    let heads = [
        "k",
        "bits",
        "clear, formula",
        "measured",
        "two filters: bits",
        "clear, formula",
        "measured",
        "wrong",
        "clear ÷",
    ];
    let title = "Association: two sets of 10000, 2500 in both; members evenly of the three regions";
    figures.add(title, heads, &rows);
    Ok(())
}

/// How often a key of a multiset occurs: evenly 1 to 57.
fn times(key: u64) -> u64 {
    1 + key % 57
}

fn exactness(figures: &mut Figures) -> Result<()> {
    let count = 50_000;
    let shape = Shape::new(865_617, 8)?;
    let mut filter = ShiftingMultiplicity::new(shape, 57, Digester::default())?;
    for key in keys(0, count) {
        filter.insert_times(&key, times(key))?;
    }
    let mut answers = [[0.0; 2]; 58];
    let mut under = 0;
    for key in keys(0, count) {
        let (truth, answer) = (times(key), filter.count(&key));
        let row = &mut answers[truth as usize];
        row[0] += 1.0;
        row[1] += f64::from(u8::from(answer == truth));
        under += u64::from(answer < truth);
    }
    let none = absent(0..ABSENT).filter(|key| filter.count(key) == 0);
    let mut rows = vec![[
        "0: absent keys".into(),
        digits(filter.exact_at(count, 0)),
        digits(none.count() as f64 / ABSENT as f64),
    ]];
    for j in [1, 10, 20, 30, 40, 50, 57] {
        let [asked, exact] = answers[j];
        let formula = filter.exact_at(count, j as u32);
        rows.push([j.to_string(), digits(formula), digits(exact / asked)]);
    }
    let mean: f64 = (1..=57).map(|j| filter.exact_at(count, j)).sum::<f64>() / 57.0;
    let exact: f64 = answers.iter().map(|row| row[1]).sum::<f64>() / count as f64;
    rows.push(["1 to 57, evenly".into(), digits(mean), digits(exact)]);
    rows.push([
        "answers below the truth".into(),
        "0".into(),
        under.to_string(),
    ]);
    let heads = ["occurrences", "exact, formula", "measured"];
    let title = "Multiplicity: shares of exact counts, n = 50000, c = 57, k = 8, m = 865617";
    figures.add(title, heads, &rows);
    Ok(())
}

/// How a rival counts in its counters.
#[derive(Clone, Copy)]
enum Rival {
    /// Adds to every counter of a key; the least is the count. (Spectral, minimum selection.)
    Spectral,
    /// Raises only the least of them. (Spectral, minimal increase.)
    Raising,
    /// As the first, with an array of counters for each hash. (Count-Min.)
    Rows,
}

/// The share of keys that a rival with this many counters counts exactly. Its counters are never
/// full: six bits would be, which is left out in its favour.
fn rival_exact(rival: Rival, counters: u64, hashes: u32, count: u64) -> Result<f64> {
    let whole = Shape::new(counters, hashes)?;
    let row = counters / u64::from(hashes);
    let places = |key: u64| -> Vec<usize> {
        let digest = Digester::default().digest(&key.to_le_bytes());
        match rival {
            Rival::Rows => {
                let in_row = digest.probe(Shape::new(row, hashes).expect("a row of some"));
                (0..)
                    .zip(in_row)
                    .map(|(at, place)| (at * row + place) as usize)
                    .collect()
            }
            _ => digest.probe(whole).map(|place| place as usize).collect(),
        }
    };
    let mut table = vec![0_u64; counters as usize];
    for key in keys(0, count) {
        let mut places = places(key);
        // A key adds once to a counter that two of its hashes meet in.
        places.sort_unstable();
        places.dedup();
        let least = places.iter().map(|&place| table[place]).min().unwrap_or(0);
        for place in places {
            match rival {
                Rival::Raising => table[place] = table[place].max(least + times(key)),
                _ => table[place] += times(key),
            }
        }
    }
    let exact = keys(0, count).filter(|&key| {
        let least = places(key).into_iter().map(|place| table[place]).min();
        least == Some(times(key))
    });
    Ok(exact.count() as f64 / count as f64)
}

fn rivals(figures: &mut Figures) -> Result<()> {
    let count = 30_000;
    let mut rows = Vec::new();
    for k in [6, 8, 12, 16] {
        let m = (1.5 * count as f64 * f64::from(k) / LN_2) as u64;
        let mut filter = ShiftingMultiplicity::new(Shape::new(m, k)?, 57, Digester::default())?;
        for key in keys(0, count) {
            filter.insert_times(&key, times(key))?;
        }
        let exact = keys(0, count).filter(|key| filter.count(key) == times(*key));
        let ours = exact.count() as f64 / count as f64;
        let counters = m / 6;
        let mut best = (0.0, 0);
        for hashes in 1..=k {
            let exact = rival_exact(Rival::Spectral, counters, hashes, count)?;
            if exact > best.0 {
                best = (exact, hashes);
            }
        }
        let at_k = |rival| rival_exact(rival, counters, k, count);
        rows.push([
            k.to_string(),
            format!("{ours:.3}"),
            format!("{:.3}", at_k(Rival::Spectral)?),
            format!("{:.3}", at_k(Rival::Raising)?),
            format!("{:.3}", at_k(Rival::Rows)?),
            format!("{:.3} (k = {})", best.0, best.1),
            format!("{:.2}", ours / best.0),
        ]);
    }
    let heads = [
        "k",
        "shifting",
        "spectral, minimum selection",
        "spectral, minimal increase",
        "Count-Min",
        "spectral at its best k",
        "shifting ÷ that",
    ];
    let title =
        "Multiplicity: exact counts at equal bits, n = 30000, 6-bit counters for the others";
    figures.add(title, heads, &rows);
    Ok(())
}
