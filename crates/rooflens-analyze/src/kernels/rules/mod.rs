//! What to change in profiled kernels, by their counters: one rule a file.
//!
//! A rule looks at one launch and says what was measured, against which threshold, and what may help. It
//! speaks only where the counters show the cause, and where it can matter: a kernel that is bound by memory
//! does not gain from more eligible warps. How much time is at stake is the time of the launches that it
//! speaks of, which is the most that any change to them could save.
//!
//! To add a rule: a file here, a `mod` line and an entry in [`ALL`].

mod bank_conflicts;
mod divergence;
mod issue;
mod occupancy;
mod small_grid;
mod tail;
mod tensor_idle;
#[cfg(test)]
mod tests;
mod uncoalesced;

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bound, Kernel};
use crate::kernel_catalog::KernelClass;

/// A rule.
pub(crate) trait KernelRule: Sync {
    /// Its name, in words for programs.
    fn name(&self) -> &'static str;
    /// What it says of a launch.
    fn judge(&self, kernel: &Kernel) -> Option<KernelRemark>;
}

/// What a rule says of a launch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KernelRemark {
    /// What was measured, with the threshold.
    pub(crate) measured: String,
    /// What may help.
    pub(crate) change: String,
}

/// Every rule.
pub const ALL: &[&dyn KernelRule] = &[
    &small_grid::SmallGrid,
    &tail::Tail,
    &uncoalesced::Uncoalesced,
    &bank_conflicts::BankConflicts,
    &tensor_idle::TensorIdle,
    &issue::Issue,
    &occupancy::LowOccupancy,
    &divergence::Divergence,
];

/// What a rule says of the launches of a kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Suggestion {
    /// The rule.
    pub rule: Cow<'static, str>,
    /// The kernel.
    pub(crate) name: String,
    /// Readable short form.
    pub short_name: String,
    /// Launches of it that the rule speaks of.
    pub(crate) launches: Vec<usize>,
    /// What was measured on that of most time, with the threshold.
    pub measured: String,
    /// What may help.
    pub change: String,
    /// Their share of the time of all profiled launches, 0 to 1; null where times were not collected.
    pub time_share: Option<f64>,
    /// Their share of the time that the timeline has of profiled kernels; null without one.
    pub timeline_share: Option<f64>,
}

/// What the rules say, most time first.
pub(crate) fn suggestions(kernels: &[Kernel]) -> Vec<Suggestion> {
    type Time = fn(&Kernel) -> Option<f64>;
    let (own, real): (Time, Time) = (|kernel| kernel.time_ns, |kernel| kernel.timeline_ns);
    let sum = |of: &[&Kernel], time: Time| of.iter().filter_map(|kernel| time(kernel)).sum::<f64>();
    let everything: Vec<&Kernel> = kernels.iter().collect();
    let share = |of: &[&Kernel], time: Time| {
        let all = sum(&everything, time);
        (all > 0.0).then(|| sum(of, time) / all)
    };
    let mut found = Vec::new();
    for rule in ALL {
        // Kernels come with the most time first, and so do their launches.
        let mut by_name: BTreeMap<&str, Vec<(&Kernel, KernelRemark)>> = BTreeMap::new();
        for kernel in kernels {
            if let Some(remark) = rule.judge(kernel) {
                by_name.entry(&kernel.name).or_default().push((kernel, remark));
            }
        }
        for spoken in by_name.into_values() {
            let of: Vec<&Kernel> = spoken.iter().map(|(kernel, _)| *kernel).collect();
            let Some((first, remark)) = spoken.into_iter().next() else { continue };
            found.push(Suggestion {
                rule: rule.name().into(),
                name: first.name.clone(),
                short_name: first.short_name.clone(),
                launches: of.iter().map(|kernel| kernel.launch).collect(),
                measured: remark.measured,
                change: remark.change,
                time_share: share(&of, own),
                timeline_share: share(&of, real),
            });
        }
    }
    let weight = |row: &Suggestion| row.timeline_share.or(row.time_share).unwrap_or(0.0);
    found.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    found
}

/// Classes of kernels that multiply matrices.
const PRODUCTS: &[KernelClass] =
    &[KernelClass::Gemm, KernelClass::Attention, KernelClass::Moe, KernelClass::Convolution];

/// Whether a kernel multiplies matrices, by its class.
fn is_product(kernel: &Kernel) -> bool {
    PRODUCTS.iter().any(|class| class.as_str() == kernel.class)
}

/// Whether a kernel computes on tensor cores. Such kernels issue seldom and hold few warps by design: an
/// instruction keeps the pipe busy for many cycles, and large tiles take the registers.
fn uses_tensor_cores(kernel: &Kernel) -> bool {
    let counters = &kernel.counters;
    let active = counters.tensor_pipe_pct.or(counters.tensor_pipe_elapsed_pct);
    let leading = kernel.flops.leading.as_deref().unwrap_or_default();
    active.is_some_and(|active| active >= TENSOR_FROM_PCT) || leading.starts_with("tensor_")
}

/// From this share of cycles on a kernel uses tensor cores.
const TENSOR_FROM_PCT: f64 = 1.0;

/// Whether warps wait: neither compute nor memory is busy, though the grid fills the device.
fn is_latency_bound(kernel: &Kernel) -> bool {
    kernel.bound == Some(Bound::Latency)
}
