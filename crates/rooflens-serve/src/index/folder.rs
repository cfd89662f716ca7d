//! Run directories below a folder. Links are not followed.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rooflens_core::run::PLAN;
use rooflens_core::run_index::{FolderScan, RunFolder, RunFolderKind, folders_below, indexed};
use rooflens_schema::RunDir;
use serde_json::Value as Json;

use super::{ListedRun, RunIndex, RunPlace};
use crate::hash::hex_of;
use crate::live::PROGRESS;

/// Folders that are looked into.
const MOST_FOLDERS: usize = 200_000;
/// Files in one run that are looked at before it is read.
const MOST_FILES: usize = 20_000;
/// Bytes of the tables and documents that a summary is read from.
const MOST_BYTES: u64 = 64 << 20;
/// A run that has written nothing for so long is not in progress any more.
const SILENCE: Duration = Duration::from_secs(600);

/// Every run below a folder. What did not change since is taken from the index before.
pub fn scan(root: &Path, before: &RunIndex) -> (Vec<Arc<ListedRun>>, bool) {
    let known: HashMap<&Path, &Arc<ListedRun>> =
        before.runs.iter().filter_map(|run| Some((folder_of(run)?, run))).collect();
    let FolderScan { folders, is_cut } = folders_below(root, MOST_FOLDERS);
    let listed = folders.iter().map(|found| {
        let state = RunState::of(&found.path);
        let same = known.get(found.path.as_path()).filter(|run| run.version == state.version);
        same.map_or_else(|| Arc::new(entry(root, found, &state)), |run| Arc::clone(run))
    });
    (listed.collect(), is_cut)
}

fn folder_of(run: &ListedRun) -> Option<&Path> {
    match &run.place {
        RunPlace::Folder(path) => Some(path),
        RunPlace::Stored { .. } => None,
    }
}

struct RunState {
    metrics: Option<PathBuf>,
    is_live: bool,
    version: String,
}

impl RunState {
    fn of(folder: &Path) -> RunState {
        let run = RunDir::new(folder);
        let seen = |path: &Path| {
            let (bytes, changed) = own_file(path)?;
            Some((bytes, changed.duration_since(SystemTime::UNIX_EPOCH).ok()))
        };
        let (numbers, plan) = (run.report().join("metrics.json"), folder.join(PLAN));
        let metrics = seen(&numbers);
        let is_begun = seen(&plan).is_some() || seen(&folder.join(PROGRESS)).is_some();
        let is_live = metrics.is_none() && is_begun && last_sign(folder).is_some_and(|age| age < SILENCE);
        let tags = seen(&folder.join(".rooflens").join("tags.json"));
        let row = seen(&run.table("runs"));
        let version = format!("{row:?} {metrics:?} {tags:?} {is_begun} {is_live}");
        RunState {
            metrics: metrics.filter(|(bytes, _)| *bytes <= MOST_BYTES).map(|_| numbers),
            is_live,
            version: hex_of(version.as_bytes(), 8),
        }
    }
}

/// Length and time of a file that is one itself, in a folder that is one itself: no link leads to it.
fn own_file(path: &Path) -> Option<(u64, SystemTime)> {
    let folder = std::fs::symlink_metadata(path.parent()?).ok()?;
    let file = std::fs::symlink_metadata(path).ok()?;
    (folder.is_dir() && file.is_file()).then_some(())?;
    Some((file.len(), file.modified().ok()?))
}

fn last_sign(folder: &Path) -> Option<Duration> {
    let changed = |path: &Path| std::fs::symlink_metadata(path).and_then(|data| data.modified()).ok();
    let mut times = vec![changed(&folder.join(PLAN)), changed(&folder.join(PROGRESS))];
    for step in std::fs::read_dir(folder.join("raw")).into_iter().flatten().flatten() {
        for name in ["events.jsonl", "stdout.log", "stderr.log", "manifest.json"] {
            times.push(changed(&step.path().join(name)));
        }
    }
    let last = times.into_iter().flatten().max()?;
    Some(SystemTime::now().duration_since(last).unwrap_or_default())
}

/// Whether all of a run lies below the root: nothing in it is a link out of it, or something that is no file.
pub(crate) fn is_contained(root: &Path, folder: &Path) -> bool {
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

fn entry(root: &Path, found: &RunFolder, state: &RunState) -> ListedRun {
    let folder = &found.path;
    let relative = folder.strip_prefix(root).unwrap_or(folder).to_string_lossy().into_owned();
    let name = match relative.is_empty() {
        true => folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        false => relative,
    };
    let id = hex_of(folder.as_os_str().as_encoded_bytes(), 8);
    let mut made = ListedRun::new(id, name, RunPlace::Folder(folder.clone()), state.version.clone());
    made.is_live = state.is_live;
    match found.kind {
        RunFolderKind::Report => take_document(&mut made, state.metrics.as_deref()),
        // A damaged file is not to end the server.
        _ => {
            if let Ok(run) = catch_unwind(AssertUnwindSafe(|| indexed(root, found))) {
                made.take(&run);
            }
        }
    }
    if state.metrics.is_none() && found.kind != RunFolderKind::Listed {
        let status = if state.is_live { "running" } else { "unfinished" };
        made.words.insert("status", status.to_owned());
    }
    if made.began_unix_ns.is_none() {
        let changed = std::fs::metadata(folder).and_then(|data| data.modified()).ok();
        let since = changed.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        made.began_unix_ns = since.and_then(|since| i64::try_from(since.as_nanos()).ok());
    }
    made.completed()
}

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
    made.compared = [("kind", "kind"), ("model", "model"), ("runtime", "engine")]
        .map(|(column, name)| (column, made.word(name).to_owned()))
        .into();
}
