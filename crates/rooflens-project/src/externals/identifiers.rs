//! The words a lock is made of. One that exists has been checked: none can be taken for an option,
//! leave its folder, or name git's own files.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ExternalsError;

/// The name of a source, which is also the name of its folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct SourceName(String);

/// A commit or tree, by its full hexadecimal id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct ObjectId(String);

/// What is followed: a branch, a tag, `HEAD`, a full ref name or a full commit id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct Revision(String);

/// A file or folder within a source, with `/` between its parts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct InnerPath(String);

/// The longest name; file systems allow 255 bytes, and ours have a prefix and a suffix at times.
const MAX_NAME_BYTES: usize = 200;

impl SourceName {
    /// Checks a name.
    ///
    /// # Errors
    /// When it could not be a plain folder on every system, or would hide.
    pub fn parse(name: &str) -> Result<Self, ExternalsError> {
        let problem = if name.is_empty() {
            "it is empty"
        } else if name.len() > MAX_NAME_BYTES {
            "it is longer than 200 bytes"
        } else if name.starts_with('-') {
            "it starts with a dash, as options do"
        } else if name.starts_with('.') {
            "it starts with a dot"
        } else if name.ends_with('.') || name.trim() != name {
            "it starts or ends with a space, or ends with a dot"
        } else if name.contains(['/', '\\']) {
            "it has a slash"
        } else if name.contains([':', '*', '?', '"', '<', '>', '|']) || name.contains(char::is_control) {
            "it has a character that some file systems refuse"
        } else if name.eq_ignore_ascii_case("git~1") {
            "it is an alias of .git"
        } else {
            return Ok(Self(name.to_owned()));
        };
        Err(ExternalsError::BadName { name: name.to_owned(), problem })
    }

    /// Whether both would be one folder where upper and lower case are not told apart.
    pub(super) fn clashes_with(&self, other: &Self) -> bool {
        self != other && self.0.to_lowercase() == other.0.to_lowercase()
    }
}

impl ObjectId {
    /// Checks a full id, of SHA-1 or SHA-256.
    ///
    /// # Errors
    /// When it is not one.
    pub fn parse(id: &str) -> Result<Self, ExternalsError> {
        let is_hex = id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex && matches!(id.len(), 40 | 64) {
            return Ok(Self(id.to_owned()));
        }
        let problem = "an id has 40 (or 64) digits of 0-9 and a-f";
        Err(ExternalsError::BadRevision { revision: id.to_owned(), problem })
    }
}

impl Revision {
    /// Checks a revision by the rules of `git check-ref-format`.
    ///
    /// # Errors
    /// When no branch or tag can have that name.
    pub fn parse(revision: &str) -> Result<Self, ExternalsError> {
        let forbidden =
            |char: char| char.is_control() || matches!(char, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
        let bad_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
        let problem = if revision.is_empty() {
            "it is empty"
        } else if revision.starts_with('-') {
            "it starts with a dash, as options do"
        } else if revision.contains(forbidden) {
            "it has a character that git refuses in names"
        } else if revision.contains("..") || revision.contains("@{") || revision.ends_with('.') {
            "it has a sequence that git refuses in names"
        } else if revision.split('/').any(bad_part) {
            "a part of it is empty, starts with a dot or ends with .lock"
        } else {
            return Ok(Self(revision.to_owned()));
        };
        Err(ExternalsError::BadRevision { revision: revision.to_owned(), problem })
    }

    /// The id, where the revision is one.
    pub(super) fn as_id(&self) -> Option<ObjectId> {
        ObjectId::parse(&self.0.to_ascii_lowercase()).ok()
    }
}

impl InnerPath {
    /// Checks a path; a slash at its end is dropped.
    ///
    /// # Errors
    /// When it is absolute, goes up, or names git's own files.
    pub fn parse(path: &str) -> Result<Self, ExternalsError> {
        let trimmed = path.strip_suffix('/').unwrap_or(path);
        let is_git = |part: &str| part.eq_ignore_ascii_case(".git") || part.eq_ignore_ascii_case("git~1");
        let problem = if trimmed.is_empty() {
            "it is empty"
        } else if trimmed.starts_with('/') {
            "it is absolute"
        } else if trimmed.starts_with('-') {
            "it starts with a dash, as options do"
        } else if trimmed.contains('\\') || trimmed.contains(char::is_control) {
            "it has a backslash or a control character"
        } else if trimmed.split('/').any(|part| matches!(part, "" | "." | "..")) {
            "a part of it is empty, . or .."
        } else if trimmed.split('/').any(is_git) {
            "it names git's own files"
        } else {
            return Ok(Self(trimmed.to_owned()));
        };
        Err(ExternalsError::BadPath { path: path.to_owned(), problem })
    }

    /// Whether a file is this path or lies below it.
    pub(super) fn covers(&self, file: &str) -> bool {
        file.strip_prefix(&self.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

macro_rules! text {
    ($($type:ident),*) => {$(
        impl TryFrom<String> for $type {
            type Error = ExternalsError;

            fn try_from(text: String) -> Result<Self, ExternalsError> {
                Self::parse(&text)
            }
        }

        impl $type {
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }
    )*};
}

text!(SourceName, ObjectId, Revision, InnerPath);
