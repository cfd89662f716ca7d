//! The folder that intermediate results spill to.
//!
//! DataFusion removes its files when it drops them; a query that is interrupted drops nothing. So everything goes into
//! a folder of this process, which is removed at the end whatever happened. Other files in the folder that the request
//! names are not touched.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rooflens_engine_protocol::{Fault, Kind};

/// Attempts to remove the folder: threads of an interrupted query may still write into it.
const ATTEMPTS: usize = 10;

#[derive(Debug, Clone, Default)]
pub(crate) struct Registry {
    folders: Arc<Mutex<Vec<Folder>>>,
}

#[derive(Debug)]
struct Folder {
    own: PathBuf,
    /// The folder above, where this process made it.
    made: Option<PathBuf>,
}

impl Registry {
    /// Makes the folder of this process below the one that is given.
    pub(crate) fn folder(&self, parent: Option<&Path>) -> Result<PathBuf, Fault> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        let made = (!parent.exists()).then(|| parent.clone());
        let own = parent.join(format!("rooflens-query-{}", std::process::id()));
        fs::create_dir_all(&own).map_err(|error| {
            let message = format!("cannot make the spill folder {}: {error}", own.display());
            Fault::new(Kind::Engine, message).hint("choose a folder that can be written to")
        })?;
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        folders.push(Folder { own: own.clone(), made });
        Ok(own)
    }

    pub(crate) fn clear(&self) {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        for Folder { own, made } in folders.drain(..) {
            for _ in 0..ATTEMPTS {
                match fs::remove_dir_all(&own) {
                    Ok(()) => break,
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => break,
                    Err(_) => {}
                }
            }
            if let Some(made) = made {
                // Somebody else may have put something there meanwhile; then it stays.
                let _ = fs::remove_dir(made);
            }
        }
    }
}
