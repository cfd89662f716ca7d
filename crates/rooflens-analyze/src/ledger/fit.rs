//! Whether a model can have made a trace: what its steps must show, and do not.

use std::collections::BTreeSet;

use super::operators::{OperatorFloor, Role};
use super::sequences::Alike;
use crate::kernel_catalog::KernelClass;
use crate::sentence::{percent, time};

/// How much of a model was found in its steps.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Coverage {
    /// Operators without which a step is not one of this model.
    pub(crate) main: usize,
    pub(crate) done: usize,
    pub(crate) bound_ns: f64,
    pub(crate) unspent_ns: f64,
}

/// Below this share of a model's main operators with a kernel the model did not run.
const LEAST_DONE: f64 = 0.85;
/// Above this share of the lower bound without room the work is not what ran.
const MOST_UNSPENT: f64 = 0.1;
/// Kernels of a class that the model has no operator for, as a share of the time of GEMMs, attention and experts.
const MOST_FOREIGN: f64 = 0.05;
/// GEMMs whose sizes are known must be so many before they tell anything.
const FEWEST_SHAPES: usize = 8;

/// What contradicts the model, in words; empty where nothing does.
pub(super) fn disagreements(alike: &Alike, operators: &[OperatorFloor], coverage: &Coverage) -> Vec<String> {
    let mut found = Vec::new();
    let done = coverage.done as f64 / coverage.main.max(1) as f64;
    found.extend(attention(alike, operators, done));
    found.extend(experts(alike, operators, done));
    found.extend(states(alike, operators));
    found.extend(shapes(alike, operators));
    if found.is_empty() && coverage.main > 0 && done < LEAST_DONE && alike.is_ordered {
        found.push(format!(
            "only {} of the model's {} operators per step (GEMMs, attention, experts) have a kernel in the trace",
            coverage.done,
            coverage.main
        ));
    }
    if coverage.unspent_ns > MOST_UNSPENT * coverage.bound_ns {
        found.push(format!(
            "{} of its lower bound on this device ({} per step) is more than the kernels took that would do the work",
            percent(coverage.unspent_ns / coverage.bound_ns),
            time(coverage.bound_ns / alike.steps.len().max(1) as f64)
        ));
    }
    found
}

fn is_between(class: KernelClass) -> bool {
    matches!(class, KernelClass::Gemm | KernelClass::Gemv | KernelClass::Moe)
}

/// Stretches of attention kernels with GEMMs between them: one per layer.
fn attention_layers(alike: &Alike) -> usize {
    let mut count = 0;
    let mut is_inside = false;
    for kernel in &alike.kernels {
        if kernel.class == KernelClass::Attention {
            count += usize::from(!is_inside);
            is_inside = true;
        } else if is_between(kernel.class) {
            is_inside = false;
        }
    }
    count
}

fn count_of(operators: &[OperatorFloor], classes: &[&str]) -> usize {
    operators.iter().filter(|operator| classes.contains(&operator.class)).count()
}

fn attention(alike: &Alike, operators: &[OperatorFloor], done: f64) -> Option<String> {
    let (seen, told) = (attention_layers(alike), count_of(operators, &["attn.core"]));
    // Latent attention attends to chunks one after the other with GEMMs between; an indexer comes before; towers
    // have attention of their own.
    let is_plain = count_of(operators, &["attn.kv_b", "dsa.idx_core", "vision.core", "attn.linear"]) == 0;
    if !alike.is_ordered || seen == 0 || !is_plain {
        return None;
    }
    if told == 0 {
        return Some(format!("the trace runs attention in {seen} layers per step, the model has none"));
    }
    // Kernels whose names tell nothing may hide layers, but nothing makes more of them.
    let differs = seen > told || (seen < told && done < 0.97);
    differs.then(|| format!("the trace runs attention in {seen} layers per step, the model in {told}"))
}

fn time_of(alike: &Alike, classes: &[KernelClass]) -> i64 {
    alike.kernels.iter().filter(|kernel| classes.contains(&kernel.class)).map(|kernel| kernel.ns).sum()
}

const WORK: &[KernelClass] =
    &[KernelClass::Gemm, KernelClass::Gemv, KernelClass::Attention, KernelClass::Moe, KernelClass::Ssm];

fn foreign(alike: &Alike, class: KernelClass) -> Option<f64> {
    let share = time_of(alike, &[class]) as f64 / time_of(alike, WORK).max(1) as f64;
    (share > MOST_FOREIGN).then_some(share)
}

fn experts(alike: &Alike, operators: &[OperatorFloor], done: f64) -> Option<String> {
    let told = count_of(operators, &["moe.routed"]);
    if told == 0 {
        let share = foreign(alike, KernelClass::Moe)?;
        return Some(format!(
            "the trace runs MoE kernels ({} of its work), the model has no experts",
            percent(share)
        ));
    }
    if alike.kernels.iter().any(|kernel| kernel.class == KernelClass::Moe) {
        return None;
    }
    // Experts as plain GEMMs are at least gate, up and down of each that is visited; a dense layer has two.
    let gemms = alike.kernels.iter().filter(|kernel| is_between(kernel.class)).count();
    let linear = operators.iter().filter(|operator| Role::of(operator.class) == Role::Linear);
    let others: usize = linear.map(|operator| operator.parts.len()).sum();
    (done < 0.97 || (alike.is_ordered && gemms <= others + 2 * told))
        .then(|| format!("the model has experts in {told} layers, the trace runs no MoE kernels"))
}

fn states(alike: &Alike, operators: &[OperatorFloor]) -> Option<String> {
    if operators.iter().any(|operator| Role::of(operator.class) == Role::State) {
        return None;
    }
    let share = foreign(alike, KernelClass::Ssm)?;
    Some(format!(
        "the trace runs state-space or linear-attention kernels ({} of its work), the model has none",
        percent(share)
    ))
}

/// GEMMs of the trace whose sizes are none of the model's.
fn shapes(alike: &Alike, operators: &[OperatorFloor]) -> Option<String> {
    let mut widths: BTreeSet<u64> = BTreeSet::new();
    for operator in operators {
        let Some((rows, columns)) = operator.matrix else { continue };
        let parts = operator.parts.iter().map(|part| (part * columns as f64).round() as u64);
        widths.extend(parts.chain([rows, columns]));
    }
    // A little wider is padding.
    let is_known = |seen: u64| widths.range(seen - seen / 9..=seen).next().is_some();
    let (mut all, mut foreign) = (0_usize, 0_usize);
    let mut example: Option<(u64, u64)> = None;
    for matrix in
        alike.kernels.iter().filter(|kernel| is_between(kernel.class)).filter_map(|kernel| kernel.matrix)
    {
        all += 1;
        if !(is_known(matrix.0) && is_known(matrix.1)) {
            foreign += 1;
            example = example.or(Some(matrix));
        }
    }
    let (rows, columns) = example?;
    (all >= FEWEST_SHAPES && foreign * 2 > all).then(|| {
        format!(
            "{foreign} of {all} GEMMs per step have sizes that the model does not have, as a weight of {rows} x {columns}"
        )
    })
}
