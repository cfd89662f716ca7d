//! Tables to findings: one question a file.
//!
//! The crate works in two moves. [`facts`] are passes over the columns of one rank that add what the
//! trace only implies (nesting, attribution, gaps and their causes, phases). [`analyses`] then answer
//! one question each, folding over the ranks of a job one at a time, so that memory grows with the
//! largest rank and not with the job. Nothing here prints, draws or knows a file format.
//!
//! ```
//! use rooflens_analyze::kernel_catalog::{ActivityHint, KernelClass, describe};
//!
//! let kernel = describe("void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128>>(Params)", ActivityHint::Kernel);
//! assert_eq!(kernel.class, KernelClass::Attention);
//!
//! // Tables in, findings out; here of a trace with nothing in it.
//! let findings = rooflens_analyze::analyze(&mut [rooflens_schema::RankTables::default()], Vec::new());
//! assert!(findings.get::<rooflens_analyze::advice::AdviceList>().is_none_or(|list| list.items.is_empty()));
//! ```
//!
//! To add an analysis: a file in `analyses/`, a `mod` line and an entry in [`analyses::ALL`].

pub mod advice;
pub mod allocator;
pub mod analyses;
mod by_name;
pub mod by_range;
mod collectives;
pub mod compare;
pub mod document;
pub mod facts;
pub mod finding;
pub mod host_kind;
mod host_thread;
pub(crate) mod interval;
pub mod kernel_catalog;
pub mod kernels;
pub mod ledger;
pub(crate) mod part;
pub mod percentile;
pub mod product;
pub(crate) mod recording;
pub(crate) mod role;
#[cfg(test)]
mod sample;
pub mod sampled;
mod sentence;
mod short_names;
mod stage;
pub mod statistics;
pub mod timeline;
pub mod top;

pub use analyses::{JobAnalyses, analyze};
pub use finding::{Analysis, Finding, Findings};
