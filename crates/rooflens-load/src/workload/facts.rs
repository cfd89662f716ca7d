//! What is known about a workload before it is sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::length::LengthSpec;
use super::spec::{PromptSource, TraceFormat, WorkloadSpec};

/// What is known about a workload before it is sent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadFacts {
    /// Sessions until the source ends; null where it does not.
    pub(crate) sessions: Option<u64>,
    /// Tokens of first prompts; null where nobody counted.
    pub(crate) input_tokens: Option<LengthFacts>,
    /// Most output tokens of first requests; null where there is no limit or it differs unknown.
    pub(crate) output_tokens: Option<LengthFacts>,
    /// Whether prompts have exactly as many tokens as they should.
    pub(crate) exact_input_tokens: bool,
    /// Why the number of prompt tokens of requests is not known; null where it is.
    pub(crate) prompt_tokens_unknown: Option<String>,
    /// Whether each prompt differs from all others within its first words, so that a prefix cache does not help.
    pub(crate) unique_prompts: bool,
    /// From the first to the last arrival; null without arrival times.
    pub arrival_span_s: Option<f64>,
    /// Samples of the file that cannot be sent, as a conversation without a user's message.
    pub(crate) skipped: u64,
}

/// A distribution of lengths.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LengthFacts {
    /// Smallest.
    pub(crate) min: u32,
    /// Mean.
    pub(crate) mean: f64,
    /// Largest.
    pub(crate) max: u32,
}

impl LengthFacts {
    /// Those of a distribution.
    #[must_use]
    pub(crate) fn of_spec(spec: &LengthSpec) -> Self {
        let (min, max) = spec.limits();
        LengthFacts { min, mean: spec.mean().clamp(f64::from(min), f64::from(max)), max }
    }

    /// Those of a list; `None` of an empty one.
    #[must_use]
    pub(crate) fn of_list(lengths: impl Iterator<Item = u32> + Clone) -> Option<Self> {
        let (min, max) = (lengths.clone().min()?, lengths.clone().max()?);
        let (count, sum) =
            lengths.fold((0_u64, 0_u64), |(count, sum), length| (count + 1, sum + u64::from(length)));
        Some(LengthFacts { min, mean: sum as f64 / count as f64, max })
    }

    /// All of them, longer by this many.
    pub(super) fn plus(self, more: u32) -> Self {
        LengthFacts {
            min: self.min.saturating_add(more),
            mean: self.mean + f64::from(more),
            max: self.max.saturating_add(more),
        }
    }
}

/// A workload in one line.
pub(super) fn description(spec: &WorkloadSpec, facts: &WorkloadFacts) -> String {
    let mut parts = vec![match &spec.prompts {
        PromptSource::Synthetic { input_tokens, .. } => {
            let about = if facts.exact_input_tokens { "" } else { "about " };
            format!("synthetic prompts of {about}{input_tokens} tokens")
        }
        PromptSource::File { path, .. } => {
            format!("{} samples of {}", facts.sessions_of_file(), path.display())
        }
        PromptSource::Trace { path, format, .. } => {
            let name = match format {
                TraceFormat::Mooncake => "Mooncake",
                TraceFormat::BurstGpt => "BurstGPT",
            };
            format!("{} requests of the {name} trace {}", facts.sessions.unwrap_or_default(), path.display())
        }
    }];
    if let Some(output) = &spec.output_tokens {
        parts.push(format!("up to {output} output tokens"));
    }
    if let PromptSource::Synthetic { shared_prefix: Some(prefix), .. } = &spec.prompts {
        let share = prefix.hit_rate * 100.0;
        parts.push(format!(
            "{share}% begin with one of {} shared prefixes of {} tokens",
            prefix.groups, prefix.tokens
        ));
    }
    if let Some(conversation) = &spec.conversation {
        let kind = if conversation.tools.is_some() { "tool-calling turns" } else { "turns" };
        parts.push(format!("{} {kind} per session", conversation.turns));
    }
    if !spec.loras.is_empty() {
        parts.push(format!("{} LoRA adapters", spec.loras.len()));
    }
    if spec.images.is_some() {
        parts.push("images".to_owned());
    }
    parts.join(", ")
}

impl WorkloadFacts {
    fn sessions_of_file(&self) -> String {
        self.sessions.map_or("endlessly repeated".to_owned(), |sessions| sessions.to_string())
    }
}
