//! Run directories below a folder. Links are not followed.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rooflens_schema::RunDir;
use rooflens_schema::parquet_io::read_table;
use rooflens_schema::tables::{RunRow, Runs};
use serde_json::Value as Json;

use super::{ListedRun, RunIndex, RunPlace};
use crate::hash::hex_of;
use crate::live::PROGRESS;

/// How deep runs may lie.
const DEEPEST: usize = 8;
/// Folders that are looked into.
const MOST_FOLDERS: usize = 200_000;
/// Runs that are listed.
const MOST_RUNS: usize = 50_000;
/// Files in one run that are looked at before it is read.
const MOST_FILES: usize = 20_000;
/// Bytes of the tables and documents that a summary is read from.
const MOST_BYTES: u64 = 64 << 20;
/// A run that has written nothing for so long is not in progress any more.
const SILENCE: Duration = Duration::from_secs(600);
/// Folders of a run that hold no further runs.
const OF_A_RUN: &[&str] = &["raw", "tables", "findings", "report"];

/// Every run below a folder. What did not change since is taken from the index before.
pub fn scan(root: &Path, before: &RunIndex) -> (Vec<Arc<ListedRun>>, bool) {
    let known: HashMap<&Path, &Arc<ListedRun>> =
        before.runs.iter().filter_map(|run| Some((folder_of(run)?, run))).collect();
    let mut found = Vec::new();
    let mut waiting = vec![(root.to_owned(), 0)];
    let mut looked_at = 0;
    while let Some((folder, depth)) = waiting.pop() {
        looked_at += 1;
        if looked_at > MOST_FOLDERS || found.len() >= MOST_RUNS {
            return (found, true);
        }
        if let Some(state) = RunState::of(&folder) {
            let same = known.get(folder.as_path()).filter(|run| run.version == state.version);
            found.push(same.map_or_else(|| Arc::new(entry(root, &folder, &state)), |run| Arc::clone(run)));
        }
        if depth == DEEPEST {
            continue;
        }
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_own = OF_A_RUN.iter().any(|own| name == **own);
            let is_hidden = name.as_encoded_bytes().starts_with(b".");
            // A link is no folder by this question, wherever it leads.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !is_own && !is_hidden {
                waiting.push((entry.path(), depth + 1));
            }
        }
    }
    (found, false)
}

fn folder_of(run: &ListedRun) -> Option<&Path> {
    match &run.place {
        RunPlace::Folder(path) => Some(path),
        RunPlace::Stored { .. } => None,
    }
}

/// The files that tell what a folder is.
struct RunState {
    runs: Option<PathBuf>,
    metrics: Option<PathBuf>,
    is_live: bool,
    version: String,
}

impl RunState {
    /// Nothing where the folder is no run.
    fn of(folder: &Path) -> Option<RunState> {
        let run = RunDir::new(folder);
        let seen = |path: PathBuf| own_file(&path).map(|(bytes, changed)| (path, bytes, changed));
        let row = seen(run.table("runs"));
        let metrics = seen(run.report().join("metrics.json"));
        let plan = seen(folder.join("plan.json"));
        let progress = seen(folder.join(PROGRESS));
        if row.is_none() && metrics.is_none() && plan.is_none() && progress.is_none() {
            return None;
        }
        let is_unfinished = metrics.is_none() && (plan.is_some() || progress.is_some());
        let is_live = is_unfinished && last_sign(folder).is_some_and(|age| age < SILENCE);
        let word = |file: &Option<(PathBuf, u64, SystemTime)>| {
            file.as_ref()
                .map(|(_, bytes, changed)| (*bytes, changed.duration_since(SystemTime::UNIX_EPOCH).ok()))
        };
        let version = format!("{:?} {:?} {:?} {is_live}", word(&row), word(&metrics), plan.is_some());
        let small = |file: Option<(PathBuf, u64, SystemTime)>| {
            file.filter(|(_, bytes, _)| *bytes <= MOST_BYTES).map(|(path, ..)| path)
        };
        Some(RunState {
            runs: small(row),
            metrics: small(metrics),
            is_live,
            version: hex_of(version.as_bytes(), 8),
        })
    }
}

/// Length and time of a file that is one itself, in a folder that is one itself: no link leads to it.
fn own_file(path: &Path) -> Option<(u64, SystemTime)> {
    let folder = std::fs::symlink_metadata(path.parent()?).ok()?;
    let file = std::fs::symlink_metadata(path).ok()?;
    (folder.is_dir() && file.is_file()).then_some(())?;
    Some((file.len(), file.modified().ok()?))
}

/// How long ago a run in progress wrote something.
fn last_sign(folder: &Path) -> Option<Duration> {
    let changed = |path: &Path| std::fs::symlink_metadata(path).and_then(|data| data.modified()).ok();
    let mut times = vec![changed(&folder.join("plan.json")), changed(&folder.join(PROGRESS))];
    for step in std::fs::read_dir(folder.join("raw")).into_iter().flatten().flatten() {
        for name in ["events.jsonl", "stdout.log", "stderr.log", "manifest.json"] {
            times.push(changed(&step.path().join(name)));
        }
    }
    let last = times.into_iter().flatten().max()?;
    Some(SystemTime::now().duration_since(last).unwrap_or_default())
}

/// Whether all of a run lies below the root: nothing in it is a link out of it, or something that is no file.
pub fn is_contained(root: &Path, folder: &Path) -> bool {
    let mut waiting = vec![folder.to_owned()];
    let mut seen = 0;
    let is_below = folder.canonicalize().is_ok_and(|real| real.starts_with(root));
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            seen += 1;
            let Ok(kind) = entry.file_type() else { return false };
            let leads_out = || {
                !entry
                    .path()
                    .canonicalize()
                    .is_ok_and(|real| real.starts_with(root) && (real.is_file() || real.is_dir()))
            };
            if seen > MOST_FILES || (kind.is_symlink() && leads_out()) {
                return false;
            }
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if !kind.is_file() && !kind.is_symlink() {
                // Reading a pipe may never end.
                return false;
            }
        }
    }
    is_below
}

fn entry(root: &Path, folder: &Path, state: &RunState) -> ListedRun {
    let relative = folder.strip_prefix(root).unwrap_or(folder).to_string_lossy().into_owned();
    let name = match relative.is_empty() {
        true => folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        false => relative.clone(),
    };
    let mut made = ListedRun {
        id: hex_of(folder.as_os_str().as_encoded_bytes(), 8),
        name,
        place: RunPlace::Folder(folder.to_owned()),
        words: BTreeMap::new(),
        began_unix_ns: None,
        metrics: BTreeMap::new(),
        is_live: state.is_live,
        version: state.version.clone(),
        searched: String::new(),
    };
    // A damaged file is not to end the server.
    let row = state
        .runs
        .as_ref()
        .and_then(|path| catch_unwind(AssertUnwindSafe(|| first_row(path))).ok().flatten());
    match row {
        Some(row) => take_row(&mut made, row),
        None => take_document(&mut made, state.metrics.as_deref()),
    }
    let unfinished = if state.is_live { "running" } else { "unfinished" };
    if state.metrics.is_none() && state.runs.is_none() {
        made.words.insert("status", unfinished.to_owned());
    }
    if made.began_unix_ns.is_none() {
        let changed = std::fs::metadata(folder).and_then(|data| data.modified()).ok();
        let since = changed.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        made.began_unix_ns = since.and_then(|since| i64::try_from(since.as_nanos()).ok());
    }
    made.completed()
}

fn first_row(path: &Path) -> Option<RunRow> {
    read_table::<Runs>(path).ok()?.row(0)
}

fn take_row(made: &mut ListedRun, row: RunRow) {
    let metrics = row.metrics.as_deref().and_then(|text| serde_json::from_str::<Json>(text).ok());
    let metrics = metrics.iter().filter_map(Json::as_object).flatten();
    made.metrics = metrics.filter_map(|(key, value)| Some((key.clone(), value.as_f64()?))).collect();
    made.began_unix_ns = row.start_unix_ns.get();
    made.words = BTreeMap::from([
        ("kind", row.kind),
        ("model", row.model.unwrap_or_default()),
        ("device", row.hardware.unwrap_or_default()),
        ("engine", row.runtime.unwrap_or_default()),
        ("build", row.runtime_build.or(row.runtime_version).unwrap_or_default()),
        ("status", row.status),
    ]);
}

/// What the numbers of a run without a row tell, as those of a load test over several levels.
fn take_document(made: &mut ListedRun, path: Option<&Path>) {
    let bytes = path.and_then(|path| std::fs::read(path).ok());
    let document: Json = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let word = |place: &str| document.pointer(place).and_then(Json::as_str).unwrap_or_default().to_owned();
    let headline = document["headline"].as_object().into_iter().flatten();
    made.metrics = headline.filter_map(|(key, value)| Some((key.clone(), value.as_f64()?))).collect();
    let kind = word("/schema/name").trim_start_matches("rooflens.").to_owned();
    made.words = BTreeMap::from([
        ("kind", kind),
        ("model", word("/server/model")),
        ("engine", word("/server/kind")),
        ("build", word("/server/version")),
        ("status", word("/status")),
    ]);
}
