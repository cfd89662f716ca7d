//! Unpacking an archive into a folder that goes away.

use std::fs;

use rooflens_project::assets::archive::{ArchiveProblem, Extracted, Limits, extract};
use rooflens_project::assets::{AssetError, AssetFault, Unwatched};
use tempfile::TempDir;

use super::everything;

/// Unpacks an archive and returns what came of it, with everything in the folder around.
pub fn unpack_limited(bytes: &[u8], limits: Limits) -> (Result<Extracted, AssetError>, Vec<String>) {
    let folder = TempDir::new().unwrap();
    let archive = folder.path().join("archive");
    fs::write(&archive, bytes).unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    let result = extract(&archive, &folder.path().join("in/to"), limits, &mut Unwatched);
    fs::remove_file(archive).unwrap();
    let paths = everything(folder.path());
    let paths = paths.into_iter().filter(|path| !path.contains(".rooflens-extracted.json")).collect();
    (result, paths)
}

pub fn unpack(bytes: &[u8]) -> (Result<Extracted, AssetError>, Vec<String>) {
    unpack_limited(bytes, Limits::default())
}

pub fn problem(bytes: &[u8]) -> ArchiveProblem {
    problem_limited(bytes, Limits::default())
}

pub fn problem_limited(bytes: &[u8], limits: Limits) -> ArchiveProblem {
    let (result, left) = unpack_limited(bytes, limits);
    assert_eq!(left, ["in/"], "something is left behind");
    match *result.expect_err("a refusal").fault {
        AssetFault::Archive { problem, .. } => problem,
        other => panic!("{other}"),
    }
}
