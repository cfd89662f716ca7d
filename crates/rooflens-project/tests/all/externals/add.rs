//! Pinning: what is resolved, written and told.

use std::fs;

use rooflens_project::externals::{AddRequest, Condition, ExternalsError, SourceKind, SyncOutcome};

use super::support::{GIT_KINDS, World, files, git, read, told, write};

#[test]
fn every_kind_is_pinned_fetched_marked_and_then_left_alone() {
    for kind in GIT_KINDS {
        let world = World::new();
        let added = world.externals().add(&world.request(kind)).unwrap();
        assert_eq!(added.synced.outcome, SyncOutcome::Created, "{kind}");
        assert_eq!(added.source.pin.commit.as_str(), world.head());
        assert_eq!(added.source.licences, ["LICENSE"]);
        let status = world.only();
        assert_eq!(status.condition, Condition::InSync, "{kind}");
        assert_eq!(status.read_only, Some(true), "{kind}");
        assert!(status.licences.iter().all(|licence| licence.present), "{kind}");
        assert_eq!(status.found_commit.unwrap().as_str(), world.head(), "{kind}");
        let lock = read(&world.project, "third_party/externals.lock");
        let again = world.sync();
        assert_eq!(again.sources[0].outcome, SyncOutcome::Unchanged, "{kind}");
        assert!(again.sources[0].steps.is_empty() && again.files.is_empty(), "{kind}");
        assert_eq!(read(&world.project, "third_party/externals.lock"), lock);
    }
}

#[test]
fn a_dry_run_changes_nothing() {
    for kind in GIT_KINDS {
        let world = World::new();
        let request = AddRequest { dry_run: true, ..world.request(kind) };
        let added = world.externals().add(&request).unwrap();
        assert!(added.dry_run && !added.synced.steps.is_empty());
        assert_eq!(files(&world.project), ["README.md"], "{kind}");
        assert_eq!(git(&world.project, &["status", "--porcelain"]), "", "{kind}");
    }
}

#[test]
fn branches_tags_and_commits_are_resolved() {
    let world = World::new();
    let first = world.head();
    let second = world.advance("two\n");
    git(&world.upstream, &["branch", "feature/x"]);
    for (revision, commit) in [
        (None, &second),
        (Some("main"), &second),
        (Some("feature/x"), &second),
        (Some("refs/heads/main"), &second),
        (Some("v1"), &first),
        (Some("refs/tags/v1"), &first),
        (Some(first.as_str()), &first),
    ] {
        let revision = revision.map(str::to_owned);
        let request =
            AddRequest { revision: revision.clone(), dry_run: true, ..world.request(SourceKind::Subtree) };
        let added = world.externals().add(&request).unwrap();
        assert_eq!(added.source.pin.commit.as_str(), commit, "{revision:?}");
    }
}

#[test]
fn what_is_no_revision_is_told() {
    let world = World::new();
    git(&world.upstream, &["branch", "v1"]);
    let failure = |revision: &str| {
        let request =
            AddRequest { revision: Some(revision.to_owned()), ..world.request(SourceKind::Submodule) };
        told(&world.externals().add(&request).unwrap_err())
    };
    assert!(failure("nope").contains("has no branch, tag or commit \"nope\""));
    assert!(failure(&world.head()[..12]).contains("give a branch, a tag or a full commit id"));
    assert!(failure("v1").contains("--revision refs/tags/v1"));
    assert!(failure("--upload-pack=x").contains("starts with a dash"));
    let gone = failure(&"1".repeat(40));
    assert!(gone.contains("does not serve commit 1111"), "{gone}");
    assert_eq!(files(&world.project), ["README.md"]);
}

#[test]
fn an_unreachable_url_is_told_with_gits_reason() {
    let world = World::new();
    let missing = world.dir.path().join("not there");
    for url in [missing.to_str().unwrap().to_owned(), format!("file://{}", missing.display())] {
        let request = AddRequest::new(SourceKind::Sparse, &url);
        let request = AddRequest { paths: vec!["src".into()], name: Some("x".into()), ..request };
        let error = world.externals().add(&request).unwrap_err();
        assert!(matches!(error, ExternalsError::Unreachable { .. }));
        let told = told(&error);
        assert!(told.contains("cannot be reached") && told.contains("git ls-remote"), "{told}");
        assert!(!told.contains('\n') || told.matches('\n').count() == 1, "{told}");
    }
    assert_eq!(files(&world.project), ["README.md"]);
}

#[test]
fn a_moved_tag_is_only_followed_when_added_again() {
    for kind in GIT_KINDS {
        let world = World::new();
        let first = world.head();
        let request = AddRequest { revision: Some("v1".into()), ..world.request(kind) };
        world.externals().add(&request).unwrap();
        let second = world.advance("moved\n");
        git(&world.upstream, &["tag", "-f", "v1"]);
        assert_eq!(world.sync().sources[0].outcome, SyncOutcome::Unchanged);
        assert_eq!(world.only().commit.as_str(), first);
        let added = world.externals().add(&request).unwrap();
        assert!(added.revision_moved, "{kind}");
        assert_eq!(added.previous.unwrap().pin.commit.as_str(), first);
        assert_eq!(added.synced.outcome, SyncOutcome::Updated);
        assert_eq!(world.only().found_commit.unwrap().as_str(), second);
        assert_eq!(world.condition(), Condition::InSync);
    }
}

#[test]
fn adding_again_never_takes_edits_or_another_sources_name() {
    for kind in GIT_KINDS {
        let world = World::new();
        world.add(kind);
        world.advance("two\n");
        write(&world.place(), "src/deep/a b.py", "mine\n");
        let error = world.externals().add(&world.request(kind)).unwrap_err();
        assert!(
            matches!(&error, ExternalsError::LocalEdits { edits, .. } if edits == &["src/deep/a b.py"]),
            "{error}"
        );
        let other = World::new();
        let request = AddRequest { url: other.url().to_owned(), ..world.request(kind) };
        let error = world.externals().add(&request).unwrap_err();
        assert!(matches!(error, ExternalsError::Taken { .. }), "{error}");
        assert_eq!(read(&world.place(), "src/deep/a b.py"), "mine\n");
        let forced = AddRequest { force: true, ..world.request(kind) };
        world.externals().add(&forced).unwrap();
        assert_eq!(world.condition(), Condition::InSync);
        assert_eq!(read(&world.place(), "src/deep/a b.py"), "print(1)\n");
    }
}

#[test]
fn a_folder_in_the_way_is_kept() {
    for kind in GIT_KINDS {
        let world = World::new();
        write(&world.place(), "notes.txt", "mine\n");
        let error = world.externals().add(&world.request(kind)).unwrap_err();
        assert!(matches!(error, ExternalsError::InTheWay { .. }), "{error}");
        assert_eq!(read(&world.place(), "notes.txt"), "mine\n");
        assert!(!world.project.join("third_party/externals.lock").exists());
        let status = world.externals().status().unwrap();
        assert_eq!(status.unlisted, ["third_party/github/flash attention"]);
    }
}

#[test]
fn a_project_without_git_takes_what_needs_none() {
    let world = World::without_repository();
    for kind in [SourceKind::Submodule, SourceKind::Subtree] {
        let told = told(&world.externals().add(&world.request(kind)).unwrap_err());
        assert!(told.contains("not in a git repository") && told.contains("git init"), "{told}");
    }
    assert!(files(&world.project).is_empty());
    world.add(SourceKind::Sparse);
    assert_eq!(world.condition(), Condition::InSync);
    assert_eq!(world.externals().staged_edits().unwrap().edits, []);
}

#[test]
fn a_project_may_be_a_folder_of_its_repository() {
    for kind in GIT_KINDS {
        let mut world = World::new();
        world.project = world.project.join("in side");
        fs::create_dir_all(&world.project).unwrap();
        world.add(kind);
        assert_eq!(world.condition(), Condition::InSync, "{kind}");
        assert!(world.place().join("LICENSE").exists());
        git(&world.project, &["add", "."]);
        assert_eq!(world.externals().staged_edits().unwrap().edits, [], "{kind}");
    }
}
