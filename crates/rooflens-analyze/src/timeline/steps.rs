//! The steps of a rank: their extents, their sums by line, class and layer, and which of them are drawn in full.

use std::collections::{BTreeMap, BTreeSet};

use rooflens_schema::RankTables;
use rooflens_schema::tables::PhaseKind;

use super::budget::{STEP_NUMBERS, STEPS};
use crate::collectives::Waiting;
use crate::kernel_catalog::KernelClass;
use crate::ledger::{self, KernelClasses, Line};
use crate::role::{Role, Roles};
use crate::{interval, recording};

#[derive(Debug, Clone)]
pub(super) struct StepSums {
    pub(crate) row: usize,
    pub(crate) of_kind: usize,
    pub(crate) kind: PhaseKind,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) devices: usize,
    pub(crate) before_ns: i64,
    pub(crate) activities: usize,
    exposed: Vec<ExposedStretch>,
    pub(crate) is_excluded: bool,
    pub(crate) lines: [i64; Line::ALL.len()],
    pub(crate) classes: BTreeMap<KernelClass, i64>,
    pub(crate) layers: BTreeMap<i32, i64>,
}

#[derive(Debug, Clone)]
struct ExposedStretch {
    device: usize,
    row: u32,
    from_ns: i64,
    ns: i64,
}

impl StepSums {
    pub(crate) fn waited_ns(&self, waiting: &Waiting) -> i64 {
        let wait = |stretch: &ExposedStretch| {
            let until_ns = waiting.of(stretch.device, stretch.row).unwrap_or(0);
            ledger::waited_ns(until_ns, stretch.from_ns, stretch.ns)
        };
        self.exposed.iter().map(wait).sum()
    }

    fn new(tables: &RankTables, row: usize) -> Self {
        StepSums {
            row,
            of_kind: 0,
            kind: tables.phases.kind[row],
            start_ns: i64::MAX,
            end_ns: i64::MIN,
            devices: 0,
            before_ns: 0,
            activities: 0,
            exposed: Vec::new(),
            is_excluded: tables.phases.excluded[row].is_some(),
            lines: [0; Line::ALL.len()],
            classes: BTreeMap::new(),
            layers: BTreeMap::new(),
        }
    }

    pub(crate) fn wall_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    fn extend(&mut self, (start, end): (i64, i64)) {
        self.start_ns = self.start_ns.min(start);
        self.end_ns = self.end_ns.max(end);
    }

    fn add(&mut self, line: Line, ns: i64) {
        let sum = &mut self.lines[line as usize];
        *sum = sum.saturating_add(ns);
    }
}

pub(super) fn sums(tables: &RankTables) -> Vec<StepSums> {
    let mut steps: BTreeMap<i32, StepSums> = BTreeMap::new();
    if tables.kernels.is_empty() {
        of_host(tables, &mut steps);
    } else {
        of_devices(tables, &mut steps);
    }
    let mut steps: Vec<StepSums> = steps.into_values().filter(|step| step.start_ns < step.end_ns).collect();
    steps.sort_by_key(|step| (step.start_ns, step.row));
    let mut counts: BTreeMap<PhaseKind, usize> = BTreeMap::new();
    for step in &mut steps {
        let count = counts.entry(step.kind).or_default();
        step.of_kind = *count;
        *count += 1;
    }
    steps
}

fn step_of<'a>(
    tables: &RankTables,
    steps: &'a mut BTreeMap<i32, StepSums>,
    phase: Option<i32>,
) -> Option<&'a mut StepSums> {
    let phase = phase?;
    let row = usize::try_from(phase).ok().filter(|row| *row < tables.phases.len())?;
    Some(steps.entry(phase).or_insert_with(|| StepSums::new(tables, row)))
}

fn of_devices(tables: &RankTables, steps: &mut BTreeMap<i32, StepSums>) {
    let kernels = &tables.kernels;
    let (roles, classes) = (Roles::new(tables), KernelClasses::new(tables));
    let unrecorded = interval::merge(recording::waits(tables).unrecorded);
    for (device, (_, rows)) in interval::runs(&tables.kernels.device).enumerate() {
        let charged = ledger::charges(tables, &roles, rows.clone(), |row, stretch| {
            let phase = kernels.phase_id[row].get().filter(|_| roles.at(row) == Role::Communication);
            if let Some(step) = step_of(tables, steps, phase) {
                let from_ns = stretch.0.saturating_sub(kernels.ts_ns[row]);
                let ns = interval::length(stretch);
                step.exposed.push(ExposedStretch { device, row: row as u32, from_ns, ns });
            }
        });
        // Rows go stream by stream, so the first row of a step need not be its first activity.
        let mut begun: BTreeMap<i32, i64> = BTreeMap::new();
        for row in rows.clone() {
            let Some(phase) = kernels.phase_id[row].get() else { continue };
            let first = begun.entry(phase).or_insert(i64::MAX);
            *first = (*first).min(kernels.ts_ns[row]);
        }
        for phase in begun.keys() {
            if let Some(step) = step_of(tables, steps, Some(*phase)) {
                step.devices += 1;
            }
        }
        for (row, ns) in rows.zip(charged) {
            let Some(phase) = kernels.phase_id[row].get() else { continue };
            let Some(step) = step_of(tables, steps, Some(phase)) else { continue };
            let class = classes.of(kernels.kernel_id[row]);
            let own = interval::span(kernels.ts_ns[row], kernels.dur_ns[row]);
            let idle = kernels.idle_before_ns[row];
            let gap = (own.0.saturating_sub(idle), own.0);
            let idle = idle - recording::unrecorded_within(&unrecorded, gap);
            // What is before the first activity lies between two steps.
            let first = begun.get(&phase).copied().unwrap_or(own.0);
            let within = idle.min(own.0.saturating_sub(first));
            step.before_ns = step.before_ns.saturating_add(idle - within);
            step.extend(own);
            step.activities += 1;
            step.add(ledger::line_of(roles.at(row), class), ns);
            step.add(Line::of_gap(kernels.gap_cause[row]), within);
            *step.classes.entry(class).or_default() += ns;
            if let Some(layer) = kernels.layer[row].get() {
                let sum = step.layers.entry(layer).or_default();
                *sum = sum.saturating_add(ns).saturating_add(within);
            }
        }
    }
}

fn of_host(tables: &RankTables, steps: &mut BTreeMap<i32, StepSums>) {
    let ops = &tables.ops;
    let moments = ledger::moments(ops);
    let Some(first) = moments.first() else { return };
    let mut now = ops.ts_ns[first.op];
    for moment in &moments {
        let own = (now, now.saturating_add(moment.ns));
        now = own.1;
        let row = moment.op;
        let Some(step) = step_of(tables, steps, ops.phase_id[row].get()) else { continue };
        if moment.is_gap && step.activities == 0 {
            step.before_ns = step.before_ns.saturating_add(moment.ns);
            continue;
        }
        step.devices = 1;
        step.extend(own);
        let class = ledger::of_operator(tables.names.get(ops.name_id[row]));
        step.activities += usize::from(!moment.is_gap);
        step.add(ledger::host_line(class, moment.is_gap), moment.ns);
        if !moment.is_gap {
            *step.classes.entry(class).or_default() += moment.ns;
        }
        if let Some(layer) = ops.layer[row].get() {
            *step.layers.entry(layer).or_default() += moment.ns;
        }
    }
}

/// The order in which steps deserve to be drawn in full: the median and the slowest of each kind, the next slowest,
/// then the rest, evenly spread.
pub(super) fn by_interest(steps: &[StepSums]) -> Vec<usize> {
    let mut kinds: BTreeMap<PhaseKind, Vec<usize>> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        kinds.entry(step.kind).or_default().push(at);
    }
    let mut kinds: Vec<(PhaseKind, Vec<usize>)> = kinds.into_iter().collect();
    let wall = |all: &[usize]| all.iter().map(|&at| steps[at].wall_ns() as i128).sum::<i128>();
    kinds.sort_by_key(|(kind, all)| (std::cmp::Reverse(wall(all)), *kind));
    let mut order: Vec<usize> = Vec::with_capacity(steps.len());
    let mut by_time: Vec<Vec<usize>> = Vec::new();
    for (_, all) in &kinds {
        let sound: Vec<usize> = all.iter().copied().filter(|&at| !steps[at].is_excluded).collect();
        let mut all = if sound.is_empty() { all.clone() } else { sound };
        all.sort_by_key(|&at| (steps[at].wall_ns(), at));
        // The median as percentiles have it: half of the steps take no longer.
        order.push(all[(all.len() - 1) / 2]);
        order.extend(all.last());
        by_time.push(all);
    }
    for next in 2..=6 {
        order.extend(by_time.iter().filter_map(|all| all.len().checked_sub(next).map(|at| all[at])));
    }
    order.extend(evenly(steps.len()));
    let mut seen = BTreeSet::new();
    order.retain(|at| seen.insert(*at));
    order
}

/// Positions 0 to `count`, so that any beginning of the list is spread over all.
fn evenly(count: usize) -> Vec<usize> {
    let bits = usize::BITS - count.saturating_sub(1).leading_zeros();
    let reversed = |at: usize| if bits == 0 { at } else { at.reverse_bits() >> (usize::BITS - bits) };
    (0..1usize << bits).map(reversed).filter(|&at| at < count).collect()
}

pub(super) fn kept(steps: &[StepSums], order: &[usize]) -> Vec<usize> {
    let columns = Line::ALL.len() + classes(steps).len() + layers(steps).len();
    let most = STEPS.min(STEP_NUMBERS / columns.max(1)).max(8);
    let mut kept: Vec<usize> = order.iter().copied().take(most).collect();
    kept.sort_unstable();
    kept
}

pub(super) fn classes(steps: &[StepSums]) -> Vec<KernelClass> {
    let all: BTreeSet<KernelClass> = steps.iter().flat_map(|step| step.classes.keys().copied()).collect();
    all.into_iter().collect()
}

pub(super) fn layers(steps: &[StepSums]) -> Vec<i32> {
    let all: BTreeSet<i32> = steps.iter().flat_map(|step| step.layers.keys().copied()).collect();
    all.into_iter().collect()
}
