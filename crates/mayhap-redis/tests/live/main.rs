//! Filters on real servers, which the tests start themselves. Without a server program they say so and
//! pass.

mod cluster;
mod filters;
mod server;
