//! Any capacity and rate: refused, or a shape that keeps the rate; and any shape's formulas.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::{
    Error, Shape, Sizing,
    kinds::BlockedShape,
    shape::{BLOOM_OVERHEAD, minimum_bits},
};
use mayhap_fuzz::Bytes;

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let keys = match bytes.u8() % 3 {
        0 => u64::from(bytes.u16()),
        1 => bytes.u64() >> (bytes.u8() % 64),
        _ => bytes.u64(),
    };
    let rate = match bytes.u8() % 3 {
        0 => f64::from(bytes.u16()) / 65536.0,
        1 => 1.0 - f64::from(bytes.u16()) * f64::EPSILON / 2.0,
        _ => bytes.f64(),
    };
    request(keys, rate);
    formulas(&mut bytes, keys, rate);
});

fn request(keys: u64, rate: f64) {
    let sensible = keys > 0 && rate > 0.0 && rate < 1.0;
    assert_eq!(minimum_bits(keys, rate).is_ok(), sensible);

    match Shape::for_capacity(keys, rate) {
        Ok(shape) => {
            assert!(shape.rate_at(keys) <= rate, "{shape:?}");
            // Wide enough for the rounding of hashes, of which there is at least one.
            let textbook = minimum_bits(keys, rate).expect("sensible") * BLOOM_OVERHEAD;
            let most = (1.06 * textbook)
                .max(textbook + 2048.0)
                .max(1.05 * keys as f64);
            assert!(
                shape.bits() as f64 <= most,
                "{shape:?}, textbook {textbook}"
            );
        }
        Err(Error::TooLarge { .. }) => assert!(keys > 1 << 40 && sensible),
        Err(error) => assert!(!sensible, "{error}"),
    }
    match BlockedShape::for_capacity(keys, rate) {
        Ok(shape) => {
            let got = shape.rate_at(keys);
            assert!(got <= rate * (1.0 + 1e-9), "{shape:?}: {got}");
        }
        Err(Error::TooLarge { .. }) => assert!(keys > 1 << 40 && sensible),
        Err(Error::LowRate { .. }) => assert!(rate < BlockedShape::LEAST_RATE),
        Err(error) => assert!(!sensible, "{error}"),
    }
    for rule in [
        Sizing::Guava,
        Sizing::GuavaBefore33_4,
        Sizing::Salted,
        Sizing::MurmurFloorMod,
    ] {
        let shape = rule.shape(keys, rate);
        assert!(sensible || shape.is_err(), "{rule:?}: {shape:?}");
        let bits = rule.unrounded_bits(keys, rate);
        if let Ok(shape) = shape {
            assert!(bits.expect("there is a shape") <= shape.bits());
            check_rates(shape.rate_at(keys), shape.fill_at(keys));
        }
    }
}

fn formulas(bytes: &mut Bytes<'_>, keys: u64, rate: f64) {
    let (bits, hashes) = (bytes.u64(), u32::from(bytes.u16()));
    if let Ok(shape) = Shape::new(bits, hashes) {
        check_rates(shape.rate_at(keys), shape.fill_at(keys));
        check_rates(shape.classic_rate_at(keys), shape.rate_with(keys.min(bits)));
        let estimate = shape.keys_at(keys);
        assert_eq!(estimate.is_none(), keys >= bits);
        assert!(estimate.is_none_or(|keys| keys >= 0.0));
    }
    if let Ok(shape) = Shape::new(1 + bits % 60, 1 + hashes % 9) {
        let exact = shape.exact_rate_at(keys % 20).expect("few steps");
        check_rates(exact, shape.rate_at(keys % 20));
        assert!(exact >= shape.rate_at(keys % 20) - 1e-12, "{shape:?}");
    }
    if let Ok(shape) = BlockedShape::new(bits, hashes) {
        check_rates(shape.rate_at(keys), shape.rate_at(keys / 2));
        assert!(shape.rate_at(keys / 2) <= shape.rate_at(keys) * (1.0 + 1e-9));
        assert!(shape.keys_at(keys).is_none_or(|keys| keys >= 0.0));
        let capacity = shape.capacity_at(rate);
        // Past 2^53 a number of keys is no longer exact in the formula.
        if rate > 0.0 && rate < 1.0 && capacity < 1 << 53 {
            let got = shape.rate_at(capacity);
            assert!(got <= rate * (1.0 + 1e-9), "{shape:?}: {got} at {capacity}");
        }
    }
}

fn check_rates(left: f64, right: f64) {
    // A sum of many terms may exceed 1 by rounding.
    let one = 1.0 + 1e-12;
    assert!((0.0..=one).contains(&left), "{left}");
    assert!((0.0..=one).contains(&right), "{right}");
}
