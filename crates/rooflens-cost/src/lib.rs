//! What hardware can do and what a model must cost, computed without running anything.

mod assumptions;
pub mod blueprint;
pub mod classes;
pub mod compare;
pub mod config;
pub mod crossover;
pub mod document;
pub mod estimate;
pub mod families;
pub mod hardware;
pub mod hold;
pub mod inverse;
pub mod memory;
pub mod metrics;
pub mod model;
mod near;
pub mod operator;
pub mod parallel;
pub mod pass;
pub mod precision;
pub mod quantisation;
pub mod roof;
pub mod routing;
pub mod setup;
pub mod step;
pub mod sweep;
pub mod tally;
pub mod units;
pub mod vision;
pub mod workload;

pub use config::ConfigError;
pub use estimate::{Estimate, EstimateError};
pub use model::Model;
pub use parallel::Parallel;
pub use setup::Setup;
pub use workload::Workload;
