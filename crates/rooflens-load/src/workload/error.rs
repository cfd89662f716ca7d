//! Why a workload cannot be opened.

use std::path::PathBuf;

/// Why a workload cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenWorkloadError {
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A line, or an element of a JSON array, is not what the format asks for.
    #[error("{}:{line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line number, 1 upwards.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The file as a whole is not what the format asks for.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The tokenizer could not be loaded or used.
    #[error("cannot use the tokenizer {}: {problem}", path.display())]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// This build was made without the feature `tokenizers`.
    #[error("this build cannot count tokens with a model's tokenizer")]
    NoTokenizers,
    /// The description contradicts itself or asks for something that cannot be made.
    #[error("{0}")]
    Spec(String),
}

impl OpenWorkloadError {
    pub(crate) fn spec(problem: impl Into<String>) -> Self {
        OpenWorkloadError::Spec(problem.into())
    }
}
