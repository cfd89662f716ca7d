//! What can go wrong with reference sources: the message states the fact, the hint the next command.

use std::io;
use std::path::{Path, PathBuf};

use rooflens_compose::near;
use rooflens_compose::yaml::YamlError;
use schemars::JsonSchema;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use super::SourceKind;
use crate::git::GitError;

/// Whose move it is, from which the command line has its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExternalsFaultClass {
    /// A wrong argument, lock or state of the project.
    Usage,
    /// A missing tool, file or permission, or a source out of reach.
    Environment,
    /// What was fetched is not what the lock says.
    Data,
}

/// A failure with a reference source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[rustfmt::skip] // One failure, two lines.
#[allow(missing_docs, reason = "the fields are what the messages say they are")]
pub enum ExternalsError {
    /// A name that cannot be a folder of its own.
    #[error("{name:?} cannot name a reference source: {problem}")]
    BadName { name: String, problem: &'static str },
    /// A url that is not safe or not understood.
    #[error("{url:?} cannot be fetched from: {problem}")]
    BadUrl { url: String, problem: &'static str },
    /// A revision that is no branch, tag or commit.
    #[error("{revision:?} is not a valid revision: {problem}")]
    BadRevision { revision: String, problem: &'static str },
    /// A path that does not stay in its source.
    #[error("{path:?} is not a valid path within a source: {problem}")]
    BadPath { path: String, problem: &'static str },
    /// Paths for a kind that takes everything, or none for one that needs them.
    #[error("{problem}")]
    BadPaths { kind: SourceKind, problem: &'static str },
    /// The remote has no such branch, tag or commit.
    #[error("{url} has no branch, tag or commit {revision:?}")]
    NoSuchRevision { url: String, revision: String },
    /// A branch and a tag of one name.
    #[error("{url} has both a branch and a tag {revision:?}")]
    AmbiguousRevision { url: String, revision: String },
    /// The pinned commit is no longer served.
    #[error("{url} does not serve commit {commit}: {said}")]
    CommitGone { url: String, commit: String, said: String },
    /// The remote did not answer.
    #[error("{url} cannot be reached: {said}")]
    Unreachable { url: String, said: String },
    /// Git cannot be started.
    #[error("git cannot be started: {source}")]
    NoGit { source: io::Error },
    /// Git refused.
    #[error("`git {command}` failed: {said}")]
    Git { command: String, said: String },
    /// A kind that lives in the project's own repository, without one.
    #[error("{root} is not in a git repository, which a {kind} needs", root = root.display())]
    NotARepository { kind: SourceKind, root: PathBuf },
    /// The name stands in the lock for something else.
    #[error("{name:?} is already a {kind} of {url}")]
    Taken { name: String, kind: SourceKind, url: String },
    /// The lock has no such source.
    #[error("the lock has no source {name:?}")]
    UnknownSource { name: String, known: Vec<String> },
    /// The commit has nothing at a path asked for.
    #[error("{url} has no {path:?} at {commit}")]
    NothingAtPath { url: String, path: String, commit: String },
    /// A subtree cannot hold submodules.
    #[error("{url} has submodules of its own ({}), which a subtree cannot hold", paths.join(", "))]
    NestedSubmodules { url: String, paths: Vec<String> },
    /// Work would be lost.
    #[error("{place} has local edits: {}", listed(edits))]
    LocalEdits { place: String, edits: Vec<String> },
    /// A link to something that is no checkout.
    #[error("{path} is not a git checkout with a commit")]
    NoCheckout { path: String },
    /// A linked checkout is at another commit.
    #[error("{name}: {path} is at {found}, but the lock says {commit}")]
    CheckoutMoved { name: String, path: String, commit: String, found: String },
    /// Something else stands where the source belongs.
    #[error("{place} is {found}, not a {kind}")]
    InTheWay { place: String, found: &'static str, kind: SourceKind },
    /// A folder of ours is a link, so that writing would leave the project.
    #[error("{path} is a symbolic link: nothing is written through it")]
    LinkedFolder { path: String },
    /// The lock is not YAML.
    #[error("{file}: {error}", file = error.file)]
    LockYaml { error: Box<YamlError> },
    /// The lock is YAML of another shape.
    #[error("{file}:{line}: {problem}")]
    LockShape { file: String, line: u32, problem: String },
    /// No folder of the hub's cache was given.
    #[error("no Hugging Face cache folder is known to copy {repository} from")]
    HubCacheUnset { repository: String },
    /// The cache lacks the snapshot.
    #[error("the Hugging Face cache has no snapshot of {repository} at {revision}")]
    HubSnapshotMissing { repository: String, revision: String },
    /// The snapshot has a link out of its repository.
    #[error("{path:?} of {repository} is a symbolic link that leaves the cache of its repository")]
    HubLink { repository: String, path: String },
    /// More than a reference source should weigh.
    #[error("the source files of {repository} have {bytes} bytes, over the limit of {bound}")]
    HubTooLarge { repository: String, bytes: u64, bound: u64 },
    /// What was fetched is not what was pinned.
    #[error("{name}: the lock says tree {expected}, but the source has {found}")]
    ContentDiffers { name: String, expected: String, found: String },
    /// The folder is still not as the lock says.
    #[error("{place} is still not as the lock says: {condition}")]
    NotAsLocked { place: String, condition: &'static str },
    /// Another process is at work.
    #[error("another rooflens is changing {folder}", folder = folder.display())]
    Busy { folder: PathBuf },
    /// A hook that a shell line cannot be put in.
    #[error("{hook} cannot be extended: {problem}", hook = hook.display())]
    ForeignHook { hook: PathBuf, problem: &'static str, line: String },
    /// Reading or writing failed.
    #[error("{path}: {source}", path = path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl ExternalsError {
    /// For `map_err` where a path is at hand.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| ExternalsError::Io { path, source }
    }

    /// Whose move it is.
    #[must_use]
    pub fn class(&self) -> ExternalsFaultClass {
        use ExternalsError as E;
        match self {
            E::Unreachable { .. }
            | E::NoGit { .. }
            | E::Git { .. }
            | E::NoCheckout { .. }
            | E::HubCacheUnset { .. }
            | E::HubSnapshotMissing { .. }
            | E::Busy { .. }
            | E::Io { .. } => ExternalsFaultClass::Environment,
            E::CommitGone { .. }
            | E::ContentDiffers { .. }
            | E::NotAsLocked { .. }
            | E::CheckoutMoved { .. }
            | E::HubLink { .. } => ExternalsFaultClass::Data,
            E::BadName { .. }
            | E::BadUrl { .. }
            | E::BadRevision { .. }
            | E::BadPath { .. }
            | E::BadPaths { .. }
            | E::NoSuchRevision { .. }
            | E::AmbiguousRevision { .. }
            | E::NotARepository { .. }
            | E::Taken { .. }
            | E::UnknownSource { .. }
            | E::NothingAtPath { .. }
            | E::NestedSubmodules { .. }
            | E::LocalEdits { .. }
            | E::InTheWay { .. }
            | E::LinkedFolder { .. }
            | E::LockYaml { .. }
            | E::LockShape { .. }
            | E::HubTooLarge { .. }
            | E::ForeignHook { .. } => ExternalsFaultClass::Usage,
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        use ExternalsError as E;
        match self {
            E::BadName { .. } => "give another with --name, such as --name flash-attention".into(),
            E::BadUrl { .. } => {
                "give https://…, ssh://…, user@host:path, file://… or an absolute path, without a password"
                    .into()
            }
            E::BadRevision { .. } | E::NoSuchRevision { .. } => {
                "give a branch, a tag or a full commit id with --revision; `git ls-remote URL` lists them"
                    .into()
            }
            E::BadPath { .. } => "give paths as in the source, such as csrc/kernels".into(),
            E::BadPaths { kind: SourceKind::Sparse, .. } => {
                "name what to check out: --path csrc/kernels".into()
            }
            E::BadPaths { .. } => "use --kind sparse to take some paths only".into(),
            E::AmbiguousRevision { revision, .. } => {
                format!("say which: --revision refs/heads/{revision} or --revision refs/tags/{revision}")
            }
            E::CommitGone { .. } => {
                "the history may have been rewritten: pin another with `rooflens externals add … --revision`"
                    .into()
            }
            E::Unreachable { url, .. } => {
                format!("check the address and your access: `git ls-remote '{url}'`; nothing was changed")
            }
            E::NoGit { .. } => "install git and put it on PATH".into(),
            E::Git { .. } => "nothing was committed; `rooflens externals status` shows the current \
                              state"
                .into(),
            E::NotARepository { .. } => "run `git init` first, or use --kind sparse".into(),
            E::Taken { .. } => {
                "give another with --name, or remove the entry from third_party/externals.lock".into()
            }
            E::UnknownSource { known, .. } if known.is_empty() => {
                "add one with `rooflens externals add`".into()
            }
            E::UnknownSource { name, known } => match near(name, known.iter().map(String::as_str)).first() {
                Some(meant) => format!("did you mean {meant}? it has {}", known.join(", ")),
                None => format!("it has {}", known.join(", ")),
            },
            E::NothingAtPath { .. } => "paths are case-sensitive and start at the source's root".into(),
            E::NestedSubmodules { .. } => "use --kind submodule or --kind sparse".into(),
            E::LocalEdits { .. } => {
                "save them elsewhere, then `rooflens externals sync --force` discards them".into()
            }
            E::NoCheckout { .. } => {
                "link another with `rooflens externals add PATH --kind link --name NAME`, or clone it there"
                    .into()
            }
            E::CheckoutMoved { name, path, commit, .. } => format!(
                "`rooflens externals update {name}` records it; `git -C '{path}' checkout {commit}` goes back"
            ),
            E::InTheWay { place, .. } => format!("move {place} away, then `rooflens externals sync`"),
            E::LinkedFolder { path } => format!("replace {path} by a folder"),
            E::LockYaml { .. } | E::LockShape { .. } => {
                "fix that line, or restore the file from git: `git checkout -- third_party/externals.lock`"
                    .into()
            }
            E::HubCacheUnset { .. } => {
                "set HF_HUB_CACHE (or HF_HOME) to the folder that holds models--*".into()
            }
            E::HubSnapshotMissing { repository, revision } => format!(
                "fetch it: `hf download {repository} --revision {revision} --exclude '*.safetensors' '*.bin'`"
            ),
            E::HubLink { .. } => {
                "the cache was changed by hand: delete the snapshot and download it again".into()
            }
            E::HubTooLarge { .. } => "take a part of it: --path modeling_x.py".into(),
            E::ContentDiffers { .. } => {
                "do not use it before you know why; `rooflens externals add` pins what is there now".into()
            }
            E::NotAsLocked { .. } => "`rooflens externals sync --force` rebuilds it".into(),
            E::Busy { .. } => "wait for it to finish".into(),
            E::ForeignHook { line, .. } => format!("call this from it: {line}"),
            E::Io { .. } => "check that the file exists and that you may read and write there".into(),
        }
    }
}

impl From<GitError> for ExternalsError {
    fn from(error: GitError) -> Self {
        match error {
            GitError::NotStarted { source } => ExternalsError::NoGit { source },
            GitError::NoFolder { path, source } => ExternalsError::Io { path, source },
            GitError::Refused { command, said } => ExternalsError::Git { command, said },
        }
    }
}

/// A few names and how many more there are.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

impl Serialize for ExternalsError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("ExternalsError", 3)?;
        fields.serialize_field("class", &self.class())?;
        fields.serialize_field("message", &self.to_string())?;
        fields.serialize_field("hint", &self.hint())?;
        fields.end()
    }
}
