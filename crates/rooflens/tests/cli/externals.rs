//! Reference sources, with real git on repositories of this machine.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Somebody else's repository, and a project in a repository of its own.
pub struct World {
    pub folder: Folder,
}

impl World {
    pub fn new() -> Self {
        let world = World { folder: Folder::new() };
        let upstream = world.folder.path("upstream");
        world.folder.write("upstream/LICENSE", b"be kind\n");
        world.folder.write("upstream/src/kernel.cu", b"one\n");
        world.folder.write("upstream/docs/guide.md", b"guide\n");
        git(&upstream, &["init", "--quiet"]);
        git(&upstream, &["add", "."]);
        git(&upstream, &["commit", "--quiet", "-m", "one"]);
        git(&upstream, &["tag", "v1"]);
        text(&["init", &world.folder.text("project")]);
        git(&world.project(), &["init", "--quiet"]);
        world.commit("start");
        world
    }

    pub fn project(&self) -> PathBuf {
        self.folder.path("project")
    }

    pub fn commit(&self, message: &str) {
        git(&self.project(), &["add", "."]);
        git(&self.project(), &["commit", "--quiet", "-m", message]);
    }

    pub fn externals(&self, args: &[&str]) -> Answer {
        self.externals_in(&self.project(), args)
    }

    pub fn externals_in(&self, folder: &Path, args: &[&str]) -> Answer {
        let mut all = vec!["externals"];
        all.extend(args);
        let mut command = rooflens_in(folder, &all);
        // The first cache has nothing: the next one is looked in.
        command.env("HF_SNAPSHOTS_ROOT", self.folder.path("none")).env("HF_HOME", self.folder.path("hf"));
        Answer::of(command.output().unwrap())
    }

    fn cache(&self) {
        let home = "hf/hub/models--org--tiny";
        self.folder.write(&format!("{home}/refs/main"), COMMIT.as_bytes());
        let snapshot = self.folder.path(&format!("{home}/snapshots/{COMMIT}"));
        std::fs::create_dir_all(&snapshot).unwrap();
        for name in ["LICENSE", "config.json", "model.safetensors"] {
            self.folder.write(&format!("{home}/blobs/{name}"), name.as_bytes());
            symlink(format!("../../blobs/{name}"), snapshot.join(name)).unwrap();
        }
    }

    pub fn edit(&self, path: &str) {
        let file = self.project().join(path);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::write(file, "mine\n").unwrap();
    }
}

#[test]
fn each_kind_is_added_told_and_brought_back() {
    let world = World::new();
    world.cache();
    let whole = world.externals(&["add", "../upstream", "--revision", "v1"]);
    assert!(whole.stderr.ends_with("next: git add third_party && git commit\n"), "{}", whole.stderr);
    assert!(whole.fine().starts_with("upstream  submodule  v1 ("));
    let some = world.externals(&["add", "../upstream", "--path", "src", "--name", "some"]).fine();
    assert!(some.starts_with("some  sparse  ") && some.contains("\n  licence LICENSE\n"), "{some}");
    let subtree = ["add", "../upstream", "--kind", "subtree", "--name", "tree"];
    assert!(world.externals(&subtree).fine().starts_with("tree  subtree  "));
    let hub = world.externals(&["add", "org/tiny"]);
    assert!(hub.stderr.contains("1 file skipped, not source files: model.safetensors"), "{}", hub.stderr);
    assert!(hub.fine().starts_with("tiny  hub  "));
    assert!(!world.project().join("third_party/github/some/docs").exists());
    assert!(world.project().join("third_party/github/some/LICENSE").is_file());
    assert!(world.project().join("third_party/hf/tiny/config.json").is_file());
    world.commit("pin");

    let clone = world.folder.path("clone");
    git(world.folder.0.path(), &["clone", "--quiet", "project", "clone"]);
    let status = world.externals_in(&clone, &["status"]);
    assert_eq!(status.stderr, "next: rooflens externals sync\n");
    let lines: Vec<String> = status.fine().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 5);
    assert!(lines[1].starts_with("some      sparse     HEAD (") && lines[1].contains("missing"), "{lines:?}");
    let before = tree(&clone);
    let plan = world.externals_in(&clone, &["sync", "--dry-run"]).fine();
    assert!(plan.contains("would be fetched") && plan.contains("\n  git -C "), "{plan}");
    assert_eq!(tree(&clone), before);
    assert!(world.externals_in(&clone, &["sync"]).fine().contains("some      sparse     fetched"));
    let json = world.externals_in(&clone, &["status", "--format", "json"]).json();
    assert_eq!(json["schema"]["name"], "rooflens.externals-status");
    assert_eq!(json["in_sync"], true);
    let again = world.externals_in(&clone, &["sync", "--format", "json"]).json();
    assert!(again["sources"].as_array().unwrap().iter().all(|source| source["outcome"] == "unchanged"));
    assert_eq!(git(&clone, &["status", "--porcelain"]), "");
}

#[test]
fn a_dry_run_of_add_writes_nothing() {
    let world = World::new();
    let before = tree(&world.project());
    let plan = world.externals(&["add", "../upstream", "--dry-run"]);
    assert!(plan.stderr.ends_with("nothing was done\n"), "{}", plan.stderr);
    assert!(plan.fine().contains("\n  git -C . submodule "));
    assert_eq!(tree(&world.project()), before);
}

#[test]
fn a_commit_of_an_edit_is_refused_by_the_hook() {
    let world = World::new();
    world.externals(&["add", "../upstream", "--kind", "subtree"]).fine();
    world.commit("pin");
    let guard = world.externals(&["guard"]).fine();
    assert!(guard.ends_with("/.git/hooks/pre-commit: installed\n"), "{guard}");
    assert!(world.externals(&["guard"]).fine().ends_with(": already installed\n"));

    let path = "third_party/github/upstream/src/kernel.cu";
    world.edit(path);
    world.folder.write("project/README.md", b"mine to edit\n");
    git(&world.project(), &["add", "."]);
    let refused = try_git(&world.project(), &["commit", "-m", "edit"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains(&format!("{path}  differs from the pinned commit")), "{said}");
    assert!(said.contains("error: 1 path staged that the lock does not allow"), "{said}");
    assert_eq!(git(&world.project(), &["log", "--format=%s"]), "pin\nstart");

    let staged = world.externals(&["status", "--staged", "--format", "json"]);
    assert_eq!(staged.code, 1);
    let json: Json = serde_json::from_str(&staged.stdout).unwrap();
    assert_eq!(json["edits"][0]["reason"], "edited");
    // What is the user's own is committed.
    git(&world.project(), &["restore", "--staged", path]);
    git(&world.project(), &["commit", "--quiet", "-m", "own"]);
    assert_eq!(world.externals(&["status", "--staged"]).fine(), "");
}

#[test]
fn each_failure_has_its_code_and_hint() {
    let world = World::new();
    world.externals(&["add", "../upstream"]).fine();
    for (args, code, fact, hint) in [
        (&["add", "ext::sh -c true"][..], 2, "remote helpers", "https://"),
        (&["add", "../upstream", "--name", "../x"], 2, "cannot name", "--name"),
        (&["add", "../upstream", "--revision", "v9", "--name", "x"], 2, "no branch, tag", "git ls-remote"),
        (&["add", "file:///nonexistent/repository"], 3, "cannot be reached", "git ls-remote"),
        (&["add", "org/absent"], 3, "no snapshot of org/absent", "hf download org/absent"),
        (&["add", "../upstream", "--kind", "sparse", "--name", "x"], 2, "needs paths", "--path"),
        (&["sync", "upstraem"], 2, "no source \"upstraem\"", "did you mean 'upstream'?"),
    ] {
        let answer = world.externals(args);
        answer.fails(code, fact).hints(hint);
        assert_eq!(answer.stdout, "", "{args:?}");
    }
    world.folder.write("project/third_party/externals.lock", b"version: 1\nsorces: {}\n");
    world.externals(&["status"]).fails(2, "third_party/externals.lock:2");
}
