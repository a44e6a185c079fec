//! What does hashing alone cost, by the length of the key?
//!
//! Keys lie one after the other in a buffer that fits the second-level cache, and do not depend on
//! each other: this is throughput. In the column `u64` the compiler knows the length.

use std::hash::Hasher as _;
use std::hint::black_box;

use foldhash::SharedSeed;
use foldhash::fast::FoldHasher;
use mayhap::hash::murmur3;
use mayhap::{
    Digester, SecretKey,
    hash::{Digest, UniversalHash},
};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::members;
use mayhap_bench::measure::Race;
use mayhap_bench::report::Report;
use md5::{Digest as _, Md5};
use rapidhash::v3::rapidhash_v3;
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

const BASELINE: &str = "rapidhash v3, widened (mayhap's)";

/// Half of the smallest second-level cache we know of.
const BUFFER_WORDS: u64 = (128 << 10) / 8;

/// As often as makes a pass over the buffer some milliseconds long.
const REPEATS: usize = 20;

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![8, 16, 24, 50, 100, 1000],
        urls: vec![],
        rates: vec![],
        rounds: 15,
        only: vec![],
        record: false,
    })?;
    let buffer: Vec<u8> = members(0..BUFFER_WORDS)
        .flat_map(u64::to_le_bytes)
        .collect();
    let drawn = UniversalHash::random()?;
    let seed = black_box(0);
    let key = SecretKey::from_bytes(black_box(*b"sixteen bytes it"));
    let digesters = [
        Digester::Rapidhash { seed },
        Digester::RapidhashProtected { seed },
        Digester::SipHash { key },
    ];
    let mut hashes = Hashes {
        arguments: &arguments,
        buffer: &buffer,
        race: Race::new(),
    };
    enter_all(&mut hashes, &digesters, &drawn);
    let mut report = Report::new("hash", "ns per hash, median (least–greatest)");
    let results = hashes.race.run(arguments.rounds);
    report.add("By length in bytes".into(), BASELINE, results);
    report.close(arguments.record)
}

fn enter_all<'a>(
    hashes: &mut Hashes<'a>,
    [public, protected, secret]: &'a [Digester; 3],
    drawn: &'a UniversalHash,
) {
    let seed = black_box(0);
    hashes.enter(BASELINE, move |key| {
        let digest = public.digest(key);
        digest.lo ^ digest.hi
    });
    hashes.enter("rapidhash v3, protected, widened (mayhap's)", move |key| {
        let digest = protected.digest(key);
        digest.lo ^ digest.hi
    });
    hashes.enter("UniversalHash (mayhap's, drawn)", |key| drawn.hash(key));
    hashes.enter("xxh3_64, widened", move |key| {
        let digest = Digest::from_u64(xxh3_64_with_seed(key, seed));
        digest.lo ^ digest.hi
    });
    hashes.enter("xxh3_64", move |key| xxh3_64_with_seed(key, seed));
    hashes.enter("xxh3_128", move |key| halves(xxh3_128_with_seed(key, seed)));
    hashes.enter("rapidhash v3", rapidhash_v3);
    hashes.enter("foldhash (fast)", move |key| {
        let mut hasher = FoldHasher::with_seed(seed, SharedSeed::global_fixed());
        hasher.write(key);
        hasher.finish()
    });
    hashes.enter("murmur3_128 (mayhap's)", |key| {
        let (low, high) = murmur3::hash128(key, 0);
        low ^ high
    });
    hashes.enter("SipHash-1-3-128 (mayhap's, keyed)", move |key| {
        let digest = secret.digest(key);
        digest.lo ^ digest.hi
    });
    hashes.enter("MD5", |key| {
        halves(u128::from_le_bytes(Md5::digest(key).into()))
    });
}

/// Both halves of a hash, so that neither is left out of the computation.
fn halves(hash: u128) -> u64 {
    hash as u64 ^ (hash >> 64) as u64
}

/// The hash functions, as they are entered.
struct Hashes<'a> {
    arguments: &'a Arguments,
    buffer: &'a [u8],
    race: Race<'a>,
}

impl<'a> Hashes<'a> {
    fn enter(&mut self, name: &str, hash: impl Fn(&[u8]) -> u64 + Copy + 'a) {
        if !self.arguments.takes(name) {
            return;
        }
        let buffer = self.buffer;
        let count = |length: u64| REPEATS as u64 * (buffer.len() as u64 / length);
        self.race.enter(name, "u64", count(8), move || {
            let (keys, _) = black_box(buffer).as_chunks::<8>();
            sum(keys.iter().map(|key| hash(key)))
        });
        for &length in &self.arguments.keys {
            let group = length.to_string();
            self.race.enter(name, &group, count(length), move || {
                let keys = black_box(buffer).chunks_exact(length as usize);
                sum(keys.map(hash))
            });
        }
    }
}

/// The sum of the hashes of all keys, all over again as often as `REPEATS` says.
fn sum(hashes: impl Iterator<Item = u64> + Clone) -> u64 {
    (0..REPEATS).fold(0, |total, _| {
        black_box(hashes.clone()).fold(total, u64::wrapping_add)
    })
}
