//! The values of a snapshot of RedisBloom.

use std::io::Read;

use mayhap_commands::Snapshot;

/// Numbers of eight bytes, and texts after their length in two.
pub struct Values<'a>(pub &'a [u8]);

impl Read for Values<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(into)
    }
}

impl Snapshot for Values<'_> {
    fn unsigned(&mut self) -> std::io::Result<u64> {
        self.bytes_of(8)
            .map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    fn double(&mut self) -> std::io::Result<f64> {
        self.unsigned().map(f64::from_bits)
    }

    fn bytes(&mut self) -> std::io::Result<Vec<u8>> {
        let length = self.bytes_of(2)?;
        let length = u16::from_le_bytes(length.try_into().expect("two bytes"));
        self.bytes_of(length.into()).map(<[u8]>::to_vec)
    }
}

impl<'a> Values<'a> {
    fn bytes_of(&mut self, length: usize) -> std::io::Result<&'a [u8]> {
        let split = self.0.split_at_checked(length);
        let (taken, rest) = split.ok_or(std::io::ErrorKind::UnexpectedEof)?;
        self.0 = rest;
        Ok(taken)
    }
}
