#![doc = include_str!("../README.md")]

pub(crate) mod answer;
pub mod bare;
pub(crate) mod fault;
pub mod io;
pub mod journal;
pub(crate) mod metrics;
pub mod options;
pub(crate) mod prompt;
pub(crate) mod schedule;
pub mod server;
pub(crate) mod timer;
pub(crate) mod tls;
