#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod draw;
mod expected;
mod filled;
mod keys;
mod light;
pub mod machine;
pub mod report;
mod statistics;
mod text;

pub use expected::Expected;
pub use filled::{filled, spreads};
pub use keys::{Batch, Distribution, Drawn, DrawnStream, Role};
pub use light::Light;
pub use statistics::{Measured, chance_of_at_least};
