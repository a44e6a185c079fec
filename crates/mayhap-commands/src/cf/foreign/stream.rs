//! A filter in RedisBloom's layout as bytes: its header, as RedisBloom dumps it, and whole, for snapshots.
//!
//! ```text
//! header  keys:u64 buckets of the first layer:u64 removals:u64 layers:u64 slots of a bucket:u16 iterations:u16 expansion:u16
//! whole   header checksum:u64, then the bytes of each layer in blocks of at most 64 KiB, each with a checksum:u64
//! ```

use std::io::{self, Read, Write};

use mayhap::bits::{Bitmap, Bits as _};

use super::{Foreign, Layer, MOST_LAYERS, taken};
use crate::encoding::{Damage, Fields, sealed, text, unsealed};
use crate::limits::Allows;
use crate::pieces::copied;
use crate::value::{Snapshot, cut, unsigned};

/// The version of RedisBloom's values of `CF.*` in snapshots.
pub(crate) const SAVED: i32 = 4;

/// The bytes of a header.
pub const HEADER: usize = 38;

/// The largest expansion, which is a power of two.
const MOST_EXPANSION: u16 = 1 << 15;

/// The most slots of a bucket.
const MOST_SLOTS: u16 = 255;

/// The bytes of a layer that are saved with one checksum.
const BLOCK: u64 = 64 << 10;

impl Foreign {
    /// Makes the empty filter that a header describes. Asks `allows` before any memory is taken.
    pub(crate) fn begin(header: &[u8], allows: Allows<'_>) -> Result<Foreign, Damage> {
        let (mut filter, lengths) = parse(header)?;
        let taken = lengths.iter().map(|&length| taken(length));
        if !allows(0, taken.fold(0, u64::saturating_add)) {
            return Err("it is larger than filters may be".into());
        }
        for length in lengths {
            let bytes = Bitmap::new(8 * length).map_err(text)?;
            filter.layers.push(Layer::over(bytes, filter.slots));
        }
        Ok(filter)
    }

    /// Writes it.
    pub(crate) fn write(&self, output: &mut dyn Write) -> mayhap::Result<()> {
        output.write_all(&sealed(self.header()))?;
        for layer in self.bits() {
            let length = layer.size() / 8;
            for start in (0..length).step_by(BLOCK as usize) {
                let block = copied(layer, start, length.min(start + BLOCK));
                let block = block.ok_or(io::Error::from(io::ErrorKind::OutOfMemory))?;
                output.write_all(&sealed(block))?;
            }
        }
        Ok(())
    }

    /// Reads what was written. Takes memory only for bytes that were there.
    pub(crate) fn read(input: &mut dyn Read) -> Result<Foreign, Damage> {
        let (mut filter, lengths) = parse(&unsealed(input, HEADER)?)?;
        for length in lengths {
            let mut bytes = Vec::new();
            while (bytes.len() as u64) < length {
                let block = unsealed(input, (length - bytes.len() as u64).min(BLOCK) as usize)?;
                let room = bytes.try_reserve(block.len());
                room.map_err(|error| error.to_string())?;
                bytes.extend(block);
            }
            filter.push(&bytes)?;
        }
        Ok(filter)
    }

    /// Reads a filter of a snapshot of RedisBloom: its layers, the buckets of the first, its keys, removals, slots of a bucket,
    /// iterations and expansion, then for each layer its buckets and its bytes.
    pub(crate) fn read_saved(saved: &mut dyn Snapshot) -> Result<Foreign, Damage> {
        let mut numbers = [0; 7];
        for number in &mut numbers {
            *number = unsigned(saved)?;
        }
        let [layers, buckets, keys, removed, small @ ..] = numbers;
        // Written as the header of a dump, so that it is checked as one.
        let header = header_of([keys, buckets, removed, layers], small);
        let (mut filter, lengths) = parse(&header)?;
        for length in lengths {
            let buckets = unsigned(saved)?;
            let bytes = saved.bytes().map_err(cut)?;
            if bytes.len() as u64 != length || length / u64::from(filter.slots) != buckets {
                return Err("a layer has another length than it says".into());
            }
            filter.push(&bytes)?;
        }
        Ok(filter)
    }

    /// Adds a layer of these bytes.
    fn push(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        self.keys += bytes.iter().filter(|&&byte| byte != 0).count() as u64;
        let bytes = Bitmap::from_bytes(bytes).map_err(text)?;
        self.layers.push(Layer::over(bytes, self.slots));
        Ok(())
    }

    /// The header.
    pub(crate) fn header(&self) -> Vec<u8> {
        let large = [
            self.keys,
            self.buckets,
            self.removed,
            self.layers.len() as u64,
        ];
        let small = [self.slots, self.iterations, self.expansion].map(u64::from);
        header_of(large, small)
    }
}

/// Writes a header. A small number that is too large for its field becomes the largest, which is not a valid bucket or expansion.
pub(super) fn header_of(large: [u64; 4], small: [u64; 3]) -> Vec<u8> {
    let small = small.map(|number| u16::try_from(number).unwrap_or(u16::MAX));
    let large = large.map(u64::to_le_bytes).concat();
    [large, small.map(u16::to_le_bytes).concat()].concat()
}

/// Reads a header: the filter without its layers, and the bytes of each layer.
fn parse(header: &[u8]) -> Result<(Foreign, Vec<u64>), Damage> {
    let mut fields = Fields(header);
    let (keys, buckets) = (fields.u64()?, fields.u64()?);
    let (removed, layers) = (fields.u64()?, fields.u64()?);
    let [slots, iterations, expansion] = [fields.u16()?, fields.u16()?, fields.u16()?];
    let filter = Foreign {
        buckets,
        slots,
        iterations,
        expansion,
        keys: 0,
        removed,
        layers: Vec::new(),
    };
    let is_expansion = expansion == 0 || expansion.is_power_of_two() && expansion <= MOST_EXPANSION;
    let is_shape = buckets.is_power_of_two() && (1..=MOST_SLOTS).contains(&slots);
    if !is_shape || !is_expansion || iterations == 0 || !fields.0.is_empty() {
        return Err(format!(
            "{buckets} buckets of {slots} slots, {iterations} iterations, expansion {expansion}; expected a power of two, \
             1 to {MOST_SLOTS}, at least 1, and 0 or a power of two up to {MOST_EXPANSION}"
        ));
    }
    let lengths = (0..layers.min(MOST_LAYERS + 1)).map(|index| filter.bytes_in(index));
    let lengths: Option<Vec<u64>> = lengths.collect();
    let lengths = lengths.filter(|lengths| !lengths.is_empty());
    let lengths = lengths.ok_or_else(|| format!("it cannot have {layers} layers"))?;
    let room = lengths
        .iter()
        .fold(0, |room: u64, &bytes| room.saturating_add(bytes));
    if keys > room {
        return Err(format!("{keys} keys are in {room} slots"));
    }
    Ok((filter, lengths))
}

#[cfg(test)]
mod tests {
    use super::super::super::Nest;
    use super::super::tests::{ANY, bytes, empty, header, insert};
    use super::*;
    use crate::pieces::{Pieces as _, Place as At, locate, piece};
    use crate::value::Value as _;

    /// By another program, from the layout: 2, 4 and 8 buckets of 3 slots; in the layers `hello a`, `b c a` and `d e f a`.
    const HEADER_BYTES: &str =
        "0900000000000000020000000000000004000000000000000300000000000000030014000200";
    const LAYERS: [&str; 3] = [
        "0000009fc400",
        "000000cbc400000000100000",
        "00000006bcc4a90000000000000000000000000000000000",
    ];

    fn unhex(text: &str) -> Vec<u8> {
        let digits = text.as_bytes().chunks(2);
        let bytes = digits.map(|pair| std::str::from_utf8(pair).expect("digits"));
        bytes
            .map(|pair| u8::from_str_radix(pair, 16).expect("a byte"))
            .collect()
    }

    #[test]
    fn a_dump_is_loaded_answers_and_is_dumped_again() {
        let header = unhex(HEADER_BYTES);
        // Whole layers, and other pieces than the ones dumped here.
        for length in [5, usize::MAX] {
            let mut nest = Nest::begin(&header, None, ANY).expect("begun");
            let mut end = 1;
            for (index, layer) in LAYERS.into_iter().map(unhex).enumerate() {
                let mut start = 0;
                for bytes in layer.chunks(length.min(layer.len())) {
                    end += bytes.len() as u64;
                    let located = locate(&nest, end, bytes).expect("whole");
                    assert_eq!(located, (At::At(index, start), bytes));
                    assert!(nest.load_bits(index, start, bytes));
                    start += bytes.len() as u64;
                }
            }
            assert_eq!(nest.keys(), 9);
            for key in ["hello", "a", "b", "c", "d", "e", "f"] {
                assert!(nest.contains(key.as_bytes()), "{key}");
            }
            assert_eq!((nest.count(b"a"), nest.count(b"b")), (3, 1));
            assert!(!nest.contains(b"absent") && !nest.remove(b"absent"));

            assert_eq!(piece(&nest, 0), Some((1, header.clone())));
            let mut iterator = 1;
            for layer in LAYERS.map(unhex) {
                let next = iterator + layer.len() as u64;
                assert_eq!(piece(&nest, iterator), Some((next, layer)));
                iterator = next;
            }
            assert_eq!(piece(&nest, iterator), None);
            assert!(!nest.load_bits(2, 20, &[0; 5]) && !nest.load_bits(3, 0, &[0]));

            // Once for each layer it is in.
            assert!(nest.remove(b"a") && nest.remove(b"a") && nest.remove(b"a"));
            assert!(!nest.remove(b"a") && !nest.contains(b"a"));
            assert_eq!((nest.keys(), nest.facts().removed), (6, 7));
        }
    }

    #[test]
    fn what_is_saved_has_the_bytes_it_always_had() {
        // By another program, with the checksums of another XXH3.
        let sums = [
            "196b17e04770902c",
            "0bf36269dd9da662",
            "927e02df6168cdb3",
            "b2249523a207a0b4",
            "5d7238eb1cdc6406",
        ];
        let head = "4d415948415043460200000014000000";
        let parts = [head, HEADER_BYTES].into_iter().chain(LAYERS);
        let saved: Vec<&str> = parts.zip(sums).flat_map(<[&str; 2]>::from).collect();
        let saved = unhex(&saved.concat());

        let nest = Nest::load(&mut &saved[..], None).expect("read");

        assert_eq!(piece(&nest, 0), Some((1, unhex(HEADER_BYTES))));
        assert_eq!((nest.keys(), nest.count(b"a")), (9, 3));
        let mut again = Vec::new();
        nest.write(&mut again).expect("written");
        assert!(again == saved);
    }

    #[test]
    fn a_filter_is_the_same_after_writing_and_reading() {
        // Of one block, of several, and of an odd length.
        for (buckets, slots, expansion, keys) in
            [(64, 2, 2, 500), (1 << 16, 3, 1, 20), (1, 1, 1, 3)]
        {
            let mut filter = empty(buckets, slots, expansion);
            insert(&mut filter, 0..keys).expect("room");
            filter.remove(&0_u32.to_le_bytes());
            let written = bytes(&filter);

            let read = Foreign::read(&mut &written[..]).expect("read");

            assert!(bytes(&read) == written && read.bits().eq(filter.bits()));
            assert_eq!((read.keys(), read.removed), (u64::from(keys) - 1, 1));
        }
    }

    #[test]
    fn damaged_and_cut_bytes_are_refused() {
        let mut filter = empty(64, 2, 2);
        insert(&mut filter, 0..500).expect("room");
        let written = bytes(&filter);
        for at in 0..written.len() {
            let mut damaged = written.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(Foreign::read(&mut &damaged[..]).is_err(), "{at}");
            assert!(Foreign::read(&mut &written[..at]).is_err(), "{at}");
        }
    }

    #[test]
    fn headers_that_cannot_be_are_refused_before_memory_is_asked_for() {
        let never: Allows<'static> = &|_, _| panic!("asked for memory");
        for (buckets, layers, numbers) in [
            (0, 1, [2, 20, 1]),
            (3, 1, [2, 20, 1]),
            (u64::MAX, 1, [2, 20, 1]),
            (64, 0, [2, 20, 1]),
            (64, 1025, [2, 20, 1]),
            (64, u64::MAX, [2, 20, 1]),
            (64, 2, [2, 20, 0]),
            (64, 60, [2, 20, 2]),
            (1 << 63, 1, [2, 20, 1]),
            (1 << 62, 1, [1, 20, 1]),
            (64, 1, [0, 20, 1]),
            (64, 1, [256, 20, 1]),
            (64, 1, [2, 0, 1]),
            (64, 1, [2, 20, 3]),
            (64, 1, [2, 20, 0xFFFF]),
        ] {
            let header = header(buckets, layers, numbers);
            let refused = Foreign::begin(&header, never);
            assert!(refused.is_err(), "{buckets} {layers} {numbers:?}");
        }
        let mut crowded = header(64, 1, [2, 20, 1]);
        crowded[0] = 129;
        assert!(Foreign::begin(&crowded, never).is_err());
        crowded[0] = 128;
        assert!(Foreign::begin(&crowded, ANY).is_ok());
        assert!(Foreign::begin(&crowded[1..], never).is_err());
        // What is asked for is what is taken.
        let large = header(1 << 40, 1, [255, 20, 1]);
        let asked = |now: u64, more: u64| {
            assert_eq!((now, more >> 40), (0, 255));
            false
        };
        assert!(Foreign::begin(&large, &asked).is_err());
    }
}
