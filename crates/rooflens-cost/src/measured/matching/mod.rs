//! Products of a trace, each matched with the operator of the static model that it is.
//!
//! Layer by layer and part by part, in the order of execution: an operator is the products whose operations add
//! up to its own, exactly. What fits no operator is listed, and so is what no product was found for.

mod reading;
mod search;
#[cfg(test)]
mod tests;
mod variants;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::reading::{Expected, Readings};
use super::parts::part_of;
use super::work::computed;
use super::{Ran, RunPhase, TimelineSide};
use crate::hardware::Device;
use crate::model::Model;
use crate::setup::Setup;
use crate::tally::OperatorPlace;

pub use variants::Variant;

/// A product of a trace: all calls of an operator in a module of a layer, in a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Traced {
    /// The phase.
    pub phase: RunPhase,
    /// Layer; none outside of layers.
    pub layer: Option<u32>,
    /// The part of the model, as [`part_of`] names it, or another word.
    pub part: String,
    /// Path of the module.
    pub module: String,
    /// The operator, as `aten::linear`.
    pub operator: String,
    /// Calls.
    pub count: u64,
    /// Operations; none where the shapes do not determine them.
    pub flops: Option<u128>,
    /// Of attention: heads of queries, and of keys and values as they came in.
    pub heads: Option<(u64, u64)>,
    /// Of attention: elements of keys and values as they came in.
    pub kv_elements: u128,
    /// Whether all that it takes in has 32 bits.
    pub is_fp32: bool,
    /// Its time.
    pub ns: i64,
}

/// The products of a run beside the operators of its model.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Matches {
    /// Each phase of the profiled round.
    pub phases: BTreeMap<RunPhase, PhaseMatches>,
    /// On which side the time was measured.
    pub(crate) timeline: TimelineSide,
    /// What is matched with what.
    pub rule: String,
    /// What is null, and why.
    pub not_computed: BTreeMap<String, String>,
}

/// The same of a phase.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PhaseMatches {
    /// Forward passes.
    pub(crate) steps: u64,
    /// Operations of the static model, as the framework multiplies.
    pub static_flops: u128,
    /// Operations of the products that were matched.
    pub matched_flops: u128,
    /// Whether they are the same, and nothing is left over on either side.
    pub equal: bool,
    /// Operators of the static model that are products, in the order of execution.
    pub operators: Vec<OperatorMatch>,
    /// Products of the trace that are no operator of the static model.
    pub unmatched: Vec<Unmatched>,
    /// Where the implementation does something else than the model needs.
    pub variants: Vec<Variant>,
    /// What is null, and why.
    pub(crate) not_computed: BTreeMap<String, String>,
}

/// An operator of the static model, all layers that have it together.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OperatorMatch {
    /// Its name, as `qkv_proj`.
    pub name: String,
    /// Its class, as `attn.qkv`.
    pub class: String,
    /// How often it occurs in the model.
    pub layers: u64,
    /// Those for which products were found.
    pub layers_matched: u64,
    /// Whether each was matched by itself, or only together with the others of its part.
    pub(crate) alone: bool,
    /// Operations by the static model.
    pub flops: u128,
    /// Operations of its products.
    pub(crate) matched_flops: u128,
    /// Calls of its products.
    pub(crate) calls: u64,
    /// Modules that they are in, without the layer.
    pub modules: BTreeSet<String>,
    /// Its lower bound on the device; null without one.
    pub floor_ns: Option<f64>,
    /// The time of its products; null where it has none of its own.
    pub measured_ns: Option<i64>,
    /// The lower bound / the time of its products.
    pub floor_share: Option<f64>,
}

/// A product of the trace that is no operator of the static model.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Unmatched {
    /// Layer; null outside of layers.
    pub layer: Option<u32>,
    /// Path of the module.
    pub module: String,
    /// The operator.
    pub operator: String,
    /// Calls.
    pub calls: u64,
    /// Operations; null where the shapes do not determine them.
    pub flops: Option<u128>,
    /// Its time.
    pub ns: i64,
}

const RULE: &str = "within a layer and a part of the model, in the order of execution: an operator of the \
                    static model is matched with the matmuls whose FLOPs, by input shapes, add up to its own \
                    exactly; padding counted, nothing masked, a multiply-add counts as two";

/// Matches the products of a profiled round. `all_logits`: the head was run for every row.
pub fn matches(
    model: &Model,
    setup: &Setup,
    device: Option<&Device>,
    ran: &[Ran],
    traced: &[Traced],
    timeline: TimelineSide,
    all_logits: bool,
) -> Matches {
    let of = |phase: &RunPhase| {
        let ran: Vec<&Ran> = ran.iter().filter(|one| one.shape.phase == *phase).collect();
        let readings = || Readings::of(model, setup, device, &ran, all_logits);
        let traced = || traced.iter().filter(|product| product.phase == *phase).cloned().collect();
        let matched = |readings| of_phase(&readings, model, device, ran.len() as u64, traced());
        (!ran.is_empty()).then(|| (*phase, readings().map(matched)))
    };
    let (phases, not_computed) = computed(RunPhase::ALL.iter().filter_map(of));
    Matches { phases, timeline, rule: RULE.to_owned(), not_computed }
}

struct Slot<'a> {
    expected: &'a Expected,
    layer: Option<u32>,
    found: Vec<usize>,
    shared: bool,
}

impl Slot<'_> {
    fn is_open(&self) -> bool {
        self.found.is_empty() && !self.shared
    }
}

fn of_phase(
    readings: &Readings,
    model: &Model,
    device: Option<&Device>,
    steps: u64,
    traced: Vec<Traced>,
) -> PhaseMatches {
    let mut slots: Vec<Slot> = Vec::new();
    for expected in &readings.operators {
        let one = |layer| Slot { expected, layer, found: Vec::new(), shared: false };
        match expected.place {
            OperatorPlace::Kind(kind) => {
                slots.extend(
                    model.kinds.get(kind).into_iter().flat_map(|kind| &kind.at).map(|at| one(Some(*at))),
                );
            }
            // Times that a tower is gone through do not stand apart in a trace.
            _ => slots.push(one(None)),
        }
    }
    let mut taken = vec![false; traced.len()];
    let mut places: Vec<Option<u32>> = slots.iter().map(|slot| slot.layer).collect();
    places.sort_unstable();
    places.dedup();
    for layer in places {
        match_layer(&mut slots, &traced, &mut taken, layer);
    }
    // A compiled model has no modules: its products stand in no layer.
    let open: Vec<usize> = (0..slots.len()).filter(|slot| slots[*slot].is_open()).collect();
    let is_free = |i: &usize| !taken[*i] && traced[*i].layer.is_none() && traced[*i].flops.is_some();
    let free: Vec<usize> = (0..traced.len()).filter(is_free).collect();
    search::together(&mut slots, &traced, &mut taken, &open, &free);
    let variants = variants::of(readings, model, device, &slots, &traced);
    let operators = operators(readings, &slots, &traced);
    let unmatched: Vec<Unmatched> = traced
        .iter()
        .zip(&taken)
        .filter(|(_, taken)| !**taken)
        .map(|(product, _)| Unmatched {
            layer: product.layer,
            module: product.module.clone(),
            operator: product.operator.clone(),
            calls: product.count,
            flops: product.flops,
            ns: product.ns,
        })
        .collect();
    let static_flops = operators.iter().map(|operator| operator.flops).sum();
    let matched_flops = operators.iter().map(|operator| operator.matched_flops).sum();
    let mut not_computed = BTreeMap::new();
    if let Some(reason) = &readings.no_floor {
        not_computed.insert("operators.floor_ns".to_owned(), reason.clone());
    }
    PhaseMatches {
        steps,
        static_flops,
        matched_flops,
        equal: static_flops == matched_flops && unmatched.is_empty(),
        operators,
        unmatched,
        variants,
        not_computed,
    }
}

/// What a product's module is within its layer: the part that it belongs to decides where it may be matched.
fn match_layer(slots: &mut [Slot], traced: &[Traced], taken: &mut [bool], layer: Option<u32>) {
    let here = |product: &Traced| match product.part.as_str() {
        "vision" => layer.is_none(),
        _ => product.layer == layer,
    };
    let mut parts: Vec<&str> = Vec::new();
    for slot in slots.iter().filter(|slot| slot.layer == layer) {
        let part = part_of(slot.expected.class).unwrap_or_default();
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    // Where modules tell the part, and then all that is left of the layer.
    for part in parts.iter().map(|part| Some(*part)).chain([None]) {
        let open: Vec<usize> = (0..slots.len())
            .filter(|i| slots[*i].layer == layer && slots[*i].is_open())
            .filter(|i| part.is_none_or(|part| part_of(slots[*i].expected.class) == Some(part)))
            .collect();
        let free: Vec<usize> = (0..traced.len())
            .filter(|i| !taken[*i] && here(&traced[*i]) && traced[*i].flops.is_some())
            .filter(|i| match part {
                Some(part) => traced[*i].part == part,
                // Where no module is told, equal numbers of operations are no sign of anything.
                None => !traced[*i].module.is_empty(),
            })
            .collect();
        search::assign(slots, traced, taken, &open, free);
    }
}

fn operators(readings: &Readings, slots: &[Slot], traced: &[Traced]) -> Vec<OperatorMatch> {
    let mut rows = Vec::new();
    for expected in &readings.operators {
        let mine: Vec<&Slot> = slots.iter().filter(|slot| std::ptr::eq(slot.expected, expected)).collect();
        let times = if expected.place_is_layer() { 1 } else { expected.layers };
        let products: Vec<&Traced> =
            mine.iter().flat_map(|slot| &slot.found).map(|product| &traced[*product]).collect();
        let alone = mine.iter().all(|slot| !slot.shared);
        let matched: u64 =
            mine.iter().filter(|slot| !slot.found.is_empty() || slot.shared).count() as u64 * times;
        let layers = expected.layers;
        let floor_ns = expected.floor_ns.map(|ns| ns * layers as f64);
        let measured_ns =
            (alone && !products.is_empty()).then(|| products.iter().map(|product| product.ns).sum::<i64>());
        let share = floor_ns.zip(measured_ns).filter(|(_, measured)| *measured > 0 && matched == layers);
        rows.push(OperatorMatch {
            name: expected.name.to_owned(),
            class: expected.class.to_owned(),
            layers,
            layers_matched: matched,
            alone,
            flops: expected.counted * u128::from(layers),
            matched_flops: match alone {
                true => products.iter().filter_map(|product| product.flops).sum(),
                // Its own part of a sum that is right as a whole.
                false => expected.counted * u128::from(matched),
            },
            calls: products.iter().map(|product| product.count).sum(),
            modules: products.iter().map(|product| below_layer(product)).collect(),
            floor_ns,
            measured_ns,
            floor_share: share.map(|(floor, measured)| floor / measured as f64),
        });
    }
    rows
}

/// `model.layers.3.self_attn.q_proj` is `self_attn.q_proj` in every layer.
fn below_layer(product: &Traced) -> String {
    let Some(layer) = product.layer else { return product.module.clone() };
    let number = format!(".{layer}.");
    product.module.split_once(&number).map_or(product.module.as_str(), |(_, below)| below).to_owned()
}
