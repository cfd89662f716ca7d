//! Reports among the files of a folder, and files that tell of the same launches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rooflens_schema::{Notes, Severity, Stage};

use super::{MAGIC, NcuLaunch, csv};
use crate::error::IngestError;

/// No report is larger.
const LARGEST: u64 = 4 << 30;
const DEEPEST: usize = 8;

/// The launches of every path: a `.ncu-rep` file, what `ncu --csv` printed, or a folder of such. CSV files
/// of one folder that tell of the same launch are put together; where a folder has `.ncu-rep` files, these
/// alone are read, as its CSV files are what was printed of them.
pub fn read_all(paths: &[PathBuf], notes: &Notes) -> Result<Vec<NcuLaunch>, IngestError> {
    let mut launches = Vec::new();
    for path in paths {
        let before = launches.len();
        if path.is_dir() {
            folder(path, 0, notes, &mut launches)?;
        } else {
            files(std::slice::from_ref(path), notes, &mut launches)?;
        }
        if launches.len() == before {
            return Err(nothing(path));
        }
    }
    Ok(launches)
}

fn nothing(path: &Path) -> IngestError {
    IngestError::NoRecords {
        source_name: path.display().to_string(),
        format: "ncu",
        why: "there is no .ncu-rep file and no output of ncu --csv with a launch in it".to_owned(),
    }
}

fn folder(
    path: &Path,
    depth: usize,
    notes: &Notes,
    launches: &mut Vec<NcuLaunch>,
) -> Result<(), IngestError> {
    let unreadable = |source| IngestError::Io { path: path.to_owned(), source };
    let mut inside: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        inside.push(entry.map_err(unreadable)?.path());
    }
    inside.sort();
    let (folders, mut found): (Vec<PathBuf>, Vec<PathBuf>) =
        inside.into_iter().partition(|path| path.is_dir());
    let ends = |path: &Path, end: &str| path.extension().is_some_and(|extension| extension == end);
    if found.iter().any(|path| ends(path, "ncu-rep")) {
        found.retain(|path| ends(path, "ncu-rep"));
    } else {
        found.retain(|path| ends(path, "csv") && head(path).is_some_and(|head| csv::is_csv(&head)));
    }
    files(&found, notes, launches)?;
    if depth < DEEPEST {
        for inner in folders.iter().filter(|inner| !inner.is_symlink()) {
            folder(inner, depth + 1, notes, launches)?;
        }
    }
    Ok(())
}

fn head(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(1 << 16).read_to_end(&mut head).ok()?;
    Some(head)
}

fn files(paths: &[PathBuf], notes: &Notes, launches: &mut Vec<NcuLaunch>) -> Result<(), IngestError> {
    let mut places: BTreeMap<csv::LaunchKey, usize> = BTreeMap::new();
    for path in paths {
        let unreadable = |source| IngestError::Io { path: path.clone(), source };
        let source = path.display().to_string();
        if std::fs::metadata(path).map_err(unreadable)?.len() > LARGEST {
            let message = format!("{source} is larger than any report: not read");
            notes.add(Stage::Ingest, Severity::DataLoss, "too_large", &source, message);
            continue;
        }
        let bytes = std::fs::read(path).map_err(unreadable)?;
        if bytes.starts_with(MAGIC) {
            launches.extend(super::read(&bytes, &source, notes)?);
            continue;
        }
        if !csv::is_csv(&bytes) {
            return Err(nothing(path));
        }
        for (key, launch) in csv::read(&bytes, &source, notes) {
            match places.get(&key).and_then(|at| launches.get_mut(*at)) {
                Some(known) => csv::merge(known, launch),
                None => {
                    places.insert(key, launches.len());
                    launches.push(launch);
                }
            }
        }
    }
    Ok(())
}
