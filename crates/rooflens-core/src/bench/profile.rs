//! A profile of the server during a level: when it starts, and what its traces say.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rooflens_analyze::analyses::Verdict;
use rooflens_load::profile::{ProfileInProgress, ProfileTrigger};
use rooflens_schema::{Notes, RunDir};

use super::document::ProfileFacts;
use super::request::ServerProfileRequest;
use super::watch::BreachWatch;
use crate::analysis::analyze;
use crate::input::{ReadOptions, open_input};
use crate::model::ModelRequest;
use crate::observer::SharedObserver;
use crate::{report, saved};

/// A trace is written a while after the profiler was stopped; file times may be coarse.
const COARSE: Duration = Duration::from_secs(2);

pub(crate) struct ServerProfiling {
    window: Result<ProfileInProgress, String>,
    trigger: &'static str,
    folder: Option<PathBuf>,
    since: SystemTime,
}

impl ServerProfiling {
    pub(crate) fn start(
        wanted: &ServerProfileRequest,
        url: &str,
        headers: &[(String, String)],
        traces: Option<&PathBuf>,
        breach: &Arc<BreachWatch>,
    ) -> Self {
        let length = Duration::from_secs_f64(wanted.seconds.max(0.0));
        let (trigger, word) = match wanted.at {
            Some(at) => (ProfileTrigger::At(at), "--profile-at"),
            None => {
                let breach = Arc::clone(breach);
                let is_breached = Box::new(move || breach.is_breached());
                (ProfileTrigger::When(is_breached), "the first breach of the SLO")
            }
        };
        let window = ProfileInProgress::start(url, headers.to_vec(), trigger, length);
        ServerProfiling {
            window: window.map_err(|error| error.to_string()),
            trigger: word,
            folder: wanted.folder.as_ref().or(traces).cloned(),
            since: SystemTime::now() - COARSE,
        }
    }

    /// Waits until it is over.
    pub fn finish(self) -> ProfileFacts {
        let mut facts = ProfileFacts { trigger: self.trigger.to_owned(), ..ProfileFacts::default() };
        let outcome = match self.window {
            Ok(window) => window.finish(),
            Err(problem) => return ProfileFacts { problem: Some(problem), ..facts },
        };
        facts.problem = outcome.error;
        let Some(from_ns) = outcome.started_ns else {
            facts.problem.get_or_insert_with(|| format!("it did not start: {} did not come", self.trigger));
            return facts;
        };
        (facts.from_ns, facts.to_ns) = (from_ns, outcome.stopped_ns.unwrap_or(from_ns));
        facts.written_ns = facts.to_ns.saturating_add(outcome.write_ns.unwrap_or(0));
        let folder = self.folder.as_deref();
        facts.traces = folder.map(|folder| written_since(folder, self.since)).unwrap_or_default();
        if facts.traces.is_empty() && facts.problem.is_none() {
            facts.problem = Some(match folder {
                Some(folder) => format!("no trace was written to {}", folder.display()),
                None => "--profile-dir does not say where the traces are".to_owned(),
            });
        }
        facts
    }
}

/// Traces that were written since a moment. Of a server with several processes, those of its workers: what a front end
/// does has no device.
fn written_since(folder: &Path, since: SystemTime) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_new = |entry: &std::fs::DirEntry| {
        entry.metadata().and_then(|data| data.modified()).is_ok_and(|modified| modified >= since)
    };
    let is_trace = |path: &String| path.contains(".json") || path.ends_with(".gz");
    let mut all: Vec<String> =
        entries.filter(is_new).map(|entry| entry.path().display().to_string()).filter(is_trace).collect();
    all.sort();
    let name = |path: &String| path.rsplit('/').next().unwrap_or_default().to_owned();
    let workers: Vec<String> = all.iter().filter(|path| name(path).contains("rank")).cloned().collect();
    if workers.is_empty() { all } else { workers }
}

pub(crate) fn analyze_traces(facts: &mut ProfileFacts, run: &RunDir, observer: &SharedObserver) {
    if facts.traces.is_empty() {
        return;
    }
    let folder = RunDir::new(run.root().join("profile"));
    let paths: Vec<PathBuf> = facts.traces.iter().map(PathBuf::from).collect();
    let analyzed = (|| {
        let notes = Notes::default();
        let input = open_input(&paths, &ReadOptions::default(), &notes, observer)?;
        saved::make(folder.root())?;
        let mut analysis = analyze(&input, &notes, &ModelRequest::default(), Some(&folder), observer)?;
        report::save(&folder, &mut analysis)?;
        Ok::<Option<String>, crate::error::Error>(
            analysis.findings.get::<Verdict>().map(|verdict| verdict.sentence.clone()),
        )
    })();
    match analyzed {
        Ok(verdict) => facts.verdict = verdict,
        Err(error) => {
            facts.problem.get_or_insert_with(|| format!("its traces cannot be analyzed: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_of_workers_are_taken_before_those_of_a_front_end() {
        let folder = tempfile::tempdir().unwrap();
        let long_ago = SystemTime::UNIX_EPOCH;
        assert!(written_since(folder.path(), long_ago).is_empty());
        for name in ["host_1.async_llm.1.pt.trace.json.gz", "notes.txt"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(written_since(folder.path(), long_ago).len(), 1);
        std::fs::write(folder.path().join("dp0_pp0_tp0_rank0.1.pt.trace.json.gz"), "").unwrap();
        let found = written_since(folder.path(), long_ago);
        assert!(found.len() == 1 && found[0].contains("rank0"), "{found:?}");
        let later = SystemTime::now() + Duration::from_secs(3600);
        assert!(written_since(folder.path(), later).is_empty());
    }
}
