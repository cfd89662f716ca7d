//! One load test from several machines: a coordinator gives each worker its share of the schedule and gets all records
//! back.
//!
//! Both prove that they know the same token, and every message after that carries a code that only those who know it
//! can make. Nothing is encrypted, unless TLS is asked for: what a job says, headers included, can be read on the way.

mod clock;
mod coordinator;
mod error;
mod job;
mod link;
mod merge;
mod serve;
mod tls;
mod token;
mod wire;

#[cfg(test)]
mod tests;

pub use coordinator::{ClusterOptions, run_on_workers};
pub use error::ClusterError;
pub use job::LoadJob;
pub use merge::{ClusterOutcome, WorkerReport};
pub use serve::serve_jobs;
pub use tls::ClusterTls;
pub use token::SharedToken;
