//! The events of an answer as text: OpenAI's words, with vLLM's additions.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::options::MockOptions;

const PLAIN: [&str; 16] = [
    " ba", " ko", " ri", " tu", " se", " no", " mi", " la", " vo", " pe", " du", " fi", " ga", " hu", " je",
    " za",
];
const WIDE: [&str; 8] = [" né", " 🚀a", " ñu", " 漢字", " ça", " 👩‍🔬", " ö", " я"];

fn word(number: u64, wide: bool) -> &'static str {
    let words: &[&'static str] = if wide { &WIDE } else { &PLAIN };
    words[(number % words.len() as u64) as usize]
}

fn token_id(number: u64, wide: bool) -> u64 {
    if wide { 2000 + number % WIDE.len() as u64 } else { 1000 + number % PLAIN.len() as u64 }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerApi {
    Completions,
    Chat,
    Responses,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct UsageWish {
    pub(crate) at_end: bool,
    pub(crate) in_each: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct AnswerPlan {
    pub(crate) api: AnswerApi,
    pub(crate) number: u64,
    pub(crate) model: String,
    pub(crate) created: i64,
    pub(crate) prompt_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) usage: UsageWish,
    pub(crate) token_ids: bool,
    pub(crate) options: Arc<MockOptions>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenRole {
    Reasoning,
    Text,
    ToolCall,
}

impl AnswerPlan {
    pub(super) fn role(&self, number: u64) -> TokenRole {
        if self.api == AnswerApi::Completions {
            TokenRole::Text
        } else if number < self.options.reasoning {
            TokenRole::Reasoning
        } else if number + self.options.tool_call >= self.output_tokens {
            TokenRole::ToolCall
        } else {
            TokenRole::Text
        }
    }

    pub(crate) fn reasoning_upto(&self, count: u64) -> u64 {
        if self.api == AnswerApi::Completions {
            0
        } else {
            count.min(self.options.reasoning).min(self.output_tokens)
        }
    }

    pub(super) fn text(&self, from: u64, upto: u64) -> String {
        (from..upto).map(|number| word(number, self.options.split_utf8)).collect()
    }

    pub(super) fn runs(&self, from: u64, upto: u64) -> Vec<(TokenRole, u64, u64)> {
        let mut runs: Vec<(TokenRole, u64, u64)> = Vec::new();
        for number in from..upto {
            let role = self.role(number);
            match runs.last_mut() {
                Some(last) if last.0 == role => last.2 = number + 1,
                _ => runs.push((role, number, number + 1)),
            }
        }
        runs
    }

    pub(super) fn event(&self, out: &mut String, name: Option<&str>, data: &str) {
        let end = if self.options.crlf { "\r\n" } else { "\n" };
        if self.options.comments {
            let _ = write!(out, ": ping{end}{end}");
        }
        if let Some(name) = name {
            let _ = write!(out, "event: {name}{end}");
        }
        let _ = write!(out, "data: {data}{end}{end}");
    }

    pub(crate) fn prologue(&self) -> String {
        let mut out = String::new();
        match self.api {
            AnswerApi::Completions => {}
            AnswerApi::Chat => {
                let choice = r#"{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}"#;
                self.event(&mut out, None, &self.chunk_json(choice, 0));
            }
            AnswerApi::Responses => self.responses_prologue(&mut out),
        }
        out
    }

    pub(crate) fn chunk(&self, from: u64, upto: u64) -> String {
        let mut out = String::with_capacity(320);
        if self.api == AnswerApi::Responses {
            self.responses_chunk(&mut out, from, upto);
            return out;
        }
        if self.options.empty_deltas {
            let delta = if self.api == AnswerApi::Chat { r#""delta":{}"# } else { r#""text":"""# };
            let choice = format!(r#"{{"index":0,{delta},"logprobs":null,"finish_reason":null}}"#);
            self.event(&mut out, None, &self.chunk_json(&choice, from));
        }
        for (role, from, upto) in self.runs(from, upto) {
            self.event(&mut out, None, &self.chunk_json(&self.choice(role, from, upto), upto));
        }
        out
    }

    fn choice(&self, role: TokenRole, from: u64, upto: u64) -> String {
        let mut choice = String::with_capacity(160);
        let text = self.text(from, upto);
        let _ = match (self.api, role) {
            (AnswerApi::Completions, _) => write!(choice, r#"{{"index":0,"text":"{text}""#),
            (_, TokenRole::Reasoning) => {
                write!(choice, r#"{{"index":0,"delta":{{"reasoning_content":"{text}"}}"#)
            }
            (_, TokenRole::Text) => write!(choice, r#"{{"index":0,"delta":{{"content":"{text}"}}"#),
            (_, TokenRole::ToolCall) => write!(
                choice,
                r#"{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"call-{}","type":"function","function":{{"name":"find","arguments":"{text}"}}}}]}}"#,
                self.number
            ),
        };
        let is_last = upto == self.output_tokens;
        let _ = match is_last {
            true => write!(choice, r#","logprobs":null,"finish_reason":"{}""#, self.finish_reason()),
            false => write!(choice, r#","logprobs":null,"finish_reason":null"#),
        };
        if self.token_ids {
            let _ = write!(choice, r#","token_ids":{}"#, self.ids(from, upto));
        }
        choice.push('}');
        choice
    }

    fn ids(&self, from: u64, upto: u64) -> String {
        let ids: Vec<String> =
            (from..upto).map(|number| token_id(number, self.options.split_utf8).to_string()).collect();
        format!("[{}]", ids.join(","))
    }

    fn finish_reason(&self) -> &'static str {
        let has_tools = self.options.tool_call > 0 && self.api != AnswerApi::Completions;
        if has_tools { "tool_calls" } else { "length" }
    }

    fn chunk_json(&self, choice: &str, upto: u64) -> String {
        let mut json = String::with_capacity(160 + choice.len());
        self.head(&mut json, true);
        let _ = write!(json, r#""choices":[{choice}]"#);
        if self.usage.in_each {
            let _ = write!(json, r#","usage":{}"#, self.usage_json(upto));
        }
        json.push('}');
        json
    }

    fn head(&self, json: &mut String, streams: bool) {
        let (prefix, object) = match (self.api, streams) {
            (AnswerApi::Completions, _) => ("cmpl", "text_completion"),
            (_, true) => ("chatcmpl", "chat.completion.chunk"),
            (_, false) => ("chatcmpl", "chat.completion"),
        };
        let _ = write!(
            json,
            r#"{{"id":"{prefix}-{}","object":"{object}","created":{},"model":"{}","#,
            self.number, self.created, self.model
        );
    }

    pub(super) fn usage_json(&self, upto: u64) -> String {
        let (prompt, reasoning) = (self.prompt_tokens, self.reasoning_upto(upto));
        let total = prompt + upto;
        if self.api == AnswerApi::Responses {
            return format!(
                r#"{{"input_tokens":{prompt},"input_tokens_details":{{"cached_tokens":0}},"output_tokens":{upto},"output_tokens_details":{{"reasoning_tokens":{reasoning}}},"total_tokens":{total}}}"#
            );
        }
        format!(
            r#"{{"prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{upto},"completion_tokens_details":{{"reasoning_tokens":{reasoning}}},"prompt_tokens_details":{{"cached_tokens":0}}}}"#
        )
    }

    pub(crate) fn epilogue(&self) -> String {
        let mut out = String::new();
        if self.api == AnswerApi::Responses {
            self.responses_epilogue(&mut out);
            return out;
        }
        if self.usage.at_end {
            let mut json = String::new();
            self.head(&mut json, true);
            let _ = write!(json, r#""choices":[],"usage":{}}}"#, self.usage_json(self.output_tokens));
            self.event(&mut out, None, &json);
        }
        if !self.options.no_done {
            self.event(&mut out, None, "[DONE]");
        }
        out
    }

    pub(crate) fn error_event(&self) -> String {
        let mut out = String::new();
        if self.api == AnswerApi::Responses {
            let json = r#"{"type":"error","code":"server_error","message":"planted error","param":null,"sequence_number":99}"#;
            self.event(&mut out, Some("error"), json);
            return out;
        }
        let json =
            r#"{"error":{"message":"planted error","type":"InternalServerError","param":null,"code":500}}"#;
        self.event(&mut out, None, json);
        if !self.options.no_done {
            self.event(&mut out, None, "[DONE]");
        }
        out
    }

    pub(crate) fn whole(&self) -> String {
        if self.api == AnswerApi::Responses {
            return self.responses_whole(true);
        }
        let mut json = String::new();
        self.head(&mut json, false);
        let finish = self.finish_reason();
        let _ = match self.api {
            AnswerApi::Completions => {
                let text = self.text(0, self.output_tokens);
                write!(
                    json,
                    r#""choices":[{{"index":0,"text":"{text}","logprobs":null,"finish_reason":"{finish}"}}]"#
                )
            }
            _ => {
                let message = self.message();
                write!(
                    json,
                    r#""choices":[{{"index":0,"message":{message},"logprobs":null,"finish_reason":"{finish}"}}]"#
                )
            }
        };
        let _ = write!(json, r#","usage":{}}}"#, self.usage_json(self.output_tokens));
        json
    }

    fn message(&self) -> String {
        let mut message = String::from(r#"{"role":"assistant""#);
        let mut has_content = false;
        for (role, from, upto) in self.runs(0, self.output_tokens) {
            let text = self.text(from, upto);
            let _ = match role {
                TokenRole::Reasoning => write!(message, r#","reasoning_content":"{text}""#),
                TokenRole::Text => {
                    has_content = true;
                    write!(message, r#","content":"{text}""#)
                }
                TokenRole::ToolCall => write!(
                    message,
                    r#","tool_calls":[{{"id":"call-{}","type":"function","function":{{"name":"find","arguments":"{text}"}}}}]"#,
                    self.number
                ),
            };
        }
        message.push_str(if has_content { "}" } else { r#","content":null}"# });
        message
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
