#![doc = include_str!("../README.md")]

pub mod clock;
pub mod cluster;
pub mod delta;
pub mod engine;
pub mod errors;
pub mod health;
pub mod plan;
pub mod profile;
pub mod record;
pub mod rows;
pub mod schedule;
pub mod scrape;
pub mod sse;
pub mod transport;
pub mod why;
pub mod workload;
