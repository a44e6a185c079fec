#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod amounts;
pub mod columns;
pub mod exit;
pub mod failure;
pub mod fills;
pub mod global;
pub mod input;
mod show;
pub mod shown;
pub mod signals;
mod typed;
pub mod unpack;

pub use typed::refuse;
