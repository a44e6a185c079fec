//! A server refuses changed bytes or has a filter like any other. It never falls over, hangs, or takes memory that the bytes
//! only claim. `MAYHAP_TORTURE=23 cargo test -p mayhap-module --test live mutants -- --nocapture` tries a million on three
//! servers, and says of each way in how many were refused and taken; `MAYHAP_SEED` chooses others.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::foreign::Dump as ForeignDump;
use crate::snapshot::{crc64, dumped as dump_of, grown, length_bytes, saved};
use crate::values::foreign_dump;
use crate::wire::Wire;
use crate::{engines, start};
use mayhap_testing::change::{files, mutant};
use mayhap_testing::forge::forged;
use mayhap_testing::random::Random;
use mayhap_testing::server::Server;
use mayhap_testing::turns;

/// Mutants of a short turn, for each way in and server.
const MUTANTS: u64 = 1500;

/// Their outcomes.
#[derive(Debug, Default)]
struct Outcomes {
    refused: u64,
    taken: u64,
}

/// A way into a server.
struct Way<'a> {
    what: &'a str,
    /// A command that is sent before each mutant, if any.
    before: &'a [&'a [u8]],
    /// The command whose last word mutants are.
    load: &'a str,
    /// The questions for a filter that was taken.
    ask: &'a [&'a str],
}

impl Way<'_> {
    /// Sends mutants that `make` makes, and asks what was taken.
    fn send(&self, server: &Server, mut make: impl FnMut(&mut Random) -> Vec<u8>) -> Outcomes {
        let mut outcomes = Outcomes::default();
        let mut wire = Wire::new(server.port);
        let what = self.what;
        // Every server is sent others.
        let seed = format!("{what} on {}", server.engine.name);
        for round in 0..turns::rounds(MUTANTS) {
            let mut random = turns::random(&seed, round);
            let bytes = make(&mut random);
            wire.send(&[b"DEL", b"f"]);
            if !self.before.is_empty() {
                wire.send(self.before);
            }
            let words = self.load.split(' ').map(str::as_bytes).chain([&bytes[..]]);
            wire.send(&words.collect::<Vec<_>>());
            wire.reply();
            if !self.before.is_empty() {
                assert_eq!(wire.reply(), "+OK", "{what} {round}: what is loaded before");
            }
            match wire.reply().starts_with('-') {
                true => outcomes.refused += 1,
                false => {
                    outcomes.taken += 1;
                    self.ask(&mut wire, round);
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
        eprintln!("{seed}: {outcomes:?}");
        outcomes
    }

    /// Asks everything of a filter that was taken; it must be possible to save it.
    fn ask(&self, wire: &mut Wire, round: u64) {
        for command in self.ask {
            let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
            wire.send(&words);
        }
        for _ in self.ask {
            wire.reply();
        }
        wire.send(&[b"DUMP", b"f"]);
        let dump = wire.text();
        wire.ask("DEL f");
        let again = wire.ask_with("RESTORE f 0", &[&dump]);
        let (what, bytes) = (self.what, dump.len());
        assert_eq!(
            again, "+OK",
            "{what} {round}: what was taken can be saved: {bytes} bytes"
        );
    }
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

const CUCKOO: [&str; 8] = [
    "CF.INSERT f ITEMS a b c d e",
    "CF.INSERTNX f ITEMS a x",
    "CF.MEXISTS f a b c d",
    "CF.DEL f a",
    "CF.COUNT f b",
    "CF.INFO f",
    "CF.SCANDUMP f 1",
    "CF.COMPACT f",
];

/// A filter that has grown and one that cannot, of each family: `f`, `g`, `h` and `i`.
fn fill(wire: &mut Wire) {
    wire.ask("BF.RESERVE f 0.01 20");
    wire.ask("BF.RESERVE g 0.0000001 20 NONSCALING");
    wire.ask("CF.RESERVE h 20");
    wire.ask("CF.RESERVE i 50 BUCKETSIZE 4 EXPANSION 0");
    wire.ask("CF.ADD i a");
    for key in 0..100 {
        wire.ask(&format!("BF.ADD f {key}"));
        wire.ask(&format!("CF.ADD h {key}"));
    }
}

/// A piece of a filter.
fn dumped(wire: &mut Wire, command: &str, name: &str, iterator: u64) -> (u64, Vec<u8>) {
    let iterator = iterator.to_string();
    let words = [command, name, &iterator].map(str::as_bytes);
    wire.send(&words);
    wire.pair()
}

/// Mostly with the checksum mended.
fn changed_piece(piece: &[u8], random: &mut Random) -> Vec<u8> {
    let bytes = changed(piece, random);
    match random.below(8) {
        0 => bytes,
        _ => sealed(bytes),
    }
}

#[test]
fn changed_first_pieces_are_refused_or_are_filters() {
    for engine in engines() {
        let server = start(&engine, &["DIALECT", "redis"], &["--maxmemory", "40mb"]);
        let mut wire = Wire::new(server.port);
        fill(&mut wire);
        for (command, names, load, ask) in [
            ("BF.SCANDUMP", ["f", "g"], "BF.LOADCHUNK f 1", &BLOOM[..]),
            ("CF.SCANDUMP", ["h", "i"], "CF.LOADCHUNK f 1", &CUCKOO),
        ] {
            let pieces = names.map(|name| dumped(&mut wire, command, name, 0).1);
            let what = format!("first pieces of {command}");
            let way = Way {
                what: &what,
                before: &[],
                load,
                ask,
            };
            let outcomes = way.send(&server, |random| {
                changed_piece(&pieces[random.below(2) as usize], random)
            });
            assert!(
                outcomes.taken > 10 && outcomes.refused > 100,
                "{outcomes:?}"
            );
        }
        let (bloom, _) = foreign_dump();
        let cuckoo = ForeignDump::grown().header;
        for (what, load, header, ask) in [
            ("RedisBloom", "BF.LOADCHUNK f 1", bloom, &BLOOM[..]),
            ("RedisBloom's CF", "CF.LOADCHUNK f 1", cuckoo, &CUCKOO),
        ] {
            let what = format!("first pieces of {what}");
            let way = Way {
                what: &what,
                before: &[],
                load,
                ask,
            };
            let outcomes = way.send(&server, |random| changed(&header, random));
            assert!(outcomes.refused > 100, "{outcomes:?}");
        }
    }
}

#[test]
fn changed_bits_are_refused_or_are_bits_of_filters() {
    for engine in engines() {
        let server = start(&engine, &["DIALECT", "redis"], &["--maxmemory", "40mb"]);
        let mut wire = Wire::new(server.port);
        fill(&mut wire);
        for (command, name, load, ask) in [
            ("BF.SCANDUMP", "f", "BF.LOADCHUNK", &BLOOM[..]),
            ("CF.SCANDUMP", "h", "CF.LOADCHUNK", &CUCKOO),
        ] {
            let (_, first) = dumped(&mut wire, command, name, 0);
            let (end, bits) = dumped(&mut wire, command, name, 1);
            let what = format!("bits of {command}");
            let way = Way {
                what: &what,
                before: &[load.as_bytes(), b"f", b"1", &first],
                load: &format!("{load} f {end}"),
                ask,
            };
            let outcomes = way.send(&server, |random| changed_piece(&bits, random));
            assert!(
                outcomes.taken > 100 && outcomes.refused > 100,
                "{outcomes:?}"
            );
        }
        let ForeignDump { header, layers } = ForeignDump::grown();
        for (what, load, end, (header, bits), ask) in [
            (
                "RedisBloom",
                "BF.LOADCHUNK",
                145,
                foreign_dump(),
                &BLOOM[..],
            ),
            (
                "RedisBloom's CF",
                "CF.LOADCHUNK",
                129,
                (header, layers[0].clone()),
                &CUCKOO,
            ),
        ] {
            let what = format!("bits of {what}");
            let way = Way {
                what: &what,
                before: &[load.as_bytes(), b"f", b"1", &header],
                load: &format!("{load} f {end}"),
                ask,
            };
            let outcomes = way.send(&server, |random| changed(&bits, random));
            assert!(
                outcomes.taken > 100 && outcomes.refused > 100,
                "{outcomes:?}"
            );
        }
    }
}

#[test]
fn changed_snapshots_are_refused_or_are_filters() {
    for engine in engines() {
        let options = ["--rdbcompression", "no", "--maxmemory", "200mb"];
        let server = start(&engine, &["DIALECT", "redis"], &options);
        let mut wire = Wire::new(server.port);
        wire.ask("BF.RESERVE bloom 0.01 20");
        wire.ask("BF.MADD bloom a b c");
        wire.ask("CF.RESERVE cuckoo 20");
        wire.ask("CF.INSERT cuckoo ITEMS a b c");
        ForeignDump::of(64, 2, 1, &[&["a", "b", "c"]]).load(&mut wire, "foreign");
        wire.ask("MAYHAP.NEW counting counting CAPACITY 20 RATE 0.01");
        let native = ["MAYHAP.ADD f a b", "MAYHAP.CONTAINS f a", "MAYHAP.INFO f"];
        for (name, ask) in [
            ("bloom", &BLOOM[..]),
            ("cuckoo", &CUCKOO),
            ("foreign", &CUCKOO),
            ("counting", &native),
        ] {
            wire.send(&[b"DUMP", name.as_bytes()]);
            let dump = Dump::of(&wire.text());
            let what = format!("snapshots of {name}");
            let way = Way {
                what: &what,
                before: &[],
                load: "RESTORE f 0",
                ask,
            };
            let outcomes = way.send(&server, |random| {
                let mut payload = changed(&dump.payload, random);
                if random.below(8) > 0 {
                    mend(&mut payload);
                }
                dump.around(&payload)
            });
            assert!(
                outcomes.taken > 10 && outcomes.refused > 100,
                "{outcomes:?}"
            );
        }
        let foreign = saved(4, 2, &grown());
        let way = Way {
            what: "snapshots of RedisBloom",
            before: &[],
            load: "RESTORE f 0",
            ask: &BLOOM,
        };
        // The number of the type stays: what follows is the module's to read.
        let (type_, values) = foreign.split_at(9);
        let outcomes = way.send(&server, |random| {
            dump_of(&[type_, &changed(values, random)].concat())
        });
        assert!(
            outcomes.taken > 10 && outcomes.refused > 100,
            "{outcomes:?}"
        );
    }
}

/// A dump of the server, taken apart: what it says of the type, what the module wrote, and the version at its end.
struct Dump {
    head: Vec<u8>,
    payload: Vec<u8>,
    version: Vec<u8>,
}

impl Dump {
    /// A value that the module wrote as one string: the type, its length, itself, an end and ten bytes of the server's.
    fn of(dump: &[u8]) -> Dump {
        let begins = [&b"MAYHAPBF"[..], b"MAYHAPCF", b"\x8DMAYHAP\n"];
        let at = begins
            .iter()
            .find_map(|begin| dump.windows(8).position(|window| window == *begin));
        let at = at.expect("a filter of ours");
        let end = dump.len() - 11;
        let payload = dump[at..end].to_vec();
        let length = length_bytes(payload.len() as u64);
        let head = dump[..at].strip_suffix(&length[..]);
        Dump {
            head: head.expect("one string").to_vec(),
            payload,
            version: dump[end..end + 3].to_vec(),
        }
    }

    /// The dump with another payload, and the checksum of all.
    fn around(&self, payload: &[u8]) -> Vec<u8> {
        let length = length_bytes(payload.len() as u64);
        let mut bytes = [&self.head, &length[..], payload, &self.version].concat();
        let sum = crc64(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }
}

/// Mends the checksums of a head, of the numbers of the first layer of a chain, of the header and the bytes of a cuckoo filter
/// of RedisBloom's, of the native file that follows, and of the period after that.
fn mend(payload: &mut Vec<u8>) {
    let heads: &[(usize, usize)] = match (payload.get(..8), payload.get(8)) {
        (Some(b"MAYHAPBF"), _) => &[(0, 40), (48, 16)],
        (Some(b"MAYHAPCF"), Some(2)) => &[(0, 16), (24, 38), (70, 128)],
        (Some(b"MAYHAPCF"), _) => &[(0, 16)],
        _ => &[],
    };
    let mut end = 0;
    for &(start, length) in heads {
        end = start + length + 8;
        let Some(part) = payload.get_mut(start..end) else {
            return;
        };
        let (body, sum) = part.split_at_mut(length);
        sum.copy_from_slice(&xxh3_64(body).to_le_bytes());
    }
    let period = if heads.is_empty() { 16 } else { 0 };
    let Some(split) = payload
        .len()
        .checked_sub(period)
        .filter(|&split| split >= end)
    else {
        return;
    };
    if let Some(file) = forged(&payload[end..split]) {
        payload.splice(end..split, file);
    }
    if let Some(tail) = payload.get_mut(split..).filter(|tail| tail.len() == 16) {
        let (body, sum) = tail.split_at_mut(8);
        sum.copy_from_slice(&xxh3_64(body).to_le_bytes());
    }
}

#[test]
fn changed_files_are_refused_or_are_filters() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap/tests/data/native/v1");
    let files = files(&data);
    for engine in engines() {
        let server = start(&engine, &["DIALECT", "redis"], &["--maxmemory", "200mb"]);
        let way = Way {
            what: "files",
            before: &[],
            load: "MAYHAP.RESTORE f",
            ask: &[
                "MAYHAP.ADD f a b c",
                "MAYHAP.CONTAINS f a b c",
                "MAYHAP.INFO f",
                "MAYHAP.REMOVE f a",
                "MAYHAP.COUNT f a",
            ],
        };
        let outcomes = way.send(&server, |random| mutant(&files, random));
        assert!(
            outcomes.taken > 50 && outcomes.refused > 100,
            "{outcomes:?}"
        );
    }
}
