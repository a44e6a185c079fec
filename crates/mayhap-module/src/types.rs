//! The types of values: how each is saved, copied, measured and dropped. `ffi.rs` calls them for the server.

use std::ffi::CStr;
use std::io::Write;

use mayhap::bits::Bitmap;
use mayhap::{AnyFilter, Assemble as _};

use crate::alloc;
use crate::chain::Chain;
use crate::native::Native;
use crate::nest::Nest;
use crate::pieces::{self, Pieces};
use crate::redisbloom;
use crate::server::{Commands, Registered, Snapshot, Stored};
use crate::settings::secret;
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
    fn read(version: i32, input: &mut Snapshot) -> Result<Self, String>;

    /// Writes the commands that make it again.
    fn rewrite(&self, commands: &Commands) -> mayhap::Result<()>;

    /// The bytes of memory it takes.
    fn bytes(&self) -> u64;

    /// Reallocates its blocks to the size they have, so that a server which defragments can move them.
    fn reallocate(&mut self);
}

/// The most bytes of bits that are worth moving: the allocator of servers that defragment puts blocks above 14 KiB on pages of
/// their own, and moves none of them.
const MOVED: u64 = 14 << 10;

/// Reallocates the bits of a filter, where they are worth it and the filter is of a kind that can be taken apart.
fn reallocate(filter: &mut AnyFilter) {
    if filter.description().bits / 8 <= MOVED {
        pieces::with_bits(filter, Bitmap::reallocate);
    }
}

/// Refuses what another version has saved.
fn check_version<V: Value>(version: i32) -> Result<(), String> {
    let read = V::VERSION;
    if version == read {
        return Ok(());
    }
    Err(format!(
        "a filter of version {version} is not read: {read} is"
    ))
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
    /// RedisBloom's: what clients see as the `TYPE` of a key. Its own versions are up to 4, of which the last is read too.
    const NAME: &CStr = c"MBbloom--";
    const VERSION: i32 = 100;

    fn write(&self, output: &mut dyn Write) -> mayhap::Result<()> {
        stream::write(self, output)
    }

    fn read(version: i32, input: &mut Snapshot) -> Result<Chain, String> {
        if version == redisbloom::SAVED {
            return redisbloom::read(input);
        }
        check_version::<Chain>(version)?;
        stream::read(input)
    }

    fn rewrite(&self, commands: &Commands) -> mayhap::Result<()> {
        if self.bytes() <= WHOLE {
            let mut bytes = Vec::new();
            stream::write(self, &mut bytes)?;
            commands.whole(c"BF.LOAD", &bytes);
            return Ok(());
        }
        rewrite_in_pieces(self, commands, c"BF.LOADCHUNK");
        Ok(())
    }

    fn bytes(&self) -> u64 {
        Chain::bytes(self)
    }

    fn reallocate(&mut self) {
        let layers = self.layers_mut();
        layers
            .iter_mut()
            .for_each(|layer| reallocate(&mut layer.filter));
        alloc::reallocate_list(layers);
    }
}

/// Writes a value as the commands that load its pieces.
fn rewrite_in_pieces(value: &impl Pieces, commands: &Commands, command: &CStr) {
    let mut iterator = 0;
    while let Some((next, piece)) = pieces::piece(value, iterator) {
        commands.piece(command, next as i64, &piece);
        iterator = next;
    }
}

static NEST: Registered = Registered::new();

impl Stored for Nest {
    fn registered() -> &'static Registered {
        &NEST
    }
}

impl Value for Nest {
    /// RedisBloom's; its own versions are up to 4.
    const NAME: &CStr = c"MBbloomCF";
    const VERSION: i32 = 100;

    fn write(&self, output: &mut dyn Write) -> mayhap::Result<()> {
        Nest::write(self, output)
    }

    fn read(version: i32, input: &mut Snapshot) -> Result<Nest, String> {
        check_version::<Nest>(version)?;
        Nest::read(input, secret())
    }

    fn rewrite(&self, commands: &Commands) -> mayhap::Result<()> {
        rewrite_in_pieces(self, commands, c"CF.LOADCHUNK");
        Ok(())
    }

    fn bytes(&self) -> u64 {
        Nest::bytes(self)
    }

    fn reallocate(&mut self) {
        if self.bytes() > MOVED {
            return;
        }
        let reallocate = |bits: &mut [Bitmap]| bits.iter_mut().for_each(Bitmap::reallocate);
        match self {
            Nest::Own(own) => own.change(reallocate),
            Nest::Foreign(foreign) => {
                let layers = foreign.layers_mut();
                reallocate(layers);
                alloc::reallocate_list(layers);
            }
        }
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

    fn read(version: i32, input: &mut Snapshot) -> Result<Native, String> {
        check_version::<Native>(version)?;
        Native::read(input)
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

    fn reallocate(&mut self) {
        reallocate(&mut self.filter);
    }
}
