//! How do I recognise what was seen lately, and forget the rest?
//!
//! ```sh
//! cargo run --release --example window
//! ```
//!
//! `Windowed` finds at least the last N keys inserted, and at most 4/3 N, in memory that never grows. To forget by the
//! clock instead, make it with `Rotation::ByCaller` and call `rotate` when a third of the time is over.

use mayhap::Windowed;

fn main() -> Result<(), mayhap::Error> {
    const WINDOW: u64 = 30_000;
    let mut recent = Windowed::with_capacity(WINDOW, 0.001)?;
    let size = recent.stats().bits;

    // A million alerts in order of time; one in five repeats an alert of a moment ago.
    let (mut shown, mut repeats) = (0, 0);
    for time in 0..1_000_000_u64 {
        let alert = if time % 5 == 4 { time - 3 } else { time };
        match recent.insert(&alert) {
            true => shown += 1,
            false => repeats += 1,
        }
    }

    let last = 999_998; // 999_999 repeated 999_996
    let is_alert = |time: &u64| time % 5 != 4;
    let lately = (last - 30_000..=last).filter(is_alert);
    let long_ago = (0..100_000).filter(is_alert);
    assert!(
        lately.into_iter().all(|alert| recent.contains(&alert)),
        "the window is complete"
    );
    let remembered = long_ago.filter(|alert| recent.contains(alert)).count();
    assert!(
        remembered < 160,
        "all but 0.1 % of 80 000 old ones are forgotten"
    );
    assert_eq!(recent.stats().bits, size, "the memory is what it was");

    println!(
        "{shown} alerts shown, {repeats} repeats held back, {} kB",
        size / 8000
    );
    println!("of 80000 old alerts {remembered} are still taken for recent ones");
    Ok(())
}
