//! Paths as people write them in files and in environment variables.

use std::path::{Path, PathBuf};

use rooflens_compose::EnvironmentLookup;

/// What a variable says, where it is set.
pub(crate) fn by_variable(environment: &EnvironmentLookup, project: &Path, name: &str) -> Option<PathBuf> {
    // An empty variable is the shell's way to take one back.
    environment(name).filter(|value| !value.is_empty()).map(|value| absolute(environment, project, &value))
}

/// The path from the root: `~` is the home folder, a relative path starts from the project.
pub(crate) fn absolute(environment: &EnvironmentLookup, project: &Path, path: &str) -> PathBuf {
    let below_home = match path.strip_prefix('~') {
        Some("") => Some(""),
        Some(rest) => rest.strip_prefix('/'),
        None => None,
    };
    let home = environment("HOME").filter(|home| !home.is_empty());
    match (below_home, home) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => project.join(path),
    }
}
