//! Finds the program of a command, before anything is made for it.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::ExecuteError;
use crate::plan::{ProcessCommand, RunFolders};

/// Where the program of a command is.
pub fn find_program(command: &ProcessCommand, places: &RunFolders) -> Result<PathBuf, ExecuteError> {
    let program = command.argv.first().map(|word| PathBuf::from(word.resolve(places))).unwrap_or_default();
    named_program(&program).ok_or_else(|| {
        let instead = ["python3", "python"].into_iter().filter(|name| on_path(Path::new(name)).is_some());
        ExecuteError::no_program(&program.display().to_string(), &instead.collect::<Vec<_>>())
    })
}

/// Where a program is, by its path or by its name alone.
pub fn named_program(name: &Path) -> Option<PathBuf> {
    let has_folder = name.components().count() > 1;
    if has_folder { Some(name.to_owned()).filter(|path| is_program(path)) } else { on_path(name) }
}

fn on_path(name: &Path) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}
