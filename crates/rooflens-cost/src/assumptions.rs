//! The assumptions of an answer, in words.

use crate::hardware::{Device, Provenance};
use crate::model::Model;
use crate::pass::LatentOrder;
use crate::precision::Dtype;
use crate::routing::Routing;
use crate::setup::Setup;
use crate::step::Mask;
use crate::units::Unit;
use crate::workload::Workload;

pub(crate) fn of(
    model: &Model,
    setup: &Setup,
    workload: &Workload,
    positions: u64,
    device: Option<&Device>,
    formats: &[Dtype],
) -> Vec<String> {
    let mut lines = model.notes.clone();
    let weights = match &model.quantisation {
        Some(name) => format!("weights {name}, the rest {}", model.dtype.as_str()),
        None => format!("weights {}", model.dtype.as_str()),
    };
    lines.push(format!(
        "{weights}; activations {}; KV cache {}{}",
        setup.activation(model).as_str(),
        setup.kv(model).as_str(),
        cache_layout(model, setup)
    ));
    let prompt = workload.prefill.map_or(0, |prefill| prefill.prefix.saturating_add(prefill.tokens));
    let longest = workload.decode.map_or(prompt, |decode| decode.context.max(prompt));
    if let Some(positions) = model.decoder_positions().filter(|positions| longest > *positions) {
        lines.push(format!(
            "{longest} tokens are beyond the {positions} positions of the model (max_position_embeddings)"
        ));
    }
    if crate::memory::cache(model, setup).bytes_per_sequence > 0 {
        lines.push(format!("recurrent states {} (--state-dtype sets it)", setup.state(model).as_str()));
    }
    if model.units().any(|unit| matches!(unit, Unit::Experts(_))) {
        lines.push(match &setup.routing {
            Routing::Balanced => "routing balanced: as many experts activated as possible".to_owned(),
            Routing::Uniform => "routing uniform: each token activates each expert with the same \
                                 probability; skewed routers activate fewer"
                .to_owned(),
            Routing::PowerLaw { alpha } => format!("power-law routing with exponent {alpha}"),
            Routing::Histogram { visits } => format!("routing as measured, {} experts", visits.len()),
        });
    }
    if model.units().any(|unit| matches!(unit, Unit::Latent(_))) {
        lines.push(
            match setup.latent {
                LatentOrder::ByPhase => "MLA absorbed in decode, expanded in prefill",
                LatentOrder::Absorbed => "MLA absorbed",
                LatentOrder::Expanded => "MLA expanded",
            }
            .to_owned(),
        );
    }
    if let Some(encoder) = &model.encoder {
        lines.push(match (encoder.reads_prompt(), workload.prefill) {
            (false, _) => format!(
                "the encoder always processes {positions} positions: audio is padded or \
                                   truncated"
            ),
            (true, Some(_)) => {
                format!(
                    "the encoder processes the prompt of {positions} tokens; the decoder starts with one \
                     token"
                )
            }
            (true, None) => {
                format!("the decoder attends to {positions} encoder positions (--encoder-tokens sets it)")
            }
        });
    }
    if workload.decode.is_some_and(|decode| decode.draft > 0) {
        lines.push(match model.drafts.is_empty() {
            true => {
                "every draft token is accepted; the draft model is not counted, since the model has no draft \
                 layer"
                    .to_owned()
            }
            false => {
                "drafts come from the model's own draft layers, one pass per token; every draft is accepted"
                    .to_owned()
            }
        });
    }
    if let Some(device) = device {
        roofline(&mut lines, setup, device, formats);
        let routed = model.language_parameters().routed > 0;
        let devices = setup.parallel.devices();
        lines.extend(setup.assume.on(device).words(devices, routed, has_narrow_weights(model)));
    }
    lines
}

/// How the cache lies in memory, where its format does not say it all.
fn cache_layout(model: &Model, setup: &Setup) -> &'static str {
    let sparse = |unit: &Unit| matches!(unit, Unit::Latent(latent) if matches!(latent.mask, Mask::TopK(_)));
    match setup.kv(model) {
        Dtype::Fp8 if model.units().any(sparse) => {
            " in FlashMLA's layout (fp8 latent with a scale per 128 elements, 16-bit rotary part, fp8 index keys)"
        }
        _ => "",
    }
}

/// Whether the checkpoint quantises only weights, to 4 bits.
fn has_narrow_weights(model: &Model) -> bool {
    model.units().any(|unit| match unit {
        Unit::Linear(linear) => linear.storage.is_weight_only_4_bit(),
        Unit::Experts(experts) => experts.storage.is_weight_only_4_bit(),
        Unit::Latent(latent) => latent.storage.is_weight_only_4_bit(),
        _ => false,
    })
}

fn roofline(lines: &mut Vec<String>, setup: &Setup, device: &Device, formats: &[Dtype]) {
    lines.push(format!(
        "lower bound: {} at its dense peaks, every operator at the longer of its compute and memory time, one \
         after the other; element-wise work fused; no launch overhead",
        device.name
    ));
    for dtype in formats {
        match device.matmul_peak(*dtype) {
            Some(peak) => lines.extend(peak.note),
            None => lines.push(format!(
                "no {} peak of {} is known: its GEMMs take no time here",
                dtype.as_str(),
                device.name
            )),
        }
    }
    let of = |provenance: &Option<Provenance>| provenance.as_ref().map(|found| found.confidence.as_str());
    match (of(&device.provenance.compute), of(&device.provenance.memory)) {
        (Some(compute), Some(memory)) if compute == memory => {
            lines.push(format!("figures of {}: {compute}", device.name));
        }
        (compute, memory) => {
            for (group, confidence) in [("compute", compute), ("memory", memory)] {
                let line = |confidence| format!("{group} figures of {}: {confidence}", device.name);
                lines.extend(confidence.map(line));
            }
        }
    }
    lines.extend(device.conflicts.iter().map(|conflict| format!("{}: {conflict}", device.name)));
    if setup.parallel.devices() > 1 {
        communication(lines, setup, device);
    }
    let usable = setup.usable * 100.0;
    lines.push(match (device.memory_bytes, &device.memory_reported_by) {
        (None, _) => format!("{usable:.0} % of memory is usable"),
        (Some(_), Some(_)) => format!("{usable:.0} % of the memory that the driver reports is usable"),
        (Some(_), None) => {
            format!(
                "{usable:.0} % of the marketed memory size is usable: what the driver reports is not known"
            )
        }
    });
}

fn communication(lines: &mut Vec<String>, setup: &Setup, device: &Device) {
    let reduced = match device.link_multicast {
        true => "multicast all-reduce (NVLink SHARP)",
        false => "ring all-reduce",
    };
    let dispatch = if setup.parallel.ep > 1 { ", fp8 dispatch to experts" } else { "" };
    lines.push(format!(
        "lower bound: {reduced}, sequence-parallel norms{dispatch}; communication fully overlapped"
    ));
    let devices = setup.parallel.devices();
    let rate = setup.nodes.rate() * 8.0 / 1e9;
    lines.push(match setup.nodes.size.or(device.devices_per_node) {
        Some(node) if node < devices => format!(
            "nodes of {node} devices, {rate:.0} Gb/s per device between nodes (--node-size and --inter-node set them)"
        ),
        Some(node) => format!("all devices in one node of {node}"),
        None => "all devices in one node: its size is not known (--node-size sets it)".to_owned(),
    });
}
