//! The names of schemes in options, help and messages.

use alloc::string::ToString as _;
use core::fmt;
use core::str::FromStr;

use super::{Digester, DrawnKey, MessageDigest, Scheme, SecretKey};
use crate::{Error, Result};

impl Scheme {
    /// Every name with its description, for help and completions.
    pub const NAMES: &[(&str, &str)] = &[
        (
            "rapidhash",
            "Rapidhash, without a secret: the default where no secret is given",
        ),
        (
            "rapidhash-protected",
            "Its protected variant, without a secret",
        ),
        (
            "siphash",
            "SipHash under a secret, for keys that attackers choose: the default where a secret is given",
        ),
        (
            "universal",
            "A universal hash by a key that is drawn, and kept in the file: for keys from others, who do not see it",
        ),
        ("guava64", "Guava since 17"),
        ("guava32", "Guava before 17"),
        ("salted-md5", "Salted MD5, as a filter in Redis bitmaps"),
        ("salted-sha1", "The same with SHA-1"),
        ("salted-sha256", "The same with SHA-256"),
        ("three-hash", "Three string hashes"),
        ("murmur", "Murmur, reduced by floor-mod"),
        ("spark1", "Spark before 4.1"),
        ("spark2", "Spark since 4.1"),
        ("dcso", "DCSO's bloom"),
        ("redisbloom", "RedisBloom"),
    ];

    /// Returns the scheme of this name, with seed 0, this secret, or a fresh key of its own, whichever it takes:
    /// `universal` is another scheme each time.
    ///
    /// ```
    /// use mayhap::{Error, Scheme, SecretKey};
    ///
    /// assert_eq!(Scheme::named("guava64", None)?, Scheme::Guava64);
    /// assert!(Scheme::named("siphash", Some(&SecretKey::random()?)).is_ok());
    /// assert!(matches!(Scheme::named("siphash", None), Err(Error::SecretNeeded)));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Name`] when no scheme has this name, [`Error::SecretNeeded`] when it takes a secret and none is given,
    /// [`Error::SecretUnused`] when one is given that it does not take, [`Error::Feature`] when a key cannot be drawn
    /// without the feature `std`.
    pub fn named(name: &str, secret: Option<&SecretKey>) -> Result<Scheme> {
        let scheme = match name {
            "rapidhash" => Scheme::Native(Digester::Rapidhash { seed: 0 }),
            "rapidhash-protected" => Scheme::Native(Digester::RapidhashProtected { seed: 0 }),
            "siphash" => {
                let key = secret.ok_or(Error::SecretNeeded)?.clone();
                return Ok(Scheme::Native(Digester::SipHash { key }));
            }
            "universal" => Scheme::Native(Digester::Universal { key: drawn()? }),
            "guava64" => Scheme::Guava64,
            "guava32" => Scheme::Guava32,
            "salted-md5" => Scheme::Salted(MessageDigest::Md5),
            "salted-sha1" => Scheme::Salted(MessageDigest::Sha1),
            "salted-sha256" => Scheme::Salted(MessageDigest::Sha256),
            "three-hash" => Scheme::ThreeHash,
            "murmur" => Scheme::MurmurFloorMod,
            "spark1" => Scheme::Spark1,
            "spark2" => Scheme::Spark2 { seed: 0 },
            "dcso" => Scheme::Dcso,
            "redisbloom" => Scheme::RedisBloom,
            other => {
                return Err(Error::Name {
                    what: "scheme",
                    got: other.to_string(),
                    known: KNOWN,
                });
            }
        };
        match secret {
            None => Ok(scheme),
            Some(_) => Err(Error::SecretUnused {
                scheme: scheme.to_string(),
            }),
        }
    }
}

const KNOWN: &str = "rapidhash, rapidhash-protected, siphash, universal, guava64, guava32, salted-md5, \
    salted-sha1, salted-sha256, three-hash, murmur, spark1, spark2, dcso or redisbloom";

/// Draws a fresh key.
fn drawn() -> Result<DrawnKey> {
    #[cfg(feature = "std")]
    return DrawnKey::random();
    #[cfg(not(feature = "std"))]
    Err(Error::Feature {
        what: "a key of its own",
        feature: "std",
    })
}

impl FromStr for Scheme {
    type Err = Error;

    /// Parses the name of a scheme that takes no secret: see [`Scheme::named`].
    fn from_str(name: &str) -> Result<Scheme> {
        Scheme::named(name, None)
    }
}

impl fmt::Display for Scheme {
    /// Writes its name, such as `guava64`, and its seed if that is not 0. Never shows a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scheme::Native(digester) => return digester.fmt(f),
            Scheme::Guava64 => "guava64",
            Scheme::Guava32 => "guava32",
            Scheme::Salted(MessageDigest::Md5) => "salted-md5",
            Scheme::Salted(MessageDigest::Sha1) => "salted-sha1",
            Scheme::Salted(MessageDigest::Sha256) => "salted-sha256",
            Scheme::ThreeHash => "three-hash",
            Scheme::MurmurFloorMod => "murmur",
            Scheme::Spark1 => "spark1",
            Scheme::Spark2 { seed: 0 } => "spark2",
            Scheme::Spark2 { seed } => return write!(f, "spark2 with seed {seed}"),
            Scheme::Dcso => "dcso",
            Scheme::RedisBloom => "redisbloom",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_makes_the_scheme_that_shows_it() {
        let secret = SecretKey::from_bytes([1; 16]);
        for &(name, _) in Scheme::NAMES {
            let secret = (name == "siphash").then_some(&secret);
            let scheme = Scheme::named(name, secret).expect("known");
            assert_eq!(scheme.to_string(), name);
            assert!(KNOWN.contains(name));
        }
    }

    #[test]
    fn a_secret_that_a_scheme_does_not_take_is_refused() {
        let secret = SecretKey::from_bytes([1; 16]);
        assert!(matches!(
            Scheme::named("guava32", Some(&secret)),
            Err(Error::SecretUnused { .. })
        ));
        assert!(matches!("fnv".parse::<Scheme>(), Err(Error::Name { .. })));
    }
}
