//! The pre-commit guard, with real commits.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use rooflens_project::externals::{Externals, ExternalsError, HookAction, SourceKind, StagedReason};

use super::support::{World, git, read, told, try_git, write};

/// Not a test: what the hook of the tests below runs, in the place of `rooflens externals status --staged`.
#[test]
#[ignore = "started by the hooks that other tests install"]
fn started_by_a_hook() {
    let report = Externals::open(Path::new(".")).unwrap().staged_edits().unwrap();
    assert!(report.edits.is_empty(), "refused: {:?}", report.edits);
}

fn guard(world: &World) -> HookAction {
    let program = std::env::current_exe().unwrap();
    let command = [program.to_str().unwrap(), "--ignored", "--exact", "externals::guard::started_by_a_hook"];
    world.externals().guard_with(&command).unwrap().action
}

fn commits(world: &World, arguments: &[&str]) -> bool {
    let mut all = vec!["commit", "--quiet", "-m", "x"];
    all.extend(arguments);
    let output = try_git(&world.project, &all);
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() || said.contains("refused: ["), "{said}");
    output.status.success()
}

#[test]
fn edits_are_refused_and_pins_are_allowed() {
    for kind in [SourceKind::Subtree, SourceKind::Submodule] {
        let world = World::new();
        assert_eq!(guard(&world), HookAction::Installed);
        world.add(kind);
        assert!(!commits(&world, &[]), "the lock itself is not staged yet");
        git(&world.project, &["add", "third_party/externals.lock", "third_party/.gitignore"]);
        assert!(commits(&world, &[]), "{kind}");

        write(&world.project, "README.md", "mine to edit\n");
        git(&world.project, &["add", "README.md"]);
        assert!(commits(&world, &[]));

        world.advance("two\n");
        world.add(kind);
        git(&world.project, &["add", "third_party/externals.lock"]);
        assert!(commits(&world, &[]), "a new pin of a {kind}");
        assert_eq!(git(&world.project, &["status", "--porcelain"]), "");
    }
}

#[test]
fn a_staged_edit_of_a_subtree_is_refused_however_it_is_committed() {
    let world = World::new();
    world.add(SourceKind::Subtree);
    world.commit("pin");
    guard(&world);
    let file = "third_party/github/flash attention/src/kernel.cu";
    write(&world.project, file, "mine\n");
    write(&world.project, "README.md", "mine\n");
    assert!(!commits(&world, &["-a"]), "git commit -a has an index of its own");
    assert!(!commits(&world, &["--", file]), "git commit FILE too");
    assert!(commits(&world, &["--", "README.md"]), "and what is not in it does not count");
    git(&world.project, &["add", "."]);
    assert!(!commits(&world, &[]));
    let edits = world.externals().staged_edits().unwrap().edits;
    assert_eq!(edits.len(), 1);
    assert_eq!((edits[0].path.as_str(), edits[0].reason), (file, StagedReason::Edited));
    assert_eq!(edits[0].source.as_ref().unwrap().as_str(), "flash attention");
}

#[test]
fn what_no_lock_explains_is_refused_and_what_leaves_is_not() {
    let world = World::new();
    world.add(SourceKind::Subtree);
    world.add_named(SourceKind::Sparse, "sparse one");
    world.commit("pin");
    write(&world.project, "third_party/github/README.md", "about this shelf\n");
    write(&world.project, "third_party/mine/x.c", "not a shelf of ours\n");
    git(&world.project, &["add", "."]);
    assert_eq!(world.externals().staged_edits().unwrap().edits, []);

    write(&world.project, "third_party/github/stray/x.c", "x\n");
    git(&world.project, &["add", "."]);
    git(&world.project, &["rm", "-q", "--cached", "third_party/github/flash attention/LICENSE"]);
    // A clone in a folder is added as a link, unless it is ignored.
    git(&world.project, &["add", "-f", "third_party/github/sparse one"]);
    let edits = world.externals().staged_edits().unwrap().edits;
    let found: Vec<_> = edits.iter().map(|edit| (edit.path.as_str(), edit.reason)).collect();
    assert_eq!(
        found,
        [
            ("third_party/github/flash attention/LICENSE", StagedReason::Edited),
            ("third_party/github/sparse one", StagedReason::NotTracked),
            ("third_party/github/stray/x.c", StagedReason::Unlisted),
        ]
    );

    git(&world.project, &["reset", "--quiet", "--hard"]);
    git(&world.project, &["rm", "-r", "-q", "third_party/github/flash attention"]);
    assert!(!world.externals().staged_edits().unwrap().edits.is_empty());
    git(&world.project, &["rm", "-q", "third_party/externals.lock"]);
    assert_eq!(world.externals().staged_edits().unwrap().edits, []);
}

#[test]
fn a_submodule_at_another_commit_is_refused() {
    let world = World::new();
    world.add(SourceKind::Submodule);
    world.commit("pin");
    guard(&world);
    let next = world.advance("two\n");
    git(&world.place(), &["fetch", "--quiet", "origin", "main"]);
    git(&world.place(), &["checkout", "--quiet", &next]);
    git(&world.project, &["add", "."]);
    assert!(!commits(&world, &[]));
    git(&world.project, &["rm", "-q", "--cached", "third_party/github/flash attention"]);
    assert!(!commits(&world, &[]), "nor may it vanish while the lock lists it");
}

#[test]
fn the_first_commit_of_a_repository_is_guarded_too() {
    let world = World::without_repository();
    git(&world.project, &["init", "--quiet"]);
    world.add(SourceKind::Subtree);
    guard(&world);
    git(&world.project, &["add", "."]);
    write(&world.project, "third_party/github/flash attention/src/kernel.cu", "mine\n");
    assert!(!commits(&world, &["-a"]));
    git(&world.project, &["add", "third_party/externals.lock"]);
    assert!(commits(&world, &[]));
}

#[test]
fn a_users_hook_is_extended_and_still_runs() {
    let world = World::new();
    world.add(SourceKind::Subtree);
    world.commit("pin");
    let hook = world.project.join(".git/hooks/pre-commit");
    write(&world.project, ".git/hooks/pre-commit", "#!/usr/bin/env bash\ntouch ran\nexec true");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(guard(&world), HookAction::Extended);
    assert_eq!(guard(&world), HookAction::Unchanged);
    let text = fs::read_to_string(&hook).unwrap();
    assert!(
        text.starts_with("#!/usr/bin/env bash\n# >>> rooflens") && text.ends_with("touch ran\nexec true\n"),
        "{text}"
    );
    assert_eq!(fs::metadata(&hook).unwrap().permissions().mode() & 0o777, 0o750);
    write(&world.project, "README.md", "mine\n");
    assert!(commits(&world, &["-a"]));
    assert!(world.project.join("ran").exists());
    write(&world.place(), "LICENSE", "mine\n");
    assert!(!commits(&world, &["-a"]));

    assert_eq!(world.externals().guard().unwrap().action, HookAction::Updated);
    let text = fs::read_to_string(&hook).unwrap();
    assert!(text.contains("\nrooflens externals status --staged --project . || exit 1\n"), "{text}");
    assert_eq!(text.matches(">>> rooflens").count(), 1);
}

#[test]
fn hooks_that_cannot_be_extended_are_left_alone() {
    let world = World::new();
    let hook = world.project.join(".git/hooks/pre-commit");
    let refused = || {
        let error = world.externals().guard().unwrap_err();
        assert!(matches!(error, ExternalsError::ForeignHook { .. }), "{error}");
        told(&error)
    };
    write(&world.project, ".git/hooks/pre-commit", "#!/usr/bin/env python3\nprint(1)\n");
    assert!(refused().contains("not executable"));
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(refused().contains("call this from it: rooflens externals status --staged"));
    assert_eq!(read(&world.project, ".git/hooks/pre-commit"), "#!/usr/bin/env python3\nprint(1)\n");
    fs::remove_file(&hook).unwrap();
    write(&world.project, "hook.sh", "#!/bin/sh\n");
    symlink("../../hook.sh", &hook).unwrap();
    assert!(refused().contains("symbolic link"));
    fs::remove_file(&hook).unwrap();

    let shared = world.dir.path().join("shared");
    fs::create_dir(&shared).unwrap();
    git(&world.project, &["config", "core.hooksPath", shared.to_str().unwrap()]);
    assert!(refused().contains("out of the repository"));
    git(&world.project, &["config", "core.hooksPath", ".husky"]);
    assert_eq!(guard(&world), HookAction::Installed);
    assert!(world.project.join(".husky/pre-commit").exists());

    let bare = World::without_repository();
    assert!(matches!(bare.externals().guard().unwrap_err(), ExternalsError::NotARepository { .. }));
}

#[test]
fn a_project_in_a_folder_of_its_repository_is_guarded_there() {
    let mut world = World::new();
    let top = world.project.clone();
    world.project = top.join("in side");
    fs::create_dir_all(&world.project).unwrap();
    world.add(SourceKind::Subtree);
    world.commit("pin");
    guard(&world);
    assert!(read(&top, ".git/hooks/pre-commit").contains("(cd './in side/' && "));
    write(&world.place(), "LICENSE", "mine\n");
    assert!(!commits(&world, &["-a"]));
    assert_eq!(
        git(&top, &["status", "--porcelain"]).trim_start(),
        "M \"in side/third_party/github/flash attention/LICENSE\""
    );
}
