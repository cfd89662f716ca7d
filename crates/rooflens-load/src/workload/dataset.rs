//! Sessions of a file's samples.

use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::error::OpenWorkloadError;
use super::facts::{LengthFacts, WorkloadFacts};
use super::kit::Kit;
use super::samples::{Exchange, Sample, SampleKind, read};
use super::script::{Script, ScriptTurn, TurnContent, session};
use super::spec::PromptSource;
use super::synthetic::Opened;
use crate::plan::{Api, LoadSession, SessionShape, SessionSource};

struct FileSessions {
    kit: Kit,
    samples: Vec<Sample>,
    repeat: bool,
    next: u64,
}

/// A turn and the reply that the file has for it.
type TurnAndReply = (TurnContent, Option<String>);

pub(super) fn open(kit: Kit) -> Result<Opened, OpenWorkloadError> {
    let PromptSource::File { path, format, limit, shuffle, repeat } = kit.spec.prompts.clone() else {
        return Err(OpenWorkloadError::spec("prompts are not from a file"));
    };
    let mut samples = read(&path, format, limit)?;
    if let Some(sample) = samples.list.iter().find(|sample| !fits(&sample.kind, kit.spec.api)) {
        let problem = format!("sample {} cannot be sent to {}", sample.id, kit.spec.api.path());
        return Err(OpenWorkloadError::File { path, problem });
    }
    if shuffle {
        samples.list.shuffle(&mut ChaCha8Rng::seed_from_u64(kit.spec.seed));
    }
    let facts = WorkloadFacts {
        sessions: (!repeat).then_some(samples.list.len() as u64),
        output_tokens: kit.spec.output_tokens.as_ref().map(LengthFacts::of_spec),
        prompt_tokens_unknown: kit.prompt_tokens_unknown(),
        skipped: samples.skipped,
        ..WorkloadFacts::default()
    };
    Ok((Box::new(FileSessions { kit, samples: samples.list, repeat, next: 0 }), facts))
}

/// Whether an endpoint takes such a sample.
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
        let number = self.advance()?;
        self.session(number)
    }

    fn skip(&mut self) -> Option<SessionShape> {
        let number = self.advance()?;
        let sample = self.sample(number)?;
        let mut rng = self.kit.rng(number);
        if sample.lora.is_none() {
            self.kit.model_of(number, &mut rng);
        }
        let most = self.kit.turns_of(&mut rng) as usize;
        let turns = match &sample.kind {
            SampleKind::ShareGpt(exchanges) => exchanges.len().min(most),
            SampleKind::Chat(exchanges) if self.kit.spec.conversation.is_some() => exchanges.len().min(most),
            SampleKind::Chat(_) | SampleKind::Single(_) => 1,
        };
        Some(SessionShape { turns, arrival: None })
    }
}

impl FileSessions {
    fn advance(&mut self) -> Option<u64> {
        let number = self.next;
        self.next += 1;
        (self.repeat || number < self.samples.len() as u64).then_some(number)
    }

    fn sample(&self, number: u64) -> Option<&Sample> {
        self.samples.get(number.checked_rem(self.samples.len() as u64)? as usize)
    }

    fn session(&self, number: u64) -> Option<LoadSession> {
        let sample = self.sample(number)?;
        let mut rng = self.kit.rng(number);
        let (lora, model) = match &sample.lora {
            Some(lora) => (Some(Arc::clone(lora)), Arc::clone(lora)),
            None => self.kit.model_of(number, &mut rng),
        };
        let count = self.kit.turns_of(&mut rng) as usize;
        let mut contents = self.contents(sample, count);
        if let Some((TurnContent::Text { images, .. }, _)) = contents.first_mut()
            && images.is_empty()
        {
            *images = self.kit.images_of(number, &mut rng);
        }
        let turns = contents.into_iter().enumerate();
        let turns = turns.map(|(turn, content)| self.turn(turn, content, sample, &mut rng)).collect();
        let script = Script {
            id: self.kit.spec.conversation.as_ref().map(|_| Arc::from(format!("session-{number}"))),
            sample: Some(Arc::clone(&sample.id)),
            arrival: None,
            model,
            lora,
            turns,
            tools: None,
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
            (TurnContent::Text { text, .. }, Some(counter)) if self.kit.spec.body.token_ids => {
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
        let delay = conversation.map_or(Duration::ZERO, |conversation| conversation.think.draw(rng));
        let counter = self.kit.counter.as_ref();
        let reply_tokens = || counter.zip(reply.as_deref()).and_then(|(counter, reply)| counter.count(reply));
        let max_output_tokens = match &self.kit.spec.output_tokens {
            Some(output) => Some(output.draw(rng)),
            None if self.kit.spec.api.is_streamed() => {
                sample.output_tokens.or_else(reply_tokens).filter(|tokens| *tokens > 0)
            }
            None => None,
        };
        let is_known = turn == 0 && self.kit.prompt_tokens_unknown().is_none();
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
