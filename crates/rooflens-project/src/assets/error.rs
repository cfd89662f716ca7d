//! What can be wrong with assets: the fact, the place, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use rooflens_compose::value::{Origin, ValueSource};
use rooflens_compose::yaml::YamlError;
use rooflens_compose::{ProblemPlace, near};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::archive::ArchiveProblem;

/// A thing about assets that cannot be done.
#[derive(Debug, thiserror::Error)]
#[error("{fault}")]
pub struct AssetError {
    /// What is wrong.
    pub fault: Box<AssetFault>,
    /// Where it stands.
    pub place: Option<Box<ProblemPlace>>,
    /// The nearest valid choice to a name that is not one.
    pub suggestion: Option<String>,
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[rustfmt::skip] // One fault, two lines.
#[allow(missing_docs, reason = "the fields are what the messages say they are")]
pub enum AssetFault {
    /// A file or folder that cannot be read.
    #[error("'{}' cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// A file or folder that cannot be made or changed.
    #[error("'{}' cannot be written: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    /// A file of more bytes than such a file has.
    #[error("'{}' is larger than {limit} bytes", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    /// A file that is not text.
    #[error("'{}' is not UTF-8 text", path.display())]
    NotText { path: PathBuf },
    /// A file that is not YAML.
    #[error("{}", error.problem)]
    Yaml { error: YamlError },
    /// A key that has no meaning.
    #[error("{within} has no key '{key}'; it has {}", known.join(", "))]
    UnknownKey { key: String, within: String, known: &'static [&'static str] },
    /// A key that must be there.
    #[error("{within} needs the key '{key}'")]
    MissingKey { key: &'static str, within: String },
    /// A value of another kind.
    #[error("{within} must be {expected}, but is {found}")]
    FieldKind { within: String, expected: &'static str, found: &'static str },
    /// A value that does not do.
    #[error("{within}: '{value}' {problem}")]
    FieldValue { within: String, value: String, problem: &'static str },
    /// Two assets of one kind with one name.
    #[error("two {kind} are named '{name}'")]
    DuplicateName { name: String, kind: &'static str },
    /// Two things in one place.
    #[error("'{}' and '{}' would be nested", first.display(), second.display())]
    Overlap { first: PathBuf, second: PathBuf },
    /// A target where such an asset does not go.
    #[error("the target '{}' must be below {allowed}", target.display())]
    TargetPlace { target: PathBuf, allowed: String },
    /// A name that no asset has.
    #[error("there is no asset '{name}'{}", names_of(names))]
    UnknownAsset { name: String, names: Vec<String> },
    /// A project folder that is none.
    #[error("the project '{}' is not a folder", path.display())]
    NoProject { path: PathBuf },
    /// A path that leads out of the project.
    #[error("'{}' would be written outside the project: '{}' leads to '{}'", path.display(), through.display(), to.display())]
    OutsideProject { path: PathBuf, through: PathBuf, to: PathBuf },
    /// A parent that is a file.
    #[error("'{}' cannot be created: '{}' is not a folder", path.display(), parent.display())]
    ParentNotFolder { path: PathBuf, parent: PathBuf },
    /// Something came into the way since the plan was made.
    #[error("'{}' has changed since the plan was made", path.display())]
    Changed { path: PathBuf },
    /// An archive that is not extracted.
    #[error("the archive '{}' was not extracted: {}{problem}", archive.display(), entry_of(entry.as_deref()))]
    Archive { archive: PathBuf, entry: Option<String>, problem: ArchiveProblem },
    /// A dataset that the project does not have.
    #[error("there is no dataset '{name}'{}", names_of(names))]
    UnknownDataset { name: String, names: Vec<String> },
    /// A parent of a variant that is not there.
    #[error("the dataset '{dataset}' has no '{parent}'{}", names_of(names))]
    NoParent { dataset: String, parent: String, names: Vec<String> },
    /// A variant that is not there.
    #[error("the dataset '{dataset}' has no variant '{variant}'{}", names_of(names))]
    UnknownVariant { dataset: String, variant: String, names: Vec<String> },
    /// A variant without samples.
    #[error("'{}' has neither files.txt nor data", path.display())]
    EmptyVariant { path: PathBuf },
    /// Marks of a block that are not one pair.
    #[error("the marks of the block in '{}' are not one pair: {opening}", path.display())]
    BrokenMarks { path: PathBuf, opening: String },
    /// A command that was to make a variant, and failed.
    #[error("the command failed: {problem}")]
    TransformFailed { problem: String },
    /// A command that made nothing.
    #[error("the command wrote no file for '{}'", path.display())]
    NothingMade { path: PathBuf },
    /// A variant that is there and is not the same.
    #[error("'{}' already exists and differs from the request", path.display())]
    VariantExists { path: PathBuf },
    /// A line of a file list that names no file.
    #[error("'{entry}' {problem}")]
    ListEntry { entry: String, problem: &'static str },
    /// More samples than there are files.
    #[error("{wanted} samples per epoch were requested, but there are only {available} files")]
    TooFewFiles { wanted: u64, available: u64 },
    /// More samples than a list should have.
    #[error("a list of {samples} samples is longer than {limit}")]
    TooManySamples { samples: u128, limit: u64 },
    /// A folder of more files than can be sampled.
    #[error("'{}' has more than {limit} files", path.display())]
    TooManyFiles { path: PathBuf, limit: usize },
    /// The user stopped it.
    #[error("stopped")]
    Stopped,
}

/// Whose fault it is; the exit code follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssetFaultClass {
    /// A file the user wrote or an argument.
    Config,
    /// The machine: permissions, things in the way.
    Environment,
    /// The data itself.
    Data,
    /// The user stopped it.
    Interrupted,
}

/// An error as data, for machine-readable output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReport {
    /// The fact.
    pub message: String,
    /// File, line and column.
    pub place: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Whose fault it is.
    pub class: AssetFaultClass,
}

impl From<AssetFault> for AssetError {
    fn from(fault: AssetFault) -> Self {
        Self::new(fault)
    }
}

impl AssetError {
    pub(super) fn new(fault: AssetFault) -> Self {
        Self { fault: Box::new(fault), place: None, suggestion: None }
    }

    /// An error in a line of a text.
    pub(super) fn at(fault: AssetFault, origin: &Origin, text: &str) -> Self {
        let index = usize::try_from(origin.line).unwrap_or(usize::MAX).saturating_sub(1);
        let excerpt = text.lines().nth(index).unwrap_or("").chars().take(EXCERPT_CHARS).collect();
        Self { place: Some(Box::new(ProblemPlace { origin: origin.clone(), excerpt })), ..Self::new(fault) }
    }

    pub(super) fn yaml(error: YamlError) -> Self {
        let origin =
            Origin { source: ValueSource::File(error.file.clone()), line: error.line, column: error.column };
        let excerpt = error.excerpt.clone();
        Self {
            place: Some(Box::new(ProblemPlace { origin, excerpt })),
            ..Self::new(AssetFault::Yaml { error })
        }
    }

    pub(super) fn unreadable(path: &Path, source: io::Error) -> Self {
        Self::new(AssetFault::Unreadable { path: path.to_owned(), source })
    }

    pub(super) fn unwritable(path: &Path, source: io::Error) -> Self {
        Self::new(AssetFault::Unwritable { path: path.to_owned(), source })
    }

    /// With the nearest of some names to one that is none of them.
    pub(super) fn suggest<'a>(mut self, wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.suggestion = near(wanted, names).into_iter().next();
        self
    }

    /// What to do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        if let Some(suggestion) = &self.suggestion {
            return Some(format!("did you mean '{suggestion}'?"));
        }
        let hint = match &*self.fault {
            AssetFault::OutsideProject { through, .. } => {
                format!("make '{}' a real folder; only its entries may be links", through.display())
            }
            AssetFault::Changed { .. } => "run the command again".to_owned(),
            AssetFault::VariantExists { .. } => "choose another variant name, or move it away".to_owned(),
            AssetFault::UnknownVariant { dataset, .. } => {
                format!(
                    "rooflens assets subset {dataset} NAME creates one by sampling; rooflens assets variant \
                     creates others"
                )
            }
            AssetFault::EmptyVariant { .. } => {
                "put its files into data/ there; rooflens assets subset makes one of the parent's files"
                    .to_owned()
            }
            AssetFault::BrokenMarks { .. } => {
                "remove the remaining marks; the rest of the file is not changed".to_owned()
            }
            AssetFault::TransformFailed { .. } => "nothing was kept; fix it and run again".to_owned(),
            AssetFault::NothingMade { .. } => {
                "it must write to the folder in ROOFLENS_OUTPUT; nothing was kept".to_owned()
            }
            AssetFault::TooFewFiles { available, .. } => format!("ask for at most {available}"),
            AssetFault::Archive { problem, .. } => return problem.hint(),
            _ => return None,
        };
        Some(hint)
    }

    /// Whose fault it is.
    #[must_use]
    pub fn class(&self) -> AssetFaultClass {
        match &*self.fault {
            AssetFault::Unwritable { .. }
            | AssetFault::NoProject { .. }
            | AssetFault::OutsideProject { .. }
            | AssetFault::ParentNotFolder { .. }
            | AssetFault::Changed { .. }
            | AssetFault::TransformFailed { .. }
            | AssetFault::NothingMade { .. }
            | AssetFault::VariantExists { .. } => AssetFaultClass::Environment,
            AssetFault::Archive { .. } | AssetFault::Unreadable { .. } => AssetFaultClass::Data,
            AssetFault::Stopped => AssetFaultClass::Interrupted,
            _ => AssetFaultClass::Config,
        }
    }

    /// The error as data.
    #[must_use]
    pub fn report(&self) -> ErrorReport {
        ErrorReport {
            message: self.to_string(),
            place: self.place.as_ref().map(ToString::to_string),
            hint: self.hint(),
            class: self.class(),
        }
    }
}

/// The most characters of a line that an error repeats.
const EXCERPT_CHARS: usize = 160;

fn names_of(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!("; there are {}", names.join(", ")),
    }
}

fn entry_of(entry: Option<&str>) -> String {
    entry.map_or_else(|| "it ".to_owned(), |entry| format!("'{entry}' "))
}
