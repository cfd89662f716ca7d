//! `assumptions.md`: everything that a run's numbers rest on, from what stands in the run.

use rooflens_analyze::compare::headline;
use rooflens_collect::RunStage;
use rooflens_report::block::{Block, Cell, Column, Row, Table};
use rooflens_report::cost::markdown;
use rooflens_report::render::Part;
use rooflens_schema::RunDir;
use serde_json::Value as Json;

use crate::saved::read_json;
use crate::text::counted;

/// The page, of a run and its `metrics.json`.
pub(crate) fn page(run: &RunDir, metrics: &Json) -> String {
    let spec = read_json(&run.raw(RunStage::Measure.name()).join("spec.json"));
    let plan = read_json(&run.root().join(super::super::job::PLAN));
    let one = read_json(&run.report().join("static_compute.json"));
    let sweep = read_json(&run.report().join("cost_sweep.json"));
    let cost = if one.is_null() { &sweep } else { &one };
    let parts = [
        ("times", "Times", times(metrics, &spec)),
        ("passes", "Passes", passes(metrics, &plan)),
        ("peaks", "Peaks", peaks(cost)),
        ("model", "Model cost", model(cost, metrics)),
        (
            "missing",
            "Not computed",
            lines(missing(metrics).into_iter().map(|(what, why)| format!("`{what}`: {why}"))),
        ),
        ("notes", "Notes", lines(notes(metrics))),
    ];
    let parts: Vec<Part> = parts
        .into_iter()
        .filter(|(_, _, blocks)| !blocks.is_empty())
        .map(|(name, title, blocks)| Part { name, title, blocks })
        .collect();
    markdown("Assumptions", &parts)
}

fn lines(sentences: impl IntoIterator<Item = String>) -> Vec<Block> {
    let sentences: Vec<String> = sentences.into_iter().collect();
    if sentences.is_empty() { Vec::new() } else { vec![Block::Lines(sentences)] }
}

/// Tokens per second of decode steps alone, which is no headline metric.
const DECODE_RATE: (&str, &str) =
    ("decode_tokens_per_s", "tokens generated in decode steps / time of these steps");

/// What each measured number is, by its key in `metrics.json`.
fn defined() -> impl Iterator<Item = (&'static str, &'static str)> {
    let times = headline::TIMES.iter().map(|times| (times.key, times.definition));
    let rates = headline::ALL.iter().filter(|metric| !metric.is_time());
    times.chain(rates.map(|metric| (metric.key, metric.definition))).chain([DECODE_RATE])
}

fn times(metrics: &Json, spec: &Json) -> Vec<Block> {
    let measured = &metrics["measured"];
    if measured.is_null() {
        return Vec::new();
    }
    let mut sentences: Vec<String> = defined()
        .filter(|(name, _)| !measured[*name].is_null())
        .map(|(name, what)| match measured[name]["count"].as_u64() {
            Some(count) => format!("`{name}`: {what}; {count} values"),
            None => format!("`{name}`: {}", what.trim_end_matches('.')),
        })
        .collect();
    sentences.extend(measured["rule"].as_str().map(str::to_owned));
    let config = &spec["config"];
    if let (Some(warm), Some(repeats)) = (config["warmup_rounds"].as_u64(), config["repeats"].as_u64()) {
        let epochs = config["dataset"]["sampling"]["epochs"].as_u64().unwrap_or(1);
        let [warm, repeats, epochs] = [(warm, "warm-up round"), (repeats, "repeat"), (epochs, "epoch")]
            .map(|(count, noun)| counted(usize::try_from(count).unwrap_or(usize::MAX), noun));
        sentences.push(format!("measured: {repeats} of {epochs}; before them, not measured: {warm}"));
    }
    if let Some(lost) = measured["lost_rows"].as_u64().filter(|lost| *lost > 0) {
        sentences.push(format!("{lost} rows could not be read and are not counted"));
    }
    lines(sentences)
}

/// What each process did, and how it ended.
fn passes(metrics: &Json, plan: &Json) -> Vec<Block> {
    let purpose = |name: &str| {
        let steps = plan["steps"].as_array().into_iter().flatten();
        steps.into_iter().find(|step| step["name"] == name).and_then(|step| step["purpose"].as_str())
    };
    let steps: Vec<&Json> = metrics["steps"].as_array().into_iter().flatten().collect();
    let names = || steps.iter().filter_map(|step| step["step"].as_str());
    let mut sentences: Vec<String> = steps
        .iter()
        .filter_map(|step| {
            let (name, end) = (step["step"].as_str()?, step["end"].as_str()?);
            let purpose = purpose(name).unwrap_or("purpose unknown");
            Some(format!("`{name}`: {purpose}; a separate process, {end}"))
        })
        .collect();
    let (measure, profiler) = (RunStage::Measure.name(), RunStage::TorchProfiler.name());
    if names().any(|name| name == measure) && names().any(|name| name == profiler) {
        sentences.push(format!(
            "headline metrics are from `{measure}` only; results of the trace are from `{profiler}`, whose \
             times include profiler overhead"
        ));
    }
    lines(sentences)
}

const NO_SOURCE: &str = "the catalog names none";

/// What the device is taken to be able to do.
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

fn model(cost: &Json, metrics: &Json) -> Vec<Block> {
    if cost.is_null() {
        let reason = metrics["not_computed"]["static_compute"].as_str();
        return lines(reason.map(|reason| format!("not computed: {reason}")));
    }
    let told = cost["assumptions"].as_array().into_iter().flatten();
    lines(told.filter_map(Json::as_str).map(str::to_owned))
}

fn notes(metrics: &Json) -> Vec<String> {
    let notes = metrics["analysis"]["notes"].as_array().into_iter().flatten();
    let told = notes.filter_map(|note| {
        let (severity, code) = (note["severity"].as_str()?, note["code"].as_str()?);
        let count = note["count"].as_i64().filter(|count| *count != 1);
        let often = count.map_or_else(String::new, |count| format!(" ×{count}"));
        Some(format!("{severity}, `{code}`{often}: {}", note["message"].as_str().unwrap_or_default()))
    });
    told.collect()
}

/// Everything that a document says it did not compute, wherever it says so: what, and why.
pub(crate) fn missing(document: &Json) -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect(document, "", &mut found);
    found
}

fn collect(node: &Json, path: &str, found: &mut Vec<(String, String)>) {
    let Json::Object(fields) = node else { return };
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("not_computed", Json::Object(reasons)) => {
                let told =
                    reasons.iter().filter_map(|(what, why)| Some((below(what), why.as_str()?.to_owned())));
                found.extend(told);
            }
            ("not_computed", Json::Array(reasons)) => {
                let told = reasons.iter().filter_map(|reason| {
                    let (what, why) = (reason["analysis"].as_str()?, reason["reason"].as_str()?);
                    Some((below(what), why.to_owned()))
                });
                found.extend(told);
            }
            _ => collect(value, &below(key), found),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_reason_is_found_wherever_it_stands() {
        let document = json!({
            "not_computed": {"static_compute": "off"},
            "measured": {"not_computed": {"tpot_ns": "one token"}},
            "analysis": {"not_computed": [{"analysis": "gaps", "reason": "no device"}]},
        });
        let expected =
            [("static_compute", "off"), ("measured.tpot_ns", "one token"), ("analysis.gaps", "no device")];
        assert_eq!(missing(&document), expected.map(|(what, why)| (what.to_owned(), why.to_owned())));
    }

    #[test]
    fn only_what_was_measured_is_defined() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(folder.path());
        let metrics = json!({
            "steps": [{"step": "measure", "end": "done"}],
            "measured": {"ttft_ns": {"count": 6}, "tpot_ns": null, "rule": "how it is done", "lost_rows": 2,
                         "not_computed": {"tpot_ns": "no second token"}},
            "analysis": {"notes": [{"severity": "warning", "code": "odd", "count": 3, "message": "x <b>"}]},
        });
        let page = page(&run, &metrics);
        for told in [
            "`ttft_ns`: time from submitting a prompt",
            "6 values",
            "how it is done",
            "2 rows could not be read",
        ] {
            assert!(page.contains(told), "{told}: {page}");
        }
        assert!(
            page.contains("`measured.tpot_ns`: no second token")
                && page.contains("warning, `odd` ×3: x &lt;b&gt;")
        );
        assert!(!page.contains("`tpot_ns`: of each") && !page.contains("## Peaks"), "{page}");
    }

    #[test]
    fn definitions_are_those_of_the_headline_metrics() {
        let metrics = json!({"measured": {"ttft_ns": {"count": 1}, "tpot_ns": {"count": 1}, "itl_ns": {"count": 1},
            "latency_ns": {"count": 1}, "queued_ns": {"count": 1}, "output_tokens_per_s": 2.0}});
        let page =
            markdown("t", &[Part { name: "times", title: "Times", blocks: times(&metrics, &Json::Null) }]);
        for times in headline::TIMES {
            assert!(page.contains(&format!("- `{}`: {}; 1 values", times.key, times.definition)), "{page}");
        }
        let rate = headline::find("output_tokens_per_s").unwrap();
        assert!(page.contains(rate.definition.trim_end_matches('.')), "{page}");
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
