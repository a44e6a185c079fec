//! The types of values: how each is saved, copied, measured and dropped. `ffi.rs` calls them for the server.

use std::ffi::CStr;
use std::io::{Read, Write};

use crate::chain::Chain;
use crate::native::Native;
use crate::server::{Commands, Registered, Stored};
use crate::stream;

/// A value that the server keeps, saves and copies.
pub(crate) trait Value: Stored + Clone {
    /// The name of the type, nine letters that snapshots hold.
    const NAME: &CStr;

    /// The version of what is saved.
    const VERSION: i32;

    /// Writes it.
    fn write(&self, output: &mut dyn Write) -> mayhap::Result<()>;

    /// Reads what was written by this version.
    fn read(version: i32, input: &mut dyn Read) -> Result<Self, String>;

    /// Writes the commands that make it again.
    fn rewrite(&self, commands: &Commands) -> mayhap::Result<()>;

    /// The bytes of memory it takes.
    fn bytes(&self) -> u64;
}

static CHAIN: Registered = Registered::new();

impl Stored for Chain {
    fn registered() -> &'static Registered {
        &CHAIN
    }
}

/// The most bytes that are rewritten as one command.
const WHOLE: u64 = 32 << 20;

impl Value for Chain {
    /// RedisBloom's: what clients see as the `TYPE` of a key. Its own versions are up to 4.
    const NAME: &CStr = c"MBbloom--";
    const VERSION: i32 = 100;

    fn write(&self, output: &mut dyn Write) -> mayhap::Result<()> {
        stream::write(self, output)
    }

    fn read(version: i32, input: &mut dyn Read) -> Result<Chain, String> {
        match version {
            Self::VERSION => stream::read(input),
            _ => Err(format!(
                "a filter of version {version} is not read: {} is",
                Self::VERSION
            )),
        }
    }

    fn rewrite(&self, commands: &Commands) -> mayhap::Result<()> {
        if self.bytes() <= WHOLE {
            let mut bytes = Vec::new();
            stream::write(self, &mut bytes)?;
            commands.whole(c"BF.LOAD", &bytes);
            return Ok(());
        }
        let mut iterator = 0;
        while let Some((next, piece)) = stream::piece(self, iterator) {
            commands.piece(c"BF.LOADCHUNK", next as i64, &piece);
            iterator = next;
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        Chain::bytes(self)
    }
}

static NATIVE: Registered = Registered::new();

impl Stored for Native {
    fn registered() -> &'static Registered {
        &NATIVE
    }
}

impl Value for Native {
    const NAME: &CStr = c"mayhapflt";
    const VERSION: i32 = 1;

    fn write(&self, output: &mut dyn Write) -> mayhap::Result<()> {
        Native::write(self, output)
    }

    fn read(version: i32, input: &mut dyn Read) -> Result<Native, String> {
        match version {
            Self::VERSION => Native::read(input),
            _ => Err(format!(
                "a filter of version {version} is not read: {} is",
                Self::VERSION
            )),
        }
    }

    fn rewrite(&self, commands: &Commands) -> mayhap::Result<()> {
        let mut bytes = Vec::new();
        Native::write(self, &mut bytes)?;
        commands.whole(c"MAYHAP.RESTORE", &bytes);
        Ok(())
    }

    fn bytes(&self) -> u64 {
        Native::bytes(self)
    }
}
