//! Takes in ranks one by one, keeps what is drawn of each.

use std::collections::HashMap;

use rooflens_schema::{NameId, RankTables};

use super::budget::{
    KERNEL_NAMES, LANE_NEIGHBOURS, NEIGHBOURS, NEIGHBOURS_IN_ALL, OPERATOR_NAMES, OTHER_RANKS, SLICES,
    WINDOWS,
};
use super::lanes::{BuiltLane, LaneReader, Names};
use super::slices::{in_a_row, operator_key};
use super::steps::{self, StepSums};
use super::{DrawnLane, DrawnName, DrawnStep, DrawnTimeline, DrawnWindow, LaneKind, LongestCall};
use crate::by_name::FastMap;
use crate::collectives::Waiting;
use crate::interval::{Interval, runs, span};
use crate::ledger::Line;
use crate::role::{Role, Roles};

#[derive(Default)]
pub(crate) struct TimelineFold {
    ranks: usize,
    is_host: bool,
    devices: usize,
    names: Names,
    steps: Vec<StepSums>,
    drawn_steps: Vec<DrawnStep>,
    layers: Vec<i32>,
    classes: Vec<crate::kernel_catalog::KernelClass>,
    windows: Vec<OpenWindow>,
    longest: HashMap<(u32, bool), LongestCall>,
    neighbours: usize,
    places: FastMap<usize, (usize, usize)>,
}

/// A window whose waiting is not known yet.
struct OpenWindow {
    rank: i32,
    step: Option<usize>,
    window: Interval,
    lanes: Vec<OpenLane>,
}

struct OpenLane {
    lane: DrawnLane,
    rows: Vec<usize>,
    device: Option<usize>,
}

impl TimelineFold {
    pub(crate) fn rank(&mut self, tables: &RankTables) {
        let mut reader = LaneReader::new(tables);
        let kernels = longest_kernels(tables);
        let operators = longest_operators(tables);
        reader.keep.extend(kernels.iter().map(|one| one.row));
        reader.keep.extend(operators.iter().map(|one| operator_key(one.row)));
        self.places.clear();
        if self.ranks == 0 {
            self.first_rank(tables, &reader);
        } else if self.ranks <= OTHER_RANKS {
            self.collectives(tables, &reader);
        }
        reader.lane_slices = LANE_NEIGHBOURS;
        for one in &kernels {
            self.longest_kernel(tables, &reader, one);
        }
        for one in &operators {
            self.longest_operator(tables, &reader, one);
        }
        self.ranks += 1;
        self.devices += runs(&tables.kernels.device).count();
    }

    fn first_rank(&mut self, tables: &RankTables, reader: &LaneReader<'_>) {
        self.is_host = tables.kernels.is_empty();
        self.steps = steps::sums(tables);
        let order = steps::by_interest(&self.steps);
        let kept = steps::kept(&self.steps, &order);
        (self.classes, self.layers) = (steps::classes(&self.steps), steps::layers(&self.steps));
        self.drawn_steps = kept.iter().map(|&at| self.drawn_step(tables, reader, at)).collect();
        let mut room = SLICES;
        for at in order.into_iter().take(WINDOWS) {
            let Ok(step) = kept.binary_search(&at) else { continue };
            let window = whole(&self.steps[at], tables);
            let lanes = reader.window(window, &mut self.names);
            let slices: usize = lanes.iter().map(|lane| lane.rows.len()).sum();
            if slices > room && !self.windows.is_empty() {
                continue;
            }
            room = room.saturating_sub(slices);
            self.drawn_steps[step].window = Some(self.windows.len());
            self.open(tables, reader, (Some(step), window), lanes);
        }
    }

    fn drawn_step(&mut self, tables: &RankTables, reader: &LaneReader<'_>, at: usize) -> DrawnStep {
        let step = &self.steps[at];
        let phases = &tables.phases;
        DrawnStep {
            index: at,
            number: phases.step[step.row].get(),
            of_kind: step.of_kind,
            kind: step.kind,
            name: reader.range_name(phases.name_id[step.row], &mut self.names) as u32,
            start_ns: step.start_ns,
            end_ns: step.end_ns,
            devices: step.devices,
            before_ns: step.before_ns,
            excluded: phases.excluded[step.row].clone(),
            lines: step.lines.to_vec(),
            classes: self.classes.iter().map(|of| step.classes.get(of).copied().unwrap_or(0)).collect(),
            layers: self.layers.iter().map(|of| step.layers.get(of).copied().unwrap_or(0)).collect(),
            window: None,
        }
    }

    fn open(
        &mut self,
        tables: &RankTables,
        reader: &LaneReader<'_>,
        (step, window): (Option<usize>, Interval),
        lanes: Vec<BuiltLane>,
    ) {
        for (number, lane) in lanes.iter().enumerate() {
            if !matches!(lane.lane.kind, LaneKind::Stream | LaneKind::Operators) {
                continue;
            }
            for row in lane.rows.iter().filter(|row| reader.keep.contains(row)) {
                self.places.entry(*row).or_insert((self.windows.len(), number));
            }
        }
        let number = |device: i32| {
            let at = runs(&tables.kernels.device).position(|(known, _)| known == device);
            at.map(|at| self.devices + at)
        };
        let lanes = lanes
            .into_iter()
            .map(|BuiltLane { lane, rows, device }| OpenLane { lane, rows, device: device.and_then(number) })
            .collect();
        self.windows.push(OpenWindow { rank: tables.rank, step, window, lanes });
    }

    fn collectives(&mut self, tables: &RankTables, reader: &LaneReader<'_>) {
        let roles = Roles::new(tables);
        let own = steps::sums(tables);
        let kernels = &tables.kernels;
        for (number, (device, rows)) in runs(&tables.kernels.device).enumerate() {
            let mut by_step: HashMap<i32, Vec<usize>> = HashMap::new();
            for row in rows.filter(|&row| roles.at(row) == Role::Communication) {
                if let Some(phase) = kernels.phase_id[row].get() {
                    by_step.entry(phase).or_default().push(row);
                }
            }
            for open in &mut self.windows {
                let Some(step) = open.step.map(|step| &self.drawn_steps[step]) else { continue };
                let Some(same) = own.get(step.index).filter(|same| same.kind == step.kind) else { continue };
                let Some(rows) = by_step.get(&(same.row as i32)) else { continue };
                let moved = step.start_ns.saturating_sub(same.start_ns);
                let mut slices: Vec<_> = rows
                    .iter()
                    .map(|&row| {
                        let mut slice = reader.activity(row, &mut self.names);
                        slice.start = slice.start.saturating_add(moved);
                        slice.end = slice.end.saturating_add(moved);
                        slice.launch = -1;
                        slice
                    })
                    .collect();
                in_a_row(&mut slices);
                let title = format!("rank {} · GPU {device} · collectives", tables.rank);
                let BuiltLane { lane, rows, .. } =
                    reader.lane(LaneKind::Collectives, title, open.window, slices);
                open.lanes.push(OpenLane { lane, rows, device: Some(self.devices + number) });
            }
        }
    }

    fn longest_kernel(&mut self, tables: &RankTables, reader: &LaneReader<'_>, one: &Longest) {
        let kernels = &tables.kernels;
        let name = reader.kernel_name(one.name, &mut self.names) as u32;
        if self.longest.get(&(name, false)).is_some_and(|known| known.dur_ns >= one.dur_ns) {
            return;
        }
        if !self.places.contains_key(&one.row) {
            let key = |row: usize| (kernels.device[row], kernels.stream[row]);
            let is_same = |at: usize| key(at) == key(one.row);
            let around = around((&kernels.ts_ns, &kernels.dur_ns), one.row, is_same);
            let mut lanes = reader.streams(around, kernels.device[one.row], &mut self.names);
            if !self.fits(&lanes) {
                lanes = vec![reader.kernel_alone(around, one.row, &mut self.names)];
            }
            self.open(tables, reader, (None, around), lanes);
        }
        self.keep_longest((name, false), one.row, kernels.ts_ns[one.row], one.dur_ns);
    }

    fn longest_operator(&mut self, tables: &RankTables, reader: &LaneReader<'_>, one: &Longest) {
        let ops = &tables.ops;
        let name = reader.operator_name(one.name, &mut self.names) as u32;
        if self.longest.get(&(name, true)).is_some_and(|known| known.dur_ns >= one.dur_ns) {
            return;
        }
        let row = operator_key(one.row);
        if !self.places.contains_key(&row) {
            let (start, end) = span(ops.ts_ns[one.row], ops.dur_ns[one.row]);
            let around = (start.saturating_sub(one.dur_ns / 4), end.saturating_add(one.dur_ns / 4));
            let mut lanes = reader.operators(around, ops.tid[one.row], &mut self.names);
            // Deep within others, or too much around it.
            if !lanes.iter().any(|lane| lane.rows.contains(&row)) || !self.fits(&lanes) {
                lanes = vec![reader.operator_alone(around, one.row, &mut self.names)];
            }
            self.open(tables, reader, (None, around), lanes);
        }
        self.keep_longest((name, true), row, ops.ts_ns[one.row], one.dur_ns);
    }

    fn fits(&mut self, lanes: &[BuiltLane]) -> bool {
        let slices: usize = lanes.iter().map(|lane| lane.rows.len()).sum();
        let fits = self.neighbours + slices <= NEIGHBOURS_IN_ALL;
        self.neighbours += if fits { slices } else { 0 };
        fits
    }

    fn keep_longest(&mut self, key: (u32, bool), row: usize, start_ns: i64, dur_ns: i64) {
        let (name, is_operator) = key;
        let Some(&(window, lane)) = self.places.get(&row) else { return };
        self.longest.insert(key, LongestCall { name, is_operator, window, lane, start_ns, dur_ns });
    }

    /// What is drawn, now that it is known who waited for whom; `None` where there is nothing.
    pub(crate) fn finish(self, waiting: Option<&Waiting>) -> Option<DrawnTimeline> {
        if self.windows.is_empty() {
            return None;
        }
        let mut longest: Vec<LongestCall> = self.longest.into_values().collect();
        longest.sort_unstable_by_key(|one| (one.is_operator, one.name));
        // Windows that a longer call of another rank has replaced are not drawn.
        let is_used =
            |at: usize, open: &OpenWindow| open.step.is_some() || longest.iter().any(|one| one.window == at);
        let mut moved = vec![usize::MAX; self.windows.len()];
        let mut windows = Vec::new();
        for (at, open) in self.windows.into_iter().enumerate() {
            if is_used(at, &open) {
                moved[at] = windows.len();
                windows.push(open.close(waiting));
            }
        }
        longest.iter_mut().for_each(|one| one.window = moved[one.window]);
        let mut steps = self.drawn_steps;
        for step in &mut steps {
            step.window = step.window.map(|at| moved[at]);
            let wait_ns = waiting.map_or(0, |waiting| self.steps[step.index].waited_ns(waiting));
            step.lines[Line::Communication as usize] -= wait_ns;
            step.lines[Line::CommWait as usize] += wait_ns;
        }
        Some(DrawnTimeline {
            is_host: self.is_host,
            names: self.names.into_rows().map(|(_, name): (String, DrawnName)| name).collect(),
            classes: self.classes,
            layers: self.layers,
            steps_left_out: self.steps.len() - steps.len(),
            steps,
            windows,
            longest,
        })
    }
}

impl OpenWindow {
    fn close(self, waiting: Option<&Waiting>) -> DrawnWindow {
        let lane = |OpenLane { mut lane, rows, device }: OpenLane| {
            if let (Some(device), Some(waiting)) = (device, waiting) {
                let wait = |row: &usize| waiting.of(device, *row as u32).unwrap_or(-1);
                let waits: Vec<i64> = rows.iter().map(wait).collect();
                if waits.iter().any(|wait| *wait >= 0) {
                    lane.wait = waits;
                }
            }
            lane
        };
        DrawnWindow {
            rank: self.rank,
            step: self.step,
            start_ns: self.window.0,
            end_ns: self.window.1,
            lanes: self.lanes.into_iter().map(lane).collect(),
        }
    }
}

/// The time of a step: the host's part before the device begins, too, where that is not longer than the step itself.
fn whole(step: &StepSums, tables: &RankTables) -> Interval {
    let host = tables.phases.ts_ns[step.row];
    let earliest = step.start_ns.saturating_sub(step.end_ns.saturating_sub(step.start_ns));
    (host.clamp(earliest, step.start_ns), step.end_ns)
}

fn around((ts, dur): (&[i64], &[i64]), row: usize, is_same: impl Fn(usize) -> bool) -> Interval {
    let own = span(ts[row], dur[row]);
    let first = (0..NEIGHBOURS).filter_map(|by| row.checked_sub(by)).take_while(|&at| is_same(at)).last();
    let last = (row..row.saturating_add(NEIGHBOURS).min(ts.len())).take_while(|&at| is_same(at)).last();
    // No further than three times its own time, and some microseconds for very short ones.
    let far = own.1.saturating_sub(own.0).saturating_mul(3).max(20_000);
    let start = first.map_or(own.0, |at| ts[at]).max(own.0.saturating_sub(far)).min(own.0);
    let end = last.map_or(own.1, |at| span(ts[at], dur[at]).1).min(own.1.saturating_add(far)).max(own.1);
    (start, end)
}

#[derive(Debug, Clone, Copy)]
struct Longest {
    name: NameId,
    row: usize,
    dur_ns: i64,
    total_ns: i64,
    start_ns: i64,
}

fn of_table(names: &[NameId], ts: &[i64], dur: &[i64], most: usize) -> Vec<Longest> {
    let mut found: FastMap<NameId, Longest> = FastMap::default();
    for (row, &name) in names.iter().enumerate() {
        let (dur_ns, start_ns) = (dur[row], ts[row]);
        let known = found.entry(name).or_insert(Longest { name, row, dur_ns, total_ns: 0, start_ns });
        known.total_ns = known.total_ns.saturating_add(dur_ns);
        // Of equal ones the first in time.
        if (dur_ns, std::cmp::Reverse(start_ns)) > (known.dur_ns, std::cmp::Reverse(known.start_ns)) {
            *known = Longest { row, dur_ns, start_ns, ..*known };
        }
    }
    let mut found: Vec<Longest> = found.into_values().collect();
    // Ids differ from rank to rank and from run to run, times do not.
    found.sort_by_key(|one| (std::cmp::Reverse(one.total_ns), one.start_ns, one.row));
    found.truncate(most);
    found
}

fn longest_kernels(tables: &RankTables) -> Vec<Longest> {
    let kernels = &tables.kernels;
    of_table(&kernels.kernel_id, &kernels.ts_ns, &kernels.dur_ns, KERNEL_NAMES)
}

fn longest_operators(tables: &RankTables) -> Vec<Longest> {
    let ops = &tables.ops;
    of_table(&ops.name_id, &ops.ts_ns, &ops.dur_ns, OPERATOR_NAMES)
}
