#![doc = include_str!("../README.md")]

pub mod cluster;
pub mod plan;
pub mod record;
pub mod workload;
