//! Reference sources: code of others that this project reads, pinned and kept as it was fetched.
//!
//! They are below `third_party/github/<name>` and `third_party/hf/<name>`. One file, `third_party/externals.lock`, pins
//! them. `add` pins one, `sync` makes the folders equal to the lock, `update` moves sources that follow a branch to its
//! newest commit, `status` compares, and `guard` keeps edits out of commits. Nothing is ever committed: changes to the
//! project's own repository are left staged.
//!
//! A lock or a fetched tree can come from strangers. The lock is checked when it is read, git is started without a
//! shell, hooks or prompts, and nothing is written through a symbolic link. A dry run goes through the same code as the
//! real run and leaves out the changes.

mod files;
mod guard;
mod kinds;
mod licenses;
mod lock;

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use self::files::{FolderLock, Found, look};
use self::kinds::{Observed, Steps};
use crate::project::error::{ProjectError, Result, list_of};
use crate::project::git::{Git, GitError};

pub use guard::{GuardReport, HookAction, StagedEdit, StagedReason};
pub use kinds::{LeftOutFile, LeftOutReason};
pub use lock::{Lock, LockedSource, SourceKind};

/// What to pin.
#[derive(Debug, Clone)]
pub struct AddRequest {
    /// How it is kept.
    pub kind: SourceKind,
    /// Its address.
    pub url: String,
    /// A branch, a tag or a full commit id; the default branch if absent.
    pub revision: Option<String>,
    /// Its name; the last part of the address if absent.
    pub name: Option<String>,
    /// The paths to take (sparse and hub).
    pub paths: Vec<String>,
    /// Change nothing. The remote is asked all the same.
    pub dry_run: bool,
    /// Discard local edits and anything in the way.
    pub force: bool,
}

/// A source that was pinned, or would be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The entry of the lock.
    pub source: LockedSource,
    /// The entry that it replaces.
    pub previous: Option<LockedSource>,
    /// Whether the same revision is another commit than before: a branch advanced, or a tag was moved.
    pub revision_moved: bool,
    /// Submodules of the source, which are not fetched.
    pub submodules: Vec<String>,
    /// Files of a hub snapshot that are not copied.
    pub left_out: Vec<LeftOutFile>,
    /// What was done with its folder.
    pub synced: Synced,
    /// Other files of the project that were written, relative to its root.
    pub(crate) files: Vec<String>,
}

/// What to sync.
#[derive(Debug, Clone, Default)]
pub struct SyncRequest {
    /// The sources; all if empty.
    pub names: Vec<String>,
    /// Change nothing.
    pub dry_run: bool,
    /// Discard local edits and anything in the way.
    pub force: bool,
}

/// The result of making sources equal to the lock.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SyncReport {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Whether every source is now as the lock says, or would be.
    pub succeeded: bool,
    /// The sources, by name.
    pub sources: Vec<Synced>,
    /// Other files of the project that were written, relative to its root.
    pub(crate) files: Vec<String>,
}

/// The result of syncing one source.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Synced {
    /// Its name.
    pub name: String,
    /// How it is kept.
    pub kind: SourceKind,
    /// Its folder, from the project's root.
    pub place: String,
    /// Its state before.
    pub(crate) before: Option<Condition>,
    /// The outcome.
    pub outcome: SyncOutcome,
    /// The steps, in order, as commands or sentences.
    pub steps: Vec<String>,
    /// What went wrong.
    pub error: Option<ProjectError>,
}

/// The outcome of syncing a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncOutcome {
    /// It was as the lock says.
    Unchanged,
    /// It was missing.
    Created,
    /// It was at another commit.
    Updated,
    /// It was edited, or something else was in its place.
    Repaired,
    /// It was right, but could be written to.
    MarkedReadOnly,
    /// It failed; see `error`.
    Failed,
}

/// A source, and whether there is a newer commit.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct UpdateRow {
    /// Its name.
    pub name: String,
    /// How it is kept.
    pub kind: SourceKind,
    /// Its folder, from the project's root.
    pub(crate) place: String,
    /// What it follows.
    pub revision: String,
    /// The commit it is pinned at.
    pub from: String,
    /// The commit that its revision is now; null if unknown.
    pub to: Option<String>,
    /// What is to be done, or was.
    pub state: UpdateState,
    /// What went wrong.
    pub error: Option<ProjectError>,
}

/// What is to be done with a source, or was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UpdateState {
    /// It is the newest.
    Current,
    /// It follows a commit, which never moves.
    Fixed,
    /// There is a newer one.
    Behind,
    /// It was moved to the newer one.
    Updated,
    /// It could not be queried or moved; see `error`.
    Failed,
}

/// State of a source compared with the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// As the lock says.
    InSync,
    /// Not there.
    #[default]
    Missing,
    /// Something else is in its place.
    InTheWay,
    /// Files were changed.
    Edited,
    /// At another commit.
    OtherCommit,
    /// At the commit, with other paths checked out, or not known to the project's repository as a submodule.
    OtherSetup,
}

impl Condition {
    /// In words, after "third_party/github/x is …".
    pub fn describe(self) -> &'static str {
        match self {
            Condition::InSync => "in sync",
            Condition::Missing => "missing",
            Condition::InTheWay => "something else",
            Condition::Edited => "edited",
            Condition::OtherCommit => "at another commit",
            Condition::OtherSetup => "set up differently",
        }
    }
}

/// State of every source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusReport {
    /// Whether every source is as the lock says.
    pub in_sync: bool,
    /// The sources, by name.
    pub sources: Vec<SourceStatus>,
    /// Folders next to the sources that the lock does not list.
    pub unlisted: Vec<String>,
}

/// State of one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceStatus {
    /// Its name.
    pub name: String,
    /// How it is kept.
    pub kind: SourceKind,
    /// Its folder, from the project's root.
    pub place: String,
    /// Its address.
    pub(crate) url: String,
    /// What was requested.
    pub revision: String,
    /// The pinned commit.
    pub commit: String,
    /// The commit it is at; null if it is missing or unknown.
    pub found_commit: Option<String>,
    /// Its state.
    pub condition: Condition,
    /// The files that were changed, within the source; `.` if only the source as a whole is known to differ.
    pub edits: Vec<String>,
    /// Its license files.
    pub licences: Vec<LicenceStatus>,
    /// Whether no file can be written by accident; null if it is missing or a link.
    pub read_only: Option<bool>,
}

/// A license file that the lock names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LicenceStatus {
    /// Its path within the source.
    pub path: String,
    /// Whether it exists.
    pub present: bool,
}

/// The repository that tracks the project. The project can be a folder in it.
#[derive(Debug, Clone)]
struct Repository {
    folder: PathBuf,
    /// From the top of the repository to the project: empty, or with a slash at its end.
    prefix: String,
}

impl Repository {
    fn find(root: &Path) -> Result<Option<Self>> {
        match Git::at(root).line(&["rev-parse", "--show-prefix"]) {
            Ok(prefix) => {
                let folder = root.ancestors().nth(prefix.matches('/').count()).unwrap_or(root).to_owned();
                Ok(Some(Self { folder, prefix }))
            }
            Err(GitError::Refused { said, .. }) if said.contains("not a git repository") => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn top(&self) -> String {
        match self.prefix.matches('/').count() {
            0 => ".".to_owned(),
            depth => vec![".."; depth].join("/"),
        }
    }

    fn path(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    fn git(&self) -> Git {
        Git::at(&self.folder)
    }

    /// The tree that an index has at a path (from the top); `None` if it has nothing there. Git locks an index to
    /// answer this, so it gets a copy: others may be using the real one.
    fn index_tree(&self, path: &str, index: Option<&Path>) -> Result<Option<String>> {
        let index = match index {
            Some(index) => index.to_owned(),
            None => self.git().line(&["rev-parse", "--path-format=absolute", "--git-path", "index"])?.into(),
        };
        if !index.exists() {
            return Ok(None);
        }
        let folder = temporary()?;
        let copy = folder.path().join("index");
        fs::copy(&index, &copy).map_err(ProjectError::io(&index))?;
        let git = self.git().with_index(Some(copy));
        if git.run(&["ls-files", "-z", "--", path])?.is_empty() {
            return Ok(None);
        }
        Ok(Some(git.line(&["write-tree", &format!("--prefix={path}/")])?))
    }
}

fn temporary() -> Result<TempDir> {
    tempfile::tempdir().map_err(ProjectError::io(&std::env::temp_dir()))
}

/// A project's reference sources.
#[derive(Debug, Clone)]
pub struct Externals {
    root: PathBuf,
    hub_caches: Vec<PathBuf>,
    repository: Option<Repository>,
}

impl Externals {
    /// Opens a project. `hub_caches` are the Hugging Face caches to copy from, in order: folders that hold `models--*`.
    pub fn open(root: &Path, hub_caches: Vec<PathBuf>) -> Result<Self> {
        let root = fs::canonicalize(root).map_err(ProjectError::io(root))?;
        let repository = Repository::find(&root)?;
        Ok(Self { root, hub_caches, repository })
    }

    /// Whether the project is in a git repository.
    pub fn is_in_repository(&self) -> bool {
        self.repository.is_some()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn repository_for(&self, kind: SourceKind) -> Result<&Repository> {
        self.repository.as_ref().ok_or_else(|| {
            let root = self.root.display();
            ProjectError::usage(format!("{root} is not in a git repository, which a {} needs", kind.name()))
                .hint("run `git init` there, or use --kind sparse")
        })
    }

    /// Reads the lock. It fails if a folder of ours is a link: a stranger's project could make Rooflens write outside
    /// of it.
    fn lock(&self) -> Result<Lock> {
        let git_modules =
            self.repository.as_ref().map(|repository| format!("{}/.gitmodules", repository.top()));
        let ours = ["third_party", "third_party/github", "third_party/hf"].map(str::to_owned);
        for path in ours.into_iter().chain(git_modules) {
            if look(&self.path(&path))? == Found::Other("a symbolic link") {
                let message = format!("{path} is a symbolic link: nothing is written through it");
                return Err(ProjectError::usage(message).hint(format!("replace {path} by a folder")));
            }
        }
        Lock::read(&self.root)
    }

    fn take_turn(&self) -> Result<FolderLock> {
        FolderLock::take(&self.path("third_party"))
    }

    /// Resolves a revision, writes the entry and fetches the source. Nothing changes before the commit was inspected.
    pub fn add(&self, request: &AddRequest) -> Result<Added> {
        self.add_at(request, None)
    }

    fn add_at(&self, request: &AddRequest, commit: Option<String>) -> Result<Added> {
        let AddRequest { kind, dry_run, force, .. } = *request;
        let url = lock::check_url(kind, &request.url)?;
        let name = request.name.clone().unwrap_or_else(|| lock::default_name(&url).to_owned());
        lock::check_name(&name)?;
        let revision = request.revision.clone().unwrap_or_else(|| "HEAD".to_owned());
        lock::check_revision(&revision)?;
        let paths = lock::check_paths(kind, &request.paths)?;
        if kind.needs_repository() {
            self.repository_for(kind)?;
        }
        // Checked before the remote is asked, and again when no other process can change the answer.
        self.replaced(&self.lock()?, &name, kind, &url, force)?;
        let commit = match commit {
            Some(commit) => commit,
            None => kinds::resolve(self, kind, &url, &revision)?,
        };
        let (tree, licences) = (String::new(), Vec::new());
        let mut source =
            LockedSource { name, kind, url, revision, commit, tree, paths, licences, previous: None };
        let contents = kinds::inspect(self, &source)?;
        source.licences = licenses::of(&contents.files, &source.paths);
        source.tree = contents.tree;

        let _turn = if dry_run { None } else { Some(self.take_turn()?) };
        let mut lock = self.lock()?;
        let previous = self.replaced(&lock, &source.name, kind, &source.url, force)?;
        source.previous = previous.as_ref().and_then(|old| match old.commit == source.commit {
            true => old.previous.clone(),
            false => Some(old.commit.clone()),
        });
        let mut observed = kinds::observe(self, &source)?;
        if previous.is_none() && !force {
            refuse_loss(&source, &observed)?;
        }
        if previous.is_some() && observed.condition == Condition::Edited && !force {
            // It differs from the new pin, and was not edited compared with the old one.
            observed.condition = Condition::OtherCommit;
        }
        lock.sources.insert(source.name.clone(), source.clone());
        let files = self.write_settings(&lock, dry_run)?;
        if !dry_run {
            // Written first: if the rest is interrupted, `sync` can finish it.
            lock.write(&self.root)?;
        }
        let synced = self.make_equal(&source, &observed, dry_run)?;
        let is_same_revision =
            |old: &LockedSource| old.revision == source.revision && old.commit != source.commit;
        Ok(Added {
            dry_run,
            revision_moved: previous.as_ref().is_some_and(is_same_revision),
            previous,
            submodules: contents.submodules,
            left_out: contents.left_out,
            synced,
            files,
            source,
        })
    }

    fn replaced(
        &self,
        lock: &Lock,
        name: &str,
        kind: SourceKind,
        url: &str,
        force: bool,
    ) -> Result<Option<LockedSource>> {
        if let Some(other) = lock.sources.keys().find(|other| lock::clashes(other, name)) {
            let message = format!("{name:?} cannot name a reference source: {other:?} differs only in case");
            return Err(ProjectError::usage(message).hint("give another with --name"));
        }
        let Some(old) = lock.sources.get(name) else { return Ok(None) };
        // A link leads elsewhere on another machine.
        if old.kind != kind || (old.url != url && kind != SourceKind::Link) {
            let message = format!("{name:?} is already a {} of {}", old.kind.name(), old.url);
            let hint = "give another with --name, or remove the entry from third_party/externals.lock";
            return Err(ProjectError::usage(message).hint(hint));
        }
        if !force {
            refuse_loss(old, &kinds::observe(self, old)?)?;
        }
        Ok(Some(old.clone()))
    }

    /// Makes the sources equal to the lock. A source that fails does not stop the others.
    pub fn sync(&self, request: &SyncRequest) -> Result<SyncReport> {
        let lock = self.lock()?;
        let chosen = chosen(&lock, &request.names)?;
        let (mut files, mut turn) = (Vec::new(), None);
        if !lock.sources.is_empty() {
            if !request.dry_run {
                turn = Some(self.take_turn()?);
            }
            files = self.write_settings(&lock, request.dry_run)?;
        }
        let row = |source: &LockedSource| {
            let done = kinds::observe(self, source).and_then(|observed| {
                if !request.force {
                    refuse_loss(source, &observed)?;
                }
                self.make_equal(source, &observed, request.dry_run)
            });
            done.unwrap_or_else(|error| Synced {
                name: source.name.clone(),
                kind: source.kind,
                place: source.place(),
                before: None,
                outcome: SyncOutcome::Failed,
                steps: Vec::new(),
                error: Some(error),
            })
        };
        let sources: Vec<Synced> = chosen.into_iter().map(row).collect();
        drop(turn);
        let succeeded = sources.iter().all(|source| source.error.is_none());
        Ok(SyncReport { dry_run: request.dry_run, succeeded, sources, files })
    }

    /// Takes the steps that a source needs, and makes sure that they had the effect.
    fn make_equal(&self, source: &LockedSource, observed: &Observed, dry_run: bool) -> Result<Synced> {
        let (place, before) = (source.place(), observed.condition);
        let mut steps = Steps::new(self, source, dry_run);
        let mut outcome = match before {
            Condition::InSync => SyncOutcome::Unchanged,
            Condition::Missing => SyncOutcome::Created,
            Condition::OtherCommit | Condition::OtherSetup => SyncOutcome::Updated,
            Condition::InTheWay | Condition::Edited => SyncOutcome::Repaired,
        };
        if before != Condition::InSync {
            steps.install(observed)?;
        } else if source.kind != SourceKind::Link && !files::is_read_only(&self.path(&place))? {
            steps.mark_read_only(&place)?;
            outcome = SyncOutcome::MarkedReadOnly;
        }
        if !dry_run && outcome != SyncOutcome::Unchanged {
            let now = kinds::observe(self, source)?.condition;
            if now != Condition::InSync {
                let message = format!("{place} is still not as the lock says: {}", now.describe());
                return Err(ProjectError::data(message).hint("`rooflens externals sync --force` rebuilds it"));
            }
        }
        let (name, kind, steps) = (source.name.clone(), source.kind, steps.taken);
        Ok(Synced { name, kind, place, before: Some(before), outcome, steps, error: None })
    }

    /// Asks what each source follows now; all sources if no names are given. Changes nothing. A source with local edits
    /// fails here already.
    pub fn newest(&self, names: &[String]) -> Result<Vec<UpdateRow>> {
        let lock = self.lock()?;
        let row = |source: &LockedSource| {
            let found = self.newest_of(source);
            let (state, to, error) = match found {
                Ok((state, to)) => (state, to, None),
                Err(error) => (UpdateState::Failed, None, Some(error)),
            };
            UpdateRow {
                name: source.name.clone(),
                kind: source.kind,
                place: source.place(),
                revision: source.revision.clone(),
                from: source.commit.clone(),
                to,
                state,
                error,
            }
        };
        Ok(chosen(&lock, names)?.into_iter().map(row).collect())
    }

    fn newest_of(&self, source: &LockedSource) -> Result<(UpdateState, Option<String>)> {
        if lock::check_id(&source.revision).is_ok() {
            return Ok((UpdateState::Fixed, None));
        }
        let newest = kinds::resolve(self, source.kind, &source.url, &source.revision)?;
        if newest == source.commit {
            return Ok((UpdateState::Current, Some(newest)));
        }
        refuse_loss(source, &kinds::observe(self, source)?)?;
        Ok((UpdateState::Behind, Some(newest)))
    }

    /// Moves every source that is behind to the commit that was found, and writes both commits into the lock. A source
    /// that fails does not stop the others.
    pub fn update(&self, mut rows: Vec<UpdateRow>) -> Result<Vec<UpdateRow>> {
        let lock = self.lock()?;
        for row in rows.iter_mut().filter(|row| row.state == UpdateState::Behind) {
            let Some(source) = lock.sources.get(&row.name).cloned() else { continue };
            let request = AddRequest {
                kind: source.kind,
                url: source.url,
                revision: Some(source.revision),
                name: Some(source.name),
                paths: source.paths,
                dry_run: false,
                force: false,
            };
            match self.add_at(&request, row.to.clone()) {
                Ok(_) => row.state = UpdateState::Updated,
                Err(error) => (row.state, row.error) = (UpdateState::Failed, Some(error)),
            }
        }
        Ok(rows)
    }

    /// Compares every source with the lock. Reads only, and only on this machine.
    pub fn status(&self) -> Result<StatusReport> {
        let lock = self.lock()?;
        let sources: Vec<SourceStatus> =
            lock.sources.values().map(|source| self.source_status(source)).collect::<Result<_>>()?;
        let in_sync = sources.iter().all(|source| source.condition == Condition::InSync);
        let mut unlisted = Vec::new();
        for shelf in ["third_party/github", "third_party/hf"] {
            for entry in fs::read_dir(self.path(shelf)).into_iter().flatten().flatten() {
                let place = format!("{shelf}/{}", entry.file_name().to_string_lossy());
                // Hidden folders are Rooflens', plain files are a README or the like.
                let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
                if !is_file && !place.contains("/.") && lock.owner(&place).is_none() {
                    unlisted.push(place);
                }
            }
        }
        unlisted.sort();
        Ok(StatusReport { in_sync, sources, unlisted })
    }

    fn source_status(&self, source: &LockedSource) -> Result<SourceStatus> {
        let place = source.place();
        let observed = kinds::observe(self, source)?;
        let licence = |path: &String| {
            let present = self.path(&format!("{place}/{path}")).symlink_metadata().is_ok();
            LicenceStatus { path: path.clone(), present }
        };
        let is_there = !matches!(observed.condition, Condition::Missing | Condition::InTheWay);
        let read_only = match is_there && source.kind != SourceKind::Link {
            true => Some(files::is_read_only(&self.path(&place))?),
            false => None,
        };
        Ok(SourceStatus {
            name: source.name.clone(),
            kind: source.kind,
            url: source.url.clone(),
            revision: source.revision.clone(),
            commit: source.commit.clone(),
            found_commit: observed.commit,
            condition: observed.condition,
            edits: observed.edits,
            licences: source.licences.iter().map(licence).collect(),
            read_only,
            place,
        })
    }
}

fn refuse_loss(source: &LockedSource, observed: &Observed) -> Result<()> {
    const SHOWN: usize = 5;
    let place = source.place();
    if let Some(found) = observed.in_the_way {
        return Err(ProjectError::usage(format!("{place} is {found}, not a {}", source.kind.name())).hint(
            format!(
                "move {place} away, then `rooflens externals sync`; after an interrupted command, add --force"
            ),
        ));
    }
    if !observed.at_risk {
        return Ok(());
    }
    let mut edits = observed.edits.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if edits.is_empty() {
        edits = "a local commit".to_owned();
    }
    if let Some(more) = observed.edits.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        edits = format!("{edits} and {more} more");
    }
    Err(ProjectError::usage(format!("{place} has local edits: {edits}"))
        .hint("save them elsewhere, then `rooflens externals sync --force` discards them"))
}

fn chosen<'a>(lock: &'a Lock, names: &[String]) -> Result<Vec<&'a LockedSource>> {
    if names.is_empty() {
        return Ok(lock.sources.values().collect());
    }
    let known: Vec<String> = lock.sources.keys().cloned().collect();
    let unknown = |name: &String| {
        let error = ProjectError::usage(format!("the lock has no source {name:?}{}", list_of(&known)));
        error.hint("add one with `rooflens externals add`").suggest(name, known.iter().map(String::as_str))
    };
    names.iter().map(|name| lock.sources.get(name).ok_or_else(|| unknown(name))).collect()
}
