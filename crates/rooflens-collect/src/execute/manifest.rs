//! `raw/<step>/manifest.json`: what was run, how it ended, and every file with its digest.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use serde::Serialize;

use super::files::{self, FileFacts};
use super::outcome::{End, Outcome};
use crate::error::ExecuteError;
use crate::plan::{Command, Places, Stage, Step, Word};

/// The manifest's name.
pub const MANIFEST: &str = "manifest.json";
const MANIFEST_VERSION: u32 = 1;

/// What a step leaves to know it by.
#[derive(Debug, Serialize)]
pub struct Manifest<'a> {
    schema_version: u32,
    rooflens: &'static str,
    step: &'a str,
    stage: Stage,
    end: End,
    exit_code: Option<i32>,
    signal: Option<i32>,
    started_unix_ns: u64,
    duration_ns: u64,
    argv: Vec<String>,
    cwd: String,
    env: BTreeMap<&'a str, String>,
    versions: &'a BTreeMap<String, String>,
    missing: &'a [String],
    garbage_lines: u64,
    files: Vec<FileFacts>,
}

/// Writes the manifest of a step into its folder.
pub(super) fn write(
    folder: &Path,
    step: &Step,
    command: &Command,
    places: &Places,
    started: SystemTime,
    outcome: &Outcome,
) -> Result<(), ExecuteError> {
    let text = |word: &Word| word.resolve(places).to_string_lossy().into_owned();
    let since = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let path = folder.join(MANIFEST);
    let unwritable = |source| ExecuteError::unwritable(&path, source);
    let manifest = Manifest {
        schema_version: MANIFEST_VERSION,
        rooflens: env!("CARGO_PKG_VERSION"),
        step: &step.name,
        stage: step.stage,
        end: outcome.end,
        exit_code: outcome.exit_code,
        signal: outcome.signal,
        started_unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
        duration_ns: outcome.duration_ns,
        argv: command.argv.iter().map(text).collect(),
        cwd: text(&command.cwd),
        env: command.env.iter().map(|(name, value)| (name.as_str(), text(value))).collect(),
        versions: &outcome.told.versions,
        missing: &outcome.missing,
        garbage_lines: outcome.told.garbage_lines,
        files: files::facts(folder, MANIFEST).map_err(unwritable)?,
    };
    let text = serde_json::to_string_pretty(&manifest).map_err(|error| unwritable(error.into()))?;
    std::fs::write(&path, text + "\n").map_err(unwritable)
}
