//! Bodies of requests: compact JSON, written once.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::error::OpenWorkloadError;
use super::spec::{BodySpec, LimitField, ToolSpec};
use crate::plan::Api;

/// Writes bodies.
pub(super) struct BodyWriter {
    api: Api,
    /// What all bodies have.
    base: Map<String, Value>,
    /// Name of the limit of output tokens.
    limit_field: &'static str,
    /// They replace what is there.
    extra: Map<String, Value>,
    system: Option<String>,
}

/// What a request is about.
pub(super) enum Content {
    /// `prompt` of completions (a string or token ids), `input` of embeddings.
    Prompt(Value),
    /// `messages` of a chat, `input` of responses.
    Messages(Vec<Value>),
    /// A rerank.
    Documents { query: String, documents: Vec<String> },
}

impl BodyWriter {
    pub(super) fn new(
        api: Api,
        spec: &BodySpec,
        ignore_eos_by_default: bool,
        tools: Option<&ToolSpec>,
    ) -> Result<Self, OpenWorkloadError> {
        check_numbers(spec)?;
        let mut base = Map::new();
        if api.is_streamed() {
            add_sampling(&mut base, spec);
            // The Responses API always sends usage and knows no such options.
            if spec.stream && api != Api::Responses && (spec.include_usage || spec.continuous_usage) {
                base.insert("stream_options".to_owned(), stream_options(spec));
            }
            base.insert("stream".to_owned(), json!(spec.stream));
            let has_ignore_eos = spec.ignore_eos.unwrap_or(ignore_eos_by_default && api != Api::Responses);
            if has_ignore_eos {
                base.insert("ignore_eos".to_owned(), json!(true));
            }
        }
        if let Some(tools) = tools {
            base.insert("tools".to_owned(), (0..tools.declared).map(tool).collect());
            base.insert("tool_choice".to_owned(), json!(tools.choice));
        }
        let limit_field = match (api, spec.limit_field) {
            (Api::Responses, _) => "max_output_tokens",
            (_, LimitField::MaxTokens) => "max_tokens",
            (_, LimitField::MaxCompletionTokens) => "max_completion_tokens",
        };
        let mut system = spec.system.clone();
        if api == Api::Responses
            && let Some(system) = system.take()
        {
            base.insert("instructions".to_owned(), json!(system));
        }
        Ok(BodyWriter { api, base, limit_field, extra: spec.extra.clone(), system })
    }

    pub(super) fn api(&self) -> Api {
        self.api
    }

    /// What comes before the first message.
    pub(super) fn first_messages(&self) -> Vec<Value> {
        self.system.iter().map(|system| json!({"role": "system", "content": system})).collect()
    }

    /// A message of a user.
    pub(super) fn user_message(&self, text: &str, images: &[Arc<str>]) -> Value {
        if images.is_empty() {
            return json!({"role": "user", "content": text});
        }
        let is_chat = self.api == Api::Chat;
        let image = |url: &Arc<str>| {
            if is_chat {
                json!({"type": "image_url", "image_url": {"url": **url}})
            } else {
                json!({"type": "input_image", "image_url": **url})
            }
        };
        let text = json!({"type": if is_chat { "text" } else { "input_text" }, "text": text});
        let parts: Vec<Value> = std::iter::once(text).chain(images.iter().map(image)).collect();
        json!({"role": "user", "content": parts})
    }

    /// A body.
    pub(super) fn write(&self, model: &str, content: Content, max_output_tokens: Option<u32>) -> Bytes {
        let mut body = self.base.clone();
        body.insert("model".to_owned(), json!(model));
        if let Some(limit) = max_output_tokens.filter(|_| self.api.is_streamed()) {
            body.insert(self.limit_field.to_owned(), json!(limit));
        }
        match content {
            Content::Prompt(prompt) => {
                let field = if self.api == Api::Completions { "prompt" } else { "input" };
                body.insert(field.to_owned(), prompt);
            }
            Content::Messages(messages) => {
                let field = if self.api == Api::Responses { "input" } else { "messages" };
                body.insert(field.to_owned(), Value::Array(messages));
            }
            Content::Documents { query, documents } => {
                body.insert("query".to_owned(), Value::String(query));
                body.insert("documents".to_owned(), documents.into_iter().map(Value::String).collect());
            }
        }
        body.extend(self.extra.clone());
        Bytes::from(Value::Object(body).to_string())
    }
}

fn check_numbers(spec: &BodySpec) -> Result<(), OpenWorkloadError> {
    let numbers = [("temperature", spec.temperature), ("top_p", spec.top_p)];
    for (name, value) in numbers {
        if value.is_some_and(|value| !value.is_finite()) {
            return Err(OpenWorkloadError::Spec(format!("{name} should be a finite number")));
        }
    }
    Ok(())
}

fn add_sampling(base: &mut Map<String, Value>, spec: &BodySpec) {
    let fields = [
        ("temperature", spec.temperature.map(Value::from)),
        ("top_p", spec.top_p.map(Value::from)),
        ("top_k", spec.top_k.map(Value::from)),
        ("seed", spec.seed.map(Value::from)),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            base.insert(name.to_owned(), value);
        }
    }
}

fn stream_options(spec: &BodySpec) -> Value {
    if spec.continuous_usage {
        json!({"include_usage": true, "continuous_usage_stats": true})
    } else {
        json!({"include_usage": true})
    }
}

fn tool(index: u32) -> Value {
    json!({"type": "function", "function": {
        "name": tool_name(index),
        "description": format!("Looks up record {index} and returns what is known about it."),
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "What to look up"}},
            "required": ["query"],
        },
    }})
}

pub(super) fn tool_name(index: u32) -> String {
    format!("lookup_{index}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(api: Api, spec: &BodySpec, content: Content, limit: Option<u32>) -> Value {
        let writer = BodyWriter::new(api, spec, true, None).unwrap();
        serde_json::from_slice(&writer.write("m", content, limit)).unwrap()
    }

    /// The order of keys is not part of a body.
    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn each_api_has_its_own_fields() {
        let prompt = || Content::Prompt(json!("a \"b\""));
        let spec = BodySpec::default();
        assert_eq!(
            written(Api::Completions, &spec, prompt(), Some(5)),
            parsed(
                r#"{"ignore_eos":true,"max_tokens":5,"model":"m","prompt":"a \"b\"","stream":true,"stream_options":{"include_usage":true}}"#
            )
        );
        let messages = || Content::Messages(vec![json!({"role": "user", "content": "a"})]);
        assert_eq!(
            written(Api::Chat, &spec, messages(), Some(5)),
            parsed(
                r#"{"ignore_eos":true,"max_tokens":5,"messages":[{"content":"a","role":"user"}],"model":"m","stream":true,"stream_options":{"include_usage":true}}"#
            )
        );
        assert_eq!(
            written(Api::Responses, &spec, messages(), Some(5)),
            parsed(
                r#"{"input":[{"content":"a","role":"user"}],"max_output_tokens":5,"model":"m","stream":true}"#
            )
        );
        assert_eq!(
            written(Api::Embeddings, &spec, prompt(), Some(5)),
            parsed(r#"{"input":"a \"b\"","model":"m"}"#)
        );
        let documents = Content::Documents { query: "q".to_owned(), documents: vec!["d".to_owned()] };
        assert_eq!(
            written(Api::Rerank, &spec, documents, None),
            parsed(r#"{"documents":["d"],"model":"m","query":"q"}"#)
        );
    }

    #[test]
    fn sampling_limits_and_extra_fields_are_written() {
        let extra = json!({"ignore_eos": null, "guided_json": {"a": 1}});
        let spec = BodySpec {
            temperature: Some(0.5),
            top_p: Some(0.25),
            top_k: Some(-1),
            seed: Some(7),
            continuous_usage: true,
            limit_field: LimitField::MaxCompletionTokens,
            extra: extra.as_object().unwrap().clone(),
            ..BodySpec::default()
        };
        assert_eq!(
            written(Api::Chat, &spec, Content::Messages(vec![]), Some(9)),
            parsed(
                r#"{"guided_json":{"a":1},"ignore_eos":null,"max_completion_tokens":9,"messages":[],"model":"m","seed":7,"stream":true,"stream_options":{"continuous_usage_stats":true,"include_usage":true},"temperature":0.5,"top_k":-1,"top_p":0.25}"#
            )
        );
    }

    #[test]
    fn images_are_content_parts() {
        let url: Arc<str> = "data:image/png;base64,AA==".into();
        let chat = BodyWriter::new(Api::Chat, &BodySpec::default(), true, None).unwrap();
        assert_eq!(
            chat.user_message("see", std::slice::from_ref(&url)),
            json!({"role": "user", "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
            ]})
        );
        let responses = BodyWriter::new(Api::Responses, &BodySpec::default(), true, None).unwrap();
        assert_eq!(
            responses.user_message("see", &[url]),
            json!({"role": "user", "content": [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "image_url": "data:image/png;base64,AA=="},
            ]})
        );
    }

    #[test]
    fn numbers_that_json_cannot_hold_are_refused() {
        let spec = BodySpec { temperature: Some(f64::NAN), ..BodySpec::default() };
        assert!(BodyWriter::new(Api::Chat, &spec, true, None).is_err());
    }
}
