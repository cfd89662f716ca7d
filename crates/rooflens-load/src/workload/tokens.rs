//! Counting tokens with the model's own tokenizer, and comparing with what the server counted.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(not(feature = "tokenizers"))]
use self::absent::ModelTokenizer;
#[cfg(feature = "tokenizers")]
use self::present::ModelTokenizer;
use super::error::OpenWorkloadError;

/// Counts tokens. Clones share the tokenizer.
#[derive(Clone)]
pub struct TokenCounter {
    tokenizer: Arc<ModelTokenizer>,
    encoded_bytes: Arc<AtomicU64>,
}

impl fmt::Debug for TokenCounter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TokenCounter({} tokens)", self.tokenizer.vocabulary_size(true))
    }
}

impl TokenCounter {
    pub(crate) fn open(path: &Path) -> Result<Self, OpenWorkloadError> {
        let file: PathBuf = if path.is_dir() { path.join("tokenizer.json") } else { path.to_owned() };
        let tokenizer = ModelTokenizer::open(&file)?;
        Ok(TokenCounter { tokenizer: Arc::new(tokenizer), encoded_bytes: Arc::default() })
    }

    /// Tokens of a text, without special tokens; `None` if the tokenizer refuses the text.
    pub fn count(&self, text: &str) -> Option<u32> {
        self.ids(text, false).map(|ids| ids.len() as u32)
    }

    pub(crate) fn count_prompt(&self, text: &str) -> Option<u32> {
        self.ids(text, true).map(|ids| ids.len() as u32)
    }

    pub(super) fn ids(&self, text: &str, with_special: bool) -> Option<Vec<u32>> {
        self.encoded_bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
        self.tokenizer.ids(text, with_special)
    }

    pub(super) fn text_of(&self, id: u32) -> Option<String> {
        self.tokenizer.text_of(id)
    }

    pub(super) fn vocabulary_size(&self) -> u32 {
        u32::try_from(self.tokenizer.vocabulary_size(false)).unwrap_or(u32::MAX)
    }

    #[cfg(test)]
    pub(crate) fn encoded_bytes(&self) -> u64 {
        self.encoded_bytes.load(Ordering::Relaxed)
    }
}

/// Token counts of one request, from the server and from the tokenizer. What is not known is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenCounts {
    /// `usage.prompt_tokens`.
    pub server_prompt: Option<u64>,
    /// The prompt's tokens by the tokenizer.
    pub own_prompt: Option<u64>,
    /// `usage.completion_tokens`.
    pub server_output: Option<u64>,
    /// The received text's tokens by the tokenizer.
    pub own_output: Option<u64>,
}

/// How well the server's counts agree with the tokenizer's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TokenReconciliation {
    /// Of prompts, where both are known: any difference counts.
    pub prompt: Option<CountAgreement>,
    /// Of outputs. One token more at the server agrees: the stop token, which is not in the text. Larger differences
    /// need not be errors: a model may generate tokens that are not those which the tokenizer makes of their text.
    pub output: Option<CountAgreement>,
}

/// How well two counts agree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountAgreement {
    /// Requests in which both are known.
    pub compared: u64,
    /// Requests in which they differ by more than what is tolerated.
    pub disagreeing: u64,
    /// The difference, server less tokenizer, that is farthest from 0; of two alike the positive one.
    pub largest_difference: i64,
    /// Mean difference, server less tokenizer.
    pub(crate) mean_difference: f64,
    /// The most frequent difference. If all have it, a constant explains them, as special tokens.
    pub(crate) usual_difference: i64,
    /// Requests that have it.
    pub(crate) usual_difference_requests: u64,
}

/// Compares counts.
pub fn reconcile(counts: impl IntoIterator<Item = TokenCounts>) -> TokenReconciliation {
    let mut prompt = Differences::default();
    let mut output = Differences::default();
    for counts in counts {
        prompt.add(counts.server_prompt, counts.own_prompt);
        output.add(counts.server_output, counts.own_output);
    }
    TokenReconciliation { prompt: prompt.agreement(0), output: output.agreement(1) }
}

/// How often each difference occurred: few differ, so this stays small.
#[derive(Default)]
struct Differences(BTreeMap<i64, u64>);

impl Differences {
    fn add(&mut self, server: Option<u64>, own: Option<u64>) {
        if let (Some(server), Some(own)) = (server, own) {
            let difference = i128::from(server) - i128::from(own);
            let difference = difference.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
            *self.0.entry(difference).or_default() += 1;
        }
    }

    fn agreement(&self, most_above: i64) -> Option<CountAgreement> {
        let (usual, usual_requests) = self.0.iter().max_by_key(|(_, requests)| **requests)?;
        let compared: u64 = self.0.values().sum();
        let outside = self.0.iter().filter(|(difference, _)| !(0..=most_above).contains(*difference));
        let sum: i128 = self.0.iter().map(|(difference, n)| i128::from(*difference) * i128::from(*n)).sum();
        let largest = self.0.keys().max_by_key(|difference| (difference.unsigned_abs(), **difference))?;
        Some(CountAgreement {
            compared,
            disagreeing: outside.map(|(_, requests)| requests).sum(),
            largest_difference: *largest,
            mean_difference: sum as f64 / compared as f64,
            usual_difference: *usual,
            usual_difference_requests: *usual_requests,
        })
    }
}

#[cfg(feature = "tokenizers")]
mod present {
    use std::path::Path;

    use tokenizers::Tokenizer;

    use super::super::error::{OpenWorkloadError, unreadable};

    pub(crate) struct ModelTokenizer(Tokenizer);

    impl ModelTokenizer {
        pub(crate) fn open(file: &Path) -> Result<Self, OpenWorkloadError> {
            let bytes = std::fs::read(file).map_err(|error| unreadable(file, &error))?;
            let unusable =
                |error: tokenizers::Error| format!("cannot use the tokenizer {}: {error}", file.display());
            let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(unusable)?;
            // Files of embedding models ask for truncation and padding, which would make every count a lie.
            tokenizer.with_truncation(None).map_err(unusable)?;
            tokenizer.with_padding(None);
            Ok(ModelTokenizer(tokenizer))
        }

        pub(crate) fn ids(&self, text: &str, with_special: bool) -> Option<Vec<u32>> {
            let encoding = self.0.encode_fast(text, with_special).ok()?;
            Some(encoding.get_ids().to_vec())
        }

        pub(crate) fn text_of(&self, id: u32) -> Option<String> {
            self.0.decode(&[id], true).ok()
        }

        pub(crate) fn vocabulary_size(&self, with_added: bool) -> usize {
            self.0.get_vocab_size(with_added)
        }
    }
}

#[cfg(not(feature = "tokenizers"))]
mod absent {
    use std::path::Path;

    use super::super::error::OpenWorkloadError;

    pub(crate) enum ModelTokenizer {}

    impl ModelTokenizer {
        pub(crate) fn open(_: &Path) -> Result<Self, OpenWorkloadError> {
            Err(OpenWorkloadError::NoTokenizers)
        }

        pub(crate) fn ids(&self, _: &str, _: bool) -> Option<Vec<u32>> {
            match *self {}
        }

        pub(crate) fn text_of(&self, _: u32) -> Option<String> {
            match *self {}
        }

        pub(crate) fn vocabulary_size(&self, _: bool) -> usize {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(pairs: &[(u64, u64)]) -> CountAgreement {
        let counts = pairs.iter().map(|(server, own)| TokenCounts {
            server_output: Some(*server),
            own_output: Some(*own),
            ..TokenCounts::default()
        });
        reconcile(counts).output.unwrap()
    }

    #[test]
    fn a_stop_token_agrees_and_a_missing_token_does_not() {
        let agreement = outputs(&[(10, 10), (11, 10), (11, 10), (9, 10), (14, 10)]);
        assert_eq!((agreement.compared, agreement.disagreeing), (5, 2));
        assert_eq!(agreement.largest_difference, 4);
        assert_eq!(agreement.mean_difference, 1.0);
        assert_eq!((agreement.usual_difference, agreement.usual_difference_requests), (1, 2));
    }

    #[test]
    fn any_difference_of_prompts_disagrees() {
        let counts = TokenCounts { server_prompt: Some(8), own_prompt: Some(7), ..TokenCounts::default() };
        let reconciliation = reconcile([counts]);
        assert_eq!(reconciliation.prompt.unwrap().disagreeing, 1);
        assert_eq!(reconciliation.output, None);
    }

    #[test]
    fn what_is_not_known_is_not_compared() {
        let counts = TokenCounts { server_output: Some(3), ..TokenCounts::default() };
        assert_eq!(reconcile([counts, TokenCounts::default()]).output, None);
    }

    #[test]
    fn absurd_counts_do_not_overflow() {
        let agreement = outputs(&[(u64::MAX, 0), (0, u64::MAX)]);
        assert_eq!(agreement.largest_difference, i64::MIN);
        assert_eq!(agreement.disagreeing, 2);
    }
}
