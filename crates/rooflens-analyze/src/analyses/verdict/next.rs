//! What to look at next.

use std::cmp::Reverse;

use rooflens_schema::tables::{ActivityKind, GapCause};

use super::claim::{Amount, Said};
use super::device::cause_word;
use super::{Evidence, MATTERS, WORTH_A_LOOK};
use crate::analyses::{KernelStat, Stragglers};
use crate::ledger::Line;
use crate::role::COMMUNICATION;
use crate::sentence::{code, things};
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

impl Evidence<'_> {
    /// What to look at, each with its weight as a share of the time; the heaviest three.
    pub(super) fn next(&self) -> Vec<Said> {
        let mut looks: Vec<(f64, Said)> = Vec::new();
        for check in self.checks.iter().filter(|check| !check.ok && DOUBTS.contains(&&*check.name)) {
            // A few of many do not change the picture.
            if check.of.is_none_or(|of| share(check.count, of) >= DOUBTFUL) {
                let text = format!("Before anything else, see `health`: {}", check.message);
                looks.push((1.0, Said::new(text)));
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
            let said = Said::default()
                .ratio("unclassified", self.unclassified_share, "classes.unclassified_share")
                .say(" of device time is in kernels that the catalog does not know: ")
                .say("a line in catalog/kernels names them.");
            looks.push((self.unclassified_share / 2.0, said));
        }
        // Stable: equals stay in the order above.
        looks.sort_by(|a, b| b.0.total_cmp(&a.0));
        looks.into_iter().take(3).map(|(_, said)| said).collect()
    }

    fn gap_look(&self) -> Option<(f64, Said)> {
        let (at, main) = self.gaps.first().filter(|(_, gap)| self.of_span(gap.total_ns) >= WORTH_A_LOOK)?;
        let longest = main.examples.first()?;
        let after = longest.after.as_ref().map_or(String::new(), |after| format!(" before `{after}`"));
        let path = format!("gaps[{at}].examples[0]");
        let said = Said::new(format!("The longest gap ({}): ", cause_word(Line::of_gap(main.cause))))
            .time("longest gap", longest.dur_ns as f64, format!("{path}.dur_ns"))
            .say(format!("{after} on rank {}, device {}", longest.rank, longest.device));
        let host = longest.host.as_ref().zip(longest.covered_ns);
        let said = match (host, &longest.waited_in) {
            (_, Some(call)) => said.say(format!(", after the host waited in {}", code(call))),
            (Some((host, covered)), None) => {
                let part = Amount::new("covered", covered, format!("{path}.covered_ns"));
                let whole = Amount::new("longest gap", longest.dur_ns, format!("{path}.dur_ns"));
                let said = said.say(format!(", with the host in {} for ", code(host)));
                said.share(&part, &whole).say(" of it")
            }
            (None, None) => said,
        };
        Some((self.of_span(main.total_ns), said.say(".")))
    }

    fn kernel_look(&self) -> Option<(f64, Said)> {
        // Communication has a look of its own.
        let own = |kernel: &KernelStat| kernel.class != COMMUNICATION && kernel.share >= WORTH_A_LOOK;
        let (at, kernel) = self.kernels.iter().enumerate().find(|(_, kernel)| own(kernel))?;
        let noun = match kernel.kind {
            ActivityKind::Kernel => "kernel",
            ActivityKind::Memcpy => "copy",
            ActivityKind::Memset => "fill",
        };
        let said = Said::new(format!("The {noun} with the most time, `{}`: ", kernel.short_name))
            .ratio("kernel", kernel.share, format!("kernels[{at}].share"))
            .say(format!(" of device time in {}, median ", things(kernel.count as i64, "call", "calls")))
            .time("kernel", kernel.p50_ns, format!("kernels[{at}].p50_ns"))
            .say(".");
        Some((kernel.share * self.of_span(self.busy_ns), said))
    }

    fn communication_look(&self) -> Option<(f64, Said)> {
        let late = self.earlier.get::<Stragglers>().and_then(|found| found.rows.first());
        if let Some((row, said)) = late.zip(self.straggler())
            && row.lost_share >= WORTH_A_LOOK
            && !self.tells_of_waiting()
        {
            return Some((row.lost_share, said));
        }
        let weight = self.of_span(self.exposed_communication_ns);
        let found = self.communication.filter(|_| weight >= WORTH_A_LOOK)?;
        let main = found.collectives.first()?;
        let rate =
            main.bus_gb_per_s.map_or(String::new(), |rate| format!(", {rate:.0} GB/s of bus bandwidth"));
        let calls = things(main.count as i64, "call", "calls");
        let said = Said::new(format!("The collective with the most time, `{}`: {calls}, median ", main.name))
            .time("collective", main.p50_ns as f64, "communication.collectives[0].p50_ns")
            .say(format!("{rate}."));
        Some((weight, said))
    }

    fn step_look(&self) -> Option<(f64, Said)> {
        let (at, step) = self.step.filter(|(_, step)| step.count >= STEPS)?;
        let extent = step.extent().filter(|extent| extent.p50_ns > 0)?;
        let tail = extent.p99_ns as f64 / extent.p50_ns as f64;
        if tail >= TAIL {
            let slowest = step.slowest.first()?;
            let said = Said::new(format!(
                "The slowest 1 in 100 of `{}` takes {tail:.1} times the median of ",
                step.name
            ))
            .time("step", extent.p50_ns as f64, format!("phases[{at}].{}.p50_ns", step.extent_key()))
            .say(format!(": see `{}` on rank {}.", slowest.name, slowest.rank));
            return Some((WORTH_A_LOOK, said));
        }
        let drift = step.drift.filter(|drift| drift.abs() >= DRIFT)?;
        let way = if drift > 0.0 { "longer" } else { "shorter" };
        let said = Said::new(format!("`{}` gets ", step.name))
            .ratio("drift", drift.abs(), format!("phases[{at}].drift"))
            .say(format!(" {way} over the trace."));
        Some((WORTH_A_LOOK, said))
    }

    fn host_look(&self) -> Option<(f64, Said)> {
        let host_ns = |cause| matches!(cause, GapCause::LaunchBound | GapCause::CpuBound | GapCause::Sync);
        let waits = self.gaps.iter().filter(|(_, gap)| host_ns(gap.cause)).map(|(_, gap)| gap.total_ns).sum();
        let weight = if self.devices == 0 { WORTH_A_LOOK } else { self.of_span(waits) / 2.0 };
        if weight < WORTH_A_LOOK {
            return None;
        }
        let frames = self.frames.iter().enumerate();
        if let Some((at, frame)) = frames.max_by_key(|(_, row)| (row.working_self_ns, Reverse(&row.name))) {
            let said =
                Said::new(format!("The Python function with the most self time, {}: ", code(&frame.name)))
                    .time("frame", frame.working_self_ns as f64, format!("frames[{at}].working_self_ns"))
                    .say(".");
            return Some((weight, said));
        }
        let operator = self.operators.first()?;
        let calls = things(operator.count as i64, "call", "calls");
        let said = Said::new(format!("The operator with the most host self time, `{}`: ", operator.name))
            .time("operator", operator.self_ns as f64, "operators[0].self_ns")
            .say(format!(" in {calls}."));
        Some((weight, said))
    }
}
