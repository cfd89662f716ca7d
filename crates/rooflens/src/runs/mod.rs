//! Lists of runs, and what is changed in them.

mod change;
mod list;

use std::path::Path;

use rooflens_core::Run;

pub(crate) use self::change::{RunsChange, RunsPlace, delete, tag, untag};
pub(crate) use self::list::{ListedRuns, list};

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
