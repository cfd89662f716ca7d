//! `stakeholder_summary.md`: a run on one page, for those who will read only one. Every sentence follows
//! from `metrics.json`, and every number stands there.

use rooflens_analyze::compare::headline::{self, LATENCY, RequestTimes, TPOT, TTFT};
use rooflens_report::block::{Block, Cell, Column, Fact, Row, Table};
use rooflens_report::cost::markdown;
use rooflens_report::format;
use rooflens_report::render::Part;
use serde_json::Value as Json;

use super::assumptions::missing;
use crate::run::kept_value;
use crate::text::capitalised;

/// The page, of the model's name and `metrics.json`.
pub(crate) fn page(model: &str, metrics: &Json) -> String {
    let mut parts = vec![
        Part { name: "lead", title: "", blocks: vec![Block::Lead(lead(model, metrics))] },
        Part { name: "setup", title: "Run", blocks: vec![Block::Facts(setup(metrics))] },
    ];
    let titled = [
        ("numbers", "Headline numbers", numbers(metrics)),
        ("findings", "Findings", listed(findings(metrics))),
        ("missing", "Missing", listed(not_there(metrics))),
    ];
    for (name, title, blocks) in titled {
        if !blocks.is_empty() {
            parts.push(Part { name, title, blocks });
        }
    }
    parts.retain(|part| !matches!(part.blocks.as_slice(), [Block::Facts(facts)] if facts.is_empty()));
    markdown(&format!("{model}: summary"), &parts)
}

fn listed(sentences: Vec<String>) -> Vec<Block> {
    if sentences.is_empty() { Vec::new() } else { vec![Block::Lines(sentences)] }
}

/// A headline metric, by its name.
fn headline_value(metrics: &Json, name: &str) -> Option<f64> {
    kept_value(metrics, headline::find(name)?)
}

fn lead(model: &str, metrics: &Json) -> String {
    let on = device(metrics).map_or_else(String::new, |device| format!(" on {device}"));
    let rate = headline_value(metrics, "output_tokens_per_s").map(format::mean);
    let [ttft, tpot] = ["ttft_p50", "tpot_p50"].map(|name| headline_value(metrics, name).map(format::time));
    let mut sentences = Vec::new();
    match (rate, ttft, tpot) {
        (Some(rate), Some(ttft), Some(tpot)) => sentences.push(format!(
            "{model} generates {rate} tokens/s{on}: {} {ttft}, {} {tpot} (medians).",
            TTFT.words, TPOT.words
        )),
        (Some(rate), Some(ttft), None) => {
            sentences.push(format!("{model} generates {rate} tokens/s{on}: {} {ttft} (median).", TTFT.words))
        }
        _ => {
            let why = missing(metrics).into_iter().find(|(what, _)| what.starts_with("measured"));
            let why = why.map_or_else(String::new, |(_, why)| format!(": {why}"));
            sentences.push(format!("The speed of {model} was not measured{why}."));
        }
    }
    sentences.extend(failures(metrics));
    sentences.join(" ")
}

fn failures(metrics: &Json) -> Vec<String> {
    let steps = metrics["steps"].as_array().into_iter().flatten();
    let failed = steps.filter_map(|step| {
        let (name, end) = (step["step"].as_str()?, step["end"].as_str()?);
        (end != "done")
            .then(|| format!("The run is incomplete: `{name}` ended as {}.", end.replace('_', " ")))
    });
    failed.collect()
}

fn device(metrics: &Json) -> Option<&str> {
    let model = &metrics["model"];
    model["device_name"].as_str().or_else(|| model["device"].as_str())
}

fn setup(metrics: &Json) -> Vec<Fact> {
    let (model, measured) = (&metrics["model"], &metrics["measured"]);
    let mut facts = Vec::new();
    let mut word = |label: &str, value: Option<&str>| {
        facts.extend(value.map(|value| Fact::new(label, Cell::text(value))));
    };
    word("architecture", model["architecture"].as_str());
    word("format", model["dtype"].as_str());
    word("device", device(metrics));
    let runtime = metrics["runtime"].as_str();
    word("runtime", runtime);
    for package in ["torch", "vllm"].into_iter().filter(|name| *name == "torch" || Some(*name) == runtime) {
        word(package, metrics["versions"][package].as_str());
    }
    word("dataset", metrics["dataset"]["name"].as_str());
    let mut count = |label: &str, value: &Json, cell: fn(f64) -> Cell| {
        facts.extend(value.as_f64().map(|value| Fact::new(label, cell(value))));
    };
    let counted: fn(f64) -> Cell = |value| Cell::Count(value as i64);
    count("parameters", &model["parameters"], Cell::Params);
    count("batch", &metrics["dataset"]["batch_size"], counted);
    count("requests", &measured["requests"], counted);
    count("tokens read", &measured["prompt_tokens"], counted);
    count("generated tokens", &measured["output_tokens"], counted);
    facts
}

/// Times that people ask for.
const TIMES: &[&RequestTimes] = &[&TTFT, &TPOT, &LATENCY];

fn numbers(metrics: &Json) -> Vec<Block> {
    let measured = &metrics["measured"];
    let rows: Vec<Row> = TIMES
        .iter()
        .filter(|times| measured[times.key].is_object())
        .map(|times| {
            let cell = |key: &str| {
                Cell::or(measured[times.key][key].as_f64(), Cell::MeanTime, "it was not measured")
            };
            Row::new(vec![Cell::text(times.words), cell("p50"), cell("p99"), cell("mean")])
        })
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        Column::text("what", "what"),
        Column::number("p50_ns", "median"),
        Column::number("p99_ns", "p99"),
        Column::number("mean_ns", "mean"),
    ];
    let mut blocks = vec![Block::Table(Table::of_rows("numbers", columns, rows))];
    let rates = [("output_tokens_per_s", "tokens/s in total"), ("decode_tokens_per_s", "tokens/s in decode")];
    let rates =
        rates.iter().filter_map(|(key, label)| Some(Fact::new(*label, Cell::Mean(measured[*key].as_f64()?))));
    let rates: Vec<Fact> = rates.collect();
    if !rates.is_empty() {
        blocks.push(Block::Facts(rates));
    }
    blocks
}

/// A tail this many times the median is worth a word.
const LONG_TAIL: f64 = 2.0;
/// A deviation of this part of the mean is worth a word.
const WIDE: f64 = 0.1;

fn findings(metrics: &Json) -> Vec<String> {
    let mut told = Vec::new();
    told.extend(metrics["analysis"]["verdict"]["sentence"].as_str().map(str::to_owned));
    told.extend(phases(metrics));
    for times in TIMES {
        let of = |key: &str| metrics["measured"][times.key][key].as_f64();
        let (Some(p50), Some(p99)) = (of("p50"), of("p99")) else { continue };
        let shown = [p50, p99].map(format::time);
        if p50 > 0.0 && p99 >= LONG_TAIL * p50 {
            told.push(format!(
                "Long tail: {} is {} at the 99th percentile, {} at the median.",
                times.words, shown[1], shown[0]
            ));
        }
        if let (Some(mean), Some(std)) = (of("mean"), of("std"))
            && times.key == TPOT.key
        {
            let (shown, is_wide) = ([mean, std].map(format::time), std >= WIDE * mean);
            let verdict = if is_wide { "spreads widely" } else { "is steady" };
            let what = TPOT.words;
            told.push(format!("The {what} {verdict}: mean {}, standard deviation {}.", shown[0], shown[1]));
        }
    }
    let memory = &metrics["memory"];
    if let Some(bytes) = memory["device"]["peak_allocated_bytes"].as_f64() {
        told.push(format!("Peak device memory: {} allocated.", format::bytes(bytes)));
    } else if let Some(bytes) = memory["host_peak_rss_bytes"].as_f64() {
        told.push(format!("Peak host memory of the process: {}.", format::bytes(bytes)));
    }
    told.extend(
        metrics["analysis"]["verdict"]["next"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .map(|next| format!("To look at next: {next}")),
    );
    told
}

/// Which phase of the forward passes takes the most time.
fn phases(metrics: &Json) -> Option<String> {
    let phases = metrics["measured"]["phases_ns"].as_object()?;
    let mut times: Vec<(&str, f64)> =
        phases.iter().filter_map(|(name, ns)| Some((name.as_str(), ns.as_f64()?))).collect();
    times.sort_by(|one, other| other.1.total_cmp(&one.1));
    let (most, _) = *times.first()?;
    let words: Vec<String> = times.iter().map(|(name, ns)| format!("{name} {}", format::time(*ns))).collect();
    let words = words.join(", ");
    Some(match times.len() {
        1 => format!("All forward-pass time is {most}: {words}."),
        _ => format!("Most forward-pass time is {most}: {words}."),
    })
}

/// What a reader of one page misses, in words; everything else is in `assumptions.md`.
const MISSED: &[(&str, &str)] = &[
    ("measured", "Speed"),
    ("static_compute", "Model cost"),
    ("efficiency", "Fraction of the device's peak (MFU, MBU)"),
    ("sampled", "Power, clocks and memory over time"),
];

/// The words for a measured number that readers ask for, by its key in `metrics.json`.
fn headline_words(key: &str) -> Option<String> {
    let times = [&TTFT, &TPOT].into_iter().find(|times| times.key == key).map(|times| times.words);
    let rate = || headline::ALL.iter().find(|metric| !metric.is_time() && metric.key == key);
    times.or_else(|| rate().map(|metric| metric.title)).map(capitalised)
}

/// What is not there: those that readers ask for with their reason, then where the others are.
fn not_there(metrics: &Json) -> Vec<String> {
    let all = missing(metrics);
    let named = |what: &str| {
        let own = MISSED.iter().find(|(key, _)| *key == what).map(|(_, words)| (*words).to_owned());
        own.or_else(|| what.strip_prefix("measured.").and_then(headline_words))
    };
    let mut told: Vec<String> =
        all.iter().filter_map(|(what, why)| Some(format!("{}: {why}", named(what)?))).collect();
    if all.iter().any(|(what, _)| named(what).is_none()) {
        told.push("Everything else that was not computed, with the reason: assumptions.md.".to_owned());
    }
    told
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spread(p50: f64, p99: f64, mean: f64, std: f64) -> Json {
        json!({"count": 6, "mean": mean, "std": std, "min": p50, "p50": p50, "p90": p99, "p99": p99, "max": p99})
    }

    fn slow() -> Json {
        json!({
            "status": "complete",
            "model": {"architecture": "LlamaForCausalLM", "parameters": 3_282_176, "dtype": "bfloat16", "device": "cpu"},
            "runtime": "pytorch", "versions": {"torch": "2.13.0"}, "dataset": {"name": "starter", "batch_size": 1},
            "memory": {"device": null, "host_peak_rss_bytes": 803_622_912},
            "steps": [{"step": "measure", "end": "done"}],
            "measured": {"requests": 18, "prompt_tokens": 6087, "output_tokens": 72,
                "ttft_ns": spread(50_663_724.5, 305_668_221.0, 102_265_077.8, 1e6),
                "tpot_ns": spread(24_907_915.3, 32_458_036.0, 23_879_028.2, 7_095_890.3),
                "latency_ns": spread(123_177_834.5, 200_760_258.0, 173_902_162.5, 1e6),
                "output_tokens_per_s": 21.812, "decode_tokens_per_s": 41.877,
                "phases_ns": {"decode": 429_822_508, "prefill": 613_590_467}, "not_computed": {}},
            "not_computed": {"static_compute": "the stage static_analysis is off"},
            "analysis": {"verdict": {"sentence": "CPU-only trace: aten::mm takes 46% of operator self time.", "next": []},
                "not_computed": [{"analysis": "gaps", "reason": "no device"}, {"analysis": "kernels", "reason": "no device"}]},
        })
    }

    fn failed() -> Json {
        json!({
            "model": null, "steps": [{"step": "measure", "end": "timed_out"}],
            "measured": {"requests": 0, "ttft_ns": null, "phases_ns": {},
                "not_computed": {"ttft_ns": "no measured request was completed"}},
        })
    }

    /// Numbers that begin no word's middle: `p99` has none.
    fn numbers_of(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut before = ' ';
        let mut current = String::new();
        for c in text.chars().chain([' ']) {
            let goes_on = !current.is_empty() && (c.is_ascii_digit() || c == '.' || c == ',');
            if goes_on || (c.is_ascii_digit() && !before.is_alphanumeric()) {
                current.push(c);
            } else if !current.is_empty() {
                found.push(current.trim_end_matches(['.', ',']).to_owned());
                current.clear();
            }
            before = c;
        }
        found
    }

    /// Every way in which a number of the document may be written, and every number in its texts.
    fn written(node: &Json, into: &mut Vec<String>) {
        match node {
            Json::Number(number) => {
                let value = number.as_f64().unwrap();
                let forms = [
                    format::time(value),
                    format::mean(value),
                    format::bytes(value),
                    format::parameters(value),
                ];
                into.extend(forms.iter().flat_map(|form| numbers_of(form)));
                into.extend(numbers_of(&format::count(value as i64)));
            }
            Json::String(text) => into.extend(numbers_of(text)),
            Json::Array(items) => items.iter().for_each(|item| written(item, into)),
            Json::Object(fields) => fields.values().for_each(|item| written(item, into)),
            _ => {}
        }
    }

    #[test]
    fn every_number_is_one_of_the_documents() {
        for metrics in [slow(), failed()] {
            let page = page("tiny-random", &metrics);
            let mut known = Vec::new();
            written(&metrics, &mut known);
            // The word for a percentile.
            let page = page.replace("99th", "");
            for number in numbers_of(&page) {
                assert!(known.contains(&number), "{number} is not in metrics.json: {page}");
            }
        }
        assert!(numbers_of(&page("tiny-random", &slow())).len() > 20);
    }

    #[test]
    fn another_run_has_other_words() {
        let (one, mut fast) = (page("tiny-random", &slow()), slow());
        assert!(
            one.contains("**tiny-random generates 21.8 tokens/s on cpu: time to first token 50.66 ms"),
            "{one}"
        );
        assert!(one.contains("- Long tail: time to first token is 305.7 ms at the 99th percentile"), "{one}");
        assert!(one.contains("spreads widely") && one.contains("Most forward-pass time is prefill"));
        assert!(one.contains("- Model cost: the stage static_analysis is off\n"), "{one}");
        assert!(!one.contains("analysis.") && one.contains("assumptions.md"), "{one}");
        fast["measured"]["ttft_ns"] = spread(5e7, 6e7, 5.1e7, 1e6);
        fast["measured"]["tpot_ns"] = spread(2e7, 2.1e7, 2e7, 1e5);
        fast["measured"]["phases_ns"] = json!({"decode": 900, "prefill": 100});
        let other = page("tiny-random", &fast);
        assert!(other.contains("is steady") && other.contains("Most forward-pass time is decode"), "{other}");
        assert!(!other.contains("Long tail"), "{other}");
    }

    #[test]
    fn a_failed_run_has_no_numbers() {
        let page = page("tiny-random", &failed());
        let lead = "**The speed of tiny-random was not measured: no measured request was completed. The run is \
                    incomplete: `measure` ended as timed out.**";
        assert!(page.contains(lead), "{page}");
        assert!(!page.contains("Headline") && !page.contains("tokens/s"), "{page}");
    }
}
