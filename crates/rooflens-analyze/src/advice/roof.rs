//! Kernels of a class against the roof: the rate they reach, what the device could, and what is lost.

use crate::advice::case::{Case, Draft, Range};
use crate::analyses::{ClassLedger, KernelStat};
use crate::kernel_catalog::KernelClass;
use crate::ledger::{Achieved, KernelTime, Line, OperatorTime};
use crate::sentence::{amount, things, time, whole_percent};

/// Kernels at this part of what good ones reach, or more, are left alone.
const NEAR: f64 = 0.8;
/// Of the way to what good kernels reach: what another backend or a tuned config brings at least, where kernels are far off.
const SURE: f64 = 0.5;
/// Kernels with less of their class's time are not what its work is done by: routing, scatter, reductions.
const MAIN: f64 = 0.1;
/// Kernels with this part of their class's time are as good as all of it.
const ALL_OF_IT: f64 = 0.98;
/// Rows of evidence of each kind.
const ROWS: usize = 3;

/// Kernels that are far from their roof.
pub(super) struct Far<'a> {
    kernels: Vec<&'a KernelTime>,
    known: Vec<&'a KernelStat>,
    ns: f64,
    floor_ns: f64,
    class_ns: f64,
    flops: f64,
    bytes: f64,
    class: &'a Achieved,
    reachable: f64,
    reachable_compute: f64,
}

impl Far<'_> {
    pub(super) fn is_memory(&self) -> bool {
        self.class.limit == "memory"
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.kernels.iter().any(|kernel| kernel.name.to_ascii_lowercase().contains(word))
    }

    pub(super) fn is_of(&self, library: &str) -> bool {
        self.known.iter().any(|kernel| kernel.library.as_deref() == Some(library))
    }

    fn rate(&self) -> f64 {
        let amount = if self.is_memory() { self.bytes } else { self.flops };
        amount * 1e9 / self.ns
    }

    fn peak(&self) -> f64 {
        let peak = if self.is_memory() { self.class.peak_bytes_per_s } else { self.class.peak_flops_per_s };
        peak.unwrap_or(f64::NAN)
    }

    /// Their time at the rates that good kernels reach on this device. What memory limits may not become quicker than
    /// the matrix units are.
    fn best_ns(&self) -> f64 {
        let compute_ns = self
            .class
            .peak_flops_per_s
            .map_or(0.0, |peak| self.flops * 1e9 / (peak * self.reachable_compute));
        (self.floor_ns / self.reachable).max(compute_ns)
    }

    fn unit(&self) -> &'static str {
        if self.is_memory() { "B/s" } else { "FLOP/s" }
    }

    /// Whom the numbers are of: small kernels are in tables of the roofline, but not in these sums.
    fn who(&self, noun: &str) -> String {
        if self.ns >= ALL_OF_IT * self.class_ns {
            return noun.to_owned();
        }
        // Only "Attention" is a word of ordinary letters.
        let all = noun.replace("Attention", "attention");
        format!("The largest {all} ({} of the time of all {all})", whole_percent(self.ns / self.class_ns))
    }

    fn roof(&self) -> &'static str {
        if self.is_memory() { "memory bandwidth" } else { "peak FLOP/s" }
    }

    /// `3.76 ms in 24 calls at 1.44 TB/s (27% of peak)`.
    fn achieved(&self, ns: i64, count: usize, achieved: &Achieved) -> String {
        let rate = if self.is_memory() { achieved.bytes_per_s } else { achieved.flops_per_s };
        format!(
            "{} in {} at {} ({} of peak)",
            time(ns as f64),
            things(count as i64, "call", "calls"),
            amount(rate, self.unit()),
            whole_percent(rate / self.peak())
        )
    }
}

/// The kernels of classes, where they are far from their roof; what is lacking where no roof is known.
pub(super) fn far<'a>(case: &Case<'a>, classes: &[KernelClass]) -> Result<Option<Far<'a>>, String> {
    let is_one = |class: KernelClass| classes.contains(&class);
    let rows: Vec<&ClassLedger> = case.phase.classes.iter().filter(|row| is_one(row.class)).collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let Some(class) =
        rows.iter().filter_map(|row| row.achieved.as_ref()).max_by(|a, b| a.lost_ns.cmp(&b.lost_ns))
    else {
        let reason = case.ledger.not_computed.get("floor").cloned();
        return reason.map_or(Ok(None), Err);
    };
    let class_ns: f64 = rows.iter().map(|row| row.ns as f64).sum();
    let of_classes = case.phase.kernels.iter().filter(|kernel| is_one(kernel.class));
    let does_work = |kernel: &&KernelTime| kernel.achieved.is_some() && kernel.ns as f64 >= MAIN * class_ns;
    let kernels: Vec<&KernelTime> = of_classes.filter(does_work).collect();
    let known =
        case.kernels().iter().filter(|row| kernels.iter().any(|kernel| kernel.name == row.name)).collect();
    let sum = |value: &dyn Fn(&Achieved) -> f64| -> f64 {
        kernels.iter().filter_map(|kernel| kernel.achieved.as_ref()).map(value).sum()
    };
    let Some(source) = &case.ledger.floor_of else { return Ok(None) };
    let reachable_compute = match is_one(KernelClass::Attention) {
        // Attention has matmuls and more: it is no quicker than they are.
        true => source.reachable.attention.min(source.reachable.gemm),
        false => source.reachable.gemm,
    };
    let reachable = if class.limit == "memory" { source.reachable.bandwidth } else { reachable_compute };
    let found = Far {
        known,
        reachable,
        reachable_compute,
        ns: kernels.iter().map(|kernel| kernel.ns as f64).sum(),
        floor_ns: kernels.iter().map(|kernel| kernel.floor_ns as f64).sum(),
        class_ns,
        flops: sum(&|achieved| achieved.flops),
        bytes: sum(&|achieved| achieved.bytes),
        class,
        kernels,
    };
    let is_far = found.floor_ns > 0.0 && found.best_ns() < NEAR * found.ns && found.peak() > 0.0;
    Ok(Some(found).filter(|_| is_far))
}

pub(super) fn draft(case: &Case<'_>, far: &Far<'_>, noun: &str, change: String, risk: &str) -> Draft {
    let (rate, peak) = (far.rate(), far.peak());
    let lost = far.ns - far.floor_ns;
    let high = (far.ns - far.best_ns()).max(0.0);
    let late = case.on(Line::LaunchBound) + case.on(Line::CpuBound);
    let kernels = case.kernels_ns();
    // Where the host is the slower side, a faster device only waits longer.
    let gain = match late > kernels {
        true => Range::new(0.0, high * kernels / (kernels + late)),
        false => Range::new(SURE * high, high),
    };
    Draft {
        title: format!(
            "{} reach {} of {} ({} of {}): {} of {}{} is above their lower bound",
            far.who(noun),
            whole_percent(rate / peak),
            far.roof(),
            amount(rate, far.unit()),
            amount(peak, far.unit()),
            time(case.per_step(lost)),
            time(case.per_step(case.phase.wall_ns as f64)),
            case.per_step_word()
        ),
        gain_ns: Some(gain),
        acts_on_ns: lost,
        evidence: evidence(case, far, noun),
        computed: match late > kernels {
            true => "the host is the bottleneck: faster kernels alone save little".to_owned(),
            false => format!(
                "at the rates that good kernels reach on this device ({} of {}), they take {} less; half of that to all \
                 of it",
                whole_percent(far.floor_ns / far.best_ns()),
                far.roof(),
                time(case.per_step(high))
            ),
        },
        change,
        risk: risk.to_owned(),
        comes_first: false,
    }
}

/// The operators of the model that lose most, or where one kernel after the other does a single one, these kernels;
/// and the class as a whole.
fn evidence(case: &Case<'_>, far: &Far<'_>, noun: &str) -> Vec<String> {
    let is_done_here = |row: &&OperatorTime| {
        let does =
            |name: &str| far.kernels.iter().any(|kernel| kernel.operators.iter().any(|own| own == name));
        row.operator.split(" + ").any(does)
    };
    let mut operators: Vec<&OperatorTime> = case.phase.operators.iter().filter(is_done_here).collect();
    operators.sort_by_key(|row| std::cmp::Reverse(row.achieved.lost_ns));
    let mut lines: Vec<String> = match operators.len() {
        0 | 1 => far.kernels.iter().take(ROWS).filter_map(|kernel| kernel_row(far, kernel)).collect(),
        _ => operators.iter().take(ROWS).map(|row| operator_row(far, row)).collect(),
    };
    let moved = if far.is_memory() { amount(far.bytes, "B") } else { amount(far.flops, "FLOP") };
    lines.push(format!("together {moved} in {}", time(far.ns)));
    if far.ns < ALL_OF_IT * far.class_ns {
        lines.push(format!("all {noun}, smaller ones included, take {}", time(far.class_ns)));
    }
    lines
}

fn kernel_row(far: &Far<'_>, kernel: &KernelTime) -> Option<String> {
    let achieved = kernel.achieved.as_ref()?;
    Some(format!("`{}`: {}", kernel.short_name, far.achieved(kernel.ns, kernel.count, achieved)))
}

/// `gate_up_proj (`Cijk…`): 244 ms in 36 calls at 457 TFLOP/s (35% of peak)`.
fn operator_row(far: &Far<'_>, row: &OperatorTime) -> String {
    let kernel = row.kernels.first().map_or(String::new(), |kernel| format!(" (`{kernel}`)"));
    format!("{}{kernel}: {}", row.operator, far.achieved(row.ns, row.count, &row.achieved))
}
