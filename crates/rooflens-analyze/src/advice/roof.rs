//! Kernels of a class against the roof: the rate they reach, what the device could, and what is lost.

use crate::advice::{Case, Draft, Range};
use crate::analyses::{ClassLedger, KernelStat, Kernels, Products};
use crate::kernel_catalog::KernelClass;
use crate::ledger::Line;
use crate::sentence::{amount, things, time, whole_percent};

/// The share of the roof that the best kernels reach. Streams read 80 to 93 % of a device's HBM bandwidth; cuBLAS
/// reaches 70 to 80 % of the dense peak of an H100 in large GEMMs, hipBLASLt 50 to 70 % of that of an MI300X.
const REACHABLE: f64 = 0.8;
/// Kernels at this share of the roof or more are left alone.
const NEAR: f64 = 0.65;
/// Of the way to [`REACHABLE`]: what another backend or a tuned config brings at least, where kernels are far off.
const SURE: f64 = 0.5;
/// Kernels with less of their class's time are not what its work is done by: routing, scatter, reductions.
const MAIN: f64 = 0.1;
/// A phase with less of a class's time shares its kernels with other phases.
const ALONE: f64 = 0.95;

/// Kernels that are far from their roof.
pub(super) struct Far<'a> {
    /// The kernels that do the work, most time first.
    pub(super) kernels: Vec<&'a KernelStat>,
    /// Their time, all steps together.
    ns: f64,
    floor_ns: f64,
    class_ns: f64,
    flops: f64,
    bytes: f64,
    peak_flops_per_s: f64,
    peak_bytes_per_s: f64,
    /// What limits them.
    pub(super) limit: &'static str,
}

impl Far<'_> {
    /// Whether bandwidth is their limit.
    pub(super) fn is_memory(&self) -> bool {
        self.limit == "memory"
    }

    /// Whether the name of a kernel that does the work has the word.
    pub(super) fn has(&self, word: &str) -> bool {
        self.kernels.iter().any(|kernel| kernel.name.to_ascii_lowercase().contains(word))
    }

    /// Whether a kernel that does the work is of the library.
    pub(super) fn is_of(&self, library: &str) -> bool {
        self.kernels.iter().any(|kernel| kernel.library.as_deref() == Some(library))
    }

    /// The rate that counts, its peak, and what they are called.
    fn rates(&self) -> (f64, f64, &'static str, &'static str) {
        let seconds = self.ns / 1e9;
        match self.limit {
            "memory" => (self.bytes / seconds, self.peak_bytes_per_s, "B/s", "HBM bandwidth"),
            "vector" => (self.flops / seconds, self.peak_flops_per_s, "FLOP/s", "the vector units' peak"),
            _ => (self.flops / seconds, self.peak_flops_per_s, "FLOP/s", "the matrix units' peak"),
        }
    }

    fn share(&self) -> f64 {
        let (rate, peak, _, _) = self.rates();
        rate / peak
    }
}

/// The kernels of classes, where they are far from their roof; what is lacking where no roof is known.
pub(super) fn far<'a>(case: &Case<'a>, classes: &[KernelClass]) -> Result<Option<Far<'a>>, String> {
    let rows: Vec<&ClassLedger> =
        case.phase.classes.iter().filter(|class| classes.contains(&class.class)).collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let known: Vec<_> = rows.iter().filter_map(|row| Some((*row, row.work.as_ref()?))).collect();
    let Some((_, most)) = known.iter().max_by_key(|(row, _)| row.ns) else {
        let reason = case.ledger.not_computed.get("floor").cloned();
        return Err(reason.unwrap_or_else(|| "no lower bound is known for these kernels".to_owned()));
    };
    let sum =
        |value: &dyn Fn(&(&ClassLedger, &crate::analyses::ClassWork)) -> f64| known.iter().map(value).sum();
    let class_ns: f64 = sum(&|(row, _)| row.ns as f64);
    let kernels = main_kernels(case, classes, class_ns);
    let main_ns: f64 = kernels.iter().map(|row| row.total_ns as f64).sum();
    let found = Far {
        ns: if kernels.is_empty() { class_ns } else { main_ns.min(class_ns) },
        kernels,
        floor_ns: sum(&|(row, _)| row.floor_ns.unwrap_or(0) as f64),
        class_ns,
        flops: sum(&|(_, work)| work.flops),
        bytes: sum(&|(_, work)| work.bytes),
        peak_flops_per_s: most.peak_flops_per_s,
        peak_bytes_per_s: most.peak_bytes_per_s,
        limit: most.limit,
    };
    let is_far = found.floor_ns > 0.0 && found.floor_ns < NEAR * found.ns;
    Ok(Some(found).filter(|_| is_far))
}

/// The kernels that do most of the classes' work, where this phase has them to itself.
fn main_kernels<'a>(case: &Case<'a>, classes: &[KernelClass], class_ns: f64) -> Vec<&'a KernelStat> {
    let phases = &case.ledger.phases;
    let everywhere = phases.iter().flat_map(|phase| &phase.classes);
    let everywhere = everywhere.filter(|class| classes.contains(&class.class));
    let all_ns: f64 = everywhere.map(|class| class.ns as f64).sum();
    if class_ns < ALONE * all_ns {
        return Vec::new();
    }
    let rows = case.findings.get::<Kernels>().map_or(&[][..], |found| &found.0);
    let of_class = |row: &&KernelStat| classes.iter().any(|class| row.class == class.as_str());
    let total: f64 = rows.iter().filter(of_class).map(|row| row.total_ns as f64).sum();
    rows.iter().filter(of_class).filter(|row| row.total_ns as f64 >= MAIN * total).collect()
}

/// Advice about kernels that are far from their roof.
pub(super) fn draft(case: &Case<'_>, far: &Far<'_>, noun: &str, change: String, risk: &str) -> Draft {
    let (rate, peak, unit, roof) = far.rates();
    let lost = far.ns - far.floor_ns;
    let wall = case.phase.wall_ns as f64;
    let high = (far.ns - far.floor_ns / REACHABLE).max(0.0);
    let late = case.on(Line::LaunchBound) + case.on(Line::CpuBound);
    let kernels = case.kernels_ns();
    // Where the host is the slower side, a faster device only waits longer.
    let gain = match late > kernels {
        true => Range::new(0.0, high * kernels / (kernels + late)),
        false => Range::new(SURE * high, high),
    };
    let mut evidence: Vec<String> = far.kernels.iter().take(3).map(|row| kernel_row(row)).collect();
    let moved = if far.is_memory() { amount(far.bytes, "B") } else { amount(far.flops, "FLOP") };
    evidence.push(format!(
        "{moved} in {}: {} of {} ({})",
        time(far.ns),
        amount(rate, unit),
        amount(peak, unit),
        whole_percent(rate / peak)
    ));
    if far.ns < far.class_ns {
        evidence.push(format!(
            "all {noun}, smaller ones included: {}, {} of it their lower bound",
            time(far.class_ns),
            whole_percent(far.floor_ns / far.class_ns)
        ));
    }
    if !far.is_memory() {
        evidence.extend(by_shape(case, peak));
    }
    Draft {
        title: format!(
            "{noun} reach {} of {roof} ({} of {}): {} of {}{} is above their lower bound",
            whole_percent(far.share()),
            amount(rate, unit),
            amount(peak, unit),
            time(case.per_step(lost)),
            time(case.per_step(wall)),
            case.per_step_word()
        ),
        gain_ns: Some(gain),
        acts_on_ns: lost,
        evidence,
        computed: match late > kernels {
            true => "the host is the slower side: faster kernels alone save little".to_owned(),
            false => format!(
                "at {} of the roof, which the best kernels reach, they take {} less; half of that to all of it",
                whole_percent(REACHABLE),
                time(case.per_step(high))
            ),
        },
        change,
        risk: risk.to_owned(),
        comes_first: false,
    }
}

/// `_matmul_ogs…: 3.76 ms, 24 launches`.
fn kernel_row(kernel: &KernelStat) -> String {
    let launches = things(kernel.count as i64, "launch", "launches");
    format!("`{}`: {} in {launches}", kernel.short_name, time(kernel.total_ns as f64))
}

/// The matrices with the most device time, each with its own rate, where the trace has the shapes of operators.
fn by_shape(case: &Case<'_>, peak: f64) -> Vec<String> {
    let Some(Products(rows)) = case.findings.get::<Products>() else { return Vec::new() };
    let mut sums: Vec<(&str, (u64, u64), usize, u128, i64)> = Vec::new();
    for row in rows.iter().filter(|row| row.phase.as_str() == case.phase.phase) {
        let (Some(matrix), Some(flops)) = (row.matrix, row.flops) else { continue };
        let found = sums.iter_mut().find(|sum| (sum.0, sum.1) == (row.operator.as_str(), matrix));
        match found {
            Some(sum) => {
                sum.2 += row.count;
                sum.3 = sum.3.saturating_add(flops);
                sum.4 = sum.4.saturating_add(row.device_ns);
            }
            None => sums.push((&row.operator, matrix, row.count, flops, row.device_ns)),
        }
    }
    sums.retain(|sum| sum.4 > 0);
    sums.sort_by_key(|sum| std::cmp::Reverse(sum.4));
    let row = |(operator, (rows, columns), count, flops, ns): &(&str, (u64, u64), usize, u128, i64)| {
        let rate = *flops as f64 / (*ns as f64 / 1e9);
        format!(
            "`{operator}` by {rows} × {columns}, {}: {} at {} ({} of peak)",
            things(*count as i64, "call", "calls"),
            time(*ns as f64),
            amount(rate, "FLOP/s"),
            whole_percent(rate / peak)
        )
    };
    sums.iter().take(3).map(row).collect()
}
