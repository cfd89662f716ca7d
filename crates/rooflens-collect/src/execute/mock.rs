//! An executor that starts nothing: it writes given files. So the whole line runs in milliseconds.

use std::collections::BTreeMap;
use std::time::SystemTime;

use rooflens_schema::RunDir;

use super::event::{EventSummary, Listener};
use super::manifest;
use super::outcome::{StepEnd, StepOutcome};
use super::process::missing;
use super::{Executor, StepObserver};
use crate::error::ExecuteError;
use crate::plan::{PlannedStep, ProcessCommand, RunFolders};

/// What each step leaves.
#[derive(Debug, Clone, Default)]
pub struct Scripted {
    /// By the step's name: paths from its folder, and bytes. `events.jsonl` is told, too.
    pub files: BTreeMap<String, Vec<(String, Vec<u8>)>>,
    /// By the step's name: its exit code, where it is not 0.
    pub exit_codes: BTreeMap<String, i32>,
}

impl Executor for Scripted {
    fn run(
        &self,
        step: &PlannedStep,
        command: &ProcessCommand,
        places: &RunFolders,
        watch: &dyn StepObserver,
    ) -> Result<StepOutcome, ExecuteError> {
        let folder = RunDir::new(&places.run).raw(&step.name);
        let mut listener = Listener { step, watch, heard: EventSummary::default() };
        std::fs::create_dir_all(&folder).map_err(|source| ExecuteError::unwritable(&folder, source))?;
        for (name, bytes) in self.files.get(&step.name).into_iter().flatten() {
            let path = folder.join(name);
            let parent = path.parent().unwrap_or(&folder);
            let written = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, bytes));
            written.map_err(|source| ExecuteError::unwritable(&path, source))?;
        }
        listener.read_file(&folder.join("events.jsonl"));
        let missing = missing(command, places);
        let code = self.exit_codes.get(&step.name).copied().unwrap_or(0);
        let end = match code {
            0 if missing.is_empty() => StepEnd::Done,
            0 => StepEnd::Incomplete,
            _ => StepEnd::Failed,
        };
        let outcome = StepOutcome {
            step: step.name.clone(),
            end,
            exit_code: Some(code),
            signal: None,
            duration_ns: 0,
            events: listener.heard,
            missing,
            left_behind: Vec::new(),
            tail: Vec::new(),
            install: None,
            manifest_error: None,
        };
        manifest::write(&folder, step, command, places, SystemTime::UNIX_EPOCH, &outcome)?;
        Ok(outcome)
    }
}
