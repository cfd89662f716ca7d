//! Why an archive is not unpacked.

use std::io;

/// Why an archive is not unpacked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[rustfmt::skip] // One problem, two lines.
#[allow(missing_docs, reason = "the fields are what the messages say they are")]
pub enum ArchiveProblem {
    /// Neither zip, tar nor tar.gz.
    #[error("is neither a zip, a tar nor a tar.gz")]
    UnknownFormat,
    /// It cannot be read to its end.
    #[error("is damaged or of an unknown kind: {message}")]
    Malformed { message: String },
    /// A name that begins at the root.
    #[error("has an absolute path")]
    AbsolutePath,
    /// A name that climbs.
    #[error("has '..' in its path")]
    ParentPath,
    /// A name with a drive or backslashes.
    #[error("has a Windows path")]
    WindowsPath,
    /// A name that cannot be one.
    #[error("has a name that is empty, not UTF-8 or has control characters")]
    OddName,
    /// A path of too many folders.
    #[error("is nested deeper than {limit} folders")]
    TooDeep { limit: usize },
    /// The name of our own note.
    #[error("has a name that is reserved for Rooflens")]
    ReservedName,
    /// A name for the second time.
    #[error("is listed twice")]
    Duplicate,
    /// Some name for the second time.
    #[error("has two entries with one name")]
    DuplicateNames,
    /// A file where a folder is needed.
    #[error("is inside something that is not a folder")]
    ParentNotFolder,
    /// A link that leads out, or nowhere.
    #[error("is a link to '{target}', which is not inside the archive")]
    LinkOutside { target: String },
    /// A hard link.
    #[error("is a hard link")]
    HardLink,
    /// A device, pipe or socket.
    #[error("is neither a file, a folder nor a link")]
    SpecialFile,
    /// Two entries share their bytes.
    #[error("has overlapping entries, as in a zip bomb")]
    Overlapping,
    /// Too many entries.
    #[error("has more than {limit} entries")]
    TooManyEntries { limit: u64 },
    /// Too many bytes.
    #[error("unpacks to more than {limit} bytes")]
    TooManyBytes { limit: u64 },
    /// Too much out of too little.
    #[error("unpacks to more than {limit} times its size")]
    TooDense { limit: u64 },
    /// A list of entries larger than their number explains.
    #[error("has a list of entries that is too long")]
    LongDirectory,
    /// What comes out cannot be written.
    #[error("cannot be written: {message}")]
    Unwritable { message: String },
    /// The user stopped it.
    #[error("stopped")]
    Stopped,
}

impl ArchiveProblem {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let key = match self {
            ArchiveProblem::TooManyEntries { .. } => "max_entries",
            ArchiveProblem::TooManyBytes { .. } => "max_bytes",
            ArchiveProblem::TooDense { .. } => "max_ratio",
            _ => return None,
        };
        Some(format!("if the archive is trusted, raise {key} beside it in bootstrap.yaml"))
    }
}

/// A problem and the entry it is with.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) entry: Option<String>,
    pub(super) problem: ArchiveProblem,
}

impl Refusal {
    /// A problem of the whole archive.
    pub(super) fn whole(problem: ArchiveProblem) -> Self {
        Self { entry: None, problem }
    }

    pub(super) fn entry(name: &str, problem: ArchiveProblem) -> Self {
        Self { entry: Some(name.chars().take(200).flat_map(char::escape_debug).collect()), problem }
    }

    pub(super) fn malformed(entry: Option<&str>, message: impl ToString) -> Self {
        let problem = ArchiveProblem::Malformed { message: message.to_string() };
        match entry {
            Some(name) => Self::entry(name, problem),
            None => Self::whole(problem),
        }
    }

    pub(super) fn unwritable(entry: &str, error: &io::Error) -> Self {
        Self::entry(entry, ArchiveProblem::Unwritable { message: error.to_string() })
    }
}
