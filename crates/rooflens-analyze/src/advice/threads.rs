//! Use every processor.

use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::kernel_catalog::KernelClass;
use crate::ledger::Line;

/// One in so many of the perfect speed-up: what memory bandwidth and the smallest operators leave at least.
const PART: f64 = 5.0;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "threads",
    about: "On a CPU: operators on fewer threads than the host has processors. High: their time divided by the \
         ratio of threads; low: a fifth of that for matmuls and attention only, which certainly run in \
         parallel.",
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    if case.is_device() {
        return Ok(None);
    }
    let Some((used, usable)) = case.context.threads else {
        return Err("the number of threads that operators ran on is not known".to_owned());
    };
    if used == 0 || used >= usable {
        return Ok(None);
    }
    let shared = case.products_ns() + case.classes_ns(&[KernelClass::Attention]);
    let all = case.phase.wall_ns as f64 - case.on(Line::CpuBound);
    let spared = 1.0 - used as f64 / usable as f64;
    let plural = if used == 1 { "" } else { "s" };
    Ok(Some(Draft {
        title: format!("Use {usable} threads instead of {used}"),
        gain_ns: Some(Range::new(spared * shared / PART, spared * all)),
        acts_on_ns: all,
        comes_first: false,
        evidence: vec![
            format!("operators ran on {used} thread{plural}; the host has {usable} processors"),
            case.row("operators", all),
            case.row("matmuls and attention", shared),
        ],
        computed: "from a fifth of a perfect speed-up of matmuls and attention up to a perfect speed-up \
                   of all operators"
            .to_owned(),
        change: format!("OMP_NUM_THREADS={usable}, or torch.set_num_threads({usable})")
            + &case.in_project(&["pytorch", "vllm"], &format!("+runtime.env.OMP_NUM_THREADS={usable}")),
        risk: "Small operators become slower on more threads, and so does everything if other processes \
               use the CPU."
            .to_owned(),
    }))
}
