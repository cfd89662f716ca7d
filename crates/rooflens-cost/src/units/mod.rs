//! The parts that layers are made of. Each knows its parameters, what it keeps between passes, and what
//! it costs in a pass on one device.
//!
//! A family describes a model as a list of these; nothing else in the crate knows how an operator is
//! counted. To add one: a file here, a `mod` line, a variant of [`Unit`].

mod attention;
mod collective;
mod compressed;
mod conv;
mod delta;
mod dim;
mod embedding;
mod experts;
mod latent;
mod linear;
mod norm;
mod product;
mod ssd;
mod tiles;

pub use attention::{Attention, KvCache};
pub use collective::Collective;
pub use compressed::{CompressedAttention, Summaries};
pub use conv::Conv;
pub use delta::{DeltaRule, Lightning};
pub use dim::{Dim, Slice};
pub use embedding::Embedding;
pub use experts::Experts;
pub use latent::{IndexScores, LatentAttention};
pub use linear::{Linear, LinearRows};
pub use norm::{Norm, NormKind, Weights};
pub use product::Product;
pub use ssd::Ssd;

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

macro_rules! each_unit {
    ($self:ident, $unit:ident => $value:expr) => {
        match $self {
            Unit::Embedding($unit) => $value,
            Unit::Linear($unit) => $value,
            Unit::Norm($unit) => $value,
            Unit::Weights($unit) => $value,
            Unit::Attention($unit) => $value,
            Unit::Latent($unit) => $value,
            Unit::Compressed($unit) => $value,
            Unit::IndexScores($unit) => $value,
            Unit::Experts($unit) => $value,
            Unit::Conv($unit) => $value,
            Unit::Ssd($unit) => $value,
            Unit::Delta($unit) => $value,
            Unit::Lightning($unit) => $value,
            Unit::Product($unit) => $value,
            Unit::Collective($unit) => $value,
        }
    };
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

impl Unit {
    /// Its parameters in the whole model.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        each_unit!(self, unit => unit.parameters())
    }

    /// Bytes of its parameters on one device.
    #[must_use]
    pub fn weight_bytes(&self, pass: &Pass) -> u128 {
        each_unit!(self, unit => unit.weight_bytes(pass))
    }

    /// What it keeps on one device.
    #[must_use]
    pub fn kept(&self, pass: &Pass) -> Kept {
        each_unit!(self, unit => unit.kept(pass))
    }

    /// What it costs on one device.
    pub fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        each_unit!(self, unit => unit.operators(pass, into));
    }

    /// Whether it costs the same for a token wherever the token stands: no context, no sequences.
    #[must_use]
    pub fn is_per_token(&self) -> bool {
        match self {
            Unit::Embedding(_)
            | Unit::Linear(_)
            | Unit::Norm(_)
            | Unit::Weights(_)
            | Unit::Experts(_)
            | Unit::Product(_)
            | Unit::Collective(_) => true,
            Unit::Attention(_)
            | Unit::Latent(_)
            | Unit::Compressed(_)
            | Unit::IndexScores(_)
            | Unit::Conv(_)
            | Unit::Ssd(_)
            | Unit::Delta(_)
            | Unit::Lightning(_) => false,
        }
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
