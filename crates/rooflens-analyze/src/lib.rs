//! Tables to findings: one question a file.
//!
//! The crate works in two moves. [`facts`] are passes over the columns of one rank that add what the
//! trace only implies (nesting, attribution, gaps and their causes, phases). [`analyses`] then answer
//! one question each, folding over the ranks of a job one at a time, so that memory grows with the
//! largest rank and not with the job. Nothing here prints, draws or knows a file format.
//!
//! [`profiled`] stands apart: counters of single launches have no timeline.
//!
//! To add an analysis: a file in `analyses/`, a `mod` line and an entry in [`analyses::ALL`].

pub mod advice;
pub mod allocator;
pub mod analyses;
mod by_name;
pub mod by_range;
pub mod choose;
mod collectives;
pub mod compare;
pub mod document;
pub mod facts;
pub mod finding;
pub mod headline;
pub mod host_kind;
mod host_thread;
pub mod interval;
pub mod kernel_catalog;
pub mod ledger;
pub mod part;
pub mod product;
pub mod profiled;
pub(crate) mod recording;
mod role;
#[cfg(test)]
mod sample;
pub mod sampled;
mod sentence;
mod short_names;
mod stage;
pub mod statistics;
pub mod top;
pub mod trend;

pub use analyses::{Analysis, Job, analyze};
pub use finding::{Finding, Findings};
