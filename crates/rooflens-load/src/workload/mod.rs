//! What is sent: from a plain description to sessions, the same in every process.

mod body;
mod dataset;
mod error;
mod facts;
mod image;
mod kit;
mod length;
mod prompts;
mod samples;
mod script;
mod spec;
mod synthetic;
mod tokenizer;
mod tokens;
mod trace;
mod words;

#[cfg(test)]
#[cfg(feature = "tokenizers")]
mod tests;

pub use error::OpenWorkloadError;
pub(crate) use facts::WorkloadFacts;
pub use length::{DelaySpec, LengthBin, LengthSpec, MAX_LENGTH};
pub use spec::{
    BodySpec, ConversationSpec, FileFormat, ImageSpec, LimitField, LoraShare, PromptSource, SharedPrefixSpec,
    ToolSpec, TraceFormat, WorkloadSpec,
};
pub use tokens::{CountAgreement, TokenCounter, TokenCounts, TokenReconciliation, reconcile};

use crate::plan::SessionSource;

/// A workload that is ready to be sent.
pub struct OpenWorkload {
    /// Its sessions.
    pub source: Box<dyn SessionSource>,
    /// The model's tokenizer, if one was given.
    pub tokens: Option<TokenCounter>,
    /// What it is, in one line for people.
    pub description: String,
    /// What is known about it.
    pub facts: WorkloadFacts,
}

/// Opens a workload: reads its files and tokenizer and checks that it can be made.
///
/// # Errors
/// A file or the tokenizer cannot be read, or the description asks for something that cannot be made.
pub fn open(spec: &WorkloadSpec) -> Result<OpenWorkload, OpenWorkloadError> {
    let kit = kit::Kit::open(spec)?;
    let tokens = kit.counter.clone();
    let (source, facts): (Box<dyn SessionSource>, WorkloadFacts) = match &spec.prompts {
        PromptSource::Synthetic { .. } => synthetic::open(kit)?,
        PromptSource::File { .. } => dataset::open(kit)?,
        PromptSource::Trace { .. } => trace::open(kit)?,
    };
    let description = facts::description(spec, &facts);
    Ok(OpenWorkload { source, tokens, description, facts })
}
