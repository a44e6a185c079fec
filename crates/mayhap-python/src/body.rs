//! Where a filter lives, and what can be done with it there.

use std::ptr;

use mayhap::bits::{AtomicBitmap, AtomicLines};
use mayhap::file::{Build, Mapped};
use mayhap::format::{self, Format};
use mayhap::{
    AnyFilter, Assemble as _, Blocked, Bloom, Description, Filter as _, Insert as _, Inserts, Stats,
};
use mayhap::{AtomicBlocked, AtomicBloom, kinds};

use crate::columns::Keys;
use crate::error::{Result, value, wrong_type};

/// A filter and its storage.
pub(crate) enum Body {
    /// In memory, changed by one thread at a time.
    Plain(AnyFilter),
    /// In memory, changed by all threads at once.
    AtomicBits(AnyFilter<AtomicBitmap>),
    /// The same, of kinds that change a whole line at a time.
    AtomicLines(AnyFilter<AtomicLines>),
    /// Read from a file, and not to be changed.
    Read(AnyFilter),
    /// In a file, and not to be changed.
    Mapped(Box<Mapped>),
    /// In a file that is being built.
    Build(Box<Build>),
    /// Given back.
    Closed,
}

/// What is done with each key of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Contains,
    Insert,
}

fn closed() -> crate::error::Error {
    value("the filter is closed; expected one that is open")
}

fn read_only() -> crate::error::Error {
    wrong_type("the filter is read-only; expected one of copy() or load(), which can change")
}

impl Body {
    /// Whether the key may be in the filter.
    #[inline]
    pub(crate) fn contains(&self, key: &[u8]) -> Result<bool> {
        self.answer(key).ok_or_else(closed)
    }

    /// As [`contains`](Body::contains); `None` of a filter that is closed.
    pub(crate) fn answer(&self, key: &[u8]) -> Option<bool> {
        match self {
            Body::Plain(filter) | Body::Read(filter) => Some(filter.contains_bytes(key)),
            Body::AtomicBits(filter) => Some(filter.contains_bytes(key)),
            Body::AtomicLines(filter) => Some(filter.contains_bytes(key)),
            Body::Mapped(mapped) => Some(mapped.contains_bytes(key)),
            Body::Build(build) => Some(build.contains_bytes(key)),
            Body::Closed => None,
        }
    }

    /// Inserts a key while other threads do the same; true for exactly one of those that insert it.
    #[inline]
    pub(crate) fn insert_shared(&self, key: &[u8]) -> Result<bool> {
        self.claim(key).ok_or_else(|| self.refusal())
    }

    /// As [`insert_shared`](Body::insert_shared); `None` where that is not possible.
    pub(crate) fn claim(&self, key: &[u8]) -> Option<bool> {
        match self {
            Body::AtomicLines(AnyFilter::Blocked(filter)) => Some(filter.insert(key)),
            Body::AtomicBits(AnyFilter::Bloom(filter)) => Some(filter.insert(key)),
            Body::AtomicLines(AnyFilter::SplitBlock(filter)) => Some(filter.insert(key)),
            _ => None,
        }
    }

    /// Inserts a key; true when it was definitely new.
    #[inline]
    pub(crate) fn insert(&mut self, key: &[u8]) -> Result<bool> {
        match self {
            Body::Plain(filter) => Ok(filter.insert(key)?),
            Body::Build(build) => Ok(build.insert_bytes(key)),
            other => other.insert_shared(key),
        }
    }

    fn refusal(&self) -> crate::error::Error {
        match self {
            Body::Closed => closed(),
            _ => read_only(),
        }
    }

    /// Looks up keys, in order.
    pub(crate) fn contains_keys(&self, keys: Keys<'_>, found: &mut [bool]) -> Result<()> {
        fn look<B: mayhap::bits::Bits>(filter: &AnyFilter<B>, keys: Keys<'_>, found: &mut [bool]) {
            match keys {
                Keys::Numbers(numbers) => filter.contains_batch(numbers, found),
                Keys::Bytes(keys) => filter.contains_bytes_batch(keys, found),
            }
        }
        match self {
            Body::Plain(filter) | Body::Read(filter) => look(filter, keys, found),
            Body::AtomicBits(filter) => look(filter, keys, found),
            Body::AtomicLines(filter) => look(filter, keys, found),
            Body::Mapped(mapped) => look(mapped.filter(), keys, found),
            Body::Build(build) => look(build.filter(), keys, found),
            Body::Closed => return Err(closed()),
        }
        Ok(())
    }

    /// Inserts keys, in order.
    pub(crate) fn insert_keys(&mut self, keys: Keys<'_>, new: &mut [bool]) -> Result<()> {
        match (self, keys) {
            (Body::Plain(filter), Keys::Numbers(numbers)) => {
                let mut places = new.iter_mut();
                filter.insert_each(numbers, |is_new| {
                    if let Some(place) = places.next() {
                        *place = is_new;
                    }
                })?;
            }
            (Body::Plain(filter), Keys::Bytes(keys)) => {
                filter.as_insert()?.insert_bytes_batch(keys, new);
            }
            (Body::Build(build), Keys::Numbers(numbers)) => build.insert_batch(numbers, new),
            (Body::Build(build), Keys::Bytes(keys)) => build.insert_bytes_batch(keys, new),
            (other, keys) => other.insert_keys_shared(keys, new)?,
        }
        Ok(())
    }

    /// Inserts keys while other threads do the same.
    pub(crate) fn insert_keys_shared(&self, keys: Keys<'_>, new: &mut [bool]) -> Result<()> {
        match (self, keys) {
            (Body::AtomicLines(AnyFilter::Blocked(filter)), Keys::Numbers(numbers)) => {
                filter.insert_batch(numbers, new);
            }
            (Body::AtomicLines(AnyFilter::Blocked(filter)), Keys::Bytes(keys)) => {
                filter.insert_batch(keys, new);
            }
            (body, Keys::Numbers(numbers)) => {
                for (number, new) in numbers.iter().zip(new) {
                    *new = body.insert_shared(&number.to_le_bytes())?;
                }
            }
            (body, Keys::Bytes(keys)) => {
                for (key, new) in keys.iter().zip(new) {
                    *new = body.insert_shared(key)?;
                }
            }
        }
        Ok(())
    }

    /// Whether many threads can insert into it at once, as it is.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Body::AtomicBits(_) | Body::AtomicLines(_))
    }

    /// The same filter as one that all threads insert into at once, where the kind has such a form. Its bits are not
    /// copied.
    pub(crate) fn share(&mut self) {
        *self = match std::mem::replace(self, Body::Closed) {
            Body::Plain(AnyFilter::Blocked(filter)) => {
                Body::AtomicLines(AtomicBlocked::from(filter).into())
            }
            Body::Plain(AnyFilter::Bloom(filter)) => {
                Body::AtomicBits(AtomicBloom::from(filter).into())
            }
            Body::Plain(AnyFilter::SplitBlock(filter)) => {
                Body::AtomicLines(kinds::AtomicSplitBlock::from(filter).into())
            }
            other => other,
        };
    }

    /// The reverse of [`share`](Body::share).
    pub(crate) fn unshare(&mut self) {
        *self = match std::mem::replace(self, Body::Closed) {
            Body::AtomicBits(AnyFilter::Bloom(filter)) => Body::Plain(Bloom::from(filter).into()),
            Body::AtomicLines(AnyFilter::Blocked(filter)) => {
                Body::Plain(Blocked::from(filter).into())
            }
            Body::AtomicLines(AnyFilter::SplitBlock(filter)) => {
                Body::Plain(kinds::SplitBlock::from(filter).into())
            }
            other => other,
        };
    }

    /// A copy in memory, to be changed by one thread at a time.
    pub(crate) fn to_plain(&self) -> Result<AnyFilter> {
        match self {
            Body::Plain(filter) | Body::Read(filter) => Ok(filter.clone()),
            Body::Build(build) => Ok(build.filter().clone()),
            Body::AtomicBits(_) | Body::AtomicLines(_) | Body::Mapped(_) => {
                let bytes = self.to_bytes(Format::Native)?;
                let secret = secret(&self.description()?);
                Ok(format::native::decode(&bytes, secret.as_ref())?.0)
            }
            Body::Closed => Err(closed()),
        }
    }

    /// Does something with the filter in memory, to change it. The storage stays where it is.
    pub(crate) fn change<R>(
        &mut self,
        change: impl FnOnce(&mut AnyFilter) -> Result<R>,
    ) -> Result<R> {
        let is_shared = self.is_shared();
        self.unshare();
        let result = match &mut *self {
            Body::Plain(filter) => change(filter),
            other => Err(other.refusal()),
        };
        if is_shared {
            self.share();
        }
        result
    }

    /// Does something with the filter in memory; one that is not in memory is copied.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&AnyFilter) -> Result<R>) -> Result<R> {
        match self {
            Body::Plain(filter) | Body::Read(filter) => look(filter),
            Body::Build(build) => look(build.filter()),
            other => look(&other.to_plain()?),
        }
    }

    /// Everything but the bits.
    pub(crate) fn description(&self) -> Result<Description> {
        match self {
            Body::Plain(filter) | Body::Read(filter) => Ok(filter.description()),
            Body::AtomicBits(filter) => Ok(filter.description()),
            Body::AtomicLines(filter) => Ok(filter.description()),
            Body::Mapped(mapped) => Ok(mapped.description()),
            Body::Build(build) => Ok(build.filter().description()),
            Body::Closed => Err(closed()),
        }
    }

    pub(crate) fn stats(&self) -> Result<Stats> {
        match self {
            Body::Plain(filter) | Body::Read(filter) => Ok(filter.stats()),
            Body::AtomicBits(filter) => Ok(filter.stats()),
            Body::AtomicLines(filter) => Ok(filter.stats()),
            Body::Mapped(mapped) => Ok(mapped.stats()),
            Body::Build(build) => Ok(build.stats()),
            Body::Closed => Err(closed()),
        }
    }

    /// The bytes of a file.
    pub(crate) fn to_bytes(&self, format: Format) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write(format, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes the filter as a file has it.
    pub(crate) fn write(&self, format: Format, output: impl std::io::Write) -> Result<()> {
        match self {
            Body::Plain(filter) | Body::Read(filter) => format::convert(filter, format, output)?,
            Body::AtomicBits(filter) => format::convert(filter, format, output)?,
            Body::AtomicLines(filter) => format::convert(filter, format, output)?,
            Body::Mapped(mapped) => format::convert(mapped.filter(), format, output)?,
            Body::Build(build) => format::convert(build.filter(), format, output)?,
            Body::Closed => return Err(closed()),
        }
        Ok(())
    }

    /// Where the bits are in memory; `None` where they are in several places, or may move or go.
    pub(crate) fn memory(&self) -> Option<ptr::NonNull<[u8]>> {
        let Body::Plain(filter) = self else {
            return None;
        };
        let parts = filter.parts();
        match (&parts[..], filter.kind().inserts()) {
            ([bits], Inserts::BySettingBits) => {
                let words = bits.as_words();
                let first = ptr::NonNull::from(words).cast::<u8>();
                Some(ptr::NonNull::slice_from_raw_parts(
                    first,
                    size_of_val(words),
                ))
            }
            _ => None,
        }
    }
}

/// The secret that a filter hashes by, if it has one.
pub(crate) fn secret(description: &Description) -> Option<mayhap::SecretKey> {
    use mayhap::{Digester, Hashing, Scheme};
    match &description.hashing {
        Hashing::Scheme(Scheme::Native(Digester::SipHash { key })) => Some(key.clone()),
        _ => None,
    }
}
