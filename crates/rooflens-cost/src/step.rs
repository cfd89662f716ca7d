//! One pass through the model: how many sequences, how many new tokens, how much context.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a pass does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Reads many new tokens of each sequence at once.
    Prefill,
    /// Makes one new token (or a few drafted ones) of each sequence.
    Decode,
    /// Turns images into tokens.
    Vision,
    /// Reads the input of an encoder-decoder model: what its decoder attends to.
    Encoder,
}

impl Phase {
    /// Name, as in `prefill`.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Prefill => "prefill",
            Phase::Decode => "decode",
            Phase::Vision => "vision",
            Phase::Encoder => "encoder",
        }
    }
}

/// One pass of a batch through a stack of layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// What it does.
    pub phase: Phase,
    /// Sequences in the batch.
    pub sequences: u64,
    /// New tokens of each sequence.
    pub new: u64,
    /// Tokens of each sequence that are already in the KV cache.
    pub past: u64,
    /// Rows of each sequence whose logits are needed.
    pub sampled: u64,
    /// Tokens of images, or positions of the encoder, that each sequence attends to by cross-attention.
    pub media: u64,
}

impl Step {
    /// Reads `new` tokens of each of `sequences` sequences, after `past` cached ones.
    pub fn prefill(sequences: u64, new: u64, past: u64) -> Self {
        Self { phase: Phase::Prefill, sequences, new, past, sampled: 1, media: 0 }
    }

    /// Makes one token of each of `sequences` sequences, after `past` cached ones.
    pub fn decode(sequences: u64, past: u64) -> Self {
        Self { phase: Phase::Decode, sequences, new: 1, past, sampled: 1, media: 0 }
    }

    /// `images` pictures (or windows of them) of `tokens` patches each, which all see each other.
    pub(crate) fn vision(images: u64, tokens: u64) -> Self {
        Self { phase: Phase::Vision, sequences: images, new: tokens, past: 0, sampled: 0, media: 0 }
    }

    /// The encoder over `positions` positions of each of `sequences` sequences, which all see each other.
    pub fn encoder(sequences: u64, positions: u64) -> Self {
        Self { phase: Phase::Encoder, sequences, new: positions, past: 0, sampled: 0, media: 0 }
    }

    pub(crate) fn tokens(&self) -> u128 {
        u128::from(self.sequences) * u128::from(self.new)
    }

    /// Tokens that stand in the cache after the pass, in all.
    pub(crate) fn context(&self) -> u128 {
        u128::from(self.sequences) * (u128::from(self.past) + u128::from(self.new))
    }
}

/// Which keys a query sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mask {
    /// All: vision towers and encoders.
    All,
    /// Itself and all before.
    Causal,
    /// Itself and the `n - 1` before.
    Window(u64),
    /// Itself and those before in the same chunk of `n`.
    Chunk(u64),
    /// The `n` that an indexer chose among itself and all before.
    TopK(u64),
    /// The tokens of the sequence's images, or the positions of its encoder.
    Cross,
}

impl Mask {
    /// Query-key pairs if nothing were masked: what frameworks count.
    pub fn pairs_counted(self, step: &Step) -> u128 {
        match self {
            Mask::Cross => step.tokens() * u128::from(step.media),
            // The framework masks within a pass, but its cache drops what no window reaches.
            Mask::Window(width) | Mask::Chunk(width) => {
                let past = step.past.min(width.saturating_sub(1));
                step.tokens() * (u128::from(past) + u128::from(step.new))
            }
            _ => step.tokens() * (u128::from(step.past) + u128::from(step.new)),
        }
    }

    /// Query-key pairs that the mask leaves.
    ///
    /// ```
    /// use rooflens_cost::step::{Mask, Step};
    /// let step = Step::prefill(1, 4, 2); // positions 2..6 see 3, 4, 5, 6 keys
    /// assert_eq!(Mask::Causal.pairs(&step), 18);
    /// assert_eq!(Mask::Window(4).pairs(&step), 3 + 4 + 4 + 4);
    /// assert_eq!(Mask::Chunk(4).pairs(&step), 3 + 4 + 1 + 2);
    /// ```
    pub fn pairs(self, step: &Step) -> u128 {
        let (past, new) = (u128::from(step.past), u128::from(step.new));
        let a_sequence = match self {
            Mask::All => new * (past + new),
            Mask::Causal => new * past + triangle(new),
            Mask::Window(width) | Mask::TopK(width) => {
                ramp(past + new, width.into()) - ramp(past, width.into())
            }
            Mask::Chunk(size) => sawtooth(past + new, size.into()) - sawtooth(past, size.into()),
            Mask::Cross => new * u128::from(step.media),
        };
        u128::from(step.sequences) * a_sequence
    }

    /// Keys of one sequence that stood in the cache before the pass and are read in it.
    pub fn read(self, step: &Step) -> u64 {
        match self {
            Mask::All | Mask::Causal => step.past,
            // The first new token sees the most of the past.
            Mask::Window(width) => step.past.min(width.saturating_sub(1)),
            Mask::Chunk(size) => step.past % size.max(1),
            // Each new token may choose other keys, but none is read twice.
            Mask::TopK(keys) => step.past.min(keys.saturating_mul(step.new)),
            Mask::Cross => step.media,
        }
    }
}

/// `1 + 2 + … + n`.
fn triangle(n: u128) -> u128 {
    n * (n + 1) / 2
}

/// Keys seen by the first `n` tokens under a window: a ramp, then a plateau.
fn ramp(n: u128, width: u128) -> u128 {
    if n <= width { triangle(n) } else { triangle(width) + (n - width) * width }
}

/// Keys seen by the first `n` tokens when every `size` tokens begin anew.
fn sawtooth(n: u128, size: u128) -> u128 {
    let size = size.max(1);
    n / size * triangle(size) + triangle(n % size)
}
