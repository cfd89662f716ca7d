//! What the program prints and saves as JSON can be read back into its types, byte for byte.

use rooflens_analyze::Findings;
use rooflens_analyze::document::{AnalysisDocument, FindingDocument};

use super::corpus_files::{at_least, corpus_files, files};
use super::{Folder, PathBuf, fixture, rooflens, text};

/// How many of the files are analyzed and read back; files that are no input are passed over.
fn read_back(paths: impl IntoIterator<Item = PathBuf>) -> usize {
    let mut count = 0;
    for path in paths {
        let output = rooflens(&["analyze", path.to_str().unwrap(), "--format", "json"]).output().unwrap();
        if !output.status.success() {
            continue;
        }
        let printed = String::from_utf8(output.stdout).unwrap();
        let findings = Findings::from_document(&printed).unwrap();
        let unread: Vec<String> =
            findings.unread.iter().map(|unread| format!("{}: {}", unread.analysis, unread.reason)).collect();
        assert!(unread.is_empty(), "{}: {unread:?}", path.display());
        let again = serde_json::to_string(&AnalysisDocument(&findings)).unwrap();
        assert!(again == printed.trim_end(), "{} is not read back as it was printed", path.display());
        count += 1;
    }
    count
}

#[test]
fn analyses_of_the_fixtures_are_read_back_as_they_were_printed() {
    let folders =
        ["kineto", "nsys", "nccl", "rocpd", "rocprofv3", "tensorrt", "torchmem", "trtexec", "blaslog"];
    assert!(read_back(folders.iter().flat_map(|name| files(fixture(name).as_ref()))) >= 15);
}

#[test]
#[ignore = "needs the corpus"]
fn analyses_of_the_corpus_are_read_back_as_they_were_printed() {
    let folders = ["kineto", "nsys", "rocm", "tensorrt", "torchmem", "logs"];
    assert!(read_back(corpus_files(&folders)) >= at_least(25, 40));
}

#[test]
fn findings_of_a_saved_run_are_read_back_from_their_files() {
    let folder = Folder::new();
    text(&["analyze", &fixture("kineto/decode.json"), "-o", &folder.text("run")]);
    let mut read = Findings::default();
    for path in files(&folder.path("run/findings")) {
        let saved = std::fs::read_to_string(&path).unwrap();
        read.add_document(&saved).unwrap();
        let (name, finding) = read.iter().last().unwrap();
        let again = serde_json::to_string(&FindingDocument { name, finding }).unwrap();
        assert_eq!(again, saved.trim_end(), "{}", path.display());
    }
    assert!(read.unread.is_empty());
    assert!(read.iter().count() > 10);
}
