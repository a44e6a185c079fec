//! The posts' statements about bits, hashes and collisions, checked by arithmetic.

use mayhap::kinds::BlockedShape;
use mayhap::{Blocked, Shape, Sizing};
use mayhap_program::amounts::{show_bytes, show_count, show_rate};
use mayhap_program::failure::Result;

use super::{KEYS, Outcome, Row, Verdict};

/// Adds each statement, the truth, and the figure for `Blocked`.
pub(super) fn statements(outcome: &mut Outcome) -> Result<()> {
    let mut say = |post,
                   what: &str,
                   printed: &str,
                   theirs: String,
                   blocked: String,
                   is_right: bool,
                   note: &str| {
        outcome.rows.push(Row {
            post,
            what: what.into(),
            printed: Some(printed.into()),
            theirs,
            blocked,
            verdict: if is_right {
                Verdict::Agrees
            } else {
                Verdict::Mistake
            },
            note: note.into(),
        });
    };
    let per_key = |bits: u64, keys: u64| format!("{:.2} bits per key", bits as f64 / keys as f64);
    let none = || String::from("–");

    let best = Shape::for_capacity(KEYS, 0.01)?;
    let thirteen = Shape::new(13 * KEYS, 8)?.rate_at(KEYS);
    say(
        "001",
        "what 1 % needs",
        "m = 13 n, k = 8",
        format!(
            "m = {:.3} n, k = {}",
            best.bits() as f64 / KEYS as f64,
            best.hashes()
        ),
        per_key(Blocked::plan(KEYS, 0.01)?.bits, KEYS),
        false,
        &format!(
            "13 bits per key and 8 hashes give {}, a fifth of the rate asked for.",
            show_rate(thirteen)
        ),
    );
    let bitmap = 100_000_000_u64;
    say(
        "004",
        "a bitmap of 10^8 bits",
        "95 M",
        show_bytes(bitmap / 8),
        none(),
        false,
        &format!(
            "{} is 10^8 bytes; a bit is an eighth of one.",
            show_bytes(bitmap)
        ),
    );
    let slots = bitmap as f64;
    let collide = |keys: f64| -(-keys * (keys - 1.0) / (2.0 * slots)).exp_m1();
    let half = (1_u64..)
        .find(|keys| collide(*keys as f64) >= 0.5)
        .unwrap_or(0);
    say(
        "004",
        "10^4 keys in 10^8 places: chance of a collision",
        "50 %",
        format!("{:.2} %", collide(1e4) * 100.0),
        none(),
        false,
        &format!("one half is reached at {} keys.", show_count(half)),
    );
    let redis = Shape::new(1 << 32, 15)?;
    let fits = (200_000_000_u64..).step_by(10_000).take_while(|keys| {
        Shape::for_capacity(*keys, 1e-4).is_ok_and(|shape| shape.bits() <= 1 << 32)
    });
    let fits = fits.last().unwrap_or(0);
    say(
        "003",
        "keys that 512 MB hold at 0.01 %",
        "200 000 000",
        show_count(fits),
        format!(
            "{} for 200 000 000",
            show_bytes(Blocked::plan(200_000_000, 1e-4)?.bits / 8)
        ),
        fits >= 200_000_000,
        &format!(
            "at 200 000 000 keys the rate is {}.",
            show_rate(redis.rate_at(200_000_000))
        ),
    );
    let refused = Sizing::Salted.shape(200_000_000, 1e-4).is_err();
    say(
        "003",
        "its constructor for those",
        "a filter",
        if refused {
            "32 bits overflow".into()
        } else {
            "a filter".into()
        },
        "a filter".into(),
        !refused,
        "the product k n has 32 bits and wraps from 153 391 690 keys on; the number of bits \
         is then negative.",
    );
    let sorted = {
        let mut values = vec![4_u32, 7, 2, 5, 3];
        mayhap::sort(&mut values)?;
        values
            .iter()
            .map(u32::to_string)
            .collect::<Vec<String>>()
            .join(" ")
    };
    say(
        "000",
        "4 7 2 5 3 sorted through a bitmap",
        "2 3 4 5 7",
        sorted.clone(),
        none(),
        sorted == "2 3 4 5 7",
        "",
    );
    let bytes = KEYS / 8;
    say(
        "000",
        "bytes of a bitmap for 10^7 numbers",
        "1250000",
        bytes.to_string(),
        none(),
        bytes == 1_250_000,
        "",
    );
    let hashed = 16 * bitmap;
    let rates = [16.0, 32.0].map(|bits: f64| (-bits * std::f64::consts::LN_2.powi(2)).exp());
    say(
        "001",
        "a hash table of 10^8 e-mail addresses",
        "1.6 GB",
        format!("{} GB", hashed as f64 / 1e9),
        format!(
            "{} at 1 %",
            show_bytes(Blocked::plan(bitmap, 0.01)?.bits / 8)
        ),
        hashed == 1_600_000_000,
        "hashes of 8 bytes in a table that is half full: 16 bytes per address. `mayhap-lab posts ladder` measures such a table.",
    );
    say(
        "001",
        "a filter takes 1/8 to 1/4 of that",
        "1/8 to 1/4",
        format!(
            "16 bits per key: {}; 32: {}",
            show_rate(rates[0]),
            show_rate(rates[1])
        ),
        format!(
            "16 bits per key: {}",
            show_rate(BlockedShape::new(bitmap / 32, 10)?.rate_at(bitmap))
        ),
        true,
        "right for these rates; at 1 % a filter takes a thirteenth.",
    );
    let base = (-std::f64::consts::LN_2.powi(2)).exp();
    say(
        "001",
        "the least rate for m bits and n keys",
        "0.6185^(m/n)",
        format!("{base:.4}^(m/n)"),
        none(),
        format!("{base:.4}") == "0.6185",
        &format!(
            "with the best number of hashes, as a real number. 9.585 bits per key: {}.",
            show_rate(base.powf(9.585))
        ),
    );
    let thousands = (1_u64 << 32) / 8;
    say(
        "003",
        "the largest filter of its constructor",
        "512 MB",
        show_bytes((i32::MAX as u64).div_ceil(8)),
        none(),
        i32::MAX as u64 / 8 >= thousands,
        "a Redis string has 512 MB, but the post counts bits by a Java `int`, which ends at 2^31 - 1.",
    );
    say(
        "004",
        "20 000 000 URLs of 50 bytes in a hash set",
        "1 G",
        show_bytes(20_000_000 * 50),
        format!(
            "{} at 1 %",
            show_bytes(Blocked::plan(20_000_000, 0.01)?.bits / 8)
        ),
        false,
        "the text alone; the set needs a place and a length for each URL besides: `mayhap-lab posts ladder` measures it.",
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_judged_as_in_the_specification() {
        let mut outcome = Outcome::default();

        statements(&mut outcome).expect("arithmetic");

        let found = |what: &str| {
            let row = outcome.rows.iter().find(|row| row.what.contains(what));
            row.map(|row| (row.theirs.clone(), row.note.clone()))
                .expect(what)
        };
        assert!(found("1 % needs").0.starts_with("m = 9.5"));
        assert!(found("1 % needs").1.contains("0.20 %"));
        assert_eq!(found("10^8 bits").0, "11.9 MiB");
        assert_eq!(found("collision").0, "39.34 %");
        assert!(
            found("collision").1.contains("11 775"),
            "{:?}",
            found("collision")
        );
        assert!(found("512 MB").0.starts_with("224 0") || found("512 MB").0.starts_with("223 9"));
        assert_eq!(found("constructor for those").0, "32 bits overflow");
        assert_eq!(found("hash table").0, "1.6 GB");
        assert_eq!(
            found("1/8 to 1/4").0,
            "16 bits per key: 0.0459 %; 32: 2.10e-7"
        );
        assert_eq!(found("least rate").0, "0.6185^(m/n)");
        assert_eq!(found("largest filter").0, "256.0 MiB");
    }
}
