//! Snapshots of the Hugging Face hub, copied from a cache.

use std::fs;
use std::os::unix::fs::symlink;

use rooflens_project::externals::{
    AddRequest, Condition, Externals, ExternalsError, HubLimits, LeftOutReason, SourceKind, SyncOutcome,
};

use super::support::{World, files, git, read, told, write};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const NEXT: &str = "fedcba9876543210fedcba9876543210fedcba98";
const PLACE: &str = "third_party/hf/tiny";

/// A cache as `huggingface_hub` makes it: snapshots of links to blobs.
fn cache(world: &World, commit: &str, entries: &[(&str, &str)]) {
    let home = world.hub_cache.join("models--org--tiny");
    write(&home, "refs/main", commit);
    for (number, (path, text)) in entries.iter().enumerate() {
        let blob = format!("{commit}-{number}");
        write(&home, &format!("blobs/{blob}"), text);
        let link = home.join("snapshots").join(commit).join(path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let up = "../".repeat(path.matches('/').count() + 2);
        symlink(format!("{up}blobs/{blob}"), link).unwrap();
    }
}

const SOURCES: &[(&str, &str)] = &[
    ("LICENSE", "be kind\n"),
    ("config.json", "{}\n"),
    ("code/modeling_tiny.py", "class Tiny: pass\r\n"),
    ("model.safetensors", "weights"),
    ("pytorch_model.bin", "weights"),
    ("tiny.GGUF", "weights"),
    (".gitattributes", "*.json filter=lfs\n"),
];

fn request() -> AddRequest {
    AddRequest::new(SourceKind::Hub, "org/tiny")
}

#[test]
fn source_files_are_copied_and_weights_are_not() {
    for world in [World::new(), World::without_repository()] {
        cache(&world, COMMIT, SOURCES);
        let added = world.externals().add(&request()).unwrap();
        assert_eq!(added.source.pin.url.as_str(), "hf://org/tiny");
        assert_eq!(added.source.pin.commit.as_str(), COMMIT);
        assert_eq!(added.source.licences, ["LICENSE"]);
        let left_out: Vec<_> = added.left_out.iter().map(|file| (file.path.as_str(), file.reason)).collect();
        assert_eq!(
            left_out,
            [
                (".gitattributes", LeftOutReason::GitSettings),
                ("model.safetensors", LeftOutReason::Weights),
                ("pytorch_model.bin", LeftOutReason::Weights),
                ("tiny.GGUF", LeftOutReason::Weights),
            ]
        );
        let place = world.project.join(PLACE);
        assert_eq!(files(&place), ["LICENSE", "code/modeling_tiny.py", "config.json"]);
        assert!(fs::symlink_metadata(place.join("config.json")).unwrap().is_file());
        let status = world.only();
        assert_eq!((status.condition, status.read_only), (Condition::InSync, Some(true)));
        assert_eq!(world.sync().sources[0].outcome, SyncOutcome::Unchanged);
    }
}

#[test]
fn the_pinned_tree_is_what_git_makes_of_the_copies() {
    let world = World::new();
    cache(&world, COMMIT, SOURCES);
    let tree = world.externals().add(&request()).unwrap().source.tree;
    git(&world.project, &["-c", "core.autocrlf=true", "add", "."]);
    assert_eq!(git(&world.project, &["write-tree", &format!("--prefix={PLACE}/")]), tree.as_str());
    assert_eq!(world.externals().staged_edits().unwrap().edits, []);
    world.commit("pin");
    let colleague = world.colleague();
    fs::remove_dir_all(&world.hub_cache).unwrap();
    assert_eq!(colleague.condition(), Condition::InSync, "a clone needs no cache");
}

#[test]
fn edits_are_named_and_kept() {
    let world = World::new();
    cache(&world, COMMIT, SOURCES);
    world.externals().add(&request()).unwrap();
    let place = world.project.join(PLACE);
    write(&place, "config.json", "{\"mine\": 1}\n");
    write(&place, "new.py", "");
    fs::remove_file(place.join("LICENSE")).unwrap();
    let status = world.only();
    assert_eq!(status.edits, ["LICENSE", "config.json", "new.py"]);
    assert!(!status.licences[0].present);
    let error = world.sync().sources.remove(0).error.unwrap();
    assert!(matches!(error, ExternalsError::LocalEdits { .. }), "{error}");
    assert_eq!(world.force_sync().sources[0].outcome, SyncOutcome::Repaired);
    assert_eq!(read(&place, "config.json"), "{}\n");
    assert!(!place.join("new.py").exists());
}

#[test]
fn an_older_snapshot_is_told_from_an_edit() {
    let world = World::new();
    cache(&world, COMMIT, SOURCES);
    world.externals().add(&request()).unwrap();
    let old = world.externals().lock().unwrap();
    cache(&world, NEXT, &[("config.json", "{\"next\": 1}\n")]);
    assert_eq!(world.condition(), Condition::InSync, "a moved branch changes nothing");
    let added = world.externals().add(&request()).unwrap();
    assert!(added.revision_moved);
    assert_eq!(files(&world.project.join(PLACE)), ["config.json"]);
    // Somebody else pins the old one again.
    write(&world.project, "third_party/externals.lock", &old.to_text());
    let status = world.only();
    assert_eq!(status.condition, Condition::OtherCommit);
    assert_eq!(status.found_commit.unwrap().as_str(), NEXT);
    assert_eq!(world.sync().sources[0].outcome, SyncOutcome::Updated);
    assert_eq!(world.condition(), Condition::InSync);
}

#[test]
fn links_that_leave_the_repository_are_refused() {
    let secret = "secret.txt";
    for target in ["/etc/hostname", "../../../secret.txt", "../../../models--org--other/blobs/x", "."] {
        let world = World::new();
        cache(&world, COMMIT, SOURCES);
        write(&world.hub_cache, secret, "secret");
        write(&world.hub_cache, "models--org--other/blobs/x", "other");
        let snapshot = world.hub_cache.join("models--org--tiny/snapshots").join(COMMIT);
        symlink(target, snapshot.join("stolen.txt")).unwrap();
        let error = world.externals().add(&request()).unwrap_err();
        assert!(
            matches!(&error, ExternalsError::HubLink { path, .. } if path == "stolen.txt"),
            "{target}: {error}"
        );
        assert!(!world.project.join("third_party").exists());
    }
}

#[test]
fn size_has_bounds() {
    let world = World::new();
    cache(&world, COMMIT, &[("a.txt", "0123456789"), ("b.txt", "0123"), ("c.txt", "0123")]);
    let limits = |file_bytes, total_bytes| {
        let limits = HubLimits { file_bytes, total_bytes };
        world.externals().with_hub_limits(limits).add(&AddRequest { dry_run: true, ..request() })
    };
    let added = limits(5, 8).unwrap();
    assert_eq!(
        (added.left_out[0].path.as_str(), added.left_out[0].reason),
        ("a.txt", LeftOutReason::TooLarge)
    );
    let error = limits(5, 7).unwrap_err();
    assert!(matches!(error, ExternalsError::HubTooLarge { bytes: 8, bound: 7, .. }));
    assert!(error.hint().contains("--path"));
}

#[test]
fn a_part_comes_with_its_licence() {
    let world = World::new();
    cache(&world, COMMIT, SOURCES);
    let some = AddRequest { paths: vec!["code".into()], ..request() };
    world.externals().add(&some).unwrap();
    assert_eq!(files(&world.project.join(PLACE)), ["LICENSE", "code/modeling_tiny.py"]);
    let none = AddRequest { paths: vec!["nope".into()], name: Some("x".into()), ..request() };
    assert!(matches!(world.externals().add(&none).unwrap_err(), ExternalsError::NothingAtPath { .. }));
}

#[test]
fn a_missing_snapshot_or_cache_is_told() {
    let world = World::new();
    let error = told(&world.externals().add(&request()).unwrap_err());
    assert!(error.contains("hf download org/tiny --revision main"), "{error}");
    cache(&world, COMMIT, SOURCES);
    let other = AddRequest { revision: Some(NEXT.into()), ..request() };
    assert!(matches!(world.externals().add(&other).unwrap_err(), ExternalsError::HubSnapshotMissing { .. }));
    let unset = Externals::open(&world.project).unwrap().add(&request()).unwrap_err();
    assert!(unset.hint().contains("HF_HUB_CACHE"));
    world.externals().add(&request()).unwrap();
    fs::remove_dir_all(world.project.join(PLACE)).unwrap();
    fs::remove_dir_all(&world.hub_cache).unwrap();
    let error = world.sync().sources.remove(0).error.unwrap();
    assert!(error.to_string().contains(COMMIT), "{error}");
}

#[test]
fn a_cache_that_was_changed_is_not_trusted() {
    let world = World::new();
    cache(&world, COMMIT, SOURCES);
    world.externals().add(&request()).unwrap();
    fs::remove_dir_all(world.project.join(PLACE)).unwrap();
    write(&world.hub_cache, &format!("models--org--tiny/blobs/{COMMIT}-1"), "tampered");
    let error = world.sync().sources.remove(0).error.unwrap();
    assert!(matches!(error, ExternalsError::ContentDiffers { .. }), "{error}");
    assert!(!world.project.join(PLACE).exists());
    let left: Vec<_> = files(&world.project.join("third_party/hf"));
    assert_eq!(left, [".tiny.copied"]);
}
