//! One side of a comparison: what a run left, or a trace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rooflens_analyze::compare::RankTimeline;
use rooflens_analyze::compare::headline::MetricSample;
use rooflens_schema::{Notes, RunDir};
use serde_json::Value as Json;

use super::config;
use super::facts::{self, Facts};
use super::rounds;
use crate::bench::{import_results, is_result};
use crate::error::Error;
use crate::input::{ReadOptions, open_input};
use crate::job;
use crate::observer::{Event, SharedObserver};
use crate::run::{Run, workload};
use crate::saved;

/// What is known of a side.
#[derive(Default)]
pub struct Side {
    /// As it was given.
    pub(crate) path: PathBuf,
    /// What it tells of each headline metric, by key; empty for a trace.
    pub(crate) samples: BTreeMap<&'static str, MetricSample>,
    /// What it did, step by step, by rank and by device, each in their order.
    pub(crate) places: BTreeMap<(usize, Option<i32>), RankTimeline>,
    /// What it ran and on what.
    pub(crate) facts: Facts,
    /// What its devices did while it was measured.
    pub(crate) devices: DeviceSamples,
    /// Processors that other programs kept busy while it was measured, and while its trace was taken.
    pub(crate) other_load: [Option<f64>; 2],
    /// Its config: values by their whole key.
    pub(crate) config: BTreeMap<String, String>,
    /// When each round began and ended, on the wall clock, where each is a run of its own.
    pub(crate) turns: Vec<(i64, i64)>,
}

/// What was sampled of devices.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct DeviceSamples {
    /// Mean clock of each.
    pub(crate) sm_clocks_mhz: Vec<f64>,
    /// Mean clock of the memory of each.
    pub(crate) memory_clocks_mhz: Vec<f64>,
    /// Reasons for which one slowed down, with their share of time. `None` where that is not known.
    pub(crate) throttled: Option<BTreeMap<String, f64>>,
}

/// Reads a side.
pub fn read(path: &Path, observer: &SharedObserver) -> Result<Side, Error> {
    // A result of another client is read as the run that it would be imported to.
    if is_result(path) {
        let folder =
            tempfile::tempdir().map_err(|source| Error::Unwritable { path: std::env::temp_dir(), source })?;
        let imported = import_results(path, folder.path())?;
        let run = imported.first().map_or(path, |(run, _)| run);
        let side = read_run(run, observer)?;
        return Ok(Side { path: path.to_owned(), ..side });
    }
    let rounds = rounds::of(path);
    if !rounds.is_empty() {
        return rounds::read(path, &rounds, observer);
    }
    read_run(path, observer)
}

pub(super) fn read_run(path: &Path, observer: &SharedObserver) -> Result<Side, Error> {
    let notes = Notes::default();
    let run = RunDir::new(path);
    let ran = workload::measured(&run);
    let mut facts = Facts::new();
    let mut places = BTreeMap::new();
    // A run whose trace was never made still has its measured rounds.
    let is_kept = run.report().join(saved::METRICS).is_file();
    if (ran.requests.is_empty() && !is_kept) || RunDir::has_trace(path) {
        let input = open_input(&[path.to_owned()], &ReadOptions::default(), &notes, observer)?;
        let mut ranks = 0;
        let mut world = 0;
        job::each_rank(&input, &notes, observer, |rank| {
            // The same device may have another number on another machine: its order tells which it is.
            for (order, (device, timeline)) in (0..).zip(RankTimeline::all(&rank)) {
                places.insert((ranks, device.map(|_| order)), timeline);
            }
            ranks += 1;
            world = world.max(rank.meta.world_size.unwrap_or(0));
            facts::of_trace(&rank.meta, &mut facts);
            if let Some(device) = rank.devices.name.iter().find(|name| !name.is_empty()) {
                facts.entry("device").or_insert_with(|| device.clone());
            }
            Ok(())
        })?;
        observer.event(&Event::Notes(&notes.rows()));
        let is_part = usize::try_from(world).is_ok_and(|world| world > ranks);
        facts.insert("ranks", if is_part { format!("{ranks} of {world}") } else { ranks.to_string() });
        let devices = places.keys().filter(|(_, device)| device.is_some()).count();
        if devices > 0 {
            facts.insert("devices", devices.to_string());
        }
    }
    facts::of_run(&run, &ran, &mut facts);
    facts::of_row(&run, &mut facts);
    let metrics = saved::read_json(&run.report().join(saved::METRICS));
    let samples = Run::of(run).samples().into_iter().map(|(metric, sample)| (metric.key, sample)).collect();
    Ok(Side {
        path: path.to_owned(),
        samples,
        places,
        facts,
        devices: devices(&metrics),
        other_load: ["measure", "torch_profiler"].map(|step| other_load(&metrics, step)),
        config: config::read(&path.join(".rooflens/config.yaml")),
        turns: Vec::new(),
    })
}

/// What was sampled of a step: while rounds went on, where that is known, else from the start of the process.
fn sampled(metrics: &Json, step: &str) -> Vec<Json> {
    let list = |value: &Json| value.as_array().cloned().unwrap_or_default();
    let steps = list(&metrics["sampled"]["steps"]);
    let parts =
        steps.iter().find(|one| one["step"] == step).map(|one| list(&one["parts"])).unwrap_or_default();
    let named = |name: &str| parts.iter().find(|part| part["part"] == name);
    let Some(part) = named("rounds").or_else(|| named("all")) else { return Vec::new() };
    let mut subjects = list(&part["subjects"]);
    subjects.iter_mut().for_each(|subject| subject["dur_ns"] = part["dur_ns"].clone());
    subjects
}

fn devices(metrics: &Json) -> DeviceSamples {
    let mut devices = DeviceSamples::default();
    for subject in sampled(metrics, "measure").iter().filter(|subject| subject["source"] == "device") {
        devices.sm_clocks_mhz.extend(subject["levels"]["sm_clock_mhz"]["mean"].as_f64());
        devices.memory_clocks_mhz.extend(subject["levels"]["mem_clock_mhz"]["mean"].as_f64());
        let Some(reasons) = subject["throttle"].as_array() else { continue };
        let throttled = devices.throttled.get_or_insert_default();
        for reason in reasons {
            let (name, share) = (reason["reason"].as_str().unwrap_or_default(), reason["share"].as_f64());
            // A device that idles, or whose clocks were set by somebody, is not slowed down.
            let harmless = ["idle", "applications", "sync_boost", "display"];
            if !name.is_empty() && !harmless.iter().any(|word| name.contains(word)) {
                // Of several devices, the one that was slowed down the longest.
                let most = throttled.entry(name.to_owned()).or_insert(0.0);
                *most = share.unwrap_or(0.0).max(*most);
            }
        }
    }
    devices
}

/// What the machine did besides, from the processor time of all and that of the run.
fn other_load(metrics: &Json, step: &str) -> Option<f64> {
    let host = sampled(metrics, step).into_iter().find(|subject| subject["source"] == "host")?;
    let totals = &host["totals"];
    let (all, own) = (totals["cpu_busy_ns"].as_f64()?, totals["watched_cpu_ns"].as_f64()?);
    let dur = host["dur_ns"].as_f64().filter(|dur| *dur > 0.0)?;
    Some(((all - own) / dur).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_slows_down_is_told() {
        let metrics = serde_json::json!({"sampled": {"steps": [{"step": "measure", "parts": [{"part": "all",
            "subjects": [{"source": "device", "levels": {"sm_clock_mhz": {"mean": 1500.0}},
                "throttle": [{"reason": "gpu_idle", "share": 0.5}, {"reason": "sw_power_cap", "share": 0.25}]}]}]}]}});
        let found = devices(&metrics);
        assert_eq!(found.throttled, Some([("sw_power_cap".to_owned(), 0.25)].into()));
        assert_eq!((found.sm_clocks_mhz, found.memory_clocks_mhz), (vec![1500.0], vec![]));
        assert_eq!(devices(&Json::Null), DeviceSamples::default());
        let metrics = serde_json::json!({"sampled": {"steps": [{"step": "measure", "parts": [{"part": "all", "dur_ns": 10,
            "subjects": [{"source": "host", "totals": {"cpu_busy_ns": 18.0, "watched_cpu_ns": 8.0}}]}]}]}});
        assert_eq!((other_load(&metrics, "measure"), other_load(&Json::Null, "measure")), (Some(1.0), None));
    }
}
