//! What an estimate rests on, in words.

use crate::hardware::{Device, Provenance};
use crate::model::Model;
use crate::pass::LatentOrder;
use crate::precision::Dtype;
use crate::routing::Routing;
use crate::setup::Setup;
use crate::units::Unit;
use crate::workload::Workload;

/// What an estimate of `workload` rests on; `formats` are those that matrix products are made in.
pub(crate) fn of(
    model: &Model,
    setup: &Setup,
    workload: &Workload,
    device: Option<&Device>,
    formats: &[Dtype],
) -> Vec<String> {
    let mut lines = model.notes.clone();
    let weights = match &model.quantisation {
        Some(name) => format!("weights {name}, the rest {}", model.dtype.as_str()),
        None => format!("weights {}", model.dtype.as_str()),
    };
    lines.push(format!(
        "{weights}; activations {}; cached keys and values {}",
        setup.activation(model).as_str(),
        setup.kv(model).as_str()
    ));
    let units = || model.kinds.iter().flat_map(|kind| &kind.layer.units);
    if units().any(|unit| matches!(unit, Unit::Experts(_))) {
        lines.push(match &setup.routing {
            Routing::Balanced => "routing balanced: as many experts touched as can be".to_owned(),
            Routing::Uniform => "routing uniform: each token chooses each expert with the same chance; skewed routers touch fewer".to_owned(),
            Routing::PowerLaw { alpha } => format!("routing by a power law with exponent {alpha}"),
            Routing::Histogram { visits } => format!("routing as measured, {} experts", visits.len()),
        });
    }
    if units().any(|unit| matches!(unit, Unit::Latent(_))) {
        lines.push(
            match setup.latent {
                LatentOrder::ByPhase => {
                    "latent attention absorbed when decoding, expanded when reading prompts"
                }
                LatentOrder::Absorbed => "latent attention absorbed",
                LatentOrder::Expanded => "latent attention expanded",
            }
            .to_owned(),
        );
    }
    if workload.decode.is_some_and(|decode| decode.draft > 0) {
        lines.push(match model.drafts.is_empty() {
            true => {
                "drafted tokens are checked and taken; what drafts them is not counted, the model has no layer for it"
                    .to_owned()
            }
            false => "drafted tokens come from the model's own draft layers, one pass each; all of them are taken".to_owned(),
        });
    }
    if let Some(device) = device {
        roofline(&mut lines, setup, device, formats);
    }
    lines
}

fn roofline(lines: &mut Vec<String>, setup: &Setup, device: &Device, formats: &[Dtype]) {
    lines.push(
        "each operator takes the longest of its operations, bytes and messages, one after the other; \
         no launches, no waiting; element-wise work is done within its neighbours"
            .to_owned(),
    );
    lines.push(format!("{} at its dense peaks: a lower bound, not a forecast", device.name));
    for dtype in formats {
        match device.matmul_peak(*dtype) {
            Some(peak) => lines.extend(peak.note),
            None => lines.push(format!(
                "no {} rate of {} is known: its matrix products take no time here",
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
        lines.push(
            "exchanges by ring algorithms at the full rate of one device's links, without latency".to_owned(),
        );
    }
    lines.push(format!("{:.0} % of memory is usable", setup.usable * 100.0));
}
