//! Why a load test could not be made.

use rooflens_load::workload::OpenWorkloadError;

use super::{ErrorKind, Hint};

/// Why a load test could not be made.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what it is")]
pub enum BenchError {
    #[error("{url} does not answer: {why}")]
    Unreachable { url: String, why: String },
    #[error("{url} does not list its models ({why})")]
    NoModel { url: String, why: String },
    #[error("{0}")]
    Target(String),
    #[error("{0}")]
    Objective(String),
    #[error("{0}")]
    Workload(String),
    #[error("this build cannot count tokens with a model's tokenizer")]
    NoTokenizers,
    #[error("{fact}")]
    Server { fact: String, hint: Option<String> },
    #[error("{0}")]
    Load(String),
    #[error("{0}")]
    Import(String),
}

impl From<OpenWorkloadError> for BenchError {
    fn from(error: OpenWorkloadError) -> Self {
        match error {
            OpenWorkloadError::NoTokenizers => BenchError::NoTokenizers,
            error => BenchError::Workload(error.to_string()),
        }
    }
}

impl BenchError {
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            BenchError::Unreachable { .. } | BenchError::NoModel { .. } => ErrorKind::Workload,
            BenchError::Target(_) | BenchError::Objective(_) | BenchError::Workload(_) => ErrorKind::Usage,
            BenchError::Server { .. } => ErrorKind::Workload,
            BenchError::Load(_) | BenchError::NoTokenizers => ErrorKind::Environment,
            BenchError::Import(_) => ErrorKind::Data,
        }
    }

    pub(crate) fn hint(&self) -> Option<Hint> {
        match self {
            BenchError::Unreachable { url, .. } => Some(Hint::command(format!("curl -i {url}/v1/models"))),
            BenchError::NoModel { .. } => Some(Hint::words("give the model's name: --model NAME")),
            BenchError::Target(_) => {
                Some(Hint::command("rooflens bench http://127.0.0.1:8000 --concurrency 8"))
            }
            BenchError::Objective(_) => Some(Hint::command("rooflens list metrics")),
            BenchError::NoTokenizers => Some(Hint::feature("tokenizers")),
            BenchError::Workload(_) | BenchError::Load(_) | BenchError::Import(_) => {
                Some(Hint::command("rooflens bench --help"))
            }
            BenchError::Server { hint, .. } => hint.clone().map(Hint::words),
        }
    }
}
