//! All integration tests of this crate in one binary, since each binary costs a link.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed test may panic")]

mod compose;
mod compose_behaviour;
mod compose_fixtures;
mod deviations;
mod overrides;
mod yaml;

/// A file of the corpus.
fn corpus(file: &str) -> String {
    let default = || std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = std::env::var_os("ROOFLENS_CORPUS").map_or_else(default, std::path::PathBuf::from).join(file);
    std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; ROOFLENS_CORPUS names the corpus", path.display()))
}
