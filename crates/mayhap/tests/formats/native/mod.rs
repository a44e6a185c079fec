//! Files in the native format.
//!
//! `golden` reads the committed files for ever; `refusals` is about files that are not filters; `changed` is about
//! maps of files that change.

mod changed;
mod golden;
mod refusals;
