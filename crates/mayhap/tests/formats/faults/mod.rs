//! Filter files when things go wrong.
//!
//! `claims`: headers without their bodies. `damage`: bytes flipped, cut, added and zeroed. `killed`: writers that die
//! at any moment. `full`: no room. Some tests run this executable again as a child; the work of a child is a test too,
//! which does nothing unless it is given a file to work on.

mod child;
mod claims;
mod damage;
mod full;
mod killed;
