//! A copy of a run has more than its tables: what it was planned to do, what its workload said of itself, and the numbers
//! that were computed when it was made. Traces and reports of profilers stay where they are: their rows are in the
//! tables.

use std::path::Path;

use rooflens_schema::RunDir;

use super::job::PLAN;
use crate::config::folders::OWN_FOLDER;
use crate::error::Error;
use crate::model::ModelRecord;
use crate::saved;

/// What of a step's folder is copied.
const KINDS: &[&str] = &["json", "jsonl", "csv"];

/// Copies the files of a run that are not tables.
pub(crate) fn copy_files(from: &RunDir, to: &RunDir) -> Result<(), Error> {
    if let Some(record) = ModelRecord::read(from) {
        record.save(to)?;
    }
    if !from.root().join(PLAN).is_file() {
        return Ok(());
    }
    copy(&from.root().join(PLAN), &to.root().join(PLAN))?;
    copy_folder(&from.root().join(OWN_FOLDER), &to.root().join(OWN_FOLDER), |_| true)?;
    let is_small =
        |path: &Path| path.extension().is_some_and(|kind| KINDS.iter().any(|known| kind == *known));
    for step in folder(&from.root().join("raw")).filter(|path| path.is_dir()) {
        let name = step.file_name().unwrap_or_default();
        copy_folder(&step, &to.root().join("raw").join(name), is_small)?;
    }
    let is_data = |path: &Path| path.extension().is_some_and(|kind| kind == "json" || kind == "yaml");
    copy_folder(&from.report(), &to.report(), is_data)
}

/// Copies the files of a folder that are wanted, without what is in folders below.
fn copy_folder(from: &Path, to: &Path, is_wanted: impl Fn(&Path) -> bool) -> Result<(), Error> {
    for path in folder(from).filter(|path| path.is_file() && is_wanted(path)) {
        saved::make(to)?;
        copy(&path, &to.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

fn folder(path: &Path) -> impl Iterator<Item = std::path::PathBuf> {
    std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let copied = std::fs::copy(from, to).map(drop);
    copied.map_err(|source| Error::Unwritable { path: to.to_owned(), source })
}
