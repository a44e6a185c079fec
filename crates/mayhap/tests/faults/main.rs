//! What becomes of filter files when things go wrong.
//!
//! `damage`: bytes flipped, cut, added and zeroed. `killed`: writers that die at any moment. `full`: no
//! room. Some tests run this executable again as a child; what a child does is a test too, which
//! does nothing unless it is stated a file to work on.

mod child;
mod damage;
mod full;
mod killed;
#[allow(dead_code, reason = "other test binaries use the rest of it")]
mod random;
