//! A project on disk: made in a new or empty folder, never over something.

use std::fs;
use std::path::Path;
use std::process::Command;

use rooflens_collect::project::skeleton::{self, Existing, PackageManager, SkeletonOptions};
use tempfile::TempDir;

const PLAIN: SkeletonOptions = SkeletonOptions { environment: None, existing: Existing::Refuse };
const COMPLETE: SkeletonOptions = SkeletonOptions { environment: None, existing: Existing::Complete };

fn temporary() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_new_folder_gets_every_file() {
    let place = temporary();
    let folder = place.path().join("some/new/project");
    let options = SkeletonOptions { environment: Some(PackageManager::Pixi), ..PLAIN };
    let written = skeleton::write(&folder, &options).unwrap();
    let files = skeleton::files(&options);
    assert_eq!(written.made, files.iter().map(|file| file.path).collect::<Vec<_>>());
    assert!(written.kept.is_empty());
    for file in files {
        assert_eq!(fs::read_to_string(folder.join(file.path)).unwrap(), file.contents);
    }
}

#[test]
fn an_empty_folder_is_as_good_as_a_new_one() {
    let place = temporary();
    assert!(!skeleton::write(place.path(), &PLAIN).unwrap().made.is_empty());
}

#[test]
fn a_folder_in_use_is_left_alone() {
    let place = temporary();
    for name in ["a", "b", "c", "d", "e"] {
        fs::write(place.path().join(name), "mine").unwrap();
    }
    let error = skeleton::write(place.path(), &PLAIN).unwrap_err();
    assert!(error.to_string().ends_with("is not empty: it has a, b, c and 2 more"), "{error}");
    assert!(error.hint.unwrap().contains("--force"));
    assert_eq!(entries(place.path()), ["a", "b", "c", "d", "e"]);
}

#[test]
fn completing_keeps_what_is_there() {
    let place = temporary();
    fs::write(place.path().join("README.md"), "mine").unwrap();
    let written = skeleton::write(place.path(), &COMPLETE).unwrap();
    assert_eq!(written.kept, ["README.md"]);
    assert_eq!(written.made.len() + 1, skeleton::files(&COMPLETE).len());
    assert_eq!(fs::read_to_string(place.path().join("README.md")).unwrap(), "mine");

    let again = skeleton::write(place.path(), &COMPLETE).unwrap();
    assert!(again.made.is_empty());
    assert_eq!(again.kept.len(), skeleton::files(&COMPLETE).len());
}

#[test]
fn a_file_where_a_folder_must_be_is_in_the_way() {
    let place = temporary();
    fs::write(place.path().join("conf"), "mine").unwrap();
    let error = skeleton::write(place.path(), &COMPLETE).unwrap_err();
    assert!(error.message.contains("found a file"), "{error}");
    assert_eq!(entries(place.path()), ["conf"]);

    let error = skeleton::write(&place.path().join("conf"), &PLAIN).unwrap_err();
    assert!(error.message.contains("expected a folder"), "{error}");
}

#[test]
fn a_folder_where_a_file_must_be_is_in_the_way() {
    let place = temporary();
    fs::create_dir(place.path().join("bootstrap.yaml")).unwrap();
    let error = skeleton::write(place.path(), &COMPLETE).unwrap_err();
    assert!(error.message.contains("expected a file"), "{error}");
    assert_eq!(entries(place.path()), ["bootstrap.yaml"]);
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link() {
    use std::os::unix::fs::symlink;
    let (place, outside) = (temporary(), temporary());
    symlink(outside.path(), place.path().join("conf")).unwrap();
    let error = skeleton::write(place.path(), &COMPLETE).unwrap_err();
    assert!(error.message.contains("found a link"), "{error}");
    assert!(entries(outside.path()).is_empty());

    fs::remove_file(place.path().join("conf")).unwrap();
    symlink(outside.path().join("elsewhere.md"), place.path().join("README.md")).unwrap();
    let written = skeleton::write(place.path(), &COMPLETE).unwrap();
    assert_eq!(written.kept, ["README.md"]);
    assert!(entries(outside.path()).is_empty());
}

#[cfg(unix)]
#[test]
fn the_project_itself_may_be_a_link() {
    let (place, outside) = (temporary(), temporary());
    let folder = place.path().join("project");
    std::os::unix::fs::symlink(outside.path(), &folder).unwrap();
    skeleton::write(&folder, &PLAIN).unwrap();
    assert!(outside.path().join("conf/config.yaml").is_file());
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments);
    // Whatever the machine's git is set to ignore must not matter here.
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn untracked(folder: &Path) -> Vec<String> {
    git(folder, &["ls-files", "--others", "--exclude-standard"]).lines().map(str::to_owned).collect()
}

#[cfg(unix)]
#[test]
fn git_tracks_the_project_and_nothing_that_is_linked_or_made() {
    use std::os::unix::fs::symlink;
    let (place, outside) = (temporary(), temporary());
    fs::write(outside.path().join("sample.txt"), "").unwrap();
    let written = skeleton::write(place.path(), &PLAIN).unwrap();
    git(place.path(), &["init", "-q"]);
    assert_eq!(untracked(place.path()), written.made);
    git(place.path(), &["add", "--all"]);

    let at = |path: &str| {
        let path = place.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    symlink(outside.path(), at("models/linked")).unwrap();
    symlink(outside.path(), at("datasets/whole")).unwrap();
    symlink(outside.path(), at("datasets/linked/source-data")).unwrap();
    symlink(outside.path(), at("datasets/linked/deeper/link")).unwrap();
    fs::write(at("datasets/linked/images/1.png"), "").unwrap();
    fs::write(at("models/tiny-random/model.safetensors"), "").unwrap();
    fs::write(at("runs/first/tiny-random/20261115-063000/plan.json"), "").unwrap();
    fs::write(at("conf/local/default.yaml"), "").unwrap();
    assert_eq!(untracked(place.path()), Vec::<String>::new());

    fs::write(at("datasets/linked/metadata.yaml"), "").unwrap();
    fs::write(at("datasets/linked/subset-1k/metadata.yaml"), "").unwrap();
    fs::write(at("datasets/linked/subset-1k/files.txt"), "").unwrap();
    symlink(outside.path(), at("datasets/linked/subset-1k/link")).unwrap();
    fs::write(at("models/own/config.json"), "").unwrap();
    let wanted = [
        "datasets/linked/metadata.yaml",
        "datasets/linked/subset-1k/files.txt",
        "datasets/linked/subset-1k/metadata.yaml",
        "models/own/config.json",
    ];
    assert_eq!(untracked(place.path()), wanted);

    // The example's own samples may be replaced by a link, too.
    git(place.path(), &["rm", "-q", "-r", "--cached", "datasets/starter/source-data"]);
    fs::remove_dir_all(place.path().join("datasets/starter/source-data")).unwrap();
    symlink(outside.path(), at("datasets/starter/source-data")).unwrap();
    assert_eq!(untracked(place.path()), wanted);
}
