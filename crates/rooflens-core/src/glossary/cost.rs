//! What the cost model knows by name.

use rooflens_cost::blueprint::WEIGHT_FORMATS;
use rooflens_cost::hardware::{Device, Provenance};
use rooflens_cost::{classes, families, metrics};
use rooflens_report::format;

use super::entry::{GlossaryEntry, plain};
use crate::model::files::DeviceCatalog;
use crate::project;

pub(crate) fn hardware() -> Vec<GlossaryEntry> {
    known().devices().iter().map(device).collect()
}

/// Those of Rooflens and the project's own; a file of the project that cannot be read is told by whoever
/// needs it.
fn known() -> DeviceCatalog {
    DeviceCatalog::read(&project::hardware()).unwrap_or_else(|_| DeviceCatalog::embedded())
}

pub(crate) fn device_called(name: &str) -> Option<GlossaryEntry> {
    known().find(name).ok().map(device)
}

fn device(device: &Device) -> GlossaryEntry {
    let peaks = device.peaks.iter().filter(|rate| rate.accumulate.is_none());
    let peaks =
        peaks.map(|rate| format!("{} {}", rate.dtype.as_str(), format::amount(rate.flops_per_s, "FLOP/s")));
    let peaks: Vec<String> = peaks.collect();
    let amount = |value: Option<f64>, unit| value.map(|value| format::amount(value, unit));
    let bandwidth = amount(device.bandwidth_bytes_per_s, "B/s");
    let memory = amount(device.memory_bytes.map(|bytes| bytes as f64), "B");
    let known: Vec<String> = [memory, bandwidth]
        .into_iter()
        .flatten()
        .chain(peaks.iter().find(|peak| peak.starts_with("bf16")).cloned())
        .collect();
    let mut lines = vec![format!(
        "dense peaks: {}",
        if peaks.is_empty() { "not known".to_owned() } else { peaks.join(", ") }
    )];
    let mut add =
        |name: &str, value: Option<String>| lines.extend(value.map(|value| format!("{name}: {value}")));
    add("memory size from", device.memory_reported_by.clone());
    add("L2", amount(device.l2_bytes.map(|bytes| bytes as f64), "B"));
    add("compute units", device.compute_units.map(|units| units.to_string()));
    add("TDP", amount(device.tdp_watts, "W"));
    add("link to other devices", amount(device.link_bytes_per_s, "B/s"));
    add("devices per node", device.devices_per_node.map(|devices| devices.to_string()));
    add("link to the host", amount(device.host_link_bytes_per_s, "B/s"));
    add("best measured bf16 matmul", amount(device.measured_bf16_matmul_flops_per_s, "FLOP/s"));
    let source = |provenance: &Option<Provenance>| {
        provenance.as_ref().map(|found| format!("{}; {}", found.confidence.as_str(), found.source))
    };
    add("compute figures", source(&device.provenance.compute));
    add("memory figures", source(&device.provenance.memory));
    add("other figures", source(&device.provenance.package));
    add("also called", (!device.aliases.is_empty()).then(|| device.aliases.join(", ")));
    lines.extend(device.conflicts.iter().map(|conflict| format!("sources disagree: {conflict}")));
    lines.extend(device.notes.iter().map(|note| format!("note: {note}")));
    GlossaryEntry {
        detail: lines.join("\n"),
        ..plain(&device.name, format!("{} {}: {}", device.vendor, device.arch, known.join(", ")))
    }
}

pub(crate) fn families() -> Vec<GlossaryEntry> {
    let entry = |family: &families::Family| GlossaryEntry {
        detail: format!("model_type: {}", family.model_types.join(", ")),
        ..plain(family.name, family.about)
    };
    families::ALL.iter().map(entry).collect()
}

pub(crate) fn metrics() -> Vec<GlossaryEntry> {
    let entry = |metric: &metrics::CostMetric| GlossaryEntry {
        unit: metric.unit.into(),
        detail: format!("formula: {}\nsource: {}", metric.formula, metric.source),
        ..plain(metric.name, metric.about)
    };
    metrics::ALL.iter().map(entry).collect()
}

pub(crate) fn classes() -> Vec<GlossaryEntry> {
    classes::ALL.iter().map(|(name, about)| plain(*name, *about)).collect()
}

pub(crate) fn weight_formats() -> Vec<GlossaryEntry> {
    WEIGHT_FORMATS.iter().map(|(name, about)| plain(*name, *about)).collect()
}
