//! Traces with planted truth: Kineto files of a job that never ran, and what its ledger must say.
//!
//! A seed makes a model (`config.json`), a device, steps and habits of a host; each rank's trace is
//! `rank-N.json`, and `truth.json` says where each nanosecond was put: by line, phase, kind of work and layer.
//! The durations of kernels rest on the static model's floors; everything else is planted by its own
//! rules, which share no code with the analysis.

#[cfg(test)]
mod checks;
mod event;
mod lockstep;
mod names;
mod rank;
mod scenario;
mod truth;
mod work;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::random::Random;
use rank::Rank;
use scenario::{Artefact, Scenario, Style};
use truth::{Truth, Work};

/// What to make.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The same seed makes the same files.
    #[arg(long, value_name = "N")]
    seed: u64,
    /// The folder for the traces, `config.json` and `truth.json`.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Ranks that share each layer [default: 1, 2 or 4, by the seed].
    #[arg(long, value_name = "R")]
    ranks: Option<u64>,
    /// Ranks that meet in collectives, with a straggler or without, in place of all else.
    #[arg(long)]
    lockstep: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    SyntheticJob::new(arguments.seed, arguments.ranks, arguments.lockstep)?.write(&arguments.output)
}

/// A job that never ran.
struct SyntheticJob {
    /// What its analysis must find.
    truth: Value,
    traces: Vec<Value>,
    /// The config of its model; ranks in lockstep have none.
    config: Option<Value>,
}

impl SyntheticJob {
    fn new(seed: u64, ranks: Option<u64>, is_lockstep: bool) -> Result<Self> {
        if is_lockstep {
            let (truth, traces) = lockstep::plant(seed, ranks)?;
            return Ok(SyntheticJob { truth: serde_json::to_value(&truth)?, traces, config: None });
        }
        let scenario = Scenario::new(seed, ranks)?;
        let (truth, traces) = plant(&scenario, seed)?;
        Ok(SyntheticJob { truth: serde_json::to_value(&truth)?, traces, config: Some(scenario.config) })
    }

    fn write(&self, folder: &Path) -> Result<()> {
        let traces = folder.join("traces");
        std::fs::create_dir_all(&traces)
            .with_context(|| format!("{} cannot be created", traces.display()))?;
        for (rank, trace) in self.traces.iter().enumerate() {
            write(&traces.join(format!("rank-{rank}.json")), trace)?;
        }
        if let Some(config) = &self.config {
            write(&folder.join("config.json"), config)?;
        }
        write(&folder.join("truth.json"), &self.truth)
    }
}

fn write(path: &Path, value: &Value) -> Result<()> {
    std::fs::write(path, format!("{value:#}\n"))
        .with_context(|| format!("{} cannot be written", path.display()))
}

fn plant(scenario: &Scenario, seed: u64) -> Result<(Truth, Vec<Value>)> {
    let mut truth = start(scenario, seed);
    let names = Random::new(seed, u64::MAX).pick(names::ALL);
    let mut ranks = Vec::new();
    for number in 0..scenario.ranks {
        let mut rank = Rank::new(scenario, &mut truth, seed, number);
        rank.run(names)?;
        let events = std::mem::take(&mut rank.events);
        ranks.push(json!({
            "schemaVersion": 1,
            "deviceProperties": [{"id": number, "name": scenario.device.name}],
            "distributedInfo": {"backend": "nccl", "rank": number, "world_size": scenario.ranks},
            "baseTimeNanoseconds": 1_760_000_000_000_000_000_i64,
            "traceEvents": events,
        }));
    }
    truth.close();
    Ok((truth, ranks))
}

/// What is known before anything runs.
fn start(scenario: &Scenario, seed: u64) -> Truth {
    let mut truth = Truth {
        seed,
        model_type: scenario.config["model_type"].as_str().unwrap_or_default().to_owned(),
        hardware: scenario.device.name.clone(),
        tp: scenario.ranks,
        context: scenario.context,
        batch: scenario.batch,
        annotations: match scenario.style {
            Style::Vllm => "vllm",
            Style::Sglang => "sglang",
            Style::Words => "words",
        },
        nesting: format!("{:?}", scenario.nesting),
        graph_replays: scenario.steps.iter().filter(|step| step.is_graph).count(),
        inefficiency: scenario.inefficiency.iter().map(|(work, above)| (work.as_str(), *above)).collect(),
        ..Truth::default()
    };
    for step in &scenario.steps {
        let phase = truth.phases.entry(step.phase.as_str()).or_default();
        phase.steps += scenario.ranks as usize;
        if let Some(artefact) = step.artefact {
            let flaw = match artefact {
                Artefact::Profiler => "profiler",
                Artefact::Unrecorded => "unrecorded_work",
            };
            *phase.flawed.entry(flaw).or_default() += scenario.ranks as usize;
        }
        phase.has_floor = step.is_told;
        let eager = scenario.steps.iter().all(|other| other.phase != step.phase || !other.is_graph);
        phase.layers = eager.then(Default::default);
        if !step.is_told {
            continue;
        }
        for (class, ns) in step.floors.iter().filter(|(class, _)| !class.starts_with("comm.")) {
            let work = match *class {
                "attn.core" => Work::Attention,
                "norm" => Work::Norms,
                "embed" => Work::Lookups,
                _ => Work::Products,
            };
            truth.add_floor(step.phase.as_str(), work, ns * scenario.ranks as f64);
        }
    }
    truth
}

#[cfg(test)]
mod tests {
    use super::checks::DeviceTimes;
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_files() {
        let make = |seed| {
            let (truth, ranks) = plant(&Scenario::new(seed, Some(2)).unwrap(), seed).unwrap();
            (serde_json::to_string(&truth).unwrap(), ranks)
        };
        assert_eq!(make(5), make(5));
        assert_ne!(make(5).0, make(6).0);
    }

    #[test]
    fn what_was_planted_is_the_span_of_the_devices() {
        for seed in 0..40 {
            let (truth, ranks) = plant(&Scenario::new(seed, None).unwrap(), seed).unwrap();
            let wall_ns: i64 = ranks.iter().map(|rank| DeviceTimes::of(rank).span_ns).sum();
            assert_eq!(truth.wall_ns, wall_ns, "seed {seed}");
            let lines: f64 = truth.phases.values().flat_map(|phase| phase.lines.values()).sum();
            assert!((lines - wall_ns as f64).abs() < 1.0, "seed {seed}");
        }
    }
}
