//! Subtrees.

use rooflens_project::externals::{Condition, ExternalsError, SourceKind, SyncOutcome};

use super::support::{World, files, git, read, write};

#[test]
fn it_comes_with_a_clone_and_leaves_no_trace_of_the_fetch() {
    let world = World::new();
    world.add(SourceKind::Subtree);
    let tree = git(&world.upstream, &["rev-parse", "HEAD^{tree}"]);
    assert_eq!(git(&world.project, &["write-tree", "--prefix=third_party/github/flash attention/"]), tree);
    assert_eq!(git(&world.project, &["rev-parse", "--is-shallow-repository"]), "false");
    assert_eq!(git(&world.project, &["remote"]), "");
    world.commit("pin");
    assert_eq!(git(&world.project, &["status", "--porcelain"]), "");
    let colleague = world.colleague();
    assert_eq!(colleague.condition(), Condition::InSync);
    assert_eq!(colleague.only().read_only, Some(false));
    assert_eq!(colleague.sync().sources[0].outcome, SyncOutcome::MarkedReadOnly);
    assert_eq!(colleague.only().read_only, Some(true));
    assert_eq!(git(&colleague.project, &["status", "--porcelain"]), "");
}

#[test]
fn a_committed_edit_is_noticed_and_undone_without_force() {
    let world = World::new();
    world.add(SourceKind::Subtree);
    world.commit("pin");
    write(&world.place(), "src/kernel.cu", "mine\n");
    world.commit("edit");
    let status = world.only();
    assert_eq!((status.condition, status.edits), (Condition::Edited, vec!["src/kernel.cu".to_owned()]));
    assert_eq!(world.sync().sources[0].outcome, SyncOutcome::Repaired);
    assert_eq!(read(&world.place(), "src/kernel.cu"), "one\n");
    assert_eq!(
        git(&world.project, &["diff", "--cached", "--name-only"]),
        "third_party/github/flash attention/src/kernel.cu"
    );
}

#[test]
fn a_staged_edit_and_a_new_file_are_not_lost() {
    let world = World::new();
    world.add(SourceKind::Subtree);
    world.commit("pin");
    write(&world.place(), "src/kernel.cu", "mine\n");
    git(&world.project, &["add", "."]);
    write(&world.place(), "new.py", "mine\n");
    let error = world.sync().sources.remove(0).error.unwrap();
    assert!(
        matches!(&error, ExternalsError::LocalEdits { edits, .. } if edits == &["new.py", "src/kernel.cu"]),
        "{error}"
    );
    assert_eq!(world.force_sync().sources[0].outcome, SyncOutcome::Repaired);
    assert_eq!(git(&world.project, &["status", "--porcelain"]), "");
    assert!(!world.place().join("new.py").exists());
}

#[test]
fn an_interruption_between_index_and_files_is_mended() {
    let world = World::new();
    world.add(SourceKind::Subtree);
    world.commit("pin");
    git(&world.project, &["rm", "-r", "-q", "--cached", "third_party/github/flash attention"]);
    std::fs::remove_file(world.place().join("LICENSE")).unwrap();
    assert_eq!(world.condition(), Condition::InTheWay, "without our mark it may be the user's");
    write(&world.project, "third_party/github/.flash attention.unfinished", "");
    assert_eq!(world.condition(), Condition::Unfinished);
    assert_eq!(world.sync().sources[0].outcome, SyncOutcome::Repaired);
    assert_eq!(git(&world.project, &["status", "--porcelain"]), "");
}

#[test]
fn deleted_files_come_back() {
    let world = World::new();
    world.add(SourceKind::Subtree);
    world.commit("pin");
    std::fs::remove_file(world.place().join("LICENSE")).unwrap();
    let status = world.only();
    assert_eq!(status.condition, Condition::Edited);
    assert!(!status.licences[0].present);
    assert_eq!(world.sync().sources[0].outcome, SyncOutcome::Repaired);
    std::fs::remove_dir_all(world.place()).unwrap();
    assert_eq!(world.condition(), Condition::Missing);
    assert_eq!(world.sync().sources[0].outcome, SyncOutcome::Created);
    assert_eq!(files(&world.place()), files(&world.upstream));
}

#[test]
fn links_in_it_stay_as_git_has_them() {
    let world = World::new();
    std::os::unix::fs::symlink("../../../etc/passwd", world.upstream.join("outside")).unwrap();
    git(&world.upstream, &["add", "."]);
    git(&world.upstream, &["commit", "--quiet", "-m", "link"]);
    for kind in [SourceKind::Subtree, SourceKind::Submodule, SourceKind::Sparse] {
        let mut request = world.request(kind);
        request.name = Some(kind.name().to_owned());
        if kind == SourceKind::Sparse {
            request.paths.push("outside".to_owned());
        }
        world.externals().add(&request).unwrap();
        let link = world.project.join("third_party/github").join(kind.name()).join("outside");
        assert_eq!(std::fs::read_link(link).unwrap().to_str(), Some("../../../etc/passwd"));
    }
    assert!(world.externals().status().unwrap().in_sync);
}
