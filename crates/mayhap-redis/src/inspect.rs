//! Inspecting a filter on a server without its secret.

use std::time::SystemTime;

use mayhap::{Description, Digester, Hashing, Kind, Scheme, SecretKey, Stats};

use crate::backend::Backend;
use crate::blocking_wire::BlockingWire;
use crate::router::{Router, ready};
use crate::settings::Access;
use crate::{Address, Home, Result};

/// A filter on a server, opened for inspection. Needs no secret, and looks up no key.
///
/// ```no_run
/// use mayhap_redis::{Address, RedisInspected};
///
/// let address: Address = "redis://localhost#seen".parse()?;
/// let mut filter = RedisInspected::open(&address)?;
/// println!("{} of {} bits are set", filter.stats()?.ones, filter.bits());
/// # Ok::<(), mayhap_redis::Error>(())
/// ```
pub struct RedisInspected {
    backend: Backend<BlockingWire>,
    // If it was made with a secret, its digester is a stand-in, which never leaves this struct.
    description: Description,
}

impl RedisInspected {
    /// Opens the filter of this name for inspection.
    ///
    /// # Errors
    ///
    /// Those of [`RedisBloom::open`](crate::RedisBloom::open), except for a missing secret.
    pub fn open(address: &Address) -> Result<RedisInspected> {
        let router = Router::new(address, BlockingWire::new(address));
        let backend = ready(Backend::open(router, address.name(), Access::Look))?;
        Ok(RedisInspected {
            description: backend.description()?,
            backend,
        })
    }

    /// The kind of filter.
    pub fn kind(&self) -> Kind {
        self.description.kind
    }

    /// The number of bits, in all strings together.
    pub fn bits(&self) -> u64 {
        self.description.bits
    }

    /// The number of hashes per key.
    pub fn hashes(&self) -> u32 {
        self.description.hashes
    }

    /// The way keys are hashed; `None` for SipHash under a secret, which is not known here.
    pub fn hashing(&self) -> Option<&Hashing> {
        match &self.description.hashing {
            Hashing::Scheme(Scheme::Native(Digester::SipHash { .. })) => None,
            hashing => Some(hashing),
        }
    }

    /// Counts the ones, and estimates keys and rate. The server counts every bit, and reports the length of every
    /// string.
    ///
    /// # Errors
    ///
    /// When a string is missing or has another length, and those of the server.
    pub fn stats(&mut self) -> Result<Stats> {
        ready(self.backend.stats())
    }

    /// The storage of the bits.
    ///
    /// # Errors
    ///
    /// Those of [`RedisBloom::description`](crate::RedisBloom::description).
    pub fn home(&self) -> Result<Home> {
        self.backend.home()
    }

    /// The time at which the filter expires, as it was at the last call to the server.
    ///
    /// # Errors
    ///
    /// Those of [`RedisBloom::description`](crate::RedisBloom::description).
    pub fn expires(&self) -> Result<Option<SystemTime>> {
        self.backend.expires()
    }
}

impl Access {
    /// Decodes the way keys are hashed from its code in the settings.
    pub(crate) fn hashing(&self, code: u16, seed: u64) -> mayhap::Result<Hashing> {
        let stand_in = || Digester::SipHash {
            key: SecretKey::from_bytes([0; 16]),
        };
        match self {
            Access::Keys(secret) => Hashing::from_code(code, seed, secret.as_ref()),
            Access::Look => match Hashing::from_code(code, seed, None) {
                Err(mayhap::Error::SecretNeeded) => Ok(stand_in().into()),
                hashing => hashing,
            },
        }
    }
}
