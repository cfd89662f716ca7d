//! What can keep a project from being made.

use std::io;
use std::path::PathBuf;

/// A project that was not made. Whatever had been written of it is gone again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkeletonError {
    /// The folder has something in it.
    #[error("'{}' is not empty: it has {}", folder.display(), listed(found, *more))]
    NotEmpty {
        /// The folder.
        folder: PathBuf,
        /// Some of what is in it, sorted.
        found: Vec<String>,
        /// How many more there are.
        more: usize,
    },
    /// Something stands where a folder must be, or a folder where a file must be.
    #[error("'{}' is in the way: expected {expected}, found {actual}", path.display())]
    InTheWay {
        /// What is at the path.
        path: PathBuf,
        /// What has to.
        expected: &'static str,
        /// What it is.
        actual: &'static str,
    },
    /// The system refused.
    #[error("'{}' cannot be {action}: {source}", path.display())]
    Refused {
        /// What it is about.
        path: PathBuf,
        /// What was tried: `read`, `made` or `written`.
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl SkeletonError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotEmpty { .. } => Some(
                "name a new folder, or add --force to keep every file there and add those that are missing"
                    .to_owned(),
            ),
            Self::InTheWay { path, .. } => Some(format!("move '{}' away", path.display())),
            Self::Refused { .. } => None,
        }
    }
}

fn listed(found: &[String], more: usize) -> String {
    let names = found.join(", ");
    if more == 0 { names } else { format!("{names} and {more} more") }
}
