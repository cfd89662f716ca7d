//! Why a workload cannot be opened.

use std::path::Path;

/// Why a workload cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenWorkloadError {
    /// This build was made without the feature `tokenizers`.
    #[error("this build cannot count tokens with a model's tokenizer")]
    NoTokenizers,
    /// A file or the tokenizer cannot be used, or the description asks for something that cannot be made.
    #[error("{0}")]
    Unusable(String),
}

impl From<String> for OpenWorkloadError {
    fn from(problem: String) -> Self {
        OpenWorkloadError::Unusable(problem)
    }
}

pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> OpenWorkloadError {
    format!("cannot read {}: {error}", path.display()).into()
}
