//! Words of a command whose paths stand from folders that a plan does not know.
//!
//! A plan must not change with the time of day or the folder it is made in, so a path is a folder's
//! name and the rest. It reads as a shell would have it: `$RUN/raw/measure/spec.json`.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

/// A folder that is known only when steps are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// That of the run.
    Run,
    /// That of the project.
    Project,
    /// That of the Python package.
    Package,
}

impl Root {
    /// Its name in a shell.
    #[must_use]
    pub fn variable(self) -> &'static str {
        match self {
            Root::Run => "RUN",
            Root::Project => "PROJECT",
            Root::Package => "PACKAGE",
        }
    }
}

/// Where the folders are, absolute.
#[derive(Debug, Clone)]
pub struct Places {
    /// That of the run.
    pub run: PathBuf,
    /// That of the project.
    pub project: PathBuf,
    /// That of the Python package.
    pub package: PathBuf,
}

impl Places {
    /// Where a folder is.
    #[must_use]
    pub fn of(&self, root: Root) -> &Path {
        match root {
            Root::Run => &self.run,
            Root::Project => &self.project,
            Root::Package => &self.package,
        }
    }
}

/// A word of a command, or the value of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// As it is.
    Plain(String),
    /// A path below a folder; the folder itself where it is empty.
    In(Root, String),
    /// The text of a file below a folder, which is written before the step is taken.
    Text(Root, String),
    /// The Python package, and what `PYTHONPATH` is otherwise: of the config, or inherited.
    PythonPath(Option<String>),
    /// A folder in front of what `PATH` is otherwise.
    SearchPath(Box<Word>),
}

impl Word {
    /// Text as it is.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Word::Plain(text.into())
    }

    /// A path of the config: from a folder, unless it is absolute.
    #[must_use]
    pub fn path(root: Root, path: &str) -> Self {
        if path.starts_with('/') {
            return Word::plain(path);
        }
        let path = path.trim_start_matches("./");
        Word::In(root, if path == "." { String::new() } else { path.to_owned() })
    }

    /// The text that a process gets.
    #[must_use]
    pub fn resolve(&self, places: &Places) -> OsString {
        match self {
            Word::Plain(text) => text.into(),
            Word::In(root, path) if path.is_empty() => places.of(*root).into(),
            Word::In(root, path) => places.of(*root).join(path).into(),
            // If it does not exist the word is empty, and the program reports that it cannot use it.
            Word::Text(root, path) => {
                std::fs::read_to_string(places.of(*root).join(path)).unwrap_or_default().trim().into()
            }
            Word::PythonPath(then) => {
                let mut paths = places.package.clone().into_os_string();
                let then = then.clone().map(OsString::from).or_else(|| env::var_os("PYTHONPATH"));
                if let Some(then) = then.filter(|then| !then.is_empty()) {
                    paths.push(":");
                    paths.push(then);
                }
                paths
            }
            Word::SearchPath(folder) => {
                let mut paths = folder.resolve(places);
                if let Some(then) = env::var_os("PATH").filter(|then| !then.is_empty()) {
                    paths.push(":");
                    paths.push(then);
                }
                paths
            }
        }
    }
}

impl Word {
    fn shown(&self) -> String {
        match self {
            Word::Plain(text) => text.clone(),
            Word::In(root, path) if path.is_empty() => format!("${}", root.variable()),
            Word::In(root, path) => format!("${}/{path}", root.variable()),
            Word::Text(root, path) => format!("$(cat ${}/{path})", root.variable()),
            Word::PythonPath(None) => "$PACKAGE${PYTHONPATH:+:$PYTHONPATH}".to_owned(),
            Word::PythonPath(Some(then)) => format!("$PACKAGE:{then}"),
            Word::SearchPath(folder) => format!("{}:$PATH", folder.shown()),
        }
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.shown())
    }
}
