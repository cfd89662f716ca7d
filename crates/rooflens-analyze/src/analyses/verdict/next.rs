//! What to look at next.

use std::cmp::Reverse;

use rooflens_schema::tables::{ActivityKind, GapCause};

use super::{Known, MATTERS, WORTH_A_LOOK, cause_word};
use crate::analyses::KernelStat;
use crate::role::COMMUNICATION;
use crate::sentence::{code, things, time, whole_percent};
use crate::statistics::share;

/// Steps whose 99th percentile is this many times the median have a tail.
const TAIL: f64 = 1.5;
/// A change of duration over the trace worth telling, as a share of the mean.
const DRIFT: f64 = 0.2;
/// Percentiles and drift need this many steps.
const STEPS: usize = 20;

/// Checks whose failure puts every number in doubt.
const DOUBTS: [&str; 5] = [
    "data_loss",
    "impossible_durations",
    "launches_without_activity",
    "graph_launches_without_activity",
    "waits_without_work",
];
/// From this share on.
const DOUBTFUL: f64 = 0.02;

impl Known<'_> {
    /// What to look at, each with its weight as a share of the time; the heaviest three.
    pub(super) fn next(&self) -> Vec<String> {
        let mut looks: Vec<(f64, String)> = Vec::new();
        for check in self.checks.iter().filter(|check| !check.ok && DOUBTS.contains(&check.name)) {
            // A few of many do not change the picture.
            if check.of.is_none_or(|of| share(check.count, of) >= DOUBTFUL) {
                looks.push((1.0, format!("Before anything else, see `health`: {}", check.message)));
            }
        }
        looks.extend(self.gap_look());
        looks.extend(self.kernel_look());
        looks.extend(self.communication_look());
        looks.extend(self.step_look());
        if self.lost_device().is_none() {
            looks.extend(self.host_look());
        }
        if self.unclassified_share >= MATTERS {
            let text = format!(
                "{} of device time is in kernels that the catalog does not know: a line in catalog/kernels names them.",
                whole_percent(self.unclassified_share)
            );
            looks.push((self.unclassified_share / 2.0, text));
        }
        // Stable: equals stay in the order above.
        looks.sort_by(|a, b| b.0.total_cmp(&a.0));
        looks.into_iter().take(3).map(|(_, text)| text).collect()
    }

    fn gap_look(&self) -> Option<(f64, String)> {
        let main = self.gaps.first().filter(|gap| self.of_span(gap.total_ns) >= WORTH_A_LOOK)?;
        let longest = main.examples.first()?;
        let after = longest.after.as_ref().map_or(String::new(), |after| format!(" before `{after}`"));
        let host =
            longest.host.as_ref().map_or(String::new(), |host| format!(", with the host in {}", code(host)));
        let text = format!(
            "The longest {} gap: {}{after} on rank {}, device {}{host}.",
            cause_word(main.cause),
            time(longest.dur_ns as f64),
            longest.rank,
            longest.device
        );
        Some((self.of_span(main.total_ns), text))
    }

    fn kernel_look(&self) -> Option<(f64, String)> {
        // Communication has a look of its own.
        let own = |kernel: &&KernelStat| kernel.class != COMMUNICATION && kernel.share >= WORTH_A_LOOK;
        let kernel = self.kernels.iter().find(own)?;
        let noun = match kernel.kind {
            ActivityKind::Kernel => "kernel",
            ActivityKind::Memcpy => "copy",
            ActivityKind::Memset => "fill",
        };
        let text = format!(
            "The {noun} with the most time, `{}`: {} of device time in {} of {} (median).",
            kernel.short_name,
            whole_percent(kernel.share),
            things(kernel.count as i64, "call", "calls"),
            time(kernel.p50_ns)
        );
        Some((kernel.share * self.of_span(self.busy_ns), text))
    }

    fn communication_look(&self) -> Option<(f64, String)> {
        let weight = self.of_span(self.exposed_communication_ns);
        let found = self.communication.filter(|_| weight >= WORTH_A_LOOK)?;
        let last = found.waits.iter().max_by_key(|row| (row.last_to_arrive, Reverse(row.rank)));
        if let Some(last) = last.filter(|last| found.matched > 0 && last.last_to_arrive * 2 > found.matched) {
            let of_all = whole_percent(share(last.last_to_arrive as i64, found.matched as i64));
            return Some((
                weight,
                format!("Rank {} comes last to {of_all} of collectives: the others wait for it.", last.rank),
            ));
        }
        let main = found.collectives.first()?;
        let rate =
            main.bus_gb_per_s.map_or(String::new(), |rate| format!(", {rate:.0} GB/s of bus bandwidth"));
        let text = format!(
            "The collective with the most time, `{}`: {} of {} (median){rate}.",
            main.name,
            things(main.count as i64, "call", "calls"),
            time(main.p50_ns as f64)
        );
        Some((weight, text))
    }

    fn step_look(&self) -> Option<(f64, String)> {
        let step = self.step.filter(|step| step.count >= STEPS)?;
        let extent = step.extent().filter(|extent| extent.p50_ns > 0)?;
        let tail = extent.p99_ns as f64 / extent.p50_ns as f64;
        if tail >= TAIL {
            let slowest = step.slowest.first()?;
            let text = format!(
                "The slowest hundredth of `{}` takes {tail:.1} times the median of {}: see `{}` on rank {}.",
                step.name,
                time(extent.p50_ns as f64),
                slowest.name,
                slowest.rank
            );
            return Some((WORTH_A_LOOK, text));
        }
        let drift = step.drift.filter(|drift| drift.abs() >= DRIFT)?;
        let way = if drift > 0.0 { "longer" } else { "shorter" };
        let text = format!("`{}` gets {} {way} over the trace.", step.name, whole_percent(drift.abs()));
        Some((WORTH_A_LOOK, text))
    }

    /// The Python function, or without a device the operator, that the host spends most time in.
    fn host_look(&self) -> Option<(f64, String)> {
        let host_ns = |cause| matches!(cause, GapCause::LaunchBound | GapCause::CpuBound | GapCause::Sync);
        let waits = self.gaps.iter().filter(|gap| host_ns(gap.cause)).map(|gap| gap.total_ns).sum();
        let weight = if self.devices == 0 { WORTH_A_LOOK } else { self.of_span(waits) / 2.0 };
        if weight < WORTH_A_LOOK {
            return None;
        }
        if let Some(frame) =
            self.frames.iter().max_by_key(|frame| (frame.working_self_ns, Reverse(&frame.name)))
        {
            let own = time(frame.working_self_ns as f64);
            let text =
                format!("The Python function with the most time of its own, {}: {own}.", code(&frame.name));
            return Some((weight, text));
        }
        let operator = self.operators.first()?;
        let calls = things(operator.count as i64, "call", "calls");
        let text = format!(
            "The operator with the most host time of its own, `{}`: {} in {calls}.",
            operator.name,
            time(operator.self_ns as f64)
        );
        Some((weight, text))
    }
}
