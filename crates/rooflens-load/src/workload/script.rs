//! From what users write to the requests of a session.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::body::{BodyWriter, Content, tool_name};
use crate::plan::{Api, Body, LoadSession, Turn};

/// What happens in a session.
pub(super) struct Script {
    pub(super) id: Option<Arc<str>>,
    pub(super) sample: Option<Arc<str>>,
    pub(super) arrival: Option<Duration>,
    /// The model that is asked for.
    pub(super) model: Arc<str>,
    pub(super) lora: Option<Arc<str>>,
    /// What is added before each request.
    pub(super) turns: Vec<ScriptTurn>,
    /// Messages after the first are results of the tools, of which there are this many.
    pub(super) tools: Option<u32>,
}

/// What is added before a request.
pub(super) struct ScriptTurn {
    pub(super) content: TurnContent,
    /// Tokens of the whole prompt, where they are known.
    pub(super) prompt_tokens: Option<u32>,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) delay: Duration,
}

/// What a user, or a tool, adds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TurnContent {
    Text {
        text: String,
        images: Vec<Arc<str>>,
    },
    /// Token ids of a completion.
    Ids(Vec<u32>),
    /// Messages as they are.
    Messages(Vec<Value>),
    /// A rerank.
    Documents {
        query: String,
        documents: Vec<String>,
    },
}

/// The parts of a script that bodies are made of, shared by the turns.
struct Dialogue {
    model: Arc<str>,
    contents: Vec<TurnContent>,
    limits: Vec<Option<u32>>,
    tools: Option<u32>,
}

/// The session of a script. The first request is written now, the others when the replies before them are there.
pub(super) fn session(writer: &Arc<BodyWriter>, script: Script) -> LoadSession {
    let Script { id, sample, arrival, model, lora, turns, tools } = script;
    let mut contents = Vec::with_capacity(turns.len());
    let mut rest = Vec::with_capacity(turns.len());
    for turn in turns {
        contents.push(turn.content);
        rest.push((turn.prompt_tokens, turn.max_output_tokens, turn.delay));
    }
    let limits = rest.iter().map(|(_, limit, _)| *limit).collect();
    let dialogue = Arc::new(Dialogue { model, contents, limits, tools });
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
        let mut messages = writer.first_messages();
        for (index, content) in contents.iter().enumerate() {
            if index > 0 {
                let reply = replies.get(index - 1).map_or("", String::as_str);
                messages.push(self.reply_message(index - 1, reply));
            }
            match (content, self.tools) {
                (TurnContent::Text { text, .. }, Some(_)) if index > 0 => messages
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
        match self.tools {
            None => json!({"role": "assistant", "content": reply}),
            Some(declared) => {
                let name = tool_name((index as u32).checked_rem(declared).unwrap_or_default());
                json!({"role": "assistant", "content": reply, "tool_calls": [{
                    "id": call_id(index),
                    "type": "function",
                    "function": {"name": name, "arguments": "{\"query\": \"\"}"},
                }]})
            }
        }
    }
}

impl TurnContent {
    /// What is sent of it where there are no messages.
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

/// A conversation as plain text.
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

/// The text of a message, whose content may be a list of parts.
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
