//! Which folders below a folder are runs.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use crate::bench::PROGRESS_FILE;
use crate::config::folders::OWN_FOLDER;
use crate::run::PLAN;

const DEPTH: usize = 16;

/// Folders of a run in which no other run is looked for.
const PARTS: &[&str] = &["raw", "tables", "findings", "report"];
/// Folders in which none is looked for anywhere: large, and never ours.
const NOT_ENTERED: &[&str] = &["node_modules", "__pycache__"];

/// What tells that a folder is a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunFolderKind {
    /// It has a row of the table `runs`.
    Listed,
    /// Tables, a plan or findings, and no row: the run has not ended, or was interrupted.
    LeftOver,
    /// A report or a plan alone: a load test with several levels, or one in progress.
    Report,
}

/// A folder that is a run, or what is left of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    /// Where it is.
    pub path: PathBuf,
    pub(crate) sweep: Option<PathBuf>,
    /// What tells that it is one.
    pub kind: RunFolderKind,
}

/// Folders below a folder that are runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderScan {
    /// They, by path.
    pub folders: Vec<RunFolder>,
    /// Whether there are more folders than were looked into.
    pub is_cut: bool,
}

struct Entries {
    names: Vec<String>,
    folders: Vec<PathBuf>,
}

impl Entries {
    fn read(folder: &Path) -> Self {
        let mut found = Entries { names: Vec::new(), folders: Vec::new() };
        let mut entries: Vec<DirEntry> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
        entries.sort_by_key(DirEntry::file_name);
        for entry in entries {
            // The type of the entry itself: a link is neither file nor folder, so none is followed.
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_entered = !name.starts_with('.') && !NOT_ENTERED.contains(&name.as_str());
            if kind.is_dir() && is_entered {
                found.folders.push(entry.path());
            }
            if !kind.is_symlink() {
                found.names.push(name);
            }
        }
        found
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    fn is_store(&self) -> bool {
        self.has("store.json") && !self.has("tables")
    }

    /// A sweep of `rooflens run`, or a load test with several levels.
    fn is_sweep(&self) -> bool {
        self.has("sweep.json") || (self.has("report") && (self.has("levels") || self.has("rates")))
    }
}

pub(crate) fn is_plain_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

pub(crate) fn is_plain_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

fn has_row(folder: &Path) -> bool {
    is_plain_folder(&folder.join("tables")) && is_plain_file(&folder.join("tables/runs.parquet"))
}

/// Whether tables, a plan or findings are left in a folder whose row of `runs` is not there.
fn is_left_over(folder: &Path, entries: &Entries) -> bool {
    let tables = || fs::read_dir(folder.join("tables")).into_iter().flatten().flatten();
    let has_tables =
        || tables().any(|entry| Path::new(&entry.file_name()).extension() == Some("parquet".as_ref()));
    (entries.has(PLAN) && entries.has(OWN_FOLDER))
        || (entries.has("tables") && has_tables())
        || (entries.has("findings") && is_plain_file(&folder.join("report/metrics.json")))
}

/// Whether a folder has a report or a plan, by which people follow a run in progress.
fn has_report(folder: &Path, entries: &Entries) -> bool {
    let files = ["report/metrics.json", PROGRESS_FILE];
    let is_there = |file: &str| is_plain_folder(&folder.join("report")) && is_plain_file(&folder.join(file));
    (entries.has(PLAN) && is_plain_file(&folder.join(PLAN)))
        || (entries.has("report") && files.iter().any(|file| is_there(file)))
}

pub(crate) fn run_at(folder: &Path) -> Option<RunFolder> {
    of_entries(folder, &Entries::read(folder), None).filter(is_whole)
}

fn is_whole(found: &RunFolder) -> bool {
    found.kind != RunFolderKind::Report
}

fn of_entries(folder: &Path, entries: &Entries, sweep: Option<&Path>) -> Option<RunFolder> {
    let kind = if entries.has("tables") && has_row(folder) {
        RunFolderKind::Listed
    } else if is_left_over(folder, entries) {
        RunFolderKind::LeftOver
    } else if has_report(folder, entries) {
        RunFolderKind::Report
    } else {
        return None;
    };
    Some(RunFolder { path: folder.to_owned(), sweep: sweep.map(Path::to_owned), kind })
}

pub(crate) fn runs_below(root: &Path) -> Vec<RunFolder> {
    let mut found = folders_below(root, usize::MAX).folders;
    found.retain(is_whole);
    found
}

/// The same with reports and plans, and with no more folders looked into than `most`.
pub fn folders_below(root: &Path, most: usize) -> FolderScan {
    let mut found = Vec::new();
    let mut seen = 0;
    let mut open: Vec<(PathBuf, Option<PathBuf>, usize)> = vec![(root.to_owned(), None, 0)];
    while let Some((folder, sweep, depth)) = open.pop() {
        seen += 1;
        if seen > most {
            return in_order(found, true);
        }
        let entries = Entries::read(&folder);
        if entries.is_store() {
            continue;
        }
        let run = of_entries(&folder, &entries, sweep.as_deref());
        let is_run = run.as_ref().is_some_and(is_whole);
        let sweep = if !is_run && entries.is_sweep() { Some(folder) } else { sweep };
        let is_run = run.is_some();
        found.extend(run);
        if depth < DEPTH {
            let is_part = |inner: &Path| is_run && PARTS.iter().any(|part| inner.ends_with(part));
            let entered = entries.folders.into_iter().filter(|inner| !is_part(inner));
            open.extend(entered.map(|inner| (inner, sweep.clone(), depth + 1)));
        }
    }
    in_order(found, false)
}

fn in_order(mut folders: Vec<RunFolder>, is_cut: bool) -> FolderScan {
    folders.sort_by(|a, b| a.path.cmp(&b.path));
    FolderScan { folders, is_cut }
}
