//! Lists of files: a path a line.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use rooflens_compose::value::{Origin, ValueSource};

use crate::assets::error::{AssetError, AssetFault};
use crate::assets::project::plain_path;
use crate::assets::walk::ListedFile;

/// The text of a list.
pub(super) fn write(files: &[&str]) -> String {
    files.iter().flat_map(|file| [file, "\n"]).collect()
}

/// Reads a list of files that lie below a folder. Blank lines are skipped; there are no comments,
/// since a file may be named `#1`.
pub(super) fn read(text: &str, shown: &Path, folder: &Path) -> Result<Vec<ListedFile>, AssetError> {
    let shown: Arc<str> = Arc::from(shown.display().to_string());
    let mut files = Vec::new();
    let mut seen = HashSet::new();
    for (number, line) in (1u32..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let error = |problem| {
            let origin = Origin { source: ValueSource::File(Arc::clone(&shown)), line: number, column: 1 };
            let entry = line.chars().take(200).collect();
            AssetError::at(AssetFault::ListEntry { entry, problem }, &origin, text)
        };
        let path = plain_path(line).map_err(error)?;
        if !seen.insert(line) {
            return Err(error("is listed twice"));
        }
        let found = folder.join(path).metadata().ok().filter(|found| found.is_file());
        let bytes = found.ok_or_else(|| error("is not a file of the dataset"))?.len();
        files.push(ListedFile { path: line.to_owned(), bytes });
    }
    Ok(files)
}
