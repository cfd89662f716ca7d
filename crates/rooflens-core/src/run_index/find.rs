//! A run by its name: its folder, or the beginning of its id.

use std::path::{Path, PathBuf};

use super::IndexedRun;
use super::scan::{canonical, read_one, scan};
use crate::error::{Error, RunsError};

/// Fewest characters of an id that name a run: a typing error is not to cost one.
const LEAST_OF_AN_ID: usize = 8;

/// A run that was named, below its folder of runs.
#[derive(Debug, Clone)]
pub(crate) struct FoundRun {
    /// Its folder, without links.
    pub(crate) path: PathBuf,
    /// What is known of it.
    pub(crate) run: IndexedRun,
}

/// The run of a folder that a name means: its folder, as it is listed or as it is seen from the working directory, or at
/// least eight characters of its id. What is a link, lies outside the folder or is no run is refused.
pub fn find(root: &Path, name: &str) -> Result<FoundRun, Error> {
    let folder = canonical(root)?;
    let places = [root.join(name), PathBuf::from(name)];
    match places.iter().find(|place| !name.is_empty() && place.symlink_metadata().is_ok()) {
        Some(path) => at(&folder, path),
        None => by_id(&folder, root, name),
    }
}

fn at(root: &Path, path: &Path) -> Result<FoundRun, Error> {
    if path.is_symlink() {
        return Err(RunsError::Link { path: path.to_owned() }.into());
    }
    let unreadable = |source| RunsError::Unreadable { path: path.to_owned(), source };
    let place = path.canonicalize().map_err(unreadable)?;
    if !place.starts_with(root) {
        return Err(RunsError::Outside { path: path.to_owned(), folder: root.to_owned() }.into());
    }
    match read_one(root, &place) {
        Some(run) => Ok(FoundRun { path: place, run }),
        None => Err(RunsError::NotARun { path: path.to_owned() }.into()),
    }
}

fn by_id(folder: &Path, root: &Path, name: &str) -> Result<FoundRun, Error> {
    let runs = scan(folder)?;
    let is_long_enough = name.len() >= LEAST_OF_AN_ID;
    let is_meant = |run: &&IndexedRun| run.run_id.as_deref().is_some_and(|id| id.starts_with(name));
    let found: Vec<&IndexedRun> = runs.iter().filter(|_| is_long_enough).filter(is_meant).collect();
    match found.as_slice() {
        [run] => Ok(FoundRun { path: folder.join(run.text("folder")), run: (*run).clone() }),
        [] => {
            let names: Vec<String> = runs.iter().map(|run| run.text("folder")).collect();
            let near = rooflens_compose::near(name, names.iter().map(String::as_str));
            Err(RunsError::NoSuchRun { name: name.to_owned(), folder: root.to_owned(), near }.into())
        }
        several => {
            let found = several.iter().map(|run| run.text("folder")).collect();
            Err(RunsError::Ambiguous { name: name.to_owned(), found }.into())
        }
    }
}
