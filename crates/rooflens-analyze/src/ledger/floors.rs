//! Least times of a model's work, spent on the kernels that did it.

use std::collections::BTreeMap;

use rooflens_schema::tables::PhaseKind;
use serde::Serialize;

use super::class::is_needed;
use crate::kernel_catalog::KernelClass;

/// The least times of everything that a trace shows.
#[derive(Debug, Clone, Default)]
pub struct Floors {
    /// The model whose work it is.
    pub model: String,
    /// The device whose peaks were used.
    pub device: String,
    /// By what a step does.
    pub phases: BTreeMap<PhaseKind, PhaseFloors>,
}

/// The least times of all steps of a phase together.
#[derive(Debug, Clone, Default)]
pub struct PhaseFloors {
    /// How many steps they are the work of.
    pub steps: usize,
    /// By class of the static model.
    pub classes: Vec<Floor>,
}

/// The least time of a class of operators.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Floor {
    /// Class of the static model, as `attn.qkv`.
    pub class: String,
    /// Its least time, all steps together.
    pub ns: f64,
    /// Useful operations of the matrix units.
    pub flops: f64,
    /// Bytes that must move.
    pub bytes: f64,
}

/// Kernels that do the work of a class of the static model: the first group that has time left, then the
/// next. Eager attention is made of matrix products, eager norms of elementwise kernels.
fn doers(class: &str) -> [&'static [KernelClass]; 3] {
    use KernelClass as K;
    const PRODUCTS: &[K] = &[K::Gemm, K::Gemv, K::Moe, K::Convolution, K::Quantization];
    const ATTENTION: &[K] = &[K::Attention, K::Softmax, K::Rope, K::KvCache, K::Ssm];
    const NORMS: &[K] = &[K::Norm, K::Reduction];
    const LOOKUPS: &[K] = &[K::Embedding];
    const OTHERS: &[K] = &[K::Other, K::Sampling, K::Sort, K::Pooling, K::Optimizer];
    const ELEMENTWISE: &[K] = &[K::Elementwise, K::Activation, K::Copy];
    match class {
        "norm" | "hc" => [NORMS, ELEMENTWISE, PRODUCTS],
        "embed" => [LOOKUPS, ELEMENTWISE, OTHERS],
        "attn.core" | "attn.linear" | "rope" | "dsa.idx_core" | "vision.core" | "vision.rel_pos"
        | "gdn.core" | "gdn.solve" | "gdn.conv" | "mamba.ssd" | "mamba.conv" | "conv.core" => {
            [ATTENTION, PRODUCTS, OTHERS]
        }
        _ => [PRODUCTS, OTHERS, ATTENTION],
    }
}

/// Least times without exchange between devices: that is not on the kernels' line.
fn of_kernels(floors: &[Floor]) -> impl Iterator<Item = &Floor> {
    floors.iter().filter(|floor| !floor.class.starts_with("comm."))
}

/// Their sum.
#[must_use]
pub fn kernels_floor_ns(floors: &[Floor]) -> f64 {
    of_kernels(floors).map(|floor| floor.ns).sum()
}

/// Spends the least times of a phase on its kernel classes. Answers what each class gets, in whole
/// nanoseconds and never more than its time, and what could not be spent: the kernels were faster than what
/// was thought the least.
pub(crate) fn spend(
    floors: &[Floor],
    times: &BTreeMap<KernelClass, i64>,
) -> (BTreeMap<KernelClass, i64>, f64) {
    let mut left: BTreeMap<KernelClass, f64> = times.iter().map(|(class, ns)| (*class, *ns as f64)).collect();
    let mut unspent = 0.0;
    for floor in of_kernels(floors) {
        let mut rest = floor.ns.max(0.0);
        for group in doers(&floor.class) {
            let room: f64 = group.iter().filter_map(|class| left.get(class)).sum();
            let taken = rest.min(room);
            if taken <= 0.0 {
                continue;
            }
            for class in group {
                if let Some(ns) = left.get_mut(class) {
                    *ns -= taken * (*ns / room);
                }
            }
            rest -= taken;
        }
        unspent += rest;
    }
    let spent = times.iter().map(|(class, ns)| {
        let rest = left.get(class).copied().unwrap_or(0.0).max(0.0);
        (*class, (*ns - rest.ceil() as i64).clamp(0, *ns))
    });
    (spent.filter(|(class, ns)| *ns > 0 || is_needed(*class)).collect(), unspent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floor(class: &str, ns: f64) -> Floor {
        Floor { class: class.to_owned(), ns, flops: 0.0, bytes: 0.0 }
    }

    #[test]
    fn floors_go_to_the_kernels_that_did_the_work() {
        use KernelClass as K;
        let times =
            BTreeMap::from([(K::Gemm, 300), (K::Gemv, 100), (K::Attention, 50), (K::Elementwise, 80)]);
        let floors =
            [floor("mlp", 100.0), floor("attn.qkv", 100.0), floor("attn.core", 40.0), floor("norm", 20.0)];
        let (spent, unspent) = spend(&floors, &times);
        // 200 of 400 of the products: half of each; norms are elementwise kernels here.
        assert_eq!(spent[&K::Gemm], 150);
        assert_eq!(spent[&K::Gemv], 50);
        assert_eq!(spent[&K::Attention], 40);
        assert_eq!(spent[&K::Elementwise], 20);
        assert_eq!(unspent, 0.0);
    }

    #[test]
    fn nothing_is_spent_twice_or_beyond_the_time() {
        use KernelClass as K;
        let times = BTreeMap::from([(K::Gemm, 100)]);
        let (spent, unspent) =
            spend(&[floor("attn.core", 70.0), floor("mlp", 50.0), floor("comm.all_reduce", 9.0)], &times);
        assert_eq!(spent[&K::Gemm], 100);
        assert_eq!(unspent, 20.0);
    }
}
