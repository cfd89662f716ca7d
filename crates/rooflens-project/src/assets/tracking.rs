//! Whether git would track a path.

use std::ffi::OsStr;
use std::path::Path;

use serde::Serialize;

use crate::git;

/// Whether git leaves a path alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ignored {
    /// It is ignored.
    Yes,
    /// It would be tracked, or is.
    No,
    /// The project is not in a git repository, or there is no git.
    NotAsked,
}

/// Knows what git tracks. A trait, so that planning starts no process in a test.
pub trait Tracking {
    /// Whether git leaves a path of a project alone. A pattern that ends in `/` matches folders
    /// only, and a link to a folder is not one.
    fn ignored(&self, project: &Path, relative: &Path, is_folder: bool) -> Ignored;
}

/// The `git` of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Git;

impl Tracking for Git {
    fn ignored(&self, project: &Path, relative: &Path, is_folder: bool) -> Ignored {
        // `./` keeps a name like `:(glob)x` from being read as pathspec magic.
        let mut argument = Path::new(".").join(relative).into_os_string();
        if is_folder {
            argument.push("/");
        }
        let question = [OsStr::new("check-ignore"), OsStr::new("--quiet"), OsStr::new("--"), &argument];
        match git::Git::at(project).with_patterns().code(&question).ok().flatten() {
            Some(0) => Ignored::Yes,
            Some(1) => Ignored::No,
            _ => Ignored::NotAsked,
        }
    }
}

/// No git at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct Untracked;

impl Tracking for Untracked {
    fn ignored(&self, _project: &Path, _relative: &Path, _is_folder: bool) -> Ignored {
        Ignored::NotAsked
    }
}

/// The line of the project's `.gitignore` that matches this path and nothing else.
pub(super) fn ignore_line(path: &Path) -> String {
    format!("/{}", git::literal(&path.to_string_lossy()))
}
