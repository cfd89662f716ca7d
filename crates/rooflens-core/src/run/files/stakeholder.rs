//! `stakeholder_summary.md`: a run on one page, for those who will read only one. Every sentence follows
//! from `metrics.json`, and every number stands there.

use rooflens_analyze::analyses::Verdict;
use rooflens_analyze::compare::headline::{self, LATENCY, RequestTimes, TPOT, TTFT};
use rooflens_report::block::{Block, Cell, Column, Fact, Row, Table};
use rooflens_report::cost::markdown;
use rooflens_report::format;
use rooflens_report::render::Part;
use serde_json::Value as Json;

use super::super::document::RunDocument;
use super::super::metrics::{Measured, Spread};
use super::{PageNumbers, device, lines, text};
use crate::text::capitalised;

pub(super) fn page(model: &str, numbers: &PageNumbers) -> String {
    let parts = [
        ("lead", "", vec![Block::Lead(lead(model, numbers))]),
        ("setup", "Run", facts(setup(&numbers.run))),
        (
            "numbers",
            "Headline numbers",
            numbers.run.measured.as_ref().map(headline_numbers).unwrap_or_default(),
        ),
        ("findings", "Findings", lines(findings(numbers))),
        ("missing", "Missing", lines(not_there(&numbers.missing))),
    ];
    let parts = parts.into_iter().filter(|(_, _, blocks)| !blocks.is_empty());
    let parts: Vec<Part> = parts.map(|(name, title, blocks)| Part { name, title, blocks }).collect();
    markdown(&format!("{model}: summary"), &parts)
}

fn facts(facts: Vec<Fact>) -> Vec<Block> {
    if facts.is_empty() { Vec::new() } else { vec![Block::Facts(facts)] }
}

fn lead(model: &str, numbers: &PageNumbers) -> String {
    let run = &numbers.run;
    let on = device(run).map_or_else(String::new, |device| format!(" on {device}"));
    let measured = run.measured.as_ref();
    let rate = measured.and_then(|of| of.output_tokens_per_s).map(format::mean);
    let median = |spread: Option<&Spread>| spread.map(|spread| format::time(spread.p50));
    let ttft = median(measured.and_then(|of| of.ttft_ns.as_ref()));
    let tpot = median(measured.and_then(|of| of.tpot_ns.as_ref()));
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
            let why = numbers.missing.iter().find(|(what, _)| what.starts_with("measured"));
            let why = why.map_or_else(String::new, |(_, why)| format!(": {why}"));
            sentences.push(format!("The speed of {model} was not measured{why}."));
        }
    }
    let failed = run.steps.iter().filter(|step| step.end != "done");
    sentences.extend(failed.map(|step| {
        format!("The run is incomplete: `{}` ended as {}.", step.step, step.end.replace('_', " "))
    }));
    sentences.join(" ")
}

fn setup(run: &RunDocument) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut word = |label: &str, value: Option<&str>| {
        facts.extend(value.map(|value| Fact::new(label, Cell::text(value))));
    };
    word("architecture", text(&run.model, "architecture"));
    word("format", text(&run.model, "dtype"));
    word("device", device(run));
    let runtime = run.runtime.as_ref().and_then(Json::as_str);
    word("runtime", runtime);
    for package in ["torch", "vllm"].into_iter().filter(|name| *name == "torch" || Some(*name) == runtime) {
        word(package, text(&run.versions, package));
    }
    word("dataset", text(&run.dataset, "name"));
    let number = |object: &Option<Json>, key: &str| object.as_ref()?.get(key)?.as_f64();
    let parameters = number(&run.model, "parameters").map(Cell::Params);
    facts.extend(parameters.map(|cell| Fact::new("parameters", cell)));
    let mut count = |label: &str, value: Option<i64>| {
        facts.extend(value.map(|value| Fact::new(label, Cell::Count(value))));
    };
    count("batch", number(&run.dataset, "batch_size").map(|size| size as i64));
    let measured = run.measured.as_ref();
    count("requests", measured.map(|of| of.requests as i64));
    count("tokens read", measured.map(|of| of.prompt_tokens as i64));
    count("generated tokens", measured.map(|of| of.output_tokens as i64));
    facts
}

fn asked(measured: &Measured) -> [(&'static RequestTimes, Option<&Spread>); 3] {
    [
        (&TTFT, measured.ttft_ns.as_ref()),
        (&TPOT, measured.tpot_ns.as_ref()),
        (&LATENCY, measured.latency_ns.as_ref()),
    ]
}

fn headline_numbers(measured: &Measured) -> Vec<Block> {
    let row = |(times, spread): (&RequestTimes, Option<&Spread>)| {
        let Spread { p50, p99, mean, .. } = *spread?;
        let cells = [p50, p99, mean].map(Cell::MeanTime);
        Some(Row::new([Cell::text(times.words)].into_iter().chain(cells).collect()))
    };
    let rows: Vec<Row> = asked(measured).into_iter().filter_map(row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        Column::text("what", "what"),
        Column::number("p50_ns", "median"),
        Column::number("p99_ns", "p99"),
        Column::number("mean_ns", "mean"),
    ];
    let rates = [
        ("tokens/s in total", measured.output_tokens_per_s),
        ("tokens/s in decode", measured.decode_tokens_per_s),
    ];
    let rates = rates.into_iter().filter_map(|(label, rate)| Some(Fact::new(label, Cell::Mean(rate?))));
    let table = Block::Table(Table::of_rows("numbers", columns, rows));
    [table].into_iter().chain(facts(rates.collect())).collect()
}

/// A tail this many times the median is worth a word.
const LONG_TAIL: f64 = 2.0;
/// A deviation of this part of the mean is worth a word.
const WIDE: f64 = 0.1;

fn findings(numbers: &PageNumbers) -> Vec<String> {
    let (run, verdict) = (&numbers.run, numbers.analysis.get::<Verdict>());
    let mut told = Vec::new();
    told.extend(verdict.map(|verdict| verdict.sentence.clone()));
    if let Some(measured) = &run.measured {
        told.extend(phases(measured));
        for (times, spread) in asked(measured) {
            let Some(spread) = spread else { continue };
            let [p50, p99, mean] = [spread.p50, spread.p99, spread.mean].map(format::time);
            let words = times.words;
            if spread.p50 > 0.0 && spread.p99 >= LONG_TAIL * spread.p50 {
                told.push(format!(
                    "Long tail: {words} is {p99} at the 99th percentile, {p50} at the median."
                ));
            }
            if let Some(std) = spread.std.filter(|_| times.key == TPOT.key) {
                let verdict = if std >= WIDE * spread.mean { "spreads widely" } else { "is steady" };
                let std = format::time(std);
                told.push(format!("The {words} {verdict}: mean {mean}, standard deviation {std}."));
            }
        }
    }
    let memory = |place: &str| run.memory.as_ref()?.pointer(place)?.as_f64().map(format::bytes);
    if let Some(bytes) = memory("/device/peak_allocated_bytes") {
        told.push(format!("Peak device memory: {bytes} allocated."));
    } else if let Some(bytes) = memory("/host_peak_rss_bytes") {
        told.push(format!("Peak host memory of the process: {bytes}."));
    }
    let next = verdict.into_iter().flat_map(|verdict| &verdict.next);
    told.extend(next.map(|next| format!("To look at next: {next}")));
    told
}

fn phases(measured: &Measured) -> Option<String> {
    let mut times: Vec<(&String, &u64)> = measured.phases_ns.iter().collect();
    times.sort_by(|one, other| other.1.cmp(one.1));
    let (most, _) = times.first()?;
    let words: Vec<String> =
        times.iter().map(|(name, ns)| format!("{name} {}", format::time(**ns as f64))).collect();
    let share = if times.len() == 1 { "All" } else { "Most" };
    Some(format!("{share} forward-pass time is {most}: {}.", words.join(", ")))
}

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
fn not_there(all: &[(String, String)]) -> Vec<String> {
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

    use super::super::tests::numbers;
    use super::*;

    fn shown(metrics: &Json) -> String {
        page("tiny-random", &numbers(metrics.clone()))
    }

    fn spread(p50: f64, p99: f64, mean: f64, std: f64) -> Json {
        json!({"count": 6, "mean": mean, "std": std, "min": p50, "p50": p50, "p90": p99, "p99": p99, "max": p99})
    }

    fn slow() -> Json {
        json!({
            "status": "complete",
            "model": {"architecture": "LlamaForCausalLM", "parameters": 3_282_176, "dtype": "bfloat16", "device": "cpu"},
            "runtime": "pytorch", "versions": {"torch": "2.13.0"}, "dataset": {"name": "starter", "batch_size": 1},
            "memory": {"device": null, "host_peak_rss_bytes": 803_622_912},
            "steps": [{"step": "measure", "end": "done", "duration_ns": 1}],
            "measured": {"requests": 18, "prompt_tokens": 6087, "output_tokens": 72,
                "ttft_ns": spread(50_663_724.5, 305_668_221.0, 102_265_077.8, 1e6),
                "tpot_ns": spread(24_907_915.3, 32_458_036.0, 23_879_028.2, 7_095_890.3),
                "latency_ns": spread(123_177_834.5, 200_760_258.0, 173_902_162.5, 1e6),
                "output_tokens_per_s": 21.812, "decode_tokens_per_s": 41.877,
                "phases_ns": {"decode": 429_822_508, "prefill": 613_590_467}, "not_computed": {}},
            "not_computed": {"static_compute": "the stage static_analysis is off"},
            "analysis": {"verdict": {"sentence": "CPU-only trace: aten::mm takes 46% of operator self time.", "shares": [], "next": []},
                "not_computed": [{"analysis": "gaps", "needs": "x", "reason": "no device"}, {"analysis": "kernels", "needs": "x", "reason": "no device"}]},
        })
    }

    fn failed() -> Json {
        json!({
            "model": null, "steps": [{"step": "measure", "end": "timed_out", "duration_ns": 1}],
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
            let page = shown(&metrics);
            let mut known = Vec::new();
            written(&metrics, &mut known);
            // The word for a percentile.
            let page = page.replace("99th", "");
            for number in numbers_of(&page) {
                assert!(known.contains(&number), "{number} is not in metrics.json: {page}");
            }
        }
        assert!(numbers_of(&shown(&slow())).len() > 20);
    }

    #[test]
    fn another_run_has_other_words() {
        let (one, mut fast) = (shown(&slow()), slow());
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
        let other = shown(&fast);
        assert!(other.contains("is steady") && other.contains("Most forward-pass time is decode"), "{other}");
        assert!(!other.contains("Long tail"), "{other}");
    }

    #[test]
    fn a_failed_run_has_no_numbers() {
        let page = shown(&failed());
        let lead = "**The speed of tiny-random was not measured: no measured request was completed. The run is \
                    incomplete: `measure` ended as timed out.**";
        assert!(page.contains(lead), "{page}");
        assert!(!page.contains("Headline") && !page.contains("tokens/s"), "{page}");
    }
}
