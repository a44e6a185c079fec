//! Others choose the keys. What can they do to my filter, and how do I stop it?
//!
//! ```sh
//! cargo run --release --example keyed
//! ```
//!
//! The default hash is fast and public: anyone can write down keys that collide. Under a secret nobody can. It costs
//! a few nanoseconds per key; keep it apart from the filter. `docs/adversaries.md` has the whole story.

use mayhap::{Blocked, Digester, SecretKey};

/// Keys that all have the same hash, because their first word makes one factor of a product zero.
fn prepared() -> impl Iterator<Item = [u8; 16]> {
    (0..1000_u64).map(|free| {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&0x8bb8_4b93_962e_acc9_u64.to_le_bytes());
        key[8..].copy_from_slice(&free.to_le_bytes());
        key
    })
}

/// Counts the prepared keys that are new to the filter.
fn new_keys(mut filter: Blocked) -> usize {
    prepared().filter(|key| filter.insert(&key[..])).count()
}

fn main() -> Result<(), mayhap::Error> {
    let public = Blocked::with_capacity(100_000, 0.001)?;
    let secret = Digester::SipHash {
        key: SecretKey::random()?,
    };
    let keyed: Blocked = Blocked::plan(100_000, 0.001)?.hashed_by(secret)?.make()?;

    let (public, keyed) = (new_keys(public), new_keys(keyed));
    println!("1000 prepared keys, hashed in public: {public} of them new, the others are lost");
    println!("1000 prepared keys, under a secret:   {keyed} of them new");
    assert_eq!(public, 1);
    assert!(keyed > 995);
    Ok(())
}
