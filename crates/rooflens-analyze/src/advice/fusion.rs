//! Fuse elementwise work into the kernels around it.

use crate::advice::runtime_options::how_to_compile;
use crate::advice::{Case, Draft, Range, Rule};
use crate::kernel_catalog::KernelClass;
use crate::ledger::Line;
use crate::sentence::count;

/// The rule.
pub(super) struct Fusion;

const FUSED: &[KernelClass] = &[KernelClass::Elementwise, KernelClass::Activation, KernelClass::Random];
/// Of elementwise work: what a compiler surely folds. Chains of two operators become one.
const SURE: f64 = 0.5;
/// Of what lies between operators on a host: a compiled graph calls few operators, but guards are checked and
/// what surrounds the model stays.
const BETWEEN: f64 = 0.8;

impl Rule for Fusion {
    fn name(&self) -> &'static str {
        "fusion"
    }
    fn about(&self) -> &'static str {
        "Time of elementwise, activation and random kernels that the model does not need as kernels of their own. \
         Low: half of it; high: all of it and their part of the launch-bound idle time, without a device four fifths \
         of the time between operators. Silent where the model is compiled."
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        if case.around.is_compiled == Some(true) {
            return Ok(None);
        }
        let unneeded = case.classes_ns(FUSED);
        if unneeded <= 0.0 {
            return Ok(None);
        }
        let number: usize = case
            .phase
            .classes
            .iter()
            .filter(|class| FUSED.contains(&class.class))
            .map(|class| class.activities)
            .sum();
        // Kernels that are not there need no launch.
        let of_all = number as f64 / case.phase.activities.max(1) as f64;
        let between = match case.is_device() {
            true => case.on(Line::LaunchBound) * of_all,
            false => BETWEEN * case.on(Line::CpuBound),
        };
        let each = number as f64 / case.phase.steps.max(1) as f64;
        let what = if case.is_device() { "kernels" } else { "operators" };
        Ok(Some(Draft {
            title: "Fuse elementwise work into the kernels around it".to_owned(),
            gain_ns: Range::new(SURE * unneeded, unneeded + between),
            evidence: vec![
                case.row("elementwise work", unneeded),
                format!("{} such {what} a step", count(each.round() as i64)),
            ],
            computed: match case.is_device() {
                true => "half of that time, up to all of it and their part of the launch-bound idle time"
                    .to_owned(),
                false => "half of that time, up to all of it and four fifths of what lies between operators"
                    .to_owned(),
            },
            change: how_to_compile(case.around.runtime.as_ref()),
            risk: "The first steps compile, for seconds to minutes; shapes that change compile anew."
                .to_owned(),
        }))
    }
}
