//! Making the work tree equal to the lock, for every kind alike.

use std::fs;

use rooflens_project::externals::{
    AddRequest, Condition, ExternalsError, SourceKind, SyncOutcome, SyncRequest,
};

use super::support::{GIT_KINDS, World, files, git, read, told, write};

#[test]
fn a_dirty_tree_is_refused_and_forced() {
    for kind in GIT_KINDS {
        let world = World::new();
        world.add(kind);
        write(&world.place(), "src/deep/a b.py", "mine\n");
        write(&world.place(), "src/deep/new.py", "mine\n");
        let status = world.only();
        assert_eq!(status.condition, Condition::Edited, "{kind}");
        assert_eq!(status.edits, ["src/deep/a b.py", "src/deep/new.py"], "{kind}");
        assert_eq!(status.read_only, Some(false));
        let report = world.sync();
        assert!(!report.succeeded);
        assert_eq!(report.sources[0].outcome, SyncOutcome::Failed);
        let told = told(report.sources[0].error.as_ref().unwrap());
        assert!(told.contains("has local edits: src/deep/a b.py") && told.contains("sync --force"), "{told}");
        assert_eq!(read(&world.place(), "src/deep/new.py"), "mine\n");
        assert_eq!(world.force_sync().sources[0].outcome, SyncOutcome::Repaired, "{kind}");
        assert_eq!(world.condition(), Condition::InSync, "{kind}");
        assert_eq!(read(&world.place(), "src/deep/a b.py"), "print(1)\n");
        assert!(!world.place().join("src/deep/new.py").exists());
    }
}

#[test]
fn a_dry_run_tells_and_leaves() {
    for kind in GIT_KINDS {
        let world = World::new();
        world.add(kind);
        world.commit("pin");
        let colleague = world.colleague();
        let before = files(&colleague.project);
        let report =
            colleague.externals().sync(&SyncRequest { dry_run: true, ..SyncRequest::default() }).unwrap();
        let expected =
            if kind == SourceKind::Subtree { SyncOutcome::MarkedReadOnly } else { SyncOutcome::Created };
        assert_eq!(report.sources[0].outcome, expected, "{kind}");
        assert!(!report.sources[0].steps.is_empty());
        assert_eq!(files(&colleague.project), before, "{kind}");
        assert_eq!(git(&colleague.project, &["status", "--porcelain"]), "");
    }
}

#[test]
fn a_plan_reads_like_commands() {
    let world = World::new();
    let added =
        world.externals().add(&AddRequest { dry_run: true, ..world.request(SourceKind::Submodule) }).unwrap();
    let plan: Vec<String> = added.synced.steps.iter().map(ToString::to_string).collect();
    let head = world.head();
    let tree = git(&world.upstream, &["rev-parse", "HEAD^{tree}"]);
    let place = "third_party/github/flash attention";
    assert_eq!(
        plan,
        [
            "make folder third_party/github".to_owned(),
            "mark as unfinished: 'third_party/github/.flash attention.unfinished'".to_owned(),
            format!("git -C . config --file .gitmodules 'submodule.{place}.path' '{place}'"),
            format!("git -C . config --file .gitmodules 'submodule.{place}.url' '{}'", world.url()),
            format!("git -C . config --file .gitmodules 'submodule.{place}.ignore' dirty"),
            format!("git -C . config --file .gitmodules 'submodule.{place}.update' none"),
            format!("git -C . config --file .gitmodules 'submodule.{place}.shallow' true"),
            "git -C . add -- .gitmodules".to_owned(),
            format!("git -C . update-index --add --cacheinfo '160000,{head},{place}'"),
            format!("git -C . submodule --quiet init -- '{place}'"),
            format!("git -C . submodule --quiet sync -- '{place}'"),
            format!("git -C . submodule --quiet update --checkout --force --depth 1 -- '{place}'"),
            format!("check that {head} in '{place}' has tree {tree}"),
            format!("mark as read-only: '{place}'"),
            "remove 'third_party/github/.flash attention.unfinished'".to_owned(),
        ]
    );
}

#[test]
fn a_commit_on_no_branch_is_still_fetched_by_its_id() {
    for kind in GIT_KINDS {
        let world = World::new();
        world.advance("off the line\n");
        world.add(kind);
        world.commit("pin");
        let pinned = world.only().commit;
        git(&world.upstream, &["reset", "--quiet", "--hard", "HEAD~"]);
        let colleague = world.colleague();
        let report = colleague.sync();
        assert!(report.succeeded, "{kind}: {:?}", report.sources[0].error);
        assert_eq!(colleague.only().found_commit.unwrap(), pinned);
    }
}

#[test]
fn a_commit_that_is_gone_is_told_and_nothing_is_left() {
    for kind in [SourceKind::Submodule, SourceKind::Sparse] {
        let world = World::new();
        world.advance("soon gone\n");
        world.add(kind);
        world.commit("pin");
        git(&world.upstream, &["reset", "--quiet", "--hard", "HEAD~"]);
        git(&world.upstream, &["reflog", "expire", "--expire=now", "--all"]);
        git(&world.upstream, &["gc", "--quiet", "--prune=now"]);
        let colleague = world.colleague();
        let error = colleague.sync().sources.remove(0).error.unwrap();
        assert!(matches!(error, ExternalsError::CommitGone { .. }), "{kind}: {error}");
        assert!(error.hint().contains("history may have been rewritten"));
        // Git leaves a clone without files behind; the next try begins anew.
        let left = if kind == SourceKind::Submodule { Condition::Unfinished } else { Condition::Missing };
        assert_eq!(colleague.condition(), left, "{kind}");
        let again = colleague.sync().sources.remove(0).error.unwrap();
        assert!(matches!(again, ExternalsError::CommitGone { .. }), "{kind}: {again}");
    }
}

#[test]
fn a_remote_out_of_reach_leaves_what_there_was() {
    for kind in GIT_KINDS {
        let world = World::new();
        world.add(kind);
        world.commit("pin");
        let lock = read(&world.project, "third_party/externals.lock");
        let (old, new) = (world.head(), world.advance("two\n"));
        let (old_tree, new_tree) = (format!("{old}^{{tree}}"), format!("{new}^{{tree}}"));
        let tree = |name: &str| git(&world.upstream, &["rev-parse", name]);
        let lock = lock.replace(&old, &new).replace(&tree(&old_tree), &tree(&new_tree));
        write(&world.project, "third_party/externals.lock", &lock);
        fs::rename(&world.upstream, world.dir.path().join("away")).unwrap();
        let before = files(&world.place());
        let error = world.sync().sources.remove(0).error.unwrap();
        assert!(matches!(error, ExternalsError::Unreachable { .. }), "{kind}: {error}");
        assert_eq!(files(&world.place()), before);
        let expected = if kind == SourceKind::Subtree { Condition::Edited } else { Condition::OtherCommit };
        assert_eq!(world.condition(), expected, "{kind}");
        fs::rename(world.dir.path().join("away"), &world.upstream).unwrap();
        assert!(world.sync().succeeded, "{kind}");
        assert_eq!(world.condition(), Condition::InSync, "{kind}");
        assert_eq!(world.only().found_commit.unwrap().as_str(), new);
    }
}

#[test]
fn an_entry_whose_tree_is_not_its_commits_is_refused() {
    for kind in GIT_KINDS {
        let world = World::new();
        world.add(kind);
        let lock = read(&world.project, "third_party/externals.lock");
        let tree = git(&world.upstream, &["rev-parse", "HEAD^{tree}"]);
        write(&world.project, "third_party/externals.lock", &lock.replace(&tree, &"a".repeat(40)));
        fs::remove_dir_all(world.place()).unwrap();
        let error = world.force_sync().sources.remove(0).error.unwrap();
        assert!(matches!(error, ExternalsError::ContentDiffers { .. }), "{kind}: {error}");
    }
}

#[test]
fn one_failure_does_not_stop_the_others() {
    let world = World::new();
    let other = World::new();
    world.add(SourceKind::Sparse);
    let request = AddRequest { name: Some("another".into()), ..other.request(SourceKind::Sparse) };
    world.externals().add(&request).unwrap();
    for name in ["another", "flash attention"] {
        fs::remove_dir_all(world.project.join("third_party/github").join(name)).unwrap();
    }
    fs::remove_dir_all(&other.upstream).unwrap();
    let report = world.sync();
    assert!(matches!(report.sources[0].error, Some(ExternalsError::Unreachable { .. })));
    assert_eq!(report.sources[1].outcome, SyncOutcome::Created);
    let left: Vec<_> = fs::read_dir(world.project.join("third_party/github")).unwrap().collect();
    assert_eq!(left.len(), 1);

    let chosen = SyncRequest { names: vec!["flash attention".into()], ..SyncRequest::default() };
    assert_eq!(world.externals().sync(&chosen).unwrap().sources.len(), 1);
    let unknown = SyncRequest { names: vec!["flash".into()], ..SyncRequest::default() };
    let error = world.externals().sync(&unknown).unwrap_err();
    assert!(error.hint().contains("flash attention"), "{}", error.hint());
}

#[test]
fn two_at_once_do_not_meet() {
    let world = World::new();
    world.add(SourceKind::Sparse);
    let folder = fs::File::open(world.project.join("third_party")).unwrap();
    folder.lock().unwrap();
    let error = world.externals().sync(&SyncRequest::default()).unwrap_err();
    assert!(matches!(error, ExternalsError::Busy { .. }), "{error}");
    folder.unlock().unwrap();
    assert!(world.sync().succeeded);
}

#[test]
fn a_project_without_sources_is_left_as_it_is() {
    let world = World::new();
    let report = world.sync();
    assert!(report.succeeded && report.sources.is_empty() && report.files.is_empty());
    assert!(world.externals().status().unwrap().in_sync);
    assert_eq!(files(&world.project), ["README.md"]);
}

#[test]
fn reports_are_json_that_starts_with_its_version() {
    let world = World::new();
    let added = world.externals().add(&world.request(SourceKind::Submodule)).unwrap();
    let externals = world.externals();
    let failing = {
        write(&world.place(), "src/kernel.cu", "mine\n");
        world.sync()
    };
    for json in [
        serde_json::to_string(&added).unwrap(),
        serde_json::to_string(&failing).unwrap(),
        serde_json::to_string(&externals.status().unwrap()).unwrap(),
        serde_json::to_string(&externals.staged_edits().unwrap()).unwrap(),
        serde_json::to_string(&externals.guard().unwrap()).unwrap(),
    ] {
        assert!(json.starts_with("{\"schema_version\":1,"), "{json}");
    }
    let json: serde_json::Value = serde_json::to_value(&failing).unwrap();
    let error = &json["sources"][0]["error"];
    assert_eq!(error["class"], "usage");
    assert!(error["hint"].as_str().unwrap().contains("--force"));
    let status = serde_json::to_value(externals.status().unwrap()).unwrap();
    assert_eq!(status["sources"][0]["condition"], "edited");
    assert_eq!(status["sources"][0]["kind"], "submodule");
}
