//! Deleting run directories: first what would go, then that and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::folders::{is_plain_folder, run_at, runs_below};
use super::scan::{canonical, find, no_run};
use crate::document::SchemaTag;
use crate::error::Error;

const OURS: &[&str] = &[
    ".hydra",
    ".rooflens",
    "findings",
    "kernels.json",
    "model.json",
    "plan.json",
    "profile",
    "raw",
    "report",
    "tables",
];

/// A run to delete, or one that was deleted.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DeletedRun {
    /// Its id; null where the run is too damaged to tell.
    pub run_id: Option<String>,
    /// Its folder, from the folder of runs; null for a run of a store.
    pub folder: Option<String>,
    /// Files in it; null for a run of a store, whose files go with `rooflens store vacuum`.
    pub files: Option<u64>,
    /// Their size, likewise.
    pub bytes: Option<u64>,
    /// Runs inside its folder, which go with it.
    #[serde(default)]
    pub runs_inside: Vec<String>,
    /// What else is in its folder, that Rooflens did not write.
    #[serde(default)]
    pub others: Vec<String>,
}

/// The JSON document: runs that were deleted.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunsDeletedDocument {
    /// `rooflens.runs-deleted`.
    pub(crate) schema: SchemaTag,
    /// The folder, or the store.
    pub(crate) store: String,
    /// The runs.
    pub(crate) deleted: Vec<DeletedRun>,
}

impl RunsDeletedDocument {
    /// Of runs of a folder or store.
    pub fn new(store: &str, deleted: Vec<DeletedRun>) -> Self {
        RunsDeletedDocument { schema: SchemaTag::new("runs-deleted"), store: store.to_owned(), deleted }
    }
}

/// Runs of a folder that are about to be deleted.
#[derive(Debug, Clone)]
pub struct PlannedDeletion {
    /// What goes.
    pub runs: Vec<DeletedRun>,
    paths: Vec<PathBuf>,
}

/// What goes if runs of a folder are deleted. Nothing is touched. What is no run, lies outside the folder, is the folder
/// itself, or is a link is refused.
pub fn plan_deletion(root: &Path, names: &[String]) -> Result<PlannedDeletion, Error> {
    let mut planned = PlannedDeletion { runs: Vec::new(), paths: Vec::new() };
    let root_path = canonical(root)?;
    for name in names {
        let found = find(root, name)?;
        if found.path == root_path {
            let message = format!("{} is the folder of runs itself: nothing was changed", root.display());
            return Err(Error::usage(message)
                .words("name a run in it; to delete this one, name the folder above with --in .."));
        }
        // Named twice, or inside another that goes.
        if planned.paths.iter().any(|path| found.path.starts_with(path)) {
            continue;
        }
        let (files, bytes) = size(&found.path);
        let inside = runs_below(&found.path).into_iter().filter(|inner| inner.path != found.path);
        let inside = inside.map(|inner| below(&root_path, &inner.path)).collect();
        planned.runs.push(DeletedRun {
            run_id: found.run.run_id,
            folder: found.run.folder,
            files: Some(files),
            bytes: Some(bytes),
            runs_inside: inside,
            others: others(&found.path),
        });
        planned.paths.push(found.path);
    }
    Ok(planned)
}

impl PlannedDeletion {
    /// Deletes them. Links in them go, what they lead to stays.
    pub fn delete(self) -> Result<Vec<DeletedRun>, Error> {
        for path in &self.paths {
            // Somebody may have put something else in its place since.
            if !is_plain_folder(path) || run_at(path).is_none() {
                return Err(no_run(path));
            }
            fs::remove_dir_all(path).map_err(|source| Error::unwritable(path, source))?;
        }
        Ok(self.runs)
    }
}

fn size(folder: &Path) -> (u64, u64) {
    let (mut files, mut bytes) = (0, 0);
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => open.push(entry.path()),
                Ok(found) => {
                    files += 1;
                    bytes += found.len();
                }
                Err(_) => files += 1,
            }
        }
    }
    (files, bytes)
}

fn others(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut others: Vec<String> = names.filter(|name| !OURS.contains(&name.as_str())).collect();
    others.sort();
    others
}

fn below(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}
