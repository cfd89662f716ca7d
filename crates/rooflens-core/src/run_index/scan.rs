//! The runs below a folder, each from two small files.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rooflens_schema::RunDir;
use rooflens_schema::parquet_io::read_table;
use rooflens_schema::tables::Runs;
use serde_json::{Map, Value as Json};

use super::IndexedRun;
use super::folders::{RunFolder, RunFolderKind, run_at, runs_below};
use super::numbers::KeptNumbers;
use super::tags;
use crate::error::{Error, RunsError};

const UNFINISHED: &str = "tables/runs.parquet is missing: the run has not ended, or was interrupted";

/// The runs below a folder, or at it: newest first, then those that do not say when they began, by folder.
///
/// Links are not followed. A run that is damaged is listed, with what is wrong.
pub fn scan(root: &Path) -> Result<Vec<IndexedRun>, Error> {
    let root = canonical(root)?;
    let folders = runs_below(&root);
    let mut runs = read_all(&root, &folders);
    runs.sort_by_cached_key(|run| {
        let start = run.start_unix_ns();
        (start.is_none(), Reverse(start), run.folder.clone())
    });
    Ok(runs)
}

/// The same, for a question that needs a run.
pub fn listed(root: &Path) -> Result<Vec<IndexedRun>, Error> {
    let runs = scan(root)?;
    if runs.is_empty() { Err(RunsError::NoRuns { path: root.to_owned() }.into()) } else { Ok(runs) }
}

/// Puts runs in the order of time; of those that began together, by build, then by name. Where some do not say when they
/// began, that is the order of their folders; answers whether it is. Numbers in names go by their value.
pub fn oldest_first(runs: &mut [IndexedRun]) -> bool {
    let is_by_name = runs.iter().any(|run| run.start_unix_ns().is_none());
    let named = |run: &IndexedRun| natural(run.folder.as_deref().unwrap_or_default());
    match is_by_name {
        true => runs.sort_by_cached_key(named),
        false => runs.sort_by_cached_key(|run| {
            (run.start_unix_ns(), natural(&run.build()), named(run), run.run_id.clone())
        }),
    }
    is_by_name
}

/// A key that sorts `run-9` before `run-10`.
pub fn natural(name: &str) -> Vec<(u8, u64, String)> {
    let mut parts: Vec<(u8, u64, String)> = Vec::new();
    for part in name.split_inclusive(|letter: char| !letter.is_ascii_digit()) {
        let digits = part.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        if let Ok(number) = digits.parse() {
            parts.push((0, number, digits.to_owned()));
        } else if !digits.is_empty() {
            parts.push((0, u64::MAX, digits.to_owned()));
        }
        let rest = &part[digits.len()..];
        if !rest.is_empty() {
            parts.push((1, 0, rest.to_owned()));
        }
    }
    parts
}

/// The folder that is scanned, without links.
pub(super) fn canonical(root: &Path) -> Result<PathBuf, Error> {
    match root.canonicalize() {
        Ok(path) if path.is_dir() => Ok(path),
        Ok(path) => Err(RunsError::File { path }.into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(RunsError::NoFolder { path: root.to_owned() }.into())
        }
        Err(source) => Err(RunsError::Unreadable { path: root.to_owned(), source }.into()),
    }
}

/// Whether a folder itself is a run, or what is left of one.
pub fn is_run(folder: &Path) -> bool {
    run_at(folder).is_some()
}

/// The id of the run in a folder; nothing where there is none.
pub fn id_at(folder: &Path) -> Option<String> {
    let root = canonical(folder).ok()?;
    read_one(&root, &root)?.run_id
}

/// The run at a folder below a canonical root; nothing where it is none.
pub(super) fn read_one(root: &Path, folder: &Path) -> Option<IndexedRun> {
    run_at(folder).map(|found| indexed(root, &found))
}

/// Reads runs with one thread per core; the order is that of the folders.
fn read_all(root: &Path, folders: &[RunFolder]) -> Vec<IndexedRun> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(folders.len()).max(1);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((at, folder)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            folders.get(at).map(|folder| (at, folder))
        } {
            done.push((at, indexed(root, folder)));
        }
        done
    };
    let mut all: Vec<(usize, IndexedRun)> = thread::scope(|scope| {
        let started: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for thread in started {
            match thread.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, run)| run).collect()
}

/// A path below the root, as it is listed.
fn below(root: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(root).unwrap_or(path).components();
    let parts: Vec<String> = parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

/// What a folder below a canonical root tells.
pub fn indexed(root: &Path, found: &RunFolder) -> IndexedRun {
    let mut problems = Vec::new();
    let mut note = |problem: Result<(), String>| problems.extend(problem.err());
    let folder = RunDir::new(&found.path);
    let (tags, tags_problem) = tags::read(&found.path);
    let mut row = Map::new();
    note(match found.kind {
        RunFolderKind::Listed => row_of(&folder).map(|read| row = read),
        RunFolderKind::LeftOver => Err(UNFINISHED.to_owned()),
        RunFolderKind::Report => Ok(()),
    });
    note(KeptNumbers::read(&folder).map(|numbers| complete(&mut row, numbers)));
    note(tags_problem.map_or(Ok(()), Err));
    if found.path.strip_prefix(root).is_ok_and(|path| path.to_str().is_none()) {
        note(Err("the name of its folder is not UTF-8".to_owned()));
    }
    let run_id = row.get("run_id").and_then(Json::as_str).filter(|id| !id.is_empty()).map(str::to_owned);
    let start = row.get("start_unix_ns").and_then(Json::as_i64);
    IndexedRun {
        run_id,
        folder: Some(below(root, &found.path)),
        sweep: found.sweep.as_deref().map(|sweep| below(root, sweep)),
        tenant: None,
        day: start.map(rooflens_store::day_of),
        added_unix_ns: None,
        tags,
        problem: (!problems.is_empty()).then(|| problems.join("; ")),
        row,
    }
}

/// The row of `runs`, with the columns that a store has.
fn row_of(run: &RunDir) -> Result<Map<String, Json>, String> {
    let cannot = |why: String| format!("tables/runs.parquet cannot be read: {why}");
    let table = read_table::<Runs>(&run.table("runs")).map_err(|error| cannot(error.to_string()))?;
    let known = table.row(0).ok_or_else(|| cannot("it has no row".to_owned()))?;
    let none = std::collections::BTreeMap::new();
    let mut row =
        rooflens_store::row_of_run(&known, None, &none).map_err(|error| cannot(error.to_string()))?;
    row.insert("source".to_owned(), known.source.into());
    let metrics =
        known.metrics.as_deref().and_then(|text| serde_json::from_str::<Map<String, Json>>(text).ok());
    row.insert("metrics".to_owned(), Json::Object(metrics.unwrap_or_default()));
    Ok(row)
}

/// Adds to a row what the report knows. The run's own row counts where both have a metric: it is renewed with the report.
fn complete(row: &mut Map<String, Json>, numbers: Option<KeptNumbers>) {
    let Some(numbers) = numbers else { return };
    for (name, value) in numbers.columns() {
        if row.get(&name).is_none_or(Json::is_null) {
            row.insert(name, value.parse::<i64>().map_or_else(|_| value.clone().into(), Json::from));
        }
    }
    let metrics = row.entry("metrics").or_insert_with(|| Json::Object(Map::new()));
    if let Json::Object(metrics) = metrics {
        for (key, value) in numbers.headline().into_iter().chain(numbers.further()) {
            metrics.entry(key).or_insert_with(|| value.into());
        }
        metrics.sort_keys();
    }
}

#[cfg(test)]
mod tests;
