//! A filter in memory, shared by threads or in a file, and the operations that each of these allows.

use std::ptr;

use mayhap::bits::{AtomicBitmap, AtomicLines, Bits};
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
    /// In memory too, for kinds that change a whole line at a time.
    AtomicLines(AnyFilter<AtomicLines>),
    /// Read from a file, and not to be changed.
    Read(AnyFilter),
    /// In a file, and not to be changed.
    Mapped(Box<Mapped>),
    /// In a file that is being built.
    Build(Box<Build>),
    /// Closed: its map or build was given back.
    Closed,
}

/// The operation on each key of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Contains,
    Insert,
}

fn closed() -> crate::error::Error {
    value("the filter is closed; expected one that is open")
}

fn read_only() -> crate::error::Error {
    wrong_type("the filter is read-only; expected one from copy() or load(), which can be changed")
}

fn building() -> crate::error::Error {
    wrong_type(
        "the filter is being built: keys can be added, and nothing else changed; finish it and load its file",
    )
}

impl Body {
    /// Returns whether the key may be in the filter.
    #[inline]
    pub(crate) fn contains(&self, key: &[u8]) -> Result<bool> {
        self.answer(key).ok_or_else(closed)
    }

    /// Looks up a key as [`contains`](Body::contains) does; returns `None` if the filter is closed.
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

    /// Inserts a key as [`insert_shared`](Body::insert_shared) does; returns `None` where that is not possible.
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
            Body::Build(_) => building(),
            _ => read_only(),
        }
    }

    /// Looks up keys, in order.
    pub(crate) fn contains_keys(&self, keys: Keys<'_>, found: &mut [bool]) -> Result<()> {
        fn look<B: Bits>(filter: &AnyFilter<B>, keys: Keys<'_>, found: &mut [bool]) {
            match keys {
                Keys::Numbers(numbers) => filter.contains_batch(numbers, found),
                Keys::Bytes(keys) => filter.contains_bytes_batch(keys, found),
            }
        }
        match self {
            Body::Plain(filter) | Body::Read(filter) => look(filter, keys, found),
            Body::AtomicBits(filter) => look(filter, keys, found),
            Body::AtomicLines(filter) => look(filter, keys, found),
            Body::Mapped(mapped) => {
                // Checked first, because reading past the end of a file that was cut short ends the process.
                mapped.check_unchanged()?;
                look(mapped.filter(), keys, found);
                mapped.check_unchanged()?;
            }
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

    /// Returns whether many threads can insert into it at once, in its present form.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Body::AtomicBits(_) | Body::AtomicLines(_))
    }

    /// Turns the filter into one that all threads insert into at once, where the kind has such a form. Copies no bits.
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

    /// Undoes [`share`](Body::share).
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

    /// Changes the filter in memory by `change`. The storage stays where it is.
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

    /// Calls `look` with the filter in memory, or with a copy if it is elsewhere.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&AnyFilter) -> Result<R>) -> Result<R> {
        match self {
            Body::Plain(filter) | Body::Read(filter) => look(filter),
            Body::Build(build) => look(build.filter()),
            other => look(&other.to_plain()?),
        }
    }

    /// Describes the filter: everything but its bits.
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

    /// Returns whether any key is in the filter. Stops at the first set bit, for kinds that consist of bits alone.
    pub(crate) fn is_any(&self) -> Result<bool> {
        fn any<B: Bits>(filter: &AnyFilter<B>) -> bool {
            if filter.kind().inserts() != Inserts::BySettingBits {
                return filter.stats().keys.is_none_or(|keys| keys > 0.0);
            }
            let has_one =
                |bits: &&B| (0..bits.size().div_ceil(64)).any(|word| bits.word(word) != 0);
            filter.parts().iter().any(has_one)
        }
        match self {
            Body::Plain(filter) | Body::Read(filter) => Ok(any(filter)),
            Body::AtomicBits(filter) => Ok(any(filter)),
            Body::AtomicLines(filter) => Ok(any(filter)),
            Body::Mapped(mapped) => Ok(any(mapped.filter())),
            Body::Build(build) => Ok(any(build.filter())),
            Body::Closed => Err(closed()),
        }
    }

    /// Encodes the filter as the bytes of a file.
    pub(crate) fn to_bytes(&self, format: Format) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write(format, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes the filter in the format of a file.
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

    /// The bits in memory; `None` if they are in several places, or may move or be freed.
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
