//! Bodies of requests: compact JSON, written once.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::spec::{PromptSource, WorkloadSpec};
use crate::plan::Api;

pub(super) const TOOL: &str = "lookup_0";

pub(super) struct BodyWriter {
    api: Api,
    base: Map<String, Value>,
    limit_field: &'static str,
    extra: Map<String, Value>,
}

pub(super) enum Content {
    Prompt(Value),
    Messages(Vec<Value>),
    Documents { query: String, documents: Vec<String> },
}

impl BodyWriter {
    pub(super) fn new(spec: &WorkloadSpec) -> Self {
        let (api, is_response) = (spec.api, spec.api == Api::Responses);
        let mut base = Map::new();
        let mut add = |name: &str, value: Value| base.insert(name.to_owned(), value);
        if api.is_streamed() {
            // The Responses API always sends usage and knows no such options.
            if !is_response && spec.continuous_usage {
                add("stream_options", json!({"include_usage": true, "continuous_usage_stats": true}));
            } else if !is_response {
                add("stream_options", json!({"include_usage": true}));
            }
            add("stream", json!(true));
            let is_file = matches!(spec.prompts, PromptSource::File { .. });
            if spec.ignore_eos.unwrap_or(!is_file && !is_response) {
                add("ignore_eos", json!(true));
            }
        }
        if spec.conversation.as_ref().is_some_and(|conversation| conversation.tool_tokens.is_some()) {
            let parameters = json!({
                "type": "object",
                "properties": {"query": {"type": "string", "description": "What to look up"}},
                "required": ["query"],
            });
            let description = "Looks up record 0 and returns what is known about it.";
            let function = json!({"name": TOOL, "description": description, "parameters": parameters});
            add("tools", json!([{"type": "function", "function": function}]));
            // Servers refuse `auto` unless they were started for it.
            add("tool_choice", json!("none"));
        }
        let limit_field = if is_response { "max_output_tokens" } else { "max_tokens" };
        BodyWriter { api, base, limit_field, extra: spec.extra_body.clone() }
    }

    pub(super) fn api(&self) -> Api {
        self.api
    }

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

#[cfg(test)]
mod tests {
    use super::super::length::LengthSpec;
    use super::*;

    fn spec(api: Api) -> WorkloadSpec {
        let prompts = PromptSource::Synthetic { input_tokens: LengthSpec::Fixed(1), shared_prefix: None };
        WorkloadSpec::of(api, prompts)
    }

    fn written(spec: &WorkloadSpec, content: Content, limit: Option<u32>) -> Value {
        serde_json::from_slice(&BodyWriter::new(spec).write("m", content, limit)).unwrap()
    }

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn each_api_has_its_own_fields() {
        let prompt = || Content::Prompt(json!("a \"b\""));
        assert_eq!(
            written(&spec(Api::Completions), prompt(), Some(5)),
            parsed(
                r#"{"ignore_eos":true,"max_tokens":5,"model":"m","prompt":"a \"b\"","stream":true,"stream_options":{"include_usage":true}}"#
            )
        );
        let messages = || Content::Messages(vec![json!({"role": "user", "content": "a"})]);
        assert_eq!(
            written(&spec(Api::Chat), messages(), Some(5)),
            parsed(
                r#"{"ignore_eos":true,"max_tokens":5,"messages":[{"content":"a","role":"user"}],"model":"m","stream":true,"stream_options":{"include_usage":true}}"#
            )
        );
        assert_eq!(
            written(&spec(Api::Responses), messages(), Some(5)),
            parsed(
                r#"{"input":[{"content":"a","role":"user"}],"max_output_tokens":5,"model":"m","stream":true}"#
            )
        );
        assert_eq!(
            written(&spec(Api::Embeddings), prompt(), Some(5)),
            parsed(r#"{"input":"a \"b\"","model":"m"}"#)
        );
        let documents = Content::Documents { query: "q".to_owned(), documents: vec!["d".to_owned()] };
        assert_eq!(
            written(&spec(Api::Rerank), documents, None),
            parsed(r#"{"documents":["d"],"model":"m","query":"q"}"#)
        );
    }

    #[test]
    fn usage_and_extra_fields_are_written() {
        let extra = json!({"ignore_eos": null, "guided_json": {"a": 1}, "temperature": 0.5});
        let spec = WorkloadSpec {
            continuous_usage: true,
            extra_body: extra.as_object().unwrap().clone(),
            ..spec(Api::Chat)
        };
        assert_eq!(
            written(&spec, Content::Messages(vec![]), Some(9)),
            parsed(
                r#"{"guided_json":{"a":1},"ignore_eos":null,"max_tokens":9,"messages":[],"model":"m","stream":true,"stream_options":{"continuous_usage_stats":true,"include_usage":true},"temperature":0.5}"#
            )
        );
    }

    #[test]
    fn images_are_content_parts() {
        let url: Arc<str> = "data:image/png;base64,AA==".into();
        let chat = BodyWriter::new(&spec(Api::Chat));
        assert_eq!(
            chat.user_message("see", std::slice::from_ref(&url)),
            json!({"role": "user", "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
            ]})
        );
        let responses = BodyWriter::new(&spec(Api::Responses));
        assert_eq!(
            responses.user_message("see", &[url]),
            json!({"role": "user", "content": [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "image_url": "data:image/png;base64,AA=="},
            ]})
        );
    }
}
