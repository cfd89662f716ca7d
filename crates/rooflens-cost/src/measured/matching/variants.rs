//! Where an implementation does something else than the model needs, and what that costs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reading::{Readings, Way};
use super::{Slot, Traced};
use crate::hardware::Device;
use crate::model::Model;
use crate::precision::Dtype;
use crate::units::Unit;

/// Something that was done in another way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Variant {
    /// `padded`, `ragged`, `absorbed`, `window_not_applied`, `kv_expanded` or `fp32`.
    pub variant: String,
    /// What it is, in a sentence.
    pub about: String,
    /// Layers that have it.
    pub layers: u64,
    /// Operations beyond those that the model needs; below zero where they are fewer.
    pub(crate) extra_flops: i128,
    /// Bytes beyond those.
    pub(crate) extra_bytes: u128,
    /// What these cost at the device's peaks; null without a device.
    pub extra_ns: Option<f64>,
}

pub(super) fn of(
    readings: &Readings,
    model: &Model,
    device: Option<&Device>,
    slots: &[Slot],
    traced: &[Traced],
) -> Vec<Variant> {
    let mut found = Vec::new();
    let padding: u128 = slots
        .iter()
        .filter(|slot| !slot.found.is_empty() && !slot.shared)
        .map(|slot| {
            let times = if slot.expected.place_is_layer() { 1 } else { u128::from(slot.expected.layers) };
            slot.expected.counted.saturating_sub(slot.expected.needed) * times
        })
        .sum();
    if padding > 0 && readings.operators.iter().any(|one| one.counted != one.needed) {
        found.push(Variant {
            variant: "padded".to_owned(),
            about: "padding is processed with the tokens".to_owned(),
            layers: layers(slots, |slot| slot.expected.counted != slot.expected.needed),
            extra_flops: signed(padding),
            extra_bytes: 0,
            extra_ns: at_peak(device, model.dtype, padding, 0),
        });
    }
    found.extend(ways(model, device, slots, traced));
    found.extend(expanded(model, device, slots, traced));
    found.extend(widened(model, device, slots, traced));
    found
}

fn ways(model: &Model, device: Option<&Device>, slots: &[Slot], traced: &[Traced]) -> Vec<Variant> {
    let mut sums: BTreeMap<Way, (u64, i128)> = BTreeMap::new();
    for slot in slots.iter().filter(|slot| !slot.shared) {
        let flops: u128 = slot.found.iter().filter_map(|product| traced[*product].flops).sum();
        let way = slot.expected.others.iter().find(|(_, other)| *other == flops);
        if let Some((way, _)) = way.filter(|_| flops != slot.expected.counted) {
            let (layers, extra) = sums.entry(*way).or_default();
            *layers += 1;
            *extra += signed(flops) - signed(slot.expected.counted);
        }
    }
    let variant = |(way, (layers, extra)): (Way, (u64, i128))| {
        let (variant, about) = match way {
            Way::Absorbed => ("absorbed", "latent attention works on the compressed KV cache"),
            Way::WithoutWindow => (
                "window_not_applied",
                "attention reads all keys, though a sliding window \
            would suffice",
            ),
            Way::WithoutPadding => ("ragged", "padding is left out"),
        };
        Variant {
            variant: variant.to_owned(),
            about: about.to_owned(),
            layers,
            extra_flops: extra,
            extra_bytes: 0,
            extra_ns: u128::try_from(extra).ok().and_then(|extra| at_peak(device, model.dtype, extra, 0)),
        }
    };
    sums.into_iter().map(variant).collect()
}

/// Keys and values that were copied for each head of queries before attention took them in.
fn expanded(model: &Model, device: Option<&Device>, slots: &[Slot], traced: &[Traced]) -> Option<Variant> {
    let (mut layers, mut elements) = (0, 0_u128);
    for slot in slots {
        let Some(kv_heads) = slot.layer.and_then(|layer| kv_heads(model, layer)) else { continue };
        let copied = slot.found.iter().map(|product| &traced[*product]).filter_map(|product| {
            let (_, came_in) = product.heads?;
            let copies = came_in.checked_sub(kv_heads).filter(|copies| *copies > 0)?;
            Some(product.kv_elements * u128::from(copies) / u128::from(came_in))
        });
        let copied: u128 = copied.sum();
        layers += u64::from(copied > 0);
        elements += copied;
    }
    // Written by the copy, and read by attention.
    let bytes = elements * 2 * u128::from(model.dtype.bits()) / 8;
    (elements > 0).then(|| Variant {
        variant: "kv_expanded".to_owned(),
        about: "KV heads are expanded to the number of query heads before attention".to_owned(),
        layers,
        extra_flops: 0,
        extra_bytes: bytes,
        extra_ns: at_peak(device, model.dtype, 0, bytes),
    })
}

fn kv_heads(model: &Model, layer: u32) -> Option<u64> {
    let kind = model.kinds.iter().find(|kind| kind.at.contains(&layer))?;
    kind.layer.units.iter().find_map(|unit| match unit {
        Unit::Attention(attention) => Some(attention.kv_heads),
        _ => None,
    })
}

/// Products of 32 bits in a model of fewer.
fn widened(model: &Model, device: Option<&Device>, slots: &[Slot], traced: &[Traced]) -> Option<Variant> {
    if model.dtype == Dtype::Fp32 {
        return None;
    }
    let is_wide = |slot: &&Slot| slot.found.iter().any(|product| traced[*product].is_fp32);
    let wide: Vec<&Slot> = slots.iter().filter(is_wide).collect();
    let flops: u128 = wide
        .iter()
        .flat_map(|slot| &slot.found)
        .map(|product| &traced[*product])
        .filter(|product| product.is_fp32)
        .filter_map(|product| product.flops)
        .sum();
    let slow = at_peak(device, Dtype::Fp32, flops, 0);
    let fast = at_peak(device, model.dtype, flops, 0);
    (!wide.is_empty()).then(|| Variant {
        variant: "fp32".to_owned(),
        about: format!("matmuls run in fp32 instead of {}", model.dtype.as_str()),
        layers: wide.len() as u64,
        extra_flops: 0,
        extra_bytes: 0,
        extra_ns: slow.zip(fast).map(|(slow, fast)| (slow - fast).max(0.0)),
    })
}

fn layers(slots: &[Slot], is_so: impl Fn(&Slot) -> bool) -> u64 {
    let mut found: Vec<u32> = slots.iter().filter(|slot| is_so(slot)).filter_map(|slot| slot.layer).collect();
    found.sort_unstable();
    found.dedup();
    found.len() as u64
}

/// The time of operations, or of bytes, whichever is longer.
fn at_peak(device: Option<&Device>, format: Dtype, flops: u128, bytes: u128) -> Option<f64> {
    let device = device?;
    let compute = if flops == 0 { 0.0 } else { flops as f64 / device.matmul_peak(format)?.flops_per_s };
    let memory = if bytes == 0 { 0.0 } else { bytes as f64 / device.bandwidth_bytes_per_s? };
    Some(compute.max(memory) * 1e9)
}

fn signed(flops: u128) -> i128 {
    i128::try_from(flops).unwrap_or(i128::MAX)
}
