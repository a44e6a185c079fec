//! Where the bits of a filter are: in strings, or in a value of mayhap's server module.
//!
//! The settings say which, for every generation, so that all clients agree: whoever writes the settings first has
//! decided. The server is asked for its module only when a generation is made.

use mayhap::{Digester, Hashing, Scheme};

use crate::frame::Frame;
use crate::remote::Remote;
use crate::router::Wire;
use crate::settings::{Generation, Settings};
use crate::shards::command;
use crate::{Error, Result};

/// Where the server keeps the bits of a filter.
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
    /// A value of mayhap's server module, which is sent the keys and hashes them: several times faster.
    Module,
    /// Strings, which every server has. The client hashes the keys, and sends positions of bits.
    Strings,
}

/// The most bits of a filter in the module: what a command can carry when it is copied, and 128 MiB is what the module allows
/// for one filter on Valkey, with some bytes besides the bits.
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
    /// The same in another home; there is nothing of it on the server yet.
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

impl<W: Wire> Remote<W> {
    /// The generation in the home that was asked for; if none was, in the module, where there is one that can keep it.
    pub(crate) async fn settle(
        &mut self,
        generation: Generation,
        wanted: Option<Home>,
    ) -> Result<Generation> {
        match (wanted, generation.clone().at(Home::Module)) {
            (Some(Home::Strings), _) | (None, Err(_)) => Ok(generation),
            (Some(Home::Module), Err(error)) => Err(error),
            (wanted, Ok(settled)) => match (self.has_module().await?, wanted) {
                (true, _) => Ok(settled),
                (false, None) => Ok(generation),
                (false, Some(_)) => Err(Error::NoModule {
                    name: self.name.clone(),
                }),
            },
        }
    }

    /// Whether the server that has this name has the module, and lets this user use it.
    async fn has_module(&mut self) -> Result<bool> {
        let mut frame = Frame::new();
        let key = Settings::key(&self.name);
        frame.plain(&key, command("MAYHAP.INFO", &key));
        match self.router.run(frame).await {
            // There is no filter under that key, and the module says so.
            Ok(_) | Err(Error::Lost { .. } | Error::WrongType { .. }) => Ok(true),
            Err(Error::NoModule { .. } | Error::Denied { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
