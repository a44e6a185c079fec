//! The filters in the browser have the bits of the native build.

use std::collections::BTreeSet;

use mayhap::kinds::{
    Cascade, FuseShape, Region, RibbonShape, ShiftingAssociation, ShiftingMultiplicity,
};
use mayhap::{
    AnyFilter, Assemble as _, Bitmap, Digester, Fuse, Inserts, Kind, Ribbon, Scheme, SecretKey,
};
use serde_json::{Value, json};

use super::open;

const CAPACITY: u64 = 60;
const RATE: f64 = 0.02;
const SECRET: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";

fn secret() -> SecretKey {
    let byte = |at: usize| u8::from_str_radix(&SECRET[2 * at..2 * at + 2], 16).expect("digits");
    SecretKey::from_bytes(std::array::from_fn(byte))
}

fn key(number: u32) -> String {
    format!("key {number} \u{952e}")
}

/// The label of a key: every third is in the second set.
fn label(number: u32) -> u32 {
    if number.is_multiple_of(3) { 2 } else { 1 }
}

/// Makes the filter of 80 keys with the library itself; they are more than it was made for, so that some kinds grow.
fn native(kind: Kind, scheme: Option<&Scheme>) -> AnyFilter {
    let digester = match scheme {
        Some(Scheme::Native(digester)) => digester.clone(),
        _ => Digester::default(),
    };
    let keys = || (0..80).map(key);
    let labelled = |wanted| (0..80).filter(move |&i| label(i) == wanted).map(key);
    match kind {
        Kind::Fuse => {
            let bits = FuseShape::for_rate(80, RATE)
                .expect("valid")
                .fingerprint_bits();
            Fuse::build(digester, bits, keys()).expect("built").into()
        }
        Kind::Ribbon => {
            let bits = RibbonShape::for_rate(80, RATE)
                .expect("valid")
                .fingerprint_bits();
            Ribbon::build(digester, bits, keys()).expect("built").into()
        }
        Kind::Cascade => {
            let excluded: Vec<String> = labelled(2).collect();
            Cascade::build(digester, labelled(1), excluded)
                .expect("apart")
                .into()
        }
        Kind::ShiftingAssociation if scheme.is_none() => {
            let mut filter = ShiftingAssociation::with_capacity(CAPACITY, RATE).expect("valid");
            for i in 0..80 {
                let region = [Region::First, Region::Second][label(i) as usize - 1];
                filter.insert_region(&key(i), region);
            }
            filter.into()
        }
        Kind::ShiftingMultiplicity if scheme.is_none() => {
            let mut filter = ShiftingMultiplicity::with_capacity(CAPACITY, RATE).expect("valid");
            for key in keys() {
                filter.insert_times(&key, 1).expect("few");
            }
            filter.into()
        }
        _ => {
            let mut plan = kind.plan(CAPACITY, RATE).expect("valid");
            if let Some(scheme) = scheme {
                plan = plan
                    .hashed_by(scheme.clone())
                    .expect("a scheme of the kind");
            }
            let mut filter = AnyFilter::new(&plan).expect("small");
            for i in 0..80 {
                match &mut filter {
                    AnyFilter::Spatial(spatial) => {
                        spatial.insert_area(&key(i), label(i)).expect("an area");
                    }
                    AnyFilter::Guarded(guarded) if label(i) == 2 => {
                        guarded.report_false_positive(&key(i)).expect("room");
                    }
                    other => {
                        other.insert(&key(i)).expect("not static");
                    }
                }
            }
            filter
        }
    }
}

/// Every kind with its default hash, those that can under a secret, and the standard filter with every scheme.
fn cases() -> Vec<(Kind, Option<Scheme>)> {
    let plain = Kind::ALL.iter().map(|&kind| (kind, None));
    let keyed = Kind::ALL.iter().filter(|kind| {
        let windows = [Kind::ShiftingAssociation, Kind::ShiftingMultiplicity];
        **kind != Kind::SplitBlock && !windows.contains(kind)
    });
    let keyed = keyed.map(|&kind| (kind, Some(scheme("siphash"))));
    // A browser cannot draw keys.
    let schemes = Scheme::NAMES
        .iter()
        .filter(|(name, _)| *name != "universal")
        .map(|(name, _)| (Kind::Bloom, Some(scheme(name))));
    plain.chain(keyed).chain(schemes).collect()
}

fn scheme(name: &str) -> Scheme {
    let secret = (name == "siphash").then(secret);
    Scheme::named(name, secret.as_ref()).expect("known")
}

fn hex(bitmap: &Bitmap) -> String {
    bitmap
        .to_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The places in the form of the page: numbers above 2^53 are strings.
fn places(filter: &AnyFilter, key: &str) -> Value {
    let layers = filter.places(key).into_iter().map(|layer| {
        let places = layer.places.iter();
        let places: Vec<Value> = places
            .map(|place| json!([place.number, place.first_bit, place.value.to_string()]))
            .collect();
        json!([layer.part, layer.unit, layer.width, layer.hold(), places])
    });
    layers.collect()
}

#[test]
fn bits_in_the_browser_are_those_of_the_native_build_for_every_kind_and_scheme() {
    let Some(mut opened) = open(1280) else { return };
    let mut kinds = BTreeSet::new();
    for (kind, scheme) in cases() {
        let filter = native(kind, scheme.as_ref());
        let name = scheme.as_ref().map_or("-".into(), Scheme::to_string);
        let secret = if name == "siphash" { SECRET } else { "-" };
        let request = json!({
            "kind": kind.name(), "scheme": name, "secret": secret, "capacity": CAPACITY, "rate": RATE
        });

        let seen = opened.browser.run(&format!(
            r#"
            const {{ engine }} = await ready;
            const filter = engine.make({request});
            const key = (number) => `key ${{number}} \u952e`;
            for (let i = 0; i < 80; i++) engine.insert(filter, key(i), i % 3 === 0 ? 2 : 1);
            const about = engine.about(filter);
            const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
            const parts = about.parts.map((_, part) => hex(engine.part(filter, part)));
            const found = Array.from({{ length: 400 }}, (_, i) => engine.contains(filter, key(i)));
            const layers = [0, 1, 300].map((i) => engine.answer(filter, key(i)).layers
                .map((layer) => [layer.part, layer.unit, layer.width, layer.hold, layer.places]));
            engine.forget(filter);
            return {{ parts, found, layers, rate: about.stats.rate, bits: about.bits }};
            "#
        ));

        let case = format!("{kind} {name}");
        let parts: Vec<String> = filter.parts().into_iter().map(hex).collect();
        assert_eq!(seen["parts"], json!(parts), "{case}");
        let found: Vec<bool> = (0..400).map(|i| filter.contains(&key(i))).collect();
        assert_eq!(seen["found"], json!(found), "{case}");
        assert!(found.iter().any(|found| !found), "{case}: it finds all");
        let layers: Vec<Value> = [0, 1, 300].map(|i| places(&filter, &key(i))).into();
        assert_eq!(seen["layers"], json!(layers), "{case}");
        assert_eq!(seen["bits"], json!(filter.description().bits), "{case}");
        kinds.insert(kind.code());
    }
    assert_eq!(kinds.len(), Kind::ALL.len());
    assert!(
        Kind::ALL
            .iter()
            .any(|kind| kind.inserts() == Inserts::Never)
    );
    opened.assert_quiet();
}
