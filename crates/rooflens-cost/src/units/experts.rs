//! Experts of which each token visits some.

use super::{Parameters, Part, tiles};
use crate::operator::{Bytes, Flops, Operator, Work};
use crate::pass::Pass;
use crate::precision::Storage;

/// Routed experts: `2·T·k·matrices·in·inner` operations; weights are read of the experts that some token
/// visits, and of no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Experts {
    pub(crate) class: &'static str,
    /// Path below the layer of a matrix of the first expert.
    pub(crate) module: &'static str,
    /// Experts.
    pub count: u64,
    pub(crate) top_k: u64,
    pub(crate) input: u64,
    pub(crate) inner: u64,
    /// Whether a gate multiplies: three matrices instead of two.
    pub(crate) gated: bool,
    pub(crate) bias: bool,
    /// Experts that the framework runs for each token, where it runs more than are chosen.
    pub(crate) counted_per_token: u64,
    /// How it is stored.
    pub storage: Storage,
}

impl Experts {
    fn matrices(&self) -> u128 {
        if self.gated { 3 } else { 2 }
    }

    fn biases(&self, inner: u128) -> u128 {
        if self.bias { (self.matrices() - 1) * inner + u128::from(self.input) } else { 0 }
    }

    fn each(&self) -> u128 {
        self.matrices() * u128::from(self.input) * u128::from(self.inner) + self.biases(self.inner.into())
    }

    fn each_bytes(&self, pass: &Pass) -> u128 {
        let inner = u128::from(pass.expert_tp.part(self.inner));
        let matrices = self.matrices() * u128::from(self.input) * inner;
        self.storage.bytes(matrices) + pass.activation_bytes(self.biases(inner))
    }
}

impl Part for Experts {
    fn parameters(&self) -> Parameters {
        let each = self.each();
        let routed = u128::from(self.count) * each;
        Parameters {
            stored: routed,
            routed,
            routed_active: u128::from(self.top_k.min(self.count)) * each,
            input_embedding: 0,
        }
    }

    fn weight_bytes(&self, pass: &Pass) -> u128 {
        u128::from(pass.ep.part(self.count)) * self.each_bytes(pass)
    }

    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        // Under expert parallelism the experts of one device serve the tokens of all.
        let tokens = pass.step.tokens() * u128::from(pass.expert_batches);
        let inner = u128::from(pass.expert_tp.part(self.inner));
        let per_visit = 2 * self.matrices() * u128::from(self.input) * inner;
        let visits = pass.ep.part_of(tokens * u128::from(self.top_k));
        let counted = pass.ep.part_of(tokens * u128::from(self.counted_per_token));

        let local = pass.ep.part(self.count);
        let touched = pass.touched(self.count, self.top_k, tokens) * local as f64 / self.count.max(1) as f64;
        let touched = touched.min(local as f64);
        let weights = (touched * self.each_bytes(pass) as f64).round() as u128;
        // Each expert's rows fill tiles of their own; the rows are dealt out evenly over those touched.
        let groups = (touched.ceil() as u128).max(1);
        let issued = groups * tiles::rows(visits.div_ceil(groups));
        let moved = visits * (2 * u128::from(self.input) + self.matrices() * inner);
        into.push(Operator {
            name: "experts",
            class: self.class,
            work: Work {
                flops: Flops {
                    as_counted: counted * per_visit,
                    useful: visits * per_visit,
                    issued: issued * per_visit,
                },
                vector_flops: 5 * visits * inner,
                bytes: Bytes {
                    weights: if visits == 0 { 0 } else { weights },
                    activations: pass.activation_bytes(moved),
                    ..Bytes::default()
                },
                ..Work::default()
            },
            storage: self.storage,
            formula: if self.gated { "6·T·k·h·i" } else { "4·T·k·h·i" },
        });
    }
}
