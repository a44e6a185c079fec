//! A server refuses changed bytes or has a filter like any other. It never falls over, hangs, or takes memory that the bytes
//! only claim. `MAYHAP_TORTURE=100 cargo test --release -p mayhap-module --test live mutants -- --nocapture` tries a hundred
//! times as many.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::change::{files, mutant};
use crate::server::Server;
use crate::turns::{self, Random};
use crate::values::foreign_dump;
use crate::wire::Wire;
use crate::{engines, start};

/// Mutants of a short turn, for each way in and server.
const MUTANTS: u64 = 1500;

/// What became of them.
#[derive(Debug, Default)]
struct Outcomes {
    refused: u64,
    taken: u64,
}

/// Sends mutants that `make` makes as the last word of the command `load`, and asks what was taken.
fn send(
    server: &Server,
    what: &str,
    load: &str,
    ask: &[&str],
    mut make: impl FnMut(&mut Random) -> Vec<u8>,
) -> Outcomes {
    let mut outcomes = Outcomes::default();
    let mut wire = Wire::new(server.port);
    for round in 0..turns::rounds(MUTANTS) {
        let mut random = turns::random(what, round);
        let bytes = make(&mut random);
        wire.send(&[b"DEL", b"f"]);
        let words = load.split(' ').map(str::as_bytes).chain([&bytes[..]]);
        wire.send(&words.collect::<Vec<_>>());
        wire.reply();
        match wire.reply().starts_with('-') {
            true => outcomes.refused += 1,
            false => {
                outcomes.taken += 1;
                for command in ask {
                    wire.ask(command);
                }
                wire.send(&[b"DUMP", b"f"]);
                let dump = wire.text();
                wire.ask("DEL f");
                let again = wire.ask_with("RESTORE f 0", &[&dump]);
                assert_eq!(again, "+OK", "{what} {round}: what was taken can be saved");
            }
        }
        if round % 64 != 0 {
            continue;
        }
        let used = wire.ask("INFO memory");
        let line = used
            .lines()
            .find_map(|line| line.strip_prefix("used_memory:"));
        let used: u64 = line.expect("a line").trim().parse().expect("bytes");
        assert!(used < 256 << 20, "{what} {round}: {used} bytes");
    }
    eprintln!("{what} on {}: {outcomes:?}", server.engine.name);
    outcomes
}

/// Changes one to four bytes, or numbers of eight, or the length.
fn changed(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() as u64) as usize;
        match random.below(8) {
            0 => bytes.truncate(at.max(1)),
            1 => {
                let extreme = [0, 1, u64::MAX, 1 << 31, 1 << 40, 1 << 63][random.below(6) as usize];
                for (byte, new) in bytes[at..].iter_mut().zip(extreme.to_le_bytes()) {
                    *byte = new;
                }
            }
            2 => bytes[at] = random.next() as u8,
            3 => bytes.extend_from_within(..at.min(64)),
            _ => bytes[at] ^= 1 << random.below(8),
        }
    }
    bytes
}

/// The bytes with the checksum that they end with mended.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = bytes.len().saturating_sub(8);
    let sum = xxh3_64(&bytes[..length]);
    bytes.truncate(length);
    bytes.extend(sum.to_le_bytes());
    bytes
}

const BLOOM: [&str; 5] = [
    "BF.MADD f a b c d",
    "BF.MEXISTS f a b c d",
    "BF.INFO f",
    "BF.DEBUG f",
    "BF.SCANDUMP f 1",
];

#[test]
fn changed_first_pieces_are_refused_or_are_filters() {
    for engine in engines() {
        let server = start(&engine, &["DIALECT", "redis"], &["--maxmemory", "40mb"]);
        let mut wire = Wire::new(server.port);
        wire.ask("BF.RESERVE f 0.01 20");
        wire.ask("BF.RESERVE g 0.0000001 20 NONSCALING");
        for key in 0..100 {
            wire.ask(&format!("BF.ADD f {key}"));
        }
        let [grown, fixed] = [b"f", b"g"].map(|name| {
            wire.send(&[b"BF.SCANDUMP", name, b"0"]);
            wire.pair().1
        });
        let (foreign, _) = foreign_dump();
        let pieces = [grown, fixed, foreign.clone()];
        let outcomes = send(&server, "pieces", "BF.LOADCHUNK f 1", &BLOOM, |random| {
            let piece = &pieces[random.below(2) as usize];
            let bytes = changed(piece, random);
            if random.below(8) > 0 {
                sealed(bytes)
            } else {
                bytes
            }
        });
        assert!(
            outcomes.taken > 10 && outcomes.refused > 100,
            "{outcomes:?}"
        );
    }
}

#[test]
fn changed_snapshots_are_refused_or_are_filters() {
    for engine in engines() {
        let options = ["--rdbcompression", "no", "--maxmemory", "200mb"];
        let server = start(&engine, &["DIALECT", "redis"], &options);
        let mut wire = Wire::new(server.port);
        wire.ask("BF.RESERVE f 0.01 20");
        wire.ask("BF.MADD f a b c");
        wire.ask("MAYHAP.NEW g counting CAPACITY 20 RATE 0.01");
        for (name, ask) in [
            ("f", &BLOOM[..]),
            (
                "g",
                &["MAYHAP.ADD f a b", "MAYHAP.CONTAINS f a", "MAYHAP.INFO f"][..],
            ),
        ] {
            wire.send(&[b"DUMP", name.as_bytes()]);
            let dump = wire.text();
            let outcomes = send(
                &server,
                &format!("snapshots of {name}"),
                "RESTORE f 0",
                ask,
                |random| {
                    let body = &dump[..dump.len() - 10];
                    let mut bytes = changed(body, random);
                    mend_head(&mut bytes);
                    bytes.extend(&dump[dump.len() - 10..dump.len() - 8]);
                    let sum = crc64(&bytes);
                    bytes.extend(sum.to_le_bytes());
                    bytes
                },
            );
            assert!(outcomes.refused > 100, "{outcomes:?}");
        }
    }
}

/// Mends the checksum of the head of a chain, and of the numbers of its first layer.
fn mend_head(bytes: &mut [u8]) {
    let Some(at) = bytes.windows(8).position(|window| window == b"MAYHAPBF") else {
        return;
    };
    for (start, length) in [(at, 40), (at + 48, 16)] {
        let Some(part) = bytes.get_mut(start..start + length + 8) else {
            return;
        };
        let (body, sum) = part.split_at_mut(length);
        sum.copy_from_slice(&xxh3_64(body).to_le_bytes());
    }
}

/// The checksum that the server has at the end of a dump: CRC-64 of Jones, reflected.
fn crc64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, &byte| {
        (0..8).fold(sum ^ u64::from(byte), |sum, _| {
            (sum >> 1)
                ^ if sum & 1 == 1 {
                    0x95AC_9329_AC4B_C9B5
                } else {
                    0
                }
        })
    })
}

#[test]
fn changed_files_are_refused_or_are_filters() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap/tests/data/native/v1");
    let files = files(&data);
    for engine in engines() {
        let server = start(&engine, &["DIALECT", "redis"], &["--maxmemory", "200mb"]);
        let outcomes = send(
            &server,
            "files",
            "MAYHAP.RESTORE f",
            &[
                "MAYHAP.ADD f a b c",
                "MAYHAP.CONTAINS f a b c",
                "MAYHAP.INFO f",
                "MAYHAP.REMOVE f a",
                "MAYHAP.COUNT f a",
            ],
            |random| mutant(&files, random),
        );
        assert!(
            outcomes.taken > 50 && outcomes.refused > 100,
            "{outcomes:?}"
        );
    }
}
