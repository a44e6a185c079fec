//! Makes the golden files of this folder with the `parquet` crate, and looks up keys in those that
//! pyarrow made. See README.md one folder up.
use parquet::bloom_filter::Sbbf;
use std::fs;

fn longs(i: u64) -> u64 {
    i.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn ramp(i: u64) -> Vec<u8> {
    (0..i % 41).map(|j| (37 * j + 11 * i) as u8).collect()
}

fn insert(filter: &mut Sbbf, kind: &str, i: u64) {
    match kind {
        "ints" => filter.insert(&(i.wrapping_mul(0x9E37_79B9) as i32)),
        "longs" => filter.insert(&(longs(i) as i64)),
        "doubles" => filter.insert(&(i as f64 / 7.0)),
        "texts" => filter.insert(format!("clé-{i}").as_str()),
        _ => filter.insert(ramp(i).as_slice()),
    }
}

fn check(filter: &Sbbf, kind: &str, i: u64) -> bool {
    match kind {
        "ints" => filter.check(&(i.wrapping_mul(0x9E37_79B9) as i32)),
        "longs" => filter.check(&(longs(i) as i64)),
        "doubles" => filter.check(&(i as f64 / 7.0)),
        "texts" => filter.check(format!("clé-{i}").as_str()),
        _ => filter.check(ramp(i).as_slice()),
    }
}

fn case(file: &str, kind: &str, keys: u64, filter: &Sbbf) -> String {
    let from = keys - 20;
    let answers: String = (from..keys + 400)
        .map(|i| if check(filter, kind, i) { '1' } else { '0' })
        .collect();
    format!(
        "    {{\"file\": \"{file}\", \"kind\": \"{kind}\", \"keys\": {keys}, \"blocks\": {}, \
         \"asked_from\": {from}, \"answers\": \"{answers}\"}}",
        filter.num_blocks()
    )
}

fn main() {
    let mut cases = Vec::new();
    for kind in ["ints", "longs", "doubles", "texts", "bytes"] {
        let sized = |keys, rate| Sbbf::new_with_ndv_fpp(keys, rate).unwrap();
        for (keys, mut filter) in [
            (100, sized(100, 0.1)),
            (1000, sized(1000, 0.01)),
            (60, Sbbf::new(&[0; 32])),
            (150, Sbbf::new(&[0; 5 * 32])),
        ] {
            (0..keys).for_each(|i| insert(&mut filter, kind, i));
            let file = format!("crate-{kind}-{keys}.bin");
            let mut bytes = Vec::new();
            filter.write(&mut bytes).unwrap();
            fs::write(&file, bytes).unwrap();
            cases.push(case(&file, kind, keys, &filter));
        }
    }
    for kind in ["ints", "longs", "doubles", "texts"] {
        for keys in [100, 1000] {
            let file = format!("pyarrow-{kind}-{keys}.bin");
            let filter = Sbbf::from_bytes(&fs::read(&file).unwrap()).unwrap();
            cases.push(case(&file, kind, keys, &filter));
        }
    }
    let json = format!(
        "{{\n  \"producer\": \"parquet 60.1.0 and pyarrow 26.0.1\",\n  \"cases\": [\n{}\n  ]\n}}\n",
        cases.join(",\n")
    );
    fs::write("cases.json", json).unwrap();
}
