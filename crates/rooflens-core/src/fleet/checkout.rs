//! Runs of a store as run directories, for commands that read those.

use std::path::PathBuf;

use rooflens_schema::RunDir;
use rooflens_store::StoredRun;
use tempfile::TempDir;

use super::runs::StoreFilter;
use super::store::{block_on, open, stored};
use crate::error::{Error, FleetError};
use crate::observer::{Event, SharedObserver};
use crate::saved;

/// Inputs of a command; those that came from a store are gone when this is dropped.
pub struct Checkout {
    /// A path for each input, in their order.
    pub paths: Vec<PathBuf>,
    _folder: TempDir,
}

/// Finds each input: a path that exists is itself; else it is the id of a run, its beginning, or `COLUMN=VALUE,…`, which
/// means the newest run that is so.
pub fn checkout(store: &str, inputs: &[PathBuf], observer: &SharedObserver) -> Result<Checkout, Error> {
    let folder = saved::scratch()?;
    let opened = open(store)?;
    let mut all: Option<Vec<StoredRun>> = None;
    let mut paths = Vec::new();
    for input in inputs {
        if input.exists() {
            paths.push(input.clone());
            continue;
        }
        let text = input.to_string_lossy();
        let run = match text.contains('=') {
            false => block_on(opened.find(&text))?,
            true => {
                let columns = text.split(',').map(StoreFilter::parse).collect::<Result<_, _>>()?;
                let filter = StoreFilter { columns, ..StoreFilter::default() };
                let runs = match &mut all {
                    Some(runs) => runs,
                    None => all.insert(stored(store)?),
                };
                let none = || FleetError::Value(format!("no run of {store} has {text}"));
                runs.iter().find(|run| filter.takes(run)).cloned().ok_or_else(none)?
            }
        };
        observer.event(&Event::Working { what: &format!("reading run {} of the store", run.entry.run_id) });
        let path = folder.path().join(&run.entry.run_id);
        block_on(opened.fetch(&run, &RunDir::new(&path)))?;
        paths.push(path);
    }
    Ok(Checkout { paths, _folder: folder })
}
