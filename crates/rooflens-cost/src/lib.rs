//! What hardware can do and what a model must cost, computed without running anything.

pub mod config;
pub mod families;
pub mod hardware;
pub mod model;
pub mod operator;
pub mod parallel;
pub mod pass;
pub mod precision;
pub mod quantisation;
pub mod roof;
pub mod routing;
pub mod step;
pub mod tally;
pub mod units;
pub mod vision;

pub use config::ConfigError;
