//! A composed config → a [`RunPlan`] (pure) → raw artefacts.
//!
//! * [`settings`]: the config as plain, typed settings; a key that is unknown, missing or wrong is an
//!   error that names its place.
//! * [`mod@plan`]: settings → steps. No clock, no files: the same config gives the same bytes.
//! * [`runtimes`], [`profilers`]: what can run a model, and what can look at it while it runs; a file each.
//! * [`execute`]: takes the steps. [`ask()`] asks a program for its version, [`nsys_export`] has a report
//!   exported, [`servers`] starts servers. The only places that start processes.
//! * [`servers`]: servers as runtimes: plans of how they are started, and their processes.
//! * [`environment`]: the Python environment that a workload runs in.
//! * [`kernel_regex`]: expressions that select kernels by name.
//! * [`package`]: the Python part, which comes with the program and is unpacked where it is needed.
//!
//! # What it cannot do
//! It reads nothing of what a tool wrote, but for the events by which a workload tells how far it is.

mod ask;
mod config_json;
pub mod engine;
pub mod environment;
mod error;
pub mod execute;
pub mod kernel_regex;
pub mod nsys_export;
pub mod package;
pub mod plan;
pub mod profilers;
pub mod project;
pub mod runtimes;
pub mod sample;
pub mod servers;
pub mod settings;

use rooflens_schema::DocumentSchema;

pub use ask::{ask, ask_with};
pub use error::{ExecuteError, PlanError};
pub use plan::{RunPlan, RunStage, plan, planned};
pub use settings::RunSettings;

/// The JSON documents whose types this crate defines.
pub const DOCUMENTS: &[DocumentSchema] = &[
    DocumentSchema::of::<RunPlan>("plan", "`rooflens run --dry-run --format json`, `plan.json` of a run"),
    DocumentSchema::of::<execute::Manifest<'_>>("manifest", "`raw/<step>/manifest.json` of a run"),
];
