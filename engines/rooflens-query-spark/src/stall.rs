//! Queries that no longer get on, though the server answers.

use std::time::{Duration, Instant};

use rooflens_engine_protocol::{Fault, Kind};
use spark_connect_proto::execute_plan_response::ExecutionProgress;

/// Tasks wait and none runs: the cluster has no executors left.
const WITHOUT_TASKS: Duration = Duration::from_secs(60);
/// Tasks run and none ends. Spark itself notices executors that are lost.
const WITH_TASKS: Duration = Duration::from_secs(30 * 60);

/// Watches the server's reports of progress, which it sends when something has changed.
#[derive(Debug)]
pub(crate) struct StallWatch {
    changed: Instant,
    waiting: u64,
    running: u64,
}

impl Default for StallWatch {
    fn default() -> Self {
        Self { changed: Instant::now(), waiting: 0, running: 0 }
    }
}

impl StallWatch {
    pub(crate) fn answered(&mut self) {
        self.changed = Instant::now();
    }

    pub(crate) fn progressed(&mut self, progress: &ExecutionProgress) {
        let open = progress
            .stages
            .iter()
            .map(|stage| (stage.num_tasks - stage.num_completed_tasks).max(0))
            .sum::<i64>();
        let running = progress.num_inflight_tasks.max(0);
        let (waiting, running) = ((open - running).max(0).unsigned_abs(), running.unsigned_abs());
        if (waiting, running) != (self.waiting, self.running) {
            self.changed = Instant::now();
        }
        (self.waiting, self.running) = (waiting, running);
    }

    /// Fails where the last change is too long ago.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.check_after(self.changed.elapsed())
    }

    fn check_after(&self, unchanged: Duration) -> Result<(), Fault> {
        let minutes = unchanged.as_secs() / 60;
        if self.running > 0 && unchanged > WITH_TASKS {
            let message =
                format!("the query made no progress for {minutes} minutes ({} tasks run)", self.running);
            return Err(
                Fault::new(Kind::Engine, message).hint("look at the running tasks in Spark's web interface")
            );
        }
        if self.running == 0 && self.waiting > 0 && unchanged > WITHOUT_TASKS {
            let message = format!("{} tasks of the query wait and none has run for a minute", self.waiting);
            return Err(Fault::new(Kind::Engine, message)
                .hint("the cluster has no free executors: check that its workers are alive and have cores and memory free"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spark_connect_proto::execute_plan_response::execution_progress::StageInfo;

    fn watch(tasks: i64, done: i64, running: i64) -> StallWatch {
        let stage = StageInfo { num_tasks: tasks, num_completed_tasks: done, ..Default::default() };
        let mut watch = StallWatch::default();
        watch.progressed(&ExecutionProgress { stages: vec![stage], num_inflight_tasks: running });
        watch
    }

    #[test]
    fn tasks_that_nobody_runs_are_a_stall() {
        let minute = Duration::from_secs(61);
        assert!(watch(4, 1, 0).check_after(minute).is_err());
        assert!(watch(4, 4, 0).check_after(minute).is_ok(), "the driver may plan the next stage");
        assert!(watch(4, 1, 2).check_after(minute).is_ok(), "long tasks are no stall");
        assert!(watch(4, 1, 2).check_after(Duration::from_secs(1801)).is_err());
        assert!(
            StallWatch::default().check_after(Duration::from_secs(7200)).is_ok(),
            "the server reports nothing"
        );
    }
}
