//! Repositories, projects and hub caches to try things on.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rooflens_project::externals::{
    AddRequest, Condition, Externals, ExternalsError, SourceKind, SourceStatus, SyncReport, SyncRequest,
};
use tempfile::TempDir;

/// Runs git as a user would, with a user's name and nothing else of this machine's.
pub fn try_git(folder: &Path, arguments: &[&str]) -> Output {
    Command::new("git")
        .current_dir(folder)
        .args([
            "-c",
            "user.name=Test",
            "-c",
            "user.email=test@example.invalid",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(["-c", "protocol.file.allow=always", "-c", "commit.gpgSign=false"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap()
}

pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = try_git(folder, arguments);
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

pub fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if path.exists() {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    }
    fs::write(path, text).unwrap();
}

pub fn read(folder: &Path, path: &str) -> String {
    fs::read_to_string(folder.join(path)).unwrap()
}

/// The files below a folder, git's own left out.
pub fn files(folder: &Path) -> Vec<String> {
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
pub struct World {
    pub dir: TempDir,
    pub upstream: PathBuf,
    pub project: PathBuf,
    pub hub_cache: PathBuf,
}

impl World {
    /// With a project that is a repository with one commit.
    pub fn new() -> Self {
        let world = Self::without_repository();
        git(&world.project, &["init", "--quiet"]);
        write(&world.project, "README.md", "a project\n");
        world.commit("start");
        world
    }

    pub fn without_repository() -> Self {
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
    pub fn advance(&self, text: &str) -> String {
        write(&self.upstream, "src/kernel.cu", text);
        git(&self.upstream, &["commit", "--quiet", "-a", "-m", "next"]);
        self.head()
    }

    pub fn head(&self) -> String {
        git(&self.upstream, &["rev-parse", "HEAD"])
    }

    pub fn url(&self) -> &str {
        self.upstream.to_str().unwrap()
    }

    pub fn externals(&self) -> Externals {
        Externals::open(&self.project).unwrap().with_hub_caches(vec![self.hub_cache.clone()])
    }

    pub fn request(&self, kind: SourceKind) -> AddRequest {
        let paths = if kind == SourceKind::Sparse { vec!["src/deep".to_owned()] } else { Vec::new() };
        AddRequest { name: Some("flash attention".to_owned()), paths, ..AddRequest::new(kind, self.url()) }
    }

    pub fn add(&self, kind: SourceKind) {
        self.externals().add(&self.request(kind)).unwrap();
    }

    pub fn add_named(&self, kind: SourceKind, name: &str) {
        self.externals().add(&AddRequest { name: Some(name.to_owned()), ..self.request(kind) }).unwrap();
    }

    pub fn sync(&self) -> SyncReport {
        self.externals().sync(&SyncRequest::default()).unwrap()
    }

    pub fn force_sync(&self) -> SyncReport {
        self.externals().sync(&SyncRequest { force: true, ..SyncRequest::default() }).unwrap()
    }

    /// The only source.
    pub fn only(&self) -> SourceStatus {
        let mut report = self.externals().status().unwrap();
        assert_eq!(report.sources.len(), 1);
        report.sources.remove(0)
    }

    pub fn condition(&self) -> Condition {
        self.only().condition
    }

    pub fn commit(&self, message: &str) {
        git(&self.project, &["add", "."]);
        git(&self.project, &["commit", "--quiet", "-m", message]);
    }

    pub fn place(&self) -> PathBuf {
        self.project.join("third_party/github/flash attention")
    }

    /// A clone of the project, as a colleague has it.
    pub fn colleague(&self) -> World {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        git(&root, &["clone", "--quiet", self.project.to_str().unwrap(), "clone"]);
        let (upstream, hub_cache) = (self.upstream.clone(), self.hub_cache.clone());
        World { project: root.join("clone"), dir, upstream, hub_cache }
    }
}

/// The git kinds, which all are to behave alike.
pub const GIT_KINDS: [SourceKind; 3] = [SourceKind::Submodule, SourceKind::Subtree, SourceKind::Sparse];

/// Message and hint, as the user sees them.
pub fn told(error: &ExternalsError) -> String {
    format!("{error}\nhint: {}", error.hint())
}
