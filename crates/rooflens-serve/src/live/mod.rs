//! Runs and load tests in progress: what they have written until now.

mod state;
mod tail;

pub(crate) use self::state::{LiveRun, LiveState};

/// Where a load test writes how far it is, from the folder of its run.
pub const PROGRESS: &str = rooflens_core::bench::PROGRESS_FILE;
