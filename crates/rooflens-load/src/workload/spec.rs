//! The description of a workload: plain data that can be saved, and sent to workers.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::length::{DelaySpec, LengthSpec};
use crate::plan::Api;

/// What is sent. With the same description, files and tokenizer, every process makes the same sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    /// The endpoint that bodies are made for.
    pub(crate) api: Api,
    /// The model's name at the server.
    pub model: String,
    /// Seed of everything that is drawn.
    #[serde(default)]
    pub seed: u64,
    /// The model's `tokenizer.json`, or the folder that has it. Without one, prompts have about as many tokens as
    /// they should, and nobody knows how many exactly.
    #[serde(default)]
    pub tokenizer: Option<PathBuf>,
    /// Where prompts come from.
    pub(crate) prompts: PromptSource,
    /// Most output tokens of a request. For synthetic prompts required (but for embeddings and rerank); for files and
    /// traces it replaces what they say.
    #[serde(default)]
    pub output_tokens: Option<LengthSpec>,
    /// Several turns per session.
    #[serde(default)]
    pub conversation: Option<ConversationSpec>,
    /// LoRA adapters, whose names are sent as the model: round-robin, or by weight where all have one.
    #[serde(default)]
    pub loras: Vec<LoraShare>,
    /// Images in each prompt that brings none of its own. Chat and responses only.
    #[serde(default)]
    pub images: Option<ImageSpec>,
    /// How the body is written.
    #[serde(default)]
    pub body: BodySpec,
}

/// Where prompts come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PromptSource {
    /// Random words, another text for every session.
    Synthetic {
        /// Length of each prompt (of each turn's new message), with the special tokens that the tokenizer adds; of
        /// each document for rerank.
        input_tokens: LengthSpec,
        /// A beginning that prompts share, before `input_tokens` of their own.
        #[serde(default)]
        shared_prefix: Option<SharedPrefixSpec>,
        /// Number of sessions; without it there is no end.
        #[serde(default)]
        sessions: Option<u64>,
    },
    /// Samples of a file.
    File {
        /// The file.
        path: PathBuf,
        /// How it is written.
        #[serde(default)]
        format: FileFormat,
        /// Use only this many samples, from the beginning.
        #[serde(default)]
        limit: Option<u64>,
        /// Another order, by the seed.
        #[serde(default)]
        shuffle: bool,
        /// Start over at the end, for ever. A prefix cache then knows all prompts from the second time on.
        #[serde(default)]
        repeat: bool,
    },
    /// Arrival times and lengths of a recorded load; the texts are synthetic.
    Trace {
        /// The file.
        path: PathBuf,
        /// How it is written.
        format: TraceFormat,
        /// Use only this many requests, from the beginning.
        #[serde(default)]
        limit: Option<u64>,
    },
}

/// A beginning that some prompts share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedPrefixSpec {
    /// Its tokens. All prompts get this many more, shared or their own.
    pub tokens: u32,
    /// Number of different prefixes.
    #[serde(default = "one")]
    pub groups: u32,
    /// Share of sessions that begin with one of them, 0 to 1, exact over any stretch of sessions. The first of each
    /// group finds nothing in a cache.
    #[serde(default = "all")]
    pub hit_rate: f64,
}

fn one() -> u32 {
    1
}

fn all() -> f64 {
    1.0
}

/// How a file of prompts is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileFormat {
    /// JSON where the first character is `{` or `[`, else lines of text.
    #[default]
    Auto,
    /// A JSON array or JSONL. Each object has `conversations` (ShareGPT), `messages` (OpenAI chat) or `prompt`, and
    /// may have `output_tokens` or `max_tokens`, `lora` or `model`, `image` or `images`.
    Json,
    /// One prompt per line.
    Text,
}

/// How a trace of arrivals is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraceFormat {
    /// JSONL: `timestamp` in milliseconds, `input_length`, `output_length`, `hash_ids` of blocks of 512 tokens. Equal
    /// ids give equal text, so prefixes repeat as they did.
    Mooncake,
    /// CSV: `Timestamp` in seconds, `Request tokens`, `Response tokens`. Rows without a response are skipped.
    #[serde(rename = "burstgpt")]
    BurstGpt,
}

/// Several turns per session: each request has the history with the model's own replies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationSpec {
    /// Requests of a session; at most this many where a file says what users write.
    pub turns: LengthSpec,
    /// Length of each message after the first; by default as the first. Synthetic prompts only.
    #[serde(default)]
    pub turn_tokens: Option<LengthSpec>,
    /// Time from the end of a reply to the next request: thinking, or running the tool.
    #[serde(default)]
    pub think: DelaySpec,
    /// An agent instead of a person: each reply is taken as a tool call, and the next message is the tool's result.
    /// Chat and synthetic prompts only.
    #[serde(default)]
    pub tools: Option<ToolSpec>,
}

/// The tools of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    /// How many are declared in every request.
    #[serde(default = "one")]
    pub declared: u32,
    /// `tool_choice` of every request. `none` by default: servers refuse `auto` unless they were started for it.
    #[serde(default = "no_tool")]
    pub choice: String,
}

fn no_tool() -> String {
    "none".to_owned()
}

/// A LoRA adapter and how often it is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoraShare {
    /// Its name at the server.
    pub name: String,
    /// How likely it is, relative to the others.
    #[serde(default)]
    pub weight: Option<f64>,
}

/// Images of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ImageSpec {
    /// PNGs of noise, different for every session.
    Noise {
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
        /// Images per prompt.
        #[serde(default = "one")]
        count: u32,
    },
    /// Files (PNG, JPEG, WebP, GIF), one per prompt, round-robin.
    Files {
        /// The files.
        paths: Vec<PathBuf>,
    },
}

/// How bodies are written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BodySpec {
    /// Ask for a stream.
    pub(crate) stream: bool,
    /// Ask for `usage` at the end of a stream.
    pub(crate) include_usage: bool,
    /// Ask for `usage` in every chunk, as vLLM and SGLang can.
    pub continuous_usage: bool,
    /// Generate up to the limit whatever the model says. By default on for synthetic prompts and traces, off for files.
    pub ignore_eos: Option<bool>,
    /// Name of the limit of output tokens.
    pub(crate) limit_field: LimitField,
    /// Send prompts of `/v1/completions` as token ids.
    pub token_ids: bool,
    /// Sampling temperature.
    pub(crate) temperature: Option<f64>,
    /// Nucleus sampling.
    pub(crate) top_p: Option<f64>,
    /// Sample from this many.
    pub(crate) top_k: Option<i64>,
    /// The server's sampling seed.
    pub(crate) seed: Option<i64>,
    /// The first message of a chat (`instructions` of responses).
    pub(crate) system: Option<String>,
    /// Documents per rerank request.
    pub(crate) documents: u32,
    /// More fields; they replace what is there.
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl Default for BodySpec {
    fn default() -> Self {
        BodySpec {
            stream: true,
            include_usage: true,
            continuous_usage: false,
            ignore_eos: None,
            limit_field: LimitField::default(),
            token_ids: false,
            temperature: None,
            top_p: None,
            top_k: None,
            seed: None,
            system: None,
            documents: 8,
            extra: serde_json::Map::new(),
        }
    }
}

/// Name of the field that limits output tokens; responses always have `max_output_tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitField {
    /// `max_tokens`.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which newer chat models of OpenAI insist on.
    MaxCompletionTokens,
}

impl WorkloadSpec {
    /// Synthetic prompts with nothing special.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn synthetic(
        api: Api,
        model: impl Into<String>,
        input_tokens: LengthSpec,
        output_tokens: LengthSpec,
    ) -> Self {
        let prompts = PromptSource::Synthetic { input_tokens, shared_prefix: None, sessions: None };
        let output_tokens = api.is_streamed().then_some(output_tokens);
        WorkloadSpec { output_tokens, ..WorkloadSpec::of(api, model, prompts) }
    }

    /// Prompts of a file, with nothing special.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn file(api: Api, model: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        let (path, format) = (path.into(), FileFormat::Auto);
        let prompts = PromptSource::File { path, format, limit: None, shuffle: false, repeat: false };
        WorkloadSpec::of(api, model, prompts)
    }

    /// Prompts from somewhere, with nothing special.
    #[must_use]
    pub fn of(api: Api, model: impl Into<String>, prompts: PromptSource) -> Self {
        WorkloadSpec {
            api,
            model: model.into(),
            seed: 0,
            tokenizer: None,
            prompts,
            output_tokens: None,
            conversation: None,
            loras: Vec::new(),
            images: None,
            body: BodySpec::default(),
        }
    }
}
