//! Snapshots as RedisBloom writes them, made here from the description of its layout.

use std::path::PathBuf;

use crate::on_each;
use crate::wire::Wire;

/// The folder of a server.
pub(crate) fn folder(wire: &mut Wire) -> PathBuf {
    let folder = wire.ask("CONFIG GET dir");
    let folder = folder.trim_matches(['[', ']']).split(" $").nth(1);
    PathBuf::from(folder.expect("a folder"))
}

/// A layer of RedisBloom's.
pub(crate) struct Layer {
    capacity: u64,
    rate: f64,
    bits_per_key: f64,
    hashes: u64,
    array: Vec<u8>,
    keys: u64,
}

impl Layer {
    fn new(capacity: u64, rate: f64, keys: &[&str]) -> Layer {
        let bits_per_key = -rate.ln() / 0.480_453_013_918_201;
        let bits = ((capacity as f64 * bits_per_key) as u64).next_multiple_of(64);
        let hashes = (std::f64::consts::LN_2 * bits_per_key).ceil() as u64;
        let mut array = vec![0; bits as usize / 8];
        let shape = mayhap::Shape::new(bits, hashes as u32).expect("valid");
        for key in keys {
            for position in mayhap::Scheme::RedisBloom.positions(key.as_bytes(), shape) {
                array[position as usize / 8] |= 1 << (position % 8);
            }
        }
        Layer {
            capacity,
            rate,
            bits_per_key,
            hashes,
            array,
            keys: keys.len() as u64,
        }
    }

    fn bits(&self) -> u64 {
        8 * self.array.len() as u64
    }
}

/// A length as snapshots have it.
pub(crate) fn length_bytes(length: u64) -> Vec<u8> {
    match length {
        0..64 => vec![length as u8],
        64..0x4000 => vec![0x40 | (length >> 8) as u8, length as u8],
        0x4000..0x1_0000_0000 => [&[0x80][..], &(length as u32).to_be_bytes()].concat(),
        _ => [&[0x81][..], &length.to_be_bytes()].concat(),
    }
}

fn string(bytes: &[u8]) -> Vec<u8> {
    [&length_bytes(bytes.len() as u64), bytes].concat()
}

/// The number of a type: nine letters of six bits each, and its version in ten.
fn type_number(name: &[u8; 9], version: u64) -> u64 {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let number = name.iter().fold(0, |number, letter| {
        let place = letters.iter().position(|one| one == letter);
        number << 6 | place.expect("a letter of names") as u64
    });
    number << 10 | version
}

/// A filter as a module saves it: every value after a number for what it is, and a zero at the end.
pub(crate) fn saved(version: u64, growth: u64, layers: &[Layer]) -> Vec<u8> {
    let unsigned = |value: u64| [vec![2], length_bytes(value)].concat();
    let double = |value: f64| [&[4][..], &value.to_le_bytes()].concat();
    let text = |bytes: &[u8]| [vec![5], string(bytes)].concat();
    let keys = layers.iter().map(|layer| layer.keys).sum();
    let mut bytes = length_bytes(type_number(b"MBbloom--", version));
    for value in [keys, layers.len() as u64, 5] {
        bytes.extend(unsigned(value));
    }
    if version > 3 {
        bytes.extend(unsigned(growth));
    }
    for layer in layers {
        bytes.extend(unsigned(layer.capacity));
        bytes.extend(double(layer.rate));
        bytes.extend(unsigned(layer.hashes));
        bytes.extend(double(layer.bits_per_key));
        bytes.extend(unsigned(layer.bits()));
        bytes.extend(unsigned(0));
        bytes.extend(text(&layer.array));
        bytes.extend(unsigned(layer.keys));
    }
    bytes.push(0);
    bytes
}

/// The mark of a value of a module.
const MODULE_VALUE: u8 = 7;

/// Returns the bytes that `DUMP` would.
pub(crate) fn dumped(saved: &[u8]) -> Vec<u8> {
    let mut bytes = [&[MODULE_VALUE], saved, &9_u16.to_le_bytes()].concat();
    let sum = crc64(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// The checksum that the server has at the end of dumps and snapshots: CRC-64 of Jones, reflected.
pub(crate) fn crc64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, &byte| {
        (0..8).fold(sum ^ u64::from(byte), |sum, _| {
            let carry = if sum & 1 == 1 {
                0x95AC_9329_AC4B_C9B5
            } else {
                0
            };
            (sum >> 1) ^ carry
        })
    })
}

/// A filter reserved for 100 keys at 0.01 that has grown once.
pub(crate) fn grown() -> Vec<Layer> {
    vec![
        Layer::new(100, 0.005, &["hello", "old"]),
        Layer::new(200, 0.0025, &["new"]),
    ]
}

#[test]
fn a_snapshot_of_redisbloom_is_loaded_and_becomes_one_of_ours() {
    on_each(|_, mut wire| {
        let path = folder(&mut wire).join("dump.rdb");
        let mut file = [&b"REDIS0009"[..], &[0xFE, 0, MODULE_VALUE], &string(b"f")].concat();
        file.extend(saved(4, 2, &grown()));
        file.push(0xFF);
        file.extend(crc64(&file).to_le_bytes());
        std::fs::write(&path, &file).expect("written");

        assert_eq!(wire.ask("DEBUG RELOAD NOSAVE"), "+OK");

        let answers = |wire: &mut Wire| {
            assert_eq!(
                wire.ask("BF.MEXISTS f hello old new absent"),
                "[:1 :1 :1 :0]"
            );
            assert_eq!(wire.ask("BF.CARD f"), ":3");
            assert_eq!(wire.ask("BF.INFO f CAPACITY"), "[:300]");
            assert_eq!(wire.ask("BF.INFO f FILTERS"), "[:2]");
            assert_eq!(wire.ask("BF.INFO f EXPANSION"), "[:2]");
            // The bits are as they were: what RedisBloom would take back.
            let mut end = 1;
            for layer in grown() {
                let ask = end.to_string();
                wire.send(&[b"BF.SCANDUMP", b"f", ask.as_bytes()]);
                end += layer.array.len() as u64;
                assert_eq!(wire.pair(), (end, layer.array));
            }
        };
        answers(&mut wire);
        // Saved as ours, with checksums, and loaded again.
        assert_eq!(wire.ask("DEBUG RELOAD"), "+OK");
        answers(&mut wire);
        let file = std::fs::read(&path).expect("a snapshot");
        assert!(file.windows(8).any(|window| window == b"MAYHAPBF"));
        for key in 0..1000 {
            wire.ask(&format!("BF.ADD f {key}"));
        }
        assert_eq!(wire.ask("DEBUG RELOAD"), "+OK");
        assert_eq!(
            wire.ask("BF.MEXISTS f hello old new 0 999"),
            "[:1 :1 :1 :1 :1]"
        );
    });
}

#[test]
fn a_value_of_redisbloom_that_is_not_whole_is_refused() {
    on_each(|_, mut wire| {
        let whole = saved(4, 2, &grown());
        assert_eq!(wire.ask_with("RESTORE f 0", &[&dumped(&whole)]), "+OK");
        assert_eq!(wire.ask("BF.EXISTS f hello"), ":1");
        for version in [2, 3] {
            let older = dumped(&saved(version, 2, &grown()));
            assert_eq!(
                wire.ask_with(&format!("RESTORE old{version} 0"), &[&older]),
                "+OK"
            );
            assert_eq!(
                wire.ask(&format!("BF.MEXISTS old{version} hello old new")),
                "[:1 :1 :1]"
            );
        }
        for version in [1, 5] {
            let other = dumped(&saved(version, 2, &grown()));
            assert!(wire.ask_with("RESTORE g 0", &[&other]).starts_with('-'));
            let log = std::fs::read_to_string(folder(&mut wire).join("log")).expect("a log");
            let named = format!(
                "the key g is not loaded: this version of values is not known. It is a MBbloom-- of version {version}"
            );
            assert!(
                log.contains(&named) && log.contains("by BF.SCANDUMP and BF.LOADCHUNK"),
                "{log}"
            );
        }
        for length in 9..whole.len() {
            let cut = dumped(&whole[..length]);
            assert!(
                wire.ask_with("RESTORE g 0", &[&cut]).starts_with('-'),
                "{length}"
            );
        }
        assert_eq!(wire.ask("PING"), "+PONG");
    });
}
