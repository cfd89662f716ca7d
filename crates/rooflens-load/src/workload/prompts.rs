//! Texts of an exact number of tokens, made of words that are one token each.
//!
//! Which words are, is found out once. After that a prompt is a concatenation, and nothing is encoded, so that a
//! prompt of 100,000 tokens costs no more than its bytes.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::error::OpenWorkloadError;
use super::tokens::TokenCounter;

/// Enough that three of them tell billions of prompts apart.
const MOST_WORDS: usize = 2_048;
/// Fewer first words than this would make first words repeat; then those of several tokens are used, too.
const FEW_HEADS: usize = 16;
const TRIAL_SEQUENCES: u64 = 8;
const TRIAL_WORDS: usize = 256;
const MOST_CORRECTIONS: usize = 4;

/// Words for prompts without a tokenizer: so common that a typical BPE vocabulary has each of them, with the space
/// before, as one token.
const COMMON: &str = "time people way day man thing woman life child world school state family student \
group country problem hand part place case week company system program question work government number night point \
home water room mother area money story fact month lot right study book eye job word business issue side kind head \
house service friend father power hour game line end member law car city community name president team minute idea \
body information back parent face others level office door health person art war history party result change morning \
reason research girl guy moment air teacher force education foot boy age policy music market sense nation plan \
college interest death experience effect use class control field development role effort rate heart drug show leader \
light voice wife police mind price report decision son view relationship town road arm difference value building \
action season society tax director position player record paper space ground form event official matter center couple \
site project activity star table need court oil situation cost industry figure street image phone data picture \
practice piece land product doctor wall patient worker news test movie north love step baby computer type attention \
film tree source organization look window evidence population board field key fire future dog hospital wind island \
river summer winter spring stone bridge garden forest mountain village ocean engine signal network memory process \
machine letter number order color metal glass paper cloud stage frame sound track method theory model layer token \
early late large small young old long little great high different important public able good new first last own other \
make take come see know get give find think tell become leave feel put bring begin keep hold write stand hear let mean \
set meet run pay sit speak lie lead read grow lose fall send build stay cut reach kill raise pass sell decide return";

struct Word {
    text: Box<str>,
    /// Tokens of the word at the beginning of a text, without special tokens.
    head_tokens: u32,
    /// Its token after a space; without a tokenizer 0.
    id: u32,
}

pub(super) struct PromptMaker {
    seed: u64,
    words: Vec<Word>,
    heads: Vec<usize>,
    counter: Option<TokenCounter>,
    special_tokens: u32,
    /// Whether tokens of a text are the sum of its words', as far as trials say.
    is_additive: bool,
    is_exact: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SizedText {
    pub(super) text: String,
    pub(super) tokens: Option<u32>,
}

/// What a sequence of words is for. Two different ones differ within their first words, whatever the seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Own { session: u64, turn: u32 },
    Shared { group: u32 },
    Block { hash: u64 },
}

impl PromptMaker {
    pub(super) fn new(seed: u64, counter: Option<TokenCounter>) -> Result<Self, OpenWorkloadError> {
        let (words, special_tokens) = match &counter {
            Some(counter) => (words_of(counter), counter.count_prompt("").unwrap_or_default()),
            None => (common_words(None), 0),
        };
        if words.is_empty() {
            return Err("the tokenizer refuses every word that prompts are made of".to_owned().into());
        }
        let shortest = words.iter().map(|word| word.head_tokens).min().unwrap_or(1);
        let mut heads: Vec<usize> =
            (0..words.len()).filter(|index| words[*index].head_tokens == shortest).collect();
        if heads.len() < FEW_HEADS {
            heads = (0..words.len()).collect();
        }
        let mut maker =
            PromptMaker { seed, words, heads, counter, special_tokens, is_additive: true, is_exact: false };
        maker.is_additive = maker.trials_add_up();
        maker.is_exact = maker.counter.is_some() && (maker.is_additive || maker.trials_are_exact());
        Ok(maker)
    }

    pub(super) fn is_exact(&self) -> bool {
        self.is_exact
    }

    pub(super) fn shortest_prompt(&self) -> u32 {
        if !self.is_additive {
            return self.special_tokens + 1;
        }
        let heads = self.heads.iter().map(|head| self.words[*head].head_tokens);
        self.special_tokens + heads.max().unwrap_or(1)
    }

    fn trials_add_up(&self) -> bool {
        let Some(counter) = &self.counter else { return true };
        (0..TRIAL_SEQUENCES).all(|session| {
            let words: Vec<usize> =
                self.sequence(Purpose::Own { session, turn: 0 }).take(TRIAL_WORDS).collect();
            let text = self.joined(&words);
            counter.count(&text) == Some(self.sum_of(&words))
                && counter.count_prompt(&text) == Some(self.sum_of(&words) + self.special_tokens)
        })
    }

    fn trials_are_exact(&self) -> bool {
        (0..TRIAL_SEQUENCES).all(|session| {
            let tokens = self.shortest_prompt() + 31 * session as u32;
            let words = self.sequence(Purpose::Own { session, turn: 0 });
            self.text(words, tokens, true).tokens == Some(tokens)
        })
    }

    pub(super) fn sequence(&self, purpose: Purpose) -> impl Iterator<Item = usize> + use<'_> {
        let (domain, number) = match purpose {
            Purpose::Own { session, turn } => (u64::from(turn) << 2, session),
            Purpose::Shared { group } => (1, u64::from(group)),
            Purpose::Block { hash } => (2, hash),
        };
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ domain.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let shift: u64 = rng.random();
        rng.set_stream(number);
        let (head_count, count) = (self.heads.len() as u64, self.words.len() as u64);
        let digit = move |rest: u64, base: u64| (rest % base + shift % base) % base;
        let rest = number / head_count;
        let first = self.heads[digit(number, head_count) as usize];
        let next = [first, digit(rest, count) as usize, digit(rest / count, count) as usize];
        next.into_iter().chain(std::iter::repeat_with(move || rng.random_range(0..count) as usize))
    }

    /// A text of `tokens` tokens, of words in this order. `with_special` counts the special tokens that the tokenizer
    /// adds to prompts.
    pub(super) fn text(
        &self,
        words: impl Iterator<Item = usize>,
        tokens: u32,
        with_special: bool,
    ) -> SizedText {
        let special_tokens = if with_special { self.special_tokens } else { 0 };
        let mut chosen = Vec::new();
        if tokens > special_tokens {
            let mut words = words.peekable();
            let count = self.words_for(words.peek().copied(), tokens - special_tokens);
            chosen.extend(words.take(count));
        }
        if !self.is_additive {
            return self.corrected(chosen, tokens, with_special);
        }
        let tokens = self.counter.as_ref().map(|_| special_tokens + self.sum_of(&chosen));
        SizedText { text: self.joined(&chosen), tokens }
    }

    pub(super) fn words_for(&self, first: Option<usize>, tokens: u32) -> usize {
        let head_tokens = first.map_or(1, |index| self.words[index].head_tokens);
        (tokens.saturating_sub(head_tokens) + 1) as usize
    }

    pub(super) fn prefix(
        &self,
        purpose: Purpose,
        tokens: u32,
        with_special: bool,
    ) -> impl Iterator<Item = usize> + use<'_> {
        let mut words = self.sequence(purpose).peekable();
        let special_tokens = if with_special { self.special_tokens } else { 0 };
        let count = match tokens.checked_sub(special_tokens) {
            None | Some(0) => 0,
            Some(rest) => self.words_for(words.peek().copied(), rest),
        };
        words.take(count)
    }

    pub(super) fn ids(&self, words: impl Iterator<Item = usize>, tokens: u32) -> Vec<u32> {
        words.take(tokens as usize).map(|index| self.words[index].id).collect()
    }

    fn sum_of(&self, words: &[usize]) -> u32 {
        words.first().map_or(0, |first| self.words[*first].head_tokens + words.len() as u32 - 1)
    }

    fn joined(&self, words: &[usize]) -> String {
        let mut text =
            String::with_capacity(words.iter().map(|index| self.words[*index].text.len() + 1).sum());
        for (at, index) in words.iter().enumerate() {
            if at > 0 {
                text.push(' ');
            }
            text.push_str(&self.words[*index].text);
        }
        text
    }

    /// For tokenizers to which words are not one token each, as those of bytes: encodes a few times, first with more
    /// or fewer words, then with letters added to or taken from the end.
    fn corrected(&self, words: Vec<usize>, tokens: u32, with_special: bool) -> SizedText {
        let close = self.with_other_words(words, tokens, with_special);
        self.with_other_letters(close, tokens, with_special)
    }

    fn with_other_words(&self, mut words: Vec<usize>, tokens: u32, with_special: bool) -> SizedText {
        let mut sized = self.counted(self.joined(&words), with_special);
        for _ in 0..MOST_CORRECTIONS {
            let Some(counted) = sized.tokens.filter(|counted| *counted > 0) else { break };
            let wanted = (words.len() as u64 * u64::from(tokens) / u64::from(counted)).max(1) as usize;
            if wanted == words.len() || words.is_empty() {
                break;
            }
            words = (0..wanted).map(|at| words[at % words.len()]).collect();
            sized = self.counted(self.joined(&words), with_special);
        }
        sized
    }

    fn with_other_letters(&self, mut best: SizedText, tokens: u32, with_special: bool) -> SizedText {
        let error = |counted: Option<u32>| counted.map_or(u32::MAX, |counted| counted.abs_diff(tokens));
        for _ in 0..MOST_CORRECTIONS {
            let Some(counted) = best.tokens.filter(|counted| *counted != tokens) else { break };
            let mut text = best.text.clone();
            if counted < tokens {
                let letters = best.text.chars().filter(char::is_ascii_lowercase).cycle();
                text.extend(letters.take((tokens - counted) as usize));
            } else {
                // All letters are ASCII.
                text.truncate(text.len().saturating_sub((counted - tokens) as usize));
            }
            let sized = self.counted(text, with_special);
            if error(sized.tokens) >= error(best.tokens) {
                break;
            }
            best = sized;
        }
        best
    }

    fn counted(&self, text: String, with_special: bool) -> SizedText {
        let counter = self.counter.as_ref();
        let tokens =
            counter.and_then(
                |counter| if with_special { counter.count_prompt(&text) } else { counter.count(&text) },
            );
        SizedText { text, tokens }
    }
}

/// Words of a vocabulary that are one token after a space; the common ones if there is none.
fn words_of(counter: &TokenCounter) -> Vec<Word> {
    let mut words = Vec::new();
    for id in 0..counter.vocabulary_size() {
        let Some(text) = counter.text_of(id) else { continue };
        let text = text.trim();
        if text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_lowercase()) {
            words.extend(word_of(counter, text));
        }
        if words.len() == MOST_WORDS {
            break;
        }
    }
    words.sort_by(|a: &Word, b| a.text.cmp(&b.text));
    words.dedup_by(|a, b| a.text == b.text);
    if words.is_empty() { common_words(Some(counter)) } else { words }
}

fn word_of(counter: &TokenCounter, text: &str) -> Option<Word> {
    let alone = counter.ids(text, false)?;
    let twice = counter.ids(&format!("{text} {text}"), false)?;
    let id = *twice.last()?;
    let is_one_token = !alone.is_empty() && twice.len() == alone.len() + 1;
    is_one_token.then(|| Word { text: text.into(), head_tokens: alone.len() as u32, id })
}

fn common_words(counter: Option<&TokenCounter>) -> Vec<Word> {
    let mut texts: Vec<&str> = COMMON.split_whitespace().collect();
    texts.sort_unstable();
    texts.dedup();
    let word = |text: &str| {
        let head_tokens = match counter {
            Some(counter) => counter.count(text)?,
            None => 1,
        };
        Some(Word { text: text.into(), head_tokens, id: 0 })
    };
    texts.into_iter().filter_map(word).collect()
}
