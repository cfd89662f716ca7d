//! What each kind of source is on disk: how to find its commit, what is there, and what makes it equal to the lock.
//!
//! | kind | where it lives | good for |
//! | --- | --- | --- |
//! | submodule | a link in the project's repository | whole repositories, with history at hand |
//! | subtree | files tracked by the project | small repositories that must come with a clone |
//! | sparse | a separate clone, ignored by the project | some folders of a large repository |
//! | hub | files copied from the Hugging Face cache | a model's code and configs, without weights |
//! | link | a symbolic link, ignored by the project | a checkout that is on this machine already |

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::files::{self, Found, look};
use super::lock::{LockedSource, SourceKind, bad_revision, check_id, check_path, covers, hub_parts};
use super::{Condition, Externals, Repository, licenses, temporary};
use crate::plan::quoted;
use crate::project::error::{ProjectError, Result};
use crate::project::git::{Git, GitError, records};
use crate::project::hub;

/// What `.gitmodules` says of a source that is only read: `git status` hides local edits (the guard and `rooflens
/// externals status` show them), `git submodule update` leaves it to `rooflens externals sync`, and one commit is
/// fetched. A value that the user has set stays.
const SUBMODULE_SETTINGS: &[(&str, &str)] = &[("ignore", "dirty"), ("update", "none"), ("shallow", "true")];

/// A larger file of a hub snapshot is left out. The largest tokenizer files have about 20 MiB.
const MAX_HUB_FILE_BYTES: u64 = 32 << 20;
const MAX_HUB_BYTES: u64 = 256 << 20;

#[rustfmt::skip] // A list of words.
const WEIGHT_ENDINGS: &[&str] = &[
    "safetensors", "bin", "pt", "pth", "ckpt", "gguf", "ggml", "onnx", "onnx_data", "h5", "msgpack", "npz", "npy",
    "tflite", "mlmodel", "mlpackage", "engine", "plan", "ot", "pkl", "pickle", "joblib", "parquet", "arrow", "zip",
    "tar", "gz", "xz", "zst", "7z", "rar",
];

/// A file of a hub snapshot that is not copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutFile {
    /// Its path in the repository.
    pub path: String,
    /// Why.
    pub reason: LeftOutReason,
}

/// Why a file of a snapshot is not copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// Weights or data, judged by its ending.
    Weights,
    /// Over the limit for one file.
    TooLarge,
    /// Settings of git: the hub's `.gitattributes` would hand tokenizer files to Git LFS.
    GitSettings,
}

#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(crate) tree: String,
    pub(crate) files: Vec<String>,
    pub(crate) submodules: Vec<String>,
    pub(crate) left_out: Vec<LeftOutFile>,
}

#[derive(Debug, Default)]
pub(super) struct Observed {
    pub(crate) condition: Condition,
    pub(crate) commit: Option<String>,
    /// Files that differ from that commit; `.` if only the whole is known to differ.
    pub(crate) edits: Vec<String>,
    /// Whether replacing it would lose work that is nowhere else.
    pub(crate) at_risk: bool,
    pub(crate) in_the_way: Option<&'static str>,
    pub(crate) has_commit: bool,
}

impl Observed {
    fn of(condition: Condition) -> Self {
        Self { condition, ..Self::default() }
    }

    fn in_the_way(found: &'static str) -> Self {
        Self { in_the_way: Some(found), ..Self::of(Condition::InTheWay) }
    }
}

pub(super) fn resolve(project: &Externals, kind: SourceKind, url: &str, revision: &str) -> Result<String> {
    let as_id = revision.to_ascii_lowercase();
    match kind {
        SourceKind::Link if revision != "HEAD" => {
            Err(bad_revision(revision, "a link uses what is checked out"))
        }
        SourceKind::Link => checked_out(url)?.ok_or_else(|| no_checkout(url)),
        // The hub calls its only branch `main`.
        SourceKind::Hub => {
            Ok(hub_snapshot(project, url, if revision == "HEAD" { "main" } else { revision })?.commit)
        }
        _ if check_id(&as_id).is_ok() => Ok(as_id),
        _ => resolve_remote(url, revision, project),
    }
}

fn resolve_remote(url: &str, revision: &str, project: &Externals) -> Result<String> {
    let is_full = revision == "HEAD" || revision.starts_with("refs/");
    let branch = format!("refs/heads/{revision}");
    let tag = if is_full { revision.to_owned() } else { format!("refs/tags/{revision}") };
    // An annotated tag is a separate object; this is the commit it tags.
    let peeled = format!("{tag}^{{}}");
    let git = Git::at(&project.root).reaching(super::lock::protocols(url));
    let answer = git.run(&["ls-remote", "--", url, &tag, &peeled, &branch]);
    let answer = answer.map_err(|error| unreachable(url, error))?;
    let answer = String::from_utf8_lossy(&answer);
    // A pattern also matches the end of longer names: only exact names count.
    let found = |wanted: &str| {
        let mut lines = answer.lines().filter_map(|line| line.split_once('\t'));
        lines.find(|(_, name)| *name == wanted).map(|(id, _)| id.to_owned())
    };
    let of_branch = if is_full { None } else { found(&branch) };
    match (of_branch, found(&peeled).or_else(|| found(&tag))) {
        (Some(_), Some(_)) => {
            let message = format!("{url} has both a branch and a tag {revision:?}");
            let hint =
                format!("say which: --revision refs/heads/{revision} or --revision refs/tags/{revision}");
            Err(ProjectError::usage(message).hint(hint))
        }
        (Some(id), None) | (None, Some(id)) => check_id(&id).map(|()| id),
        (None, None) => Err(no_such_revision(url, revision)),
    }
}

fn no_such_revision(url: &str, revision: &str) -> ProjectError {
    ProjectError::usage(format!("{url} has no branch, tag or commit {revision:?}"))
        .hint("give a branch, a tag or a full commit id with --revision; `git ls-remote URL` lists them")
}

/// Looks into the pinned commit before anything of the project changes.
pub(super) fn inspect(project: &Externals, source: &LockedSource) -> Result<Contents> {
    let contents = match source.kind {
        SourceKind::Hub => {
            let (files, left_out) = hub_files(project, source)?;
            let tree = Tree::of(project, &files)?.id;
            let files = files.into_iter().map(|(path, _)| path).collect();
            Contents { tree, files, left_out, submodules: Vec::new() }
        }
        SourceKind::Link => contents_of(&own_git(Path::new(&source.url)), &source.commit)?,
        _ => inspect_remote(source)?,
    };
    for path in &source.paths {
        if !contents.files.iter().chain(&contents.submodules).any(|file| covers(path, file)) {
            let message = format!("{} has no {path:?} at {}", source.url, source.commit);
            return Err(
                ProjectError::usage(message).hint("paths are case-sensitive and start at the source's root")
            );
        }
    }
    if source.kind == SourceKind::Subtree && !contents.submodules.is_empty() {
        // Their links would be in the project's index without an address, and every `git submodule` command of the
        // project would fail.
        let nested = contents.submodules.join(", ");
        let message = format!("{} has submodules ({nested}), which a subtree cannot hold", source.url);
        return Err(ProjectError::usage(message).hint("use --kind submodule or --kind sparse"));
    }
    Ok(contents)
}

fn inspect_remote(source: &LockedSource) -> Result<Contents> {
    let folder = temporary()?;
    let git = own_git(folder.path());
    let commit = source.commit.as_str();
    git.run(&["init", "--quiet", "--bare"])?;
    git.run(&["remote", "add", "--", "origin", &source.url])?;
    let fetch = ["fetch", "--quiet", "--depth=1", "--no-tags", "--filter=blob:none", "origin", commit];
    git.clone().reaching(source.protocols()).run(&fetch).map_err(|error| fetch_failed(source, error))?;
    match git.commit(&format!("{commit}^{{commit}}"))? {
        None => return Err(no_such_revision(&source.url, commit)),
        // The commit is pinned, so the commit must be asked for.
        Some(found) if found != commit => {
            return Err(bad_revision(commit, "it is the id of a tag, not of a commit"));
        }
        Some(_) => {}
    }
    contents_of(&git, commit)
}

fn tree_of(git: &Git, commit: &str) -> Result<String> {
    Ok(git.line(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?)
}

fn contents_of(git: &Git, commit: &str) -> Result<Contents> {
    let tree = tree_of(git, commit)?;
    check_id(&tree)?;
    let mut contents = Contents { tree, ..Contents::default() };
    for record in records(&git.run(&["ls-tree", "-r", "-z", &contents.tree])?) {
        let Some((head, path)) = record.split_once('\t') else { continue };
        let list = if head.starts_with("160000") { &mut contents.submodules } else { &mut contents.files };
        list.push(path.to_owned());
    }
    Ok(contents)
}

fn unreachable(url: &str, error: GitError) -> ProjectError {
    match error {
        GitError::Refused { said, .. } => ProjectError::environment(format!(
            "{url} cannot be reached: {said}"
        ))
        .hint(format!("check the address and your access: `git ls-remote '{url}'`; nothing was changed")),
        other => other.into(),
    }
}

/// A failed fetch of a commit: the remote is gone, or only the commit.
fn fetch_failed(source: &LockedSource, error: GitError) -> ProjectError {
    const REFUSALS: &[&str] = &[
        "not our ref",
        "unadvertised object",
        "find remote ref",
        "did not contain",
        "Direct fetching of that commit",
    ];
    match error {
        GitError::Refused { said, .. } if REFUSALS.iter().any(|refusal| said.contains(refusal)) => {
            ProjectError::data(format!("{} does not serve commit {}: {said}", source.url, source.commit)).hint(
                "the history may have been rewritten: pin another with `rooflens externals add … --revision`",
            )
        }
        other => unreachable(&source.url, other),
    }
}

pub(super) fn observe(project: &Externals, source: &LockedSource) -> Result<Observed> {
    let place = project.path(&source.place());
    if source.kind == SourceKind::Link {
        return observe_link(&place, source);
    }
    match look(&place)? {
        Found::Other(found) => return Ok(Observed::in_the_way(found)),
        Found::Nothing | Found::Folder(false) if source.kind != SourceKind::Subtree => {
            return Ok(Observed::of(Condition::Missing));
        }
        _ => {}
    }
    match (source.kind, &project.repository) {
        (SourceKind::Submodule | SourceKind::Subtree, None) => {
            Ok(Observed::in_the_way("a folder of a project without a repository"))
        }
        (SourceKind::Subtree, Some(repository)) => observe_subtree(project, repository, source),
        (SourceKind::Hub, _) => observe_copies(project, source, &place),
        _ => observe_clone(project, source, &place),
    }
}

fn observe_clone(project: &Externals, source: &LockedSource, place: &Path) -> Result<Observed> {
    let git = own_git(place);
    if !place.join(".git").exists() {
        return Ok(Observed::in_the_way("a folder without its own repository"));
    }
    let Some(head) = git.commit("HEAD")? else {
        // An interrupted fetch left nothing but the repository.
        let is_bare = fs::read_dir(place).is_ok_and(|entries| entries.count() == 1);
        return Ok(if is_bare {
            Observed::of(Condition::Missing)
        } else {
            Observed::in_the_way("a repository without a commit")
        });
    };
    let Some(edits) = changed_files(&git)? else {
        return Ok(Observed::in_the_way("a repository that git cannot read"));
    };
    let wanted = source.commit.as_str();
    let mut known = vec![wanted.to_owned()];
    let (is_set_up, is_linked) = match (&project.repository, source.kind) {
        (Some(repository), SourceKind::Submodule) => {
            let path = repository.path(&source.place());
            let above = repository.git();
            let entry = above.line(&["ls-files", "--stage", "--", &path])?;
            let mut words = entry.split_whitespace();
            let link = words.next().filter(|mode| *mode == "160000").and_then(|_| words.next());
            let key = format!("submodule.{path}.url");
            let url = above.ask(&["config", "--file", ".gitmodules", "--get", &key])?;
            known.extend(link.map(str::to_owned));
            known.extend(above.commit(&format!("HEAD:{path}"))?);
            (link.is_some() && url.as_deref() == Some(&source.url), link == Some(wanted))
        }
        _ => {
            let patterns = git.ask(&["sparse-checkout", "list"])?.unwrap_or_default();
            (patterns.lines().eq(licenses::sparse_patterns(&source.paths)), true)
        }
    };
    let has_own_commit = !known.contains(&head) && is_made_here(&git, &head)?;
    let condition = match () {
        () if !edits.is_empty() => Condition::Edited,
        () if head != wanted => Condition::OtherCommit,
        () if !is_set_up => Condition::OtherSetup,
        () if !is_linked => Condition::OtherCommit,
        () => Condition::InSync,
    };
    let has_commit = git.ask(&["cat-file", "-e", &format!("{wanted}^{{commit}}")])?.is_some();
    let at_risk = !edits.is_empty() || has_own_commit;
    Ok(Observed { condition, commit: Some(head), edits, at_risk, has_commit, in_the_way: None })
}

/// The files that `git status` finds changed: tracked files, and new files that are not ignored. `None` if git cannot
/// read the repository.
fn changed_files(git: &Git) -> Result<Option<Vec<String>>> {
    match git.run(&["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"]) {
        Ok(answer) => {
            Ok(Some(records(&answer).filter_map(|record| record.get(3..).map(str::to_owned)).collect()))
        }
        Err(GitError::Refused { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether a clone's commit was made here: it is not one that was fetched.
fn is_made_here(git: &Git, head: &str) -> Result<bool> {
    if git.commit("FETCH_HEAD")?.as_deref() == Some(head) {
        return Ok(false);
    }
    let holders = git.ask(&["for-each-ref", "--contains", head, "--count=1", "refs/remotes", "refs/tags"])?;
    Ok(holders.is_none_or(|holders| holders.is_empty()))
}

fn observe_subtree(project: &Externals, repository: &Repository, source: &LockedSource) -> Result<Observed> {
    let place = source.place();
    let path = repository.path(&place);
    let git = repository.git();
    let is_there = look(&project.path(&place))? == Found::Folder(true);
    let Some(tree) = repository.index_tree(&path, None)? else {
        return Ok(match is_there {
            true => Observed::in_the_way("a folder that the project does not track"),
            false => Observed::of(Condition::Missing),
        });
    };
    if !is_there {
        return Ok(Observed::of(Condition::Missing));
    }
    let status = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--", &path];
    // The second column is the work tree. The first is the index, which its tree judges.
    let of_work_tree = |record: String| {
        let file = record.get(3..)?.strip_prefix(&format!("{path}/"))?.to_owned();
        (record.as_bytes()[1] != b' ').then_some(file)
    };
    let mut edits: Vec<String> = records(&git.run(&status)?).filter_map(of_work_tree).collect();
    let mut at_risk = edits.iter().any(|file| project.path(&format!("{place}/{file}")).exists());
    let agrees = tree == source.tree;
    if !agrees {
        let committed = git.commit(&format!("HEAD:{path}"))?;
        // Replacing does not lose what is committed.
        at_risk |= committed.as_deref() != Some(tree.as_str());
        edits.extend(differences(&git, &source.tree, &tree).unwrap_or_else(|| vec![".".to_owned()]));
        edits.sort();
        edits.dedup();
    }
    let condition = if edits.is_empty() { Condition::InSync } else { Condition::Edited };
    let commit = agrees.then(|| source.commit.clone());
    Ok(Observed { condition, commit, edits, at_risk, ..Observed::default() })
}

/// The files in which two trees differ; `None` if git does not have both.
pub(super) fn differences(git: &Git, one: &str, other: &str) -> Option<Vec<String>> {
    let compare = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", one, other];
    git.run(&compare).ok().map(|answer| records(&answer).collect())
}

fn observe_copies(project: &Externals, source: &LockedSource, place: &Path) -> Result<Observed> {
    let (plain, odd): (Vec<_>, Vec<_>) = files::entries(place)?.into_iter().partition(|(_, _, plain)| *plain);
    let mut edits: Vec<String> = odd.into_iter().map(|(path, _, _)| path).collect();
    let tree = Tree::of(project, &plain.into_iter().map(|(path, file, _)| (path, file)).collect::<Vec<_>>())?;
    if tree.id == source.tree && edits.is_empty() {
        let commit = Some(source.commit.clone());
        return Ok(Observed { condition: Condition::InSync, commit, ..Observed::default() });
    }
    edits.extend(differences(&tree.git, &source.tree, &tree.id).unwrap_or_else(|| vec![".".to_owned()]));
    edits.sort();
    let committed = match &project.repository {
        Some(repository) => {
            let path = format!("HEAD:{}", repository.path(&source.place()));
            repository.git().commit(&path)?
        }
        None => None,
    };
    let at_risk = committed.as_deref() != Some(tree.id.as_str());
    Ok(Observed { condition: Condition::Edited, edits, at_risk, ..Observed::default() })
}

fn observe_link(place: &Path, source: &LockedSource) -> Result<Observed> {
    match look(place)? {
        Found::Nothing => return Ok(Observed::of(Condition::Missing)),
        Found::Folder(_) => return Ok(Observed::in_the_way("a folder")),
        Found::Other(_) => {}
    }
    if fs::read_link(place).ok().as_deref() != Some(Path::new(&source.url)) {
        return Ok(Observed::in_the_way("a file or a link to somewhere else"));
    }
    let Some(commit) = checked_out(&source.url)? else { return Ok(Observed::of(Condition::Missing)) };
    // The checkout is its owner's: edits are shown, and are no reason to replace the link.
    let condition = if commit == source.commit { Condition::InSync } else { Condition::OtherCommit };
    let edits = changed_files(&own_git(Path::new(&source.url)))?.unwrap_or_default();
    Ok(Observed { condition, commit: Some(commit), edits, ..Observed::default() })
}

fn checked_out(folder: &str) -> Result<Option<String>> {
    if !Path::new(folder).is_dir() {
        return Ok(None);
    }
    let head = own_git(Path::new(folder)).commit("HEAD")?;
    Ok(head.filter(|head| check_id(head).is_ok()))
}

fn no_checkout(path: &str) -> ProjectError {
    ProjectError::environment(format!("{path} is not a git checkout with a commit"))
        .hint("link another with `rooflens externals add PATH --kind link --name NAME`, or clone it there")
}

/// Git in a folder, which never uses the repository around it.
fn own_git(folder: &Path) -> Git {
    Git::at(folder).own_repository()
}

/// Files as a git tree in a temporary repository: the content of copies is pinned by its id.
struct Tree {
    id: String,
    git: Git,
    _folder: TempDir,
}

impl Tree {
    fn of(project: &Externals, files: &[(String, PathBuf)]) -> Result<Self> {
        let folder = temporary()?;
        let git = own_git(folder.path());
        let above = Git::at(&project.root);
        let format = above.ask(&["rev-parse", "--show-object-format"])?.unwrap_or_else(|| "sha1".to_owned());
        git.run(&["init", "--quiet", "--bare", &format!("--object-format={format}")])?;
        if let Some(objects) = above.ask(&["rev-parse", "--path-format=absolute", "--git-path", "objects"])? {
            // To compare with a pinned tree that the project has.
            let alternates = folder.path().join("objects/info/alternates");
            fs::write(&alternates, objects + "\n").map_err(ProjectError::io(&alternates))?;
        }
        // Git reads one path per line.
        if let Some((path, _)) = files.iter().find(|(_, file)| file.to_string_lossy().contains('\n')) {
            return Err(ProjectError::data(format!("the name {path:?} has a line break")));
        }
        let paths: String = files.iter().map(|(_, file)| format!("{}\n", file.display())).collect();
        let ids =
            git.run_with_input(&["hash-object", "-w", "--no-filters", "--stdin-paths"], paths.as_bytes())?;
        let ids = String::from_utf8_lossy(&ids);
        let entries = files.iter().zip(ids.lines()).map(|((path, _), id)| format!("100644 {id}\t{path}\0"));
        git.run_with_input(&["update-index", "-z", "--index-info"], entries.collect::<String>().as_bytes())?;
        Ok(Self { id: git.line(&["write-tree"])?, git, _folder: folder })
    }
}

fn hub_snapshot(project: &Externals, url: &str, revision: &str) -> Result<hub::Snapshot> {
    let (shelf, id) = hub_parts(url).unwrap_or_default();
    if project.hub_caches.is_empty() {
        let message = format!("no Hugging Face cache folder is known to copy {id} from");
        return Err(ProjectError::environment(message)
            .hint("set HF_HUB_CACHE (or HF_HOME) to the folder that holds models--*"));
    }
    let folder = hub::repository_folder(shelf, id);
    let found =
        project.hub_caches.iter().find_map(|cache| hub::snapshot(&cache.join(&folder), revision).ok());
    found.ok_or_else(|| {
        ProjectError::environment(format!("the Hugging Face cache has no snapshot of {id} at {revision}"))
            .hint(format!(
                "fetch it: `hf download {id} --revision {revision} --exclude '*.safetensors' '*.bin'`"
            ))
    })
}

type HubFiles = (Vec<(String, PathBuf)>, Vec<LeftOutFile>);

fn hub_files(project: &Externals, source: &LockedSource) -> Result<HubFiles> {
    let top = hub_snapshot(project, &source.url, &source.commit)?.folder;
    let home = top.ancestors().nth(2).unwrap_or(&top);
    let home = fs::canonicalize(home).map_err(ProjectError::io(home))?;
    let (mut taken, mut left_out, mut bytes) = (Vec::new(), Vec::new(), 0);
    for (path, file, _) in files::entries(&top)? {
        check_path(&path)?;
        let name = path.rsplit('/').next().unwrap_or(&path);
        let is_license = licenses::is_license(name);
        let is_wanted = source.paths.is_empty() || source.paths.iter().any(|wanted| covers(wanted, &path));
        if !is_wanted && !is_license {
            continue;
        }
        let real = fs::canonicalize(&file).map_err(ProjectError::io(&file))?;
        let metadata = fs::metadata(&real).map_err(ProjectError::io(&file))?;
        // Only a plain file of the same repository: a link can lead anywhere, a pipe never ends.
        if !real.starts_with(&home) || !metadata.is_file() {
            let message = format!(
                "{path:?} of {} is a symbolic link that leaves the cache of its repository",
                source.url
            );
            return Err(ProjectError::data(message)
                .hint("the cache was changed by hand: delete the snapshot and download it again"));
        }
        let lower = name.to_lowercase();
        let ending = lower.rsplit_once('.').map_or("", |(_, ending)| ending);
        let reason = if matches!(lower.as_str(), ".gitattributes" | ".gitignore" | ".gitmodules") {
            LeftOutReason::GitSettings
        } else if !is_license && WEIGHT_ENDINGS.contains(&ending) {
            LeftOutReason::Weights
        } else if metadata.len() > MAX_HUB_FILE_BYTES {
            LeftOutReason::TooLarge
        } else {
            bytes += metadata.len();
            taken.push((path, real));
            continue;
        };
        left_out.push(LeftOutFile { path, reason });
    }
    if bytes > MAX_HUB_BYTES {
        let message = format!("the source files of {} have {bytes} bytes, over {MAX_HUB_BYTES}", source.url);
        return Err(ProjectError::usage(message).hint("take a part of it: --path modeling_x.py"));
    }
    Ok((taken, left_out))
}

/// Takes the steps that make a source equal to the lock, or only writes them down.
pub(super) struct Steps<'a> {
    project: &'a Externals,
    source: &'a LockedSource,
    dry_run: bool,
    pub(crate) taken: Vec<String>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(project: &'a Externals, source: &'a LockedSource, dry_run: bool) -> Self {
        Self { project, source, dry_run, taken: Vec::new() }
    }

    fn take(&mut self, line: String, act: impl FnOnce() -> Result<()>) -> Result<()> {
        self.taken.push(line);
        if self.dry_run { Ok(()) } else { act() }
    }

    /// Git in a folder of the project; below `third_party`, in the source's own repository.
    fn git_at(&self, folder: &str) -> Git {
        let path = self.project.path(folder);
        if folder.starts_with("third_party/") { own_git(&path) } else { Git::at(&path) }
    }

    fn git(&mut self, folder: &str, arguments: &[&str]) -> Result<()> {
        let git = self.git_at(folder);
        self.take(line(folder, arguments), || Ok(git.run(arguments).map(drop)?))
    }

    fn fetch(&mut self, folder: &str, arguments: &[&str]) -> Result<()> {
        let (git, source) = (self.git_at(folder).reaching(self.source.protocols()), self.source);
        self.take(line(folder, arguments), || {
            git.run(arguments).map(drop).map_err(|error| fetch_failed(source, error))
        })
    }

    fn make_folder(&mut self, folder: &str) -> Result<()> {
        let path = self.project.path(folder);
        self.take(format!("make folder {}", quoted(folder)), || {
            fs::create_dir_all(&path).map_err(ProjectError::io(&path))
        })
    }

    fn remove(&mut self, path: &Path) -> Result<()> {
        let shown = path.strip_prefix(&self.project.root).unwrap_or(path).to_string_lossy().into_owned();
        self.take(format!("remove {}", quoted(&shown)), || files::remove(path))
    }

    fn check_commit(&mut self, folder: &str) -> Result<()> {
        let (git, source) = (self.git_at(folder), self.source);
        let line = format!("check that {} in {} has tree {}", source.commit, quoted(folder), source.tree);
        self.take(line, || check_tree(source, &tree_of(&git, &source.commit)?))
    }

    pub(super) fn mark_read_only(&mut self, folder: &str) -> Result<()> {
        let path = self.project.path(folder);
        self.take(format!("mark as read-only: {}", quoted(folder)), || files::mark_read_only(&path))
    }

    fn replace(&mut self, built: &str, place: &str) -> Result<()> {
        let (from, to) = (self.project.path(built), self.project.path(place));
        let line = format!("put {} in the place of {}", quoted(built), quoted(place));
        self.take(line, || files::replace(&from, &to))
    }

    /// Makes the source equal to the lock. After a failure, what was being built is removed.
    pub(super) fn install(&mut self, observed: &Observed) -> Result<()> {
        let done = match self.source.kind {
            SourceKind::Submodule => self.submodule(observed),
            SourceKind::Subtree => self.subtree(),
            SourceKind::Sparse => self.sparse(),
            SourceKind::Hub => self.copies(),
            SourceKind::Link => self.link(observed),
        };
        if done.is_err() && !self.dry_run {
            let mut rubbish = vec![self.project.path(&self.source.staging())];
            if self.source.kind == SourceKind::Submodule && begins_anew(observed) {
                rubbish.extend(self.clone_folders().into_iter().flatten());
            }
            // The first failure is the one to show.
            rubbish.iter().for_each(|path| drop(files::remove(path)));
        }
        done
    }

    fn clone_folders(&self) -> Result<[PathBuf; 2]> {
        let repository = self.project.repository_for(self.source.kind)?;
        let place = self.source.place();
        let modules = format!("modules/{}", repository.path(&place));
        let git = repository.git();
        let store = git.line(&["rev-parse", "--path-format=absolute", "--git-path", &modules])?;
        Ok([self.project.path(&place), PathBuf::from(store)])
    }

    fn submodule(&mut self, observed: &Observed) -> Result<()> {
        let repository = self.project.repository_for(self.source.kind)?;
        let (top, place) = (repository.top(), self.source.place());
        let path = repository.path(&place);
        let above = repository.git();
        let commit = self.source.commit.as_str();
        self.make_folder(self.source.kind.shelf())?;
        if begins_anew(observed) {
            for rubbish in self.clone_folders()? {
                if look(&rubbish)? != Found::Nothing {
                    self.remove(&rubbish)?;
                }
            }
        } else {
            if !observed.has_commit {
                // Before anything changes: a remote out of reach then leaves the clone as it was.
                let url = self.source.url.as_str();
                self.fetch(&place, &["fetch", "--quiet", "--depth=1", "--no-tags", "--", url, commit])?;
            }
            if !observed.edits.is_empty() {
                self.git(&place, &["reset", "--hard", "--quiet"])?;
                self.git(&place, &["clean", "-ffdq"])?;
            }
        }
        let key = |name: &str| format!("submodule.{path}.{name}");
        let config = ["config", "--file", ".gitmodules"];
        for (name, value) in [("path", path.as_str()), ("url", self.source.url.as_str())] {
            self.git(&top, &[&config[..], &[&key(name), value]].concat())?;
        }
        for (name, value) in SUBMODULE_SETTINGS {
            if above.ask(&[&config[..], &["--get", &key(name)]].concat())?.is_none() {
                self.git(&top, &[&config[..], &[&key(name), value]].concat())?;
            }
        }
        self.git(&top, &["add", "--", ".gitmodules"])?;
        self.git(&top, &["update-index", "--add", "--cacheinfo", &format!("160000,{commit},{path}")])?;
        self.git(&top, &["submodule", "--quiet", "init", "--", &path])?;
        // An address that changed in the lock must reach the clone, too.
        self.git(&top, &["submodule", "--quiet", "sync", "--", &path])?;
        let update = ["submodule", "--quiet", "update", "--checkout", "--force", "--depth", "1", "--", &path];
        self.fetch(&top, &update)?;
        self.check_commit(&place)?;
        self.mark_read_only(&place)
    }

    /// Made with plumbing, not with `git subtree`, which many installations lack and which commits. The objects go
    /// through a separate repository: fetching a shallow commit into the project would make the project shallow.
    fn subtree(&mut self) -> Result<()> {
        let repository = self.project.repository_for(self.source.kind)?;
        let (top, place, staging) = (repository.top(), self.source.place(), self.source.staging());
        let path = repository.path(&place);
        let tree = self.source.tree.clone();
        self.begin(&staging, &["--bare"])?;
        let commit = self.source.commit.as_str();
        self.fetch(&staging, &["fetch", "--quiet", "--depth=1", "--no-tags", "origin", commit])?;
        self.check_commit(&staging)?;
        let (from, into, wanted) = (self.git_at(&staging), self.git_at(&top), format!("{tree}\n"));
        self.take(format!("copy tree {tree} from {} into {top}", quoted(&staging)), || {
            let pack = ["pack-objects", "--quiet", "--revs", "--stdout"];
            let pack = from.run_with_input(&pack, wanted.as_bytes())?;
            Ok(into.run_with_input(&["unpack-objects", "-q"], &pack).map(drop)?)
        })?;
        self.remove(&self.project.path(&staging))?;
        self.git(&top, &["rm", "-r", "-f", "--quiet", "--cached", "--ignore-unmatch", "--", &path])?;
        self.remove(&self.project.path(&place))?;
        self.git(&top, &["read-tree", &format!("--prefix={path}/"), "-u", &tree])?;
        self.mark_read_only(&place)
    }

    fn begin(&mut self, folder: &str, options: &[&str]) -> Result<()> {
        self.remove(&self.project.path(folder))?;
        self.make_folder(folder)?;
        self.git(folder, &[&["init", "--quiet"], options].concat())?;
        self.git(folder, &["remote", "add", "--", "origin", &self.source.url])
    }

    /// Builds a new folder and then replaces the old one: it is small, and an interruption leaves the old one intact.
    fn sparse(&mut self) -> Result<()> {
        let (built, commit) = (self.source.staging(), self.source.commit.as_str());
        let patterns = licenses::sparse_patterns(&self.source.paths);
        self.begin(&built, &[])?;
        let fetch = ["fetch", "--quiet", "--depth=1", "--no-tags", "--filter=blob:none", "origin", commit];
        self.fetch(&built, &fetch)?;
        self.check_commit(&built)?;
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        self.git(&built, &[&["sparse-checkout", "set", "--no-cone"], &patterns[..]].concat())?;
        // The checkout fetches the files if the server left them out.
        self.fetch(&built, &["checkout", "--quiet", "--detach", commit])?;
        self.mark_read_only(&built)?;
        self.replace(&built, &self.source.place())
    }

    fn copies(&mut self) -> Result<()> {
        let (project, source, built) = (self.project, self.source, self.source.staging());
        let (copied, _) = hub_files(project, source)?;
        self.remove(&project.path(&built))?;
        self.make_folder(&built)?;
        for (path, from) in &copied {
            let to = project.path(&format!("{built}/{path}"));
            let line =
                format!("copy {} to {}", quoted(&from.to_string_lossy()), quoted(&format!("{built}/{path}")));
            self.take(line, || files::copy(from, &to))?;
        }
        self.take(format!("check that {} is tree {}", quoted(&built), source.tree), || {
            let found = files::entries(&project.path(&built))?;
            let found: Vec<_> = found.into_iter().map(|(path, file, _)| (path, file)).collect();
            check_tree(source, &Tree::of(project, &found)?.id)
        })?;
        self.mark_read_only(&built)?;
        self.replace(&built, &source.place())
    }

    fn link(&mut self, observed: &Observed) -> Result<()> {
        let (name, url, commit) = (&self.source.name, &self.source.url, &self.source.commit);
        // The checkout must be as the lock says: Rooflens does not change it.
        match checked_out(url)? {
            None => return Err(no_checkout(url)),
            Some(found) if found != *commit => {
                let message = format!("{name}: {url} is at {found}, but the lock says {commit}");
                return Err(ProjectError::data(message).hint(format!(
                    "`rooflens externals update {name}` records it; `git -C '{url}' checkout {commit}` goes back"
                )));
            }
            Some(_) => {}
        }
        let place = self.project.path(&self.source.place());
        self.make_folder(self.source.kind.shelf())?;
        if observed.condition != Condition::Missing || look(&place)? != Found::Nothing {
            self.remove(&place)?;
        }
        self.take(format!("link {} to {}", quoted(&self.source.place()), quoted(url)), || {
            std::os::unix::fs::symlink(url, &place).map_err(ProjectError::io(&place))
        })
    }
}

fn line(folder: &str, arguments: &[&str]) -> String {
    let words = ["git", "-C", folder].into_iter().chain(arguments.iter().copied());
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

/// Whether nothing of a clone is worth keeping.
fn begins_anew(observed: &Observed) -> bool {
    matches!(observed.condition, Condition::Missing | Condition::InTheWay)
}

fn check_tree(source: &LockedSource, found: &str) -> Result<()> {
    if source.tree == found {
        return Ok(());
    }
    let message = format!("{}: the lock says tree {}, but the source has {found}", source.name, source.tree);
    Err(ProjectError::data(message)
        .hint("do not use it before you know why; `rooflens externals add` pins what is there now"))
}
