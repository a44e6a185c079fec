//! Rules that every decoder keeps, whatever its format.

use std::fmt::Debug;
use std::io::{self, Read};

use mayhap::{Assemble, Error, Filter, Promise, Result};

use crate::meter::metered;

/// Checks the rules of every decoder on a streaming reader, and returns what it read.
///
/// It never panics, allocates no more than the input has, and reads the same from an input that arrives
/// in small pieces.
pub fn reader<T: PartialEq + Debug>(
    data: &[u8],
    read: impl Fn(&mut dyn Read) -> Result<T>,
) -> Option<Decoded<T>> {
    let mut rest = data;
    let whole = metered(data.len(), || read(&mut rest));
    let mut drops = Drops {
        rest: data,
        turn: 0,
    };
    let dropped = metered(data.len(), || read(&mut drops));
    match (whole, dropped) {
        (Ok(value), Ok(dropped)) => {
            assert_eq!(value, dropped);
            assert_eq!(rest.len(), drops.rest.len(), "bytes left unread");
            let bytes = data.len() - rest.len();
            Some(Decoded { value, bytes })
        }
        (Err(whole), Err(dropped)) => {
            assert_eq!(whole.to_string(), dropped.to_string());
            None
        }
        (whole, dropped) => panic!("at once {whole:?}, in drops {dropped:?}"),
    }
}

/// Checks a [`reader`] together with its writer: the value is written as the bytes it
/// was read from, so no input that ends early passes for the whole.
pub fn decoder<T: PartialEq + Debug>(
    data: &[u8],
    read: impl Fn(&mut dyn Read) -> Result<T>,
    write: impl Fn(&T, &mut Vec<u8>) -> Result<()>,
) -> Option<Decoded<T>> {
    let decoded = reader(data, &read)?;
    let assert_written = |value: &T, bytes: &[u8]| {
        let mut written = Vec::new();
        write(value, &mut written).expect("what was read can be written");
        assert!(written == bytes, "{value:?} is written otherwise");
    };
    assert_written(&decoded.value, &data[..decoded.bytes]);
    // A format without an end of its own may end a byte earlier, and then says less.
    let short = &data[..decoded.bytes - 1];
    match read(&mut &short[..]) {
        Err(Error::Truncated { .. }) => {}
        Ok(value) => assert_written(&value, short),
        Err(error) => panic!("a byte early: {error}"),
    }
    Some(decoded)
}

/// The result of a decoder.
pub struct Decoded<T> {
    /// The value that was read.
    pub value: T,
    /// The bytes of the input that it took.
    pub bytes: usize,
}

/// An input that arrives in pieces of changing size, with interruptions.
struct Drops<'a> {
    rest: &'a [u8],
    turn: u32,
}

impl Read for Drops<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.turn += 1;
        if self.turn.is_multiple_of(5) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = buffer.len().min(1 << (self.turn % 13));
        self.rest.read(&mut buffer[..most])
    }
}

/// Calls everything that can be asked of a filter; nothing may panic, and all answers have to agree.
pub fn ask<F: Filter + Assemble>(filter: &F, data: &[u8]) {
    let stats = filter.stats();
    let description = filter.description();
    assert!(stats.ones <= stats.bits && stats.bits <= description.bits);
    assert!((0.0..=1.0).contains(&stats.rate), "{stats:?}");
    let rate = |promise: Option<Promise>| promise.map(|promise| promise.rate);
    assert_eq!(rate(stats.promise), rate(description.promise));
    // Kinds of several parts have bits that belong to no key, and promises that grow.
    if filter.parts().len() == 1 {
        assert_eq!(stats.bits, description.bits);
        assert_eq!(stats.promise, description.promise);
    }
    let _ = (stats.is_over_capacity(), stats.bits_per_key());

    let keys: Vec<&[u8]> = data.chunks(7).take(40).chain([&b""[..]]).collect();
    let mut found = vec![false; keys.len()];
    filter.contains_bytes_batch(&keys, &mut found);
    for (key, found) in keys.into_iter().zip(found) {
        assert_eq!(filter.contains_bytes(key), found, "{key:?}");
    }
}
