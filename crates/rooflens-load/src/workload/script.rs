//! From what users write to the requests of a session.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::body::{BodyWriter, Content, TOOL};
use crate::plan::{Api, Body, LoadSession, Turn};

pub(super) struct Script {
    pub(super) id: Option<Arc<str>>,
    pub(super) sample: Option<Arc<str>>,
    pub(super) arrival: Option<Duration>,
    pub(super) model: Arc<str>,
    pub(super) lora: Option<Arc<str>>,
    pub(super) turns: Vec<ScriptTurn>,
    /// Each reply counts as a tool call, and messages after the first are its results.
    pub(super) is_agent: bool,
}

pub(super) struct ScriptTurn {
    pub(super) content: TurnContent,
    pub(super) prompt_tokens: Option<u32>,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) delay: Duration,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TurnContent {
    Text { text: String, images: Vec<Arc<str>> },
    Ids(Vec<u32>),
    Messages(Vec<Value>),
    Documents { query: String, documents: Vec<String> },
}

struct Dialogue {
    model: Arc<str>,
    contents: Vec<TurnContent>,
    limits: Vec<Option<u32>>,
    is_agent: bool,
}

/// The session of a script. The first request is written now, the others when the replies before them are there.
pub(super) fn session(writer: &Arc<BodyWriter>, script: Script) -> LoadSession {
    let Script { id, sample, arrival, model, lora, turns, is_agent } = script;
    let mut contents = Vec::with_capacity(turns.len());
    let mut rest = Vec::with_capacity(turns.len());
    for turn in turns {
        contents.push(turn.content);
        rest.push((turn.prompt_tokens, turn.max_output_tokens, turn.delay));
    }
    let limits = rest.iter().map(|(_, limit, _)| *limit).collect();
    let dialogue = Arc::new(Dialogue { model, contents, limits, is_agent });
    let turn = |(index, (prompt_tokens, max_output_tokens, delay))| Turn {
        body: body(writer, &dialogue, index),
        prompt_tokens,
        max_output_tokens,
        delay,
        sample: sample.clone(),
    };
    let turns = rest.into_iter().enumerate().map(turn).collect();
    LoadSession { id, lora, arrival, turns }
}

fn body(writer: &Arc<BodyWriter>, dialogue: &Arc<Dialogue>, index: usize) -> Body {
    if index == 0 {
        return Body::Ready(dialogue.write(writer, 0, &[]));
    }
    let (writer, dialogue) = (Arc::clone(writer), Arc::clone(dialogue));
    Body::FromReplies(Box::new(move |replies| dialogue.write(&writer, index, replies)))
}

impl Dialogue {
    fn write(&self, writer: &BodyWriter, index: usize, replies: &[String]) -> Bytes {
        let contents = &self.contents[..=index];
        let content = match (writer.api(), contents) {
            (_, [TurnContent::Ids(ids)]) => Content::Prompt(json!(ids)),
            (_, [TurnContent::Documents { query, documents }]) => {
                Content::Documents { query: query.clone(), documents: documents.clone() }
            }
            (Api::Chat | Api::Responses, _) => Content::Messages(self.messages(writer, contents, replies)),
            _ => Content::Prompt(Value::String(prompt(contents, replies))),
        };
        writer.write(&self.model, content, self.limits[index])
    }

    fn messages(&self, writer: &BodyWriter, contents: &[TurnContent], replies: &[String]) -> Vec<Value> {
        let mut messages = Vec::new();
        for (index, content) in contents.iter().enumerate() {
            if index > 0 {
                let reply = replies.get(index - 1).map_or("", String::as_str);
                messages.push(self.reply_message(index - 1, reply));
            }
            match (content, self.is_agent) {
                (TurnContent::Text { text, .. }, true) if index > 0 => messages
                    .push(json!({"role": "tool", "tool_call_id": call_id(index - 1), "content": text})),
                (TurnContent::Text { text, images }, _) => messages.push(writer.user_message(text, images)),
                (TurnContent::Messages(more), _) => messages.extend(more.iter().cloned()),
                (TurnContent::Ids(_) | TurnContent::Documents { .. }, _) => {}
            }
        }
        messages
    }

    /// The model's reply. An agent's is completed by the tool call that the next message answers: whether a model
    /// really makes one is up to the model, the load must not be.
    fn reply_message(&self, index: usize, reply: &str) -> Value {
        if !self.is_agent {
            return json!({"role": "assistant", "content": reply});
        }
        json!({"role": "assistant", "content": reply, "tool_calls": [{
            "id": call_id(index),
            "type": "function",
            "function": {"name": TOOL, "arguments": "{\"query\": \"\"}"},
        }]})
    }
}

impl TurnContent {
    pub(super) fn plain_text(&self) -> Cow<'_, str> {
        match self {
            TurnContent::Text { text, .. } => Cow::Borrowed(text),
            TurnContent::Messages(messages) => {
                let texts: Vec<String> = messages.iter().map(text_of).collect();
                Cow::Owned(texts.join("\n"))
            }
            TurnContent::Ids(_) | TurnContent::Documents { .. } => Cow::Borrowed(""),
        }
    }
}

fn prompt(contents: &[TurnContent], replies: &[String]) -> String {
    let mut prompt = String::new();
    for (index, content) in contents.iter().enumerate() {
        if index > 0 {
            prompt.push_str(replies.get(index - 1).map_or("", String::as_str));
            prompt.push('\n');
        }
        prompt.push_str(&content.plain_text());
    }
    prompt
}

fn call_id(index: usize) -> String {
    format!("call_{index}")
}

pub(super) fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}
