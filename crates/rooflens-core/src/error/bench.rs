//! Why a load test could not be made.

use rooflens_load::workload::OpenWorkloadError;

use super::{ErrorKind, Hint};

/// Why a load test could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The server does not answer.
    #[error("{url} does not answer: {why}")]
    Unreachable {
        /// Its address.
        url: String,
        /// Why.
        why: String,
    },
    /// Nobody says which model is asked for.
    #[error("{url} does not list its models ({why})")]
    NoModel {
        /// Its address.
        url: String,
        /// Why.
        why: String,
    },
    /// The arguments name no server.
    #[error("{0}")]
    Target(String),
    /// Objectives or gates that mean nothing.
    #[error("{0}")]
    Objective(String),
    /// What is to be sent cannot be made.
    #[error("{0}")]
    Workload(String),
    /// A tokenizer was asked for, and this build was made without the feature `tokenizers`.
    #[error("this build cannot count tokens with a model's tokenizer")]
    NoTokenizers,
    /// The server could not be started.
    #[error("{fact}")]
    Server {
        /// What happened.
        fact: String,
        /// What helps.
        hint: Option<String>,
    },
    /// The load could not be sent.
    #[error("{0}")]
    Load(String),
    /// A result file of another client.
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
    /// Whose turn it is to change something.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            BenchError::Unreachable { .. } | BenchError::NoModel { .. } => ErrorKind::Workload,
            BenchError::Target(_) | BenchError::Objective(_) | BenchError::Workload(_) => ErrorKind::Usage,
            BenchError::Server { .. } => ErrorKind::Workload,
            BenchError::Load(_) | BenchError::NoTokenizers => ErrorKind::Environment,
            BenchError::Import(_) => ErrorKind::Data,
        }
    }

    /// What helps.
    pub fn hint(&self) -> Option<Hint> {
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
