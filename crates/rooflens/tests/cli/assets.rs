//! Models and datasets, linked from a storage beside the project.

use std::os::unix::fs::symlink;

use super::*;

#[allow(dead_code, reason = "made for the tests of the library; not all of it is used here")]
#[path = "../../../rooflens-collect/tests/all/assets_support/tar_maker.rs"]
mod tar_maker;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A model of the hub's cache, one of a root, a dataset with an archive.
const BOOTSTRAP: &str = "\
schema: 1
models:
  - name: tiny
    source: {hub: org/tiny}
    required: [config.json, '*.json']
  - name: in-house
    source: {root: MODELS_ROOT, path: in-house/v3}
    required: [config.json]
datasets:
  - name: pages
    source: {root: DATASETS_ROOT, path: pages}
    required: [labels.json]
    extract: [{archive: images.tar.gz, into: datasets/pages/images}]
";

/// A project as `rooflens init` makes it, and a storage beside it.
pub struct Place {
    pub folder: Folder,
}

impl Place {
    pub fn new(bootstrap: &str) -> Self {
        let place = Place { folder: Folder::new() };
        text(&["init", &place.folder.text("project")]);
        place.folder.write("project/bootstrap.yaml", bootstrap.as_bytes());
        place
    }

    fn stored() -> Self {
        let place = Place::new(BOOTSTRAP);
        let folder = &place.folder;
        let hub = "storage/hub/models--org--tiny";
        folder.write(&format!("{hub}/refs/main"), COMMIT.as_bytes());
        folder.write(&format!("{hub}/blobs/a"), b"{\"model_type\": \"tiny\"}");
        let snapshot = folder.path(&format!("{hub}/snapshots/{COMMIT}"));
        std::fs::create_dir_all(&snapshot).unwrap();
        symlink("../../blobs/a", snapshot.join("config.json")).unwrap();
        folder.write("storage/in-house/v3/config.json", b"{}");
        folder.write("storage/pages/labels.json", b"[1, 2]");
        let images = tar_maker::tar(&[("images/", b'5', "", b""), ("images/1.txt", b'0', "", b"one")]);
        folder.write("storage/pages/images.tar.gz", &tar_maker::gz(&images));
        place
    }

    pub fn project(&self) -> PathBuf {
        self.folder.path("project")
    }

    pub fn assets(&self, args: &[&str]) -> Answer {
        let mut all = vec!["assets"];
        all.extend(args);
        let storage = self.folder.path("storage");
        let mut command = rooflens_in(&self.project(), &all);
        command.env("HF_HUB_CACHE", storage.join("hub"));
        command.env("MODELS_ROOT", &storage).env("DATASETS_ROOT", &storage);
        Answer::of(command.output().unwrap())
    }
}

fn states(answer: Answer) -> Vec<(String, String)> {
    let assets = answer.json()["assets"].as_array().unwrap().clone();
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    assets.iter().map(|asset| (text(&asset["name"]), text(&asset["state"]))).collect()
}

#[test]
fn linking_makes_what_status_and_verify_ask_for() {
    let place = Place::stored();
    let before = tree(&place.folder.path("storage"));
    let status = place.assets(&["status"]);
    assert!(status.stderr.ends_with("next: rooflens assets link tiny in-house pages\n"), "{}", status.stderr);
    let lines: Vec<String> = status.fine().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[1], "tiny      model    not linked        models/tiny");
    assert_eq!(place.assets(&["verify"]).code, 1);

    let linked = place.assets(&["link", "--yes"]);
    assert!(linked.stderr.contains("4 changes made"), "{}", linked.stderr);
    let table = linked.fine();
    assert!(
        table.lines().nth(1).unwrap().contains(&format!("models/tiny -> {}", place.folder.text("storage")))
    );
    assert_eq!(std::fs::read(place.project().join("datasets/pages/images/images/1.txt")).unwrap(), b"one");
    let expected = ["tiny", "in-house", "pages"].map(|name| (name.to_owned(), "linked".to_owned()));
    assert_eq!(states(place.assets(&["status", "--format", "json"])), expected);
    let verified = place.assets(&["verify", "--format", "json"]).json();
    assert_eq!(verified["schema"]["name"], "rooflens.assets-verify");
    assert_eq!(verified["sound"], true);
    assert_eq!(tree(&place.folder.path("storage")), before, "the storage is only read");

    // A second run changes nothing, so it needs no --yes.
    let before = tree(&place.project());
    let again = place.assets(&["link", "--format", "json"]).json();
    assert_eq!((&again["schema"]["name"], &again["changes"]), (&"rooflens.assets-link".into(), &0.into()));
    assert!(place.assets(&["link"]).stderr.starts_with("no changes made"));
    assert_eq!(tree(&place.project()), before);
}

/// The library's tests have every kind of hostile archive; this is the message that a user sees.
#[test]
fn a_hostile_archive_is_refused() {
    let place = Place::new(
        "schema: 1\ndatasets:\n  - name: d\n    source: {root: DATASETS_ROOT, path: d}\n    extract: [{archive: a, into: datasets/d/files}]\n",
    );
    place.folder.write("storage/d/a", &tar_maker::tar(&[("a/../../evil", b'0', "", b"x")]));
    let answer = place.assets(&["link", "--yes"]);
    answer.fails(5, "was not extracted: ").fails(5, "has '..' in its path");
    assert!(answer.stdout.contains("not unpacked"), "{}", answer.stdout);
    assert!(files(&place.folder.path("")).iter().all(|name| !name.contains("evil")));
}

#[test]
fn a_dry_run_and_a_run_without_consent_write_nothing() {
    let place = Place::stored();
    let before = tree(place.folder.0.path());
    let plan = place.assets(&["link", "--dry-run"]).fine();
    let verbs: Vec<&str> = plan.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(verbs, ["link", "link", "link", "unpack"], "{plan}");
    let json = place.assets(&["link", "--dry-run", "--format", "json", "pages"]).json();
    assert_eq!(json["schema"]["name"], "rooflens.assets-plan");
    assert_eq!(json["steps"][1]["action"], "extract");
    let refused = place.assets(&["link"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
    assert!(refused.stderr.contains("4 changes would be made"), "{}", refused.stderr);
    assert!(refused.hint().contains("--dry-run") && refused.hint().contains("--yes"), "{}", refused.stderr);
    assert_eq!(tree(place.folder.0.path()), before);
}

#[test]
fn some_can_be_named() {
    let place = Place::stored();
    place.assets(&["link", "tiny", "--yes"]).fine();
    assert!(place.project().join("models/tiny/config.json").is_file());
    assert!(!place.project().join("models/in-house").exists());
    place.assets(&["link", "in-hause", "--yes"]).fails(2, "").hints("did you mean 'in-house'?");
}

#[test]
fn what_is_missing_is_told_with_the_command_that_fetches_it() {
    let place = Place::new(BOOTSTRAP);
    let answer = place.assets(&["status"]);
    assert!(answer.stderr.contains("; hf download org/tiny --revision main\n"), "{}", answer.stderr);
    assert!(answer.stderr.contains("; is MODELS_ROOT right?\n"), "{}", answer.stderr);
    assert!(answer.fine().lines().nth(1).unwrap().contains("not found"));
    place.assets(&["link"]).fails(5, "");
    // Without the variable, it is the variable that is asked for.
    let bare = Answer::of(rooflens_in(&place.project(), &["assets", "status"]).output().unwrap());
    assert!(bare.stderr.contains("set DATASETS_ROOT to the folder"), "{}", bare.stderr);
    assert!(bare.stderr.contains("tiny: no hub cache is known"), "{}", bare.stderr);
}

#[test]
fn what_is_wrong_with_files_is_told_and_exits_with_1() {
    let place = Place::stored();
    place.assets(&["link", "--yes"]).fine();
    place.folder.write("storage/in-house/v3/config.json", b"{");
    place.folder.write("storage/pages/labels.json", b"");
    let verified = place.assets(&["verify"]);
    assert_eq!(verified.code, 1);
    assert!(verified.stdout.contains("\n  config.json: is not JSON"), "{}", verified.stdout);
    assert!(verified.stdout.contains("\n  labels.json: is empty"), "{}", verified.stdout);
    let status = place.assets(&["status", "pages"]);
    assert!(status.stderr.contains("pages: labels.json is empty"), "{}", status.stderr);
    assert!(status.fine().contains("incomplete"));
}

#[test]
fn what_is_real_is_left_alone_and_another_link_is_replaced() {
    let place = Place::stored();
    place.folder.write("project/models/in-house/notes.txt", b"mine");
    symlink("/nowhere", place.project().join("models/tiny")).unwrap();
    let plan = place.assets(&["link", "--dry-run", "tiny", "in-house"]).fine();
    assert!(plan.starts_with("relink   models/tiny"), "{plan}");
    assert!(plan.contains("\nblocked  models/in-house"), "{plan}");
    place
        .assets(&["link", "--yes"])
        .fails(3, "error: models/in-house: it is not a link")
        .hints("move 'models/in-house' away");
    assert_eq!(std::fs::read(place.project().join("models/in-house/notes.txt")).unwrap(), b"mine");
    assert!(place.project().join("models/tiny/config.json").is_file());
}

#[test]
fn what_git_would_track_is_not_linked() {
    let place = Place::stored();
    git(&place.project(), &["init", "--quiet"]);
    std::fs::remove_file(place.project().join("models/.gitignore")).unwrap();
    let refused = place.assets(&["link", "tiny", "--yes"]);
    refused.fails(2, "error: models/tiny: git would track it");
    assert_eq!(refused.hint(), "add this line to .gitignore: /models/tiny");
    assert!(!place.project().join("models/tiny").exists());
    place.folder.write("project/.gitignore", b"/models/tiny\n");
    place.assets(&["link", "tiny", "--yes"]).fine();
}

#[test]
fn a_wrong_bootstrap_is_told_with_its_line() {
    let place = Place::new("schema: 1\nmodels:\n  - name: x\n    source: {rot: MODELS_ROOT, path: x}\n");
    let answer = place.assets(&["status"]);
    assert_eq!(answer.code, 2);
    let shown = "\n   |\n 4 |     source: {rot: MODELS_ROOT, path: x}\n";
    assert!(
        answer.stderr.contains("  --> bootstrap.yaml:4:") && answer.stderr.contains(shown),
        "{}",
        answer.stderr
    );
    assert_eq!(answer.hint(), "did you mean 'root'?");
    std::fs::remove_file(place.project().join("bootstrap.yaml")).unwrap();
    let answer = place.assets(&["status"]);
    assert_eq!(answer.code, 2);
    assert_eq!(answer.hint(), "rooflens init . --force adds what is missing");
}
