//! Lines of 512 bits, aligned to the cache lines they fill.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::{Error, Result};

/// The bits in one line.
pub(crate) const LINE_BITS: u64 = 512;

/// Eight words in one 64-byte cache line. `W` is `u64`, or its atomic twin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Line<W = u64>(pub(crate) [W; 8]);

/// As many zeroed lines as hold `bits` bits.
pub(crate) fn zeroed<W: Default>(bits: u64) -> Result<Box<[Line<W>]>> {
    let error = Error::Memory { bits };
    let Ok(count) = usize::try_from(bits.div_ceil(LINE_BITS)) else {
        return Err(error);
    };
    let mut lines = Vec::new();
    if lines.try_reserve_exact(count).is_err() {
        return Err(error);
    }
    lines.resize_with(count, Line::default);
    Ok(lines.into_boxed_slice())
}
