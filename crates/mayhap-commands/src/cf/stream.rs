//! A nest as bytes: whole, for snapshots, and the first of its pieces.
//!
//! ```text
//! head    "MAYHAPCF" version:u32 iterations:u32; the version is 1 for ours, 2 for RedisBloom's layout, 3 for ours with few keys
//! whole   head checksum:u64, then a native file, or what few.rs or foreign writes
//! first   head description state checksum:u64, or RedisBloom's header; the other pieces are bits of layers
//! ```

use std::ffi::CStr;
use std::io::{Read, Write};

use mayhap::SecretKey;

use super::Nest;
use super::foreign::{self, Foreign};
use super::nest::Body;
use super::own::Own;
use crate::encoding::{Damage, Fields, opened, sealed, unsealed};
use crate::limits::Allows;
use crate::pieces::Pieces as _;
use crate::settings;
use crate::value::sealed::Sealed;
use crate::value::{Log, MOVED, Mover, Snapshot, Type, Value, check_version, rewrite_in_pieces};

const MAGIC: &[u8; 8] = b"MAYHAPCF";
/// The version of ours.
const OWN: u32 = 1;
/// The version of those in RedisBloom's layout.
const FOREIGN: u32 = 2;
/// The version of ours that have few keys and no table.
const FEW: u32 = 3;
const HEAD: usize = 16;

impl Nest {
    /// The head of its bytes.
    pub(super) fn head(&self) -> Vec<u8> {
        let (version, iterations) = match &self.body {
            Body::Own(own) if own.is_small() => (FEW, own.iterations()),
            Body::Own(own) => (OWN, own.iterations()),
            Body::Foreign(foreign) => (FOREIGN, foreign.facts().iterations),
        };
        let numbers = [version, iterations].map(u32::to_le_bytes);
        [&MAGIC[..], &numbers.concat()].concat()
    }

    /// Reads a filter that was written, and no byte more.
    ///
    /// # Errors
    ///
    /// The reason why the bytes are not a filter.
    pub fn load(input: &mut dyn Read, secret: Option<&SecretKey>) -> Result<Nest, Damage> {
        let head = unsealed(input, HEAD)?;
        let (version, iterations) = parse_head(&mut Fields(&head))?;
        Ok(Nest::of(match version {
            FOREIGN => Body::Foreign(Foreign::read(input)?),
            FEW => Body::Own(Own::read_few(input, iterations, secret)?),
            _ => Body::Own(Own::read(input, iterations, secret)?),
        }))
    }

    /// Reads a filter of a snapshot of RedisBloom.
    ///
    /// # Errors
    ///
    /// The reason why the values are not a filter.
    pub fn read_saved(saved: &mut dyn Snapshot) -> Result<Nest, Damage> {
        Ok(Nest::of(Body::Foreign(Foreign::read_saved(saved)?)))
    }

    /// Makes the empty filter that a first piece describes, ours or RedisBloom's. Asks `allows` before any bits are taken.
    ///
    /// # Errors
    ///
    /// The reason why the piece describes no filter, or none that is allowed.
    pub fn begin(
        piece: &[u8],
        secret: Option<&SecretKey>,
        allows: Allows<'_>,
    ) -> Result<Nest, Damage> {
        if piece.len() == foreign::HEADER {
            return Ok(Nest::of(Body::Foreign(Foreign::begin(piece, allows)?)));
        }
        let mut fields = Fields(opened(piece)?);
        match parse_head(&mut fields)? {
            (OWN, iterations) => {
                let own = Own::begin(fields, iterations, secret, allows)?;
                Ok(Nest::of(Body::Own(own)))
            }
            (other, _) => Err(format!("a first piece has no version {other}")),
        }
    }
}

impl Sealed for Nest {}

impl Value for Nest {
    const TYPE: Type = Type::Cuckoo;

    /// RedisBloom's; its own versions are up to 4, of which the last is read too.
    const NAME: &CStr = c"MBbloomCF";
    const VERSION: i32 = 100;
    const COPIED_BY: &str = "CF.SCANDUMP and CF.LOADCHUNK";

    fn write(&self, output: &mut dyn Write) -> mayhap::Result<()> {
        output.write_all(&sealed(self.head()))?;
        match &self.body {
            Body::Own(own) => own.write(output),
            Body::Foreign(foreign) => foreign.write(output),
        }
    }

    fn write_alike(&self, output: &mut dyn Write) -> mayhap::Result<()> {
        self.whole().write(output)
    }

    fn read(version: i32, mut input: &mut dyn Snapshot) -> Result<Nest, Damage> {
        if version == foreign::SAVED {
            return Nest::read_saved(input);
        }
        check_version::<Nest>(version)?;
        Nest::load(&mut input, settings::secret())
    }

    fn rewrite(&self, log: &mut dyn Log) -> mayhap::Result<()> {
        rewrite_in_pieces(self, log, c"CF.LOADCHUNK");
        Ok(())
    }

    fn bytes(&self) -> u64 {
        Nest::bytes(self)
    }

    fn reallocate(&mut self, mover: &impl Mover) {
        if self.bytes() > MOVED {
            return;
        }
        match &mut self.body {
            Body::Own(own) => own.relocate(mover),
            Body::Foreign(foreign) => foreign.relocate(mover),
        }
    }
}

/// Reads the version and the iterations of a head.
fn parse_head(fields: &mut Fields<'_>) -> Result<(u32, u32), Damage> {
    if fields.take(8)? != MAGIC {
        return Err("it does not begin as a cuckoo filter does".into());
    }
    let version = fields.u32()?;
    if ![OWN, FOREIGN, FEW].contains(&version) {
        return Err(format!(
            "its version is {version}, and {OWN} to {FEW} are read"
        ));
    }
    match fields.u32()? {
        iterations @ 1..=0xFFFF => Ok((version, iterations)),
        other => Err(format!("{other} iterations are not 1 to 65535")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::nest::tests::{ANY, bytes, filled, plan};
    use super::*;
    use crate::pieces::{Place, locate, piece};

    #[test]
    fn a_filter_is_the_same_after_writing_and_reading_and_in_pieces() {
        let secret = SecretKey::from_bytes([7; 16]);
        for secret in [None, Some(&secret)] {
            for (bucket, expansion, keys) in [(2, 1, 2000), (4, 2, 5000), (2, 0, 500), (2, 1, 0)] {
                let nest = filled(plan(bucket, expansion), secret, keys);
                let written = bytes(&nest);
                let read = Nest::load(&mut &written[..], secret).expect("read");
                assert!(bytes(&read) == written);

                let (mut iterator, first) = piece(&nest, 0).expect("the first");
                let mut copy = Nest::begin(&first, secret, ANY).expect("begun");
                assert_eq!(copy.keys(), keys.into());
                while let Some((next, piece)) = piece(&nest, iterator) {
                    let (place, bits) = locate(&copy, next, &piece).expect("whole");
                    let Place::At(layer, start) = place else {
                        panic!("{place:?}");
                    };
                    assert!(copy.load_bits(layer, start, bits));
                    iterator = next;
                }
                assert!(bytes(&copy) == bytes(&nest.whole()));
                if secret.is_some() {
                    assert!(Nest::load(&mut &written[..], None).is_err());
                    assert!(Nest::begin(&first, None, ANY).is_err());
                }
            }
        }
    }

    #[test]
    fn damaged_and_cut_bytes_are_refused() {
        let nest = filled(plan(2, 1), None, 1500);
        let written = bytes(&nest);
        let (_, first) = piece(&nest, 0).expect("the first");
        for at in 0..written.len() {
            let mut damaged = written.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(Nest::load(&mut &damaged[..], None).is_err(), "{at}");
            assert!(Nest::load(&mut &written[..at], None).is_err(), "{at}");
        }
        for at in 0..first.len() {
            let mut damaged = first.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(Nest::begin(&damaged, None, ANY).is_err(), "{at}");
            assert!(Nest::begin(&first[..at], None, ANY).is_err(), "{at}");
        }
        assert!(Nest::begin(&first, None, &|_, _| false).is_err());
    }
}
