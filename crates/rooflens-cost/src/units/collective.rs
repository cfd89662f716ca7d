//! What devices send each other within a layer.

use super::Part;
use crate::operator::{Operator, Work};
use crate::pass::Pass;
use crate::precision::Storage;

/// A collective; nothing where there is one device.
///
/// Bytes are those that each device sends. An all-reduce takes `2·(n-1)/n` of the message by a ring, which
/// no other algorithm undercuts on links that carry one copy at a time, and the message once where switches
/// reduce and multicast. Over several nodes, devices first reduce within their node, each then sends its
/// part to the other nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Collective {
    /// Sums of a token of `width` elements over the devices of tensor parallelism.
    AllReduce { width: u64 },
    /// The logits of each sampled row of `width` elements, gathered from the devices of tensor parallelism.
    GatherLogits { width: u64 },
    /// Sums behind experts: an all-reduce, or, under expert parallelism, tokens to experts and back. Experts see `width`
    /// elements of a token, the residual stream has `hidden`.
    Experts { width: u64, hidden: u64, top_k: u64 },
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sent {
    link: u128,
    inter_node: u128,
}

fn nodes(devices: u64, node: Option<u64>) -> (u128, u128) {
    let within = node.unwrap_or(devices).clamp(1, devices.max(1));
    (within.into(), devices.max(1).div_ceil(within).into())
}

fn all_reduce(bytes: u128, devices: u64, pass: &Pass) -> Sent {
    let (within, nodes) = nodes(devices, pass.node);
    let ring = |bytes: u128, devices: u128| 2 * (devices - 1) * bytes / devices;
    // In a switch each byte is sent once; with two devices a ring does the same.
    let best = |bytes: u128, devices: u128| {
        if pass.multicast { ring(bytes, devices).min(bytes) } else { ring(bytes, devices) }
    };
    Sent { link: best(bytes, within), inter_node: best(bytes.div_ceil(within), nodes) }
}

fn all_gather(bytes: u128, devices: u64, pass: &Pass) -> Sent {
    let (within, nodes) = nodes(devices, pass.node);
    Sent { link: (within - 1) * bytes / within, inter_node: (nodes - 1) * bytes / nodes / within }
}

/// How many of `places` a token that visits `top_k` experts goes to, its own not counted.
fn copies(places: u128, top_k: u64) -> f64 {
    let miss = 1.0 - 1.0 / places as f64;
    (places as f64 * (1.0 - miss.powf(top_k as f64))).min(top_k as f64) * miss
}

impl Part for Collective {
    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let tokens = pass.step.tokens();
        let mut push = |name, class, sent: Sent, formula| {
            if sent != Sent::default() {
                let Sent { link, inter_node } = sent;
                into.push(Operator {
                    name,
                    class,
                    work: Work { link_bytes: link, inter_node_bytes: inter_node, ..Work::default() },
                    storage: Storage::plain(pass.activation),
                    formula,
                });
            }
        };
        let sum =
            |width: u64| all_reduce(pass.activation_bytes(tokens * u128::from(width)), pass.tp.of, pass);
        let summed = if pass.multicast { "T·h" } else { "2·(n-1)/n·T·h" };
        match *self {
            Collective::AllReduce { width } => push("all_reduce", "comm.all_reduce", sum(width), summed),
            Collective::GatherLogits { width } => {
                let rows = u128::from(pass.step.sequences) * u128::from(pass.step.sampled);
                let bytes = pass.activation_bytes(rows * u128::from(width));
                push(
                    "gather_logits",
                    "comm.all_gather",
                    all_gather(bytes, pass.tp.of, pass),
                    "(n-1)/n·rows·V",
                );
            }
            Collective::Experts { hidden, .. } if pass.ep.of <= 1 => {
                push("all_reduce", "comm.all_reduce", sum(hidden), summed);
            }
            Collective::Experts { width, top_k, .. } => {
                // A token goes once to each node that has an expert it visits, and from there to each device.
                let devices = u128::from(pass.ep.of);
                let (_, nodes) = nodes(pass.ep.of * pass.expert_tp.of, pass.node);
                let to_nodes = copies(nodes.min(devices), top_k);
                let within = (copies(devices, top_k) - to_nodes).max(0.0);
                // The devices of tensor parallelism have the same tokens: each sends its part.
                let mine = pass.tp.part_of(tokens) * u128::from(width);
                let sent = |bits: u64| {
                    let bytes = |copies: f64| (copies * mine as f64 * bits as f64 / 8.0).round() as u128;
                    Sent { link: bytes(within), inter_node: bytes(to_nodes) }
                };
                push("dispatch", "comm.all_to_all", sent(pass.dispatch.bits()), "T·copies·h");
                push("combine", "comm.all_to_all", sent(pass.activation.bits()), "T·copies·h");
            }
        }
    }
}
