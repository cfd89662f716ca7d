//! Layouts that engines refuse: what tensor and expert parallelism would cut where it cannot be cut.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Model;
use crate::precision::{Dtype, Storage};
use crate::setup::{Setup, VisionSharding};
use crate::units::{Dim, Unit};

/// Why engines refuse to shard a model so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// What does not come out even, as `attention heads`.
    pub(crate) what: Cow<'static, str>,
    /// Why, with the numbers.
    pub reason: String,
}

impl Refusal {
    /// As a sentence.
    pub fn words(&self) -> String {
        format!("engines refuse this layout: {}", self.reason)
    }
}

/// Rows and columns of the blocks that share a scale in checkpoints with 8-bit blocks.
const BLOCK: u64 = 128;
/// Vocabularies are padded to a multiple of this before they are sharded (vLLM, SGLang).
const VOCABULARY: u64 = 64;

/// Why engines (vLLM, SGLang) refuse to shard `model` as `setup` says; nothing where they do not.
pub(crate) fn refusals(model: &Model, setup: &Setup) -> Vec<Refusal> {
    let mut found = Found::default();
    let (tp, ep) = (setup.parallel.tp, setup.parallel.ep);
    let encoder = model.encoder.iter().flat_map(|encoder| &encoder.parts).flat_map(|part| &part.units);
    for unit in model.units().chain(encoder) {
        found.unit(unit, setup);
    }
    if !model.vocab.next_multiple_of(VOCABULARY).is_multiple_of(tp) {
        found.add(
            "vocabulary",
            format!(
                "a vocabulary of {}, padded to a multiple of {VOCABULARY}, does not divide by tp {tp}",
                model.vocab
            ),
        );
    }
    if let Some(tower) = model.vision.as_ref().filter(|_| setup.vision == VisionSharding::Tensor) {
        let units = tower.stages.iter().flat_map(|stage| &stage.units);
        for unit in units {
            if let Unit::Attention(attention) = unit {
                found.divides("vision heads", attention.heads, tp);
            }
        }
    }
    if ep > 1 {
        for unit in model.units() {
            if let Unit::Experts(experts) = unit
                && !experts.count.is_multiple_of(ep)
            {
                found.add("experts", format!("{} experts are not divisible by ep {ep}", experts.count));
            }
        }
    }
    found.refusals
}

#[derive(Default)]
struct Found {
    refusals: Vec<Refusal>,
}

impl Found {
    fn add(&mut self, what: &'static str, reason: String) {
        let refusal = Refusal { what: what.into(), reason };
        if !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
    }

    fn divides(&mut self, what: &'static str, count: u64, tp: u64) {
        if !count.is_multiple_of(tp) {
            self.add(what, format!("{count} {what} are not divisible by tp {tp}"));
        }
    }

    fn unit(&mut self, unit: &Unit, setup: &Setup) {
        let tp = setup.parallel.tp;
        match unit {
            Unit::Attention(attention) => {
                self.divides("attention heads", attention.heads, tp);
                let kv = attention.kv_heads;
                if !kv.is_multiple_of(tp) && !tp.is_multiple_of(kv.max(1)) {
                    self.add(
                        "KV heads",
                        format!("{kv} KV heads are neither divisible by tp {tp} nor a divisor of it"),
                    );
                }
            }
            Unit::Latent(latent) => self.divides("attention heads", latent.heads, tp),
            Unit::Compressed(attention) => self.divides("attention heads", attention.heads, tp),
            Unit::Ssd(ssd) => self.divides("Mamba heads", ssd.heads, tp),
            Unit::Delta(delta) => self.divides("linear-attention heads", delta.heads, tp),
            Unit::Lightning(lightning) => self.divides("linear-attention heads", lightning.heads, tp),
            Unit::Linear(linear) => {
                for dim in linear.outputs.iter().chain([&linear.input]) {
                    self.dim(linear.name, dim, &linear.storage, tp);
                }
            }
            Unit::Experts(experts) => {
                let sharing = setup.parallel.place(0).expert_tp.of;
                if !experts.inner.is_multiple_of(sharing) {
                    let inner = experts.inner;
                    self.add(
                        "expert width",
                        format!("experts of width {inner} are not divisible by {sharing} devices"),
                    );
                } else {
                    self.blocks("experts", experts.inner / sharing, &experts.storage, sharing);
                }
            }
            _ => {}
        }
    }

    /// Columns that are sharded one by one, as those of feed-forward networks; heads are told by attention.
    fn dim(&mut self, name: &'static str, dim: &Dim, storage: &Storage, tp: u64) {
        if !dim.is_dealt() || dim.units < tp {
            return;
        }
        if dim.width == 1 && name != "lm_head" && !dim.units.is_multiple_of(tp) {
            let columns = dim.units;
            self.add(
                "intermediate size",
                format!("the {columns} columns of {name} are not divisible by tp {tp}"),
            );
        } else if dim.units.is_multiple_of(tp) {
            self.blocks(name, dim.units / tp * dim.width, storage, tp);
        }
    }

    /// Blocks that share a scale must lie on one device.
    fn blocks(&mut self, name: &'static str, shard: u64, storage: &Storage, ways: u64) {
        let blocked = storage.element == Dtype::Fp8
            && storage.group.is_some_and(|group| group.elements == BLOCK * BLOCK);
        if ways > 1 && blocked && !shard.is_multiple_of(BLOCK) {
            self.add(
                "quantisation blocks",
                format!("shards of {shard} columns of {name} cut the blocks of {BLOCK} that share a scale"),
            );
        }
    }
}
