//! `raw/<step>/manifest.json`: what was run, how it ended, and every file with its digest.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::{self, FileFacts};
use super::outcome::{StepEnd, StepOutcome};
use crate::error::ExecuteError;
use crate::plan::{CommandWord, PlannedStep, ProcessCommand, RunFolders, RunStage};

/// The manifest's name.
pub const MANIFEST: &str = "manifest.json";
const MANIFEST_VERSION: u32 = 1;

/// What a step leaves to know it by.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Manifest<'a> {
    /// Version of this document.
    pub(crate) schema_version: u32,
    /// Version of Rooflens.
    pub(crate) rooflens: Cow<'static, str>,
    /// The step, and the name of its folder in `raw/`.
    pub(crate) step: Cow<'a, str>,
    /// Its stage.
    pub(crate) stage: RunStage,
    /// How it ended.
    pub(crate) end: StepEnd,
    /// Its exit code; null where a signal ended it.
    pub(crate) exit_code: Option<i32>,
    /// The signal that ended it; null where it ended by itself.
    pub(crate) signal: Option<i32>,
    /// When it was started, since 1970.
    pub(crate) started_unix_ns: u64,
    /// How long it took, with starting and loading.
    pub(crate) duration_ns: u64,
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// The folder it was started in.
    pub(crate) cwd: String,
    /// Environment variables beside those that were inherited.
    pub(crate) env: BTreeMap<Cow<'a, str>, String>,
    /// Versions that the workload reported.
    pub(crate) versions: Cow<'a, BTreeMap<String, String>>,
    /// Expected files that it did not write, from the run's folder.
    pub(crate) missing: Cow<'a, [String]>,
    /// Lines of its protocol that could not be read.
    pub(crate) garbage_lines: u64,
    /// Every file that it wrote.
    pub(crate) files: Vec<FileFacts>,
}

pub(super) fn write(
    folder: &Path,
    step: &PlannedStep,
    command: &ProcessCommand,
    places: &RunFolders,
    started: SystemTime,
    outcome: &StepOutcome,
) -> Result<(), ExecuteError> {
    let text = |word: &CommandWord| word.resolve(places).to_string_lossy().into_owned();
    let since = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let path = folder.join(MANIFEST);
    let unwritable = |source| ExecuteError::unwritable(&path, source);
    let manifest = Manifest {
        schema_version: MANIFEST_VERSION,
        rooflens: env!("CARGO_PKG_VERSION").into(),
        step: step.name.as_str().into(),
        stage: step.stage,
        end: outcome.end,
        exit_code: outcome.exit_code,
        signal: outcome.signal,
        started_unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
        duration_ns: outcome.duration_ns,
        argv: command.argv.iter().map(text).collect(),
        cwd: text(&command.cwd),
        env: command.env.iter().map(|(name, value)| (name.as_str().into(), text(value))).collect(),
        versions: Cow::Borrowed(&outcome.events.versions),
        missing: (&outcome.missing).into(),
        garbage_lines: outcome.events.garbage_lines,
        files: files::facts(folder, MANIFEST).map_err(unwritable)?,
    };
    let text = serde_json::to_string_pretty(&manifest).map_err(|error| unwritable(error.into()))?;
    std::fs::write(&path, text + "\n").map_err(unwritable)
}
