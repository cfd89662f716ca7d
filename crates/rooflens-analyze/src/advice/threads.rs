//! Use every processor.

use crate::advice::{Case, Draft, Range, Rule};
use crate::kernel_catalog::KernelClass;

/// The rule.
pub(super) struct Threads;

/// Of the perfect speed-up: what memory bandwidth and the smallest operators leave at least.
const SURE: f64 = 0.2;

impl Rule for Threads {
    fn name(&self) -> &'static str {
        "threads"
    }
    fn about(&self) -> &'static str {
        "Without a device: products and attention on fewer threads than the host has processors. High: their time \
         divided by that many more threads; low: a fifth of that."
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        if case.is_device() {
            return Ok(None);
        }
        let Some((used, usable)) = case.around.threads else {
            return Err("it is not known how many threads operators ran on".to_owned());
        };
        if used == 0 || used >= usable {
            return Ok(None);
        }
        let shared = case.products_ns() + case.classes_ns(&[KernelClass::Attention]);
        let high = shared * (1.0 - used as f64 / usable as f64);
        let plural = if used == 1 { "" } else { "s" };
        Ok(Some(Draft {
            title: format!("Compute on {usable} threads, not on {used}"),
            gain_ns: Range::new(SURE * high, high),
            evidence: vec![
                format!("operators ran on {used} thread{plural}; the host has {usable} processors"),
                case.row("products and attention", shared),
            ],
            computed: "from a fifth of a perfect speed-up of products and attention up to all of it".to_owned(),
            change: format!(
                "OMP_NUM_THREADS={usable}, or torch.set_num_threads({usable}); in a project of Rooflens: \
                 +runtime.env.OMP_NUM_THREADS={usable}"
            ),
            risk: "Small operators become slower on more threads, and so does all where others use the processors."
                .to_owned(),
        }))
    }
}
