//! Why a load test on several machines failed.

use std::path::PathBuf;

/// Why a load test on several machines failed.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The token cannot be read or is too short.
    #[error("cannot use the token of {}: {problem}", path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A certificate or its key cannot be used.
    #[error("cannot use {}: {problem}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A worker is not there, refuses, or failed before the load test began.
    #[error("worker {worker}: {problem}")]
    Worker {
        /// Its address.
        worker: String,
        /// What went wrong.
        problem: String,
    },
    /// The plan cannot be split.
    #[error("{0}")]
    Plan(String),
    /// Nothing came back.
    #[error("no worker finished: {0}")]
    NoneFinished(String),
    /// A worker cannot listen.
    #[error("cannot listen: {0}")]
    Listen(std::io::Error),
}

/// Why a connection is of no more use.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error("the connection broke: {0}")]
    Io(#[from] std::io::Error),
    #[error("the connection was closed")]
    Closed,
    #[error("no message for {0:?}")]
    Silent(std::time::Duration),
    #[error("a message has a wrong authentication code: the tokens differ, or it was changed on the way")]
    WrongCode,
    #[error("not the protocol of Rooflens workers: {0}")]
    Protocol(String),
    #[error("{0}")]
    Failed(String),
    #[error("refused: {0}")]
    Refused(String),
}
