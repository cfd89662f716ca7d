#![doc = include_str!("../README.md")]

pub(crate) mod clock;
pub mod cluster;
pub mod delta;
pub mod engine;
pub(crate) mod errors;
pub mod health;
pub mod plan;
pub mod profile;
pub mod record;
pub mod rows;
pub(crate) mod schedule;
pub mod scrape;
pub mod sse;
#[cfg(test)]
mod test_server;
pub(crate) mod transport;
pub mod why;
pub mod workload;
