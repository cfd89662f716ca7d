//! Words of a command whose paths stand from folders that a plan does not know.
//!
//! A plan must not change with the time of day or the folder it is made in, so a path is a folder's
//! name and the rest. It reads as a shell would have it: `$RUN/raw/measure/spec.json`.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A folder that is known only when steps are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanRoot {
    /// That of the run.
    Run,
    /// That of the project.
    Project,
    /// That of the Python package.
    Package,
}

impl PlanRoot {
    const ALL: [PlanRoot; 3] = [PlanRoot::Run, PlanRoot::Project, PlanRoot::Package];

    pub(crate) fn variable(self) -> &'static str {
        match self {
            PlanRoot::Run => "RUN",
            PlanRoot::Project => "PROJECT",
            PlanRoot::Package => "PACKAGE",
        }
    }
}

/// Where the folders are, absolute.
#[derive(Debug, Clone)]
pub struct RunFolders {
    /// That of the run.
    pub run: PathBuf,
    /// That of the project.
    pub project: PathBuf,
    /// That of the Python package.
    pub package: PathBuf,
}

impl RunFolders {
    pub(crate) fn of(&self, root: PlanRoot) -> &Path {
        match root {
            PlanRoot::Run => &self.run,
            PlanRoot::Project => &self.project,
            PlanRoot::Package => &self.package,
        }
    }
}

/// A word of a command, or the value of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenWord", into = "WrittenWord")]
pub enum CommandWord {
    /// As it is.
    Plain(String),
    /// A path below a folder; the folder itself where it is empty.
    In(PlanRoot, String),
    /// The text of a file below a folder, which is written before the step is taken.
    Text(PlanRoot, String),
    /// The Python package, and what `PYTHONPATH` is otherwise: of the config, or inherited.
    PythonPath(Option<String>),
    /// A folder in front of what `PATH` is otherwise.
    SearchPath(Box<CommandWord>),
}

impl CommandWord {
    /// Text as it is.
    pub fn plain(text: impl Into<String>) -> Self {
        CommandWord::Plain(text.into())
    }

    /// A program of the config: a path starts from the project's folder; a bare name is searched for in `PATH`.
    pub(crate) fn program(name: &str) -> Self {
        if name.contains('/') { CommandWord::path(PlanRoot::Project, name) } else { CommandWord::plain(name) }
    }

    /// A path of the config: from a folder, unless it is absolute.
    pub fn path(root: PlanRoot, path: &str) -> Self {
        if path.starts_with('/') {
            return CommandWord::plain(path);
        }
        let path = path.trim_start_matches("./");
        CommandWord::In(root, if path == "." { String::new() } else { path.to_owned() })
    }

    /// The text that a process gets.
    pub fn resolve(&self, places: &RunFolders) -> OsString {
        match self {
            CommandWord::Plain(text) => text.into(),
            CommandWord::In(root, path) if path.is_empty() => places.of(*root).into(),
            CommandWord::In(root, path) => places.of(*root).join(path).into(),
            // If it does not exist the word is empty, and the program reports that it cannot use it.
            CommandWord::Text(root, path) => {
                std::fs::read_to_string(places.of(*root).join(path)).unwrap_or_default().trim().into()
            }
            CommandWord::PythonPath(then) => {
                let mut paths = places.package.clone().into_os_string();
                let then = then.clone().map(OsString::from).or_else(|| env::var_os("PYTHONPATH"));
                if let Some(then) = then.filter(|then| !then.is_empty()) {
                    paths.push(":");
                    paths.push(then);
                }
                paths
            }
            CommandWord::SearchPath(folder) => {
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

impl CommandWord {
    fn shown(&self) -> String {
        match self {
            CommandWord::Plain(text) => text.clone(),
            CommandWord::In(root, path) if path.is_empty() => format!("${}", root.variable()),
            CommandWord::In(root, path) => format!("${}/{path}", root.variable()),
            CommandWord::Text(root, path) => format!("$(cat ${}/{path})", root.variable()),
            CommandWord::PythonPath(None) => "$PACKAGE${PYTHONPATH:+:$PYTHONPATH}".to_owned(),
            CommandWord::PythonPath(Some(then)) => format!("$PACKAGE:{then}"),
            CommandWord::SearchPath(folder) => format!("{}:$PATH", folder.shown()),
        }
    }
}

impl CommandWord {
    fn read(shown: &str) -> Self {
        if shown == "$PACKAGE${PYTHONPATH:+:$PYTHONPATH}" {
            return CommandWord::PythonPath(None);
        }
        if let Some(folder) = shown.strip_suffix(":$PATH") {
            return CommandWord::SearchPath(Box::new(CommandWord::read(folder)));
        }
        if let Some(then) = shown.strip_prefix("$PACKAGE:") {
            return CommandWord::PythonPath(Some(then.to_owned()));
        }
        let file = shown.strip_prefix("$(cat ").and_then(|shown| shown.strip_suffix(')'));
        match (file.and_then(path_below), path_below(shown)) {
            (Some((root, path)), _) => CommandWord::Text(root, path.to_owned()),
            (None, Some((root, path))) => CommandWord::In(root, path.to_owned()),
            (None, None) => CommandWord::plain(shown),
        }
    }
}

/// The folder and the path of `$RUN/path`; the path of `$RUN` is empty.
fn path_below(shown: &str) -> Option<(PlanRoot, &str)> {
    let shown = shown.strip_prefix('$')?;
    let root = PlanRoot::ALL.into_iter().find(|root| shown.starts_with(root.variable()))?;
    let rest = shown.strip_prefix(root.variable())?;
    if rest.is_empty() { Some((root, "")) } else { Some((root, rest.strip_prefix('/')?)) }
}

/// A word in JSON: as a shell would have it; in full where that could be read as another word, as plain text
/// that begins with `$RUN`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum WrittenWord {
    /// As a shell would have it.
    Shown(String),
    /// In full.
    Exact(ExactWord),
}

/// See [`Word`].
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ExactWord {
    /// As it is.
    Plain(String),
    /// A path below a folder.
    In(PlanRoot, String),
    /// The text of a file below a folder.
    Text(PlanRoot, String),
    /// The Python package, and what `PYTHONPATH` is otherwise.
    PythonPath(Option<String>),
    /// A folder in front of what `PATH` is otherwise.
    SearchPath(Box<WrittenWord>),
}

impl From<CommandWord> for WrittenWord {
    fn from(word: CommandWord) -> Self {
        let shown = word.shown();
        if CommandWord::read(&shown) == word {
            return WrittenWord::Shown(shown);
        }
        WrittenWord::Exact(match word {
            CommandWord::Plain(text) => ExactWord::Plain(text),
            CommandWord::In(root, path) => ExactWord::In(root, path),
            CommandWord::Text(root, path) => ExactWord::Text(root, path),
            CommandWord::PythonPath(then) => ExactWord::PythonPath(then),
            CommandWord::SearchPath(folder) => ExactWord::SearchPath(Box::new((*folder).into())),
        })
    }
}

impl From<WrittenWord> for CommandWord {
    fn from(written: WrittenWord) -> Self {
        match written {
            WrittenWord::Shown(shown) => CommandWord::read(&shown),
            WrittenWord::Exact(ExactWord::Plain(text)) => CommandWord::Plain(text),
            WrittenWord::Exact(ExactWord::In(root, path)) => CommandWord::In(root, path),
            WrittenWord::Exact(ExactWord::Text(root, path)) => CommandWord::Text(root, path),
            WrittenWord::Exact(ExactWord::PythonPath(then)) => CommandWord::PythonPath(then),
            WrittenWord::Exact(ExactWord::SearchPath(folder)) => {
                CommandWord::SearchPath(Box::new((*folder).into()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(word: &CommandWord) -> String {
        serde_json::to_string(word).unwrap()
    }

    #[test]
    fn every_word_is_read_back_as_itself() {
        let path = |root, path: &str| CommandWord::In(root, path.to_owned());
        let search = |word| CommandWord::SearchPath(Box::new(word));
        let words = [
            (CommandWord::plain("python3"), r#""python3""#),
            (CommandWord::plain(""), r#""""#),
            (CommandWord::plain("$HOME/x"), r#""$HOME/x""#),
            (CommandWord::plain("$RUNNER"), r#""$RUNNER""#),
            (path(PlanRoot::Run, ""), r#""$RUN""#),
            (path(PlanRoot::Project, "a/b"), r#""$PROJECT/a/b""#),
            (CommandWord::Text(PlanRoot::Run, "raw/x".to_owned()), r#""$(cat $RUN/raw/x)""#),
            (CommandWord::PythonPath(None), r#""$PACKAGE${PYTHONPATH:+:$PYTHONPATH}""#),
            (CommandWord::PythonPath(Some("lib".to_owned())), r#""$PACKAGE:lib""#),
            (search(path(PlanRoot::Project, ".venv/bin")), r#""$PROJECT/.venv/bin:$PATH""#),
            (search(path(PlanRoot::Package, "")), r#""$PACKAGE:$PATH""#),
            // What looks like another word is written in full.
            (CommandWord::plain("$RUN/x"), r#"{"plain":"$RUN/x"}"#),
            (CommandWord::plain("bin:$PATH"), r#"{"plain":"bin:$PATH"}"#),
            (path(PlanRoot::Run, "x:$PATH"), r#"{"in":["run","x:$PATH"]}"#),
            (CommandWord::PythonPath(Some("$PATH".to_owned())), r#"{"python_path":"$PATH"}"#),
            (search(CommandWord::plain("$RUN")), r#"{"search_path":{"plain":"$RUN"}}"#),
        ];
        for (word, written) in words {
            assert_eq!(json(&word), written);
            assert_eq!(serde_json::from_str::<CommandWord>(written).unwrap(), word, "{written}");
        }
    }
}
