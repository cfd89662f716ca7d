//! Rows of tables, normalisations, products of activations with activations, and parameters that belong to no operator:
//! what costs the same for each token.

use super::dim::Dim;
use super::{Parameters, Part};
use crate::operator::{Bytes, Flops, Operator, Work};
use crate::pass::Pass;
use crate::precision::{Dtype, Storage};

/// A table of which each token reads one row: never a matmul, and never read whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Embedding {
    pub(crate) name: &'static str,
    pub(crate) rows: Dim,
    pub(crate) width: u64,
    /// Whether a head reads the same table: then it is no mere input embedding.
    pub(crate) tied: bool,
    /// Whether the table is another's, as an encoder's that is also the decoder's: read, not stored.
    pub(crate) shared: bool,
    pub(crate) storage: Storage,
}

impl Part for Embedding {
    fn parameters(&self) -> Parameters {
        if self.shared {
            return Parameters::default();
        }
        let stored = self.rows.elements() * u128::from(self.width);
        Parameters { stored, input_embedding: if self.tied { 0 } else { stored }, ..Parameters::default() }
    }

    fn weight_bytes(&self, pass: &Pass) -> u128 {
        if self.shared {
            return 0;
        }
        self.storage.bytes(self.rows.local(pass.tp) * u128::from(self.width))
    }

    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let elements = pass.tp.part_of(pass.step.tokens()) * u128::from(self.width);
        into.push(Operator {
            name: self.name,
            class: "embed",
            work: Work {
                bytes: Bytes {
                    weights: self.storage.bytes(elements),
                    activations: pass.activation_bytes(elements),
                    ..Bytes::default()
                },
                ..Work::default()
            },
            storage: self.storage,
            formula: "0 (T rows are copied)",
        });
    }
}

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
    pub(crate) name: &'static str,
    pub(crate) class: &'static str,
    pub(crate) kind: NormKind,
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
    pub(crate) fn residual(name: &'static str, width: u64) -> Self {
        let (class, kind) = ("norm", NormKind::Rms);
        Self { name, class, kind, width, keys: 0, parameters: width, adds: true, fused: false }
    }

    /// A norm that runs within its neighbour, as those of queries and keys.
    pub(crate) fn fused(name: &'static str, class: &'static str, width: u64, parameters: u64) -> Self {
        Self { name, class, kind: NormKind::Rms, width, keys: 0, parameters, adds: false, fused: true }
    }

    pub(crate) fn with_keys(mut self, keys: u64) -> Self {
        self.keys = keys;
        self
    }

    pub(crate) fn parts(&self) -> Vec<f64> {
        let keys = self.keys as f64 / self.width.max(1) as f64;
        if keys > 0.0 { vec![1.0 - keys, keys] } else { vec![1.0] }
    }

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
    pub(crate) name: &'static str,
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

/// A product without weights that every device makes for every token: the mixing of residual streams,
/// tables of rotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Product {
    pub(crate) name: &'static str,
    pub(crate) class: &'static str,
    pub(crate) counted: u64,
    /// Operations for each token that the result needs: 0 where engines read a table instead.
    pub(crate) useful: u64,
    pub(crate) moved: u64,
    pub(crate) formula: &'static str,
}

impl Part for Product {
    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let tokens = pass.replicated_rows(pass.step.tokens());
        let useful = tokens * u128::from(self.useful);
        into.push(Operator {
            name: self.name,
            class: self.class,
            work: Work {
                flops: Flops { as_counted: tokens * u128::from(self.counted), useful, issued: useful },
                bytes: Bytes {
                    activations: pass.activation_bytes(tokens * u128::from(self.moved)),
                    ..Bytes::default()
                },
                copied_flops: if pass.tp.rank > 0 && !pass.sequence_parallel { useful } else { 0 },
                ..Work::default()
            },
            storage: Storage::plain(pass.activation),
            formula: self.formula,
        });
    }
}
