//! From a config to a run: compose, plan, take the steps, analyse what they left.

mod analysis;
mod chosen;
mod config;
mod document;
mod files;
mod job;
mod join;
mod launch;
pub mod metrics;
mod model;
mod numbers;
mod one_model;
mod reserve;
mod samples;
mod sampling;
mod saved;
mod sweep;
#[cfg(test)]
mod tests;
pub(crate) mod workload;

use std::path::PathBuf;

use rooflens_collect::execute::Executor;
use rooflens_collect::package as python;

pub(crate) use self::analysis::report as write_pages;
pub use self::config::PLAN;
pub(crate) use self::config::{is_own, settings};
pub(crate) use self::document::facts as page_facts;
pub use self::document::words;
pub(crate) use self::document::write as write_numbers;
pub(crate) use self::document::{RunDocument, RunMetrics, StepFacts};
pub use self::files::predictions::PAGE as ANSWERS;
pub(crate) use self::files::{RunEnvironment, rewrite as rewrite_files};
pub use self::job::RunOutcome;
pub(crate) use self::join::{context, join_floor};
pub(crate) use self::launch::project_settings;
pub use self::launch::{Planned, PlannedJob, RunRequest, plan};
pub(crate) use self::model::decide_again;
pub(crate) use self::numbers::{Renewed, describe, rewrite, rewrite_untraced};
pub use self::reserve::reserve;
pub(crate) use self::sampling::SamplerRecord;
pub use self::saved::Run;
pub(crate) use self::saved::copy_files;
pub(crate) use self::sweep::{RunSweep, rewrite as rewrite_sweep};
use crate::config::folders;
use crate::error::Error;
use crate::observer::{Event, SharedObserver};

/// Unpacks the Python package that workloads need, and says where.
pub fn unpack_package() -> Result<PathBuf, Error> {
    Ok(python::unpack(&python::cache_folder())?)
}

impl Planned {
    /// Takes the steps of a job whose folder is reserved, and analyses what they left.
    pub fn execute(
        &self,
        job: &PlannedJob,
        executor: &dyn Executor,
        observer: &SharedObserver,
    ) -> Result<RunOutcome, Error> {
        folders::make(&job.composed, self.with_hydra)?;
        let overrides = &job.composed.composition.overrides.task;
        let own: Vec<String> = overrides.iter().filter(|text| !self.is_shared(text)).cloned().collect();
        let position = 1 + self.jobs.iter().position(|other| std::ptr::eq(other, job)).unwrap_or(0);
        let (of, number) = (self.jobs.len(), job.composed.number);
        observer.event(&Event::JobBegan { position, of, number, overrides: &own });
        let mut one = job::take(job, executor, observer)?;
        one.overrides = own;
        one.report_failure(observer);
        Ok(one)
    }

    /// Sums up the jobs of a sweep and writes its files; nothing where it is none. Says where the page is.
    pub fn finish(&self, done: &[RunOutcome]) -> Result<Option<(RunSweep, Option<PathBuf>)>, Error> {
        if !self.is_sweep {
            return Ok(None);
        }
        let swept = sweep::sweep(self, done);
        let page = sweep::write(self, &swept)?;
        Ok(Some((swept, page)))
    }
}
