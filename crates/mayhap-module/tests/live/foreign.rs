//! Cuckoo filters of RedisBloom, dumped as the description of their layout has it.

use crate::on_each;
use crate::wire::Wire;

/// A dump of a cuckoo filter.
pub(crate) struct Dump {
    /// The first piece.
    pub(crate) header: Vec<u8>,
    /// The bytes of each layer.
    pub(crate) layers: Vec<Vec<u8>>,
}

impl Dump {
    /// A filter whose first layer has this many buckets of `slots` slots, each later one `expansion` times those of the one
    /// before, with these keys in each layer.
    pub(crate) fn of(buckets: u64, slots: u16, expansion: u16, keys: &[&[&str]]) -> Dump {
        let mut layers = Vec::new();
        for (index, keys) in keys.iter().enumerate() {
            let count = buckets * u64::from(expansion).pow(index as u32);
            let mut layer = vec![0; (count * u64::from(slots)) as usize];
            for key in *keys {
                let hash = mayhap::hash::murmur64a(key.as_bytes(), 0);
                let fingerprint = hash % 255 + 1;
                let either = [hash, hash ^ (fingerprint * 0x5bd1_e995)];
                let starts = either.map(|hash| (hash % count) as usize * usize::from(slots));
                let places = starts.map(|start| start..start + usize::from(slots));
                let empty = places.into_iter().flatten().find(|&slot| layer[slot] == 0);
                layer[empty.expect("room")] = fingerprint as u8;
            }
            layers.push(layer);
        }
        let items = keys.iter().map(|keys| keys.len() as u64).sum();
        let numbers = [items, buckets, 3, layers.len() as u64];
        let mut header = numbers.map(u64::to_le_bytes).concat();
        header.extend([slots, 20, expansion].map(u16::to_le_bytes).concat());
        Dump { header, layers }
    }

    /// One that has grown twice.
    pub(crate) fn grown() -> Dump {
        let old = ["hello", "old", "twice"];
        let newer = ["newer", "twice"];
        let newest = ["newest", "again", "again"];
        Dump::of(64, 2, 2, &[&old, &newer, &newest])
    }

    /// The pieces, each with the iterator that belongs to it.
    fn pieces(&self) -> Vec<(u64, Vec<u8>)> {
        let mut pieces = vec![(1, self.header.clone())];
        let mut end = 1;
        for layer in &self.layers {
            end += layer.len() as u64;
            pieces.push((end, layer.clone()));
        }
        pieces
    }

    pub(crate) fn load(&self, wire: &mut Wire, name: &str) {
        for (iterator, piece) in self.pieces() {
            let load = format!("CF.LOADCHUNK {name} {iterator}");
            assert_eq!(wire.ask_with(&load, &[&piece]), "+OK", "{load}");
        }
    }

    /// Returns whether a filter is dumped as this.
    fn assert_given_back(&self, wire: &mut Wire, name: &str) {
        let mut iterator = 0;
        let end = (0, Vec::new());
        for expected in self.pieces().into_iter().chain([end]) {
            let ask = iterator.to_string();
            wire.send(&[b"CF.SCANDUMP", name.as_bytes(), ask.as_bytes()]);
            assert_eq!(wire.pair(), expected, "after {iterator}");
            iterator = expected.0;
        }
    }
}

#[test]
fn a_cuckoo_dump_of_redisbloom_is_taken_and_given_back() {
    on_each(|_, mut wire| {
        let dump = Dump::grown();
        dump.load(&mut wire, "f");
        dump.assert_given_back(&mut wire, "f");
        let keys = "CF.MEXISTS f hello old twice newer newest again absent";
        assert_eq!(wire.ask(keys), "[:1 :1 :1 :1 :1 :1 :0]");
        for (key, count) in [("hello", 1), ("twice", 2), ("again", 2), ("absent", 0)] {
            assert_eq!(wire.ask(&format!("CF.COUNT f {key}")), format!(":{count}"));
        }
        let debug = wire.ask("CF.DEBUG f");
        let facts =
            "buckets:64 filters:3 items:8 deletes:3 bktsize:2 expansion:2 max_iterations:20";
        assert!(debug.contains(facts), "{debug}");
        assert_eq!(wire.ask("TYPE f"), "+MBbloomCF");
        let usage: u64 = wire.ask("MEMORY USAGE f")[1..].parse().expect("bytes");
        assert!((896..2000).contains(&usage), "{usage}");

        // Saved, copied and restored it is the same, and still RedisBloom's.
        assert_eq!(wire.ask("DEBUG RELOAD"), "+OK");
        assert_eq!(wire.ask("COPY f g"), ":1");
        wire.send(&[b"DUMP", b"f"]);
        let saved = wire.text();
        assert_eq!(wire.ask_with("RESTORE h 0", &[&saved]), "+OK");
        for name in ["f", "g", "h"] {
            dump.assert_given_back(&mut wire, name);
            assert_eq!(
                wire.ask(&format!("DEBUG DIGEST-VALUE {name}")),
                wire.ask("DEBUG DIGEST-VALUE f")
            );
        }
        // Valkey drops the values from before the reload in the background.
        let lines = ["cuckoo_num_objects:3", "cuckoo_num_items_across_objects:24"];
        let is_counted = |_| {
            let info = wire.ask("INFO everything");
            lines.iter().all(|line| info.contains(line))
        };
        assert!((0..10_000).any(is_counted), "{lines:?}");

        for (command, reply) in [
            ("CF.DEL f again", ":1"),
            ("CF.COUNT f again", ":1"),
            ("CF.DEL f again", ":1"),
            ("CF.DEL f again", ":0"),
            ("CF.DEL f absent", ":0"),
            ("CF.ADDNX f hello", ":0"),
            ("CF.ADD f again", ":1"),
            ("CF.INSERTNX f ITEMS again more", "[:0 :1]"),
            ("CF.DEL f more", ":1"),
            ("CF.ADD f again", ":1"),
        ] {
            assert_eq!(wire.ask(command), reply, "{command}");
        }
        // The same keys as at first.
        let mut dumped = Dump::grown();
        dumped.header[16] += 3;
        dumped.assert_given_back(&mut wire, "f");
    });
}

#[test]
fn a_loaded_cuckoo_filter_grows_in_its_own_layout_and_is_compacted() {
    on_each(|_, mut wire| {
        Dump::grown().load(&mut wire, "f");
        for key in 0..1500 {
            assert_eq!(wire.ask(&format!("CF.ADD f {key}")), ":1");
        }
        for key in 0..1500 {
            assert_eq!(wire.ask(&format!("CF.EXISTS f {key}")), ":1", "{key}");
        }
        let debug = wire.ask("CF.DEBUG f");
        assert!(debug.contains("buckets:64 filters:4 items:1508"), "{debug}");
        // Its pieces make the same filter, also in the hands of a second loader.
        wire.send(&[b"CF.SCANDUMP", b"f", b"0"]);
        let (mut iterator, mut piece) = wire.pair();
        assert_eq!((iterator, piece.len()), (1, 38));
        let mut lengths = Vec::new();
        while iterator > 0 {
            let load = format!("CF.LOADCHUNK g {iterator}");
            assert_eq!(wire.ask_with(&load, &[&piece]), "+OK");
            lengths.push(piece.len());
            let ask = iterator.to_string();
            wire.send(&[b"CF.SCANDUMP", b"f", ask.as_bytes()]);
            (iterator, piece) = wire.pair();
        }
        assert_eq!(lengths, [38, 128, 256, 512, 1024]);
        let digest = wire.ask("DEBUG DIGEST-VALUE f");
        assert_eq!(wire.ask("DEBUG DIGEST-VALUE g"), digest);

        // A batch that finds no room leaves it as it is.
        wire.ask("CONFIG SET bf.cf-max-expansions 3");
        wire.ask("CONFIG SET cf-max-expansions 3");
        let many: Vec<String> = (0..3000).map(|key| format!("x{key}")).collect();
        let refused = wire.ask(&format!("CF.INSERT f ITEMS {}", many.join(" ")));
        assert_eq!(refused.matches(":-1").count(), 3000);
        assert_eq!(wire.ask("DEBUG DIGEST-VALUE f"), digest);

        for key in 100..1500 {
            assert_eq!(wire.ask(&format!("CF.DEL f {key}")), ":1", "{key}");
        }
        assert_eq!(wire.ask("CF.COMPACT f"), "+OK");
        let debug = wire.ask("CF.DEBUG f");
        assert!(!debug.contains("filters:4"), "{debug}");
        assert!(debug.contains("items:108 deletes:1403"), "{debug}");
        for key in 0..100 {
            assert_eq!(wire.ask(&format!("CF.EXISTS f {key}")), ":1", "{key}");
        }
        assert_eq!(wire.ask("CF.EXISTS f hello"), ":1");
    });
}

#[test]
fn a_cuckoo_header_that_cannot_be_is_refused_without_memory() {
    on_each(|_, mut wire| {
        let used = |wire: &mut Wire| -> u64 {
            let info = wire.ask("INFO memory");
            let line = info
                .lines()
                .find_map(|line| line.strip_prefix("used_memory_peak:"));
            line.expect("a line").trim().parse().expect("bytes")
        };
        let header = Dump::grown().header;
        let before = used(&mut wire);
        for (at, bytes) in [
            // Keys, buckets, layers, slots, iterations, expansion.
            (0, &u64::MAX.to_le_bytes()[..]),
            (8, &[0; 8]),
            (8, &65_u64.to_le_bytes()),
            (8, &(1_u64 << 46).to_le_bytes()),
            (8, &(1_u64 << 63).to_le_bytes()),
            (24, &[0; 8]),
            (24, &64_u64.to_le_bytes()),
            (24, &u64::MAX.to_le_bytes()),
            (32, &[0, 0]),
            (32, &[0, 1]),
            (34, &[0, 0]),
            (36, &[0, 0]),
            (36, &[3, 0]),
        ] {
            let mut changed = header.clone();
            changed[at..at + bytes.len()].copy_from_slice(bytes);
            let refused = wire.ask_with("CF.LOADCHUNK f 1", &[&changed]);
            assert_eq!(refused, "-Invalid header", "{at} {bytes:?}");
        }
        assert_eq!(wire.ask("EXISTS f"), ":0");
        assert!(used(&mut wire) < before + (4 << 20));

        assert_eq!(wire.ask_with("CF.LOADCHUNK f 1", &[&header]), "+OK");
        // Only the header is there: an empty filter that can be saved.
        assert_eq!(wire.ask("DEBUG RELOAD"), "+OK");
        assert_eq!(wire.ask("CF.EXISTS f hello"), ":0");
        for (iterator, length) in [
            (898, 897),
            (130, 130),
            (386, 256),
            (898, 1),
            (0, 1),
            (129, 0),
        ] {
            let refused = wire.ask_with(&format!("CF.LOADCHUNK f {iterator}"), &[&vec![1; length]]);
            assert!(refused.starts_with('-'), "{iterator} {length}: {refused}");
        }
        // Pieces of another length than ours, in any order.
        for (iterator, length) in [(385, 250), (897, 512), (9, 3), (129, 120), (130, 1)] {
            let load = format!("CF.LOADCHUNK f {iterator}");
            assert_eq!(wire.ask_with(&load, &[&vec![1; length]]), "+OK", "{load}");
        }
        let debug = wire.ask("CF.DEBUG f");
        assert!(debug.contains("items:886"), "{debug}");
    });
}
