//! What is asked of a model: prompts read, tokens made, images looked at.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::step::{Phase, Step};
use crate::vision::Images;

/// What one batch does, phase by phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Sequences in all replicas.
    pub batch: u64,
    /// Images of each sequence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<Images>,
    /// Positions of the encoder that the decoder attends to, where the input is text; none is as many as the
    /// prompt has tokens, else as many as the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder_tokens: Option<u64>,
    /// The prompt, where it is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefill: Option<Prefill>,
    /// The answer, where it is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decode: Option<Decode>,
}

/// Reading prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prefill {
    /// New tokens of each sequence.
    pub tokens: u64,
    /// Tokens before them that are already in the KV cache.
    pub prefix: u64,
    /// Tokens of each sequence in one step; none reads all at once.
    pub chunk: Option<u64>,
}

/// Making tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decode {
    /// Tokens of each sequence that are in the KV cache before the first step.
    pub context: u64,
    /// Steps, each a token longer than the last.
    pub steps: u64,
    /// Further tokens that each step drafts and checks.
    pub draft: u64,
}

/// The most sequences, tokens and steps that are believed: beyond any machine, and small enough that
/// nothing overflows.
const MOST_SEQUENCES: u64 = 1 << 20;
const MOST_TOKENS: u64 = 1 << 28;
const MOST_STEPS: u64 = 1 << 16;

/// A workload that is out of bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is {value}; expected {least} to {most}")]
pub struct WorkloadError {
    /// What is out of bounds.
    pub what: &'static str,
    pub(crate) value: u64,
    pub(crate) least: u64,
    pub(crate) most: u64,
}

/// What cannot be estimated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EstimateError {
    /// The workload is out of bounds.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The model cannot be sharded so.
    #[error("{0}")]
    Parallel(String),
    /// The device has no bandwidth or no rate of matmuls.
    #[error("{device}: {missing} is not known, so there is no roofline")]
    NoRoof {
        /// The device.
        device: String,
        /// What is not known.
        missing: &'static str,
    },
    /// An encoder that cannot read what it is given, or that the model does not have.
    #[error("encoder: {0}")]
    Encoder(String),
    /// Images, for a model without a vision tower, or of a size that it does not take.
    #[error("images: {0}")]
    Images(String),
}

impl Workload {
    /// Reads a prompt of `tokens` tokens in each of `batch` sequences.
    pub fn prefill(batch: u64, tokens: u64) -> Self {
        let prefill = Prefill { tokens, prefix: 0, chunk: None };
        Self { batch, images: None, encoder_tokens: None, prefill: Some(prefill), decode: None }
    }

    /// Makes one token in each of `batch` sequences with `context` tokens in the cache.
    pub fn decode(batch: u64, context: u64) -> Self {
        let decode = Decode { context, steps: 1, draft: 0 };
        Self { batch, images: None, encoder_tokens: None, prefill: None, decode: Some(decode) }
    }

    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        let within = |what, value, least, most| match (least..=most).contains(&value) {
            true => Ok(()),
            false => Err(WorkloadError { what, value, least, most }),
        };
        within("batch", self.batch, 1, MOST_SEQUENCES)?;
        if let Some(tokens) = self.encoder_tokens {
            within("encoder-tokens", tokens, 1, MOST_TOKENS)?;
        }
        if let Some(prefill) = &self.prefill {
            within("prefill", prefill.tokens, 1, MOST_TOKENS)?;
            within("prefix", prefill.prefix, 0, MOST_TOKENS)?;
            if let Some(chunk) = prefill.chunk {
                within("chunk", chunk, prefill.tokens.div_ceil(MOST_STEPS).max(1), MOST_TOKENS)?;
            }
        }
        if let Some(decode) = &self.decode {
            within("context", decode.context, 0, MOST_TOKENS)?;
            within("steps", decode.steps, 1, MOST_STEPS)?;
            within("draft", decode.draft, 0, 1024)?;
        }
        Ok(())
    }

    /// The phases of the decoder, in order.
    pub fn phases(&self) -> Vec<Phase> {
        let prefill = self.prefill.map(|_| Phase::Prefill);
        prefill.into_iter().chain(self.decode.map(|_| Phase::Decode)).collect()
    }

    /// The steps of a phase of the decoder for `sequences` sequences.
    pub fn steps(&self, phase: Phase, sequences: u64, media: u64) -> Vec<Step> {
        match phase {
            Phase::Vision | Phase::Encoder => Vec::new(),
            Phase::Prefill => self.prefill.map_or_else(Vec::new, |prefill| prefill.steps(sequences, media)),
            Phase::Decode => self.decode.map_or_else(Vec::new, |decode| decode.steps(sequences, media)),
        }
    }

    pub(crate) fn final_context(&self) -> u64 {
        match (&self.decode, &self.prefill) {
            (Some(decode), _) => decode.context + decode.steps * (1 + decode.draft),
            (None, Some(prefill)) => prefill.prefix + prefill.tokens,
            (None, None) => 0,
        }
    }
}

impl Prefill {
    fn steps(&self, sequences: u64, media: u64) -> Vec<Step> {
        let chunk = self.chunk.unwrap_or(self.tokens).clamp(1, self.tokens.max(1));
        let mut steps = Vec::new();
        let mut done = 0;
        while done < self.tokens {
            let new = chunk.min(self.tokens - done);
            let last = done + new == self.tokens;
            let step = Step::prefill(sequences, new, self.prefix + done);
            steps.push(Step { sampled: u64::from(last), media, ..step });
            done += new;
        }
        steps
    }
}

impl Decode {
    fn steps(&self, sequences: u64, media: u64) -> Vec<Step> {
        let each = 1 + self.draft;
        let step =
            |i| Step { new: each, sampled: each, media, ..Step::decode(sequences, self.context + i * each) };
        (0..self.steps).map(step).collect()
    }
}
