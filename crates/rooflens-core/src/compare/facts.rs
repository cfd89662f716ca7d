//! What a run says of itself and of its machine.

use std::collections::{BTreeMap, BTreeSet};

use rooflens_analyze::compare::headline;
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_schema::parquet_io::read_table;
use rooflens_schema::tables::{Runs, TraceMeta};
use rooflens_schema::{RunDir, stable_id};
use serde_json::Value as Json;

use crate::saved::read_json;

pub(crate) type Facts = BTreeMap<&'static str, String>;

/// Where the workload told a fact: its name, the event and the field.
const TOLD: &[(&str, &str, &str)] = &[
    ("model", "model", "name"),
    ("architecture", "model", "architecture"),
    ("parameters", "model", "parameters"),
    ("dtype", "model", "dtype"),
    ("weights", "model", "weights"),
    ("attention", "model", "attention"),
    ("compile", "model", "compile"),
    ("device", "model", "device_name"),
    ("runtime", "hello", "runtime"),
    ("python", "hello", "python"),
    ("rooflens", "hello", "rooflens"),
    ("dataset", "dataset", "name"),
    ("batch_size", "dataset", "batch_size"),
];
/// Output tokens per request of a load test: a server that stops early is faster.
pub(crate) const OUTPUT_LENGTH: &str = "output_tokens_per_request";
pub(crate) const LIBRARIES: &[&str] =
    &["torch", "transformers", "vllm", "tensorrt-llm", "triton", "flash-attn"];
const PROPERTIES: &[(&str, &str)] = &[
    ("cuda_driver_version", "cuda_driver"),
    ("hip_driver_version", "hip_driver"),
    ("cuda_runtime_version", "cuda_runtime"),
    ("hip_runtime_version", "hip_runtime"),
];

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(crate) fn of_trace(meta: &TraceMeta, facts: &mut Facts) {
    for (property, fact) in PROPERTIES {
        if let Some((_, value)) = meta.properties.iter().find(|(name, _)| name == property) {
            facts.insert(fact, value.clone());
        }
    }
}

/// Of the measured rounds of a run, and of the machine that it ran on.
pub(crate) fn of_run(run: &RunDir, ran: &WorkloadRecords, facts: &mut Facts) {
    for (fact, event, field) in TOLD {
        if let Some(value) = ran.fact(event, field) {
            facts.insert(fact, plain(value));
        }
    }
    let versions = ran.fact("hello", "versions").and_then(Json::as_object);
    for name in LIBRARIES {
        if let Some(version) = versions.and_then(|all| all.get(*name)).filter(|version| !version.is_null()) {
            facts.insert(name, plain(version));
        }
    }
    let measure = run.raw("measure");
    let (environment, workload) =
        (read_json(&run.report().join("env.json")), read_json(&measure.join("workload.json")));
    let of_machine = [
        ("driver", &environment["nvidia_driver"]),
        ("processor", &environment["cpu"]["model"]),
        ("processors", &environment["cpu"]["usable_threads"]),
        ("governor", &environment["cpu"]["governor"]),
        ("threads", &workload["threads"]),
    ];
    for (fact, value) in of_machine.into_iter().filter(|(_, value)| !value.is_null()) {
        facts.insert(fact, plain(value));
    }
    if let Some(limits) = power_limits(&environment) {
        facts.insert("power_limit", limits);
    }
    let requests = headline::measured_requests(&ran.requests, &ran.tokens);
    // Rounds of a load test are stretches of time: how many requests fall into one says nothing of the setup.
    let is_load_test = requests.iter().any(|request| request.is_load_test);
    let first = requests.first().map(|request| request.round).filter(|_| !is_load_test);
    if is_load_test {
        let metrics = read_json(&run.report().join("metrics.json"));
        let told = [
            ("model", &metrics["server"]["model"]),
            ("runtime", &metrics["server"]["kind"]),
            ("load", &metrics["load"]["offered"]),
            ("workload", &metrics["workload"]),
        ];
        for (fact, value) in told.into_iter().filter(|(_, value)| !value.is_null()) {
            facts.insert(fact, plain(value));
        }
        let outputs: Vec<i64> =
            requests.iter().map(|one| one.output_tokens).filter(|tokens| *tokens > 0).collect();
        if !outputs.is_empty() {
            let mean = outputs.iter().sum::<i64>() as f64 / outputs.len() as f64;
            facts.insert(OUTPUT_LENGTH, format!("{mean:.1}"));
        }
    }
    let round = || requests.iter().filter(|request| Some(request.round) == first);
    if first.is_some() {
        facts.insert("requests", round().count().to_string());
        facts.insert("prompt_tokens", round().map(|request| request.prompt_tokens).sum::<i64>().to_string());
        facts.insert("output_tokens", round().map(|request| request.output_tokens).sum::<i64>().to_string());
    }
    let text = std::fs::read_to_string(measure.join("tokens.jsonl")).unwrap_or_default();
    let rows: Vec<Json> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    for (fact, field) in [("prompts", "prompt_ids"), ("outputs", "output_ids")] {
        if !rows.is_empty() && rows.iter().all(|row| row[field].is_array()) {
            facts.insert(fact, fingerprint(rows.iter().map(|row| row[field].to_string())));
        }
    }
}

/// Of the row that a store keeps of a run, what nothing else says.
pub(crate) fn of_row(run: &RunDir, facts: &mut Facts) {
    let Ok(rows) = read_table::<Runs>(&run.table("runs")) else { return };
    let Some(row) = rows.row(0) else { return };
    let library = LIBRARIES.iter().find(|library| Some(**library) == row.runtime.as_deref());
    let told = [
        ("device", row.hardware),
        ("driver", row.driver),
        ("model", row.model),
        ("dtype", row.dtype),
        ("workload", row.workload),
        (library.copied().unwrap_or("runtime_version"), row.runtime_version),
        ("runtime", row.runtime),
    ];
    for (fact, value) in told {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            facts.entry(fact).or_insert(value);
        }
    }
}

fn power_limits(environment: &Json) -> Option<String> {
    let devices = environment["gpus"].as_array()?;
    let limits: BTreeSet<String> =
        devices.iter().filter_map(|gpu| Some(format!("{} W", gpu["power_limit_w"].as_f64()?))).collect();
    (!limits.is_empty()).then(|| limits.into_iter().collect::<Vec<String>>().join(", "))
}

/// A short hash of texts, the same on every machine.
fn fingerprint(texts: impl Iterator<Item = String>) -> String {
    let hash = stable_id(&texts.collect::<String>()) as u64;
    format!("{:08x}", (hash ^ (hash >> 32)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_their_own_fingerprint() {
        let of = |texts: &[&str]| fingerprint(texts.iter().map(ToString::to_string));
        assert_eq!(of(&["[1,2]"]), of(&["[1,2]"]));
        assert_ne!(of(&["[1,2]"]), of(&["[1,3]"]));
        assert_eq!(of(&["x"]).len(), 8);
    }

    #[test]
    fn parity_017_power_limits_are_circumstances() {
        let gpus = |limits: &[Option<f64>]| {
            let gpu = |limit: &Option<f64>| serde_json::json!({ "power_limit_w": limit });
            power_limits(&serde_json::json!({ "gpus": limits.iter().map(gpu).collect::<Vec<Json>>() }))
        };
        assert_eq!(gpus(&[Some(700.0), Some(700.0)]).as_deref(), Some("700 W"));
        assert_eq!(gpus(&[Some(450.5), None]).as_deref(), Some("450.5 W"));
        assert_eq!((gpus(&[None]), power_limits(&Json::Null)), (None, None));
    }

    #[test]
    fn drivers_of_a_trace() {
        let properties =
            vec![("cuda_driver_version".into(), "12080".into()), ("with_stack".into(), "1".into())];
        let meta = TraceMeta { properties, ..TraceMeta::default() };
        let mut facts = Facts::new();
        of_trace(&meta, &mut facts);
        assert_eq!(facts.into_iter().collect::<Vec<_>>(), [("cuda_driver", "12080".to_owned())]);
    }
}
