//! Where did every nanosecond go?

mod document;
mod steps;

use std::collections::{BTreeMap, HashMap};

use rooflens_schema::RankTables;
use rooflens_schema::tables::{PhaseKind, Phases};

use crate::analyses::{Analysis, Communication, Fold, Trace};
use crate::collectives::{self, Spent, Waiting};
use crate::finding::{Finding, FindingType, Findings};
use crate::kernel_catalog::KernelClass;
use crate::ledger::sequences::{self, Ran};
use crate::ledger::{self, Exchange, KernelNames, Line, Sequences, Stalls, StepAsked, is_needed, waits};
use crate::role::{Role, Roles};
use crate::stage::{DECODER, Stages};
use crate::statistics::share;
use crate::{interval, recording};
use steps::Steps;

pub use document::{
    ClassLedger, FloorSource, LayerClass, LayerLedger, LayerTime, Ledger, LedgerLine, LineStep, PhaseLedger,
    Reachable, StageLedger, StepShape, StepTime,
};

const EXPLAIN: &str = "\
Every nanosecond between a device's first and last activity is attributed to one activity: the one that runs; if
several run, compute before communication before copies, and of the same kind the one that started first; if none
runs, the one that ends the gap. Its phase, layer and class are those of that activity. So lines, phases, classes
and layers add up to the devices' spans, to the nanosecond. Without device activity the timeline is the host thread
with the most operator time: operators by self time, and as cpu_bound the host's own code between them.

- `wall_ns`: the spans of all devices. `lines`: floor, inefficiency, kernels, unneeded, communication,
  comm_wait, copies, launch_bound, cpu_bound, sync, dependency, dispatch, unknown; `share` is ns / wall_ns.
- `floor`: the lower bound of the static model's operators at the sizes of each step, on the kernels that do them:
  operators and kernels of a step are matched in the order of execution, never by their times. `inefficiency`: the
  rest of the model's kernels. Without a model or peaks both are `kernels`, and `not_computed` says why.
- `classes.achieved`, `operators`, `kernels`, `model_layers`: model FLOPs and bytes that must be moved, divided by
  the measured time; `peak_*` the device's peaks for these dtypes; `roof_share` is floor_ns / ns, `lost_ns` the
  rest; `limit` is the limiting resource. Of routed experts, the expected number of activated ones counts.
- `missing_floor_ns`: lower bound of operators without their own kernel: they run inside others.
- `unneeded`: avoidable kernels of class elementwise, activation, copy and random: their work can be fused into
  other kernels.
- `communication`: collectives with nothing else running. `comm_wait`: with several ranks, the part of it before
  the last rank arrived at that collective, which is how much longer the kernel is than the shortest among the
  ranks; `communication` is then the rest, the transfer. With one rank this is not known: `not_computed` says so.
- `transfers`: that rest by what limits it: `latency_bound` in collectives whose transfer takes less than 50 us,
  `bandwidth_bound` in longer ones.
- `phases`: the same by phase of the steps, `outside` for what belongs to no step; `step` and `line_steps` are
  over single steps, `shapes` their batch and tokens. `classes`, `layers`: kernel time by class and by layer.
- `layer_classes`: kernel time by layer and class; with a model, of the model's layers, with their lower bound.
- `stages`: of a vision-language model, the phase's time by stage: `sam` and `clip` for the encoders of
  DeepSeek-OCR, `vision` for the one of others, `projector`, and `decoder` for the rest. They add up to the phase.
- `steps`: a step with several annotations counts once. `flawed`: steps that `step` and `line_steps` leave out.
  A gap in which the host waits for device work that is not in the trace is `outside`, not of the step it is in.
- `waits`: on a host, its own code between operators, null on a device: `long_ns` in gaps of at least 100 us, `rows`
  by the operator that follows.
- `unspent_floor_ns`: lower bound beyond the kernels' time: they were faster than the model, device or shapes allow,
  so one of these is wrong.
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
        "device activity, or operators of a run on the host"
    }
    fn finding(&self) -> FindingType {
        FindingType::object::<Ledger>()
    }

    fn start(&self) -> Box<dyn Fold> {
        Box::new(State::default())
    }
}

/// The lines without a lower bound: their times in one step or phase.
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
    names: KernelNames,
    spent: Vec<Spent>,
    phases: BTreeMap<Option<PhaseKind>, Phase>,
}

#[derive(Default)]
struct Phase {
    times: Times,
    classes: BTreeMap<KernelClass, (i64, usize)>,
    layers: BTreeMap<i32, [i64; 4]>,
    layer_classes: BTreeMap<(i32, KernelClass), i64>,
    stages: BTreeMap<Option<&'static str>, (i64, usize)>,
    activities: usize,
    steps: Steps,
    shapes: BTreeMap<[Option<i64>; 4], usize>,
    waits: waits::Found,
    sequences: Sequences,
    exchange: Exchange,
    beside_collectives_ns: i64,
}

/// A stretch of a timeline.
struct Stretch {
    ns: i64,
    line: Line,
    /// What runs, where something does.
    class: Option<KernelClass>,
    phase: Option<i32>,
    layer: Option<i32>,
    stage: Option<&'static str>,
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

    fn finish(self: Box<Self>, earlier: &Findings) -> Option<Box<dyn Finding>> {
        // The host's timeline is that of the work only where no device did it.
        if self.device.count == 0 && earlier.get::<Trace>().is_some_and(Trace::lost_device) {
            return None;
        }
        // Where any rank has a device, hosts alone are not of the same kind.
        let (timeline, mut timelines) =
            if self.device.count > 0 { ("device", self.device) } else { ("host", self.host) };
        let communication = earlier.get::<Communication>();
        timelines.split(communication.map(|found| &found.waiting));
        (timelines.count > 0).then(|| {
            let mut ledger = timelines.ledger(timeline);
            if let Some(reason) = communication.and_then(|found| found.not_computed.get("waits")) {
                ledger.not_computed.insert(Line::CommWait.as_str().to_owned(), reason.clone());
            }
            Box::new(ledger) as Box<dyn Finding>
        })
    }
}

impl Timelines {
    /// Ends the steps of a rank: ids start anew in the next.
    fn close_steps(&mut self, tables: &RankTables) {
        let of_text = |kind: &Option<PhaseKind>| kind.is_some_and(sequences::is_text);
        let steps = self.phases.iter().filter(|(kind, _)| of_text(kind));
        let steps = steps.flat_map(|(_, phase)| phase.steps.open.keys()).map(|row| *row as usize);
        self.stalls.add(&tables.phases, steps.collect());
        for phase in self.phases.values_mut() {
            phase.close_steps(&tables.phases);
        }
    }

    fn devices(&mut self, tables: &RankTables) {
        let kernels = &tables.kernels;
        let (roles, classes) = (Roles::new(tables), ledger::KernelClasses::new(tables));
        let mut stages = Stages::new(tables);
        // The host waited for work of before, which is not in the trace: no time of the step it waited in.
        let unrecorded = interval::merge(recording::waits(tables).unrecorded);
        for (_, rows) in collectives::devices(tables) {
            let device = self.spent.len() as u32;
            self.count += 1;
            let collectives = rows.clone().filter(|&row| roles.at(row) == Role::Communication);
            let span = |row| interval::span(kernels.ts_ns[row], kernels.dur_ns[row]);
            let collectives = interval::merge(collectives.map(span).collect());
            let charged = ledger::charges(tables, &roles, rows.clone(), |row, stretch| {
                if collectives.is_empty() || roles.at(row) == Role::Copy {
                    return;
                }
                let phase = kernels.phase_id[row].get();
                let found = self.phases.entry(tables.phase_kind(phase)).or_default();
                match roles.at(row) {
                    Role::Compute => {
                        found.beside_collectives_ns += interval::overlap_with(&collectives, stretch);
                    }
                    _ => {
                        let kernel = (kernels.ts_ns[row], kernels.dur_ns[row]);
                        found.exchange.add(device, row, phase, stretch, kernel);
                    }
                }
            });
            let mut spent = Spent::new(tables, &roles, rows.clone());
            let mut ran = Vec::new();
            for (i, ns) in rows.zip(charged) {
                let (role, class) = (roles.at(i), classes.of(kernels.kernel_id[i]));
                let line = ledger::line_of(role, class);
                if let Some(phase) = kernels.phase_id[i].get().filter(|_| role != Role::Copy) {
                    ran.push(Ran {
                        phase,
                        row: i,
                        ts_ns: kernels.ts_ns[i],
                        ns,
                        name: kernels.kernel_id[i],
                        class: if role == Role::Communication { KernelClass::Communication } else { class },
                        operator: kernels.op_id[i].get().and_then(|op| usize::try_from(op).ok()),
                    });
                }
                let stage = stages.of(kernels.module_id[i], kernels.phase_id[i].get());
                let of_row = |ns, line, class| Stretch {
                    ns,
                    line,
                    class,
                    phase: kernels.phase_id[i].get(),
                    layer: kernels.layer[i].get(),
                    stage,
                };
                self.add(tables, of_row(ns, line, Some(class)));
                let idle_ns = kernels.idle_before_ns[i];
                let gap = (idle_ns > 0).then(|| (Line::of_gap(kernels.gap_cause[i]), idle_ns));
                if let Some((gap, _)) = gap {
                    let until = kernels.ts_ns[i];
                    let outside =
                        recording::unrecorded_within(&unrecorded, (until.saturating_sub(idle_ns), until));
                    self.add(tables, of_row(idle_ns - outside, gap, None));
                    if outside > 0 {
                        let nowhere =
                            Stretch { phase: None, layer: None, stage: None, ..of_row(outside, gap, None) };
                        self.add(tables, nowhere);
                    }
                }
                spent.add(kernels.ts_ns[i], class, ns, gap);
            }
            self.keep_sequences(tables, ran);
            self.spent.push(spent);
        }
    }

    /// Takes waiting for other ranks out of communication, now that all ranks are known.
    fn split(&mut self, waiting: Option<&Waiting>) {
        for phase in self.phases.values_mut() {
            let wait_ns = phase.exchange.split(waiting);
            phase.times[Line::Communication as usize] -= wait_ns;
            phase.times[Line::CommWait as usize] += wait_ns;
        }
    }

    fn keep_sequences(&mut self, tables: &RankTables, ran: Vec<Ran>) {
        let phases = &mut self.phases;
        let mut keep = |step: StepAsked, kernels| {
            phases.entry(Some(step.kind)).or_default().sequences.push(step, kernels);
        };
        sequences::add(&mut keep, &mut self.names, tables, ran);
    }

    fn host(&mut self, tables: &RankTables) {
        let ops = &tables.ops;
        let moments = ledger::moments(ops);
        self.count += usize::from(!moments.is_empty());
        let mut classes: HashMap<_, KernelClass, foldhash::fast::RandomState> = HashMap::default();
        let mut waits = waits::OfRank::default();
        let mut ran = sequences::OfHost::new(ops);
        let mut stages = Stages::new(tables);
        for moment in moments {
            let i = moment.op;
            let name = ops.name_id[i];
            if moment.is_gap {
                waits.add(ops.phase_id[i].get(), name, moment.ns);
            }
            let class = *classes.entry(name).or_insert_with(|| ledger::of_operator(tables.names.get(name)));
            let line = ledger::host_line(class, moment.is_gap);
            if !moment.is_gap {
                ran.add(i, moment.ns, class);
            }
            self.add(
                tables,
                Stretch {
                    ns: moment.ns,
                    line,
                    class: (!moment.is_gap).then_some(class),
                    phase: ops.phase_id[i].get(),
                    layer: ops.layer[i].get(),
                    stage: stages.of(ops.module_id[i], ops.phase_id[i].get()),
                },
            );
        }
        self.keep_sequences(tables, ran.finish());
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
        let (ns, activities) = phase.stages.entry(stretch.stage).or_default();
        *ns = ns.saturating_add(stretch.ns);
        *activities += usize::from(stretch.class.is_some());
        if let Some(layer) = stretch.layer {
            let column = match stretch.line {
                Line::Unneeded => 1,
                Line::Communication | Line::CommWait | Line::Copies => 2,
                line if line.is_idle() => 3,
                _ => 0,
            };
            let sum = &mut phase.layers.entry(layer).or_default()[column];
            *sum = sum.saturating_add(stretch.ns);
            if let Some(class) = stretch.class {
                let sum = phase.layer_classes.entry((layer, class)).or_default();
                *sum = sum.saturating_add(stretch.ns);
            }
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
        let reason = "no model was given: --model CONFIG gives the kernels their lower bound";
        Ledger {
            timeline: timeline.into(),
            timelines: self.count,
            wall_ns,
            lines: lines(&times),
            phases,
            floor_of: None,
            stalls: self.stalls,
            names: self.names,
            spent: self.spent,
            not_computed: BTreeMap::from([("floor".to_owned(), reason.to_owned())]),
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
        self.steps.close(phases, &mut self.exchange);
        self.exchange.close_rank();
    }

    fn ledger(self, kind: Option<PhaseKind>, whole_ns: i64) -> PhaseLedger {
        let wall_ns = sum(&self.times);
        let (steps, flawed) = (self.steps.count(), self.steps.flaws());
        let (step, line_steps) = self.steps.summary(&self.exchange);
        let class = |(class, (ns, activities)): (KernelClass, (i64, usize))| ClassLedger {
            class,
            line: line_of(class),
            activities,
            ns,
            floor_ns: None,
            achieved: None,
        };
        let mut classes: Vec<ClassLedger> = self.classes.into_iter().map(class).collect();
        if let Some(communication) = classes
            .iter_mut()
            .find(|row| row.class == KernelClass::Communication && self.exchange.wait_ns > 0)
        {
            communication.ns -= self.exchange.wait_ns;
            let waiting = ClassLedger {
                line: Line::CommWait,
                activities: self.exchange.waiting,
                ns: self.exchange.wait_ns,
                ..communication.clone()
            };
            classes.push(waiting);
        }
        classes.sort_by_key(|class| std::cmp::Reverse(class.ns));
        let layer = |(layer, [kernels_ns, unneeded_ns, moved_ns, idle_ns]): (i32, [i64; 4])| LayerLedger {
            layer,
            kernels_ns,
            unneeded_ns,
            moved_ns,
            idle_ns,
        };
        let cell = |((layer, class), ns): ((i32, KernelClass), i64)| LayerClass {
            layer,
            class,
            ns,
            floor_ns: None,
            flops: None,
            bytes: None,
        };
        let stage = |(stage, (wall_ns, activities)): (Option<&'static str>, (i64, usize))| StageLedger {
            stage: stage.unwrap_or(DECODER).into(),
            activities,
            wall_ns,
        };
        let has_stages = self.stages.keys().any(Option::is_some);
        let stages = self.stages.into_iter().filter(|_| has_stages).map(stage);
        PhaseLedger {
            phase: kind.map_or(OUTSIDE, |kind| kind.as_str()).into(),
            steps,
            flawed,
            activities: self.activities,
            wall_ns,
            share: share(wall_ns, whole_ns),
            lines: lines(&self.times),
            step,
            line_steps,
            shapes: self.shapes.into_iter().map(step_shape).collect(),
            classes,
            layers: self.layers.into_iter().map(layer).collect(),
            layer_classes: self.layer_classes.into_iter().map(cell).collect(),
            stages: stages.collect(),
            floors: Vec::new(),
            unspent_floor_ns: 0.0,
            missing_floor_ns: 0.0,
            operators: Vec::new(),
            kernels: Vec::new(),
            model_layers: Vec::new(),
            sequences: self.sequences,
            transfers: self.exchange.transfers,
            beside_collectives_ns: self.beside_collectives_ns,
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

#[cfg(test)]
mod tests;
