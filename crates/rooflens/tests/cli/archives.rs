//! Archives that nobody has looked at: what they must not do, they do not.

use super::assets::Place;
use super::*;

#[allow(dead_code, reason = "made for the tests of the library; not all of it is used here")]
#[path = "../../../rooflens-collect/tests/all/assets_support/tar_maker.rs"]
pub mod tar_maker;
#[allow(dead_code, reason = "made for the tests of the library; not all of it is used here")]
#[path = "../../../rooflens-collect/tests/all/assets_support/zip_maker.rs"]
mod zip_maker;

const BOOTSTRAP: &str = "\
schema: 1
datasets:
  - name: d
    source: {root: DATASETS_ROOT, path: d}
    extract: [{archive: a, into: datasets/d/files}]
";

/// Links a dataset with this archive, which must be refused for this reason and leave nothing behind.
fn refused(archive: &[u8], why: &str) {
    let place = Place::new(BOOTSTRAP);
    place.folder.write("storage/d/a", archive);
    // The dataset's link is made; the archive is what fails.
    let before = [tree(&place.folder.path("storage")), files(&place.project())];
    let answer = place.assets(&["link", "--yes"]);
    assert_eq!(answer.code, 5, "{why}: {}", answer.stderr);
    assert!(
        answer.stderr.contains("was not extracted: ") && answer.stderr.contains(why),
        "{}",
        answer.stderr
    );
    assert!(answer.stdout.contains("not unpacked"), "{}", answer.stdout);
    std::fs::remove_file(place.project().join("datasets/d/source-data")).unwrap();
    assert_eq!([tree(&place.folder.path("storage")), files(&place.project())], before, "{why}");
    let mut around: Vec<_> = std::fs::read_dir(place.folder.0.path()).unwrap().flatten().collect();
    around.sort_by_key(std::fs::DirEntry::file_name);
    let around: Vec<_> = around.iter().map(std::fs::DirEntry::file_name).collect();
    assert_eq!(around, ["project", "storage"], "{why}");
}

/// The library's tests have every way to do harm; these are the messages that a user sees.
#[test]
fn hostile_archives_are_refused() {
    refused(&tar_maker::tar(&[("a/../../evil", b'0', "", b"x")]), "has '..' in its path");
    refused(&zip_maker::zip(&[zip_maker::file("/tmp/rooflens-evil", "x")]), "has an absolute path");
    assert!(!Path::new("/tmp/rooflens-evil").exists());
    let entries = [zip_maker::link("out", "../../.."), zip_maker::file("out/evil", "x")];
    refused(&zip_maker::zip(&entries), "not inside the archive");
    let zeros = vec![0u8; 20_000_000];
    let bomb = tar_maker::gz(&tar_maker::tar(&[("zeros", b'0', "", &zeros)]));
    refused(&bomb, "raise its max_ratio in bootstrap.yaml");
    refused(b"neither a zip nor a tar", "is neither a zip, a tar nor a tar.gz");
}

#[test]
fn a_plain_one_is_unpacked() {
    let place = Place::new(BOOTSTRAP);
    let entries = [zip_maker::file("a/1.txt", "one"), zip_maker::link("a/2.txt", "1.txt")];
    place.folder.write("storage/d/a", &zip_maker::zip(&entries));
    let answer = place.assets(&["link", "--yes", "--verbose"]);
    assert!(answer.stderr.contains("datasets/d/files: 2 entries unpacked"), "{}", answer.stderr);
    answer.fine();
    assert_eq!(std::fs::read(place.project().join("datasets/d/files/a/2.txt")).unwrap(), b"one");
}
