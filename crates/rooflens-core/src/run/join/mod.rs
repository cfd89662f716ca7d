//! What was measured, beside what the model must cost: `efficiency`, `flops_check`, `matches` and `static_vs_measured` of
//! `metrics.json`.

mod context;
mod shapes;

pub(crate) use self::context::{context, join_floor};

use std::collections::BTreeMap;
use std::path::Path;

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Parts, PartsOfPhase, ProductStat, Products, Trace};
use rooflens_analyze::product::is_fp32;
use rooflens_collect::RunStage;
use rooflens_cost::hardware::Device;
use rooflens_cost::measured::{
    self, Efficiency, FlopsCheck, Matches, MeasuredPart, MeasuredPhase, Ran, RunPhase, StaticVsMeasured,
    TimelineSide, TorchFlops, Traced,
};
use rooflens_cost::{Model, Setup};
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_schema::RunDir;
use rooflens_schema::tables::PhaseKind;
use serde_json::Value as Json;

use super::document::RunDocument;
use super::workload;
use crate::model::ModelRecord;

/// What the join comes to. What is null has its reason.
#[derive(Default)]
pub(crate) struct ModelJoin {
    pub(crate) efficiency: Option<Efficiency>,
    pub(crate) flops_check: Option<FlopsCheck>,
    pub(crate) matches: Option<Matches>,
    pub(crate) static_vs_measured: Option<StaticVsMeasured>,
    pub(crate) reasons: BTreeMap<&'static str, String>,
}

const EFFICIENCY: &str = "efficiency";
const FLOPS_CHECK: &str = "flops_check";
const MATCHES: &str = "matches";
const STATIC_VS_MEASURED: &str = "static_vs_measured";

pub(crate) fn join(
    run: &RunDir,
    model: Result<&ModelRecord, &String>,
    workload: &WorkloadRecords,
    findings: Option<&Findings>,
) -> ModelJoin {
    let known = model.map_err(Clone::clone).and_then(JoinedModel::new);
    let mut joined = ModelJoin::default();
    match known {
        Ok(known) => {
            let was_run = !workload.steps.is_empty() || run.raw(RunStage::Measure.name()).is_dir();
            let efficiency =
                if was_run { known.efficiency(workload) } else { Err("no workload was run".to_owned()) };
            let profiled = run.raw(RunStage::TorchProfiler.name());
            let round = profiled_round(run);
            let check = round.as_ref().map_err(Clone::clone);
            let check = check.and_then(|ran| known.flops_check(ran, &profiled));
            let matched = round.as_ref().map_err(Clone::clone);
            let matched = matched.and_then(|ran| known.matches(ran, findings, &profiled));
            let parts = round.and_then(|ran| known.parts(&ran, findings));
            joined.efficiency = joined.keep(EFFICIENCY, efficiency);
            joined.flops_check = joined.keep(FLOPS_CHECK, check);
            joined.matches = joined.keep(MATCHES, matched);
            joined.static_vs_measured = joined.keep(STATIC_VS_MEASURED, parts);
        }
        Err(reason) => {
            for name in [EFFICIENCY, FLOPS_CHECK, MATCHES, STATIC_VS_MEASURED] {
                joined.reasons.insert(name, reason.clone());
            }
        }
    }
    joined
}

impl ModelJoin {
    fn keep<T>(&mut self, name: &'static str, found: Result<T, String>) -> Option<T> {
        found.map_err(|reason| self.reasons.insert(name, reason)).ok()
    }

    /// What was joined when the run was made, for a report that is written once more.
    pub(super) fn kept(document: &RunDocument) -> Self {
        let joined = ModelJoin {
            efficiency: document.efficiency.clone(),
            flops_check: document.flops_check.clone(),
            matches: document.matches.clone(),
            static_vs_measured: document.static_vs_measured.clone(),
            reasons: BTreeMap::new(),
        };
        let missing = [
            (EFFICIENCY, joined.efficiency.is_none()),
            (FLOPS_CHECK, joined.flops_check.is_none()),
            (MATCHES, joined.matches.is_none()),
            (STATIC_VS_MEASURED, joined.static_vs_measured.is_none()),
        ];
        let reason = |name: &str| document.not_computed.get(name).and_then(Json::as_str);
        let reason = |name| reason(name).unwrap_or("it was not computed when the run was made").to_owned();
        let missing = missing.into_iter().filter(|(_, is_missing)| *is_missing);
        ModelJoin { reasons: missing.map(|(name, _)| (name, reason(name))).collect(), ..joined }
    }
}

struct JoinedModel<'a> {
    record: &'a ModelRecord,
    model: Model,
    setup: Setup,
}

impl<'a> JoinedModel<'a> {
    fn new(record: &'a ModelRecord) -> Result<Self, String> {
        record.model().map(|(model, setup)| JoinedModel { record, model, setup })
    }

    fn device(&self) -> (Option<&Device>, &str) {
        (self.record.device.as_ref(), self.record.no_device.as_deref().unwrap_or_default())
    }

    fn efficiency(&self, workload: &WorkloadRecords) -> Result<Efficiency, String> {
        let ran = shapes::of_kind(&workload.steps, "measured")?;
        let (device, why) = self.device();
        Ok(measured::efficiency(&self.model, &self.setup, device, why, &ran))
    }

    fn flops_check(&self, ran: &[Ran], folder: &Path) -> Result<FlopsCheck, String> {
        let Ok(bytes) = std::fs::read(folder.join("torch_flops.json")) else {
            return Err("the profiled pass wrote no torch_flops.json: only runtime=pytorch does, with \
                 pipeline.torch_profiler.with_flops=true"
                .to_owned());
        };
        let torch: TorchFlops = serde_json::from_slice(&bytes)
            .map_err(|error| format!("torch_flops.json cannot be read: {error}"))?;
        Ok(measured::flops_check(&self.model, &self.setup, ran, &torch, all_logits(folder)))
    }

    fn matches(&self, ran: &[Ran], findings: Option<&Findings>, folder: &Path) -> Result<Matches, String> {
        let findings = findings.ok_or("there is no trace")?;
        let Products(products) = findings
            .get()
            .ok_or("the trace has no operators with shapes inside phases: record with record_shapes=true")?;
        if findings.get::<Trace>().is_some_and(|trace| trace.ranks > 1) {
            return Err("the trace has several ranks, and the static model is for one".to_owned());
        }
        let (traced, timeline) = traced(products);
        if traced.is_empty() {
            return Err("the trace has no prefill or decode step".to_owned());
        }
        let (model, setup, (device, _)) = (&self.model, &self.setup, self.device());
        Ok(measured::matches(model, setup, device, ran, &traced, timeline, all_logits(folder)))
    }

    fn parts(&self, ran: &[Ran], findings: Option<&Findings>) -> Result<StaticVsMeasured, String> {
        let findings = findings.ok_or("there is no trace")?;
        let Parts(phases) =
            findings.get().ok_or("the trace has no operators or device activity inside phases")?;
        let measured = measured_parts(phases);
        if measured.is_empty() {
            return Err("the trace has no prefill or decode step".to_owned());
        }
        let (device, why) = self.device();
        Ok(measured::static_vs_measured(&self.model, &self.setup, device, why, ran, &measured))
    }
}

fn all_logits(folder: &Path) -> bool {
    crate::saved::read_json(&folder.join("workload.json")).get("logits").and_then(Json::as_str) == Some("all")
}

fn profiled_round(run: &RunDir) -> Result<Vec<Ran>, String> {
    let steps = workload::of_stage(run, RunStage::TorchProfiler).steps;
    if steps.is_empty() && !run.raw(RunStage::TorchProfiler.name()).is_dir() {
        return Err("no pass was profiled".to_owned());
    }
    shapes::of_kind(&steps, "profiled")
}

fn run_phase(kind: PhaseKind) -> Option<RunPhase> {
    match kind {
        PhaseKind::Prefill | PhaseKind::Vision => Some(RunPhase::Prefill),
        PhaseKind::Decode => Some(RunPhase::Decode),
        PhaseKind::Mixed => Some(RunPhase::Mixed),
        PhaseKind::Diffusion | PhaseKind::Step | PhaseKind::Range => None,
    }
}

fn measured_parts(phases: &[PartsOfPhase]) -> Vec<MeasuredPhase> {
    let mut found: BTreeMap<RunPhase, Vec<&PartsOfPhase>> = BTreeMap::new();
    for phase in phases {
        let Some(run_phase) = run_phase(phase.phase) else { continue };
        found.entry(run_phase).or_default().push(phase);
    }
    let of_phase = |(phase, all): (RunPhase, Vec<&PartsOfPhase>)| {
        let on_device = all.iter().any(|one| one.activities > 0);
        let ns = |host: i64, device: i64| if on_device { device } else { host };
        let parts = all.iter().flat_map(|one| &one.parts);
        MeasuredPhase {
            phase,
            timeline: if on_device { TimelineSide::Device } else { TimelineSide::HostSelf },
            total_ns: all.iter().map(|one| ns(one.self_ns, one.device_ns)).sum(),
            parts: parts
                // What has only host time has no time on the device.
                .filter(|part| !on_device || part.activities > 0)
                .map(|part| MeasuredPart {
                    part: part.part.to_string(),
                    ns: ns(part.self_ns, part.device_ns),
                })
                .collect(),
        }
    };
    found.into_iter().map(of_phase).collect()
}

fn traced(products: &[ProductStat]) -> (Vec<Traced>, TimelineSide) {
    let on_device = products.iter().any(|row| row.device_ns > 0);
    let timeline = if on_device { TimelineSide::Device } else { TimelineSide::Host };
    let row = |row: &ProductStat| {
        Some(Traced {
            phase: run_phase(row.phase)?,
            layer: row.layer.and_then(|layer| u32::try_from(layer).ok()),
            part: row.part.to_string(),
            module: row.module.clone().unwrap_or_default(),
            operator: row.operator.clone(),
            count: row.count as u64,
            flops: row.flops,
            heads: row.heads,
            kv_elements: row.kv_elements,
            is_fp32: is_fp32(&row.dtypes),
            ns: if on_device { row.device_ns } else { row.host_ns },
        })
    };
    (products.iter().filter_map(row).collect(), timeline)
}
