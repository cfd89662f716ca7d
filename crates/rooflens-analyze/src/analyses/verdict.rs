//! What is the answer in a sentence?

mod logs;
mod next;

use rooflens_schema::RankTables;
use rooflens_schema::tables::{GapCause, PhaseKind};
use serde::Serialize;

use crate::analyses::{
    Analysis, Check, ClassStat, Classes, Communication, DeviceMemory, DeviceTime, Devices, Fold, FrameStat,
    Frames, GapStat, Gaps, Health, KernelStat, Kernels, Launches, Memory, OperatorStat, Operators, PhaseStat,
    Phases, Trace,
};
use crate::finding::{Finding, Findings};
use crate::role::UNKNOWN_CLASS;
use crate::sentence::{code, percent, things, time, whole_percent};
use crate::statistics::share;

/// The answer in a sentence, and what stands behind it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Verdict {
    /// The sentence the report begins with.
    pub sentence: String,
    /// The shares it rests on, largest first, as `("launch_bound", 0.61)`: of the devices' span.
    pub shares: Vec<(String, f64)>,
    /// What to look at next, at most three sentences.
    pub next: Vec<String>,
}

const EXPLAIN: &str = "\
Chosen by rule from the other findings, all devices together; shares are of the devices' span. The first
rule that holds gives the sentence:

1. No device activity: launches without any, or a device that is listed, are told; else the operators with the most self time; else
   what the log of a library or a server holds.
2. Idle at least 10 %, and idle at least as much as exposed communication: the sentence names the cause
   with the most idle time and what goes with it (launches a step, the longest gap, waiting calls), a
   second cause of at least 10 %, and a doubt where `waits_without_work` of `health` fails.
3. Exposed communication at least 10 %: its share, and how much of communication is exposed.
4. Exposed copies at least 10 %: their share.
5. Otherwise the device is busy: the classes of kernels with the most device time.

- `shares`: compute, exposed communication, exposed copies, and idle time by cause; they add up to 1.
  Without a device: shares of operator self time.
- `next`: at most three things to look at, the largest first: failed checks that put the numbers in
  doubt, the longest gap of the main cause, the kernel and the collective with the most time, slow or
  drifting steps, and what keeps the host.
";

/// The question of this file.
pub(super) struct VerdictAnalysis;

impl Analysis for VerdictAnalysis {
    fn name(&self) -> &'static str {
        "verdict"
    }
    fn question(&self) -> &'static str {
        "What is the answer in a sentence?"
    }
    fn explain(&self) -> &'static str {
        EXPLAIN
    }
    fn needs(&self) -> &'static str {
        "records"
    }
    fn start(&self) -> Box<dyn Fold> {
        Box::new(State::default())
    }
}

/// Nothing to fold: the verdict rests on the other findings.
#[derive(Default)]
struct State {
    ranks: usize,
}

impl Fold for State {
    fn rank(&mut self, _tables: &RankTables) {
        self.ranks += 1;
    }

    fn finish(self: Box<Self>, earlier: &Findings) -> Option<Box<dyn Finding>> {
        let known = Known::new(earlier);
        (self.ranks > 0).then(|| {
            Box::new(Verdict { sentence: known.sentence(), shares: known.shares(), next: known.next() })
                as Box<dyn Finding>
        })
    }
}

/// From this share of the span on, idle time or exposed work is the answer.
const MATTERS: f64 = 0.10;
/// From this share on it is worth a look.
const WORTH_A_LOOK: f64 = 0.05;
/// From this share of the activities on, a trace is one of graph replays.
const MOSTLY_GRAPHS: f64 = 0.5;

/// The findings that the verdict rests on, and the devices' times added up.
struct Known<'a> {
    earlier: &'a Findings,
    devices: usize,
    span_ns: i64,
    busy_ns: i64,
    compute_ns: i64,
    communication_ns: i64,
    exposed_communication_ns: i64,
    exposed_copy_ns: i64,
    activities: usize,
    /// Idle time by cause, most first, without the tail.
    gaps: Vec<&'a GapStat>,
    classes: &'a [ClassStat],
    kernels: &'a [KernelStat],
    operators: &'a [OperatorStat],
    frames: &'a [FrameStat],
    /// The steps with the most time, of those who know best what they do.
    step: Option<&'a PhaseStat>,
    launches: Option<&'a Launches>,
    communication: Option<&'a Communication>,
    /// The device with the most memory allocated at once.
    fullest: Option<&'a DeviceMemory>,
    checks: &'a [Check],
    unclassified_share: f64,
}

impl<'a> Known<'a> {
    fn new(earlier: &'a Findings) -> Self {
        let devices = earlier.get::<Devices>().map_or(&[][..], |found| &found.0);
        let sum = |part: fn(&DeviceTime) -> i64| devices.iter().map(part).fold(0i64, i64::saturating_add);
        let gaps = earlier.get::<Gaps>().map_or(&[][..], |found| &found.0);
        let classes = earlier.get::<Classes>();
        let memory = earlier.get::<Memory>().map_or(&[][..], |found| &found.0);
        let fullest = memory.iter().max_by_key(|row| row.peak_allocated_bytes);
        Known {
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
            gaps: gaps.iter().filter(|gap| gap.cause != GapCause::Tail).collect(),
            classes: classes.map_or(&[][..], |found| &found.by_class),
            kernels: earlier.get::<Kernels>().map_or(&[][..], |found| &found.0),
            operators: earlier.get::<Operators>().map_or(&[][..], |found| &found.0),
            frames: earlier.get::<Frames>().map_or(&[][..], |found| &found.0),
            step: earlier.get::<Phases>().and_then(Phases::main_step),
            launches: earlier.get::<Launches>(),
            communication: earlier.get::<Communication>(),
            checks: earlier.get::<Health>().map_or(&[][..], |found| &found.0),
            unclassified_share: classes.map_or(0.0, |found| found.unclassified_share),
        }
    }

    fn of_span(&self, ns: i64) -> f64 {
        share(ns, self.span_ns)
    }

    fn sentence(&self) -> String {
        if self.devices == 0 {
            return self.without_device();
        }
        let idle = 1.0 - self.of_span(self.busy_ns);
        let exposed = self.of_span(self.exposed_communication_ns);
        let copies = self.of_span(self.exposed_copy_ns);
        let subject = if self.devices == 1 { "GPU" } else { "GPUs" };
        let busy = percent(self.of_span(self.busy_ns));
        match self.gaps.first() {
            Some(main) if self.span_ns > 0 && idle >= MATTERS && idle >= exposed => {
                format!("{subject} idle {} of the time, {}", percent(idle), self.because(main))
            }
            _ if exposed >= MATTERS => {
                let of_communication = share(self.exposed_communication_ns, self.communication_ns);
                let part = match of_communication {
                    _ if of_communication >= 0.995 => "all of it exposed".to_owned(),
                    _ => format!("{} of it exposed", whole_percent(of_communication)),
                };
                let communication = percent(share(self.communication_ns, self.busy_ns));
                format!(
                    "{communication} of device time is communication, {part}: hiding it behind compute would save up \
                     to {} of the time.",
                    percent(exposed)
                )
            }
            _ if copies >= MATTERS => format!(
                "{subject} {busy} busy, but {} of the time it only copies: pinned memory, fewer transfers, or copies \
                 behind compute would help most.",
                percent(copies)
            ),
            _ => {
                let limited = match self.step.map(|step| step.kind) {
                    Some(PhaseKind::Prefill) => "prefill is limited",
                    Some(PhaseKind::Decode) => "decode is limited",
                    Some(PhaseKind::Mixed) => "mixed batches are limited",
                    Some(PhaseKind::Vision) => "the encoder is limited",
                    Some(PhaseKind::Diffusion) => "diffusion is limited",
                    Some(PhaseKind::Step | PhaseKind::Range) | None => "limited",
                };
                format!("{subject} {busy} busy: {limited} by kernels; {}.", self.largest_classes())
            }
        }
    }

    /// Why the device idles, and what would help.
    fn because(&self, main: &GapStat) -> String {
        let rest = self.gaps.get(1).filter(|gap| self.of_span(gap.total_ns) >= MATTERS);
        let then = rest.map_or(String::new(), |gap| {
            format!(" Another {} of the time is {}.", percent(self.of_span(gap.total_ns)), lost_to(gap.cause))
        });
        let longest = main.examples.first().map_or(String::new(), |gap| match &gap.host {
            Some(host) => format!("the longest gap, {}, is spent in {}", time(gap.dur_ns as f64), code(host)),
            None => format!("the longest gap is {}", time(gap.dur_ns as f64)),
        });
        let reason = match main.cause {
            GapCause::LaunchBound => {
                let graphs = self.graph_word();
                let advice = if self.mostly_graphs() {
                    format!(
                        "most activities already come from {graphs}, so what is launched between them counts"
                    )
                } else {
                    format!("{graphs} or compilation would help most")
                };
                format!("launch-bound: {}; {advice}.", self.launch_rate())
            }
            GapCause::CpuBound => {
                format!("waiting for the host: {longest}.")
            }
            GapCause::Sync => {
                let waits_ns = self.launches.map_or(0, |launches| launches.sync_api_ns);
                let calls = if share(waits_ns, main.total_ns) >= 0.1 {
                    format!(" ({} of host time in calls that wait)", time(waits_ns as f64))
                } else {
                    String::new()
                };
                format!("because the host waits for the device before it launches more{calls}: {longest}.")
            }
            GapCause::DataDependency => {
                format!(
                    "because work that was launched in time waits for another stream or a copy: {longest}."
                )
            }
            GapCause::Dispatch => format!(
                "between activities that were launched in time: {} of {} (median); fewer, larger kernels would help.",
                things(main.count as i64, "gap", "gaps"),
                time(main.p50_ns as f64)
            ),
            GapCause::None | GapCause::Tail | GapCause::Unknown => {
                format!("for unknown reasons, as the trace has no launches for these activities: {longest}.")
            }
        };
        let unrecorded = self.checks.iter().any(|check| check.name == "waits_without_work" && !check.ok);
        let doubt = if unrecorded { " Part of it may be work that was not recorded." } else { "" };
        reason + &then + doubt
    }

    /// Launches and the device work they bring.
    fn launch_rate(&self) -> String {
        let launches = self.launches.map_or(0, |found| (found.launches + found.graph_launches) as i64);
        if let Some(step) = self.step
            && let (Some(in_step), Some(busy_ns)) = (step.launches, step.device_busy_ns())
        {
            let in_step = things(in_step.round() as i64, "launch", "launches");
            return format!("{in_step} a {} for {} of device work", step_word(step.kind), time(busy_ns));
        }
        let work = share(self.busy_ns, launches.max(1));
        format!("{} bring {} of device work each", things(launches, "launch", "launches"), time(work))
    }

    /// `42% of device time is MoE, 31% GEMM`.
    fn largest_classes(&self) -> String {
        let mut parts = self.classes.iter().take(2).filter(|class| class.share >= WORTH_A_LOOK);
        let Some(first) = parts.next() else { return "no class of kernels stands out".to_owned() };
        let first = format!("{} of device time is {}", whole_percent(first.share), class_word(&first.name));
        parts.fold(first, |text, class| {
            format!("{text}, {} {}", whole_percent(class.share), class_word(&class.name))
        })
    }

    /// Of a trace with nothing but what the allocator did.
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
        Some(format!("An allocator alone: at the peak {share} of what it reserved was allocated{most}."))
    }

    fn lost_device(&self) -> Option<&Trace> {
        self.earlier.get::<Trace>().filter(|trace| trace.lost_device())
    }

    /// Of a trace whose device was at work, but whose device events are not there.
    fn of_lost_device(&self, trace: &Trace) -> String {
        let cut = self.checks.iter().any(|check| check.name == "data_loss" && !check.ok);
        let why = match cut {
            true => "the file is cut off or damaged",
            false => "record with the device's activities on",
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

    fn without_device(&self) -> String {
        if let Some(trace) = self.lost_device() {
            return self.of_lost_device(trace);
        }
        let Some(first) = self.operators.first() else {
            return self
                .of_memory()
                .or_else(|| logs::sentence(self.earlier))
                .unwrap_or("The trace has neither device activity nor operators.".to_owned());
        };
        let second = self.operators.get(1).filter(|row| row.share >= WORTH_A_LOOK);
        let second =
            second.map_or(String::new(), |row| format!(", {} {}", row.name, whole_percent(row.share)));
        let step = self.step.and_then(|step| Some((step.kind, step.extent()?.p50_ns)));
        let step = step.map_or(String::new(), |(kind, p50_ns)| {
            format!("; a {} takes {} (median)", step_word(kind), time(p50_ns as f64))
        });
        let first = format!("{} takes {}", first.name, whole_percent(first.share));
        format!("CPU-only trace: {first} of operator self time{second}{step}.")
    }

    fn shares(&self) -> Vec<(String, f64)> {
        let mut shares: Vec<(String, f64)> = if self.devices > 0 {
            let busy = [
                ("compute", self.compute_ns),
                ("exposed_communication", self.exposed_communication_ns),
                ("exposed_copy", self.exposed_copy_ns),
            ];
            let idle = self.gaps.iter().map(|gap| (gap.cause.as_str(), gap.total_ns));
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

/// What a cause of idle time makes of it.
fn lost_to(cause: GapCause) -> &'static str {
    match cause {
        GapCause::LaunchBound => "launch-bound",
        GapCause::CpuBound => "spent waiting for the host",
        GapCause::Sync => "lost to synchronisation",
        GapCause::DataDependency => "spent waiting for another stream or a copy",
        GapCause::Dispatch => "lost between kernels launched in time",
        GapCause::None | GapCause::Tail | GapCause::Unknown => "unexplained",
    }
}

fn cause_word(cause: GapCause) -> &'static str {
    match cause {
        GapCause::LaunchBound => "launch-bound",
        GapCause::CpuBound => "CPU-bound",
        GapCause::Sync => "synchronisation",
        GapCause::DataDependency => "data-dependency",
        GapCause::Dispatch => "dispatch",
        GapCause::None | GapCause::Tail | GapCause::Unknown => "unexplained",
    }
}

/// A class as people write it.
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
        let expected = "GPU idle 69.2% of the time, launch-bound: 1,219 launches a decode step for 25.0 µs of device \
                        work; CUDA graphs or compilation would help most.";
        assert_eq!(found.sentence, expected);
        assert_eq!(found.shares.len(), 2);
        assert_eq!(found.shares[0].0, "launch_bound");
        assert!((found.shares.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(found.next.len(), 2);
        assert_eq!(
            found.next[0],
            "The longest launch-bound gap: 75.0 µs before `<gemv>` on rank 0, device 0, with the host in \
             `cudaLaunchKernel`."
        );
    }

    #[test]
    fn busy_with_kernels() {
        let mut sample = Sample::new(0);
        sample.phase(0, 100, "step[DECODE bs=1]", PhaseKind::Decode, PhaseSource::Engine);
        sample.kernel(0, 7, 0, 42, "moe", "moe").kernel(0, 7, 42, 31, "mm", "gemm");
        sample.kernel(0, 7, 74, 27, "rest", "norm").idle(1, GapCause::Dispatch);
        // 100 of 101 busy.
        let expected = "GPU 99.0% busy: decode is limited by kernels; 42% of device time is MoE, 31% GEMM.";
        assert_eq!(verdict(sample.tables).sentence, expected);
    }

    #[test]
    fn exposed_communication() {
        let mut sample = Sample::new(0);
        sample.kernel(0, 7, 0, 80, "mm", "gemm").kernel(0, 7, 80, 20, "nccl", "communication");
        let expected = "20.0% of device time is communication, all of it exposed: hiding it behind compute would save \
                        up to 20.0% of the time.";
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
        let expected = "CPU-only trace: aten::bmm takes 59% of operator self time, aten::addmm 41%.";
        assert_eq!(verdict(sample.tables).sentence, expected);

        let mut sample = Sample::new(0);
        sample.api(1, 0, 5, "cudaLaunchKernel", ApiKind::Launch, Some(1));
        let expected =
            "The device events are missing: 1 launch has no kernel; record with the device's activities on.";
        assert_eq!(verdict(sample.tables).sentence, expected);
        let expected = "The trace has neither device activity nor operators.";
        assert_eq!(verdict(Sample::new(0).tables).sentence, expected);

        let mut sample = Sample::new(0);
        sample.memory(0, 0, 300, 300, 400).memory(1, 0, -300, 0, 400);
        let expected = "An allocator alone: at the peak 75% of what it reserved was allocated.";
        assert_eq!(verdict(sample.tables).sentence, expected);
    }
}
