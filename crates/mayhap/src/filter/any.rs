//! A filter whose kind is known only at run time, as what it can do.

use super::description::is_same;
use super::{
    AnyFilter, Area, Assemble as _, Count, Description, Filter as _, InsertArea, Kind, Remove,
};
use crate::bits::{Bitmap, Bits};
use crate::{Error, Key, Result};

impl<B: Bits + PartialEq> PartialEq for AnyFilter<B> {
    /// Whether both are of one kind, built alike, and hold the same bits.
    fn eq(&self, other: &AnyFilter<B>) -> bool {
        is_same(self, other)
    }
}

impl<B: Bits + Eq> Eq for AnyFilter<B> {}

impl AnyFilter {
    /// The empty filter of this description.
    ///
    /// # Errors
    ///
    /// When there can be no such filter, or no memory for it; [`Error::Unsupported`] when the kind is
    /// built once from all its keys.
    pub fn new(description: &Description) -> Result<AnyFilter> {
        AnyFilter::<Bitmap>::check(description)?;
        description.kind.check_inserts()?;
        description.empty()
    }

    /// Inserts the key; true when it was *definitely* not in the filter before.
    ///
    /// # Errors
    ///
    /// As [`as_insert`](AnyFilter::as_insert), which is also the way to insert many.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        Ok(self.as_insert()?.insert_bytes(key.key_bytes().as_ref()))
    }
}

impl<B: Bits> AnyFilter<B> {
    /// The kind of filter it is.
    pub fn kind(&self) -> Kind {
        self.description().kind
    }

    /// Whether the key may be in the filter: false is certain, true is *mayhap*.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_bytes(key.key_bytes().as_ref())
    }

    /// The filter, to be asked how often keys were inserted.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] when the kind does not count.
    ///
    /// ```
    /// use mayhap::{AnyFilter, Kind};
    ///
    /// let mut filter = AnyFilter::new(&Kind::Spectral.plan(1000, 0.01)?)?;
    /// filter.insert("key")?;
    /// filter.insert("key")?;
    /// assert_eq!(filter.as_count()?.count_bytes(b"key"), 2);
    /// assert!(AnyFilter::new(&Kind::Bloom.plan(1000, 0.01)?)?.as_count().is_err());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn as_count(&self) -> Result<&dyn Count> {
        match self {
            AnyFilter::Spectral(filter) => Ok(filter),
            AnyFilter::Cuckoo(filter) => Ok(filter),
            AnyFilter::ShiftingMultiplicity(filter) => Ok(filter),
            other => Err(Error::Unsupported {
                kind: other.kind().name(),
                what: "count keys",
                instead: "expected the kind spectral, cuckoo or shifting-multiplicity",
            }),
        }
    }

    /// The filter, to be asked which area keys belong to.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] when the kind has no areas.
    pub fn as_area(&self) -> Result<&dyn Area> {
        match self {
            AnyFilter::Spatial(filter) => Ok(filter),
            other => Err(no_areas(other.kind(), "report the area of a key")),
        }
    }
}

fn no_areas(kind: Kind, what: &'static str) -> Error {
    Error::Unsupported {
        kind: kind.name(),
        what,
        instead: "expected the kind spatial",
    }
}

impl AnyFilter {
    /// The filter, to be removed from.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] when nothing can be removed from filters of the kind.
    ///
    /// ```
    /// use mayhap::{AnyFilter, Kind};
    ///
    /// let mut filter = AnyFilter::new(&Kind::Counting.plan(1000, 0.01)?)?;
    /// filter.insert("key")?;
    /// assert!(filter.as_remove()?.remove_bytes(b"key")?);
    /// assert!(!filter.contains("key"));
    /// assert!(AnyFilter::new(&Kind::Bloom.plan(1000, 0.01)?)?.as_remove().is_err());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn as_remove(&mut self) -> Result<&mut dyn Remove> {
        match self {
            AnyFilter::Counting(filter) => Ok(filter),
            AnyFilter::Cuckoo(filter) => Ok(filter),
            AnyFilter::Spectral(filter) => Ok(filter),
            other => Err(Error::Unsupported {
                kind: other.kind().name(),
                what: "remove keys",
                instead: "expected the kind counting, cuckoo or spectral",
            }),
        }
    }

    /// The filter, to be inserted into with the area of each key.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] when the kind has no areas.
    ///
    /// ```
    /// use mayhap::{AnyFilter, Kind};
    ///
    /// let mut filter = AnyFilter::new(&Kind::Spatial.plan(1000, 0.01)?)?;
    /// filter.as_insert_area()?.insert_area_bytes(b"key", 3)?;
    /// assert_eq!(filter.as_area()?.area_bytes(b"key"), Some(3));
    /// assert!(filter.as_insert_area()?.insert_area_bytes(b"key", 0).is_err());
    /// assert!(AnyFilter::new(&Kind::Bloom.plan(1000, 0.01)?)?.as_area().is_err());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn as_insert_area(&mut self) -> Result<&mut dyn InsertArea> {
        match self {
            AnyFilter::Spatial(filter) => Ok(filter),
            other => Err(no_areas(other.kind(), "insert keys by area")),
        }
    }
}
