//! One side of a comparison: what a run left, or a trace; or rounds that are separate runs, as two servers that took
//! turns leave them (`rooflens bench --against`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rooflens_analyze::compare::headline::{self, MeasuredRequest, MetricSample};
use rooflens_analyze::compare::{FEWEST_PAIRS, Headline, RankTimeline};
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_schema::parquet_io::read_table;
use rooflens_schema::tables::Runs;
use rooflens_schema::{Notes, RunDir};
use serde_json::Value as Json;

use super::config;
use super::facts::{self, Facts};
use crate::bench::{import_results, is_result};
use crate::error::Error;
use crate::input::{ReadOptions, open_input};
use crate::observer::{Event, SharedObserver};
use crate::run::{Run, workload};
use crate::{job, saved};

/// What is known of a side.
#[derive(Default)]
pub struct Side {
    pub(crate) path: PathBuf,
    /// What it tells of each headline metric, by key; empty for a trace.
    pub(crate) samples: BTreeMap<&'static str, MetricSample>,
    /// What it did, step by step, by rank and by device, each in their order.
    pub(crate) places: BTreeMap<(usize, Option<i32>), RankTimeline>,
    pub(crate) facts: Facts,
    pub(crate) devices: DeviceSamples,
    /// Processors that other programs kept busy while it was measured, and while its trace was taken.
    pub(crate) other_load: [Option<f64>; 2],
    pub(crate) config: BTreeMap<String, String>,
    /// When each round began and ended, on the wall clock, where each is a run of its own.
    pub(crate) turns: Vec<(i64, i64)>,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct DeviceSamples {
    pub(crate) sm_clocks_mhz: Vec<f64>,
    pub(crate) memory_clocks_mhz: Vec<f64>,
    /// Reasons for which one slowed down, with their share of time. `None` where that is not known.
    pub(crate) throttled: Option<BTreeMap<String, f64>>,
}

/// Reads a side.
pub fn read(path: &Path, observer: &SharedObserver) -> Result<Side, Error> {
    // A result of another client is read as the run that it would be imported to.
    if is_result(path) {
        let folder = tempfile::tempdir().map_err(|source| Error::unwritable(std::env::temp_dir(), source))?;
        let imported = import_results(path, folder.path())?;
        let run = imported.first().map_or(path, |(run, _)| run);
        let side = read_run(run, observer)?;
        return Ok(Side { path: path.to_owned(), ..side });
    }
    let rounds = rounds_of(path);
    if !rounds.is_empty() {
        return read_rounds(path, &rounds, observer);
    }
    read_run(path, observer)
}

fn read_run(path: &Path, observer: &SharedObserver) -> Result<Side, Error> {
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

pub(crate) const ROUNDS: &str = "rounds";

/// The runs of a side, in their order; none where it is a single run.
fn rounds_of(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path.join(ROUNDS)).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|run| RunDir::new(run).table("requests").is_file())
        .collect();
    runs.sort();
    runs
}

/// Reads all of them; what is known besides is that of the first.
fn read_rounds(path: &Path, runs: &[PathBuf], observer: &SharedObserver) -> Result<Side, Error> {
    let whole: Vec<RunDir> =
        runs.iter().map(RunDir::new).filter(|run| Run::of(run.clone()).is_whole()).collect();
    let records: Vec<WorkloadRecords> = whole.iter().map(workload::measured).collect();
    let rounds: Vec<Vec<MeasuredRequest<'_>>> =
        records.iter().map(|ran| headline::measured_requests(&ran.requests, &ran.tokens)).collect();
    // In an open loop the schedule sets the rates: what differs in a short round is how long its last requests take.
    let is_open = rounds.iter().flatten().any(|request| request.scheduled_ns.is_some());
    let sample = |metric: &headline::HeadlineMetric| {
        if is_open && metric.is_rate() {
            return None;
        }
        let of_rounds = rounds.iter().map(|requests| metric.of(requests)).collect();
        Some((metric.key, MetricSample::joined(of_rounds)?))
    };
    let first = read_run(&runs[0], observer)?;
    Ok(Side {
        path: path.to_owned(),
        samples: headline::ALL.iter().filter_map(sample).collect(),
        turns: whole.iter().filter_map(turn).collect(),
        ..first
    })
}

fn turn(run: &RunDir) -> Option<(i64, i64)> {
    let row = read_table::<Runs>(&run.table("runs")).ok()?.row(0)?;
    let begin = row.base_unix_ns.get()?;
    Some((begin, begin.saturating_add(row.span_ns)))
}

pub(crate) fn leave_unjudged(headline: &mut [Headline]) {
    for row in headline {
        row.not_judged = Some(format!(
            "{} and {} rounds; at least {FEWEST_PAIRS} of each server, in turns, are needed: --rounds sets them",
            row.a_rounds, row.b_rounds
        ));
        (row.ratio, row.p_adjusted, row.is_change) = (None, None, false);
    }
}

/// Whether rounds took turns: those of each pair are over before the next pair begins.
pub(crate) fn took_turns(a: &[(i64, i64)], b: &[(i64, i64)]) -> bool {
    let pairs: Vec<[(i64, i64); 2]> = a.iter().zip(b).map(|(a, b)| [*a, *b]).collect();
    let is_apart = |[a, b]: &[(i64, i64); 2]| a.1 <= b.0 || b.1 <= a.0;
    let is_before = |pair: &[[(i64, i64); 2]]| {
        pair[0].iter().map(|turn| turn.1).max() <= pair[1].iter().map(|turn| turn.0).min()
    };
    a.len() == b.len()
        && a.len() >= FEWEST_PAIRS
        && pairs.iter().all(is_apart)
        && pairs.windows(2).all(is_before)
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

    #[test]
    fn turns() {
        // Every 40: A from 0 to 10, B from 20 to 30, and the other way round.
        let turns = |offset: i64, flip: i64| -> Vec<(i64, i64)> {
            (0..10)
                .map(|at| at * 40 + (offset + flip * (at % 2)) % 40)
                .map(|from| (from, from + 10))
                .collect()
        };
        let (a, b) = (turns(0, 20), turns(20, 20));
        assert!(took_turns(&a, &b) && took_turns(&b, &a));
        // One after the other, both at once, a round that is missing, and too few.
        let after: Vec<(i64, i64)> = a.iter().map(|(from, to)| (from + 1000, to + 1000)).collect();
        assert!(!took_turns(&a, &after) && !took_turns(&a, &a) && !took_turns(&a, &b[..9]));
        assert!(!took_turns(&a[..9], &b[..9]));
    }
}
