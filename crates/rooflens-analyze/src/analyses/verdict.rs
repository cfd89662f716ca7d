//! What is the answer in one sentence?

mod claim;
mod device;
mod next;

use claim::{Amount, Said};
use rooflens_schema::tables::{GapCause, PhaseKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analyses::{
    ClassStat, Classes, CommCalls, Communication, DeviceMemory, DeviceTime, Devices, EngineLayers, FrameStat,
    Frames, GapStat, Gaps, Gemms, Health, HealthCheck, Inferences, KernelStat, Kernels, Launches, Ledger,
    Memory, OperatorStat, Operators, PhaseStat, Phases, ServerMetrics, Trace,
};
use crate::finding::{Analysis, Derived, Finding, FindingType, Findings};
use crate::role::UNKNOWN_CLASS;
use crate::sentence::{amount, code, count, things, time, whole_percent};
use crate::statistics::share;

pub use claim::Claim;

/// The answer in a sentence, with its evidence.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The sentence the report begins with.
    pub sentence: String,
    /// The shares it rests on, largest first, as `("launch_bound", 0.61)`: of the devices' span.
    pub shares: Vec<(String, f64)>,
    /// What to look at next, at most three sentences.
    pub next: Vec<String>,
    /// Every share and time in these sentences, and where the findings have it.
    #[serde(default)]
    pub claims: Vec<Claim>,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "verdict",
    question: "What is the answer in one sentence?",
    needs: "records",
    is_special: false,
    finding: FindingType::object::<Verdict>(),
    start: || Box::new(Derived(verdict)),
    explain: "\
Chosen by rule from the other findings, all devices together; shares of the time are of the wall time of
`ledger`, and every number is in `claims`.

- `sentence`: with device activity, the loss that comes first: idle time, waiting for other ranks, exposed
  communication or exposed copies, whichever is largest, if it is at least 25 % of the time or more than the kernels
  take; else the classes of kernels with the most device time. Every other loss of at least 10 % follows. Idle time
  is given with its causes, which add up to it, and with what covers the gaps of the largest cause: launches per
  step, the operators, ranges or calls that the host was in, the calls that wait. Copies are given with the kind of
  memory that they read and write. Without device activity: launches without any; else the operators with the most
  self time; else what the log of a library or a server has.
- `shares`: compute, exposed communication, exposed copies, and idle time by cause; they add up to 1.
  Without a device: shares of operator self time.
- `next`: at most three things to look at, the largest first: failed checks that put the numbers in
  doubt, the longest gap of the main cause, the kernel and the collective with the most time, slow or
  drifting steps, and what the host spends its time on.
- `claims`: every share and time in these sentences: `text` as printed, `place`, `what`, `ns`, `share`, the fields
  (`from`) whose sum `ns` is, or that `share` is if it is not a time, the field that it is a share of (`of`), and
  the claim that it is a part of (`part_of`): parts add up.
",
};

fn verdict(earlier: &Findings) -> Option<Box<dyn Finding>> {
    // There is a row of checks for every input.
    earlier.get::<Health>()?;
    let known = Evidence::new(earlier);
    let (said, next) = (known.sentence(), known.next());
    Some(Box::new(Verdict {
        sentence: said.text.clone(),
        shares: known.shares(),
        next: next.iter().map(|look| look.text.clone()).collect(),
        claims: said
            .claims_in("sentence")
            .chain(next.into_iter().flat_map(|look| look.claims_in("next")))
            .collect(),
    }))
}

/// From this share of the span on, idle time or exposed work is the answer.
const MATTERS: f64 = 0.10;
/// From this share on it is worth a look.
const WORTH_A_LOOK: f64 = 0.05;
/// From this share of the activities on, a trace is one of graph replays.
const MOSTLY_GRAPHS: f64 = 0.5;

/// The findings that the verdict rests on, and the devices' times added up.
struct Evidence<'a> {
    earlier: &'a Findings,
    devices: usize,
    span_ns: i64,
    busy_ns: i64,
    compute_ns: i64,
    communication_ns: i64,
    exposed_communication_ns: i64,
    exposed_copy_ns: i64,
    activities: usize,
    ledger: Option<&'a Ledger>,
    gaps: Vec<(usize, &'a GapStat)>,
    classes: &'a [ClassStat],
    kernels: &'a [KernelStat],
    operators: &'a [OperatorStat],
    frames: &'a [FrameStat],
    step: Option<(usize, &'a PhaseStat)>,
    launches: Option<&'a Launches>,
    communication: Option<&'a Communication>,
    fullest: Option<&'a DeviceMemory>,
    checks: &'a [HealthCheck],
    unclassified_share: f64,
}

impl<'a> Evidence<'a> {
    fn new(earlier: &'a Findings) -> Self {
        let devices = earlier.get::<Devices>().map_or(&[][..], |found| &found.0);
        let sum = |part: fn(&DeviceTime) -> i64| devices.iter().map(part).fold(0i64, i64::saturating_add);
        let gaps = earlier.get::<Gaps>().map_or(&[][..], |found| &found.0);
        let classes = earlier.get::<Classes>();
        let memory = earlier.get::<Memory>().map_or(&[][..], |found| &found.0);
        let fullest = memory.iter().max_by_key(|row| row.peak_allocated_bytes);
        Evidence {
            earlier,
            fullest,
            devices: devices.len(),
            span_ns: sum(|row| row.span_ns),
            busy_ns: sum(|row| row.busy_ns),
            compute_ns: sum(|row| row.compute_ns),
            communication_ns: sum(|row| row.communication_ns),
            exposed_communication_ns: sum(|row| row.exposed_communication_ns),
            exposed_copy_ns: sum(|row| row.exposed_copy_ns),
            activities: devices.iter().map(|row| row.activities).sum(),
            gaps: gaps.iter().enumerate().filter(|(_, gap)| gap.cause != GapCause::Tail).collect(),
            ledger: earlier.get::<Ledger>(),
            classes: classes.map_or(&[][..], |found| &found.by_class),
            kernels: earlier.get::<Kernels>().map_or(&[][..], |found| &found.0),
            operators: earlier.get::<Operators>().map_or(&[][..], |found| &found.0),
            frames: earlier.get::<Frames>().map_or(&[][..], |found| &found.0),
            step: earlier.get::<Phases>().and_then(main_step),
            launches: earlier.get::<Launches>(),
            communication: earlier.get::<Communication>(),
            checks: earlier.get::<Health>().map_or(&[][..], |found| &found.0),
            unclassified_share: classes.map_or(0.0, |found| found.unclassified_share),
        }
    }

    fn of_span(&self, ns: i64) -> f64 {
        share(ns, self.span_ns)
    }

    fn sentence(&self) -> Said {
        match self.launches {
            Some(launches) if self.devices > 0 && launches.is_capture() => self.of_capture(launches),
            _ if self.devices == 0 => self.without_device(),
            _ if self.is_too_little() => self.too_little(),
            _ => self.of_devices(),
        }
    }

    fn of_memory(&self) -> Option<String> {
        let device = self.fullest?;
        let peak = device.peak_allocated_bytes.filter(|bytes| *bytes > 0)?;
        let reserved = device.peak_reserved_bytes.filter(|bytes| *bytes >= peak)?;
        let share = whole_percent(peak as f64 / reserved as f64);
        let of_peak = |bytes: i64| whole_percent(bytes as f64 / peak as f64);
        let older = device.older_at_peak_bytes.unwrap_or(0);
        let most = match device.at_peak.first() {
            Some(first) if first.bytes >= older => {
                format!(", {} of it by {}", of_peak(first.bytes), first.site)
            }
            _ if older > 0 => format!(", {} of it from before the first event", of_peak(older)),
            _ => String::new(),
        };
        Some(format!("Allocator snapshot: at the peak, {share} of the reserved memory was allocated{most}."))
    }

    fn of_capture(&self, launches: &Launches) -> Said {
        let (captured, all) = (count(launches.captured_launches as i64), count(launches.launches as i64));
        Said::new(format!(
            "A graph capture: {captured} of {all} launches were only added to the graph. The device worked \
             for "
        ))
        .time("device work", self.busy_ns as f64, "devices[*].busy_ns")
        .say("; record its replays to see where the time of a step goes.")
    }

    fn lost_device(&self) -> Option<&Trace> {
        self.earlier.get::<Trace>().filter(|trace| trace.lost_device())
    }

    fn of_lost_device(&self, trace: &Trace) -> String {
        let cut = self.checks.iter().any(|check| check.name == "data_loss" && !check.ok);
        let why = match cut {
            true => "the file is cut off or damaged",
            false => "record with device activities enabled",
        };
        match trace.launches_without_device as i64 {
            0 => {
                let names = trace.hardware.join(", ");
                let of = if names.is_empty() { String::new() } else { format!(" of {names}") };
                format!("The device events{of} are missing: {why}. What is left shows the host only.")
            }
            1 => format!("The device events are missing: 1 launch has no kernel; {why}."),
            launches => {
                let launches = things(launches, "launch", "launches");
                format!("The device events are missing: {launches} have no kernel; {why}.")
            }
        }
    }

    fn without_device(&self) -> Said {
        if let Some(trace) = self.lost_device() {
            return Said::new(self.of_lost_device(trace));
        }
        let step = self.step.and_then(|(at, step)| Some((at, step, step.extent()?)));
        let step = step.map(|(at, step, extent)| {
            Said::new(format!("; a {} takes ", step_word(step.kind)))
                .time("step", extent.p50_ns as f64, format!("phases[{at}].{}.p50_ns", step.extent_key()))
                .say(" (median)")
        });
        if self.operators.is_empty() {
            return match self.of_memory().or_else(|| logs_sentence(self.earlier)) {
                Some(sentence) => Said::new(sentence),
                None => {
                    let nothing = Said::new("The trace has neither device activity nor operators");
                    nothing.then(step.unwrap_or_default()).say(".")
                }
            };
        }
        let whole = Amount::new(
            "operator self time",
            self.operators.iter().map(|row| row.self_ns).fold(0, i64::saturating_add),
            "operators[*].self_ns",
        );
        let mut said = Said::new("CPU-only trace: ");
        for (at, row) in self.operators.iter().enumerate().take(2) {
            let amount = Amount::new(&row.name, row.self_ns, format!("operators[{at}].self_ns"));
            said = match at {
                0 => said
                    .say(format!("{} takes ", row.name))
                    .share(&amount, &whole)
                    .say(" of operator self time"),
                _ if row.share >= WORTH_A_LOOK => said.say(format!(", {} ", row.name)).share(&amount, &whole),
                _ => said,
            };
        }
        said.then(step.unwrap_or_default()).say(".")
    }

    fn shares(&self) -> Vec<(String, f64)> {
        let mut shares: Vec<(String, f64)> = if self.devices > 0 {
            let busy = [
                ("compute", self.compute_ns),
                ("exposed_communication", self.exposed_communication_ns),
                ("exposed_copy", self.exposed_copy_ns),
            ];
            let idle = self.gaps.iter().map(|(_, gap)| (gap.cause.as_str(), gap.total_ns));
            let parts = busy.into_iter().chain(idle).filter(|(_, ns)| *ns > 0);
            parts.map(|(name, ns)| (name.to_owned(), self.of_span(ns))).collect()
        } else {
            self.operators.iter().take(5).map(|row| (row.name.clone(), row.share)).collect()
        };
        shares.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        shares
    }

    fn mostly_graphs(&self) -> bool {
        let activities = self.launches.map_or(0, |found| found.graph_activities);
        share(activities as i64, self.activities as i64) >= MOSTLY_GRAPHS
    }

    fn graph_word(&self) -> &'static str {
        let hip =
            self.launches.is_some_and(|found| found.calls.iter().any(|call| call.name.starts_with("hip")));
        if hip { "HIP graphs" } else { "CUDA graphs" }
    }
}

/// `decode step`, or `step` where it is not known what it does.
fn step_word(kind: PhaseKind) -> String {
    match kind {
        PhaseKind::Step | PhaseKind::Range => "step".to_owned(),
        known => format!("{} step", known.as_str()),
    }
}

fn main_step(phases: &Phases) -> Option<(usize, &PhaseStat)> {
    let step = phases.main_step()?;
    let at = phases.0.iter().position(|row| std::ptr::eq(row, step))?;
    Some((at, step))
}

fn class_word(class: &str) -> String {
    match class {
        "gemm" | "gemv" | "ssm" => class.to_ascii_uppercase(),
        "moe" => "MoE".to_owned(),
        "rope" => "RoPE".to_owned(),
        "kv_cache" => "KV cache".to_owned(),
        UNKNOWN_CLASS => "of unknown class".to_owned(),
        _ => class.replace('_', " "),
    }
}

/// The sentence for an input without a timeline; `None` if there is no such input.
fn logs_sentence(earlier: &Findings) -> Option<String> {
    let gemms = || of_gemms(earlier.get::<Gemms>()?);
    let calls = || earlier.get::<CommCalls>().map(of_calls);
    let engine = || of_engine(earlier.get::<EngineLayers>(), earlier.get::<Inferences>());
    let metrics = || earlier.get::<ServerMetrics>().map(of_metrics);
    gemms().or_else(calls).or_else(engine).or_else(metrics)
}

fn of_calls(calls: &CommCalls) -> String {
    let count = things(calls.calls as i64, "collective", "collectives");
    let bytes = amount(calls.bytes as f64, "B");
    let Some(total_ns) = calls.total_ns else {
        return format!("A log without times or device activity: {count}, messages of {bytes}.");
    };
    let most = calls.sizes.first().map_or(String::new(), |size| {
        let bytes = size.bytes.map_or(String::new(), |bytes| format!(" of {}", amount(bytes as f64, "B")));
        let rate = size.bus_gb_per_s.map_or(String::new(), |rate| format!(" at {rate:.1} GB/s over the bus"));
        format!("; most in {}{bytes}{rate}", size.collective)
    });
    format!("No timeline, but timed calls: {count}, messages of {bytes} in {}{most}.", time(total_ns as f64))
}

fn of_metrics(metrics: &ServerMetrics) -> String {
    let device = || {
        let devices = things(metrics.devices.len() as i64, "device", "devices");
        let power: Vec<f64> =
            metrics.devices.iter().filter_map(|device| Some(device.values.get("power_w")?.mean)).collect();
        let power = if power.is_empty() {
            String::new()
        } else {
            format!(
                " at {}{}",
                amount(power.iter().sum::<f64>() / power.len() as f64, "W"),
                if power.len() > 1 { " each" } else { "" }
            )
        };
        format!("Metrics without a timeline: {devices}{power}.")
    };
    let Some(model) = metrics.models.first() else { return device() };
    let (Some(requests), Some(request_ns)) = (model.requests, model.request_ns) else { return device() };
    let queue = model
        .queue_share
        .map_or(String::new(), |share| format!(", {} of it in the queue", whole_percent(share)));
    let count = things(requests as i64, "request", "requests");
    format!(
        "Metrics without a timeline: {count} of {}, {} each{queue}.",
        code(&model.model),
        time(request_ns)
    )
}

fn of_engine(layers: Option<&EngineLayers>, runs: Option<&Inferences>) -> Option<String> {
    let runs = runs.map(|runs| {
        let rate = runs.runs_per_s.map_or(String::new(), |rate| format!(", {rate:.1} per second"));
        let (p50, p99) = (time(runs.latency.p50_ns as f64), time(runs.latency.p99_ns as f64));
        format!("a run of the engine takes {p50} (median), {p99} (99th percentile){rate}")
    });
    let layers = layers.and_then(|layers| layers.layers.first()).and_then(|first| {
        Some(format!("{} takes {} of the layers' time", code(&first.name), whole_percent(first.share?)))
    });
    let known: Vec<String> = runs.into_iter().chain(layers).collect();
    (!known.is_empty()).then(|| format!("No timeline: {}.", known.join("; ")))
}

fn of_gemms(gemms: &Gemms) -> Option<String> {
    let first = gemms.shapes.first()?;
    let operations = gemms.flops.map_or(String::new(), |flops| format!(", {}", amount(flops as f64, "FLOP")));
    let share = first.flops_share.map_or(String::new(), |share| {
        format!("; {} of it in {}×{}×{}", whole_percent(share), first.m, first.n, first.k)
    });
    Some(format!(
        "A log without times or device activity: {} of {}{operations}{share}.",
        things(gemms.calls as i64, "GEMM", "GEMMs"),
        things(gemms.shapes.len() as i64, "shape", "shapes"),
    ))
}

#[cfg(test)]
mod tests {
    use rooflens_schema::RankTables;
    use rooflens_schema::tables::{ApiKind, PhaseSource};

    use super::*;
    use crate::sample::{Sample, findings};

    fn verdict(tables: RankTables) -> Verdict {
        findings(&[tables]).get::<Verdict>().expect("a rank").clone()
    }

    #[test]
    fn launch_bound_decode() {
        // A kernel of 25 µs after every 75 µs of launching: idle 75 of 100 less the first gap.
        let mut sample = Sample::new(0);
        for i in 0..4 {
            sample.phase(i * 100_000, 100_000, "step[DECODE bs=1]", PhaseKind::Decode, PhaseSource::Engine);
            sample.work(25_000, 1, 1_219);
            sample.api(1, i * 100_000 + 70_000, 5_000, "cudaLaunchKernel", ApiKind::Launch, Some(i));
        }
        for i in 0..4 {
            sample.kernel(0, 7, i * 100_000 + 75_000, 25_000, "gemv", "gemv").launched(i, 5_000, 0);
            if i > 0 {
                sample.idle(75_000, GapCause::LaunchBound);
            }
        }
        let found = verdict(sample.tables);
        // 3 * 75 of 325 µs.
        let expected = "GPU idle 69.2% of the time, all of it launch-bound. 1,219 launches per decode step for 25.0 µs of \
                        device work; CUDA graphs or compilation would help most.";
        assert_eq!(found.sentence, expected);
        assert_eq!(found.shares.len(), 2);
        assert_eq!(found.shares[0].0, "launch_bound");
        assert!((found.shares.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(found.next.len(), 2);
        assert_eq!(
            found.next[0],
            "The longest gap (launch-bound): 75.0 µs before `<gemv>` on rank 0, device 0."
        );
    }

    #[test]
    fn busy_with_kernels() {
        let mut sample = Sample::new(0);
        sample.phase(0, 100, "step[DECODE bs=1]", PhaseKind::Decode, PhaseSource::Engine);
        sample.kernel(0, 7, 0, 42, "moe", "moe").kernel(0, 7, 42, 31, "mm", "gemm");
        sample.kernel(0, 7, 74, 27, "rest", "norm").idle(1, GapCause::Dispatch);
        // 100 of 101 busy.
        let expected =
            "GPU 99.0% busy: decode is limited by kernels; 42.0% of device time is MoE, 31.0% GEMM.";
        assert_eq!(verdict(sample.tables).sentence, expected);
    }

    #[test]
    fn exposed_communication() {
        let mut sample = Sample::new(0);
        sample.kernel(0, 7, 0, 80, "mm", "gemm").kernel(0, 7, 80, 20, "nccl", "communication");
        let expected = "GPU 100.0% busy: limited by kernels; 80.0% of device time is GEMM, 20.0% communication. Exposed \
                        communication 20.0%: none of it overlaps compute.";
        assert_eq!(verdict(sample.tables).sentence, expected);
    }

    #[test]
    fn without_a_device() {
        let mut sample = Sample::new(0);
        sample.op((1, 0, 41), "aten::addmm", None, (41, 0), None).op(
            (1, 50, 59),
            "aten::bmm",
            None,
            (59, 0),
            None,
        );
        let expected = "CPU-only trace: aten::bmm takes 59.0% of operator self time, aten::addmm 41.0%.";
        assert_eq!(verdict(sample.tables).sentence, expected);

        let mut sample = Sample::new(0);
        sample.api(1, 0, 5, "cudaLaunchKernel", ApiKind::Launch, Some(1));
        let expected =
            "The device events are missing: 1 launch has no kernel; record with device activities enabled.";
        assert_eq!(verdict(sample.tables).sentence, expected);
        let expected = "The trace has neither device activity nor operators.";
        assert_eq!(verdict(Sample::new(0).tables).sentence, expected);

        // Operators that allocate on a device: its events are missing, whatever else was recorded.
        let mut sample = Sample::new(0);
        sample.op((1, 0, 41), "aten::addmm", None, (41, 0), None).memory(0, 0, 300, 300, 400);
        let expected = "The device events are missing: record with device activities enabled. What is left shows the host only.";
        assert_eq!(verdict(sample.tables).sentence, expected);

        let mut sample = Sample::new(0);
        sample.memory(0, 0, 300, 300, 400).memory(1, 0, -300, 0, 400);
        let expected = "Allocator snapshot: at the peak, 75% of the reserved memory was allocated.";
        assert_eq!(verdict(sample.tables).sentence, expected);
    }
}
