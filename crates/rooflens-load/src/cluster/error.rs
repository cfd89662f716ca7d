//! Why a load test on several machines failed.

use std::path::Path;

/// Why a load test on several machines, or a connection of it, failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ClusterError(pub(crate) String);

impl From<std::io::Error> for ClusterError {
    fn from(error: std::io::Error) -> Self {
        ClusterError(format!("the connection broke: {error}"))
    }
}

impl ClusterError {
    pub(super) fn closed() -> Self {
        ClusterError("the connection was closed".to_owned())
    }

    pub(super) fn silent(time: std::time::Duration) -> Self {
        ClusterError(format!("no message for {time:?}"))
    }

    pub(super) fn wrong_code() -> Self {
        let problem =
            "a message has a wrong authentication code: the tokens differ, or it was changed on the way";
        ClusterError(problem.to_owned())
    }

    pub(super) fn protocol(problem: impl ToString) -> Self {
        ClusterError(format!("not the protocol of Rooflens workers: {}", problem.to_string()))
    }

    pub(super) fn certificate(path: &Path, problem: impl ToString) -> Self {
        ClusterError(format!("cannot use {}: {}", path.display(), problem.to_string()))
    }
}
