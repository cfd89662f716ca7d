//! A ledger from a table of kernels, where there is no timeline: how long each kernel ran in all, and how long
//! the whole took.

use std::collections::BTreeMap;

use crate::analyses::{ClassLedger, KernelStat, Kernels, Launches, Ledger, LedgerLine, PhaseLedger, Verdict};
use crate::facts::LAUNCHING_PACE_NS;
use crate::finding::Findings;
use crate::kernel_catalog::{ActivityHint, KernelClass, describe};
use crate::ledger::sequences::Kernel;
use crate::ledger::{KernelNames, Line, Sequences, StepAsked, StepShape, Transfers, class_line};
use crate::sentence::{count, percent, time};
use crate::statistics::share;
use crate::top::TopKernel;
use rooflens_schema::tables::{ActivityKind, PhaseKind};

/// What is known besides the table.
#[derive(Debug, Clone, Copy)]
pub struct KernelTableContext {
    /// How long all steps took.
    pub wall_ns: i64,
    /// Steps in that time, each of one token.
    pub steps: usize,
    /// Sequences of a step.
    pub batch: Option<i64>,
    /// Tokens in the cache of all sequences.
    pub kv_tokens: Option<i64>,
}

/// What such findings rest on, for those who read them.
pub const ASSUMED: &str = "a table of kernels has no timeline: kernels are assumed to run one after the \
                           other, each with its own launch, and all steps to be decode steps";

/// The findings of a table: ledger, kernels, launches and a verdict. An error where the kernels took longer than
/// the whole.
pub fn of_summary(kernels: &[TopKernel], known: &KernelTableContext) -> Result<Findings, String> {
    let busy: f64 = kernels.iter().map(|kernel| kernel.total_ns).sum();
    if busy > known.wall_ns as f64 {
        return Err(format!(
            "the kernels ran for {} in total, longer than the given {}",
            time(busy),
            time(known.wall_ns as f64)
        ));
    }
    let ledger = ledger(kernels, known);
    let number: u64 = kernels.iter().map(|kernel| kernel.count).sum();
    let (steps, wall) = (known.steps.max(1) as f64, known.wall_ns as f64);
    let idle = (known.wall_ns
        - ledger.lines.iter().filter(|line| !line.line.is_idle()).map(|line| line.ns).sum::<i64>())
    .max(0);
    let word = match cause(number, known.wall_ns) {
        Line::LaunchBound => "launch-bound",
        _ => "waiting for the host",
    };
    let launches = format!(
        "{} launches per step, one every {}",
        count((number as f64 / steps).round() as i64),
        time(wall / number.max(1) as f64)
    );
    let sentence = format!(
        "GPU {} busy, idle {} of the time, {word}: {launches}, for {} of device work in {}.",
        percent(1.0 - share(idle, known.wall_ns)),
        percent(share(idle, known.wall_ns)),
        time(busy / steps),
        time(wall / steps)
    );
    let verdict = Verdict { sentence, shares: shares(&ledger), next: Vec::new(), claims: Vec::new() };
    let mut findings = Findings::default();
    findings.insert("kernels", Box::new(Kernels(kernels.iter().map(stat).collect())));
    findings.insert(
        "launches",
        Box::new(Launches {
            launches: number as usize,
            per_step: Some(number as f64 / steps),
            ..Launches::default()
        }),
    );
    findings.insert("ledger", Box::new(ledger));
    findings.insert("verdict", Box::new(verdict));
    Ok(findings)
}

/// Why a device idles that so many launches reach in that time: by their pace, as on a timeline.
fn cause(launches: u64, wall_ns: i64) -> Line {
    let pace = wall_ns as f64 / launches.max(1) as f64;
    if pace <= LAUNCHING_PACE_NS as f64 { Line::LaunchBound } else { Line::CpuBound }
}

fn ledger(kernels: &[TopKernel], known: &KernelTableContext) -> Ledger {
    let mut classes: BTreeMap<KernelClass, (f64, usize)> = BTreeMap::new();
    for kernel in kernels {
        let class = KernelClass::named(&kernel.class).unwrap_or(KernelClass::Other);
        let (ns, activities) = classes.entry(class).or_default();
        *ns += kernel.total_ns;
        *activities += kernel.count as usize;
    }
    let class = |(class, (ns, activities)): (&KernelClass, &(f64, usize))| ClassLedger {
        class: *class,
        line: class_line(*class),
        activities: *activities,
        ns: ns.round() as i64,
        floor_ns: None,
        achieved: None,
    };
    let mut rows: Vec<ClassLedger> = classes.iter().map(class).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.ns));
    let number: usize = rows.iter().map(|row| row.activities).sum();
    let mut times: BTreeMap<Line, i64> = BTreeMap::new();
    for row in &rows {
        *times.entry(row.line).or_default() += row.ns;
    }
    let busy: i64 = times.values().sum();
    let wall_ns = known.wall_ns.max(busy);
    times.insert(cause(number as u64, wall_ns), wall_ns - busy);
    let lines: Vec<LedgerLine> = times
        .into_iter()
        .filter(|(_, ns)| *ns > 0)
        .map(|(line, ns)| LedgerLine { line, ns, share: share(ns, wall_ns) })
        .collect();
    let shape = StepShape {
        steps: known.steps,
        batch: known.batch,
        prefill_tokens: None,
        decode_tokens: known.batch,
        kv_tokens: known.kv_tokens,
    };
    let mut names = KernelNames::default();
    let sequences = sequences(kernels, StepShape { steps: 1, ..shape }, known.steps, &mut names);
    let phase = PhaseLedger {
        phase: "decode".into(),
        steps: known.steps,
        activities: number,
        wall_ns,
        share: 1.0,
        lines: lines.clone(),
        shapes: vec![shape],
        classes: rows,
        sequences,
        transfers: transfers(kernels),
        ..PhaseLedger::default()
    };
    let reason = "no model was given: --model CONFIG and --hardware NAME give the kernels their lower bound";
    let single = "a table of kernels has no single steps";
    Ledger {
        timeline: "device".into(),
        timelines: 1,
        wall_ns,
        lines,
        phases: vec![phase],
        names,
        not_computed: BTreeMap::from([
            ("floor".to_owned(), reason.to_owned()),
            ("phases.step".to_owned(), single.to_owned()),
        ]),
        ..Ledger::default()
    }
}

/// The steps of a table: all alike, and nobody knows in which order their kernels ran.
fn sequences(kernels: &[TopKernel], shape: StepShape, steps: usize, names: &mut KernelNames) -> Sequences {
    let kernel = |kernel: &TopKernel| Kernel {
        name: names.add(&kernel.name),
        class: KernelClass::named(&kernel.class).unwrap_or(KernelClass::Other),
        ns: kernel.total_ns.round() as i64,
        matrix: None,
    };
    let kernels = kernels.iter().map(kernel).collect();
    let step = |ordinal| StepAsked { kind: PhaseKind::Decode, ordinal, shape };
    Sequences::unordered((0..steps).map(step).collect(), kernels)
}

/// Collectives by their mean: a table has no single ones.
fn transfers(kernels: &[TopKernel]) -> Transfers {
    let mut found = Transfers::default();
    for kernel in kernels.iter().filter(|kernel| kernel.class == KernelClass::Communication.as_str()) {
        let (calls, ns) = (kernel.count as usize, kernel.total_ns.round() as i64);
        found.add(calls, ns, kernel.mean_ns as i64);
    }
    found
}

fn shares(ledger: &Ledger) -> Vec<(String, f64)> {
    let mut shares: Vec<(String, f64)> =
        ledger.lines.iter().map(|line| (line.line.as_str().to_owned(), line.share)).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

fn stat(kernel: &TopKernel) -> KernelStat {
    let info = describe(&kernel.name, ActivityHint::Kernel);
    KernelStat {
        name: kernel.name.clone(),
        short_name: kernel.short_name.clone(),
        kind: ActivityKind::Kernel,
        class: kernel.class.clone(),
        library: info.library.map(|library| library.to_string()),
        dtype: info.dtype.map(|dtype| dtype.to_string()),
        count: kernel.count as usize,
        total_ns: kernel.total_ns.round() as i64,
        mean_ns: kernel.mean_ns,
        min_ns: kernel.min_ns.round() as i64,
        p50_ns: kernel.median_ns,
        // A table has no percentiles: the longest is no less.
        p99_ns: kernel.max_ns.round() as i64,
        max_ns: kernel.max_ns.round() as i64,
        share: kernel.share,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::described;

    fn kernel(name: &str, count: u64, total_ns: f64) -> TopKernel {
        described(name.to_owned(), |kernel| (kernel.count, kernel.total_ns) = (count, total_ns))
    }

    #[test]
    fn a_table_and_its_wall_time() {
        let known = KernelTableContext { wall_ns: 1_000_000, steps: 2, batch: Some(1), kv_tokens: None };
        let rows = [kernel("gemvx::kernel<7>", 30, 200_000.0), kernel("elementwise_kernel", 10, 50_000.0)];
        let found = of_summary(&rows, &known).unwrap();
        let ledger = found.get::<Ledger>().unwrap();
        // 40 launches in 1 ms: one every 25 µs.
        let lines: Vec<_> = ledger.lines.iter().map(|line| (line.line, line.ns)).collect();
        assert_eq!(lines, [(Line::Kernels, 200_000), (Line::Unneeded, 50_000), (Line::LaunchBound, 750_000)]);
        assert_eq!(
            found.get::<Verdict>().unwrap().sentence,
            "GPU 25.0% busy, idle 75.0% of the time, launch-bound: 20 launches per step, one every 25.0 µs, for 125 µs of \
             device work in 500 µs."
        );
        // 5 launches in 1 ms: the host did something else.
        let few = of_summary(&[kernel("gemvx::kernel<7>", 5, 200_000.0)], &known).unwrap();
        assert_eq!(few.get::<Ledger>().unwrap().on(Line::CpuBound), 800_000);
        assert!(of_summary(&[kernel("k", 1, 2e6)], &known).is_err());
    }
}
