#![doc = include_str!("../README.md")]

mod draw;
mod expected;
mod filled;
mod keys;
pub mod report;
mod statistics;
mod text;

pub use expected::Expected;
pub use filled::{filled, spreads};
pub use keys::{Batch, Distribution, Drawn, DrawnStream, Role};
pub use statistics::{Measured, chance_of_at_least};
