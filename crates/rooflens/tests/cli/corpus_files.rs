//! Files of the corpus of real traces and configs: `ROOFLENS_CORPUS`, or a folder beside the repository.

use std::path::{Path, PathBuf};

/// Tests of every trace read larger files only if they read the whole corpus.
const QUICK_BYTES: u64 = 500_000;

fn takes_whole_corpus() -> bool {
    std::env::var_os("ROOFLENS_WHOLE_CORPUS").is_some()
}

/// How many findings a test expects at least: in the small files, or in the whole corpus.
pub fn at_least(in_small: usize, in_whole: usize) -> usize {
    if takes_whole_corpus() { in_whole } else { in_small }
}

pub fn corpus(name: &str) -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("ROOFLENS_CORPUS").map_or_else(beside, PathBuf::from);
    let path = folder.join(name);
    assert!(path.exists(), "no corpus at {}: ROOFLENS_CORPUS names it", path.display());
    path
}

pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found.iter().flat_map(|path| if path.is_dir() { files(path) } else { vec![path.clone()] }).collect()
}

/// Files below folders of the corpus, of any size or only small ones.
pub fn corpus_files(folders: &[&str]) -> Vec<PathBuf> {
    let takes_large = takes_whole_corpus();
    let mut found: Vec<PathBuf> = folders.iter().flat_map(|folder| files(&corpus(folder))).collect();
    found.retain(|path| takes_large || path.metadata().unwrap().len() <= QUICK_BYTES);
    found
}

pub fn kineto_traces() -> Vec<String> {
    let paths =
        corpus_files(&["kineto"]).into_iter().map(|path| path.into_os_string().into_string().unwrap());
    // The file of rocprof has the same ending.
    paths.filter(|path| path.ends_with(".json.gz") && !path.ends_with("908_results.json.gz")).collect()
}
