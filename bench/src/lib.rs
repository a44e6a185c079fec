//! The speed of mayhap, beside its peers and the limit of the machine's memory.
//!
//! A bench asks one question ("what does a lookup cost?") of every [`peers::Contender`], over
//! [`data`] that is the same on every run. [`measure`] runs the contenders in turns, so that a
//! slow minute of the machine falls on all of them; the lab's [`Light`](mayhap_lab::Light) measures
//! in the same turns what no filter can beat, one random cache line per key; [`report`] prints the
//! table and records it.

#![deny(unsafe_code)]

pub mod arguments;
pub mod command;
pub mod data;
pub mod machine;
pub mod measure;
pub mod peers;
pub mod report;

/// A result whose error is only ever printed.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
