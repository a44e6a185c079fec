//! A column: keys in the memory of another library, as NumPy and Arrow lay them out.

use std::ops::Range;

use super::memory::Memory;
use super::nulls::{NULL, Nulls};
use crate::error::{Result, value};

/// The number of keys that are gathered at a time: few enough to stay in the first cache.
pub(crate) const RUN: usize = 1024;

/// Keys, ready to be hashed.
#[derive(Clone, Copy)]
pub(crate) enum Keys<'a> {
    Numbers(&'a [i64]),
    Bytes(&'a [&'a [u8]]),
}

impl Keys<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Keys::Numbers(numbers) => numbers.len(),
            Keys::Bytes(keys) => keys.len(),
        }
    }
}

/// The rows of a column that keys are from.
pub(crate) enum Rows<'a> {
    /// Consecutive rows, from this one on.
    From(usize),
    /// These rows: the others have no key.
    At(&'a [usize]),
}

/// One value per row.
pub(crate) enum Values {
    I8(Memory<i8>),
    U8(Memory<u8>),
    I16(Memory<i16>),
    U16(Memory<u16>),
    I32(Memory<i32>),
    U32(Memory<u32>),
    /// Unsigned numbers too: the bits are the same.
    I64(Memory<i64>),
    /// A bit per row.
    Bits(Memory<u8>),
    /// The ends of byte strings that follow each other, and the bytes.
    Short(Memory<i32>, Memory<u8>),
    /// The same with wide offsets.
    Long(Memory<i64>, Memory<u8>),
    /// Arrow's views: short bytes in place, long ones in one of several buffers.
    Views(Memory<[u8; 16]>, Vec<Memory<u8>>),
    /// Bytes of one length.
    Fixed(usize, Memory<u8>),
    /// The same, filled up with zeros that are not part of the key: NumPy's `S`.
    Padded(usize, Memory<u8>),
    /// Characters in four bytes each, filled up with zeros: NumPy's `U`.
    Characters(usize, Memory<u32>),
    /// Row numbers of another column.
    Dictionary(Box<Values>, Box<Column>),
    /// No row has a key.
    Null,
}

/// Keys in rows, some of which may have none.
pub(crate) struct Column {
    pub(crate) values: Values,
    /// A bit per row, zero where the row has no key.
    pub(crate) present: Option<Memory<u8>>,
    /// The rows in memory that belong to the column.
    pub(crate) rows: Range<usize>,
}

fn bit(bits: &Memory<u8>, index: usize) -> bool {
    let byte = bits.values().get(index / 8).copied().unwrap_or_default();
    byte >> (index % 8) & 1 == 1
}

fn between(bytes: &Memory<u8>, start: i64, end: i64) -> Result<&[u8]> {
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    let bytes = range.and_then(|(start, end)| bytes.values().get(start..end));
    bytes.ok_or_else(outside)
}

/// Takes byte strings that follow each other, each from one offset to the next.
fn follow<'a, T: Copy + Into<i64>>(
    offsets: &[T],
    bytes: &'a Memory<u8>,
    keys: &mut Vec<&'a [u8]>,
) -> Result<()> {
    let bytes = bytes.values();
    let place = |offset: T| usize::try_from(offset.into()).unwrap_or(usize::MAX);
    let [first, ends @ ..] = offsets else {
        return Ok(());
    };
    let mut start = place(*first);
    // Resized first: appending each key would check the capacity every time.
    keys.resize(ends.len(), &[]);
    for (key, &end) in keys.iter_mut().zip(ends) {
        let end = place(end);
        *key = bytes.get(start..end).ok_or_else(outside)?;
        start = end;
    }
    Ok(())
}

#[cold]
fn outside() -> crate::error::Error {
    value("offsets of the column lead outside of its bytes")
}

#[inline(always)]
fn view<'a>(view: &'a [u8; 16], buffers: &'a [Memory<u8>]) -> Result<&'a [u8]> {
    // Arrow's signed numbers are never negative; a negative one becomes too large here, and is refused below.
    let number = |at: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&view[at..at + 4]);
        u32::from_le_bytes(bytes)
    };
    let length = number(0);
    if length <= 12 {
        return Ok(&view[4..4 + length as usize]);
    }
    let (buffer, start) = (number(8) as usize, u64::from(number(12)));
    let buffer = buffers.get(buffer).map(Memory::values);
    let buffer = buffer.ok_or_else(|| value("a view of the column names no buffer of it"))?;
    let end = start + u64::from(length);
    if end > buffer.len() as u64 {
        return Err(outside());
    }
    Ok(&buffer[start as usize..end as usize])
}

fn unpadded(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0);
    &bytes[..end.map_or(0, |last| last + 1)]
}

impl Values {
    fn are_numbers(&self) -> bool {
        match self {
            Values::I8(_)
            | Values::U8(_)
            | Values::I16(_)
            | Values::U16(_)
            | Values::I32(_)
            | Values::U32(_)
            | Values::I64(_)
            | Values::Bits(_) => true,
            Values::Dictionary(_, values) => values.values.are_numbers(),
            _ => false,
        }
    }

    /// Returns the number in a row that has one.
    fn number(&self, row: usize) -> i64 {
        match self {
            Values::I8(values) => values.values()[row].into(),
            Values::U8(values) => values.values()[row].into(),
            Values::I16(values) => values.values()[row].into(),
            Values::U16(values) => values.values()[row].into(),
            Values::I32(values) => values.values()[row].into(),
            Values::U32(values) => values.values()[row].into(),
            Values::I64(values) => values.values()[row],
            Values::Bits(bits) => bit(bits, row).into(),
            Values::Dictionary(rows, values) => values
                .values
                .number(values.rows.start + rows.number(row) as usize),
            _ => 0,
        }
    }

    /// Appends the numbers of rows that all have one.
    fn numbers(&self, rows: Range<usize>, numbers: &mut Vec<i64>) {
        fn widen<T: Copy + Into<i64>>(values: &[T], numbers: &mut Vec<i64>) {
            numbers.extend(values.iter().map(|&value| value.into()));
        }
        match self {
            Values::I8(values) => widen(&values.values()[rows], numbers),
            Values::U8(values) => widen(&values.values()[rows], numbers),
            Values::I16(values) => widen(&values.values()[rows], numbers),
            Values::U16(values) => widen(&values.values()[rows], numbers),
            Values::I32(values) => widen(&values.values()[rows], numbers),
            Values::U32(values) => widen(&values.values()[rows], numbers),
            Values::I64(values) => widen(&values.values()[rows], numbers),
            other => numbers.extend(rows.map(|row| other.number(row))),
        }
    }

    /// Returns the bytes in a row.
    fn bytes(&self, row: usize) -> Result<&[u8]> {
        match self {
            Values::Short(offsets, bytes) => {
                let offsets = offsets.values();
                between(bytes, offsets[row].into(), offsets[row + 1].into())
            }
            Values::Long(offsets, bytes) => {
                let offsets = offsets.values();
                between(bytes, offsets[row], offsets[row + 1])
            }
            Values::Views(views, buffers) => view(&views.values()[row], buffers),
            Values::Fixed(width, bytes) => Ok(&bytes.values()[row * width..][..*width]),
            Values::Padded(width, bytes) => Ok(unpadded(&bytes.values()[row * width..][..*width])),
            Values::Dictionary(rows, values) => values
                .values
                .bytes(values.rows.start + rows.number(row) as usize),
            _ => Ok(&[]),
        }
    }

    /// Appends the UTF-8 of characters in a row.
    fn encode(width: usize, characters: &Memory<u32>, row: usize, text: &mut String) -> Result<()> {
        let characters = &characters.values()[row * width..][..width];
        let end = characters.iter().rposition(|&character| character != 0);
        for &character in &characters[..end.map_or(0, |last| last + 1)] {
            let character = char::from_u32(character);
            text.push(character.ok_or_else(|| {
                value("a str of the array is not Unicode: it has a lone surrogate")
            })?);
        }
        Ok(())
    }
}

impl Column {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether the row has a key. A row of a dictionary has none if its entry has none.
    fn has(&self, row: usize) -> bool {
        if self.present.as_ref().is_some_and(|bits| !bit(bits, row)) {
            return false;
        }
        match &self.values {
            Values::Null => false,
            Values::Dictionary(rows, values) => {
                let row = usize::try_from(rows.number(row));
                row.is_ok_and(|row| row < values.len() && values.has(values.rows.start + row))
            }
            _ => true,
        }
    }

    pub(super) fn has_all(&self) -> bool {
        self.present.is_none() && !matches!(self.values, Values::Dictionary(..) | Values::Null)
    }

    /// Calls `see` with the keys of these rows, counted from the first row of the column, run by run and in order. Only
    /// nulls are out of order: if they are a key, they follow the other keys of their run.
    pub(crate) fn runs(
        &self,
        rows: Range<usize>,
        nulls: Nulls,
        mut see: impl FnMut(Keys<'_>, Rows<'_>) -> Result<()>,
    ) -> Result<()> {
        let from = self.rows.start;
        let rows = rows.start + from..rows.end + from;
        if let (Values::I64(values), true) = (&self.values, self.has_all()) {
            return see(
                Keys::Numbers(&values.values()[rows.clone()]),
                Rows::From(rows.start - from),
            );
        }
        let mut gathered = Gathered::default();
        let mut start = rows.start;
        while start < rows.end {
            let run = start..rows.end.min(start + RUN);
            start = run.end;
            self.gather(run.clone(), &mut gathered, &mut see)?;
            if nulls == Nulls::One && !self.has_all() {
                let missing = run.filter(|&row| !self.has(row)).map(|row| row - from);
                let missing: Vec<usize> = missing.collect();
                let keys = vec![&NULL[..]; missing.len()];
                see(Keys::Bytes(&keys), Rows::At(&missing))?;
            }
        }
        Ok(())
    }

    fn gather(
        &self,
        run: Range<usize>,
        gathered: &mut Gathered,
        see: &mut impl FnMut(Keys<'_>, Rows<'_>) -> Result<()>,
    ) -> Result<()> {
        let Gathered {
            rows,
            numbers,
            text,
            ends,
        } = gathered;
        let from = self.rows.start;
        let all = self.has_all();
        rows.clear();
        if !all {
            rows.extend(run.clone().filter(|&row| self.has(row)));
        }
        let at: Vec<usize>;
        let place = if all {
            Rows::From(run.start - from)
        } else {
            at = rows.iter().map(|row| row - from).collect();
            Rows::At(&at)
        };
        if self.values.are_numbers() {
            numbers.clear();
            match all {
                true => self.values.numbers(run, numbers),
                false => numbers.extend(rows.iter().map(|&row| self.values.number(row))),
            }
            return see(Keys::Numbers(numbers), place);
        }
        let mut keys: Vec<&[u8]> = Vec::with_capacity(RUN);
        let mut rows: &mut dyn Iterator<Item = usize> = match all {
            true => &mut run.clone(),
            false => &mut rows.iter().copied(),
        };
        match &self.values {
            Values::Characters(width, characters) => {
                text.clear();
                ends.clear();
                for row in &mut rows {
                    Values::encode(*width, characters, row, text)?;
                    ends.push(text.len());
                }
                let mut start = 0;
                for &end in ends.iter() {
                    keys.push(&text.as_bytes()[start..end]);
                    start = end;
                }
            }
            Values::Short(offsets, bytes) if all => {
                follow(&offsets.values()[run.start..=run.end], bytes, &mut keys)?;
            }
            Values::Long(offsets, bytes) if all => {
                follow(&offsets.values()[run.start..=run.end], bytes, &mut keys)?;
            }
            Values::Views(views, buffers) if all => {
                keys.resize(run.len(), &[]);
                for (key, each) in keys.iter_mut().zip(&views.values()[run]) {
                    *key = view(each, buffers)?;
                }
            }
            values => {
                for row in rows {
                    keys.push(values.bytes(row)?);
                }
            }
        }
        see(Keys::Bytes(&keys), place)
    }
}

/// The buffers that keys are gathered in, kept for reuse.
#[derive(Default)]
struct Gathered {
    rows: Vec<usize>,
    numbers: Vec<i64>,
    text: String,
    ends: Vec<usize>,
}
