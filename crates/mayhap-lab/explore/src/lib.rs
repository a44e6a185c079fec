//! The filters of [`mayhap`] in a browser: the functions that the page of `mayhap-lab explore` calls.
//!
//! An [`Exhibit`] is a filter on display, of any kind; those that are built once are built again with every key.
//! [`draw`] makes keys for experiments, [`own`] measures the rate on a reader's keys, [`plan`] has the sizes. The `ffi`
//! module gives them to the page as functions over numbers and bytes, so that no other code is needed.
#![deny(unsafe_code)]

pub mod draw;
mod exhibit;
mod ffi;
mod json;
pub mod own;
pub mod plan;
mod refusal;

pub use exhibit::{Exhibit, Request};
pub use refusal::Refusal;
