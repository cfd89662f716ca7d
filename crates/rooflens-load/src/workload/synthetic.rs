//! Sessions of random words.

use std::time::Duration;

use rand_chacha::ChaCha8Rng;

use super::error::OpenWorkloadError;
use super::kit::{Kit, OpenWorkload, check_length};
use super::length::LengthSpec;
use super::prompts::{PromptMaker, Purpose};
use super::script::{Script, ScriptTurn, TurnContent, session};
use super::spec::SharedPrefixSpec;
use crate::plan::{Api, LoadSession, SessionShape, SessionSource};

const DOCUMENTS: u32 = 8;

struct Synthetic {
    kit: Kit,
    maker: PromptMaker,
    input_tokens: LengthSpec,
    prefix: Option<SharedPrefixSpec>,
    next: u64,
}

pub(super) fn open(
    kit: Kit,
    input_tokens: LengthSpec,
    prefix: Option<SharedPrefixSpec>,
) -> Result<OpenWorkload, OpenWorkloadError> {
    check_length("input_tokens", &input_tokens)?;
    if kit.spec.api.is_streamed() && kit.spec.output_tokens.is_none() {
        return Err("synthetic prompts need output_tokens".to_owned().into());
    }
    let prefix_tokens = prefix.map_or(0, |prefix| prefix.tokens);
    if prefix.is_some() {
        check_length("tokens of shared prefixes", &LengthSpec::Fixed(prefix_tokens))?;
    }
    let maker = PromptMaker::new(kit.spec.seed, kit.counter.clone())?;
    let longest = input_tokens.limits().1.saturating_add(prefix_tokens);
    let shortest = if kit.spec.api == Api::Completions { maker.shortest_prompt() } else { 1 };
    if maker.is_exact() && !kit.spec.token_ids && longest < shortest {
        let problem = format!("with this tokenizer a prompt has at least {shortest} tokens, not {longest}");
        return Err(problem.into());
    }
    let about = if maker.is_exact() { "" } else { "about " };
    let prompts = format!("synthetic prompts of {about}{input_tokens} tokens");
    let (tokens, description) = (kit.counter.clone(), kit.spec.description(prompts));
    let source = Box::new(Synthetic { kit, maker, input_tokens, prefix, next: 0 });
    Ok(OpenWorkload { source, tokens, description, arrival_span_s: None })
}

impl SessionSource for Synthetic {
    fn next(&mut self) -> Option<LoadSession> {
        self.next += 1;
        Some(self.session(self.next - 1))
    }

    fn skip(&mut self) -> Option<SessionShape> {
        self.next += 1;
        Some(SessionShape { turns: self.kit.turns() as usize, arrival: None })
    }
}

impl Synthetic {
    fn session(&self, number: u64) -> LoadSession {
        let mut rng = self.kit.rng(number);
        let (lora, model) = self.kit.model_of(number);
        let conversation = self.kit.spec.conversation.as_ref();
        let script = Script {
            id: self.kit.session_id(number),
            sample: None,
            arrival: None,
            model,
            lora,
            turns: (0..self.kit.turns()).map(|turn| self.turn(number, turn, &mut rng)).collect(),
            is_agent: conversation.is_some_and(|conversation| conversation.tool_tokens.is_some()),
        };
        session(&self.kit.writer, script)
    }

    fn turn(&self, number: u64, turn: u32, rng: &mut ChaCha8Rng) -> ScriptTurn {
        let conversation = self.kit.spec.conversation.as_ref().filter(|_| turn > 0);
        let later = conversation.and_then(|conversation| conversation.tool_tokens.as_ref());
        let tokens = later.unwrap_or(&self.input_tokens).draw(rng);
        let max_output_tokens = self.kit.spec.output_tokens.as_ref().map(|output| output.draw(rng));
        let (content, prompt_tokens) = self.content(number, turn, tokens, rng);
        let is_known = turn == 0 && self.kit.knows_prompt_tokens();
        ScriptTurn {
            content,
            prompt_tokens: prompt_tokens.filter(|_| is_known),
            max_output_tokens,
            delay: conversation.map_or(Duration::ZERO, |conversation| conversation.think),
        }
    }

    fn content(
        &self,
        session: u64,
        turn: u32,
        tokens: u32,
        rng: &mut ChaCha8Rng,
    ) -> (TurnContent, Option<u32>) {
        let own = self.maker.sequence(Purpose::Own { session, turn });
        let api = self.kit.spec.api;
        if api == Api::Rerank {
            return self.rerank(session, tokens);
        }
        let with_special = turn == 0 && matches!(api, Api::Completions | Api::Embeddings);
        let prefix = self.prefix.filter(|_| turn == 0);
        let total = tokens.saturating_add(prefix.map_or(0, |prefix| prefix.tokens));
        let shared = prefix.and_then(|prefix| Some((prefix, shared_group(session, prefix)?)));
        let shared = shared
            .map(|(prefix, group)| self.maker.prefix(Purpose::Shared { group }, prefix.tokens, with_special));
        let words = shared.into_iter().flatten().chain(own);
        if self.kit.spec.token_ids {
            let ids = self.maker.ids(words, total);
            let count = ids.len() as u32;
            return (TurnContent::Ids(ids), Some(count));
        }
        let sized = self.maker.text(words, total, with_special);
        let images = if turn == 0 { self.kit.images_of(rng) } else { Vec::new() };
        (TurnContent::Text { text: sized.text, images }, sized.tokens)
    }

    fn rerank(&self, session: u64, tokens: u32) -> (TurnContent, Option<u32>) {
        let text = |turn: u32| {
            self.maker.text(self.maker.sequence(Purpose::Own { session, turn }), tokens, false).text
        };
        let documents = (1..=DOCUMENTS).map(text).collect();
        (TurnContent::Documents { query: text(0), documents }, None)
    }
}

/// The prefix that a session shares: exactly `hit_rate` of the sessions have one, and the groups take turns.
fn shared_group(session: u64, prefix: SharedPrefixSpec) -> Option<u32> {
    let hits_before = |session: u64| (session as f64 * prefix.hit_rate).floor() as u64;
    let hits = hits_before(session);
    (hits_before(session + 1) > hits)
        .then(|| hits.checked_rem(prefix.groups.into()).unwrap_or_default() as u32)
}
