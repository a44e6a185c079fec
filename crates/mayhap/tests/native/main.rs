//! Files in the native format, as users have them.
//!
//! `golden` reads the committed files for ever; `refusals` is about what is not such a file; `changed` is about
//! maps of files that change.

mod changed;
mod golden;
mod refusals;
