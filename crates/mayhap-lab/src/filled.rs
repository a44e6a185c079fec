//! Filters of any kind, made from keys; and the spread of the rates of such filters.

use std::collections::BTreeMap;

use mayhap::hash::mix;
use mayhap::kinds::{
    Cascade, FuseShape, Region, RibbonShape, ShiftingAssociation, ShiftingMultiplicity,
};
use mayhap::{
    AnyFilter, Description, Digester, Error, Filter as _, Fuse, Hashing, Inserts, Kind, Result,
    Ribbon, Scheme,
};

use crate::draw::word;

/// The most keys of the filters that [`spreads`] fills: with more keys, filters differ less by the square root.
const SAMPLE_KEYS: u64 = 1024;

/// The number of filters that it fills, so that the standard deviation is known to 1.4 %.
const SAMPLES: u64 = 2500;

/// The seed of its keys: no experiment draws these.
const SEED: u64 = 0x5B3A_D0F1_17E2_66C9;

/// Makes a filter of this description with these keys, of any kind.
///
/// Kinds that are built once are built from the keys at the promised rate: [`ShiftingAssociation`] has each in one of
/// its two sets, [`ShiftingMultiplicity`] counts to its maximum, and a [`Cascade`] excludes the `excluded` keys.
///
/// # Errors
///
/// Those of the kind, when such a filter cannot exist.
///
/// ```
/// use mayhap::{Filter as _, Kind};
///
/// for &kind in Kind::ALL {
///     let filter = mayhap_lab::filled(&kind.plan(3, 0.01)?, &["a", "b", "c"], &["d"])?;
///     assert!(filter.contains_all(["a", "b", "c"]), "{kind}");
/// }
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn filled<K: mayhap::Key + Ord>(
    description: &Description,
    keys: &[K],
    excluded: &[K],
) -> Result<AnyFilter> {
    let rate = description.promise.map_or(0.01, |promise| promise.rate);
    let digester = match &description.hashing {
        Hashing::Scheme(Scheme::Native(digester)) => digester.clone(),
        _ => Digester::default(),
    };
    let count = keys.len().max(1) as u64;
    let digests = || {
        keys.iter()
            .map(|key| digester.digest(key.key_bytes().as_ref()))
    };
    Ok(match description.kind {
        kind if kind.inserts() != Inserts::Never => {
            let mut filter = AnyFilter::new(description)?;
            filter.insert_each(keys, drop)?;
            filter
        }
        Kind::Fuse => {
            let bits = FuseShape::for_rate(count, rate)?.fingerprint_bits();
            Fuse::build_digests(digester.clone(), bits, digests())?.into()
        }
        Kind::Ribbon => {
            let bits = RibbonShape::for_rate(count, rate)?.fingerprint_bits();
            Ribbon::build_digests(digester.clone(), bits, digests())?.into()
        }
        Kind::ShiftingMultiplicity => {
            let mut counts = BTreeMap::new();
            keys.iter()
                .for_each(|key| *counts.entry(key).or_insert(0) += 1);
            let distinct = counts.len().max(1) as u64;
            let mut filter = ShiftingMultiplicity::with_capacity(distinct, rate)?;
            for (key, times) in counts {
                filter.insert_times(key, u64::min(times, filter.most().into()))?;
            }
            filter.into()
        }
        Kind::ShiftingAssociation => {
            let mut filter = ShiftingAssociation::with_capacity(count, rate)?;
            for key in keys {
                // By the key, so that a repeated key is in the same set.
                let bytes = key.key_bytes();
                let hash = bytes
                    .as_ref()
                    .iter()
                    .fold(0, |hash, byte| mix(hash ^ u64::from(*byte)));
                filter.insert_region(key, [Region::First, Region::Second][(hash % 2) as usize]);
            }
            filter.into()
        }
        Kind::Cascade => Cascade::build(digester.clone(), keys, excluded)?.into(),
        kind => {
            return Err(Error::Unsupported {
                kind: kind.name(),
                what: "be filled with keys alone",
                instead: "name another kind",
            });
        }
    })
}

/// Measures the spread of the rates of filters that hold a share of their capacity: for each load, the standard
/// deviation divided by the mean.
///
/// `plan` describes the filter for a capacity. 2500 of them, of at most 1024 keys each, are filled with drawn keys,
/// and the rate of each follows from its bits. Filters of fingerprints all have the same rate, whatever the keys.
///
/// # Errors
///
/// Those of `plan` and [`filled`].
///
/// ```
/// use mayhap::Kind;
///
/// // Filters of a thousand keys at 1 %: 4 % for the standard filter, more where a key has but one line.
/// let spread = |kind: Kind| mayhap_lab::spreads(|keys| kind.plan(keys, 0.01), 1000, &[1.0]);
/// let [bloom, blocked] = [Kind::Bloom, Kind::Blocked].map(|kind| spread(kind).map(|all| all[0]));
/// assert!((0.035..0.045).contains(&bloom?) && blocked? > 0.05);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn spreads<E: From<Error>>(
    plan: impl Fn(u64) -> std::result::Result<Description, E>,
    capacity: u64,
    loads: &[f64],
) -> std::result::Result<Vec<f64>, E> {
    let sampled = capacity.min(SAMPLE_KEYS);
    let description = plan(sampled)?;
    if matches!(description.kind, Kind::Fuse | Kind::Ribbon) {
        return Ok(vec![0.0; loads.len()]);
    }
    if description.kind.inserts() == Inserts::Never && loads != [1.0] {
        // Built for its keys, it is always full.
        return Ok(vec![spreads(plan, capacity, &[1.0])?[0]; loads.len()]);
    }
    let counts: Vec<u64> = loads
        .iter()
        .map(|load| ((load * sampled as f64).round() as u64).max(1))
        .collect();
    let mut rates = vec![Vec::new(); loads.len()];
    for sample in 0..SAMPLES {
        let draw = |index: u64| word(SEED ^ sample, index);
        let rates_of = rates_while_filling(&description, &counts, draw)?;
        for (all, rate) in rates.iter_mut().zip(rates_of) {
            all.push(rate);
        }
    }
    let shrinks = (sampled as f64 / capacity as f64).sqrt();
    Ok(rates
        .iter()
        .map(|rates| shrinks * relative_deviation(rates))
        .collect())
}

/// Measures the rate of one filter with each of these numbers of keys, ascending.
fn rates_while_filling(
    description: &Description,
    counts: &[u64],
    draw: impl Fn(u64) -> u64,
) -> Result<Vec<f64>> {
    if description.kind.inserts() == Inserts::Never {
        let rate = |count: &u64| {
            let keys: Vec<u64> = (0..*count).map(&draw).collect();
            let excluded: Vec<u64> = (0..*count).map(|index| draw(index | 1 << 40)).collect();
            Ok(filled(description, &keys, &excluded)?.stats().rate)
        };
        return counts.iter().map(rate).collect();
    }
    let mut filter = AnyFilter::new(description)?;
    let mut inserted = 0;
    let mut rates = Vec::new();
    for &count in counts {
        filter.insert_each((inserted..count).map(&draw), drop)?;
        inserted = inserted.max(count);
        rates.push(filter.stats().rate);
    }
    Ok(rates)
}

fn relative_deviation(rates: &[f64]) -> f64 {
    let count = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / count;
    if mean <= 0.0 {
        return 0.0;
    }
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    (squares / (count - 1.0)).sqrt() / mean
}
