//! Events of `/v1/responses`.

use std::fmt::Write as _;

use super::events::{AnswerPlan, TokenRole};

impl AnswerPlan {
    pub(super) fn responses_prologue(&self, out: &mut String) {
        for name in ["response.created", "response.in_progress"] {
            let json = format!(
                r#"{{"type":"{name}","sequence_number":0,"response":{}}}"#,
                self.responses_whole(false)
            );
            self.event(out, Some(name), &json);
        }
    }

    pub(super) fn responses_chunk(&self, out: &mut String, from: u64, upto: u64) {
        if self.options.empty_deltas {
            self.delta(out, TokenRole::Text, from, from);
        }
        for (role, from, upto) in self.runs(from, upto) {
            self.delta(out, role, from, upto);
        }
    }

    fn delta(&self, out: &mut String, role: TokenRole, from: u64, upto: u64) {
        let (name, item) = match role {
            TokenRole::Reasoning => ("response.reasoning_text.delta", "rs"),
            TokenRole::Text => ("response.output_text.delta", "msg"),
            TokenRole::ToolCall => ("response.function_call_arguments.delta", "fc"),
        };
        let text = self.text(from, upto);
        let json = format!(
            r#"{{"type":"{name}","sequence_number":{},"item_id":"{item}-{}","output_index":0,"content_index":0,"delta":"{text}"}}"#,
            from + 2,
            self.number
        );
        self.event(out, Some(name), &json);
    }

    pub(super) fn responses_epilogue(&self, out: &mut String) {
        let name = "response.completed";
        let json = format!(
            r#"{{"type":"{name}","sequence_number":{},"response":{}}}"#,
            self.output_tokens + 2,
            self.responses_whole(true)
        );
        self.event(out, Some(name), &json);
    }

    pub(super) fn responses_whole(&self, complete: bool) -> String {
        let mut json = format!(
            r#"{{"id":"resp-{}","object":"response","created_at":{},"model":"{}","status":"{}","output":["#,
            self.number,
            self.created,
            self.model,
            if complete { "completed" } else { "in_progress" }
        );
        let runs = if complete { self.runs(0, self.output_tokens) } else { Vec::new() };
        for (index, (role, from, upto)) in runs.into_iter().enumerate() {
            json.push_str(if index > 0 { "," } else { "" });
            let (text, number) = (self.text(from, upto), self.number);
            let _ = match role {
                TokenRole::Reasoning => write!(
                    json,
                    r#"{{"type":"reasoning","id":"rs-{number}","summary":[],"content":[{{"type":"reasoning_text","text":"{text}"}}]}}"#
                ),
                TokenRole::Text => write!(
                    json,
                    r#"{{"type":"message","id":"msg-{number}","role":"assistant","status":"completed","content":[{{"type":"output_text","text":"{text}","annotations":[]}}]}}"#
                ),
                TokenRole::ToolCall => write!(
                    json,
                    r#"{{"type":"function_call","id":"fc-{number}","call_id":"call-{number}","name":"find","arguments":"{text}"}}"#
                ),
            };
        }
        let has_usage = complete && self.usage.at_end;
        let usage = if has_usage { self.usage_json(self.output_tokens) } else { "null".to_owned() };
        let _ = write!(json, r#"],"usage":{usage}}}"#);
        json
    }
}
