#![doc = include_str!("../README.md")]

pub mod columns;
mod draw;
mod keys;
pub mod report;
pub mod show;
mod statistics;
mod text;

pub use keys::{Batch, Distribution, Drawn, DrawnStream, Role};
pub use statistics::{Measured, chance_of_at_least};
