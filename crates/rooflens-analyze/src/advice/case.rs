//! What a rule is, what it may look at, and what it answers.

use std::borrow::Cow;

use rooflens_schema::tables::GapCause;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analyses::{
    DevicePeaks, FrameStat, Frames, Gaps, KernelStat, Kernels, LateHost, LatePhase, Ledger, OUTSIDE,
    OperatorStat, Operators, PhaseLedger,
};
use crate::finding::Findings;
use crate::host_kind::HostKind;
use crate::kernel_catalog::KernelClass;
use crate::ledger::{Floor, Line, kernels_floor_ns};
use crate::sentence::{percent, things, time};

/// A rule.
pub struct AdviceRule {
    /// Stable word.
    pub name: &'static str,
    /// When it applies and how the gain is computed: the text of `rooflens explain`.
    pub about: &'static str,
    pub(crate) kind: AdviceKind,
    pub(crate) same_work: bool,
    pub(crate) shortens_steps: bool,
    /// Advice for a phase; nothing if there is nothing to gain; an error that names what is missing to decide.
    pub(crate) judge: fn(&Case<'_>) -> Result<Option<Draft>, String>,
}

impl AdviceRule {
    /// What most rules have in common.
    pub(super) const DEPLOYMENT: AdviceRule = AdviceRule {
        name: "",
        about: "",
        kind: AdviceKind::Deployment,
        same_work: true,
        shortens_steps: true,
        judge: |_| Ok(None),
    };
}

/// What is to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdviceKind {
    /// How the trace is recorded: the run itself does not gain.
    Recording,
    /// How the model is run: flags, sizes, formats, the code around it.
    #[default]
    Deployment,
    /// Which kernels run, and how they are tuned.
    Kernel,
    /// The model itself: it has to be trained anew.
    Design,
}

/// What a rule answers about a phase; fields without a comment are those of `Advice`.
pub struct Draft {
    pub(crate) title: String,
    /// Time saved over all steps of the phase, ns; none if it is unknown.
    pub(crate) gain_ns: Option<Range>,
    pub(crate) acts_on_ns: f64,
    pub(crate) evidence: Vec<String>,
    pub(crate) computed: String,
    pub(crate) change: String,
    pub(crate) risk: String,
    pub(crate) comes_first: bool,
}

/// A least and a most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

impl Range {
    /// From one to the other.
    pub fn new(low: f64, high: f64) -> Self {
        Range { low, high }
    }

    /// Halfway: what advice is ordered by.
    pub(crate) fn middle(self) -> f64 {
        self.low.midpoint(self.high)
    }

    pub(super) fn times(self, factor: f64) -> Self {
        Range { low: self.low * factor, high: self.high * factor }
    }

    pub(super) fn within(self, most: f64) -> Self {
        let high = self.high.clamp(0.0, most);
        Range { low: self.low.clamp(0.0, high), high }
    }
}

/// Steps of a phase with and without the profiler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slowdown {
    /// The phase.
    pub phase: Cow<'static, str>,
    /// A step in the trace, median.
    pub profiled_step_ns: f64,
    /// A step without a profiler, median.
    pub unprofiled_step_ns: f64,
    /// The first in multiples of the second.
    pub ratio: f64,
}

/// A phase, and everything around it.
pub struct Case<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) phase: &'a PhaseLedger,
    pub(crate) findings: &'a Findings,
    pub(crate) context: &'a RunContext,
}

/// What is known besides the trace. What is not known is none.
#[derive(Debug, Clone, Default)]
pub struct RunContext {
    /// The runtime that ran the model, as the run's config names it.
    pub runtime: Option<String>,
    /// How long steps take without a profiler, by phase.
    pub unprofiled: Vec<UnprofiledSteps>,
    /// Threads that operators ran on, and those that the host has.
    pub threads: Option<(u64, u64)>,
    /// Whether the model went through a compiler.
    pub is_compiled: Option<bool>,
    /// Why a device was held back, and for which share of the samples.
    pub throttled: Vec<(String, f64)>,
    /// Tokens with and without padding, by phase.
    pub padding: Vec<Padding>,
    /// The model's lower bounds after changes to it.
    pub alternatives: Vec<Alternative>,
    /// What the device can do.
    pub peaks: Option<DevicePeaks>,
}

/// Steps of a phase in a pass without a profiler.
#[derive(Debug, Clone, PartialEq)]
pub struct UnprofiledSteps {
    /// The phase.
    pub phase: &'static str,
    /// A step, median.
    pub step_ns: f64,
}

/// Tokens of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Padding {
    /// The phase.
    pub phase: &'static str,
    /// Tokens that were needed.
    pub needed: u64,
    /// Tokens that went through the model.
    pub computed: u64,
}

/// The lower bounds of a phase after a change, beside those of the model as it ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Alternative {
    /// The rule that may advise it.
    pub rule: &'static str,
    /// The phase.
    pub phase: &'static str,
    /// What is changed, in words: `weights in fp8`.
    pub what: String,
    /// How to change it.
    pub change: String,
    /// Least times of all steps after the change, by class of the static model.
    pub floors: Vec<Floor>,
    /// The same of the model as it ran, over the same steps: only these two compare. The ledger counts a step on
    /// every device of its process, so that its own bound may be a multiple of this one.
    pub unchanged: Vec<Floor>,
    /// Work that is done at once, in multiples of what was: 2 where the batch is doubled.
    pub work: f64,
    /// Collectives that the change adds on a device, all steps together.
    pub collectives: f64,
    /// The same with every product in whole tiles, for each size of them; empty where that is not asked.
    pub tiles: Vec<Tiles>,
}

/// Lower bounds of all steps with matmuls in whole tiles.
#[derive(Debug, Clone, PartialEq)]
pub struct Tiles {
    /// Columns of a tile.
    pub side: u64,
    /// As the model is.
    pub old_ns: f64,
    /// After the change, for as many useful operations.
    pub new_ns: f64,
    /// The part of the operations that is padding, 0 to 1.
    pub old_padding: f64,
    /// The same after the change.
    pub new_padding: f64,
}

impl Alternative {
    /// The least time of the model's kernels after the change, in parts of what it was. Not a number where nothing has
    /// to be done.
    pub fn ratio(&self) -> f64 {
        kernels_floor_ns(&self.floors) / kernels_floor_ns(&self.unchanged)
    }
}

/// A stretch without any activity is what the recording left, not work that could be done faster.
pub(super) fn is_judged(phase: &PhaseLedger) -> bool {
    phase.wall_ns > 0 && phase.activities > 0
}

impl<'a> Case<'a> {
    pub(super) fn kernels(&self) -> &'a [KernelStat] {
        self.findings.get::<Kernels>().map_or(&[], |found| &found.0)
    }

    pub(super) fn operators(&self) -> &'a [OperatorStat] {
        self.findings.get::<Operators>().map_or(&[], |found| &found.0)
    }

    pub(super) fn frames(&self) -> &'a [FrameStat] {
        self.findings.get::<Frames>().map_or(&[], |found| &found.0)
    }

    /// The largest part of a GEMM's time that another format can save on this device: 1 - old peak / new peak, rounded
    /// down to a hundredth. None where the device or one of its peaks is not known.
    pub(super) fn most_saved(&self, old: &str, new: &str) -> Option<f64> {
        let peaks = &self.context.peaks.as_ref()?.flops_per_s;
        let saved = 1.0 - peaks.get(old)? / peaks.get(new)?;
        saved.is_finite().then(|| (saved.max(0.0) * 100.0).floor() / 100.0)
    }

    pub(super) fn is_device(&self) -> bool {
        self.ledger.timeline == "device"
    }

    pub(super) fn on(&self, line: Line) -> f64 {
        self.phase.on(line) as f64
    }

    /// Time of the model's kernels, with or without a lower bound.
    pub(super) fn kernels_ns(&self) -> f64 {
        self.on(Line::Floor) + self.on(Line::Inefficiency) + self.on(Line::Kernels)
    }

    pub(super) fn classes_ns(&self, classes: &[KernelClass]) -> f64 {
        let found = self.phase.classes.iter().filter(|class| classes.contains(&class.class));
        found.map(|class| class.ns as f64).sum()
    }

    pub(super) fn products_ns(&self) -> f64 {
        self.classes_ns(&[KernelClass::Gemm, KernelClass::Gemv, KernelClass::Moe, KernelClass::Convolution])
    }

    /// Time of kernels by classes of which `counts` holds: the findings are of all phases, so the phase has its part
    /// of each kernel by the time of its class.
    pub(super) fn kernels_where(&self, classes: &[KernelClass], counts: impl Fn(&KernelStat) -> bool) -> f64 {
        let part = |class: &KernelClass| {
            let rows = self.kernels().iter().filter(|row| row.class == class.as_str());
            let (all, these) = rows.fold((0.0, 0.0), |(all, these), row| {
                let ns = row.total_ns as f64;
                (all + ns, these + if counts(row) { ns } else { 0.0 })
            });
            if all > 0.0 { self.classes_ns(&[*class]) * these / all } else { 0.0 }
        };
        classes.iter().map(part).sum()
    }

    pub(super) fn judged_ns(&self) -> f64 {
        self.ledger.phases.iter().filter(|phase| is_judged(phase)).map(|phase| phase.wall_ns as f64).sum()
    }

    /// Idle time of this phase in which the host compiled or loaded kernels, or captured a graph: findings are of
    /// all phases, so it has its part by its own CPU-bound time.
    pub(super) fn compiling_ns(&self) -> f64 {
        let Some(Gaps(gaps)) = self.findings.get::<Gaps>() else { return 0.0 };
        let Some(gap) = gaps.iter().find(|gap| gap.cause == GapCause::CpuBound && gap.total_ns > 0) else {
            return 0.0;
        };
        let hosts = gap.hosts.iter().filter(|host| host.kind.is_some_and(HostKind::is_once));
        let idle: f64 = hosts.map(|host| host.idle_ns as f64).sum();
        self.on(Line::CpuBound) * idle / gap.total_ns as f64
    }

    pub(super) fn late_host(&self) -> Option<&'a LatePhase> {
        let LateHost(rows) = self.findings.get::<LateHost>()?;
        rows.iter().find(|row| row.phase == self.phase.phase)
    }

    /// A step with and without the profiler, where both are known.
    pub(super) fn slowdown(&self) -> Option<Slowdown> {
        let phase = &self.phase.phase;
        let found = self.context.unprofiled.iter().find(|one| one.phase == *phase)?;
        // Both are medians: one slow step among many says nothing of the profiler.
        let (profiled_step_ns, unprofiled_step_ns) = (self.phase.step.as_ref()?.p50_ns as f64, found.step_ns);
        let ratio = profiled_step_ns / unprofiled_step_ns;
        let is_sound = self.phase.steps > 0 && ratio.is_finite() && ratio > 0.0;
        is_sound.then(|| Slowdown { phase: phase.clone(), profiled_step_ns, unprofiled_step_ns, ratio })
    }

    /// What numbers are of: ` per step`, or nothing where there are no steps.
    pub(super) fn per_step_word(&self) -> &'static str {
        if self.phase.steps > 0 { " per step" } else { "" }
    }

    pub(super) fn per_step(&self, ns: f64) -> f64 {
        ns / self.phase.steps.max(1) as f64
    }

    /// `launch bound: 528 ms of 707 ms (74.7%)`.
    pub(super) fn row(&self, name: &str, ns: f64) -> String {
        let wall = self.phase.wall_ns as f64;
        format!("{name}: {} of {} ({})", time(ns), time(wall), percent(ns / wall))
    }

    /// "`aten::copy_`: 528 ms in 12 calls", of the whole trace. The words are for one call and for many.
    pub(super) fn spent(&self, name: &str, ns: i64, number: usize, [one, many]: [&str; 2]) -> String {
        let calls = things(number as i64, one, many);
        format!("`{name}`: {} in {calls}{}", time(ns as f64), self.of_trace())
    }

    pub(super) fn spent_in<'r>(
        &self,
        rows: impl IntoIterator<Item = &'r KernelStat>,
        words: [&str; 2],
    ) -> impl Iterator<Item = String> {
        let rows = rows.into_iter().take(3);
        rows.map(move |row| self.spent(&row.short_name, row.total_ns, row.count, words))
    }

    pub(super) fn of_trace(&self) -> &'static str {
        if self.ledger.phases.len() > 1 { " (whole trace)" } else { "" }
    }

    pub(super) fn step_word(&self) -> String {
        match &*self.phase.phase {
            OUTSIDE => "time outside steps".to_owned(),
            "step" => "step".to_owned(),
            phase => format!("{phase} step"),
        }
    }

    pub(super) fn alternative(&self, rule: &'static str) -> Result<&'a Alternative, String> {
        let found = self.alternatives(rule)?.next();
        found.ok_or_else(|| "the model cannot be changed this way, or already is".to_owned())
    }

    /// The same where there may be several, or none, in the order of preference.
    pub(super) fn alternatives(
        &self,
        rule: &'static str,
    ) -> Result<impl Iterator<Item = &'a Alternative>, String> {
        if self.phase.floors.is_empty() {
            let reason = self.ledger.not_computed.get("floor").cloned();
            return Err(
                reason.unwrap_or_else(|| format!("the {} steps have no lower bound", self.phase.phase))
            );
        }
        let phase = &self.phase.phase;
        let all = self.context.alternatives.iter();
        Ok(all.filter(move |found| found.rule == rule && found.phase == *phase))
    }

    /// Advice to change the model as `other` has it; nothing where its lower bound does not shrink.
    pub(super) fn smaller(&self, other: &Alternative, title: String, risk: &str) -> Option<Draft> {
        Some(Draft {
            title,
            gain_ns: Some(self.smaller_floor(other)?),
            acts_on_ns: self.kernels_ns(),
            comes_first: false,
            evidence: vec![self.floors_row(other), self.row("the model's kernels", self.kernels_ns())],
            computed: "the difference of the lower bounds, up to kernel time in proportion".to_owned(),
            change: self.own_options(&other.change),
            risk: risk.to_owned(),
        })
    }

    pub(super) fn bounds_ns(&self, other: &Alternative) -> (f64, f64) {
        let old = kernels_floor_ns(&self.phase.floors);
        (old, old * other.ratio())
    }

    pub(super) fn repeats(&self, other: &Alternative) -> f64 {
        kernels_floor_ns(&self.phase.floors) / kernels_floor_ns(&other.unchanged)
    }

    pub(super) fn smaller_floor(&self, other: &Alternative) -> Option<Range> {
        let (old, new) = self.bounds_ns(other);
        self.shrunk(old, new)
    }

    /// What kernels gain where their lower bound shrinks: no less than the lower bound itself does, and at
    /// most in proportion. Where the host is the slower side, a faster device only waits longer.
    pub(super) fn shrunk(&self, old: f64, new: f64) -> Option<Range> {
        let ratio = new / old;
        if !(ratio.is_finite() && ratio < 1.0) {
            return None;
        }
        let kernels = self.kernels_ns();
        let late = self.on(Line::LaunchBound) + self.on(Line::CpuBound);
        let high = kernels * (1.0 - ratio);
        let low = (old - new).min(high);
        match self.is_device() && late > kernels {
            true => Some(Range::new(0.0, high * kernels / (kernels + late))),
            false => Some(Range::new(low, high)),
        }
    }

    pub(super) fn floors_row(&self, other: &Alternative) -> String {
        let (old, new) = self.bounds_ns(other);
        format!(
            "lower bound of a {}: {}, {} with {}",
            self.step_word(),
            time(self.per_step(old)),
            time(self.per_step(new)),
            other.what
        )
    }
}
