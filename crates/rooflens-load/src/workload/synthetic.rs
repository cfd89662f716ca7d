//! Sessions of random words.

use std::sync::Arc;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;

use super::error::OpenWorkloadError;
use super::facts::{LengthFacts, WorkloadFacts};
use super::kit::{Kit, check_length};
use super::length::LengthSpec;
use super::prompts::{PromptMaker, Purpose};
use super::script::{Script, ScriptTurn, TurnContent, session};
use super::spec::{PromptSource, SharedPrefixSpec};
use crate::plan::{Api, LoadSession, SessionShape, SessionSource};

struct Synthetic {
    kit: Kit,
    maker: PromptMaker,
    input_tokens: LengthSpec,
    prefix: Option<SharedPrefixSpec>,
    sessions: Option<u64>,
    next: u64,
}

/// Sources of sessions with what is known about them.
pub(super) type Opened = (Box<dyn SessionSource>, WorkloadFacts);

pub(super) fn open(kit: Kit) -> Result<Opened, OpenWorkloadError> {
    let PromptSource::Synthetic { input_tokens, shared_prefix, sessions } = kit.spec.prompts.clone() else {
        return Err(OpenWorkloadError::spec("prompts are not synthetic"));
    };
    check_length("input_tokens", &input_tokens).map_err(OpenWorkloadError::Spec)?;
    if kit.spec.api.is_streamed() && kit.spec.output_tokens.is_none() {
        return Err(OpenWorkloadError::spec("synthetic prompts need output_tokens"));
    }
    let prefix_tokens = shared_prefix.map_or(0, |prefix| prefix.tokens);
    check_prefix(shared_prefix).map_err(OpenWorkloadError::Spec)?;
    let maker = PromptMaker::new(kit.spec.seed, kit.counter.clone())?;
    let longest = input_tokens.limits().1.saturating_add(prefix_tokens);
    let shortest = if kit.spec.api == Api::Completions { maker.shortest_prompt() } else { 1 };
    if maker.is_exact() && !kit.spec.body.token_ids && longest < shortest {
        let problem = format!("with this tokenizer a prompt has at least {shortest} tokens, not {longest}");
        return Err(OpenWorkloadError::Spec(problem));
    }
    let facts = WorkloadFacts {
        sessions,
        input_tokens: maker.counter().map(|_| LengthFacts::of_spec(&input_tokens).plus(prefix_tokens)),
        output_tokens: kit.spec.output_tokens.as_ref().map(LengthFacts::of_spec),
        exact_input_tokens: maker.is_exact(),
        prompt_tokens_unknown: kit.prompt_tokens_unknown(),
        unique_prompts: shared_prefix.is_none_or(|prefix| prefix.hit_rate == 0.0),
        ..WorkloadFacts::default()
    };
    let source = Synthetic { kit, maker, input_tokens, prefix: shared_prefix, sessions, next: 0 };
    Ok((Box::new(source), facts))
}

fn check_prefix(prefix: Option<SharedPrefixSpec>) -> Result<(), String> {
    match prefix {
        Some(prefix) if !(0.0..=1.0).contains(&prefix.hit_rate) => {
            Err("the hit rate of shared prefixes should be between 0 and 1".to_owned())
        }
        Some(prefix) if prefix.groups == 0 => Err("there should be at least 1 shared prefix".to_owned()),
        Some(prefix) => check_length("tokens of shared prefixes", &LengthSpec::Fixed(prefix.tokens)),
        None => Ok(()),
    }
}

impl SessionSource for Synthetic {
    fn next(&mut self) -> Option<LoadSession> {
        let number = self.advance()?;
        Some(self.session(number))
    }

    fn skip(&mut self) -> Option<SessionShape> {
        let number = self.advance()?;
        let mut rng = self.kit.rng(number);
        self.kit.model_of(number, &mut rng);
        Some(SessionShape { turns: self.kit.turns_of(&mut rng) as usize, arrival: None })
    }
}

impl Synthetic {
    fn advance(&mut self) -> Option<u64> {
        let number = self.next;
        self.next += 1;
        self.sessions.is_none_or(|sessions| number < sessions).then_some(number)
    }

    fn session(&self, number: u64) -> LoadSession {
        let mut rng = self.kit.rng(number);
        let (lora, model) = self.kit.model_of(number, &mut rng);
        let count = self.kit.turns_of(&mut rng);
        let turns: Vec<ScriptTurn> = (0..count).map(|turn| self.turn(number, turn, &mut rng)).collect();
        let script = Script {
            id: self.kit.spec.conversation.as_ref().map(|_| Arc::from(format!("session-{number}"))),
            sample: None,
            arrival: None,
            model,
            lora,
            turns,
            tools: self
                .kit
                .spec
                .conversation
                .as_ref()
                .and_then(|conversation| conversation.tools.as_ref())
                .map(|tools| tools.declared),
        };
        session(&self.kit.writer, script)
    }

    fn turn(&self, number: u64, turn: u32, rng: &mut ChaCha8Rng) -> ScriptTurn {
        let conversation = self.kit.spec.conversation.as_ref();
        let later = conversation.and_then(|conversation| conversation.turn_tokens.as_ref());
        let lengths = later.filter(|_| turn > 0).unwrap_or(&self.input_tokens);
        let tokens = lengths.draw(rng);
        let max_output_tokens = self.kit.spec.output_tokens.as_ref().map(|output| output.draw(rng));
        let think = conversation.filter(|_| turn > 0).map(|conversation| conversation.think.draw(rng));
        let (content, prompt_tokens) = self.content(number, turn, tokens, rng);
        let is_known = turn == 0 && self.kit.prompt_tokens_unknown().is_none();
        ScriptTurn {
            content,
            prompt_tokens: prompt_tokens.filter(|_| is_known),
            max_output_tokens,
            delay: think.unwrap_or(Duration::ZERO),
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
        if self.kit.spec.body.token_ids {
            let ids = self.maker.ids(words, total);
            let count = ids.len() as u32;
            return (TurnContent::Ids(ids), Some(count));
        }
        let sized = self.maker.text(words, total, with_special);
        let images = if turn == 0 { self.kit.images_of(session, rng) } else { Vec::new() };
        (TurnContent::Text { text: sized.text, images }, sized.tokens)
    }

    /// A query and documents; how a server joins them into prompts is its own matter, so nobody knows their tokens.
    fn rerank(&self, session: u64, tokens: u32) -> (TurnContent, Option<u32>) {
        let text = |turn: u32| {
            self.maker.text(self.maker.sequence(Purpose::Own { session, turn }), tokens, false).text
        };
        let documents = (1..=self.kit.spec.body.documents).map(text).collect();
        (TurnContent::Documents { query: text(0), documents }, None)
    }
}

/// The prefix that a session shares: exactly `hit_rate` of the sessions have one, and the groups take turns.
fn shared_group(session: u64, prefix: SharedPrefixSpec) -> Option<u32> {
    let hits_before = |session: u64| (session as f64 * prefix.hit_rate).floor() as u64;
    let hits = hits_before(session);
    (hits_before(session + 1) > hits).then(|| (hits % u64::from(prefix.groups)) as u32)
}
