//! What the posts say of bits, hashes and collisions, worked out.

use mayhap::{Blocked, Shape, Sizing};

use super::{KEYS, Outcome, Row, Verdict};
use crate::amounts::{show_bytes, show_count, show_rate};
use crate::failure::Result;

/// A statement, what is true, and what `Blocked` has to do with it.
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
            printed: printed.into(),
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
        "k n is a product of 32 bits and wraps from 153 391 690 keys on; the number of bits \
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
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_come_out_as_the_specification_has_them() {
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
        assert_eq!(found("constructor").0, "32 bits overflow");
    }
}
