//! Normalisations, and parameters that belong to none of the operators.

use super::{Parameters, Part};
use crate::operator::{Bytes, Operator, Work};
use crate::pass::Pass;
use crate::precision::{Dtype, Storage};

/// What a normalisation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NormKind {
    /// Root mean square: square, mean, scale by it, scale by the weight: 4 operations an element.
    Rms,
    /// Layer norm with mean and bias: 7 operations an element.
    Layer,
}

/// A normalisation over the last dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Norm {
    /// Name of the operator.
    pub(crate) name: &'static str,
    /// Class of the operator.
    pub(crate) class: &'static str,
    /// What it does.
    pub(crate) kind: NormKind,
    /// Elements of a token that are normalised.
    pub(crate) width: u64,
    /// Of them those of keys, which engines that fuse nothing normalise in a kernel of their own; 0 where there are none.
    pub(crate) keys: u64,
    /// Parameters: the width, twice it with a bias, the width of a head, or none.
    pub(crate) parameters: u64,
    /// Whether it adds the residual on the way: two more passes over the token.
    pub(crate) adds: bool,
    /// Whether it is done within its neighbour, so that no bytes move for it.
    pub(crate) fused: bool,
}

impl Norm {
    /// The norm before a block: the residual is added in the same kernel.
    #[must_use]
    pub(crate) fn residual(name: &'static str, width: u64) -> Self {
        let (class, kind) = ("norm", NormKind::Rms);
        Self { name, class, kind, width, keys: 0, parameters: width, adds: true, fused: false }
    }

    /// A norm that runs within its neighbour, as those of queries and keys.
    #[must_use]
    pub(crate) fn fused(name: &'static str, class: &'static str, width: u64, parameters: u64) -> Self {
        Self { name, class, kind: NormKind::Rms, width, keys: 0, parameters, adds: false, fused: true }
    }

    /// Of queries and keys: so many of the elements are those of keys.
    #[must_use]
    pub(crate) fn with_keys(mut self, keys: u64) -> Self {
        self.keys = keys;
        self
    }

    /// The share of the work of each kernel that it may be run as.
    #[must_use]
    pub(crate) fn parts(&self) -> Vec<f64> {
        let keys = self.keys as f64 / self.width.max(1) as f64;
        if keys > 0.0 { vec![1.0 - keys, keys] } else { vec![1.0] }
    }

    /// With mean and bias.
    #[must_use]
    pub(crate) fn layer(mut self) -> Self {
        self.kind = NormKind::Layer;
        self.parameters *= 2;
        self
    }
}

impl Part for Norm {
    fn parameters(&self) -> Parameters {
        Parameters { stored: self.parameters.into(), ..Parameters::default() }
    }

    fn weight_bytes(&self, pass: &Pass) -> u128 {
        pass.activation_bytes(self.parameters.into())
    }

    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let elements = pass.replicated_rows(pass.step.tokens()) * u128::from(self.width);
        let (per_element, formula) = match self.kind {
            NormKind::Rms => (4, "0 (4·T·w on the vector units)"),
            NormKind::Layer => (7, "0 (7·T·w on the vector units)"),
        };
        let passes = match (self.fused, self.adds) {
            (true, _) => 0,
            (false, false) => 2,
            (false, true) => 4,
        };
        into.push(Operator {
            name: self.name,
            class: self.class,
            work: Work {
                vector_flops: per_element * elements,
                bytes: Bytes {
                    weights: pass.activation_bytes(self.parameters.into()),
                    activations: pass.activation_bytes(passes * elements),
                    ..Bytes::default()
                },
                ..Work::default()
            },
            storage: Storage::plain(Dtype::Fp32),
            formula,
        });
    }
}

/// Parameters that are stored and counted, but belong to no operator of note: router biases, scales,
/// position tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Weights {
    /// What they are.
    pub(crate) name: &'static str,
    /// How many.
    pub(crate) parameters: u64,
}

impl Part for Weights {
    fn parameters(&self) -> Parameters {
        Parameters { stored: self.parameters.into(), ..Parameters::default() }
    }

    fn weight_bytes(&self, pass: &Pass) -> u128 {
        pass.activation_bytes(self.parameters.into())
    }

    fn operators(&self, _pass: &Pass, _into: &mut Vec<Operator>) {}
}
