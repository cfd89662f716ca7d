//! Sparse checkouts.

use std::fs;

use rooflens_project::externals::{AddRequest, Condition, ExternalsError, SourceKind, SyncOutcome};

use super::support::{World, files, git, read, write};

#[test]
fn only_the_paths_and_the_licences_on_the_way_are_there() {
    let world = World::new();
    write(&world.upstream, "src/Licence.txt", "of src\n");
    write(&world.upstream, "src/deep/COPYING", "of deep\n");
    write(&world.upstream, "docs/NOTICE", "of docs\n");
    write(&world.upstream, "LICENSES/MIT.txt", "mit\n");
    git(&world.upstream, &["add", "."]);
    git(&world.upstream, &["commit", "--quiet", "-m", "licences"]);
    let added = world.externals().add(&world.request(SourceKind::Sparse)).unwrap();
    let licences = ["LICENSE", "LICENSES/MIT.txt", "src/Licence.txt", "src/deep/COPYING"];
    assert_eq!(added.source.licences, licences);
    assert_eq!(
        files(&world.place()),
        ["LICENSE", "LICENSES/MIT.txt", "src/Licence.txt", "src/deep/COPYING", "src/deep/a b.py"]
    );
    assert_eq!(
        git(&world.project, &["status", "--porcelain", "-uall"]),
        "?? third_party/.gitignore\n?? third_party/externals.lock"
    );
}

#[test]
fn other_paths_are_another_checkout() {
    let world = World::new();
    world.add(SourceKind::Sparse);
    let lock = read(&world.project, "third_party/externals.lock");
    write(&world.project, "third_party/externals.lock", &lock.replace("src/deep", "docs"));
    assert_eq!(world.condition(), Condition::OtherPaths);
    assert_eq!(world.sync().sources[0].outcome, SyncOutcome::Updated);
    assert_eq!(files(&world.place()), ["LICENSE", "docs/guide.md"]);
}

#[test]
fn paths_that_are_patterns_are_taken_literally() {
    let world = World::new();
    write(&world.upstream, "odd [a]*/x ", "odd\n");
    write(&world.upstream, "odd a/y", "not asked for\n");
    git(&world.upstream, &["add", "."]);
    git(&world.upstream, &["commit", "--quiet", "-m", "odd"]);
    let request = AddRequest { paths: vec!["odd [a]*/x ".into()], ..world.request(SourceKind::Sparse) };
    world.externals().add(&request).unwrap();
    assert_eq!(files(&world.place()), ["LICENSE", "odd [a]*/x "]);
    assert_eq!(world.condition(), Condition::InSync);
}

#[test]
fn a_path_that_is_not_there_is_told_before_anything_happens() {
    let world = World::new();
    let request =
        AddRequest { paths: vec!["src".into(), "Docs".into()], ..world.request(SourceKind::Sparse) };
    let error = world.externals().add(&request).unwrap_err();
    assert!(matches!(&error, ExternalsError::NothingAtPath { path, .. } if path == "Docs"), "{error}");
    let request = AddRequest { paths: Vec::new(), ..world.request(SourceKind::Sparse) };
    assert!(world.externals().add(&request).unwrap_err().hint().contains("--path"));
    assert_eq!(files(&world.project), ["README.md"]);
}

#[test]
fn remnants_of_an_interrupted_sync_are_cleared_away() {
    let world = World::new();
    world.add(SourceKind::Sparse);
    let shelf = world.project.join("third_party/github");
    write(&shelf, ".flash attention.partial/half", "x");
    write(&shelf, ".flash attention.partial-old/old", "x");
    assert_eq!(world.condition(), Condition::InSync);
    assert_eq!(world.sync().sources[0].outcome, SyncOutcome::Unchanged);
    assert_eq!(fs::read_dir(&shelf).unwrap().count(), 1);
    fs::remove_dir_all(world.place()).unwrap();
    write(&shelf, ".flash attention.partial/half", "x");
    assert_eq!(world.sync().sources[0].outcome, SyncOutcome::Created);
    assert_eq!(fs::read_dir(&shelf).unwrap().count(), 1);
}

#[test]
fn the_repository_around_is_never_taken_for_its_own() {
    let world = World::new();
    world.add(SourceKind::Sparse);
    fs::remove_dir_all(world.place().join(".git")).unwrap();
    assert_eq!(world.condition(), Condition::InTheWay);
    let error = world.sync().sources.remove(0).error.unwrap();
    assert!(error.to_string().contains("a folder without its own repository"), "{error}");
    write(&world.place(), ".git/x", "no repository at all");
    assert_eq!(world.condition(), Condition::InTheWay);
    assert_eq!(world.only().found_commit, None, "the project's own commit is none of its");
    assert_eq!(world.force_sync().sources[0].outcome, SyncOutcome::Repaired);
}

#[test]
fn a_broken_clone_does_not_hide_the_others() {
    let world = World::new();
    world.add(SourceKind::Sparse);
    world.add_named(SourceKind::Sparse, "another");
    write(&world.place(), ".git/index", "not an index");
    let conditions: Vec<_> =
        world.externals().status().unwrap().sources.iter().map(|row| row.condition).collect();
    assert_eq!(conditions, [Condition::InSync, Condition::InTheWay]);
    assert!(world.force_sync().succeeded);
}

#[test]
fn what_python_leaves_behind_is_no_edit_where_the_source_ignores_it() {
    let world = World::new();
    write(&world.upstream, ".gitignore", "__pycache__/\n");
    git(&world.upstream, &["add", "."]);
    git(&world.upstream, &["commit", "--quiet", "-m", "ignore"]);
    let request =
        AddRequest { paths: vec!["src".into(), ".gitignore".into()], ..world.request(SourceKind::Sparse) };
    world.externals().add(&request).unwrap();
    write(&world.place(), "src/__pycache__/x.pyc", "x");
    assert_eq!(world.condition(), Condition::InSync);
    write(&world.place(), "src/new.py", "x");
    assert_eq!(world.only().edits, ["src/new.py"]);
}
