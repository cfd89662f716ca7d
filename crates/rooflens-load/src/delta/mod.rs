//! What the events of a streamed answer bring: output, token counts, why it ended.

mod fast;
mod wire;

use std::borrow::Cow;

use fast::Template;
use wire::{OutputItem, Scalar, WireChoice, WireEvent, WireFunction, WireMessage, WireUsage};

use crate::record::{Chunk, ChunkKind, Usage};
use crate::sse::SseEvent;

/// An answer, read event by event.
#[derive(Debug, Default)]
pub struct StreamedAnswer {
    /// Parts with output, in the order of arrival.
    pub chunks: Vec<Chunk>,
    /// What the server counted, by the last event that says so.
    pub usage: Option<Usage>,
    /// Why the output ended.
    pub finish: Option<Box<str>>,
    /// The server's id of the request.
    pub id: Option<Box<str>>,
    /// The message of the first error event.
    pub error: Option<String>,
    /// All output as text: answer, reasoning and tool calls as they came.
    pub text: String,
    /// Text of the answer alone; `None` where no later turn needs it.
    pub reply: Option<String>,
    /// `[DONE]`, or the last event of `/v1/responses`, was seen.
    pub is_done: bool,
    has_final_usage: bool,
    counting: Counting,
    template: Template,
    slow_only: bool,
}

/// An event is no JSON of the expected form.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event cannot be read: {message}: {start}")]
pub struct UnreadableEvent {
    message: String,
    start: String,
}

#[derive(Debug, Default)]
struct Counting {
    /// Tokens of events without text, which the next text completes.
    pending_ids: u32,
    /// A chunk came without a count of output so far: the counts are not cumulative.
    is_interrupted: bool,
    cumulative: Vec<u64>,
}

#[derive(Default)]
struct Pieces<'e, 'a> {
    text: bool,
    reasoning: bool,
    tool_call: bool,
    single: Option<&'e Cow<'a, str>>,
    count: u32,
}

impl Pieces<'_, '_> {
    fn kind(&self) -> Option<ChunkKind> {
        match (self.text, self.tool_call, self.reasoning) {
            (true, _, _) => Some(ChunkKind::Text),
            (_, true, _) => Some(ChunkKind::ToolCall),
            (_, _, true) => Some(ChunkKind::Reasoning),
            _ => None,
        }
    }
}

impl StreamedAnswer {
    pub(crate) fn with_capacity(chunks: usize) -> Self {
        StreamedAnswer { chunks: Vec::with_capacity(chunks), ..StreamedAnswer::default() }
    }

    /// Parses every event in full: the reference that the shortcut is tested against.
    pub fn without_shortcut() -> Self {
        StreamedAnswer { slow_only: true, ..StreamedAnswer::default() }
    }

    /// Whether the server said that this is the end.
    pub fn is_complete(&self) -> bool {
        self.is_done || self.finish.is_some() || self.has_final_usage
    }

    /// Takes an event that arrived at `ts_ns`.
    pub fn event(&mut self, event: SseEvent<'_>, ts_ns: i64) -> Result<(), UnreadableEvent> {
        if event.name.is_empty()
            && let Some(kind) = self.template.matching(event.data, &mut self.text, &mut self.reply)
        {
            if let Some(kind) = kind {
                self.counting.is_interrupted = true;
                self.chunks.push(Chunk { ts_ns, tokens: 0, kind });
            }
            return Ok(());
        }
        let data = event.data.trim_ascii();
        if data == b"[DONE]" {
            self.is_done = true;
            return Ok(());
        }
        if data.is_empty() {
            return Ok(());
        }
        let parsed = serde_json::from_slice::<WireEvent<'_>>(event.data);
        match parsed {
            Ok(parsed) => self.parsed(&parsed, event, ts_ns),
            Err(_) if event.name == b"error" => self.fail(&String::from_utf8_lossy(data)),
            Err(error) => return Err(unreadable(&error, data)),
        }
        Ok(())
    }

    /// Takes a whole answer that is no stream, and arrived at `ts_ns`.
    pub fn whole(&mut self, body: &[u8], ts_ns: i64) -> Result<(), UnreadableEvent> {
        let parsed: WireEvent<'_> = serde_json::from_slice(body).map_err(|error| unreadable(&error, body))?;
        self.head(&parsed);
        if let Some(message) = error_message(&parsed, b"") {
            self.fail(&message);
            return Ok(());
        }
        let mut pieces = Pieces::default();
        for choice in parsed.choices.iter().flatten() {
            self.choice(choice, &mut pieces);
        }
        for item in parsed.output.iter().flatten() {
            self.output_item(item, &mut pieces);
        }
        if let (None, Some(status)) = (&self.finish, parsed.status.text()) {
            self.finish = Some(status.as_ref().into());
        }
        self.usage = parsed.usage.as_ref().map(usage).or(self.usage);
        self.is_done = true;
        if let Some(kind) = pieces.kind() {
            let tokens = self.usage.and_then(|usage| usage.output).unwrap_or(0);
            self.chunks.push(Chunk { ts_ns, tokens: u32::try_from(tokens).unwrap_or(0), kind });
        }
        Ok(())
    }

    fn parsed(&mut self, parsed: &WireEvent<'_>, event: SseEvent<'_>, ts_ns: i64) {
        self.head(parsed);
        if let Some(message) = error_message(parsed, event.name) {
            self.fail(&message);
            return;
        }
        let mut pieces = Pieces::default();
        let mut is_plain = parsed.usage.is_none();
        let mut ids = None;
        for choice in parsed.choices.iter().flatten() {
            self.choice(choice, &mut pieces);
            is_plain &= choice.finish_reason.text().is_none() && choice.token_ids.0.is_none();
            ids = choice.token_ids.0.map(|count| ids.unwrap_or(0u32).saturating_add(count)).or(ids);
        }
        let is_choice = parsed.choices.as_ref().is_some_and(|choices| !choices.is_empty());
        if !is_choice {
            self.response_event(parsed, &mut pieces);
        }
        if let Some(wire) = &parsed.usage {
            self.usage = Some(usage(wire));
            self.has_final_usage |= !is_choice;
        }
        let Some(kind) = pieces.kind() else {
            self.counting.pending_ids = self.counting.pending_ids.saturating_add(ids.unwrap_or(0));
            return;
        };
        let tokens = self.counting.tokens(ids, parsed);
        self.chunks.push(Chunk { ts_ns, tokens, kind });
        let is_single = pieces.count == 1 && is_plain && is_choice && event.name.is_empty();
        if let (true, false, Some(Cow::Borrowed(piece))) = (is_single, self.slow_only, pieces.single) {
            self.template.learn(event.data, piece, kind);
        }
    }

    fn head(&mut self, parsed: &WireEvent<'_>) {
        if self.id.is_none() {
            self.id = parsed.id.text().map(|id| id.as_ref().into());
        }
    }

    fn choice<'e, 'a>(&mut self, choice: &'e WireChoice<'a>, pieces: &mut Pieces<'e, 'a>) {
        if let Some(finish) = choice.finish_reason.text() {
            self.finish = Some(finish.as_ref().into());
        }
        self.piece(&choice.text, ChunkKind::Text, pieces);
        for message in choice.delta.iter().chain(&choice.message) {
            self.message(message, pieces);
        }
    }

    fn message<'e, 'a>(&mut self, message: &'e WireMessage<'a>, pieces: &mut Pieces<'e, 'a>) {
        let old = message.reasoning_content.text().is_some();
        let reasoning = if old { &message.reasoning_content } else { &message.reasoning };
        self.piece(reasoning, ChunkKind::Reasoning, pieces);
        // The same text under both names: the shortcut must not see one of them change alone.
        if old && message.reasoning.text().is_some() {
            pieces.count += 1;
        }
        self.piece(&message.content, ChunkKind::Text, pieces);
        self.piece(&message.refusal, ChunkKind::Text, pieces);
        let calls = message.tool_calls.iter().flatten().filter_map(|call| call.function.as_ref());
        for function in calls.chain(&message.function_call) {
            self.function(function, pieces);
        }
    }

    fn function<'e, 'a>(&mut self, function: &'e WireFunction<'a>, pieces: &mut Pieces<'e, 'a>) {
        self.piece(&function.name, ChunkKind::ToolCall, pieces);
        self.piece(&function.arguments, ChunkKind::ToolCall, pieces);
    }

    fn piece<'e, 'a>(&mut self, value: &'e Scalar<'a>, kind: ChunkKind, pieces: &mut Pieces<'e, 'a>) {
        let Some(text) = value.text() else { return };
        pieces.count += 1;
        pieces.single = Some(text);
        match kind {
            ChunkKind::Text => pieces.text = true,
            ChunkKind::Reasoning => pieces.reasoning = true,
            ChunkKind::ToolCall => pieces.tool_call = true,
        }
        self.text.push_str(text);
        if let (ChunkKind::Text, Some(reply)) = (kind, &mut self.reply) {
            reply.push_str(text);
        }
    }

    fn response_event<'e, 'a>(&mut self, parsed: &'e WireEvent<'a>, pieces: &mut Pieces<'e, 'a>) {
        let Some(kind) = parsed.kind.text() else { return };
        match kind.as_ref() {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.piece(&parsed.delta, ChunkKind::Text, pieces);
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                self.piece(&parsed.delta, ChunkKind::Reasoning, pieces);
            }
            "response.function_call_arguments.delta" => {
                self.piece(&parsed.delta, ChunkKind::ToolCall, pieces);
            }
            "response.completed" | "response.incomplete" => self.is_done = true,
            _ => {}
        }
        let Some(response) = &parsed.response else { return };
        if let (None, Some(id)) = (&self.id, response.id.text()) {
            self.id = Some(id.as_ref().into());
        }
        if self.is_done {
            self.usage = response.usage.as_ref().map(usage).or(self.usage);
            let reason = response.incomplete_details.as_ref().and_then(|details| details.reason.text());
            self.finish = reason.or(response.status.text()).map(|word| word.as_ref().into());
        }
    }

    fn output_item<'e, 'a>(&mut self, item: &'e OutputItem<'a>, pieces: &mut Pieces<'e, 'a>) {
        let kind = if item.kind.is("reasoning") { ChunkKind::Reasoning } else { ChunkKind::Text };
        for content in item.content.iter().flatten() {
            self.piece(&content.text, kind, pieces);
        }
        self.piece(&item.arguments, ChunkKind::ToolCall, pieces);
    }

    fn fail(&mut self, message: &str) {
        if self.error.is_none() {
            self.error = Some(message.to_owned());
        }
    }
}

impl Counting {
    fn take_pending(&mut self) -> u32 {
        std::mem::take(&mut self.pending_ids)
    }

    /// Tokens of an event with output: ids are counted; else the growth of the cumulative count, if every chunk had one.
    fn tokens(&mut self, ids: Option<u32>, parsed: &WireEvent<'_>) -> u32 {
        let total = parsed.usage.as_ref().and_then(|wire| usage(wire).output);
        let growth = match (total, parsed.choices.as_deref()) {
            (Some(total), Some([choice])) if !self.is_interrupted => self.growth(choice, total),
            _ => {
                self.is_interrupted = true;
                0
            }
        };
        match ids {
            Some(ids) => ids.saturating_add(self.take_pending()),
            None => growth,
        }
    }

    fn growth(&mut self, choice: &WireChoice<'_>, total: u64) -> u32 {
        let index = choice.index.count().unwrap_or(0).min(1023) as usize;
        if self.cumulative.len() <= index {
            self.cumulative.resize(index + 1, 0);
        }
        let before = std::mem::replace(&mut self.cumulative[index], total);
        u32::try_from(total.saturating_sub(before)).unwrap_or(0)
    }
}

fn usage(wire: &WireUsage<'_>) -> Usage {
    let prompt_details = wire.prompt_tokens_details.as_ref().or(wire.input_tokens_details.as_ref());
    let output_details = wire.completion_tokens_details.as_ref().or(wire.output_tokens_details.as_ref());
    Usage {
        prompt: wire.prompt_tokens.count().or(wire.input_tokens.count()),
        output: wire.completion_tokens.count().or(wire.output_tokens.count()),
        cached: prompt_details.and_then(|details| details.cached_tokens.count()),
        reasoning: output_details
            .and_then(|details| details.reasoning_tokens.count())
            .or(wire.reasoning_tokens.count()),
    }
}

fn error_message(parsed: &WireEvent<'_>, name: &[u8]) -> Option<String> {
    let response = parsed.response.as_ref();
    let value = parsed.error.as_ref().or(response.and_then(|response| response.error.as_ref()));
    if let Some(value) = value.filter(|value| !value.is_null()) {
        let message = value.get("message").and_then(serde_json::Value::as_str).or(value.as_str());
        return Some(message.map_or_else(|| value.to_string(), str::to_owned));
    }
    let is_error = name == b"error"
        || parsed.object.is("error")
        || parsed.kind.is("error")
        || parsed.kind.is("response.failed");
    is_error.then(|| parsed.message.text().map_or_else(|| "no message".to_owned(), |text| text.to_string()))
}

fn unreadable(error: &serde_json::Error, data: &[u8]) -> UnreadableEvent {
    let start = &data[..data.len().min(80)];
    UnreadableEvent { message: error.to_string(), start: String::from_utf8_lossy(start).into_owned() }
}

#[cfg(test)]
mod tests;
