//! The description of a workload: plain data that the command line fills and that workers get.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::length::LengthSpec;
use crate::plan::Api;

/// What is sent. With the same description, files and tokenizer, every process makes the same sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadSpec {
    /// The endpoint that bodies are made for.
    pub api: Api,
    /// The model's name at the server.
    pub model: String,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// The model's `tokenizer.json`, or the folder that has it. Without one, prompts have about as many tokens as
    /// they should, and their exact number is unknown.
    pub tokenizer: Option<PathBuf>,
    /// Where prompts come from.
    pub prompts: PromptSource,
    /// Most output tokens of a request. Required for synthetic prompts (except embeddings and rerank); for files and
    /// traces it replaces what they say.
    pub output_tokens: Option<LengthSpec>,
    /// Several turns per session.
    pub conversation: Option<ConversationSpec>,
    /// LoRA adapters, whose names are sent as the model in turns.
    pub loras: Vec<String>,
    /// Width and height of an image in each prompt that brings none. Chat and responses only.
    pub image: Option<(u32, u32)>,
    /// Send prompts of `/v1/completions` as token ids.
    pub token_ids: bool,
    /// Generate up to the limit whatever the model says. By default on for synthetic prompts and traces, off for files.
    pub ignore_eos: Option<bool>,
    /// Ask for `usage` in every chunk, as vLLM and SGLang can.
    pub continuous_usage: bool,
    /// More fields of the body; they replace what is there.
    pub extra_body: Map<String, Value>,
}

/// Where prompts come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum PromptSource {
    /// Random words, another text for every session.
    Synthetic {
        /// Length of each prompt (of each turn's new message), with the special tokens that the tokenizer adds; of
        /// each document for rerank.
        input_tokens: LengthSpec,
        /// A beginning that prompts share, before `input_tokens` of their own.
        shared_prefix: Option<SharedPrefixSpec>,
    },
    /// Samples of a file, over and over. A prefix cache knows all prompts from the second time on.
    File {
        /// The file.
        path: PathBuf,
        /// How it is written.
        format: FileFormat,
    },
    /// Arrival times and lengths of a recorded load; the texts are synthetic.
    Trace {
        /// The file.
        path: PathBuf,
        /// How it is written.
        format: TraceFormat,
    },
}

/// A beginning that some prompts share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SharedPrefixSpec {
    pub(crate) tokens: u32,
    pub(crate) groups: u32,
    /// Share of sessions that begin with one of them, 0 to 1, exact over any stretch of sessions. The first of each
    /// group finds nothing in a cache.
    pub(crate) hit_rate: f64,
}

/// How a file of prompts is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileFormat {
    /// JSON if the first character is `{` or `[`, else lines of text.
    Auto,
    /// A JSON array or JSONL. Each object has `conversations` (ShareGPT), `messages` (OpenAI chat) or `prompt`, and
    /// may have `output_tokens` or `max_tokens`, `lora` or `model`, `image` or `images`.
    Json,
    /// One prompt per line.
    Text,
}

/// How a trace of arrivals is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TraceFormat {
    /// JSONL: `timestamp` in milliseconds, `input_length`, `output_length`, `hash_ids` of blocks of 512 tokens. Equal
    /// ids give equal text, so prefixes repeat as they did.
    Mooncake,
    /// CSV: `Timestamp` in seconds, `Request tokens`, `Response tokens`. Rows without a response are skipped.
    BurstGpt,
}

/// Several turns per session: each request has the history with the model's own replies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConversationSpec {
    /// Requests of a session; at most this many if a file says what users write.
    pub turns: u32,
    /// Time from the end of a reply to the next request: thinking, or running the tool.
    pub think: Duration,
    /// An agent instead of a person: each reply is taken as a tool call, and each message after the first is the
    /// tool's result of this length. Chat and synthetic prompts only.
    pub tool_tokens: Option<LengthSpec>,
}

impl PromptSource {
    /// The source of a file in the format of this name, or recognized by its first line.
    pub fn of_file(path: PathBuf, format: Option<&str>) -> Result<Self, String> {
        let known = match format {
            Some("mooncake") => Some(TraceFormat::Mooncake),
            Some("burstgpt") => Some(TraceFormat::BurstGpt),
            Some("json") => return Ok(PromptSource::File { path, format: FileFormat::Json }),
            Some("text") => return Ok(PromptSource::File { path, format: FileFormat::Text }),
            Some(other) => return Err(format!("{other} is not known: json, text, mooncake, burstgpt")),
            None => trace_format(&path),
        };
        Ok(match known {
            Some(format) => PromptSource::Trace { path, format },
            None => PromptSource::File { path, format: FileFormat::Auto },
        })
    }
}

/// Whether the first line is that of a trace of arrivals. Whoever opens an unreadable file reports it.
fn trace_format(path: &Path) -> Option<TraceFormat> {
    let file = std::fs::File::open(path).ok()?;
    let mut line = String::new();
    // A dataset may be one line of many megabytes.
    BufReader::new(file).take(1 << 20).read_line(&mut line).ok()?;
    if line.starts_with('{') && line.contains("\"input_length\"") && line.contains("\"timestamp\"") {
        return Some(TraceFormat::Mooncake);
    }
    (line.contains("Timestamp") && line.contains("Request tokens")).then_some(TraceFormat::BurstGpt)
}

impl FromStr for SharedPrefixSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let parsed = (|| {
            let tokens = parts.next()?.parse().ok()?;
            let groups = parts.next().map_or(Some(1), |part| part.parse().ok())?;
            let hit_rate = parts.next().map_or(Some(1.0), |part| part.parse().ok())?;
            parts.next().is_none().then_some(SharedPrefixSpec { tokens, groups, hit_rate })
        })();
        let is_right = |spec: &SharedPrefixSpec| spec.groups > 0 && (0.0..=1.0).contains(&spec.hit_rate);
        let wrong = || format!("{text} is not TOKENS[:GROUPS[:SHARE]], as in 512:4:0.8");
        parsed.filter(is_right).ok_or_else(wrong)
    }
}

impl WorkloadSpec {
    /// Prompts from somewhere, with nothing special.
    pub fn of(api: Api, prompts: PromptSource) -> Self {
        WorkloadSpec {
            api,
            model: String::new(),
            seed: 0,
            tokenizer: None,
            prompts,
            output_tokens: None,
            conversation: None,
            loras: Vec::new(),
            image: None,
            token_ids: false,
            ignore_eos: None,
            continuous_usage: false,
            extra_body: Map::new(),
        }
    }

    pub(super) fn description(&self, prompts: String) -> String {
        let mut parts = vec![prompts];
        parts.extend(self.output_tokens.as_ref().map(|output| format!("up to {output} output tokens")));
        if let PromptSource::Synthetic { shared_prefix: Some(prefix), .. } = &self.prompts {
            let share = prefix.hit_rate * 100.0;
            parts.push(format!(
                "{share}% begin with one of {} shared prefixes of {} tokens",
                prefix.groups, prefix.tokens
            ));
        }
        if let Some(conversation) = &self.conversation {
            let kind = if conversation.tool_tokens.is_some() { "tool-calling turns" } else { "turns" };
            parts.push(format!("{} {kind} per session", conversation.turns));
        }
        if !self.loras.is_empty() {
            parts.push(format!("{} LoRA adapters", self.loras.len()));
        }
        parts.extend(self.image.map(|_| "images".to_owned()));
        parts.join(", ")
    }
}

#[cfg(test)]
impl WorkloadSpec {
    pub(crate) fn synthetic(api: Api, input: &str, output: &str) -> Self {
        let prompts = PromptSource::Synthetic { input_tokens: input.parse().unwrap(), shared_prefix: None };
        let output_tokens = api.is_streamed().then(|| output.parse().unwrap());
        WorkloadSpec { model: "m".to_owned(), output_tokens, ..WorkloadSpec::of(api, prompts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_parsed_whole() {
        let spec: SharedPrefixSpec = "512:4:0.8".parse().unwrap();
        assert_eq!((spec.tokens, spec.groups, spec.hit_rate), (512, 4, 0.8));
        assert_eq!("64".parse::<SharedPrefixSpec>().unwrap().hit_rate, 1.0);
        for wrong in ["", "x", "1:0", "1:1:2", "1:1:nan", "1:1:1:1", "-1"] {
            assert!(wrong.parse::<SharedPrefixSpec>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn traces_are_recognized_by_their_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            trace_format(&folder.path().join(name))
        };
        let line = r#"{"timestamp": 0, "input_length": 5, "output_length": 2, "hash_ids": [1]}"#;
        assert_eq!(write("m.jsonl", line), Some(TraceFormat::Mooncake));
        let head = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
        assert_eq!(write("b.csv", head), Some(TraceFormat::BurstGpt));
        assert_eq!(write("p.jsonl", r#"{"prompt": "timestamp"}"#), None);
        assert_eq!(trace_format(&folder.path().join("none")), None);
    }
}
