//! Where did every nanosecond go?

mod document;

use std::collections::BTreeMap;

use document::{Times, lines, sum};
use rooflens_schema::RankTables;
use rooflens_schema::tables::{PhaseKind, Phases};

use crate::analyses::{Communication, FlawedSteps, Trace};
use crate::by_name::FastMap;
use crate::collectives::{Spent, Waiting};
use crate::facts::is_pass;
use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::kernel_catalog::KernelClass;
use crate::ledger::sequences::{self, Ran};
use crate::ledger::{
    self, Exchange, KernelNames, Line, Sequences, Stalls, StepAsked, StepShape, class_line, waits,
};
use crate::role::{Role, Roles};
use crate::stage::{DECODER, Stages};
use crate::statistics::{Durations, share};
use crate::{interval, recording};

pub use document::{
    ClassLedger, FloorSource, LayerClass, LayerLedger, LayerTime, Ledger, LedgerLine, LineStep, PhaseLedger,
    Reachable, StageLedger, StepTime,
};

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "ledger",
    question: "Where did every nanosecond go?",
    needs: "device activity, or operators of a run on the host",
    is_special: false,
    finding: FindingType::object::<Ledger>(),
    start: || Box::new(State::default()),
    explain: "\
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
",
};

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

struct Stretch {
    ns: i64,
    line: Line,
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
    fn close_steps(&mut self, tables: &RankTables) {
        let of_text = |kind: &Option<PhaseKind>| kind.is_some_and(is_pass);
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
        for (_, rows) in interval::runs(&tables.kernels.device) {
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
        let mut classes: FastMap<_, KernelClass> = FastMap::default();
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
            line: class_line(class),
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
            sequences: self.sequences,
            transfers: self.exchange.transfers,
            beside_collectives_ns: self.beside_collectives_ns,
            waits: self.waits.finish(),
            ..PhaseLedger::default()
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

#[cfg(test)]
mod tests;

/// Steps that are through, and those of the rank at hand.
#[derive(Default)]
struct Steps {
    open: FastMap<i32, Times>,
    sound: Spread,
    flawed: Spread,
    flaws: BTreeMap<String, usize>,
}

#[derive(Default)]
struct Spread {
    wall: Durations,
    lines: BTreeMap<Line, Durations>,
}

impl Steps {
    fn close(&mut self, phases: &Phases, exchange: &mut Exchange) {
        for (row, times) in self.open.drain() {
            let flaw = phases.excluded.get(row as usize).and_then(Option::as_ref);
            exchange.close_step(row, times[Line::Communication as usize], flaw.is_none());
            match flaw {
                Some(flaw) => {
                    *self.flaws.entry(flaw.clone()).or_default() += 1;
                    self.flawed.push(&times);
                }
                None => self.sound.push(&times),
            }
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.sound.wall.count + self.flawed.wall.count
    }

    fn flaws(&self) -> Vec<FlawedSteps> {
        let flaws = self.flaws.iter();
        flaws.map(|(reason, steps)| FlawedSteps { reason: reason.clone(), steps: *steps }).collect()
    }

    /// The time of a step, and of each line in it: of sound steps, where there is any.
    fn summary(self, exchange: &Exchange) -> (Option<StepTime>, Vec<LineStep>) {
        let are_sound = self.sound.wall.count > 0;
        let Spread { wall, mut lines } = if are_sound { self.sound } else { self.flawed };
        for (line, times) in [
            (Line::Communication, exchange.step_transfer_ns(are_sound)),
            (Line::CommWait, exchange.step_wait_ns(are_sound)),
        ] {
            if times.total_ns > 0 {
                lines.insert(line, times);
            }
        }
        let steps = wall.count;
        let line_step = |(line, mut durations): (Line, Durations)| {
            for _ in durations.count..steps {
                durations.push(0);
            }
            let [p50_ns, p99_ns] = durations.summary([50, 99])?.percentiles;
            Some(LineStep { line, p50_ns, p99_ns })
        };
        let step = wall.summary([50, 90, 99]).map(|summary| {
            let [p50_ns, p90_ns, p99_ns] = summary.percentiles;
            StepTime { p50_ns, p90_ns, p99_ns, max_ns: summary.max }
        });
        (step, lines.into_iter().filter_map(line_step).collect())
    }
}

impl Spread {
    fn push(&mut self, times: &Times) {
        self.wall.push(sum(times));
        // How much of its communication is waiting is known in the end.
        let lines = Line::ALL.iter().zip(times).filter(|(line, _)| **line != Line::Communication);
        for (line, &ns) in lines {
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
