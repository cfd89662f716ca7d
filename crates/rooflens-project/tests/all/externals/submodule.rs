//! Submodules.

use std::fs;

use rooflens_project::externals::{AddRequest, Condition, ExternalsError, SourceKind, SyncOutcome};

use super::support::{World, git, read, write};

#[test]
fn git_itself_sees_a_submodule_at_the_commit() {
    let world = World::new();
    world.add(SourceKind::Submodule);
    let status = git(&world.project, &["submodule", "status"]);
    assert!(
        status.trim_start().starts_with(&format!("{} third_party/github/flash attention", world.head())),
        "{status}"
    );
    let staged = git(&world.project, &["diff", "--cached", "--name-only"]);
    assert_eq!(staged, ".gitmodules\nthird_party/github/flash attention");
}

#[test]
fn a_colleague_has_it_missing_until_sync() {
    let world = World::new();
    world.add(SourceKind::Submodule);
    world.commit("pin");
    let colleague = world.colleague();
    assert_eq!(colleague.condition(), Condition::Missing);
    let report = colleague.sync();
    assert_eq!(report.sources[0].outcome, SyncOutcome::Created);
    assert_eq!(colleague.condition(), Condition::InSync);
    assert_eq!(git(&colleague.project, &["status", "--porcelain"]), "");
}

#[test]
fn another_commit_is_noticed_and_moved_back() {
    let world = World::new();
    world.add(SourceKind::Submodule);
    world.commit("pin");
    let pinned = world.head();
    let next = world.advance("two\n");
    git(&world.place(), &["fetch", "--quiet", "origin", "main"]);
    git(&world.place(), &["checkout", "--quiet", &next]);
    let status = world.only();
    assert_eq!(status.condition, Condition::OtherCommit);
    assert_eq!(status.found_commit.unwrap().as_str(), next);
    assert_eq!(world.sync().sources[0].outcome, SyncOutcome::Updated);
    assert_eq!(git(&world.place(), &["rev-parse", "HEAD"]), pinned);
}

#[test]
fn a_commit_made_in_it_is_not_thrown_away() {
    let world = World::new();
    world.add(SourceKind::Submodule);
    world.commit("pin");
    write(&world.place(), "src/kernel.cu", "mine\n");
    git(&world.place(), &["commit", "--quiet", "-a", "-m", "mine"]);
    let error = world.sync().sources.remove(0).error.unwrap();
    assert!(matches!(&error, ExternalsError::LocalEdits { edits, .. } if edits == &["a commit of its own"]));
    assert_eq!(world.force_sync().sources[0].outcome, SyncOutcome::Updated);
    assert_eq!(read(&world.place(), "src/kernel.cu"), "one\n");
}

#[test]
fn a_detached_entry_is_registered_again() {
    let world = World::new();
    world.add(SourceKind::Submodule);
    world.commit("pin");
    git(&world.project, &["rm", "--quiet", "--cached", "third_party/github/flash attention"]);
    git(&world.project, &["rm", "--quiet", "-f", ".gitmodules"]);
    assert_eq!(world.condition(), Condition::Detached);
    assert_eq!(world.sync().sources[0].outcome, SyncOutcome::Repaired);
    assert_eq!(world.condition(), Condition::InSync);
    assert_eq!(git(&world.project, &["status", "--porcelain"]), "");
}

#[test]
fn an_interrupted_clone_is_made_anew() {
    let world = World::new();
    world.add(SourceKind::Submodule);
    world.commit("pin");
    // As a kill during the clone leaves it: a store without refs, some files, and our mark.
    let store = world.project.join(".git/modules/third_party/github/flash attention");
    fs::remove_file(store.join("HEAD")).unwrap();
    fs::remove_file(world.place().join("LICENSE")).unwrap();
    write(&world.project, "third_party/github/.flash attention.unfinished", "");
    assert_eq!(world.condition(), Condition::Unfinished);
    assert_eq!(world.sync().sources[0].outcome, SyncOutcome::Repaired);
    assert_eq!(world.condition(), Condition::InSync);
    assert!(world.place().join("LICENSE").exists());
    assert!(!world.project.join("third_party/github/.flash attention.unfinished").exists());
}

#[test]
fn its_own_submodules_are_told_and_not_fetched() {
    let world = World::new();
    let inner = World::new();
    git(&world.upstream, &["submodule", "--quiet", "add", inner.url(), "vendor/inner"]);
    git(&world.upstream, &["commit", "--quiet", "-m", "nest"]);
    let added = world.externals().add(&world.request(SourceKind::Submodule)).unwrap();
    assert_eq!(added.submodules, ["vendor/inner"]);
    assert_eq!(world.condition(), Condition::InSync);
    assert_eq!(fs::read_dir(world.place().join("vendor/inner")).unwrap().count(), 0);

    let sparse = AddRequest { name: Some("part".into()), ..world.request(SourceKind::Sparse) };
    world.externals().add(&sparse).unwrap();
    let subtree = AddRequest { name: Some("tree".into()), ..world.request(SourceKind::Subtree) };
    let error = world.externals().add(&subtree).unwrap_err();
    assert!(matches!(&error, ExternalsError::NestedSubmodules { paths, .. } if paths == &["vendor/inner"]));
    assert!(error.hint().contains("--kind submodule"));
    git(&world.project, &["submodule", "status"]);
}
