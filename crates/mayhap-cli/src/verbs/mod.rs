//! One file per verb: what it takes, and what it does.

pub(crate) mod add;
pub(crate) mod area;
pub(crate) mod check;
pub(crate) mod convert;
pub(crate) mod count;
pub(crate) mod explain;
pub(crate) mod guard;
pub(crate) mod info;
pub(crate) mod merge;
pub(crate) mod new;
pub(crate) mod overlap;
pub(crate) mod pages;
pub(crate) mod remove;
pub(crate) mod rotate;
pub(crate) mod size;
pub(crate) mod sort;
pub(crate) mod uniq;
pub(crate) mod verify;
