//! Sessions of a file's samples.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;

use super::error::OpenWorkloadError;
use super::kit::{Kit, OpenWorkload};
use super::samples::{Exchange, Sample, SampleKind, read};
use super::script::{Script, ScriptTurn, TurnContent, session};
use super::spec::FileFormat;
use crate::plan::{Api, LoadSession, SessionShape, SessionSource};

struct FileSessions {
    kit: Kit,
    samples: Vec<Sample>,
    next: u64,
}

type TurnAndReply = (TurnContent, Option<String>);

pub(super) fn open(kit: Kit, path: &Path, format: FileFormat) -> Result<OpenWorkload, OpenWorkloadError> {
    let samples = read(path, format)?;
    if let Some(sample) = samples.iter().find(|sample| !fits(&sample.kind, kit.spec.api)) {
        let api = kit.spec.api.path();
        return Err(format!("{}: sample {} cannot be sent to {api}", path.display(), sample.id).into());
    }
    let prompts = format!("endlessly repeated samples of {}", path.display());
    let (tokens, description) = (kit.counter.clone(), kit.spec.description(prompts));
    let source = Box::new(FileSessions { kit, samples, next: 0 });
    Ok(OpenWorkload { source, tokens, description, arrival_span_s: None })
}

fn fits(kind: &SampleKind, api: Api) -> bool {
    match kind {
        SampleKind::Single(TurnContent::Ids(_)) => api == Api::Completions,
        SampleKind::Single(TurnContent::Documents { .. }) => api == Api::Rerank,
        SampleKind::Single(TurnContent::Text { images, .. }) => {
            api != Api::Rerank && (images.is_empty() || matches!(api, Api::Chat | Api::Responses))
        }
        SampleKind::Single(TurnContent::Messages(_)) | SampleKind::ShareGpt(_) | SampleKind::Chat(_) => {
            api != Api::Rerank
        }
    }
}

impl SessionSource for FileSessions {
    fn next(&mut self) -> Option<LoadSession> {
        self.next += 1;
        self.session(self.next - 1)
    }

    fn skip(&mut self) -> Option<SessionShape> {
        self.next += 1;
        let sample = self.sample(self.next - 1)?;
        let most = self.kit.turns() as usize;
        let turns = match &sample.kind {
            SampleKind::ShareGpt(exchanges) => exchanges.len().min(most),
            SampleKind::Chat(exchanges) if self.kit.spec.conversation.is_some() => exchanges.len().min(most),
            SampleKind::Chat(_) | SampleKind::Single(_) => 1,
        };
        Some(SessionShape { turns, arrival: None })
    }
}

impl FileSessions {
    fn sample(&self, number: u64) -> Option<&Sample> {
        self.samples.get(number.checked_rem(self.samples.len() as u64)? as usize)
    }

    fn session(&self, number: u64) -> Option<LoadSession> {
        let sample = self.sample(number)?;
        let mut rng = self.kit.rng(number);
        let (lora, model) = match &sample.lora {
            Some(lora) => (Some(Arc::clone(lora)), Arc::clone(lora)),
            None => self.kit.model_of(number),
        };
        let mut contents = self.contents(sample, self.kit.turns() as usize);
        if let Some((TurnContent::Text { images, .. }, _)) = contents.first_mut()
            && images.is_empty()
        {
            *images = self.kit.images_of(&mut rng);
        }
        let turns = contents.into_iter().enumerate();
        let turns = turns.map(|(turn, content)| self.turn(turn, content, sample, &mut rng)).collect();
        let script = Script {
            id: self.kit.session_id(number),
            sample: Some(Arc::clone(&sample.id)),
            arrival: None,
            model,
            lora,
            turns,
            is_agent: false,
        };
        Some(session(&self.kit.writer, script))
    }

    /// What is said in each turn. Without conversations, ShareGPT gives its first message, a chat all until its last.
    fn contents(&self, sample: &Sample, count: usize) -> Vec<TurnAndReply> {
        let is_conversation = self.kit.spec.conversation.is_some();
        match &sample.kind {
            SampleKind::Single(content) => vec![(self.as_ids(content.clone()), None)],
            SampleKind::ShareGpt(exchanges) => exchanges.iter().take(count).map(turn_and_reply).collect(),
            SampleKind::Chat(exchanges) if is_conversation => {
                exchanges.iter().take(count).map(turn_and_reply).collect()
            }
            SampleKind::Chat(exchanges) => vec![all_until_last(exchanges)],
        }
    }

    fn as_ids(&self, content: TurnContent) -> TurnContent {
        match (&content, &self.kit.counter) {
            (TurnContent::Text { text, .. }, Some(counter)) if self.kit.spec.token_ids => {
                counter.ids(text, true).map_or(content, TurnContent::Ids)
            }
            _ => content,
        }
    }

    fn turn(
        &self,
        turn: usize,
        (content, reply): TurnAndReply,
        sample: &Sample,
        rng: &mut ChaCha8Rng,
    ) -> ScriptTurn {
        let conversation = self.kit.spec.conversation.as_ref().filter(|_| turn > 0);
        let delay = conversation.map_or(Duration::ZERO, |conversation| conversation.think);
        let counter = self.kit.counter.as_ref();
        let reply_tokens = || counter.zip(reply.as_deref()).and_then(|(counter, reply)| counter.count(reply));
        let max_output_tokens = match &self.kit.spec.output_tokens {
            Some(output) => Some(output.draw(rng)),
            None if self.kit.spec.api.is_streamed() => {
                sample.output_tokens.or_else(reply_tokens).filter(|tokens| *tokens > 0)
            }
            None => None,
        };
        let is_known = turn == 0 && self.kit.knows_prompt_tokens();
        let prompt_tokens = match &content {
            _ if !is_known => None,
            TurnContent::Ids(ids) => u32::try_from(ids.len()).ok(),
            content => counter.and_then(|counter| counter.count_prompt(&content.plain_text())),
        };
        ScriptTurn { content, prompt_tokens, max_output_tokens, delay }
    }
}

fn turn_and_reply(exchange: &Exchange) -> TurnAndReply {
    // A single message of plain text can take images.
    let content = match exchange.messages.as_slice() {
        [message] if message["role"] == "user" && message["content"].is_string() => {
            let text = message["content"].as_str().unwrap_or_default().to_owned();
            TurnContent::Text { text, images: Vec::new() }
        }
        messages => TurnContent::Messages(messages.to_vec()),
    };
    (content, exchange.reply_text())
}

fn all_until_last(exchanges: &[Exchange]) -> TurnAndReply {
    let Some((last, before)) = exchanges.split_last() else {
        return (TurnContent::Messages(Vec::new()), None);
    };
    if before.is_empty() {
        return turn_and_reply(last);
    }
    let before = before.iter().flat_map(|exchange| exchange.messages.iter().chain(&exchange.reply));
    let messages = before.chain(&last.messages).cloned().collect();
    (TurnContent::Messages(messages), last.reply_text())
}
