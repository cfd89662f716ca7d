//! What devices tell each other within a layer.

use super::Part;
use crate::operator::{Operator, Work};
use crate::pass::Pass;
use crate::precision::Storage;

/// An exchange between devices; nothing where there is one device.
///
/// Bytes are those that each device sends by the ring algorithms, which no other algorithm undercuts on
/// links that carry one copy at a time: `2·(n-1)/n` of the message for an all-reduce, `(n-1)/n` for an
/// all-gather and for each way of the exchange with experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Collective {
    /// Sums of a token of `width` elements over the devices of tensor parallelism.
    AllReduce {
        /// Elements of a token.
        width: u64,
    },
    /// The logits of each sampled row, gathered from the devices of tensor parallelism.
    GatherLogits {
        /// Elements of a row.
        width: u64,
    },
    /// Sums behind experts: an all-reduce, or, under expert parallelism, tokens to experts and back.
    Experts {
        /// Elements of a token, as experts see it.
        width: u64,
        /// Elements of a token in the residual stream.
        hidden: u64,
        /// Experts that a token visits.
        top_k: u64,
    },
}

fn all_reduce(bytes: u128, devices: u64) -> u128 {
    let devices = u128::from(devices.max(1));
    2 * (devices - 1) * bytes / devices
}

fn all_gather(bytes: u128, devices: u64) -> u128 {
    let devices = u128::from(devices.max(1));
    (devices - 1) * bytes / devices
}

impl Part for Collective {
    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let tokens = pass.step.tokens();
        let mut push = |name, class, link_bytes, formula| {
            if link_bytes > 0 {
                into.push(Operator {
                    name,
                    class,
                    work: Work { link_bytes, ..Work::default() },
                    storage: Storage::plain(pass.activation),
                    formula,
                });
            }
        };
        let sum = |width: u64| all_reduce(pass.activation_bytes(tokens * u128::from(width)), pass.tp.of);
        match *self {
            Collective::AllReduce { width } => {
                push("all_reduce", "comm.all_reduce", sum(width), "2·(n-1)/n·T·h");
            }
            Collective::GatherLogits { width } => {
                let rows = u128::from(pass.step.sequences) * u128::from(pass.step.sampled);
                let bytes = all_gather(pass.activation_bytes(rows * u128::from(width)), pass.tp.of);
                push("gather_logits", "comm.all_gather", bytes, "(n-1)/n·rows·V");
            }
            Collective::Experts { hidden, .. } if pass.ep.of <= 1 => {
                push("all_reduce", "comm.all_reduce", sum(hidden), "2·(n-1)/n·T·h");
            }
            Collective::Experts { width, top_k, .. } => {
                // A token goes once to each device that has an expert it visits.
                let devices = pass.ep.of;
                let miss = 1.0 - 1.0 / devices as f64;
                let copies = (devices as f64 * (1.0 - miss.powf(top_k as f64))).min(top_k as f64) * miss;
                // The devices of tensor parallelism have the same tokens: each sends its part.
                let mine = pass.tp.part_of(tokens) * u128::from(width);
                let bytes = |bits: u64| (copies * mine as f64 * bits as f64 / 8.0).round() as u128;
                push("dispatch", "comm.all_to_all", bytes(pass.dispatch.bits()), "T·copies·h");
                push("combine", "comm.all_to_all", bytes(pass.activation.bits()), "T·copies·h");
            }
        }
    }
}
