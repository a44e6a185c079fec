//! The places of a key in a filter of any kind.

use alloc::vec;
use alloc::vec::Vec;

use super::{AnyFilter, Blocked, Needed, Places};
use crate::Key;
use crate::bits::{Bits, CounterWidth};
use crate::hash::{Digest, Probe};

impl<B: Bits> AnyFilter<B> {
    /// Returns where the filter keeps the key, or would keep it: one entry per layer, the oldest first, or only one.
    ///
    /// For pictures and explanations: a lookup by [`contains`](AnyFilter::contains) reads the same places many times as
    /// fast. Empty for a filter that was built from no keys.
    pub fn places<K: Key + ?Sized>(&self, key: &K) -> Vec<Places> {
        self.places_bytes(key.key_bytes().as_ref())
    }

    fn places_bytes(&self, key: &[u8]) -> Vec<Places> {
        match self {
            AnyFilter::Bloom(filter) => {
                let positions = filter.scheme().positions(key, filter.shape());
                vec![Places::bits(0, filter.bits(), positions)]
            }
            AnyFilter::Blocked(filter) => vec![in_blocked(filter, 0, key)],
            AnyFilter::Guarded(filter) => vec![in_blocked(filter.filter(), 0, key)],
            AnyFilter::SplitBlock(filter) => vec![filter.places(key)],
            AnyFilter::Counting(filter) => {
                let numbers = filter.digester().digest(key).probe(filter.shape());
                vec![counters(filter.bits(), filter.width(), numbers)]
            }
            AnyFilter::Spectral(filter) => {
                let numbers = filter.digester().digest(key).probe(filter.shape());
                vec![counters(filter.bits(), filter.width(), numbers)]
            }
            AnyFilter::Spatial(filter) => {
                let shape = filter.shape();
                let numbers = filter.digester().digest(key).probe(shape.cells());
                // At most 16, for 65 535 areas.
                let width = shape.width() as u32;
                let bits = filter.bits();
                vec![Places::numbers(
                    "cell",
                    0,
                    bits,
                    width,
                    numbers,
                    Needed::NoZero,
                )]
            }
            AnyFilter::Shifting(filter) => vec![filter.places(filter.digester().digest(key))],
            AnyFilter::ShiftingAssociation(filter) => {
                vec![filter.places(filter.digester().digest(key))]
            }
            AnyFilter::ShiftingMultiplicity(filter) => {
                vec![filter.places(filter.digester().digest(key))]
            }
            AnyFilter::Scalable(filter) => {
                let layers = filter.filters().zip(1..);
                let places = layers.map(|(layer, number)| {
                    in_blocked(layer, number, key).of("layer", number as u64)
                });
                places.collect()
            }
            AnyFilter::Windowed(filter) => filter.places(filter.digester().digest(key)),
            AnyFilter::Cuckoo(filter) => filter.places(filter.digester().digest(key)),
            AnyFilter::Cascade(filter) => filter.places(filter.digester().digest(key)),
            AnyFilter::Fuse(filter) => filter.places(filter.digester().digest(key)),
            AnyFilter::Ribbon(filter) => filter.places(filter.digester().digest(key)),
        }
    }
}

fn counters(bits: &impl Bits, width: CounterWidth, numbers: Probe) -> Places {
    Places::numbers("counter", 0, bits, width.bits(), numbers, Needed::NoZero)
}

fn in_blocked<B: Bits>(filter: &Blocked<B>, part: usize, key: &[u8]) -> Places {
    let digest: Digest = filter.digester().digest(key);
    Places::bits(part, filter.bits(), filter.positions(digest))
}

#[cfg(test)]
mod tests {
    use super::super::places::ones_of;
    use super::*;
    use crate::kinds::{Cascade, Guarded, Region, ShiftingAssociation, ShiftingMultiplicity};
    use crate::{Bitmap, Digester, Fuse, Kind, Ribbon};

    /// A filter of the kind with the keys below 300, or every third of them twice where it counts.
    fn filled(kind: Kind) -> AnyFilter {
        let keys = 0..300_u32;
        let made = match kind {
            Kind::Fuse => Fuse::with_rate(0.01, keys).map(AnyFilter::from),
            Kind::Ribbon => Ribbon::with_rate(0.01, keys).map(AnyFilter::from),
            Kind::Cascade => {
                let cascade = Cascade::build(Digester::default(), keys, 300..9000_u32);
                cascade.map(AnyFilter::from)
            }
            Kind::ShiftingAssociation => {
                let mut filter = ShiftingAssociation::with_capacity(300, 0.01).expect("valid");
                for key in keys {
                    filter.insert_region(&key, Region::ALL[key as usize % 3]);
                }
                Ok(filter.into())
            }
            Kind::ShiftingMultiplicity => {
                ShiftingMultiplicity::from_keys(keys.chain((0..300).step_by(3)), 0.01)
                    .map(AnyFilter::from)
            }
            _ => {
                // Layers grow, and generations end.
                let mut filter = AnyFilter::new(&kind.plan(100, 0.01).expect("valid"));
                let inserts = filter.as_mut().expect("small");
                for key in keys {
                    inserts.insert(&key).expect("not static");
                }
                filter
            }
        };
        made.expect("valid")
    }

    #[test]
    fn a_key_is_found_exactly_when_its_places_hold() {
        for &kind in Kind::ALL {
            let mut filter = filled(kind);
            if let AnyFilter::Guarded(guarded) = &mut filter {
                list_some(guarded);
            }
            let mut answers = [0, 0];
            for key in 0..6000_u32 {
                let places = filter.places(&key);
                let holding = places.iter().filter(|places| places.hold()).count();
                let found = match &filter {
                    AnyFilter::Cascade(_) => holding % 2 == 1,
                    AnyFilter::Guarded(_) => holding > 0 && key < 5000,
                    _ => holding > 0,
                };
                assert_eq!(filter.contains(&key), found, "{kind}: {key}, {places:?}");
                answers[usize::from(found)] += 1;
            }
            assert!(
                answers[0] > 3000 && answers[1] >= 100,
                "{kind}: {answers:?}"
            );
        }
    }

    fn list_some(guarded: &mut Guarded) {
        for key in 5000..6000_u32 {
            guarded.report_false_positive(&key).expect("room");
        }
    }

    #[test]
    fn values_are_the_bits_of_the_part() {
        for &kind in Kind::ALL {
            let filter = filled(kind);
            let parts = super::super::Assemble::parts(&filter);
            for places in (0..50_u32).flat_map(|key| filter.places(&key)) {
                for place in &places.places {
                    let bit = |i: u32| {
                        let position = place.first_bit + u64::from(i) * places.stride;
                        u64::from(parts[places.part].get(position)) << i
                    };
                    let value = (0..places.width).fold(0, |value, i| value | bit(i));
                    // What a generation left behind is not shown.
                    let forgotten = kind == Kind::Windowed && place.value == 0;
                    assert!(place.value == value || forgotten, "{kind}: {places:?}");
                }
            }
        }
    }

    #[test]
    fn values_hold_when_they_are_what_is_needed() {
        let mut bits = Bitmap::new(64).expect("small");
        bits.set_word(0, 0x0000_0000_F0A5_0001);
        let of = |numbers: &[u64], needed| {
            Places::numbers("slot", 0, &bits, 8, numbers.iter().copied(), needed).hold()
        };
        assert!(of(&[0, 2, 3], Needed::NoZero) && !of(&[0, 1], Needed::NoZero));
        assert!(of(&[2], Needed::Ones(0x85)) && !of(&[2, 3], Needed::Ones(0x85)));
        assert!(of(&[2, 3], Needed::Common(0x20)) && !of(&[2, 3], Needed::Common(0x0F)));
        assert!(of(&[0, 3], Needed::Any(0xF0)) && !of(&[0, 3], Needed::Any(0xA5)));
        assert!(of(&[0, 2, 3], Needed::Sum(0x54)) && !of(&[0, 2], Needed::Sum(0x54)));
        assert_eq!(ones_of(64, &[0, 5]).collect::<Vec<u64>>(), [128, 130]);
    }
}
