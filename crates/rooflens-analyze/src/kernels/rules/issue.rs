//! Schedulers that seldom find a warp that can issue.

use super::{KernelRemark, KernelRule, is_latency_bound, uses_tensor_cores};
use crate::kernels::Kernel;

/// Neither compute nor memory reaches 60 % of its peak, the grid is not known to be too small, schedulers issue in less than 60 % of active cycles, and tensor cores are not used.
pub(super) struct Issue;

/// Cycles with an instruction, below this share: `issueActiveTarget` of the profiler's own rule
/// (`sections/IssueSlotUtilization.py` of Nsight Compute 2024.2).
const BELOW_PCT: f64 = 60.0;

impl KernelRule for Issue {
    fn name(&self) -> &'static str {
        "low_issue_utilisation"
    }
    fn judge(&self, kernel: &Kernel) -> Option<KernelRemark> {
        let counters = &kernel.counters;
        let active = counters.issue_active_pct.or(counters.issue_slots_pct).filter(|pct| *pct < BELOW_PCT)?;
        if !is_latency_bound(kernel) || uses_tensor_cores(kernel) {
            return None;
        }
        let warps = counters.eligible_warps.zip(counters.active_warps);
        let warps = warps.map(|(eligible, active)| {
            format!("; {eligible:.2} of {active:.2} active warps of a scheduler are eligible")
        });
        // A warp that was not selected could have issued: it waits for no one.
        let stall = kernel.stalls.iter().find(|stall| stall.reason != "not_selected");
        let (waits, change) = match stall {
            Some(stall) => {
                let share = 100.0 * stall.share;
                let reason = stall.reason.replace('_', " ");
                (format!("; {share:.0} % of warp time is stall {reason}"), help(&stall.reason).to_owned())
            }
            None => (String::new(), "ncu --section WarpStateStats names what warps wait for".to_owned()),
        };
        Some(KernelRemark {
            measured: format!(
                "schedulers issue in {active:.0} % of active cycles (below {BELOW_PCT:.0} %){}{waits}",
                warps.unwrap_or_default()
            ),
            change,
        })
    }
}

/// What helps against the stall, after the Nsight Compute profiling guide's account of each.
fn help(reason: &str) -> &'static str {
    match reason {
        "long_scoreboard" => {
            "warps wait for global or local memory: more loads in flight (unroll, vector loads, cp.async), better locality"
        }
        "short_scoreboard" | "mio_throttle" => {
            "warps wait for shared memory or special functions: fewer or wider accesses to shared memory"
        }
        "lg_throttle" => {
            "the queue of global and local memory is full: fewer, wider accesses; no register spills"
        }
        "barrier" => "warps wait at __syncthreads: smaller blocks, more even work across warps",
        "math_pipe_throttle" => "a math pipe is the limit: another mix of instructions, tensor cores",
        "wait" => {
            "warps wait a fixed number of cycles for instructions before: more independent instructions or more warps"
        }
        "no_instruction" | "no_instructions" | "imc_miss" => {
            "warps wait for instructions or constants: shorter code, longer kernels, fewer constants by index"
        }
        "branch_resolving" => "warps wait for branches: fewer of them, predication",
        "tex_throttle" => "the queue of the texture unit is full: fewer texture or surface accesses at once",
        _ => "see the Nsight Compute profiling guide for this stall reason",
    }
}
