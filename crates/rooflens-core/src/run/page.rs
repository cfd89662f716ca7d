//! What the report of a run opens with.

use rooflens_analyze::compare::headline;
use rooflens_report::run::{RunFacts, Times};
use serde_json::Value as Json;

use super::document::RunDocument;
use super::metrics::{Measured, Spread};
use crate::text::{counted, printable};

/// What a report tells of a run beside its trace.
pub(crate) fn facts(document: &RunDocument) -> RunFacts {
    let measured = document.measured.as_ref();
    let times = |of: &headline::RequestTimes, pick: fn(&Measured) -> Option<&Spread>| Times {
        title: of.title.into(),
        p50_ns: measured.and_then(pick).map(|spread| spread.p50),
        p90_ns: measured.and_then(pick).map(|spread| spread.p90),
        p99_ns: measured.and_then(pick).map(|spread| spread.p99),
        mean_ns: measured.and_then(pick).map(|spread| spread.mean),
        reason: measured.and_then(|measured| measured.not_computed.get(of.key)).cloned(),
    };
    let model = document.model.as_ref().and_then(|model| model.get("name")?.as_str());
    RunFacts {
        title: model.into_iter().chain([document.run.as_str()]).collect::<Vec<_>>().join(" · "),
        what: words(document).join(" · "),
        is_whole: document.status == "complete",
        times: vec![
            times(&headline::TTFT, |of| of.ttft_ns.as_ref()),
            times(&headline::TPOT, |of| of.tpot_ns.as_ref()),
            times(&headline::ITL, |of| of.itl_ns.as_ref()),
            times(&headline::LATENCY, |of| of.latency_ns.as_ref()),
            times(&headline::QUEUE, |of| of.queued_ns.as_ref()),
        ],
        load_ns: measured.and_then(|of| of.load_ns),
        warmup: measured.and_then(|of| Some((of.warmup_rounds, of.warmup_ns?))),
        allocator: document.allocator.clone().unwrap_or_default(),
        requests: measured.map(|of| of.requests),
        output_tokens_per_s: measured.and_then(|of| of.output_tokens_per_s),
        decode_tokens_per_s: measured.and_then(|of| of.decode_tokens_per_s),
        efficiency: document.joined.efficiency.clone(),
        flops_check: document.joined.flops_check.clone(),
        matches: document.joined.matches.clone(),
        static_vs_measured: document.joined.static_vs_measured.clone(),
        reasons: document
            .joined
            .reasons
            .iter()
            .map(|(name, why)| ((*name).to_owned(), why.clone()))
            .collect(),
    }
}

/// By what and on what it was run, and how much.
pub fn words(document: &RunDocument) -> Vec<String> {
    let word = |of: &Option<Json>, key: &str| {
        of.as_ref().and_then(|of| of.get(key)).and_then(Json::as_str).map(printable)
    };
    let mut words = Vec::new();
    words.extend(word(&document.model, "weights").map(|source| format!("{source} weights")));
    let runtime = document.runtime.as_ref().and_then(Json::as_str);
    // The package of the runtime's name, or the one beneath it: vLLM may be there and not be used.
    for package in runtime.into_iter().chain(["torch"]) {
        if let Some(version) = word(&document.versions, package) {
            words.push(format!("{package} {version}"));
            break;
        }
    }
    words.extend(word(&document.model, "device_name").or_else(|| word(&document.model, "device")));
    words.extend(word(&document.model, "dtype"));
    if let Some(measured) = document.measured.as_ref().filter(|measured| measured.requests > 0) {
        words.push(format!(
            "{} in {}",
            counted(measured.requests, "prompt"),
            counted(measured.rounds, "round")
        ));
    }
    if document.status != "complete" {
        words.push("incomplete".to_owned());
    }
    words
}
