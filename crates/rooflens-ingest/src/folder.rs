//! A folder of traces is one job: a file a rank.

use std::path::{Path, PathBuf};

use rooflens_schema::{Notes, Severity, Stage};

use crate::artefact::{Artefact, InputSource, no_progress};
use crate::error::IngestError;
use crate::formats::is_beside_a_set;
use crate::{keep_one_a_set, recognise};

/// A trace found in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankFile {
    /// Where it is.
    pub path: PathBuf,
    /// The rank that its name tells, as in `rank-3.json.gz` or `worker_rank3.pt.trace.json`.
    pub rank_by_name: Option<i32>,
}

/// The traces directly in `folder`, in rank order, then by name; one for files that are read together.
/// Other files are counted in a note.
pub fn rank_files(folder: &Path, notes: &Notes) -> Result<Vec<RankFile>, IngestError> {
    let fail = |source| IngestError::Io { path: folder.to_owned(), source };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let known = Artefact::open(&InputSource::File(path.clone()), no_progress())
            .is_ok_and(|artefact| recognise(artefact.probe()).is_some());
        if known {
            let rank_by_name = rank_in_name(&path);
            files.push(RankFile { path, rank_by_name });
        } else if !is_beside_a_set(&path) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let message = format!("{name} is not in a format that Rooflens reads; it was skipped");
            notes.add(Stage::Ingest, Severity::Info, "file_passed_over", "", message);
        }
    }
    if files.is_empty() {
        return Err(IngestError::EmptyFolder { path: folder.to_owned() });
    }
    keep_one_a_set(&mut files, |file: &RankFile| Some(&file.path));
    files.sort_by_key(|file| file.rank_by_name.unwrap_or(i32::MAX));
    Ok(files)
}

/// The number behind the last `rank` in a file name, as in `rank-3.json.gz`.
pub fn rank_in_name(path: &Path) -> Option<i32> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let behind = &name[name.rfind("rank")? + "rank".len()..];
    let digits = behind.trim_start_matches(['-', '_', '.', '=']);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_in_names() {
        for (name, rank) in [
            ("rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", Some(0)),
            ("graph_capture_rank_12.17.json", Some(12)),
            ("bs_32_rank0.json.gz", Some(0)),
            ("TP7-rank007.json", Some(7)),
            ("franks.json", None),
            ("trace.json", None),
        ] {
            assert_eq!(rank_in_name(Path::new(name)), rank, "{name}");
        }
    }
}
