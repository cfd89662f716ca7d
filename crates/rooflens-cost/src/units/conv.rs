//! Short causal convolutions over time, one filter a channel.

use super::dim::Dim;
use super::{Kept, Parameters, Part};
use crate::operator::{Bytes, Flops, Operator, Work};
use crate::pass::Pass;
use crate::precision::Storage;

/// A depthwise causal convolution: `2·T·channels·kernel` operations.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Conv {
    /// Class of the operator.
    pub(crate) class: &'static str,
    /// Channels, one filter each.
    pub(crate) channels: Vec<Dim>,
    /// Taps of a filter.
    pub(crate) kernel: u64,
    /// Whether each channel has a bias.
    pub(crate) bias: bool,
    /// Rows that the framework's counter sees in a step of one token with a cache.
    pub(crate) counted_in_step: u64,
    /// Operations of the vector units for each channel and token: activation, gates.
    pub(crate) vector_flops: u64,
    /// How it is stored.
    pub(crate) storage: Storage,
}

impl Conv {
    fn all(&self) -> u128 {
        self.channels.iter().map(Dim::elements).sum()
    }

    fn local(&self, pass: &Pass) -> u128 {
        self.channels.iter().map(|channels| channels.local(pass.tp)).sum()
    }

    fn copied(&self, pass: &Pass) -> u128 {
        let copies = self.channels.iter().filter(|channels| channels.is_copy(pass.tp));
        copies.map(|channels| channels.local(pass.tp)).sum()
    }

    fn state(&self, pass: &Pass) -> u128 {
        pass.activation_bytes(self.local(pass) * u128::from(self.kernel.saturating_sub(1)))
    }
}

impl Part for Conv {
    fn parameters(&self) -> Parameters {
        let taps = u128::from(self.kernel) + u128::from(self.bias);
        Parameters { stored: self.all() * taps, ..Parameters::default() }
    }

    fn weight_bytes(&self, pass: &Pass) -> u128 {
        self.storage.bytes(self.local(pass) * (u128::from(self.kernel) + u128::from(self.bias)))
    }

    fn kept(&self, pass: &Pass) -> Kept {
        Kept { bytes_per_sequence: self.state(pass), ..Kept::default() }
    }

    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let step = &pass.step;
        let kernel = u128::from(self.kernel);
        let sequences = u128::from(step.sequences);
        let tap = 2 * self.local(pass) * kernel;
        // The framework pads each sequence on both sides and cuts the result.
        let counted = if step.past > 0 && step.new == 1 {
            sequences * u128::from(self.counted_in_step)
        } else {
            sequences * (u128::from(step.new) + kernel - 1)
        };
        let useful = tap * step.tokens();
        let state = sequences * self.state(pass);
        into.push(Operator {
            name: "conv1d",
            class: self.class,
            work: Work {
                flops: Flops { as_counted: counted * tap, useful, issued: useful },
                vector_flops: u128::from(self.vector_flops) * step.tokens() * self.local(pass),
                bytes: Bytes {
                    weights: self.weight_bytes(pass),
                    kv_read: if step.past == 0 { 0 } else { state },
                    kv_write: state,
                    activations: pass.activation_bytes(2 * step.tokens() * self.local(pass)),
                },
                link_bytes: 0,
                inter_node_bytes: 0,
                copied_flops: 2 * self.copied(pass) * kernel * step.tokens(),
            },
            storage: self.storage,
            formula: "2·T·channels·kernel",
        });
    }
}
