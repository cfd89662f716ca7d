//! What is sent: from a plain description to sessions, the same in every process.

mod body;
mod dataset;
mod error;
mod image;
mod kit;
mod length;
mod prompts;
mod samples;
mod script;
mod spec;
mod synthetic;
mod tokens;
mod trace;

#[cfg(test)]
#[cfg(feature = "tokenizers")]
mod tests;

pub use error::OpenWorkloadError;
pub use kit::OpenWorkload;
pub use length::LengthSpec;
pub use spec::{ConversationSpec, FileFormat, PromptSource, SharedPrefixSpec, TraceFormat, WorkloadSpec};
pub use tokens::{CountAgreement, TokenCounter, TokenCounts, TokenReconciliation, reconcile};

/// Opens a workload: reads its files and tokenizer and checks that it can be made.
pub fn open(spec: &WorkloadSpec) -> Result<OpenWorkload, OpenWorkloadError> {
    let kit = kit::Kit::open(spec)?;
    match &spec.prompts {
        PromptSource::Synthetic { input_tokens, shared_prefix } => {
            synthetic::open(kit, input_tokens.clone(), *shared_prefix)
        }
        PromptSource::File { path, format } => dataset::open(kit, path, *format),
        PromptSource::Trace { path, format } => trace::open(kit, path, *format),
    }
}
