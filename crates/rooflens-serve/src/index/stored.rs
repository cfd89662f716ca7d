//! Runs of a store: their rows are in its log.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use rooflens_core::fleet;
use rooflens_core::run_index::{IndexedRun, RunFilter};
use serde_json::Value as Json;

use super::{ListedRun, RunIndex, RunPlace};
use crate::hash::hex_of;
use crate::settings::DashboardError;

/// Every run of a store.
pub fn runs(address: &str, before: &RunIndex) -> Result<Option<Vec<Arc<ListedRun>>>, DashboardError> {
    let state = log_state(Path::new(address));
    let is_same = |run: &Arc<ListedRun>| state.as_ref().is_some_and(|state| run.version.starts_with(state));
    if before.runs.first().is_some_and(is_same) {
        return Ok(None);
    }
    let document = fleet::runs(address, &RunFilter::default())
        .map_err(|error| DashboardError::Source(Box::new(error)))?;
    let state = state.unwrap_or_default();
    Ok(Some(
        document.runs.into_iter().map(|run| Arc::new(entry(&run, document.id_characters, &state))).collect(),
    ))
}

/// A word that changes with the log of a store in a folder: when its days were last written to. Nothing for a bucket.
fn log_state(root: &Path) -> Option<String> {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    let mut days: Vec<(std::path::PathBuf, SystemTime)> = Vec::new();
    for tenant in std::fs::read_dir(root).ok()?.flatten() {
        for day in std::fs::read_dir(tenant.path().join("log")).into_iter().flatten().flatten() {
            days.push((day.path(), changed(&day.path())?));
        }
    }
    days.sort();
    Some(hex_of(format!("{days:?}").as_bytes(), 8))
}

fn entry(run: &IndexedRun, characters: usize, state: &str) -> ListedRun {
    let (tenant, run_id) = (run.text("tenant"), run.text("run_id"));
    let version = format!("{state}-{}", hex_of(Json::Object(run.row.clone()).to_string().as_bytes(), 8));
    let id = hex_of(format!("{tenant}/{run_id}").as_bytes(), 8);
    // As many characters as tell the runs of the store apart name one in every command.
    let name = run_id.chars().take(characters).collect();
    let mut made = ListedRun::new(id, name, RunPlace::Stored { run_id, row: run.row.clone() }, version);
    made.take(run);
    made.completed()
}
