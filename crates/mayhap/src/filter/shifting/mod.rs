//! Shifting filters: how far a bit lies from its position says something too.
//!
//! A standard filter asks whether the bit at a position is one. Here a position begins a *window* of
//! at most 57 bits, which one read brings in, and the distance of a one from the beginning carries a
//! second probe ([`Shifting`]), which of two sets a key is in ([`ShiftingAssociation`]), or how often
//! it occurs ([`ShiftingMultiplicity`]). Windows do not wrap around: `m` positions need `m + w - 1`
//! bits, `w` the bits of a window.
//!
//! Positions come from the high half of a digest and distances from the low one. After Yang et al.,
//! "A Shifting Bloom Filter Framework for Set Queries", PVLDB 9(5), 2016.

mod association;
mod body;
mod membership;
mod multiplicity;
mod shape;
mod windows;

pub use association::{Region, Regions, ShiftingAssociation};
pub use membership::Shifting;
pub use multiplicity::ShiftingMultiplicity;
pub use shape::ShiftingShape;

use body::{Spans, Usage};
use windows::{WIDEST, Windows};
