//! `rooflens runs tag`, `untag` and `delete`.

use std::path::{Path, PathBuf};

use rooflens_core::exit::Exit;
use rooflens_core::fleet::{self, StoreRunsDocument, characters_of_an_id};
use rooflens_core::run_index::{self, DeletedRun, IndexedRun, RunsDeletedDocument};
use rooflens_core::text::{counted, printable};
use rooflens_report::format::bytes;

use crate::args::format::OutputFormat;
use crate::console::Console;
use crate::error::CliError;
use crate::output;

/// Where the runs are.
pub(crate) enum RunsPlace {
    /// A folder.
    Folder(PathBuf),
    /// A store, and whose runs.
    Store {
        /// Its address.
        address: String,
        /// The tenant, where it matters.
        tenant: Option<String>,
        /// Why; it is written down.
        reason: String,
    },
}

/// Runs to change.
pub(crate) struct RunsChange {
    /// Folders or ids.
    pub(crate) runs: Vec<String>,
    /// Where they are.
    pub(crate) place: RunsPlace,
    /// For whom it is said.
    pub(crate) format: OutputFormat,
}

/// Gives runs a tag.
pub fn tag(change: &RunsChange, name: &str, console: &Console) -> Result<Exit, CliError> {
    let now = match &change.place {
        RunsPlace::Folder(folder) => of_folder(folder, run_index::tag(folder, &change.runs, name)?),
        RunsPlace::Store { address, tenant, .. } => {
            fleet::tag(address, &change.runs, tenant.as_deref(), name)?
        }
    };
    show(&now, change.format, console)
}

/// Takes a tag from runs.
pub fn untag(change: &RunsChange, name: &str, console: &Console) -> Result<Exit, CliError> {
    let now = match &change.place {
        RunsPlace::Folder(folder) => of_folder(folder, run_index::untag(folder, &change.runs, name)?),
        RunsPlace::Store { address, tenant, .. } => {
            fleet::untag(address, &change.runs, tenant.as_deref(), name)?
        }
    };
    show(&now, change.format, console)
}

fn of_folder(folder: &Path, runs: Vec<IndexedRun>) -> StoreRunsDocument {
    StoreRunsDocument::of_folder(&folder.display().to_string(), characters_of_an_id(&runs), runs)
}

fn show(now: &StoreRunsDocument, format: OutputFormat, console: &Console) -> Result<Exit, CliError> {
    if format == OutputFormat::Json {
        output::json(now, console.is_read_by_people())?;
        return Ok(Exit::Fine);
    }
    for run in &now.runs {
        let name =
            run.folder.as_ref().or(run.run_id.as_ref()).map(|name| printable(name)).unwrap_or_default();
        let tags = if run.tags.is_empty() { "no tags".to_owned() } else { run.tags.join(", ") };
        console.say(&format!("{name}: {tags}"));
    }
    Ok(Exit::Fine)
}

/// Deletes runs: shows what goes, and asks unless somebody has agreed already.
pub(crate) fn delete(
    change: &RunsChange,
    yes: bool,
    is_dry: bool,
    console: &Console,
) -> Result<Exit, CliError> {
    let place = match &change.place {
        RunsPlace::Folder(folder) => folder.display().to_string(),
        RunsPlace::Store { address, .. } => address.clone(),
    };
    let deleted = match &change.place {
        RunsPlace::Folder(folder) => {
            let planned = run_index::plan_deletion(folder, &change.runs)?;
            if is_dry {
                return show_deletion(&place, planned.runs, change.format, "would be deleted", console);
            }
            if !agreed(&planned.runs, &place, yes, console)? {
                return Ok(Exit::Gate);
            }
            planned.delete()?
        }
        RunsPlace::Store { address, tenant, reason } => {
            let found = fleet::find(address, &change.runs, tenant.as_deref())?;
            let runs: Vec<DeletedRun> = found.into_iter().map(of_store).collect();
            if is_dry {
                return show_deletion(&place, runs, change.format, "would be deleted", console);
            }
            if !agreed(&runs, &place, yes, console)? {
                return Ok(Exit::Gate);
            }
            fleet::remove(address, &change.runs, tenant.as_deref(), reason)?;
            runs
        }
    };
    show_deletion(&place, deleted, change.format, "deleted", console)
}

fn show_deletion(
    place: &str,
    runs: Vec<DeletedRun>,
    format: OutputFormat,
    what: &str,
    console: &Console,
) -> Result<Exit, CliError> {
    match format {
        OutputFormat::Json => {
            let document = RunsDeletedDocument::new(place, runs);
            output::json(&document, console.is_read_by_people())?;
        }
        _ => runs.iter().for_each(|run| console.say(&format!("{what}: {}", line(run)))),
    }
    Ok(Exit::Fine)
}

fn of_store(run: IndexedRun) -> DeletedRun {
    let (runs_inside, others) = (Vec::new(), Vec::new());
    DeletedRun { run_id: run.run_id, folder: None, files: None, bytes: None, runs_inside, others }
}

fn name(run: &DeletedRun) -> String {
    printable(run.folder.as_ref().or(run.run_id.as_ref()).map_or("", String::as_str))
}

/// Whether the runs may go.
fn agreed(runs: &[DeletedRun], place: &str, yes: bool, console: &Console) -> Result<bool, CliError> {
    if yes {
        return Ok(true);
    }
    if !console.can_ask() {
        return Err(CliError::NeedsYes { changes: runs.len() });
    }
    let about: String = runs.iter().map(|run| format!("{}\n", line(run))).collect();
    let agrees = console.agrees(&about, &format!("Delete {} from {place}?", counted(runs.len(), "run")));
    if !agrees {
        console.say("nothing was deleted");
    }
    Ok(agrees)
}

/// What goes with a run.
fn line(run: &DeletedRun) -> String {
    let mut line = name(run);
    if let (Some(files), Some(size)) = (run.files, run.bytes) {
        let files = counted(usize::try_from(files).unwrap_or(usize::MAX), "file");
        line.push_str(&format!(": {files}, {}", bytes(size as f64)));
    }
    if !run.runs_inside.is_empty() {
        let inside: Vec<String> = run.runs_inside.iter().map(|run| printable(run)).collect();
        line.push_str(&format!("; with the runs inside it: {}", inside.join(", ")));
    }
    if !run.others.is_empty() {
        let others: Vec<String> = run.others.iter().map(|name| printable(name)).collect();
        line.push_str(&format!("; with files that Rooflens did not write: {}", others.join(", ")));
    }
    line
}
