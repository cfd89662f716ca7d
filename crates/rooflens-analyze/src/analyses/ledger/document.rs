//! The ledger as it is told: lines, phases, classes, and what the model adds to them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analyses::FlawedSteps;
use crate::collectives::Spent;
use crate::kernel_catalog::KernelClass;
use crate::ledger::{
    self, Achieved, Floor, KernelNames, KernelTime, Line, OperatorTime, Sequences, Stalls, StepModel,
    StepShape, Transfers, Waits,
};
use crate::statistics::share;

/// The time ledger: every nanosecond of every timeline on one line.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// Whose time it is: `device`, or `host` where the trace has no device activity.
    pub timeline: Cow<'static, str>,
    /// Devices, or threads, one a rank.
    pub timelines: usize,
    /// Their spans, added up: the sum of the lines.
    pub wall_ns: i64,
    /// Every line that has time, in the order of the ledger.
    pub lines: Vec<LedgerLine>,
    /// The same for each phase, most time first. They add up to the whole.
    pub phases: Vec<PhaseLedger>,
    /// The model and device behind `floor`; null without one.
    pub floor_of: Option<FloorSource>,
    /// Sequences that waited for prompts of others: what advice looks at.
    #[serde(skip)]
    pub(crate) stalls: Stalls,
    /// What each device spent its time on, in the order of ranks and devices: what the search for stragglers
    /// looks at.
    #[serde(skip)]
    pub(crate) spent: Vec<Spent>,
    /// Names of the kernels in `PhaseLedger::sequences`.
    #[serde(skip)]
    pub(crate) names: KernelNames,
    /// What is null, and why.
    pub not_computed: BTreeMap<String, String>,
}

/// A line with its time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerLine {
    /// The line.
    pub line: Line,
    /// Its time.
    pub ns: i64,
    /// Its share of the wall time, 0 to 1.
    pub share: f64,
}

/// What the lower bounds are of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FloorSource {
    /// The model.
    pub model: String,
    /// The family of models that it is of: see `rooflens list families`.
    #[serde(default)]
    pub family: Cow<'static, str>,
    /// The device whose peaks they rest on.
    pub device: String,
    /// What good kernels reach of them on it.
    #[serde(default)]
    pub reachable: Reachable,
}

/// The shares of a device's peaks that good kernels reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reachable {
    /// Large GEMMs, of the matrix peak.
    pub gemm: f64,
    /// Attention, of the matrix peak.
    pub attention: f64,
    /// Kernels that stream, of the memory bandwidth.
    pub bandwidth: f64,
}

/// The ledger of a phase.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct PhaseLedger {
    /// What its steps do; `outside` is what belongs to no step.
    pub phase: Cow<'static, str>,
    /// Steps that have time.
    pub steps: usize,
    /// Those of them that `step` and `line_steps` leave out, unless all are, by reason: see `phases`.
    #[serde(default)]
    pub flawed: Vec<FlawedSteps>,
    /// Activities, or operators on the host.
    pub(crate) activities: usize,
    /// Its time: the sum of its lines.
    pub wall_ns: i64,
    /// Its share of the whole, 0 to 1.
    pub share: f64,
    /// Every line that has time.
    pub lines: Vec<LedgerLine>,
    /// The time of a step; null outside of steps.
    pub step: Option<StepTime>,
    /// Each line's time in a step: half of the steps have no more, 99 % have no more.
    pub line_steps: Vec<LineStep>,
    /// What went through the model in a step, as far as the trace records it; equal steps are merged.
    pub shapes: Vec<StepShape>,
    /// Kernel time by class, most time first.
    pub classes: Vec<ClassLedger>,
    /// By layer, where layers are known.
    pub(crate) layers: Vec<LayerLedger>,
    /// By layer and class of kernel: of the model's layers where a model was given, else of the trace's.
    #[serde(default)]
    pub layer_classes: Vec<LayerClass>,
    /// By stage of a model that sees, adding up to the phase; empty where nothing of it is an encoder's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageLedger>,
    /// Lower bounds by class of the static model; empty without one.
    pub floors: Vec<Floor>,
    /// Lower bound in excess of the kernel time: above zero, the model, the device or the shapes are wrong.
    pub unspent_floor_ns: f64,
    /// Lower bound of operators for which no kernel was found.
    #[serde(default)]
    pub missing_floor_ns: f64,
    /// Exposed communication without waiting, by what limits it.
    #[serde(default)]
    pub(crate) transfers: Transfers,
    /// Kernel time, avoidable included, in which a collective ran on the device too: what advice looks at.
    #[serde(skip)]
    pub(crate) beside_collectives_ns: i64,
    /// The operators of the model with the kernels that do them, in the order of execution; empty without a model.
    #[serde(default)]
    pub operators: Vec<OperatorTime>,
    /// Kernels with what they achieved, most time first; empty without a model.
    #[serde(default)]
    pub kernels: Vec<KernelTime>,
    /// Layers of the model with what their kernels achieved; empty without a model.
    #[serde(default)]
    pub model_layers: Vec<LayerTime>,
    /// The kernels of its steps in the order they ran.
    #[serde(skip)]
    pub(crate) sequences: Sequences,
    /// The host's own code between operators; null where the timeline is a device's.
    pub(crate) waits: Option<Waits>,
}

/// The time of a stage of a model that sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StageLedger {
    /// `sam`, `clip`, `vision`, `projector`; `decoder` is the rest.
    pub stage: Cow<'static, str>,
    /// Activities, or operators on the host.
    pub activities: usize,
    /// Its time, gaps among it.
    pub wall_ns: i64,
}

/// How long steps take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepTime {
    /// Median.
    pub p50_ns: i64,
    /// 90th percentile.
    pub(crate) p90_ns: i64,
    /// 99th percentile.
    pub(crate) p99_ns: i64,
    /// Longest.
    pub max_ns: i64,
}

/// A line's time in the steps of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LineStep {
    /// The line; `floor` and `inefficiency` are merged as `kernels`.
    pub line: Line,
    /// Median over all steps.
    pub p50_ns: i64,
    /// 99th percentile.
    pub(crate) p99_ns: i64,
}

/// The time of a class of kernels in a phase.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ClassLedger {
    /// The class.
    pub class: KernelClass,
    /// The line that its time above the lower bound is counted on.
    pub line: Line,
    /// Activities; on the line of waiting those that waited, which the class counts once more.
    pub activities: usize,
    /// Time it is charged with.
    pub ns: i64,
    /// The lower bound of the work that its kernels do, at most its time; null without a model.
    pub floor_ns: Option<i64>,
    /// What its kernels achieved; null without a model, or where no operator of the model asks for them.
    pub achieved: Option<Achieved>,
}

/// A layer of the model in a phase, over all steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerTime {
    /// The layer, as the model numbers it.
    pub layer: i32,
    /// Time of the kernels that do its operators.
    pub ns: i64,
    /// Their lower bound.
    pub floor_ns: i64,
    /// What they achieved.
    #[serde(flatten)]
    pub achieved: Achieved,
}

/// The kernels of a class in a layer, over all steps of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerClass {
    /// The layer.
    pub layer: i32,
    /// The class.
    pub class: KernelClass,
    /// Their time.
    pub ns: i64,
    /// Their lower bound; null without a model.
    pub floor_ns: Option<i64>,
    /// FLOPs that the results need; null without a model.
    pub flops: Option<f64>,
    /// Bytes that must move; null without a model.
    pub bytes: Option<f64>,
}

/// The time of a layer in a phase.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LayerLedger {
    /// The layer.
    pub(crate) layer: i32,
    /// Kernels the model needs.
    pub(crate) kernels_ns: i64,
    /// Kernels it does not.
    pub(crate) unneeded_ns: i64,
    /// Exposed communication, waiting for other ranks included, and copies.
    pub(crate) moved_ns: i64,
    /// Gaps that its activities end.
    pub(crate) idle_ns: i64,
}

impl Ledger {
    #[cfg(test)]
    pub(crate) fn on(&self, line: Line) -> i64 {
        on(&self.lines, line)
    }

    /// The phase of that name.
    pub fn phase(&self, name: &str) -> Option<&PhaseLedger> {
        self.phases.iter().find(|phase| phase.phase == name)
    }

    /// Splits kernel time into its lower bound and what was lost, in the phases whose steps `model` knows. Answers
    /// what of the trace contradicts the model, in words. An error where it knows no step.
    pub fn join(&mut self, source: FloorSource, model: &dyn StepModel) -> Result<Vec<String>, String> {
        let mut disagreements = Vec::new();
        let mut joined = 0;
        let mut lacking = None;
        for phase in &mut self.phases {
            if phase.sequences.is_empty() {
                continue;
            }
            match ledger::of_phase(&phase.sequences, &self.names, model) {
                Ok(mut found) => {
                    disagreements.append(&mut found.disagreements);
                    phase.join(found);
                    joined += 1;
                }
                Err(reason) => lacking = Some(reason),
            }
        }
        if joined == 0 {
            let none = || "the trace has no prefill or decode step".to_owned();
            return Err(lacking.unwrap_or_else(none));
        }
        let mut times: Times = [0; Line::ALL.len()];
        for line in self.phases.iter().flat_map(|phase| &phase.lines) {
            times[line.line as usize] += line.ns;
        }
        self.lines = lines(&times);
        self.not_computed.remove("floor");
        self.floor_of = Some(source);
        disagreements.dedup();
        Ok(disagreements)
    }

    /// Says why there is no lower bound.
    pub fn without_floor(&mut self, reason: String) {
        self.not_computed.insert("floor".to_owned(), reason);
    }
}

impl PhaseLedger {
    /// The time on a line.
    pub fn on(&self, line: Line) -> i64 {
        on(&self.lines, line)
    }

    fn join(&mut self, found: ledger::PhaseEfficiency) {
        let mut sums: Times = [0; Line::ALL.len()];
        for line in &self.lines {
            sums[line.line as usize] = line.ns;
        }
        for class in &mut self.classes {
            if !matches!(class.line, Line::Kernels | Line::Unneeded) {
                continue;
            }
            let own = found.classes.get(&class.class).copied().unwrap_or_default();
            let floor = own.floor().min(class.ns);
            class.floor_ns = Some(floor);
            class.achieved = own.achieved();
            sums[class.line as usize] -= floor;
            sums[Line::Floor as usize] += floor;
            if class.line == Line::Kernels {
                class.line = Line::Inefficiency;
            }
        }
        sums[Line::Inefficiency as usize] = std::mem::take(&mut sums[Line::Kernels as usize]);
        self.lines = lines(&sums);
        let floor = |(class, sum): (&&'static str, &ledger::OperatorSum)| Floor {
            class: (*class).to_owned(),
            ns: sum.ns,
            flops: sum.flops,
            bytes: sum.bytes,
        };
        self.floors = found.floors.iter().map(floor).collect();
        let layer = |(layer, sum): (&i32, &ledger::Sum)| {
            let achieved = sum.achieved()?;
            Some(LayerTime { layer: *layer, ns: sum.ns, floor_ns: sum.floor(), achieved })
        };
        self.model_layers = found.layers.iter().filter_map(layer).collect();
        let cell = |((layer, class), sum): (&(i32, KernelClass), &ledger::Sum)| LayerClass {
            layer: *layer,
            class: *class,
            ns: sum.ns,
            floor_ns: Some(sum.floor()),
            flops: Some(sum.flops),
            bytes: Some(sum.bytes),
        };
        // The model's layers, where it has any: what a pattern of names calls a layer may begin elsewhere.
        if !found.layer_classes.is_empty() {
            self.layer_classes = found.layer_classes.iter().map(cell).collect();
        }
        self.unspent_floor_ns = found.unspent_ns;
        self.missing_floor_ns = found.missing_ns;
        self.operators = found.operators;
        self.kernels = found.kernels;
    }
}

fn on(lines: &[LedgerLine], line: Line) -> i64 {
    lines.iter().find(|found| found.line == line).map_or(0, |found| found.ns)
}

/// The lines without a lower bound: their times in one step or phase.
pub(super) type Times = [i64; Line::ALL.len()];

pub(super) fn sum(times: &Times) -> i64 {
    times.iter().fold(0, |sum: i64, ns| sum.saturating_add(*ns))
}

pub(super) fn lines(times: &Times) -> Vec<LedgerLine> {
    let wall_ns = sum(times);
    let line = |(line, ns): (&Line, &i64)| LedgerLine { line: *line, ns: *ns, share: share(*ns, wall_ns) };
    Line::ALL.iter().zip(times).filter(|(_, ns)| **ns != 0).map(line).collect()
}
