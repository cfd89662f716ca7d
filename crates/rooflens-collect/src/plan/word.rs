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
pub enum Root {
    /// That of the run.
    Run,
    /// That of the project.
    Project,
    /// That of the Python package.
    Package,
}

impl Root {
    const ALL: [Root; 3] = [Root::Run, Root::Project, Root::Package];

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenWord", into = "WrittenWord")]
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

impl Word {
    /// The word that is shown so: the opposite of [`Word::shown`], as far as there is one.
    fn read(shown: &str) -> Self {
        if shown == "$PACKAGE${PYTHONPATH:+:$PYTHONPATH}" {
            return Word::PythonPath(None);
        }
        if let Some(folder) = shown.strip_suffix(":$PATH") {
            return Word::SearchPath(Box::new(Word::read(folder)));
        }
        if let Some(then) = shown.strip_prefix("$PACKAGE:") {
            return Word::PythonPath(Some(then.to_owned()));
        }
        let file = shown.strip_prefix("$(cat ").and_then(|shown| shown.strip_suffix(')'));
        match (file.and_then(path_below), path_below(shown)) {
            (Some((root, path)), _) => Word::Text(root, path.to_owned()),
            (None, Some((root, path))) => Word::In(root, path.to_owned()),
            (None, None) => Word::plain(shown),
        }
    }
}

/// The folder and the path of `$RUN/path`; the path of `$RUN` is empty.
fn path_below(shown: &str) -> Option<(Root, &str)> {
    let shown = shown.strip_prefix('$')?;
    let root = Root::ALL.into_iter().find(|root| shown.starts_with(root.variable()))?;
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
    In(Root, String),
    /// The text of a file below a folder.
    Text(Root, String),
    /// The Python package, and what `PYTHONPATH` is otherwise.
    PythonPath(Option<String>),
    /// A folder in front of what `PATH` is otherwise.
    SearchPath(Box<WrittenWord>),
}

impl From<Word> for WrittenWord {
    fn from(word: Word) -> Self {
        let shown = word.shown();
        if Word::read(&shown) == word {
            return WrittenWord::Shown(shown);
        }
        WrittenWord::Exact(match word {
            Word::Plain(text) => ExactWord::Plain(text),
            Word::In(root, path) => ExactWord::In(root, path),
            Word::Text(root, path) => ExactWord::Text(root, path),
            Word::PythonPath(then) => ExactWord::PythonPath(then),
            Word::SearchPath(folder) => ExactWord::SearchPath(Box::new((*folder).into())),
        })
    }
}

impl From<WrittenWord> for Word {
    fn from(written: WrittenWord) -> Self {
        match written {
            WrittenWord::Shown(shown) => Word::read(&shown),
            WrittenWord::Exact(ExactWord::Plain(text)) => Word::Plain(text),
            WrittenWord::Exact(ExactWord::In(root, path)) => Word::In(root, path),
            WrittenWord::Exact(ExactWord::Text(root, path)) => Word::Text(root, path),
            WrittenWord::Exact(ExactWord::PythonPath(then)) => Word::PythonPath(then),
            WrittenWord::Exact(ExactWord::SearchPath(folder)) => Word::SearchPath(Box::new((*folder).into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(word: &Word) -> String {
        serde_json::to_string(word).unwrap()
    }

    #[test]
    fn every_word_is_read_back_as_itself() {
        let path = |root, path: &str| Word::In(root, path.to_owned());
        let search = |word| Word::SearchPath(Box::new(word));
        let words = [
            (Word::plain("python3"), r#""python3""#),
            (Word::plain(""), r#""""#),
            (Word::plain("$HOME/x"), r#""$HOME/x""#),
            (Word::plain("$RUNNER"), r#""$RUNNER""#),
            (path(Root::Run, ""), r#""$RUN""#),
            (path(Root::Project, "a/b"), r#""$PROJECT/a/b""#),
            (Word::Text(Root::Run, "raw/x".to_owned()), r#""$(cat $RUN/raw/x)""#),
            (Word::PythonPath(None), r#""$PACKAGE${PYTHONPATH:+:$PYTHONPATH}""#),
            (Word::PythonPath(Some("lib".to_owned())), r#""$PACKAGE:lib""#),
            (search(path(Root::Project, ".venv/bin")), r#""$PROJECT/.venv/bin:$PATH""#),
            (search(path(Root::Package, "")), r#""$PACKAGE:$PATH""#),
            // What looks like another word is written in full.
            (Word::plain("$RUN/x"), r#"{"plain":"$RUN/x"}"#),
            (Word::plain("bin:$PATH"), r#"{"plain":"bin:$PATH"}"#),
            (path(Root::Run, "x:$PATH"), r#"{"in":["run","x:$PATH"]}"#),
            (Word::PythonPath(Some("$PATH".to_owned())), r#"{"python_path":"$PATH"}"#),
            (search(Word::plain("$RUN")), r#"{"search_path":{"plain":"$RUN"}}"#),
        ];
        for (word, written) in words {
            assert_eq!(json(&word), written);
            assert_eq!(serde_json::from_str::<Word>(written).unwrap(), word, "{written}");
        }
    }
}
