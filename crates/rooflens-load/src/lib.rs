#![doc = include_str!("../README.md")]

pub mod plan;
pub mod profile;
pub mod record;
pub mod scrape;
pub mod why;
