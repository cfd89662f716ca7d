//! The parts that layers are made of. Each knows its parameters, what it keeps between passes, and what
//! it costs in a pass on one device.
//!
//! A family describes a model as a list of these; nothing else in the crate knows how an operator is
//! counted. To add one: a type that is a [`Part`], and a variant of [`Unit`].

mod attention;
mod collective;
mod compressed;
mod dim;
mod experts;
mod latent;
mod linear;
mod per_token;
mod states;
mod tiles;

pub(crate) use attention::{Attention, KvCache};
pub(crate) use collective::Collective;
pub(crate) use compressed::{CompressedAttention, Summaries};
pub(crate) use dim::Dim;
pub use dim::Slice;
pub(crate) use experts::Experts;
pub(crate) use latent::{IndexScores, LatentAttention};
pub(crate) use linear::{Linear, LinearRows};
pub(crate) use per_token::{Embedding, Norm, NormKind, Product, Weights};
pub(crate) use states::{Conv, DeltaRule, Lightning, Ssd};

use std::ops::Deref;

use crate::operator::Operator;
use crate::pass::Pass;
use crate::precision::Storage;

/// A part of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Rows of a table.
    Embedding(Embedding),
    /// A matrix, or several with the same input.
    Linear(Linear),
    /// A normalisation.
    Norm(Norm),
    /// Parameters that no operator of note reads.
    Weights(Weights),
    /// Scores, softmax and values over keys.
    Attention(Attention),
    /// The same over a compressed cache.
    Latent(LatentAttention),
    /// The same over the last tokens and summaries of the others.
    Compressed(CompressedAttention),
    /// Scores by which keys are chosen.
    IndexScores(IndexScores),
    /// Experts of which each token visits some.
    Experts(Experts),
    /// A short causal convolution over time.
    Conv(Conv),
    /// Mamba-2's state space.
    Ssd(Ssd),
    /// The gated delta rule.
    Delta(DeltaRule),
    /// Linear attention with decay.
    Lightning(Lightning),
    /// A product of activations with activations.
    Product(Product),
    /// What devices tell each other.
    Collective(Collective),
}

/// How many parameters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parameters {
    /// All that are stored.
    pub stored: u128,
    /// Those in routed experts.
    pub routed: u128,
    /// Those in routed experts that a token visits.
    pub routed_active: u128,
    /// Those of the input embedding, where no head shares them.
    pub input_embedding: u128,
}

impl Parameters {
    /// Adds those of `times` parts.
    pub fn add(&mut self, other: Parameters, times: u128) {
        self.stored += other.stored * times;
        self.routed += other.routed * times;
        self.routed_active += other.routed_active * times;
        self.input_embedding += other.input_embedding * times;
    }
}

/// What is kept for each sequence between passes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Kept {
    /// Bytes for each token, without end.
    pub bytes_per_token: u128,
    /// Bytes for each token, of the last `window` tokens only.
    pub window: Option<(u64, u128)>,
    /// Bytes whatever the length: states.
    pub bytes_per_sequence: u128,
    /// Bytes for each token of the sequence's images, or position of its encoder.
    pub bytes_per_media_token: u128,
}

/// What every part of a layer can tell.
pub trait Part {
    /// Its parameters in the whole model.
    fn parameters(&self) -> Parameters {
        Parameters::default()
    }

    /// Bytes of its parameters on one device.
    fn weight_bytes(&self, _pass: &Pass) -> u128 {
        0
    }

    /// What it keeps on one device.
    fn kept(&self, _pass: &Pass) -> Kept {
        Kept::default()
    }

    /// What it costs on one device.
    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>);
}

impl Deref for Unit {
    type Target = dyn Part;

    fn deref(&self) -> &Self::Target {
        match self {
            Unit::Embedding(unit) => unit,
            Unit::Linear(unit) => unit,
            Unit::Norm(unit) => unit,
            Unit::Weights(unit) => unit,
            Unit::Attention(unit) => unit,
            Unit::Latent(unit) => unit,
            Unit::Compressed(unit) => unit,
            Unit::IndexScores(unit) => unit,
            Unit::Experts(unit) => unit,
            Unit::Conv(unit) => unit,
            Unit::Ssd(unit) => unit,
            Unit::Delta(unit) => unit,
            Unit::Lightning(unit) => unit,
            Unit::Product(unit) => unit,
            Unit::Collective(unit) => unit,
        }
    }
}

impl Unit {
    /// Whether it costs the same for a token wherever the token stands: no context, no sequences.
    pub(crate) fn is_per_token(&self) -> bool {
        !matches!(
            self,
            Unit::Attention(_)
                | Unit::Latent(_)
                | Unit::Compressed(_)
                | Unit::IndexScores(_)
                | Unit::Conv(_)
                | Unit::Ssd(_)
                | Unit::Delta(_)
                | Unit::Lightning(_)
        )
    }

    /// Where its weights stand in the checkpoint, below the layer, and how they are stored; nothing for
    /// what quantisation never touches.
    pub(crate) fn quantisable(&mut self) -> Option<(&'static str, &mut Storage)> {
        match self {
            Unit::Linear(linear) => linear.module.map(|module| (module, &mut linear.storage)),
            Unit::Latent(latent) => Some((latent.module, &mut latent.storage)),
            Unit::Experts(experts) => Some((experts.module, &mut experts.storage)),
            _ => None,
        }
    }
}
