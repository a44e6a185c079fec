//! Reading a filter of any format, to the end of its input.

use std::io::Read;

use super::source::Source;
use super::{Format, dcso, guava, native, parquet, redisbloom, spark};
use crate::filter::AnyFilter;
use crate::{Error, Result, SecretKey};

/// Reads a filter from all of `bytes`, in any format.
///
/// `secret` is needed for a native filter that was made with one, and ignored otherwise. Other content of
/// the file (a label, the user's data) is left out; the modules of the formats read it.
///
/// # Errors
///
/// Those of [`Format::of`], and of [`Format::decode`] for the format found. If you know the format, use the latter,
/// whose error then says what is wrong with the bytes.
///
/// ```
/// use mayhap::format::{self, Format};
///
/// // Spark 4.3's filter of the longs 1, 2 and 3, in 64 bits with three hashes.
/// let bytes = [
///     0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 1, 68, 0, 2, 2, 12, 4, 0,
/// ];
/// let (filter, format) = format::open(&bytes, None)?;
/// assert_eq!(format, Format::Spark);
/// assert!(filter.contains(&1_i64));
///
/// let mut copy = Vec::new();
/// format::convert(&filter, Format::Native, &mut copy)?;
/// assert_eq!(format::open(&copy, None)?, (filter, Format::Native));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn open(bytes: &[u8], secret: Option<&SecretKey>) -> Result<(AnyFilter, Format)> {
    let format = Format::of_input(bytes, Some(bytes.len() as u64))?;
    let filter = format.decode(bytes, secret);
    Ok((filter.map_err(hide(format, bytes.len()))?, format))
}

/// Reads a filter from an input to its end, in any format, as [`open`] does from bytes.
///
/// Takes memory as bytes arrive, never for a length that is only claimed.
///
/// # Errors
///
/// As [`open`], and [`Error::Io`](crate::Error::Io) when reading fails.
pub fn open_reader(input: impl Read, secret: Option<&SecretKey>) -> Result<(AnyFilter, Format)> {
    let (filter, format, _) = open_known(input, None, None, secret)?;
    Ok((filter, format))
}

/// Reads a filter as [`open_reader`] does, and returns the user's data that follow it in a file of DCSO's `bloom`.
/// Other formats have none. A `format` that is given is not guessed.
///
/// # Errors
///
/// As [`open_reader`].
///
/// ```
/// use mayhap::format::dcso::{self, Envelope};
/// use mayhap::format::{self, Format};
///
/// let mut envelope = Envelope::with_capacity(1000, 0.001)?;
/// envelope.data = b"seen in March".to_vec();
/// let mut file = Vec::new();
/// dcso::write(&envelope, &mut file)?;
///
/// let (filter, format, data) = format::open_reader_with_data(&file[..], None, None)?;
/// assert_eq!((format, data), (Format::Dcso, envelope.data));
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn open_reader_with_data(
    input: impl Read,
    format: Option<Format>,
    secret: Option<&SecretKey>,
) -> Result<(AnyFilter, Format, Vec<u8>)> {
    open_known(input, None, format, secret)
}

/// Reads an input whose length and format may be known.
pub(crate) fn open_known(
    mut input: impl Read,
    length: Option<u64>,
    format: Option<Format>,
    secret: Option<&SecretKey>,
) -> Result<(AnyFilter, Format, Vec<u8>)> {
    let mut beginning = [0; Format::SNIFFED_BYTES];
    let count = Source::new(&mut input, "filter", length).fill_up_to(&mut beginning)?;
    let beginning = &beginning[..count];
    let Some(format) = format else {
        let format = Format::of_input(beginning, length)?;
        let read = format.read_whole(beginning.chain(input), length, secret);
        let (filter, data) = read.map_err(hide(format, count))?;
        return Ok((filter, format, data));
    };
    let (filter, data) = format.read_whole(beginning.chain(input), length, secret)?;
    Ok((filter, format, data))
}

/// Hides what is wrong with an input that is shorter than most headers, if its format is only guessed: the
/// numbers in such an error may be bytes of a secret, and 1 in 128 secrets begins like a file of Guava.
fn hide(format: Format, length: usize) -> impl Fn(Error) -> Error {
    let is_guessed = format != Format::Native && length < Format::SNIFFED_BYTES;
    move |error| match is_guessed {
        true => Error::Unrecognised {
            known: Format::KNOWN,
        },
        false => error,
    }
}

impl Format {
    /// Reads a filter in this format from all of `bytes`.
    ///
    /// # Errors
    ///
    /// Those of the format's own reader, and [`Error::Extra`] when bytes follow.
    ///
    /// ```
    /// use mayhap::Error;
    /// use mayhap::format::Format;
    ///
    /// let refused = Format::Guava.decode(&[1, 7, 0, 0, 0, 2, 0], None);
    /// assert!(matches!(refused, Err(Error::Truncated { expected: 22, got: 7, .. })));
    /// ```
    pub fn decode(self, bytes: &[u8], secret: Option<&SecretKey>) -> Result<AnyFilter> {
        let (filter, _) = self.read_whole(bytes, Some(bytes.len() as u64), secret)?;
        Ok(filter)
    }

    /// Reads a filter in this format from an input to its end.
    ///
    /// # Errors
    ///
    /// As [`decode`](Format::decode), and [`Error::Io`] when reading fails.
    pub fn read(self, input: impl Read, secret: Option<&SecretKey>) -> Result<AnyFilter> {
        let (filter, _) = self.read_whole(input, None, secret)?;
        Ok(filter)
    }

    /// Reads the filter, and the data that follow it.
    fn read_whole(
        self,
        input: impl Read,
        length: Option<u64>,
        secret: Option<&SecretKey>,
    ) -> Result<(AnyFilter, Vec<u8>)> {
        let mut source = Source::new(input, self.title(), length);
        let filter = match self {
            Format::Native => native::read_from(&mut source, secret.into())?.0,
            Format::Guava => guava::read_from(&mut source)?.into(),
            Format::Parquet => parquet::read_from(&mut source)?.into(),
            Format::Spark => spark::read_from(&mut source)?.into(),
            Format::RedisBloom => redisbloom::read_one(&mut source)?.into(),
            // Everything that follows is the user's data: the file has no end of its own.
            Format::Dcso => {
                let envelope = dcso::read_from(source)?;
                return Ok((envelope.filter.into(), envelope.data));
            }
        };
        source.end()?;
        Ok((filter, Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_error_has_numbers_from_a_file_as_short_as_a_secret() {
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                let secret = [&[first, second], &b"fourteen more."[..]].concat();
                match open(&secret, None) {
                    Ok(_) | Err(Error::Unrecognised { .. } | Error::Ambiguous { .. }) => {}
                    Err(error) => panic!("{secret:?}: {error}"),
                }
            }
        }
    }
}
