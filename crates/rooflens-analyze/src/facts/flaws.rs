//! Steps whose time is not what a step takes: the profiler was switched on or off in them, worked in them, or the
//! recording does not hold all that they did.

use std::collections::BTreeMap;

use rooflens_schema::RankTables;
use rooflens_schema::tables::{ApiKind, PhaseKind};

use super::launches::Launches;
use crate::interval;
use crate::recording;
use crate::statistics::share;

/// Why a step is left out of statistics of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flaw {
    Cut,
    Profiler,
    Unrecorded,
}

impl Flaw {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Flaw::Cut => "cut",
            Flaw::Profiler => "profiler",
            Flaw::Unrecorded => "unrecorded_work",
        }
    }
}

/// From this share of a step on, the profiler's work or a wait for unrecorded work counts.
const NOTICEABLE: f64 = 0.01;

/// Fills `phases.excluded`, where it is not filled yet.
pub(super) fn mark(tables: &mut RankTables, launches: &Launches) {
    let are_steps = tables.phases.are_steps();
    let profiler_calls = recording::profiler_calls(tables);
    let profiler_work = recording::profiler_work(tables);
    let unrecorded = interval::merge(recording::waits(tables).unrecorded);
    let lost = lost_launches(tables, launches);
    let phases = &tables.phases;
    let empty = empty_at_the_edges(tables, &are_steps);
    let flaw = |row: usize| {
        let (start, end) = interval::span(phases.ts_ns[row], phases.dur_ns[row]);
        let covered = |by: &[(i64, i64)]| {
            share(interval::overlap_with(by, (start, end)), interval::length((start, end)))
        };
        let holds = |times: &[i64]| {
            let first = times.partition_point(|time| *time < start);
            times.get(first).is_some_and(|time| *time < end)
        };
        if phases.device[row].is_some() {
            None
        } else if empty.contains(&row) || holds(&lost) {
            Some(Flaw::Cut)
        } else if holds(&profiler_calls) || covered(&profiler_work) >= NOTICEABLE {
            Some(Flaw::Profiler)
        } else {
            (covered(&unrecorded) >= NOTICEABLE).then_some(Flaw::Unrecorded)
        }
    };
    let found: Vec<Option<Flaw>> =
        (0..phases.len()).map(|row| are_steps[row].then(|| flaw(row)).flatten()).collect();
    for (excluded, flaw) in tables.phases.excluded.iter_mut().zip(found) {
        if excluded.is_none() {
            *excluded = flaw.map(|flaw| flaw.as_str().to_owned());
        }
    }
}

/// When calls launched kernels that the recording ended before: those after the last launch that has an activity.
fn lost_launches(tables: &RankTables, launches: &Launches) -> Vec<i64> {
    let api = &tables.api;
    let Some(last) =
        (0..tables.kernels.len()).filter_map(|i| launches.of(i)).map(|call| api.ts_ns[call]).max()
    else {
        return Vec::new();
    };
    let captured = recording::captured(tables);
    let mut times: Vec<i64> = (0..api.len())
        .filter(|&i| matches!(api.kind[i], ApiKind::Launch | ApiKind::GraphLaunch) && api.ts_ns[i] > last)
        .filter(|i| !captured.iter().any(|range| range.contains(i)))
        .map(|i| api.ts_ns[i])
        .collect();
    times.sort_unstable();
    times
}

fn empty_at_the_edges(tables: &RankTables, are_steps: &[bool]) -> Vec<usize> {
    let phases = &tables.phases;
    let mut works = vec![false; phases.len()];
    for step in tables.ops.phase_id.iter().filter_map(|step| step.get()) {
        works[step as usize] = true;
    }
    let mut kinds: BTreeMap<PhaseKind, Vec<usize>> = BTreeMap::new();
    for row in (0..phases.len()).filter(|&row| are_steps[row]) {
        let counts = [phases.activities[row], phases.launches[row]];
        works[row] |= counts.iter().any(|count| count.get().unwrap_or(0) > 0);
        kinds.entry(phases.kind[row]).or_default().push(row);
    }
    let mut empty = Vec::new();
    for rows in kinds.values().filter(|rows| rows.iter().any(|&row| works[row])) {
        empty.extend(rows.iter().copied().take_while(|&row| !works[row]));
        empty.extend(rows.iter().rev().copied().take_while(|&row| !works[row]));
    }
    empty
}
