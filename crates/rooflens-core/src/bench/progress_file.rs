//! How far a level is, for whoever looks on: a file beside its report that grows while it runs.

use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rooflens_load::engine::LoadProgress;
use rooflens_schema::RunDir;
use serde_json::json;

/// The file, from the folder of a run. It is removed when the numbers of the level are there.
pub const PROGRESS_FILE: &str = "report/progress.jsonl";
/// Lines are this far apart.
const EVERY: Duration = Duration::from_millis(400);

/// The file of a level that is running.
pub(crate) struct ProgressFile {
    written: Mutex<Option<(File, Instant)>>,
}

impl ProgressFile {
    /// Begins one. A load test does not fail because nobody can look on.
    pub(crate) fn begin(run: &RunDir) -> Self {
        let file = File::create(run.root().join(PROGRESS_FILE)).ok();
        let long_ago = Instant::now().checked_sub(EVERY).unwrap_or_else(Instant::now);
        ProgressFile { written: Mutex::new(file.map(|file| (file, long_ago))) }
    }

    /// Adds a line, where the last is some time ago.
    pub fn add(&self, offered: &str, of: Option<u64>, progress: &LoadProgress) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((file, last)) = written.as_mut().filter(|(_, last)| last.elapsed() >= EVERY) else { return };
        *last = Instant::now();
        let LoadProgress { elapsed, sent, in_flight, completed, failed, chunks } = progress;
        let line = json!({
            "offered": offered, "of": of, "elapsed_ns": u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
            "sent": sent, "in_flight": in_flight, "completed": completed, "failed": failed, "chunks": chunks,
        });
        // One write a line, so that nobody sees half of one.
        if file.write_all(format!("{line}\n").as_bytes()).is_err() {
            *written = None;
        }
    }
}
