//! Where did every nanosecond go?

use std::collections::{BTreeMap, HashMap};

use rooflens_schema::RankTables;
use rooflens_schema::tables::{PhaseKind, Phases};
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};
use crate::kernel_catalog::KernelClass;
use crate::ledger::{self, Floor, Floors, Line, PhaseFloors, Stalls, Waits, is_needed, waits};
use crate::role::Roles;
use crate::statistics::{Durations, share};

/// The time ledger: every nanosecond of every timeline on one line.
#[derive(Debug, Clone, Serialize)]
pub struct Ledger {
    /// Whose time it is: `device`, or `host` where the trace has no device activity.
    pub timeline: &'static str,
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
    pub stalls: Stalls,
    /// What is null, and why.
    pub not_computed: BTreeMap<String, String>,
}

/// A line with its time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LedgerLine {
    /// The line.
    pub line: Line,
    /// Its time.
    pub ns: i64,
    /// Its share of the wall time, 0 to 1.
    pub share: f64,
}

/// What the least times are of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FloorSource {
    /// The model.
    pub model: String,
    /// The device whose peaks they rest on.
    pub device: String,
}

/// The ledger of a phase.
#[derive(Debug, Clone, Serialize)]
pub struct PhaseLedger {
    /// What its steps do; `outside` is what belongs to no step.
    pub phase: &'static str,
    /// Steps that have time.
    pub steps: usize,
    /// Activities, or operators on the host.
    pub activities: usize,
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
    /// What went through the model in a step, as far as the trace tells, those that are alike together.
    pub shapes: Vec<StepShape>,
    /// Kernel time by class, most time first.
    pub classes: Vec<ClassLedger>,
    /// By layer of the model, where layers are known.
    pub layers: Vec<LayerLedger>,
    /// Least times by class of the static model; empty without one.
    pub floors: Vec<Floor>,
    /// Least time that no kernel had room for: above zero the model, the device or the shapes do not fit.
    pub unspent_floor_ns: f64,
    /// The host's own code between operators; null where the timeline is a device's.
    pub waits: Option<Waits>,
}

/// How long steps take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepTime {
    /// Median.
    pub p50_ns: i64,
    /// 90th percentile.
    pub p90_ns: i64,
    /// 99th percentile.
    pub p99_ns: i64,
    /// Longest.
    pub max_ns: i64,
}

/// What goes through the model in a step. Null is what the trace does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct StepShape {
    /// How many steps are like this.
    pub steps: usize,
    /// Sequences.
    pub batch: Option<i64>,
    /// Tokens of prompts.
    pub prefill_tokens: Option<i64>,
    /// New tokens of sequences that go on.
    pub decode_tokens: Option<i64>,
    /// Tokens in the cache that are attended to.
    pub kv_tokens: Option<i64>,
}

/// A line's time in the steps of a phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineStep {
    /// The line; `floor` and `inefficiency` stand together as `kernels`.
    pub line: Line,
    /// Median over all steps.
    pub p50_ns: i64,
    /// 99th percentile.
    pub p99_ns: i64,
}

/// The time of a class of kernels in a phase.
#[derive(Debug, Clone, Serialize)]
pub struct ClassLedger {
    /// The class.
    pub class: KernelClass,
    /// The line that its time above the least stands on.
    pub line: Line,
    /// Activities.
    pub activities: usize,
    /// Time it is charged with.
    pub ns: i64,
    /// The part of it that is the least time; null without one.
    pub floor_ns: Option<i64>,
}

/// The time of a layer in a phase.
#[derive(Debug, Clone, Serialize)]
pub struct LayerLedger {
    /// The layer.
    pub layer: i32,
    /// Kernels the model needs.
    pub kernels_ns: i64,
    /// Kernels it does not.
    pub unneeded_ns: i64,
    /// Exposed communication and copies.
    pub moved_ns: i64,
    /// Gaps that its activities end.
    pub idle_ns: i64,
}

const EXPLAIN: &str = "\
Every nanosecond between a device's first and last activity belongs to one activity: the one that runs;
where several run, compute before communication before copies, and of the same kind the one that started
first; where none runs, the one that ends the gap. Its phase, layer and class are those of that activity.
So lines, phases, classes and layers add up to the devices' spans, to the nanosecond. Without device
activity the timeline is the host thread with the most operator time: operators, each less what is inside,
and as cpu_bound the host's own code between them.

- `wall_ns`: the spans of all devices. `lines`: floor, inefficiency, kernels, unneeded, communication,
  copies, launch_bound, cpu_bound, sync, dependency, dispatch, unknown; `share` is ns / wall_ns.
- `floor`: the static model's least time of the phase's steps on the device, spent on the classes of
  kernels that do the work, at most their time. `inefficiency`: the rest of the kernels that the model needs.
  Without a model or peaks both stand as `kernels`, and `not_computed` says why.
- `unneeded`, shown as avoidable: kernels of class elementwise, activation, copy and random: a fused kernel does their work on the way.
- `phases`: the same by what the steps do, `outside` for what belongs to no step; `step` and `line_steps` are
  over single steps, `shapes` what went through the model in them. `classes`, `layers`: kernel time by class and by layer.
- `waits`: on a host, its own code between operators, null on a device: `long_ns` in gaps of 100 us and more, `rows` by the operator
  that follows.
- `unspent_floor_ns`: least time that the kernels had no room for: they were faster than the model, the device
  or the shapes allow, so one of these is not what ran.
";

/// The question of this file.
pub(super) struct LedgerAnalysis;

impl Analysis for LedgerAnalysis {
    fn name(&self) -> &'static str {
        "ledger"
    }
    fn question(&self) -> &'static str {
        "Where did every nanosecond go?"
    }
    fn explain(&self) -> &'static str {
        EXPLAIN
    }
    fn needs(&self) -> &'static str {
        "device activity or operators"
    }
    fn start(&self) -> Box<dyn Fold> {
        Box::new(State::default())
    }
}

/// The lines without a least time: their times in one step or phase.
type Times = [i64; Line::ALL.len()];

#[derive(Default)]
struct State {
    device: Timelines,
    host: Timelines,
}

#[derive(Default)]
struct Timelines {
    count: usize,
    stalls: Stalls,
    phases: BTreeMap<Option<PhaseKind>, Phase>,
}

#[derive(Default)]
struct Phase {
    times: Times,
    classes: BTreeMap<KernelClass, (i64, usize)>,
    layers: BTreeMap<i32, [i64; 4]>,
    activities: usize,
    steps: Steps,
    shapes: BTreeMap<[Option<i64>; 4], usize>,
    waits: waits::Found,
}

/// Steps that are through, and those of the rank at hand.
#[derive(Default)]
struct Steps {
    open: HashMap<i32, Times, foldhash::fast::RandomState>,
    wall: Durations,
    lines: BTreeMap<Line, Durations>,
}

/// A stretch of a timeline.
struct Stretch {
    ns: i64,
    line: Line,
    /// What runs, where something does.
    class: Option<KernelClass>,
    phase: Option<i32>,
    layer: Option<i32>,
}

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        if tables.kernels.is_empty() {
            self.host.host(tables);
        } else {
            self.device.devices(tables);
        }
        for timelines in [&mut self.device, &mut self.host] {
            timelines.close_steps(tables);
        }
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        // Where any rank has a device, hosts alone are not of the same kind.
        let (timeline, timelines) =
            if self.device.count > 0 { ("device", self.device) } else { ("host", self.host) };
        (timelines.count > 0).then(|| Box::new(timelines.ledger(timeline)) as Box<dyn Finding>)
    }
}

impl Timelines {
    /// Ends the steps of a rank: ids start anew in the next.
    fn close_steps(&mut self, tables: &RankTables) {
        let of_text = |kind: &Option<PhaseKind>| {
            matches!(kind, Some(PhaseKind::Prefill | PhaseKind::Decode | PhaseKind::Mixed))
        };
        let steps = self.phases.iter().filter(|(kind, _)| of_text(kind));
        let steps = steps.flat_map(|(_, phase)| phase.steps.open.keys()).map(|row| *row as usize);
        self.stalls.add(&tables.phases, steps.collect());
        for phase in self.phases.values_mut() {
            phase.close_steps(&tables.phases);
        }
    }

    fn devices(&mut self, tables: &RankTables) {
        let kernels = &tables.kernels;
        let (roles, classes) = (Roles::new(tables), ledger::Classes::new(tables));
        let mut from = 0;
        for same in kernels.device.chunk_by(|a, b| a == b) {
            let rows = from..from + same.len();
            from = rows.end;
            self.count += 1;
            let charged = ledger::charges(tables, &roles, rows.clone());
            for (i, ns) in rows.zip(charged) {
                let (role, class) = (roles.at(i), classes.of(kernels.kernel_id[i]));
                let line = ledger::line_of(role, class);
                let of_row = |ns, line, class| Stretch {
                    ns,
                    line,
                    class,
                    phase: kernels.phase_id[i].get(),
                    layer: kernels.layer[i].get(),
                };
                self.add(tables, of_row(ns, line, Some(class)));
                if kernels.idle_before_ns[i] > 0 {
                    let gap = Line::of_gap(kernels.gap_cause[i]);
                    self.add(tables, of_row(kernels.idle_before_ns[i], gap, None));
                }
            }
        }
    }

    fn host(&mut self, tables: &RankTables) {
        let ops = &tables.ops;
        let moments = ledger::moments(ops);
        self.count += usize::from(!moments.is_empty());
        let mut classes: HashMap<_, KernelClass, foldhash::fast::RandomState> = HashMap::default();
        let mut waits = waits::OfRank::default();
        for moment in moments {
            let i = moment.op;
            let name = ops.name_id[i];
            if moment.is_gap {
                waits.add(ops.phase_id[i].get(), name, moment.ns);
            }
            let class = *classes.entry(name).or_insert_with(|| ledger::of_operator(tables.names.get(name)));
            let line = match class {
                _ if moment.is_gap => Line::CpuBound,
                KernelClass::Communication => Line::Communication,
                class if is_needed(class) => Line::Kernels,
                _ => Line::Unneeded,
            };
            self.add(
                tables,
                Stretch {
                    ns: moment.ns,
                    line,
                    class: (!moment.is_gap).then_some(class),
                    phase: ops.phase_id[i].get(),
                    layer: ops.layer[i].get(),
                },
            );
        }
        for (phase, waits) in waits.by_phase() {
            let kind = phase.and_then(|phase| tables.phases.kind.get(phase as usize)).copied();
            self.phases.entry(kind).or_default().waits.add(&tables.names, &waits);
        }
    }

    fn add(&mut self, tables: &RankTables, stretch: Stretch) {
        let kind = tables.phase_kind(stretch.phase);
        let phase = self.phases.entry(kind).or_default();
        let line = stretch.line as usize;
        phase.times[line] = phase.times[line].saturating_add(stretch.ns);
        if let Some(step) = stretch.phase.filter(|_| kind.is_some()) {
            let step = phase.steps.open.entry(step).or_insert([0; Line::ALL.len()]);
            step[line] = step[line].saturating_add(stretch.ns);
        }
        if let Some(class) = stretch.class {
            let (ns, count) = phase.classes.entry(class).or_default();
            *ns = ns.saturating_add(stretch.ns);
            *count += 1;
            phase.activities += 1;
        }
        if let Some(layer) = stretch.layer {
            let column = match stretch.line {
                Line::Unneeded => 1,
                Line::Communication | Line::Copies => 2,
                line if line.is_idle() => 3,
                _ => 0,
            };
            let sum = &mut phase.layers.entry(layer).or_default()[column];
            *sum = sum.saturating_add(stretch.ns);
        }
    }

    fn ledger(self, timeline: &'static str) -> Ledger {
        let mut times: Times = [0; Line::ALL.len()];
        for phase in self.phases.values() {
            for (sum, ns) in times.iter_mut().zip(phase.times) {
                *sum = sum.saturating_add(ns);
            }
        }
        let wall_ns = sum(&times);
        let mut phases: Vec<PhaseLedger> =
            self.phases.into_iter().map(|(kind, phase)| phase.ledger(kind, wall_ns)).collect();
        phases.sort_by_key(|phase| std::cmp::Reverse(phase.wall_ns));
        let reason = "neither a model nor a device was given: --model and --hardware give them";
        Ledger {
            timeline,
            timelines: self.count,
            wall_ns,
            lines: lines(&times),
            phases,
            floor_of: None,
            stalls: self.stalls,
            not_computed: BTreeMap::from([("floor".to_owned(), reason.to_owned())]),
        }
    }
}

impl Steps {
    /// Ends the steps of a rank.
    fn close(&mut self) {
        for (_, times) in self.open.drain() {
            self.wall.push(sum(&times));
            for (line, ns) in Line::ALL.iter().zip(times) {
                // Lines that steps do not have count as 0 where others of the phase have them.
                if ns > 0 || self.lines.contains_key(line) {
                    let known = self.lines.entry(*line).or_default();
                    // Steps before this one had none.
                    for _ in known.count + 1..self.wall.count {
                        known.push(0);
                    }
                    known.push(ns);
                }
            }
        }
    }
}

impl Phase {
    /// Ends the steps of a rank.
    fn close_steps(&mut self, phases: &Phases) {
        for &row in self.steps.open.keys() {
            let row = row as usize;
            let columns = [&phases.batch, &phases.prefill_tokens, &phases.decode_tokens, &phases.kv_tokens];
            *self.shapes.entry(columns.map(|column| column[row].get())).or_default() += 1;
        }
        self.steps.close();
    }

    fn ledger(self, kind: Option<PhaseKind>, whole_ns: i64) -> PhaseLedger {
        let wall_ns = sum(&self.times);
        let steps = self.steps.wall.count;
        let class = |(class, (ns, activities)): (KernelClass, (i64, usize))| ClassLedger {
            class,
            line: line_of(class),
            activities,
            ns,
            floor_ns: None,
        };
        let mut classes: Vec<ClassLedger> = self.classes.into_iter().map(class).collect();
        classes.sort_by_key(|class| std::cmp::Reverse(class.ns));
        let layer = |(layer, [kernels_ns, unneeded_ns, moved_ns, idle_ns]): (i32, [i64; 4])| LayerLedger {
            layer,
            kernels_ns,
            unneeded_ns,
            moved_ns,
            idle_ns,
        };
        let line_step = |(line, mut durations): (Line, Durations)| {
            for _ in durations.count..steps {
                durations.push(0);
            }
            let [p50_ns, p99_ns] = durations.summary([50, 99])?.percentiles;
            Some(LineStep { line, p50_ns, p99_ns })
        };
        let step = self.steps.wall.summary([50, 90, 99]).map(|summary| {
            let [p50_ns, p90_ns, p99_ns] = summary.percentiles;
            StepTime { p50_ns, p90_ns, p99_ns, max_ns: summary.max }
        });
        PhaseLedger {
            phase: kind.map_or(OUTSIDE, |kind| kind.as_str()),
            steps,
            activities: self.activities,
            wall_ns,
            share: share(wall_ns, whole_ns),
            lines: lines(&self.times),
            step,
            line_steps: self.steps.lines.into_iter().filter_map(line_step).collect(),
            shapes: self.shapes.into_iter().map(step_shape).collect(),
            classes,
            layers: self.layers.into_iter().map(layer).collect(),
            floors: Vec::new(),
            unspent_floor_ns: 0.0,
            waits: self.waits.finish(),
        }
    }
}

fn step_shape(
    ([batch, prefill_tokens, decode_tokens, kv_tokens], steps): ([Option<i64>; 4], usize),
) -> StepShape {
    StepShape { steps, batch, prefill_tokens, decode_tokens, kv_tokens }
}

/// What is called that belongs to no step.
pub const OUTSIDE: &str = "outside";

fn line_of(class: KernelClass) -> Line {
    match class {
        KernelClass::Communication => Line::Communication,
        KernelClass::Memcpy | KernelClass::Memset => Line::Copies,
        class if is_needed(class) => Line::Kernels,
        _ => Line::Unneeded,
    }
}

fn sum(times: &Times) -> i64 {
    times.iter().fold(0, |sum: i64, ns| sum.saturating_add(*ns))
}

fn lines(times: &Times) -> Vec<LedgerLine> {
    let wall_ns = sum(times);
    let line = |(line, ns): (&Line, &i64)| LedgerLine { line: *line, ns: *ns, share: share(*ns, wall_ns) };
    Line::ALL.iter().zip(times).filter(|(_, ns)| **ns != 0).map(line).collect()
}

impl Ledger {
    /// The time on a line.
    #[must_use]
    pub fn on(&self, line: Line) -> i64 {
        on(&self.lines, line)
    }

    /// The phase of that name.
    #[must_use]
    pub fn phase(&self, name: &str) -> Option<&PhaseLedger> {
        self.phases.iter().find(|phase| phase.phase == name)
    }

    /// Splits kernel time into what physics demanded and what was lost, in the phases that `floors` tells.
    pub fn join(&mut self, floors: &Floors) {
        for phase in &mut self.phases {
            let Some(known) = floors.phases.iter().find(|(kind, _)| kind.as_str() == phase.phase) else {
                continue;
            };
            phase.join(known.1);
        }
        let mut times: Times = [0; Line::ALL.len()];
        for line in self.phases.iter().flat_map(|phase| &phase.lines) {
            times[line.line as usize] += line.ns;
        }
        self.lines = lines(&times);
        self.not_computed.remove("floor");
        self.floor_of = Some(FloorSource { model: floors.model.clone(), device: floors.device.clone() });
    }

    /// Says why there is no least time.
    pub fn without_floor(&mut self, reason: String) {
        self.not_computed.insert("floor".to_owned(), reason);
    }
}

impl PhaseLedger {
    /// The time on a line.
    #[must_use]
    pub fn on(&self, line: Line) -> i64 {
        on(&self.lines, line)
    }

    fn join(&mut self, floors: &PhaseFloors) {
        let kernels =
            self.classes.iter().filter(|class| matches!(class.line, Line::Kernels | Line::Unneeded));
        let times: BTreeMap<KernelClass, i64> = kernels.map(|class| (class.class, class.ns)).collect();
        let (spent, unspent) = ledger::spend(&floors.classes, &times);
        let mut sums: Times = [0; Line::ALL.len()];
        for line in &self.lines {
            sums[line.line as usize] = line.ns;
        }
        for class in &mut self.classes {
            if !matches!(class.line, Line::Kernels | Line::Unneeded) {
                continue;
            }
            let floor = spent.get(&class.class).copied().unwrap_or(0);
            class.floor_ns = Some(floor);
            sums[class.line as usize] -= floor;
            sums[Line::Floor as usize] += floor;
            if class.line == Line::Kernels {
                class.line = Line::Inefficiency;
            }
        }
        sums[Line::Inefficiency as usize] = std::mem::take(&mut sums[Line::Kernels as usize]);
        self.lines = lines(&sums);
        self.floors = floors.classes.clone();
        self.unspent_floor_ns = unspent;
    }
}

fn on(lines: &[LedgerLine], line: Line) -> i64 {
    lines.iter().find(|found| found.line == line).map_or(0, |found| found.ns)
}

#[cfg(test)]
mod tests;
