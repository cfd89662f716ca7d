//! What the program prints and saves as JSON can be read back into its types, byte for byte.

use std::path::{Path, PathBuf};
use std::process::Command;

use rooflens_analyze::Findings;
use rooflens_analyze::document::{AnalysisDocument, FindingDocument};

fn rooflens(args: &[&str]) -> Option<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_rooflens")).arg("--quiet").args(args).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// Every file below a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found.iter().flat_map(|path| if path.is_dir() { files(path) } else { vec![path.clone()] }).collect()
}

/// How many inputs below the folders are analyzed and read back; files that are no input are passed over.
fn read_back(folders: &[PathBuf]) -> usize {
    let mut count = 0;
    for path in folders.iter().flat_map(|folder| files(folder)) {
        let Some(printed) = rooflens(&["analyze", path.to_str().unwrap(), "--format", "json"]) else {
            continue;
        };
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
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let folders =
        ["kineto", "nsys", "nccl", "rocpd", "rocprofv3", "tensorrt", "torchmem", "trtexec", "blaslog"];
    assert!(read_back(&folders.map(|name| fixtures.join(name))) >= 15);
}

#[test]
#[ignore = "needs the corpus"]
fn analyses_of_the_corpus_are_read_back_as_they_were_printed() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("ROOFLENS_CORPUS").map_or_else(beside, PathBuf::from);
    let folders = ["kineto", "nsys", "rocm", "tensorrt", "torchmem", "logs"];
    assert!(read_back(&folders.map(|name| data.join(name))) >= 40);
}

#[test]
fn findings_of_a_saved_run_are_read_back_from_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kineto/decode.json");
    rooflens(&["analyze", trace.to_str().unwrap(), "-o", run.to_str().unwrap()]).unwrap();
    let mut read = Findings::default();
    for path in files(&run.join("findings")) {
        let saved = std::fs::read_to_string(&path).unwrap();
        read.add_document(&saved).unwrap();
        let (name, finding) = read.iter().last().unwrap();
        let again = serde_json::to_string(&FindingDocument { name, finding }).unwrap();
        assert_eq!(again, saved.trim_end(), "{}", path.display());
    }
    assert!(read.unread.is_empty());
    assert!(read.iter().count() > 10);
}
