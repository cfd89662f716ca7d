//! `assumptions.md`: everything that a run's numbers rest on, from what stands in the run.

use rooflens_analyze::compare::headline;
use rooflens_collect::RunStage;
use rooflens_report::block::{Block, Cell, Column, Row, Table};
use rooflens_report::cost::markdown;
use rooflens_report::render::Part;
use rooflens_schema::{Note, RunDir};
use serde_json::Value as Json;

use super::super::document::{RunDocument, StepFacts};
use super::super::metrics::Measured;
use super::{PageNumbers, lines};
use crate::saved::read_json;
use crate::text::counted;

pub(super) fn page(run: &RunDir, numbers: &PageNumbers) -> String {
    let spec = read_json(&run.raw(RunStage::Measure.name()).join("spec.json"));
    let plan = read_json(&run.root().join(super::super::config::PLAN));
    let one = read_json(&run.report().join("static_compute.json"));
    let sweep = read_json(&run.report().join("cost_sweep.json"));
    let cost = if one.is_null() { &sweep } else { &one };
    let parts = [
        ("times", "Times", times(numbers.run.measured.as_ref(), &spec)),
        ("passes", "Passes", passes(&numbers.run.steps, &plan)),
        ("peaks", "Peaks", peaks(cost)),
        ("model", "Model cost", model(cost, &numbers.run)),
        (
            "missing",
            "Not computed",
            lines(numbers.missing.iter().map(|(what, why)| format!("`{what}`: {why}"))),
        ),
        ("notes", "Notes", lines(numbers.analysis.notes.iter().map(note))),
    ];
    let parts = parts.into_iter().filter(|(_, _, blocks)| !blocks.is_empty());
    let parts: Vec<Part> = parts.map(|(name, title, blocks)| Part { name, title, blocks }).collect();
    markdown("Assumptions", &parts)
}

/// Tokens per second of decode steps alone, which is no headline metric.
const DECODE_RATE: (&str, &str) =
    ("decode_tokens_per_s", "tokens generated in decode steps / time of these steps");

fn defined() -> impl Iterator<Item = (&'static str, &'static str)> {
    let times = headline::TIMES.iter().map(|times| (times.key, times.definition));
    let rates = headline::ALL.iter().filter(|metric| !metric.is_time());
    times.chain(rates.map(|metric| (metric.key, metric.definition))).chain([DECODE_RATE])
}

fn times(measured: Option<&Measured>, spec: &Json) -> Vec<Block> {
    let Some(measured) = measured else { return Vec::new() };
    // Definitions name numbers by their keys.
    let values = serde_json::to_value(measured).unwrap_or_default();
    let mut sentences: Vec<String> = defined()
        .filter(|(name, _)| !values[*name].is_null())
        .map(|(name, what)| match values[name]["count"].as_u64() {
            Some(count) => format!("`{name}`: {what}; {count} values"),
            None => format!("`{name}`: {}", what.trim_end_matches('.')),
        })
        .collect();
    sentences.push(measured.rule.to_string());
    let config = &spec["config"];
    if let (Some(warm), Some(repeats)) = (config["warmup_rounds"].as_u64(), config["repeats"].as_u64()) {
        let epochs = config["dataset"]["sampling"]["epochs"].as_u64().unwrap_or(1);
        let [warm, repeats, epochs] = [(warm, "warm-up round"), (repeats, "repeat"), (epochs, "epoch")]
            .map(|(count, noun)| counted(usize::try_from(count).unwrap_or(usize::MAX), noun));
        sentences.push(format!("measured: {repeats} of {epochs}; before them, not measured: {warm}"));
    }
    if measured.lost_rows > 0 {
        sentences.push(format!("{} rows could not be read and are not counted", measured.lost_rows));
    }
    lines(sentences)
}

fn passes(steps: &[StepFacts], plan: &Json) -> Vec<Block> {
    let purpose = |name: &str| {
        let steps = plan["steps"].as_array().into_iter().flatten();
        steps.into_iter().find(|step| step["name"] == name).and_then(|step| step["purpose"].as_str())
    };
    let sentence = |step: &StepFacts| {
        let (name, end) = (&step.step, &step.end);
        format!("`{name}`: {}; a separate process, {end}", purpose(name).unwrap_or("purpose unknown"))
    };
    let mut sentences: Vec<String> = steps.iter().map(sentence).collect();
    let (measure, profiler) = (RunStage::Measure.name(), RunStage::TorchProfiler.name());
    if [measure, profiler].iter().all(|name| steps.iter().any(|step| step.step == *name)) {
        sentences.push(format!(
            "headline metrics are from `{measure}` only; results of the trace are from `{profiler}`, whose \
             times include profiler overhead"
        ));
    }
    lines(sentences)
}

const NO_SOURCE: &str = "the catalog names none";

fn peaks(cost: &Json) -> Vec<Block> {
    let device = &cost["hardware"];
    let Some(name) = device["name"].as_str() else {
        if cost.is_null() {
            return Vec::new();
        }
        let swept = swept_devices(cost);
        if !swept.is_empty() {
            return lines([format!("times are compared with the dense peaks of {}", swept.join(", "))]);
        }
        let why = "the device of this run is not in the catalog: no peaks are used, and no fractions of peak are \
             given";
        return lines([why.to_owned()]);
    };
    let mut rows = Vec::new();
    let source = |group: &str, key: &str| {
        let found = device["provenance"][group][key].as_str();
        Cell::or(found, Cell::text, NO_SOURCE)
    };
    let mut row = |what: String, value: Option<f64>, unit: &'static str, group: &str| {
        let Some(value) = value else { return };
        let cells = vec![
            Cell::text(what),
            Cell::amount(value, unit),
            source(group, "confidence"),
            source(group, "source"),
        ];
        rows.push(Row::new(cells));
    };
    for peak in device["peaks"].as_array().into_iter().flatten() {
        let dtype = peak["dtype"].as_str().unwrap_or("?");
        row(format!("dense {dtype}"), peak["flops_per_s"].as_f64(), "FLOP/s", "compute");
    }
    row("bandwidth".to_owned(), device["bandwidth_bytes_per_s"].as_f64(), "B/s", "memory");
    row("memory".to_owned(), device["memory_bytes"].as_f64(), "B", "memory");
    let columns = vec![
        Column::text("peak", "peak"),
        Column::number("value", "value"),
        Column::text("confidence", "confidence"),
        Column::text("source", "source"),
    ];
    let mut blocks = vec![
        Block::Text(format!("Times and fractions of peak are relative to {name}.")),
        Block::Table(Table::of_rows("peaks", columns, rows)),
    ];
    let words =
        ["notes", "conflicts"].into_iter().flat_map(|key| device[key].as_array().into_iter().flatten());
    blocks.extend(lines(words.filter_map(Json::as_str).map(str::to_owned)));
    blocks
}

/// The devices that a sweep asked about: as one that is fixed, or as an axis.
fn swept_devices(cost: &Json) -> Vec<&str> {
    let lists = ["fixed", "axes"].into_iter().flat_map(|key| cost[key].as_array().into_iter().flatten());
    let devices = lists.filter(|list| list["name"] == "hardware");
    devices
        .flat_map(|list| list["values"].as_array().into_iter().flatten())
        .filter_map(Json::as_str)
        .collect()
}

fn model(cost: &Json, run: &RunDocument) -> Vec<Block> {
    if cost.is_null() {
        let reason = run.not_computed.get("static_compute").and_then(Json::as_str);
        return lines(reason.map(|reason| format!("not computed: {reason}")));
    }
    let told = cost["assumptions"].as_array().into_iter().flatten();
    lines(told.filter_map(Json::as_str).map(str::to_owned))
}

fn note(note: &Note) -> String {
    let often = if note.count == 1 { String::new() } else { format!(" ×{}", note.count) };
    format!("{}, `{}`{often}: {}", note.severity.as_str(), note.code, note.message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::numbers;
    use super::*;

    #[test]
    fn only_what_was_measured_is_defined_and_every_reason_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let spread = |count| json!({"count": count, "mean": 1, "std": null, "min": 1, "p50": 1, "p90": 1, "p99": 1, "max": 1});
        let times: serde_json::Map<String, Json> =
            headline::TIMES.iter().map(|times| (times.key.to_owned(), spread(6))).collect();
        let mut measured = Json::Object(times);
        measured["tpot_ns"] = Json::Null;
        measured["output_tokens_per_s"] = json!(2.0);
        measured["rule"] = json!("how it is done");
        measured["lost_rows"] = json!(2);
        measured["not_computed"] = json!({"tpot_ns": "no second token"});
        let numbers = numbers(json!({
            "steps": [{"step": "measure", "end": "done", "duration_ns": 1}],
            "measured": measured,
            "not_computed": {"static_compute": "off"},
            "analysis": {
                "not_computed": [{"analysis": "gaps", "needs": "x", "reason": "no device"}],
                "notes": [{"stage": "ingest", "severity": "warning", "code": "odd", "source": "", "count": 3, "message": "x <b>"}],
            },
        }));
        let page = page(&RunDir::new(folder.path()), &numbers);
        for told in [
            "how it is done",
            "2 rows could not be read",
            "`measured.tpot_ns`: no second token",
            "`static_compute`: off",
            "`analysis.gaps`: no device",
            "warning, `odd` ×3: x &lt;b&gt;",
            headline::find("output_tokens_per_s").unwrap().definition.trim_end_matches('.'),
        ] {
            assert!(page.contains(told), "{told}: {page}");
        }
        for times in headline::TIMES {
            let line = format!("- `{}`: {}; 6 values", times.key, times.definition);
            assert_eq!(page.contains(&line), times.key != "tpot_ns", "{page}");
        }
        assert!(!page.contains("## Peaks"), "{page}");
    }

    #[test]
    fn a_peak_has_its_source() {
        let cost = json!({"hardware": {"name": "Made-up", "peaks": [{"dtype": "bf16", "flops_per_s": 2e12}],
            "bandwidth_bytes_per_s": 1e11, "provenance": {"compute": {"source": "a datasheet", "confidence": "vendor"}}}});
        let page = markdown("t", &[Part { name: "peaks", title: "Peaks", blocks: peaks(&cost) }]);
        assert!(page.contains("| dense bf16 | 2.00 TFLOP/s | vendor | a datasheet |"), "{page}");
        assert!(page.contains("| bandwidth | 100.0 GB/s | – | – |"), "{page}");
        let sweep = json!({"fixed": [{"name": "hardware", "values": ["Made-up"]}], "axes": []});
        assert_eq!(swept_devices(&sweep), ["Made-up"]);
    }
}
