//! From options to the description of a workload.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use rooflens_load::plan::Api;
use rooflens_load::workload::{
    ConversationSpec, DelaySpec, FileFormat, ImageSpec, LengthSpec, LoraShare, PromptSource,
    SharedPrefixSpec, ToolSpec, TraceFormat, WorkloadSpec,
};

use super::request::WorkloadOptions;
use crate::error::BenchError;

/// Lengths where nothing is said.
const INPUT_TOKENS: u32 = 512;
const OUTPUT_TOKENS: u32 = 128;

/// The description.
pub(crate) fn spec(options: &WorkloadOptions, api: Api, model: &str) -> Result<WorkloadSpec, BenchError> {
    let prompts = prompts(options)?;
    let is_synthetic = matches!(prompts, PromptSource::Synthetic { .. });
    let mut spec = WorkloadSpec::of(api, model, prompts);
    spec.seed = options.seed;
    spec.tokenizer.clone_from(&options.tokenizer);
    if api.is_streamed() {
        let default = is_synthetic.then_some(LengthSpec::Fixed(OUTPUT_TOKENS));
        spec.output_tokens = length("--output-tokens", options.output_tokens.as_deref())?.or(default);
    }
    spec.conversation = conversation(options)?;
    spec.loras = options.lora.iter().map(|name| LoraShare { name: name.clone(), weight: None }).collect();
    spec.images = options.image.map(|(width, height)| ImageSpec::Noise { width, height, count: 1 });
    spec.body.ignore_eos = options.ignore_eos;
    spec.body.token_ids = options.token_ids;
    spec.body.continuous_usage = options.continuous_usage;
    for text in &options.extra_body {
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text)
            .map_err(|error| BenchError::Workload(format!("--extra-body is not a JSON object: {error}")))?;
        spec.body.extra.extend(object);
    }
    Ok(spec)
}

fn length(flag: &str, text: Option<&str>) -> Result<Option<LengthSpec>, BenchError> {
    let parse = |text: &str| {
        text.parse::<LengthSpec>().map_err(|why| BenchError::Workload(format!("{flag} {text}: {why}")))
    };
    text.map(parse).transpose()
}

fn prompts(options: &WorkloadOptions) -> Result<PromptSource, BenchError> {
    let Some(path) = options.dataset.clone() else {
        return Ok(PromptSource::Synthetic {
            input_tokens: length("--input-tokens", options.input_tokens.as_deref())?
                .unwrap_or(LengthSpec::Fixed(INPUT_TOKENS)),
            shared_prefix: options.shared_prefix.as_deref().map(shared_prefix).transpose()?,
            sessions: None,
        });
    };
    let file = |path, format| PromptSource::File { path, format, limit: None, shuffle: false, repeat: true };
    let trace = |path, format| PromptSource::Trace { path, format, limit: None };
    Ok(match options.dataset_format.as_deref() {
        Some("mooncake") => trace(path, TraceFormat::Mooncake),
        Some("burstgpt") => trace(path, TraceFormat::BurstGpt),
        Some("json") => file(path, FileFormat::Json),
        Some("text") => file(path, FileFormat::Text),
        Some(other) => {
            let known = "json, text, mooncake, burstgpt";
            return Err(BenchError::Workload(format!("--dataset-format {other} is not known: {known}")));
        }
        None => match trace_format(&path) {
            Some(format) => trace(path, format),
            None => file(path, FileFormat::Auto),
        },
    })
}

/// Whether the first line is that of a trace of arrivals. What cannot be read is told by whoever opens it.
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

/// `TOKENS[:GROUPS[:SHARE]]`.
fn shared_prefix(text: &str) -> Result<SharedPrefixSpec, BenchError> {
    let mut parts = text.split(':');
    let parsed = (|| {
        let tokens = parts.next()?.parse().ok()?;
        let groups = parts.next().map_or(Some(1), |part| part.parse().ok())?;
        let hit_rate = parts.next().map_or(Some(1.0), |part| part.parse().ok())?;
        parts.next().is_none().then_some(SharedPrefixSpec { tokens, groups, hit_rate })
    })();
    let is_right = |spec: &SharedPrefixSpec| spec.groups > 0 && (0.0..=1.0).contains(&spec.hit_rate);
    parsed.filter(is_right).ok_or_else(|| {
        BenchError::Workload(format!(
            "--shared-prefix {text} is not TOKENS[:GROUPS[:SHARE]], as in 512:4:0.8"
        ))
    })
}

fn conversation(options: &WorkloadOptions) -> Result<Option<ConversationSpec>, BenchError> {
    let Some(turns) = options.turns else { return Ok(None) };
    let seconds = options.think_time.as_secs_f64();
    let tool_tokens = length("--tool-tokens", options.tool_tokens.as_deref())?;
    Ok(Some(ConversationSpec {
        turns: LengthSpec::Fixed(turns),
        think: DelaySpec::Fixed(seconds),
        tools: tool_tokens.is_some().then(|| ToolSpec { declared: 1, choice: "none".to_owned() }),
        turn_tokens: tool_tokens,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_parsed_whole() {
        let spec = shared_prefix("512:4:0.8").unwrap();
        assert_eq!((spec.tokens, spec.groups, spec.hit_rate), (512, 4, 0.8));
        assert_eq!(shared_prefix("64").unwrap().hit_rate, 1.0);
        for wrong in ["", "x", "1:0", "1:1:2", "1:1:1:1", "-1"] {
            assert!(shared_prefix(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn traces_are_recognised_by_their_first_line() {
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
