//! Lists of runs, and what is changed in them: `rooflens runs tag`, `untag` and `delete`.

mod list;

use std::path::{Path, PathBuf};

use rooflens_core::Run;
use rooflens_core::exit::Exit;
use rooflens_core::fleet::{self, StoreRunsDocument, characters_of_an_id};
use rooflens_core::run_index::{self, DeletedRun, IndexedRun, RunsDeletedDocument};
use rooflens_core::text::{counted, printable};
use rooflens_report::format::bytes;

pub(crate) use self::list::{ListedRuns, list};
use crate::args::OutputFormat;
use crate::console::Console;
use crate::error::CliError;
use crate::output;

/// Whether an address means a store: a bucket, or a folder that says that it is one. A folder that does not exist is
/// one, too: whoever asks is told how to make it.
pub(crate) fn is_store(address: &str) -> bool {
    names_store(Path::new(address)) || !Path::new(address).exists()
}

/// Whether an input is a store, not a run or a folder of them.
pub(crate) fn names_store(input: &Path) -> bool {
    input.to_str().is_some_and(|address| address.contains("://")) || input.join("store.json").is_file()
}

/// Whether an input is a folder of runs, not a run itself. Where runs are chosen from it, any folder is.
pub(crate) fn holds_runs(path: &Path, chooses: bool) -> bool {
    path.is_dir() && (chooses || Run::open(path).is_err())
}

/// Where the runs are.
pub(crate) enum RunsPlace {
    Folder(PathBuf),
    Store {
        address: String,
        /// The tenant, where it matters.
        tenant: Option<String>,
        /// Why; it is written down.
        reason: String,
    },
}

pub(crate) struct RunsChange {
    pub(crate) runs: Vec<String>,
    /// Where they are.
    pub(crate) place: RunsPlace,
    pub(crate) format: OutputFormat,
}

/// Gives runs a tag, or takes it from them.
pub(crate) fn tag(
    change: &RunsChange,
    name: &str,
    is_given: bool,
    console: &Console,
) -> Result<Exit, CliError> {
    let now = match &change.place {
        RunsPlace::Folder(folder) => {
            let tag = if is_given { run_index::tag } else { run_index::untag };
            let runs = tag(folder, &change.runs, name)?;
            StoreRunsDocument::of_folder(&folder.display().to_string(), characters_of_an_id(&runs), runs)
        }
        RunsPlace::Store { address, tenant, .. } => {
            let tag = if is_given { fleet::tag } else { fleet::untag };
            tag(address, &change.runs, tenant.as_deref(), name)?
        }
    };
    if change.format == OutputFormat::Json {
        output::json(&now)?;
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
            output::json(&document)?;
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

fn agreed(runs: &[DeletedRun], place: &str, yes: bool, console: &Console) -> Result<bool, CliError> {
    let about: String = runs.iter().map(|run| format!("{}\n", line(run))).collect();
    let question = format!("Delete {} from {place}?", counted(runs.len(), "run"));
    let agrees = console.agrees(yes, runs.len(), &about, &question)?;
    if !agrees {
        console.say("nothing was deleted");
    }
    Ok(agrees)
}

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
