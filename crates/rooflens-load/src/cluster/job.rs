//! What a worker is asked to do.

use serde::{Deserialize, Serialize};

use super::error::ClusterError;
use crate::plan::{LoadPlan, Pace};
use crate::workload::WorkloadSpec;

/// What a worker is asked to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoadJob {
    /// When and where requests are sent. Its share is this worker's.
    pub plan: LoadPlan,
    /// What is sent. Its files must be on the worker, too, under the same paths.
    pub workload: WorkloadSpec,
}

impl LoadJob {
    /// The jobs of each worker. They send all sessions of the whole, each session once; users of a closed loop, slots
    /// of limited concurrency and texts to keep are split as evenly as possible.
    ///
    /// # Errors
    /// There are more workers than users or slots.
    pub(crate) fn split(&self, workers: usize) -> Result<Vec<LoadJob>, ClusterError> {
        if self.plan.share != (0, 1) {
            return Err(ClusterError::Plan("a share of a schedule cannot be split again".to_owned()));
        }
        (0..workers).map(|worker| self.part(worker, workers)).collect()
    }

    fn part(&self, worker: usize, workers: usize) -> Result<LoadJob, ClusterError> {
        let mut job = self.clone();
        let split = |whole: usize| match whole / workers + usize::from(worker < whole % workers) {
            0 => Err(ClusterError::Plan(format!(
                "a concurrency of {whole} cannot be split over {workers} workers"
            ))),
            part => Ok(part),
        };
        match &mut job.plan.pace {
            Pace::Closed { concurrency, .. } => *concurrency = split(*concurrency)?,
            Pace::Open { max_concurrency, .. } | Pace::Replay { max_concurrency, .. } => {
                *max_concurrency = max_concurrency.map(split).transpose()?;
            }
        }
        job.plan.keep_texts = job.plan.keep_texts.div_ceil(workers as u64);
        job.plan.share = (worker as u64, workers as u64);
        Ok(job)
    }
}
