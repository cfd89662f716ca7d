//! What all sources of sessions need.

use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::body::BodyWriter;
use super::error::OpenWorkloadError;
use super::image::Images;
use super::length::{LengthSpec, weighted};
use super::spec::{PromptSource, WorkloadSpec};
use super::tokens::TokenCounter;
use crate::plan::Api;

/// What all sources of sessions need.
pub(super) struct Kit {
    pub(super) spec: WorkloadSpec,
    pub(super) writer: Arc<BodyWriter>,
    pub(super) counter: Option<TokenCounter>,
    model: Arc<str>,
    loras: Vec<Arc<str>>,
    images: Option<Images>,
}

impl Kit {
    pub(super) fn open(spec: &WorkloadSpec) -> Result<Self, OpenWorkloadError> {
        check(spec).map_err(OpenWorkloadError::Spec)?;
        let counter = spec.tokenizer.as_deref().map(TokenCounter::open).transpose()?;
        let is_file = matches!(spec.prompts, PromptSource::File { .. });
        let tools = spec.conversation.as_ref().and_then(|conversation| conversation.tools.as_ref());
        Ok(Kit {
            writer: Arc::new(BodyWriter::new(spec.api, &spec.body, !is_file, tools)?),
            counter,
            model: spec.model.as_str().into(),
            loras: spec.loras.iter().map(|lora| lora.name.as_str().into()).collect(),
            images: spec.images.as_ref().map(Images::open).transpose()?,
            spec: spec.clone(),
        })
    }

    /// Draws everything of a session but its words.
    pub(super) fn rng(&self, session: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.spec.seed);
        rng.set_stream(session);
        rng
    }

    /// The LoRA adapter of a session, if there are any, and the model it asks for.
    pub(super) fn model_of(&self, session: u64, rng: &mut ChaCha8Rng) -> (Option<Arc<str>>, Arc<str>) {
        let weights = self.spec.loras.iter().map(|lora| lora.weight.unwrap_or_default());
        let index = match self.loras.len() as u64 {
            0 => return (None, Arc::clone(&self.model)),
            _ if self.spec.loras.iter().all(|lora| lora.weight.is_some()) => weighted(weights, rng),
            count => (session % count) as usize,
        };
        let lora = self.loras.get(index).cloned();
        let model = lora.clone().unwrap_or_else(|| Arc::clone(&self.model));
        (lora, model)
    }

    pub(super) fn images_of(&self, session: u64, rng: &mut ChaCha8Rng) -> Vec<Arc<str>> {
        self.images.as_ref().map(|images| images.of_session(session, rng)).unwrap_or_default()
    }

    /// The number of turns of a session.
    pub(super) fn turns_of(&self, rng: &mut ChaCha8Rng) -> u32 {
        self.spec.conversation.as_ref().map_or(1, |conversation| conversation.turns.draw(rng).max(1))
    }

    /// Why the number of prompt tokens is not known.
    pub(super) fn prompt_tokens_unknown(&self) -> Option<String> {
        let reason = match self.spec.api {
            _ if self.counter.is_none() => "no tokenizer was given",
            Api::Chat | Api::Responses => "the server's chat template adds tokens",
            Api::Rerank => "the server joins query and documents in its own way",
            Api::Completions | Api::Embeddings => return None,
        };
        Some(reason.to_owned())
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
    check_loras(spec)?;
    let has_messages = matches!(spec.api, Api::Chat | Api::Responses);
    if spec.images.is_some() && !has_messages {
        return Err(format!("{} takes no images: use chat or responses", spec.api.name()));
    }
    if spec.body.system.is_some() && !has_messages {
        return Err(format!("{} takes no system message: use chat or responses", spec.api.name()));
    }
    if spec.body.token_ids {
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
    check_length("turns", &conversation.turns)?;
    if conversation.turns.limits().1 > MOST_TURNS {
        return Err(format!("a conversation can have at most {MOST_TURNS} turns"));
    }
    if let Some(tokens) = &conversation.turn_tokens {
        check_length("turn_tokens", tokens)?;
    }
    conversation.think.check()?;
    let is_synthetic = matches!(spec.prompts, PromptSource::Synthetic { .. });
    if !spec.api.is_streamed() {
        return Err(format!("{} has no conversations", spec.api.name()));
    }
    if matches!(spec.prompts, PromptSource::Trace { .. }) {
        return Err(
            "requests of a trace arrive one by one: they cannot be turns of a conversation".to_owned()
        );
    }
    if let Some(tools) = &conversation.tools {
        if spec.api != Api::Chat || !is_synthetic {
            return Err("tool calls need chat and synthetic prompts".to_owned());
        }
        if tools.declared == 0 || tools.declared > 1_000 {
            return Err("between 1 and 1000 tools can be declared".to_owned());
        }
    }
    Ok(())
}

fn check_loras(spec: &WorkloadSpec) -> Result<(), String> {
    let weights = || spec.loras.iter().filter_map(|lora| lora.weight);
    if weights().any(|weight| !weight.is_finite() || weight < 0.0) {
        return Err("weights of LoRA adapters should be finite and at least 0".to_owned());
    }
    match weights().count() {
        0 => Ok(()),
        count if count < spec.loras.len() => Err("either all LoRA adapters have a weight or none".to_owned()),
        _ if weights().sum::<f64>() > 0.0 => Ok(()),
        _ => Err("weights of LoRA adapters should have a sum above 0".to_owned()),
    }
}

/// Lengths of requests are at least 1.
pub(super) fn check_length(name: &str, length: &LengthSpec) -> Result<(), String> {
    length.check().map_err(|problem| format!("{name}: {problem}"))?;
    match length.limits() {
        (0, _) => Err(format!("{name} should be at least 1")),
        _ => Ok(()),
    }
}
