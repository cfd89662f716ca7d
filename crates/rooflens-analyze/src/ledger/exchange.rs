//! Exposed communication, and how much of it is waiting for other ranks.
//!
//! Ranks come one at a time, and who arrived last is known when all have been seen. So each exposed stretch of a
//! communication kernel is kept, a few words each, until then.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::by_name::FastMap;
use crate::collectives::Waiting;
use crate::interval::{self, Interval};
use crate::statistics::Durations;

/// A collective whose transfer takes less is limited by latency: at the 450 GB/s of an H100's links, 50 µs move an
/// all-reduce of 13 MB among eight, and engines send less than that through latency-optimised kernels (vLLM's
/// custom all-reduce: up to 8 MB).
pub(crate) const LATENCY_BOUND_NS: i64 = 50_000;

/// Exposed communication without waiting, by what limits it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Transfers {
    /// In collectives whose transfer takes less than 50 µs.
    pub(crate) latency_bound: ExposedTransfers,
    /// In longer ones.
    pub(crate) bandwidth_bound: ExposedTransfers,
}

/// Exposed communication of some collectives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ExposedTransfers {
    /// Kernels that are exposed at least in part.
    pub(crate) calls: usize,
    /// Their exposed time without waiting.
    pub(crate) ns: i64,
}

impl Transfers {
    /// Adds exposed time of collectives whose transfers take `transfer_ns` each.
    pub(crate) fn add(&mut self, calls: usize, exposed_ns: i64, transfer_ns: i64) {
        let bound = match transfer_ns < LATENCY_BOUND_NS {
            true => &mut self.latency_bound,
            false => &mut self.bandwidth_bound,
        };
        bound.calls += calls;
        bound.ns = bound.ns.saturating_add(exposed_ns);
    }
}

/// The exposed communication of a phase.
#[derive(Default)]
pub(crate) struct Exchange {
    stretches: Vec<Stretch>,
    /// Stretches before this one are of ranks that are through: their steps have positions of their own.
    closed: usize,
    open: FastMap<i32, u32>,
    steps: Vec<(i64, bool)>,
    step_waits: Vec<i64>,
    pub(crate) wait_ns: i64,
    pub(crate) waiting: usize,
    pub(crate) transfers: Transfers,
}

struct Stretch {
    device: u32,
    row: u32,
    /// The row of `phases`, later the position of the step.
    step: Option<u32>,
    from_ns: i64,
    ns: i64,
    dur_ns: i64,
}

impl Exchange {
    /// A stretch of a kernel that starts and takes as told.
    pub(crate) fn add(
        &mut self,
        device: u32,
        row: usize,
        phase: Option<i32>,
        stretch: Interval,
        (ts_ns, dur_ns): (i64, i64),
    ) {
        self.stretches.push(Stretch {
            device,
            row: row as u32,
            step: phase.and_then(|phase| u32::try_from(phase).ok()),
            from_ns: stretch.0.saturating_sub(ts_ns),
            ns: interval::length(stretch),
            dur_ns,
        });
    }

    pub(crate) fn close_step(&mut self, phase: i32, ns: i64, is_sound: bool) {
        self.open.insert(phase, self.steps.len() as u32);
        self.steps.push((ns, is_sound));
    }

    pub(crate) fn close_rank(&mut self) {
        for stretch in &mut self.stretches[self.closed..] {
            let row = stretch.step.and_then(|row| i32::try_from(row).ok());
            stretch.step = row.and_then(|row| self.open.get(&row).copied());
        }
        self.closed = self.stretches.len();
        self.open.clear();
    }

    pub(crate) fn split(&mut self, waiting: Option<&Waiting>) -> i64 {
        self.step_waits = vec![0; self.steps.len()];
        let mut last = None;
        let mut last_waiting = None;
        for stretch in std::mem::take(&mut self.stretches) {
            let of_kernel = waiting.and_then(|known| known.of(stretch.device as usize, stretch.row));
            let until_ns = of_kernel.unwrap_or(0);
            let wait_ns = waited_ns(until_ns, stretch.from_ns, stretch.ns);
            self.wait_ns = self.wait_ns.saturating_add(wait_ns);
            if let Some(step) = stretch.step.and_then(|step| self.step_waits.get_mut(step as usize)) {
                *step = step.saturating_add(wait_ns);
            }
            let kernel = Some((stretch.device, stretch.row));
            self.waiting += usize::from(wait_ns > 0 && last_waiting != kernel);
            last_waiting = if wait_ns > 0 { kernel } else { last_waiting };
            let calls = usize::from(last != kernel);
            last = kernel;
            let transfer_ns = stretch.dur_ns.saturating_sub(until_ns);
            self.transfers.add(calls, stretch.ns - wait_ns, transfer_ns);
        }
        self.wait_ns
    }

    pub(crate) fn step_wait_ns(&self, are_sound: bool) -> Durations {
        durations(self.of_steps(are_sound).map(|(_, wait)| wait))
    }

    pub(crate) fn step_transfer_ns(&self, are_sound: bool) -> Durations {
        durations(self.of_steps(are_sound).map(|(all, wait)| all - wait))
    }

    fn of_steps(&self, are_sound: bool) -> impl Iterator<Item = (i64, i64)> {
        let steps = self.steps.iter().zip(&self.step_waits);
        steps.filter(move |((_, is_sound), _)| *is_sound == are_sound).map(|((all, _), wait)| (*all, *wait))
    }
}

/// How much of a stretch of a collective is waiting, where the last rank arrives `until_ns` after the kernel's start and
/// the stretch begins `from_ns` after it.
pub(crate) fn waited_ns(until_ns: i64, from_ns: i64, ns: i64) -> i64 {
    until_ns.saturating_sub(from_ns).clamp(0, ns)
}

fn durations(values: impl Iterator<Item = i64>) -> Durations {
    let mut found = Durations::default();
    values.for_each(|ns| found.push(ns));
    found
}
