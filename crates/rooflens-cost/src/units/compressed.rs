//! Attention over the last tokens and over summaries of all before (DeepSeek-V4).

use super::{Kept, Parameters, Part, tiles};
use crate::operator::{Bytes, Flops, Operator, Work};
use crate::pass::Pass;
use crate::precision::Storage;
use crate::step::{Mask, Step};

/// Summaries of tokens: one entry for every `rate` tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Summaries {
    pub(crate) rate: u64,
    /// Entries that an indexer leaves to each query; none: all of them.
    pub(crate) top_k: Option<u64>,
    /// Windows of tokens that go into an entry: 2 where neighbours overlap.
    pub(crate) overlap: u64,
}

impl Summaries {
    /// Entries of one sequence after `tokens` tokens.
    pub(crate) fn entries(&self, tokens: u64) -> u64 {
        tokens / self.rate.max(1)
    }

    /// Pairs of one sequence's queries and entries: the token at t sees `⌊(t + 1) / rate⌋`, at most `top_k`.
    pub(super) fn pairs(&self, step: &Step) -> u128 {
        let upto = |tokens: u64| {
            let (n, rate) = (u128::from(tokens), u128::from(self.rate.max(1)));
            // Σ ⌊m / rate⌋ for m = 1 … n.
            let stairs = |n: u128| {
                let whole = n / rate;
                rate * whole * whole.saturating_sub(1) / 2 + whole * (n % rate + 1)
            };
            match self.top_k.map(u128::from) {
                Some(most) if n >= most * rate && most > 0 => {
                    stairs(most * rate - 1) + (n - most * rate + 1) * most
                }
                Some(0) => 0,
                _ => stairs(n),
            }
        };
        upto(step.past.saturating_add(step.new)) - upto(step.past)
    }
}

/// One key head whose keys are the values too, of the tokens in a window and of summaries of the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CompressedAttention {
    pub(crate) heads: u64,
    pub(crate) width: u64,
    pub(crate) window: u64,
    pub(crate) summaries: Option<Summaries>,
    pub(crate) sinks: u64,
}

impl CompressedAttention {
    fn pairs(&self, step: &Step) -> u128 {
        let summaries = self.summaries.map_or(0, |summaries| summaries.pairs(step));
        Mask::Window(self.window).pairs(step) + u128::from(step.sequences) * summaries
    }

    fn entries(&self, tokens: u64) -> u128 {
        self.summaries.map_or(0, |summaries| summaries.entries(tokens)).into()
    }

    fn pairs_counted(&self, step: &Step) -> u128 {
        let all = self.entries(step.past.saturating_add(step.new));
        Mask::Window(self.window).pairs_counted(step) + step.tokens() * all
    }
}

impl Part for CompressedAttention {
    fn parameters(&self) -> Parameters {
        Parameters { stored: self.sinks.into(), ..Parameters::default() }
    }

    fn kept(&self, pass: &Pass) -> Kept {
        // One key head: every device keeps all of it.
        let bytes = pass.kv_bytes(self.width.into());
        let mut kept = Kept { window: Some((self.window, bytes)), ..Kept::default() };
        if let Some(Summaries { rate, overlap, .. }) = self.summaries {
            kept.bytes_per_token = bytes.div_ceil(u128::from(rate.max(1)));
            // Tokens of the open window, each with its gate, and of the one before where they overlap.
            let open =
                2 * u128::from(rate) * u128::from(self.width) * u128::from(2 * overlap - overlap.min(1));
            kept.bytes_per_sequence = pass.activation_bytes(open);
        }
        kept
    }

    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let step = &pass.step;
        let sequences = u128::from(step.sequences);
        let heads = u128::from(pass.tp.part(self.heads));
        let width = u128::from(self.width);
        let per_pair = 4 * heads * width;
        let pairs = self.pairs(step);
        let window = tiles::pairs(step.new, step.past, heads as u64, Some(self.window), true);
        let (before, after) = (self.entries(step.past), self.entries(step.past.saturating_add(step.new)));
        let (seen, summaries) = match self.summaries {
            Some(Summaries { rate, top_k, .. }) => {
                let most = top_k.map_or(u128::MAX, |keys| u128::from(keys) * u128::from(step.new));
                let past = step.past / rate.max(1);
                let kept = top_k.unwrap_or(u64::MAX);
                (before.min(most), tiles::pairs(step.new, past, heads as u64, Some(kept), true))
            }
            None => (0, 0),
        };
        let issued = 4 * sequences * (window + summaries) * width;
        let recent = u128::from(Mask::Window(self.window).read(step));
        into.push(Operator {
            name: "attention",
            class: "attn.core",
            work: Work {
                flops: Flops {
                    as_counted: per_pair * self.pairs_counted(step),
                    useful: per_pair * pairs,
                    issued: issued.max(per_pair * pairs),
                },
                vector_flops: 5 * pairs * heads,
                bytes: Bytes {
                    weights: 0,
                    kv_read: pass.kv_bytes(sequences * (recent + seen) * width),
                    kv_write: pass.kv_bytes((step.tokens() + sequences * (after - before)) * width),
                    activations: pass.activation_bytes(step.tokens() * (2 * heads + 1) * width),
                },
                ..Work::default()
            },
            storage: Storage::plain(pass.activation),
            formula: "4·pairs·H·d",
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The closed form against a walk over all tokens.
    #[test]
    fn pairs_are_those_of_a_walk() {
        for (rate, top_k) in [(4, None), (4, Some(3)), (3, Some(1)), (128, None), (1, Some(5)), (4, Some(0))]
        {
            for (past, new) in [(0, 1), (0, 97), (5, 40), (64, 1), (300, 7)] {
                let summaries = Summaries { rate, top_k, overlap: 1 };
                let seen = |token: u64| ((token + 1) / rate).min(top_k.unwrap_or(u64::MAX));
                let walked: u64 = (past..past + new).map(seen).sum();
                assert_eq!(summaries.pairs(&Step::prefill(1, new, past)), u128::from(walked));
            }
        }
    }
}
