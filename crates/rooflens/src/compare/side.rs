//! One side of a comparison: what a run left, or a trace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rooflens_analyze::compare::Timeline;
use rooflens_schema::{Notes, RunDir};
use serde_json::Value as Json;

use super::headline;
use crate::console::Console;
use crate::error::CliError;
use crate::run::metrics::Rows;
use crate::{inputs, job, progress};

/// What is known of a side.
pub struct Side {
    /// As it was given.
    pub path: PathBuf,
    /// A value a round, by metric; empty for a trace.
    pub samples: BTreeMap<&'static str, Vec<f64>>,
    /// What it did, step by step: of its first rank.
    pub timeline: Timeline,
    /// What it ran and on what.
    pub facts: BTreeMap<&'static str, String>,
    /// Reasons for which a device slowed down while it was measured, with their share of time.
    pub throttled: BTreeMap<String, f64>,
    /// Mean clock of its devices, MHz.
    pub clock_mhz: Option<f64>,
    /// Processors that other programs kept busy while it was measured, and while its trace was taken.
    pub other_load: [Option<f64>; 2],
    /// Its config, a line a key.
    pub config: BTreeMap<String, String>,
}

/// The rounds of a run alone: enough for a trend.
pub fn samples(path: &Path) -> BTreeMap<&'static str, Vec<f64>> {
    headline::samples(&Rows::read(&RunDir::new(path).raw("measure")))
}

/// Reads a side.
pub fn read(path: &Path, console: &Console) -> Result<Side, CliError> {
    let notes = Notes::default();
    let run = RunDir::new(path);
    let rows = Rows::read(&run.raw("measure"));
    let mut facts = BTreeMap::new();
    let mut timeline = None;
    // A run whose trace was never made still has its measured rounds.
    if rows.requests.is_empty() || RunDir::is_run(path) {
        let input = inputs::resolve(&[path.to_owned()], &notes)?;
        let mut ranks = 0;
        progress::follow(console, input.stored_bytes(), |watch| {
            job::each_rank(&input, &notes, watch, |rank| {
                ranks += 1;
                timeline.get_or_insert_with(|| Timeline::of(rank));
                if let Some(device) = rank.devices.name.iter().find(|name| !name.is_empty()) {
                    facts.entry("device").or_insert_with(|| device.clone());
                }
                Ok(())
            })
        })?;
        console.warn_of_loss(&notes.rows());
        facts.insert("ranks", ranks.to_string());
    }
    told(&rows, &mut facts);
    let metrics: Json = std::fs::read(run.report().join("metrics.json"))
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let (throttled, clock_mhz) = sampled(&metrics);
    let config = std::fs::read_to_string(path.join(".rooflens/config.yaml")).unwrap_or_default();
    Ok(Side {
        path: path.to_owned(),
        samples: headline::samples(&rows),
        timeline: timeline.unwrap_or_default(),
        facts,
        throttled,
        clock_mhz,
        other_load: ["measure", "torch_profiler"].map(|step| other_load(&metrics, step)),
        config: flat(&config),
    })
}

fn told(rows: &Rows, facts: &mut BTreeMap<&'static str, String>) {
    let plain = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let named = [
        ("model", "model", "name"),
        ("architecture", "model", "architecture"),
        ("parameters", "model", "parameters"),
        ("dtype", "model", "dtype"),
        ("device", "model", "device_name"),
        ("runtime", "hello", "runtime"),
        ("dataset", "dataset", "name"),
        ("batch_size", "dataset", "batch_size"),
    ];
    for (fact, event, field) in named {
        if let Some(value) = rows.fact(event, field) {
            facts.insert(fact, plain(value));
        }
    }
    let versions = rows.fact("hello", "versions").and_then(Json::as_object);
    for name in ["torch", "transformers", "vllm"] {
        if let Some(version) = versions.and_then(|all| all.get(name)).filter(|version| !version.is_null()) {
            facts.insert(name, plain(version));
        }
    }
    let first = rows.requests.iter().find(|row| row.kind == "measured").map(|row| row.round);
    let round = || rows.requests.iter().filter(|row| row.kind == "measured" && Some(row.round) == first);
    if first.is_some() {
        facts.insert("prompt_tokens", round().map(|row| row.prompt_tokens).sum::<u64>().to_string());
        facts.insert("output_tokens", round().map(|row| row.output_tokens).sum::<u64>().to_string());
    }
}

/// Of the devices while rounds were measured: reasons to slow down, mean clock.
fn sampled(metrics: &Json) -> (BTreeMap<String, f64>, Option<f64>) {
    let list = |value: &Json| value.as_array().cloned().unwrap_or_default();
    let mut throttled = BTreeMap::new();
    let mut clocks = Vec::new();
    for step in list(&metrics["sampled"]["steps"]).iter().filter(|step| step["step"] == "measure") {
        for part in list(&step["parts"]).iter().filter(|part| part["part"] == "all") {
            for subject in list(&part["subjects"]).iter().filter(|subject| subject["source"] == "device") {
                clocks.extend(subject["levels"]["sm_clock_mhz"]["mean"].as_f64());
                for reason in list(&subject["throttle"]) {
                    let (name, share) =
                        (reason["reason"].as_str().unwrap_or_default(), reason["share"].as_f64());
                    // A device that idles, or whose clocks were set by somebody, is not slowed down.
                    let harmless = ["idle", "applications", "sync_boost", "display"];
                    if !name.is_empty() && !harmless.iter().any(|word| name.contains(word)) {
                        throttled.insert(name.to_owned(), share.unwrap_or(0.0));
                    }
                }
            }
        }
    }
    let mean = clocks.iter().sum::<f64>() / clocks.len() as f64;
    (throttled, (!clocks.is_empty()).then_some(mean))
}

/// What the machine did besides, from the processor time of all and that of the run.
fn other_load(metrics: &Json, step: &str) -> Option<f64> {
    let find =
        |list: &Json, key: &str, value: &str| list.as_array()?.iter().find(|one| one[key] == value).cloned();
    let step = find(&metrics["sampled"]["steps"], "step", step)?;
    let part = find(&step["parts"], "part", "all")?;
    let totals = find(&part["subjects"], "source", "host")?["totals"].clone();
    let (all, own) = (totals["cpu_busy_ns"].as_f64()?, totals["watched_cpu_ns"].as_f64()?);
    let dur = part["dur_ns"].as_f64().filter(|dur| *dur > 0.0)?;
    Some(((all - own) / dur).max(0.0))
}

/// The values of a config as Rooflens writes it, by their whole key. What names the run itself is left out.
fn flat(yaml: &str) -> BTreeMap<String, String> {
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut out: BTreeMap<String, String> = BTreeMap::new();
    for line in yaml.lines() {
        let indent = line.len() - line.trim_start().len();
        let text = line.trim();
        let parent =
            |path: &[(usize, String)]| path.iter().map(|(_, key)| key.as_str()).collect::<Vec<_>>().join(".");
        if let Some(item) = text.strip_prefix("- ") {
            path.retain(|(at, _)| *at <= indent);
            out.entry(parent(&path)).or_default().push_str(&format!("{item} "));
        } else if let Some((key, value)) = text.split_once(':').filter(|_| !text.starts_with('#')) {
            path.retain(|(at, _)| *at < indent);
            path.push((indent, key.to_owned()));
            if !matches!(value.trim(), "" | "{}" | "[]") {
                out.insert(parent(&path), value.trim().to_owned());
            }
        }
    }
    out.retain(|key, _| !key.starts_with("hydra.") && !key.starts_with("runtime.python"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_is_flat_by_its_keys() {
        let found = flat("a: 1\nb:\n  c: x\n  list:\n  - p\n  - q\nhydra:\n  run: 7\n");
        let pairs: Vec<(&str, &str)> =
            found.iter().map(|(key, value)| (key.as_str(), value.trim())).collect();
        assert_eq!(pairs, [("a", "1"), ("b.c", "x"), ("b.list", "p q")]);
    }

    #[test]
    fn a_device_that_slows_down_is_told() {
        let metrics = serde_json::json!({"sampled": {"steps": [{"step": "measure", "parts": [{"part": "all",
            "subjects": [{"source": "device", "levels": {"sm_clock_mhz": {"mean": 1500.0}},
                "throttle": [{"reason": "gpu_idle", "share": 0.5}, {"reason": "sw_power_cap", "share": 0.25}]}]}]}]}});
        let (throttled, clock) = sampled(&metrics);
        assert_eq!(
            (throttled.into_iter().collect::<Vec<_>>(), clock),
            (vec![("sw_power_cap".to_owned(), 0.25)], Some(1500.0))
        );
        assert_eq!(sampled(&Json::Null), (BTreeMap::new(), None));
        let metrics = serde_json::json!({"sampled": {"steps": [{"step": "measure", "parts": [{"part": "all", "dur_ns": 10,
            "subjects": [{"source": "host", "totals": {"cpu_busy_ns": 18.0, "watched_cpu_ns": 8.0}}]}]}]}});
        assert_eq!((other_load(&metrics, "measure"), other_load(&Json::Null, "measure")), (Some(1.0), None));
    }
}
