//! What all sources of sessions need.

use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::body::BodyWriter;
use super::error::OpenWorkloadError;
use super::image::noise_url;
use super::length::LengthSpec;
use super::spec::{PromptSource, WorkloadSpec};
use super::tokens::TokenCounter;
use crate::plan::{Api, SessionSource};

/// A workload that is ready to be sent.
pub struct OpenWorkload {
    /// Its sessions.
    pub source: Box<dyn SessionSource>,
    /// The model's tokenizer, if one was given.
    pub tokens: Option<TokenCounter>,
    /// What it is, in one line for people.
    pub description: String,
    /// From the first to the last arrival; `None` without arrival times.
    pub arrival_span_s: Option<f64>,
}

pub(super) struct Kit {
    pub(super) spec: WorkloadSpec,
    pub(super) writer: Arc<BodyWriter>,
    pub(super) counter: Option<TokenCounter>,
    model: Arc<str>,
    loras: Vec<Arc<str>>,
}

impl Kit {
    pub(super) fn open(spec: &WorkloadSpec) -> Result<Self, OpenWorkloadError> {
        check(spec)?;
        Ok(Kit {
            writer: Arc::new(BodyWriter::new(spec)),
            counter: spec.tokenizer.as_deref().map(TokenCounter::open).transpose()?,
            model: spec.model.as_str().into(),
            loras: spec.loras.iter().map(|lora| lora.as_str().into()).collect(),
            spec: spec.clone(),
        })
    }

    pub(super) fn rng(&self, session: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.spec.seed);
        rng.set_stream(session);
        rng
    }

    pub(super) fn model_of(&self, session: u64) -> (Option<Arc<str>>, Arc<str>) {
        let index = session.checked_rem(self.loras.len() as u64);
        let lora = index.and_then(|index| self.loras.get(index as usize)).cloned();
        let model = lora.clone().unwrap_or_else(|| Arc::clone(&self.model));
        (lora, model)
    }

    pub(super) fn images_of(&self, rng: &mut ChaCha8Rng) -> Vec<Arc<str>> {
        self.spec.image.map(|(width, height)| noise_url(width, height, rng)).into_iter().collect()
    }

    pub(super) fn turns(&self) -> u32 {
        self.spec.conversation.as_ref().map_or(1, |conversation| conversation.turns)
    }

    pub(super) fn session_id(&self, number: u64) -> Option<Arc<str>> {
        self.spec.conversation.as_ref().map(|_| format!("session-{number}").into())
    }

    /// Whether the tokens of first prompts are known: a chat template or a rerank adds tokens at the server.
    pub(super) fn knows_prompt_tokens(&self) -> bool {
        self.counter.is_some() && matches!(self.spec.api, Api::Completions | Api::Embeddings)
    }
}

const MOST_TURNS: u32 = 10_000;

fn check(spec: &WorkloadSpec) -> Result<(), String> {
    if let Some(output) = &spec.output_tokens {
        check_length("output_tokens", output)?;
        if !spec.api.is_streamed() {
            return Err(format!("{} has no output tokens", spec.api.name()));
        }
    }
    check_conversation(spec)?;
    if spec.image.is_some() && !matches!(spec.api, Api::Chat | Api::Responses) {
        return Err(format!("{} takes no images: use chat or responses", spec.api.name()));
    }
    if spec.token_ids {
        if spec.api != Api::Completions || spec.conversation.is_some() {
            return Err("only single completions take token ids as prompts".to_owned());
        }
        if spec.tokenizer.is_none() {
            return Err("prompts of token ids need a tokenizer".to_owned());
        }
    }
    Ok(())
}

fn check_conversation(spec: &WorkloadSpec) -> Result<(), String> {
    let Some(conversation) = &spec.conversation else { return Ok(()) };
    check_length("turns", &LengthSpec::Fixed(conversation.turns))?;
    if conversation.turns > MOST_TURNS {
        return Err(format!("a conversation can have at most {MOST_TURNS} turns"));
    }
    if let Some(tokens) = &conversation.tool_tokens {
        check_length("turn_tokens", tokens)?;
    }
    if !spec.api.is_streamed() {
        return Err(format!("{} has no conversations", spec.api.name()));
    }
    if matches!(spec.prompts, PromptSource::Trace { .. }) {
        return Err(
            "requests of a trace arrive one by one: they cannot be turns of a conversation".to_owned()
        );
    }
    let is_synthetic = matches!(spec.prompts, PromptSource::Synthetic { .. });
    if conversation.tool_tokens.is_some() && (spec.api != Api::Chat || !is_synthetic) {
        return Err("tool calls need chat and synthetic prompts".to_owned());
    }
    Ok(())
}

pub(super) fn check_length(name: &str, length: &LengthSpec) -> Result<(), String> {
    length.check().map_err(|problem| format!("{name}: {problem}"))?;
    match length.limits() {
        (0, _) => Err(format!("{name} should be at least 1")),
        _ => Ok(()),
    }
}
