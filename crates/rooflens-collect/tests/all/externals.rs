//! Reference sources, with real git on repositories made here. Nothing leaves the machine.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use rooflens_collect::project::externals::{
    AddRequest, Condition, Externals, HookAction, LeftOutReason, Lock, SourceKind, SourceStatus,
    StagedReason, SyncOutcome, SyncReport, SyncRequest,
};
use rooflens_collect::project::{FaultClass, ProjectError};
use tempfile::TempDir;

const LOCK: &str = "third_party/externals.lock";

/// Runs git as a user would, with a user's name and nothing else of this machine's.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    for setting in [
        "user.name=Test",
        "user.email=test@example.invalid",
        "init.defaultBranch=main",
        "protocol.file.allow=always",
        "commit.gpgSign=false",
    ] {
        command.args(["-c", setting]);
    }
    command.args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if path.exists() {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    }
    fs::write(path, text).unwrap();
}

fn read(folder: &Path, path: &str) -> String {
    fs::read_to_string(folder.join(path)).unwrap()
}

/// The files below a folder, git's own left out.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name() == ".git" {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                found.push(entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Somebody else's repository, in a folder with a space, and a project to read it from.
struct World {
    dir: TempDir,
    upstream: PathBuf,
    project: PathBuf,
    hub_cache: PathBuf,
}

impl World {
    /// With a project that is a repository with one commit.
    fn new() -> Self {
        let world = Self::without_repository();
        git(&world.project, &["init", "--quiet"]);
        write(&world.project, "README.md", "a project\n");
        world.commit("start");
        world
    }

    fn without_repository() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let (upstream, project) = (root.join("up stream"), root.join("my project"));
        fs::create_dir_all(&upstream).unwrap();
        fs::create_dir_all(&project).unwrap();
        git(&upstream, &["init", "--quiet"]);
        write(&upstream, "LICENSE", "be kind\n");
        write(&upstream, "README.md", "upstream\n");
        write(&upstream, "src/kernel.cu", "one\n");
        write(&upstream, "src/deep/a b.py", "print(1)\n");
        write(&upstream, "docs/guide.md", "guide\n");
        git(&upstream, &["add", "."]);
        git(&upstream, &["commit", "--quiet", "-m", "one"]);
        git(&upstream, &["tag", "-a", "v1", "-m", "v1"]);
        Self { hub_cache: root.join("hub"), dir, upstream, project }
    }

    /// Changes upstream and gives the new commit.
    fn advance(&self, text: &str) -> String {
        write(&self.upstream, "src/kernel.cu", text);
        git(&self.upstream, &["commit", "--quiet", "-a", "-m", "next"]);
        self.head()
    }

    fn head(&self) -> String {
        git(&self.upstream, &["rev-parse", "HEAD"])
    }

    fn url(&self) -> &str {
        self.upstream.to_str().unwrap()
    }

    fn externals(&self) -> Externals {
        Externals::open(&self.project, vec![self.hub_cache.clone()]).unwrap()
    }

    fn request(&self, kind: SourceKind) -> AddRequest {
        let paths = if kind == SourceKind::Sparse { vec!["src/deep".to_owned()] } else { Vec::new() };
        AddRequest { name: Some("flash attention".to_owned()), paths, ..plain(kind, self.url()) }
    }

    fn add(&self, kind: SourceKind) {
        self.externals().add(&self.request(kind)).unwrap();
    }

    fn sync(&self) -> SyncReport {
        self.externals().sync(&SyncRequest::default()).unwrap()
    }

    fn force_sync(&self) -> SyncReport {
        self.externals().sync(&SyncRequest { force: true, ..SyncRequest::default() }).unwrap()
    }

    /// The only source.
    fn only(&self) -> SourceStatus {
        let mut report = self.externals().status().unwrap();
        assert_eq!(report.sources.len(), 1);
        report.sources.remove(0)
    }

    fn commit(&self, message: &str) {
        git(&self.project, &["add", "."]);
        git(&self.project, &["commit", "--quiet", "-m", message]);
    }

    fn place(&self) -> PathBuf {
        self.project.join("third_party/github/flash attention")
    }

    /// A clone of the project, as a colleague has it.
    fn colleague(&self) -> World {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        git(&root, &["clone", "--quiet", self.project.to_str().unwrap(), "clone"]);
        let (upstream, hub_cache) = (self.upstream.clone(), self.hub_cache.clone());
        World { project: root.join("clone"), dir, upstream, hub_cache }
    }
}

/// The git kinds, which all are to behave alike.
const GIT_KINDS: [SourceKind; 3] = [SourceKind::Submodule, SourceKind::Subtree, SourceKind::Sparse];

fn plain(kind: SourceKind, url: &str) -> AddRequest {
    let (url, paths) = (url.to_owned(), Vec::new());
    AddRequest { kind, url, revision: None, name: None, paths, dry_run: false, force: false }
}

/// The error of the only source that failed.
fn failure(report: SyncReport) -> ProjectError {
    report.sources.into_iter().find_map(|source| source.error).expect("a failure")
}

#[test]
fn each_git_kind_is_pinned_read_only_and_brought_back_to_a_clone() {
    for kind in GIT_KINDS {
        let world = World::new();
        let dry = world.externals().add(&AddRequest { dry_run: true, ..world.request(kind) }).unwrap();
        assert!(!dry.synced.steps.is_empty());
        assert_eq!(files(&world.project), ["README.md"], "{kind:?}");
        world.add(kind);
        let status = world.only();
        assert_eq!((status.condition, status.read_only), (Condition::InSync, Some(true)), "{kind:?}");
        assert_eq!(status.licences[0].path, "LICENSE");
        assert_eq!(world.place().join("docs").exists(), kind != SourceKind::Sparse);
        world.commit("pin");
        assert_eq!(git(&world.project, &["status", "--porcelain"]), "");
        // The commit is on no branch any more: it is still fetched by its id.
        let pinned = world.head();
        git(&world.upstream, &["commit", "--quiet", "--amend", "-m", "other"]);
        let colleague = world.colleague();
        let report = colleague.sync();
        assert!(report.succeeded, "{kind:?}: {:?}", report.sources[0].error);
        assert_eq!(colleague.only().found_commit.unwrap(), pinned);
        assert_eq!(colleague.sync().sources[0].outcome, SyncOutcome::Unchanged);
    }
}

#[test]
fn local_edits_are_refused_and_force_discards_them() {
    for kind in GIT_KINDS {
        let world = World::new();
        world.add(kind);
        write(&world.place(), "src/deep/a b.py", "mine\n");
        write(&world.place(), "src/deep/new.py", "mine\n");
        let status = world.only();
        assert_eq!(status.condition, Condition::Edited, "{kind:?}");
        assert_eq!(status.edits, ["src/deep/a b.py", "src/deep/new.py"], "{kind:?}");
        let error = failure(world.sync());
        assert!(error.message.contains("has local edits: src/deep/a b.py"), "{error}");
        assert!(error.hint.unwrap().contains("sync --force"));
        let error = world.externals().add(&world.request(kind)).unwrap_err();
        assert!(error.message.contains("has local edits"), "{error}");
        assert_eq!(read(&world.place(), "src/deep/new.py"), "mine\n");
        assert_eq!(world.force_sync().sources[0].outcome, SyncOutcome::Repaired, "{kind:?}");
        assert_eq!(world.only().condition, Condition::InSync);
        assert!(!world.place().join("src/deep/new.py").exists());
    }
    // A commit that was made here is work, too.
    let world = World::new();
    world.add(SourceKind::Submodule);
    write(&world.place(), "src/kernel.cu", "mine\n");
    git(&world.place(), &["commit", "--quiet", "-a", "-m", "mine"]);
    assert!(failure(world.sync()).message.contains("a local commit"));
}

#[test]
fn a_remote_out_of_reach_leaves_what_there_was() {
    for kind in GIT_KINDS {
        let world = World::new();
        world.add(kind);
        world.commit("pin");
        let lock = read(&world.project, LOCK);
        let tree = |commit: &str| git(&world.upstream, &["rev-parse", &format!("{commit}^{{tree}}")]);
        let (old, new) = (world.head(), world.advance("two\n"));
        let lock = lock.replace(&old, &new).replace(&tree(&old), &tree(&new));
        write(&world.project, LOCK, &lock);
        fs::rename(&world.upstream, world.dir.path().join("away")).unwrap();
        let before = files(&world.place());
        let error = failure(world.sync());
        assert_eq!(error.class, FaultClass::Environment, "{kind:?}: {error}");
        assert!(error.message.contains("cannot be reached"), "{error}");
        assert_eq!(files(&world.place()), before);
        fs::rename(world.dir.path().join("away"), &world.upstream).unwrap();
        assert!(world.sync().succeeded, "{kind:?}");
        assert_eq!(world.only().found_commit.unwrap(), new);
    }
}

#[test]
fn a_commit_that_is_gone_and_a_wrong_tree_are_refused() {
    for kind in [SourceKind::Submodule, SourceKind::Sparse] {
        let world = World::new();
        world.advance("soon gone\n");
        world.add(kind);
        world.commit("pin");
        git(&world.upstream, &["reset", "--quiet", "--hard", "HEAD~"]);
        git(&world.upstream, &["reflog", "expire", "--expire=now", "--all"]);
        git(&world.upstream, &["gc", "--quiet", "--prune=now"]);
        let colleague = world.colleague();
        // The second attempt begins again.
        for _ in 0..2 {
            let error = failure(colleague.sync());
            assert_eq!(error.class, FaultClass::Data, "{kind:?}: {error}");
            assert!(error.hint.unwrap().contains("history may have been rewritten"));
        }
    }
    for kind in GIT_KINDS {
        let world = World::new();
        world.add(kind);
        let lock = read(&world.project, LOCK);
        let tree = git(&world.upstream, &["rev-parse", "HEAD^{tree}"]);
        write(&world.project, LOCK, &lock.replace(&tree, &"a".repeat(40)));
        fs::remove_dir_all(world.place()).unwrap();
        let error = failure(world.force_sync());
        assert!(error.message.contains("the lock says tree aaaa"), "{kind:?}: {error}");
    }
}

#[test]
fn one_failure_does_not_stop_the_others_and_one_process_works_at_a_time() {
    let (world, other) = (World::new(), World::new());
    world.add(SourceKind::Sparse);
    let request = AddRequest { name: Some("another".into()), ..other.request(SourceKind::Sparse) };
    world.externals().add(&request).unwrap();
    for name in ["another", "flash attention"] {
        fs::remove_dir_all(world.project.join("third_party/github").join(name)).unwrap();
    }
    fs::remove_dir_all(&other.upstream).unwrap();
    let report = world.sync();
    assert_eq!(report.sources[0].outcome, SyncOutcome::Failed);
    assert_eq!(report.sources[1].outcome, SyncOutcome::Created);
    let folder = fs::File::open(world.project.join("third_party")).unwrap();
    folder.lock().unwrap();
    let error = world.externals().sync(&SyncRequest::default()).unwrap_err();
    assert!(error.message.contains("another rooflens"), "{error}");
    folder.unlock().unwrap();
}

#[test]
fn names_urls_and_paths_of_a_stranger_are_refused() {
    let world = World::new();
    let witness = world.dir.path().join("witness");
    let refused = |request: AddRequest, fact: &str| {
        let error = world.externals().add(&request).unwrap_err();
        assert_eq!(error.class, FaultClass::Usage, "{error}");
        assert!(error.message.contains(fact), "{error}");
        assert!(!error.message.contains("secret"), "{error}");
    };
    let long = "x".repeat(300);
    #[rustfmt::skip] // A list of names.
    let names = [
        "../x", "-x", "--help", "/tmp/x", ".git", ".GIT", "..", ".", "", "a/b", "a\\b", "git~1", "GIT~1", " x", "x ",
        "x.", "a\nb", "a\0b", "c:x", &long,
    ];
    for name in names {
        refused(
            AddRequest { name: Some(name.to_owned()), ..world.request(SourceKind::Subtree) },
            "cannot name",
        );
    }
    for url in [
        "-x",
        &format!("--upload-pack=touch {}", witness.display()),
        &format!("ext::sh -c touch {}", witness.display()),
        "fd::17/foo",
        "ssh://-oProxyCommand=x/y",
        "-oProxyCommand=x:y",
        "user@-oProxyCommand=x:y",
        "https://user:secret@example.invalid/x",
        "https://secret@example.invalid/x",
        "ssh://user:secret@example.invalid/x",
        "ftp://example.invalid/x",
        "file://relative",
        "../up stream",
        "",
        " https://example.invalid/x",
        "https://example.invalid/x\n[core]",
    ] {
        for kind in [SourceKind::Submodule, SourceKind::Sparse, SourceKind::Hub, SourceKind::Link] {
            refused(AddRequest { url: url.to_owned(), ..world.request(kind) }, "cannot be fetched from");
        }
    }
    for path in ["../x", "/etc", "-x", "a/../b", "a//b", ".git/config", "a/.GIT/x", "", ".", "a\nb", "a\\b"] {
        let paths = vec![path.to_owned()];
        refused(AddRequest { paths, ..world.request(SourceKind::Sparse) }, "not a valid path");
    }
    for revision in ["-x", "a..b", "a b", "x.lock", "a//b", "@{1}", ""] {
        let revision = Some(revision.to_owned());
        refused(AddRequest { revision, ..world.request(SourceKind::Subtree) }, "not a valid revision");
    }
    assert!(!witness.exists());
    assert_eq!(files(&world.project), ["README.md"]);
}

#[test]
fn a_hostile_lock_is_refused_and_changes_nothing() {
    let world = World::new();
    world.add(SourceKind::Sparse);
    let lock = read(&world.project, LOCK);
    let before = files(&world.project);
    for (from, to) in [
        ("flash attention:", "../../x:"),
        ("flash attention:", ".git:"),
        ("- src/deep", "- ../../../x"),
        (world.url(), "ext::sh -c id"),
        (world.url(), "--upload-pack=id"),
        (world.url(), "https://user:secret@example.invalid/x"),
        (&world.head(), "HEAD"),
        ("kind: sparse", "kind: magic"),
        ("kind: sparse", "kind: hub"),
        ("kind: sparse", "kind: link"),
        ("kind: sparse", "kind: sparse\n    shell: id"),
        ("kind: sparse", "kind: sparse\n    name: other"),
        ("- LICENSE", "- ../../../../etc/passwd"),
        ("version: 1", "version: 2"),
    ] {
        write(&world.project, LOCK, &lock.replace(from, to));
        let error =
            world.externals().sync(&SyncRequest { force: true, ..SyncRequest::default() }).unwrap_err();
        assert_eq!(error.class, FaultClass::Usage, "{to}: {error}");
        assert!(!error.message.contains("secret"), "{error}");
        assert!(error.hint.unwrap().contains("git checkout"), "{to}");
    }
    assert_eq!(files(&world.project), before);
    // Two names for one folder, on a file system that ignores case.
    assert!(Lock::parse(&lock.replace("flash attention", "x")).is_ok());
    let entry = lock.split_once("sources:\n").unwrap().1;
    let twice = format!("{lock}{}", entry.replace("flash attention", "Flash Attention"));
    assert!(Lock::parse(&twice).unwrap_err().message.contains("differ only in case"));
}

#[test]
fn nothing_is_written_through_a_link() {
    for link in ["third_party", "third_party/github", ".gitmodules"] {
        let world = World::new();
        let outside = world.dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let path = world.project.join(link);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(&outside, path).unwrap();
        let error = world.externals().add(&world.request(SourceKind::Submodule)).unwrap_err();
        assert!(error.message.contains("is a symbolic link"), "{link}: {error}");
        assert!(files(&outside).is_empty());
    }
    let world = World::new();
    let outside = world.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::create_dir_all(world.project.join("third_party/github")).unwrap();
    symlink(&outside, world.place()).unwrap();
    for kind in GIT_KINDS {
        let error = world.externals().add(&world.request(kind)).unwrap_err();
        assert!(error.message.contains("is a symbolic link"), "{kind:?}: {error}");
    }
    assert!(files(&outside).is_empty());
}

#[test]
fn hooks_of_the_project_do_not_run_and_network_urls_stay_on_the_network() {
    let world = World::new();
    let witness = world.dir.path().join("witness");
    for hook in ["reference-transaction", "post-index-change", "post-checkout", "fsmonitor-watchman"] {
        let path = world.project.join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\necho {hook} >> '{}'\n", witness.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for kind in GIT_KINDS {
        world.externals().add(&AddRequest { name: Some(kind.name().into()), ..world.request(kind) }).unwrap();
    }
    world.externals().status().unwrap();
    assert!(!witness.exists(), "{}", fs::read_to_string(&witness).unwrap());
    git(&world.project, &["add", "README.md"]);
    git(&world.project, &["commit", "--quiet", "-m", "x"]);
    assert!(witness.exists(), "the hooks do run otherwise");

    let url = "https://example.invalid/x";
    git(&world.project, &["config", &format!("url.{}.insteadOf", world.url()), url]);
    let request =
        AddRequest { url: url.to_owned(), name: Some("x".into()), ..world.request(SourceKind::Subtree) };
    let error = world.externals().add(&request).unwrap_err();
    assert!(error.message.contains("transport 'file' not allowed"), "{error}");
}

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const COPIES: &str = "third_party/hf/tiny";

/// A cache as `huggingface_hub` makes it: a snapshot of links to blobs.
fn cache(world: &World, entries: &[(&str, &str)]) {
    let home = world.hub_cache.join("models--org--tiny");
    write(&home, "refs/main", COMMIT);
    for (number, (path, text)) in entries.iter().enumerate() {
        write(&home, &format!("blobs/{number}"), text);
        let link = home.join("snapshots").join(COMMIT).join(path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let up = "../".repeat(path.matches('/').count() + 2);
        symlink(format!("{up}blobs/{number}"), link).unwrap();
    }
}

const SNAPSHOT: &[(&str, &str)] = &[
    ("LICENSE", "be kind\n"),
    ("config.json", "{}\n"),
    ("code/modeling_tiny.py", "class Tiny: pass\r\n"),
    ("model.safetensors", "weights"),
    ("tiny.GGUF", "weights"),
    (".gitattributes", "*.json filter=lfs\n"),
];

#[test]
fn hub_sources_are_copied_without_weights_and_pinned_by_the_tree_of_git() {
    for world in [World::new(), World::without_repository()] {
        cache(&world, SNAPSHOT);
        let added = world.externals().add(&plain(SourceKind::Hub, "org/tiny")).unwrap();
        assert_eq!((added.source.url.as_str(), added.source.commit.as_str()), ("hf://org/tiny", COMMIT));
        assert_eq!(added.source.licences, ["LICENSE"]);
        let left_out: Vec<_> = added.left_out.iter().map(|file| (file.path.as_str(), file.reason)).collect();
        let weights = LeftOutReason::Weights;
        let expected = [
            (".gitattributes", LeftOutReason::GitSettings),
            ("model.safetensors", weights),
            ("tiny.GGUF", weights),
        ];
        assert_eq!(left_out, expected);
        let place = world.project.join(COPIES);
        assert_eq!(files(&place), ["LICENSE", "code/modeling_tiny.py", "config.json"]);
        assert!(fs::symlink_metadata(place.join("config.json")).unwrap().is_file());
        assert_eq!(world.sync().sources[0].outcome, SyncOutcome::Unchanged);
        if world.externals().is_in_repository() {
            git(&world.project, &["-c", "core.autocrlf=true", "add", "."]);
            let staged = git(&world.project, &["write-tree", &format!("--prefix={COPIES}/")]);
            assert_eq!(staged, added.source.tree);
            assert_eq!(world.externals().staged_edits().unwrap(), []);
        }
        write(&place, "config.json", "{\"mine\": 1}\n");
        write(&place, "new.py", "");
        let expected: &[&str] =
            if world.externals().is_in_repository() { &["config.json", "new.py"] } else { &["."] };
        assert_eq!(world.only().edits, expected);
        assert!(failure(world.sync()).message.contains("has local edits"));
        assert_eq!(world.force_sync().sources[0].outcome, SyncOutcome::Repaired);
        assert_eq!(read(&place, "config.json"), "{}\n");
        // A changed cache is not trusted.
        fs::remove_dir_all(&place).unwrap();
        write(&world.hub_cache, "models--org--tiny/blobs/1", "tampered");
        assert!(failure(world.sync()).message.contains("the lock says tree"));
        assert!(!place.exists());
    }
}

#[test]
fn links_that_leave_a_hub_repository_are_refused() {
    for target in ["/etc/hostname", "../../../secret.txt", "../../../models--org--other/blobs/x", "."] {
        let world = World::new();
        cache(&world, SNAPSHOT);
        write(&world.hub_cache, "secret.txt", "secret");
        write(&world.hub_cache, "models--org--other/blobs/x", "other");
        let snapshot = world.hub_cache.join("models--org--tiny/snapshots").join(COMMIT);
        symlink(target, snapshot.join("stolen.txt")).unwrap();
        let error = world.externals().add(&plain(SourceKind::Hub, "org/tiny")).unwrap_err();
        assert!(
            error.message.contains("\"stolen.txt\" of hf://org/tiny is a symbolic link"),
            "{target}: {error}"
        );
        assert!(!world.project.join("third_party").exists());
    }
    let world = World::new();
    let unset = Externals::open(&world.project, Vec::new()).unwrap();
    let error = unset.add(&plain(SourceKind::Hub, "org/tiny")).unwrap_err();
    assert!(error.hint.unwrap().contains("HF_HUB_CACHE"));
    cache(&world, SNAPSHOT);
    let part = AddRequest { paths: vec!["code".into()], ..plain(SourceKind::Hub, "org/tiny") };
    world.externals().add(&part).unwrap();
    assert_eq!(files(&world.project.join(COPIES)), ["LICENSE", "code/modeling_tiny.py"]);
}

#[test]
fn staged_changes_that_the_lock_does_not_explain_are_listed() {
    for kind in [SourceKind::Subtree, SourceKind::Submodule] {
        let world = World::new();
        world.add(kind);
        assert_ne!(world.externals().staged_edits().unwrap(), [], "the lock is not staged yet");
        git(&world.project, &["add", "third_party"]);
        assert_eq!(world.externals().staged_edits().unwrap(), [], "{kind:?}");
        world.commit("pin");
        world.advance("two\n");
        world.add(kind);
        git(&world.project, &["add", "third_party"]);
        assert_eq!(world.externals().staged_edits().unwrap(), [], "a new pin of a {kind:?}");
    }
    let world = World::new();
    world.add(SourceKind::Subtree);
    let sparse = AddRequest { name: Some("sparse one".into()), ..world.request(SourceKind::Sparse) };
    world.externals().add(&sparse).unwrap();
    world.commit("pin");
    write(&world.project, "third_party/github/README.md", "about this shelf\n");
    write(&world.project, "third_party/mine/x.c", "not a source\n");
    git(&world.project, &["add", "."]);
    assert_eq!(world.externals().staged_edits().unwrap(), []);
    write(&world.project, "third_party/github/stray/x.c", "x\n");
    git(&world.project, &["add", "."]);
    git(&world.project, &["rm", "-q", "--cached", "third_party/github/flash attention/LICENSE"]);
    git(&world.project, &["add", "-f", "third_party/github/sparse one"]);
    let edits = world.externals().staged_edits().unwrap();
    let found: Vec<_> = edits.iter().map(|edit| (edit.path.as_str(), edit.reason)).collect();
    let expected = [
        ("third_party/github/flash attention/LICENSE", StagedReason::Edited),
        ("third_party/github/sparse one", StagedReason::NotTracked),
        ("third_party/github/stray/x.c", StagedReason::Unlisted),
    ];
    assert_eq!(found, expected);
    // A source leaves with its lock.
    git(&world.project, &["reset", "--quiet", "--hard"]);
    git(&world.project, &["rm", "-r", "-q", "third_party/github/flash attention"]);
    assert_ne!(world.externals().staged_edits().unwrap(), []);
    git(&world.project, &["rm", "-q", LOCK]);
    assert_eq!(world.externals().staged_edits().unwrap(), []);
}

#[test]
fn a_users_hook_is_extended_or_left_alone() {
    let world = World::new();
    let hook = world.project.join(".git/hooks/pre-commit");
    let install = |text: &str, mode: u32| {
        write(&world.project, ".git/hooks/pre-commit", text);
        fs::set_permissions(&hook, fs::Permissions::from_mode(mode)).unwrap();
    };
    install("#!/usr/bin/env bash\ntouch ran\nexec true", 0o750);
    assert_eq!(world.externals().guard().unwrap().action, HookAction::Extended);
    assert_eq!(world.externals().guard().unwrap().action, HookAction::Unchanged);
    let text = fs::read_to_string(&hook).unwrap();
    assert!(
        text.starts_with("#!/usr/bin/env bash\n# >>> rooflens") && text.ends_with("exec true\n"),
        "{text}"
    );
    assert!(text.contains("\nrooflens externals status --staged --project . || exit 1\n"), "{text}");
    assert_eq!(fs::metadata(&hook).unwrap().permissions().mode() & 0o777, 0o750);
    install(&text.replace("--project .", ""), 0o750);
    assert_eq!(world.externals().guard().unwrap().action, HookAction::Updated);

    let refused = |fact: &str| {
        let error = world.externals().guard().unwrap_err();
        assert!(error.message.contains(fact), "{error}");
        assert!(error.hint.unwrap().contains("call this from it: rooflens externals status --staged"));
    };
    install("#!/bin/sh\ntrue\n", 0o644);
    refused("not executable");
    install("#!/usr/bin/env python3\nprint(1)\n", 0o755);
    refused("not a shell script");
    fs::remove_file(&hook).unwrap();
    write(&world.project, "hook.sh", "#!/bin/sh\n");
    symlink("../../hook.sh", &hook).unwrap();
    refused("symbolic link");
    fs::remove_file(&hook).unwrap();
    let shared = world.dir.path().join("shared");
    fs::create_dir(&shared).unwrap();
    git(&world.project, &["config", "core.hooksPath", shared.to_str().unwrap()]);
    refused("out of the repository");
    git(&world.project, &["config", "core.hooksPath", ".husky"]);
    assert_eq!(world.externals().guard().unwrap().action, HookAction::Installed);
    assert!(world.project.join(".husky/pre-commit").exists());
    assert!(
        World::without_repository()
            .externals()
            .guard()
            .unwrap_err()
            .message
            .contains("not in a git repository")
    );
}

#[test]
fn a_project_in_a_folder_of_its_repository_works_the_same() {
    let mut world = World::new();
    let top = world.project.clone();
    world.project = top.join("in side");
    fs::create_dir_all(&world.project).unwrap();
    for kind in GIT_KINDS {
        world.externals().add(&AddRequest { name: Some(kind.name().into()), ..world.request(kind) }).unwrap();
    }
    world.commit("pin");
    assert!(world.externals().status().unwrap().in_sync);
    world.externals().guard().unwrap();
    assert!(read(&top, ".git/hooks/pre-commit").contains("(cd './in side/' && "));
    write(&world.project, "third_party/github/subtree/LICENSE", "mine\n");
    git(&world.project, &["add", "."]);
    let edits = world.externals().staged_edits().unwrap();
    assert_eq!(edits[0].path, "third_party/github/subtree/LICENSE");
}
