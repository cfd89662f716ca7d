#![doc = include_str!("../README.md")]

pub mod answer;
pub mod bare;
pub mod fault;
pub mod io;
pub mod journal;
pub mod metrics;
pub mod options;
pub mod prompt;
pub mod schedule;
pub mod server;
pub mod timer;
pub mod tls;
