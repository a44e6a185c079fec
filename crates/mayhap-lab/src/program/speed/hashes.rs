//! Hash functions alone.

use std::hint::black_box;
use std::time::Instant;

use mayhap::hash::murmur3;
use mayhap::hash::{MessageDigest, salted_hashes};
use mayhap::{Digester, SecretKey, kinds::SplitBlock};
use mayhap_program::failure::Result;

use super::passes::{Mode, Times, nanoseconds};
use super::{Operation, Record};
use crate::run::Run;

/// The bytes that are hashed: few enough to stay in the second-level cache.
const BUFFER: usize = 128 << 10;

/// The lengths of keys: a number, and the address of a page.
const LENGTHS: [usize; 2] = [8, 50];

type Hash = fn(&[u8]) -> u64;

/// The hash functions of the schemes, by the names of these.
const HASHES: [(&str, Hash); 6] = [
    ("rapidhash", |key| Digester::default().digest(key).hi),
    ("siphash", |key| {
        let key_of_it = SecretKey::from_bytes(*b"sixteen bytes it");
        Digester::SipHash { key: key_of_it }.digest(key).hi
    }),
    ("xxh64 (split-block)", |key| SplitBlock::hash(key)),
    ("murmur3_128 (guava64, murmur)", |key| {
        murmur3::hash128(key, 0).0
    }),
    ("murmur3_32", |key| u64::from(murmur3::hash32(key, 0))),
    ("MD5 (salted-md5)", |key| {
        salted_hashes(MessageDigest::Md5, key)
            .next()
            .map_or(0, |hash| hash as u64)
    }),
];

/// Times every hash function, in turns.
pub(super) fn hashes(rounds: u32, run: &Run, records: &mut Vec<Record>) -> Result<()> {
    let buffer: Vec<u8> = (0..BUFFER).map(|i| (i * 31 % 251) as u8).collect();
    for length in LENGTHS {
        let mut times = vec![Vec::new(); HASHES.len()];
        for _ in 0..=rounds {
            for ((_, hash), times) in HASHES.iter().zip(&mut times) {
                let start = Instant::now();
                let keys = black_box(&buffer).chunks_exact(length);
                let count = keys.len();
                let sum = keys.fold(0_u64, |sum, key| sum.wrapping_add(hash(key)));
                black_box(sum);
                times.push(nanoseconds(start, count));
            }
            run.check()?;
        }
        for ((name, _), times) in HASHES.iter().zip(times) {
            records.push(Record {
                subject: (*name).into(),
                operation: Operation::Hash,
                mode: Mode::Single,
                keys: None,
                bytes: length as u64,
                threads: 1,
                times: Times::of(times.into_iter().skip(1).collect())?,
                limit: None,
            });
        }
    }
    Ok(())
}
