//! The storage of a filter's bits: strings, or a value of mayhap's server module.
//!
//! The settings record it for every generation, so that all clients agree: the first to write the settings
//! decides. The server is asked for its module only when a generation is made.

use mayhap::{Digester, Hashing, Scheme};

use crate::settings::Generation;
use crate::{Error, Result};

/// The storage of a filter's bits on the server.
///
/// ```
/// use mayhap_redis::{Home, Options};
///
/// // In the module where the server has it, unless asked for:
/// assert_eq!(Options::default().home, None);
/// let options = Options { home: Some(Home::Strings), ..Options::default() };
/// assert_eq!(options.home, Some(Home::Strings));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Home {
    /// A value of mayhap's server module, which receives the keys and hashes them: several times faster.
    Module,
    /// Strings, which every server has. The client hashes the keys, and sends positions of bits.
    Strings,
}

/// The most bits of a filter in the module: a command must carry it when it is copied, and the module allows 128 MiB
/// for one filter on Valkey, including some bytes besides the bits.
const MOST_BITS: u64 = 8 * ((128 << 20) - 4096);

impl Home {
    /// Its name: `module` or `strings`.
    pub fn name(self) -> &'static str {
        match self {
            Home::Module => "module",
            Home::Strings => "strings",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Home> {
        let homes = [Home::Module, Home::Strings];
        homes.into_iter().find(|home| home.name() == name)
    }
}

impl Generation {
    /// Moves it to another home; nothing of it is on the server yet.
    ///
    /// # Errors
    ///
    /// When it cannot be kept there.
    pub(crate) fn at(self, home: Home) -> Result<Generation> {
        if home == Home::Strings {
            return Ok(self);
        }
        let refuse = |got: &str, expected: &str| {
            Err(Error::Option {
                what: "home",
                got: format!("the module for {got}"),
                expected: format!("{expected}, or strings"),
            })
        };
        match &self.description.hashing {
            Hashing::Scheme(Scheme::Native(Digester::SipHash { .. })) => {
                return refuse(
                    "a keyed filter",
                    "a filter without a secret, which the server would have to know",
                );
            }
            Hashing::Scheme(Scheme::Native(_)) => {}
            hashing => {
                return refuse(&format!("the scheme {hashing}"), "a scheme of mayhap's own");
            }
        }
        if self.shards > 1 {
            return refuse(&format!("{} shards", self.shards), "one shard");
        }
        if self.description.bits > MOST_BITS {
            let got = format!("{} bits", self.description.bits);
            return refuse(&got, &format!("at most {MOST_BITS}"));
        }
        Ok(Generation {
            home,
            guard: false,
            ..self
        })
    }
}
