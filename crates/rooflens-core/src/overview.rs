//! What to look through interactively: every finding, and device time by phase, step, layer and kernel.

use std::collections::HashMap;
use std::path::PathBuf;

use rooflens_analyze::analyses::Kernels;
use rooflens_analyze::kernel_catalog::{self, ActivityHint};
use rooflens_schema::tables::{ActivityKind, PhaseKind};
use rooflens_schema::{Notes, RankTables};

use crate::advise;
use crate::analysis::AnalyzedInput;
use crate::error::Error;
use crate::input::{ReadOptions, open_input};
use crate::job;
use crate::model::ModelRequest;
use crate::observer::{Event, SharedObserver};

/// Cells that are kept apart by step; of longer traces, later steps of a phase are one.
const MOST_CELLS: usize = 2_000_000;

/// A kernel, copy or fill by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverviewKernel {
    /// Full name.
    pub name: String,
    /// Readable short form.
    pub short_name: String,
    /// What it computes.
    pub class: &'static str,
}

/// Device time of a kernel in one layer of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverviewCell {
    /// What the steps of its phase do; nothing outside of any.
    pub phase: Option<PhaseKind>,
    /// Index into the steps; nothing where it belongs to none, or steps are no longer told apart.
    pub step: Option<u32>,
    /// Layer, where it is known.
    pub layer: Option<i32>,
    /// Index into the kernels.
    pub kernel: u32,
    /// Launches.
    pub count: u64,
    /// Sum of durations.
    pub total_ns: i64,
    /// Longest.
    pub max_ns: i64,
}

/// A step of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverviewStep {
    /// The rank.
    pub rank: i32,
    /// What it does.
    pub phase: PhaseKind,
    /// The number that the trace gives it, else which of the rank's steps of this phase it is, from 0.
    pub number: usize,
    /// Its name in the trace.
    pub name: String,
    /// From its first device activity to the end of the last; on the host where that is not known.
    pub dur_ns: i64,
    /// Union of its device activities; nothing where none is known.
    pub busy_ns: Option<i64>,
    /// Calls that launch kernels; nothing where it is not known.
    pub launches: Option<i64>,
    /// Why it is left out of statistics; nothing where it is not.
    pub excluded: Option<String>,
}

/// Device time by phase, step, layer and kernel.
#[derive(Debug, Default)]
pub struct OverviewTimes {
    /// The kernels.
    pub kernels: Vec<OverviewKernel>,
    /// The steps, in the order of ranks and time.
    pub steps: Vec<OverviewStep>,
    /// The times.
    pub cells: Vec<OverviewCell>,
    /// Whether there were too many steps to tell all of them apart.
    pub is_merged: bool,
}

/// An input, to look through.
pub struct Overview {
    /// Every finding.
    pub analyzed: AnalyzedInput,
    /// Device time.
    pub times: OverviewTimes,
}

/// Reads an input and answers every question about it.
pub fn overview(
    inputs: &[PathBuf],
    model: &ModelRequest,
    observer: &SharedObserver,
) -> Result<Overview, Error> {
    model.check_device()?;
    let notes = Notes::default();
    let input = open_input(inputs, &ReadOptions::default(), &notes, observer)?;
    let mut gathered = Gathered::default();
    let job::JobOutcome { mut findings, stopped } = job::answer(&input, &notes, observer, |rank| {
        gathered.rank(&rank);
        Ok(())
    })?;
    let compared = advise::complete(&input, model, &mut findings)?;
    observer.event(&Event::Finished);
    observer.event(&Event::Notes(&notes.rows()));
    let mut times = gathered.times;
    // Kernels have the names that tables have: those that share a short name are told apart there.
    if let Some(Kernels(kernels)) = findings.get::<Kernels>() {
        let told: HashMap<&str, &str> =
            kernels.iter().map(|kernel| (kernel.name.as_str(), kernel.short_name.as_str())).collect();
        for kernel in &mut times.kernels {
            if let Some(short) = told.get(kernel.name.as_str()) {
                kernel.short_name = (*short).into();
            }
        }
    }
    Ok(Overview { analyzed: AnalyzedInput { findings, compared, stopped }, times })
}

type CellKey = (Option<PhaseKind>, Option<u32>, Option<i32>, u32);

#[derive(Default)]
struct Gathered {
    times: OverviewTimes,
    by_name: HashMap<String, u32>,
    by_key: HashMap<CellKey, usize>,
}

impl Gathered {
    fn rank(&mut self, rank: &RankTables) {
        let steps = self.steps(rank);
        // Names are looked up once for each id of the rank.
        let mut slots: Vec<Option<u32>> = vec![None; rank.names.len()];
        let kernels = &rank.kernels;
        for row in 0..kernels.len() {
            let id = kernels.kernel_id[row];
            let known = slots.get(id.index()).copied().flatten();
            let kernel = known.unwrap_or_else(|| self.kernel(rank.names.get(id), kernels.kind[row]));
            if let Some(slot) = slots.get_mut(id.index()) {
                *slot = Some(kernel);
            }
            let phase_row = kernels.phase_id[row].get().and_then(|phase| usize::try_from(phase).ok());
            let phase = rank.phase_kind(kernels.phase_id[row].get());
            let step = phase_row.and_then(|phase| {
                let step = rank.phases.step_id.get(phase)?.get().and_then(|step| usize::try_from(step).ok());
                steps.get(step.unwrap_or(phase)).copied().flatten()
            });
            let cell = (phase, step, kernels.layer[row].get(), kernel);
            self.add(cell, kernels.dur_ns[row]);
        }
    }

    fn steps(&mut self, rank: &RankTables) -> Vec<Option<u32>> {
        let phases = &rank.phases;
        let mut numbers: HashMap<PhaseKind, usize> = HashMap::new();
        let mut places = Vec::new();
        for (row, is_step) in phases.are_steps().into_iter().enumerate() {
            if !is_step {
                places.push(None);
                continue;
            }
            let place = numbers.entry(phases.kind[row]).or_default();
            let number = phases.step[row].get().and_then(|step| usize::try_from(step).ok()).unwrap_or(*place);
            *place += 1;
            let span = phases.device_first_ns[row].get().zip(phases.device_last_ns[row].get());
            places.push(u32::try_from(self.times.steps.len()).ok());
            self.times.steps.push(OverviewStep {
                rank: rank.rank,
                phase: phases.kind[row],
                number,
                name: rank.names.get(phases.name_id[row]).to_owned(),
                dur_ns: span.map_or(phases.dur_ns[row], |(first, last)| last.saturating_sub(first)),
                busy_ns: phases.device_busy_ns[row].get(),
                launches: phases.launches[row].get(),
                excluded: phases.excluded[row].clone(),
            });
        }
        places
    }

    fn kernel(&mut self, name: &str, kind: ActivityKind) -> u32 {
        if let Some(&known) = self.by_name.get(name) {
            return known;
        }
        let hint = match kind {
            ActivityKind::Kernel => ActivityHint::Kernel,
            ActivityKind::Memcpy => ActivityHint::Memcpy,
            ActivityKind::Memset => ActivityHint::Memset,
        };
        let info = kernel_catalog::describe(name, hint);
        let slot = u32::try_from(self.times.kernels.len()).unwrap_or(u32::MAX);
        self.by_name.insert(name.to_owned(), slot);
        self.times.kernels.push(OverviewKernel {
            name: name.to_owned(),
            short_name: info.short_name,
            class: info.class.as_str(),
        });
        slot
    }

    fn add(&mut self, mut key: CellKey, dur_ns: i64) {
        if self.times.cells.len() >= MOST_CELLS && !self.by_key.contains_key(&key) {
            self.times.is_merged = true;
            key.1 = None;
        }
        let (phase, step, layer, kernel) = key;
        let next = self.times.cells.len();
        let at = *self.by_key.entry(key).or_insert(next);
        if at == next {
            let empty = OverviewCell { phase, step, layer, kernel, count: 0, total_ns: 0, max_ns: 0 };
            self.times.cells.push(empty);
        }
        let cell = &mut self.times.cells[at];
        cell.count += 1;
        cell.total_ns = cell.total_ns.saturating_add(dur_ns);
        cell.max_ns = cell.max_ns.max(dur_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Unobserved;
    use crate::self_test;

    #[test]
    fn times_by_phase_step_layer_and_kernel_add_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace.json");
        std::fs::write(&path, self_test::EXAMPLES[0].contents).expect("a trace");
        let found = overview(&[path], &ModelRequest::default(), &Unobserved::shared()).expect("an overview");
        let times = &found.times;
        let kernels = found.analyzed.findings.get::<Kernels>().expect("kernels");
        let total: i64 = kernels.0.iter().map(|kernel| kernel.total_ns).sum();
        assert_eq!(times.cells.iter().map(|cell| cell.total_ns).sum::<i64>(), total);
        assert_eq!(times.kernels.len(), kernels.0.len());
        assert_eq!(times.steps.len(), 5);
        let numbers: Vec<usize> = times.steps.iter().map(|step| step.number).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
        assert!(times.steps.iter().all(|step| step.phase == PhaseKind::Decode && step.dur_ns > 0));
        assert!(times.cells.iter().any(|cell| cell.step.is_some()) && !times.is_merged);
    }
}
