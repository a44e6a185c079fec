//! Any scheme, and any digester.

use mayhap::hash::{DrawnKey, MessageDigest};
use mayhap::{Digester, Scheme};

use crate::Bytes;
use mayhap_testing::forge::secret;

/// The digester that the next byte chooses: a public one or one with a secret.
pub fn digester(bytes: &mut Bytes<'_>) -> Digester {
    match bytes.u8() % 2 {
        0 => Digester::Rapidhash { seed: bytes.u64() },
        _ => Digester::SipHash { key: secret() },
    }
}

/// The scheme that the next byte chooses.
pub fn scheme(bytes: &mut Bytes<'_>) -> Scheme {
    match bytes.u8() % 15 {
        0 => Scheme::Native(Digester::Rapidhash { seed: bytes.u64() }),
        1 => Scheme::Native(Digester::SipHash { key: secret() }),
        2 => Scheme::Guava64,
        3 => Scheme::Guava32,
        4 => Scheme::Salted(MessageDigest::Md5),
        5 => Scheme::Salted(MessageDigest::Sha1),
        6 => Scheme::Salted(MessageDigest::Sha256),
        7 => Scheme::ThreeHash,
        8 => Scheme::MurmurFloorMod,
        9 => Scheme::Spark1,
        10 => Scheme::Spark2 {
            seed: i32::from_le_bytes(bytes.array()),
        },
        11 => Scheme::Dcso,
        12 => Scheme::RedisBloom,
        13 => Scheme::Native(Digester::Universal {
            key: DrawnKey::from_bits(bytes.u64()),
        }),
        _ => Scheme::Native(Digester::RapidhashProtected { seed: bytes.u64() }),
    }
}
