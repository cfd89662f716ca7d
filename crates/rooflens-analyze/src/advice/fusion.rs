//! Fuse elementwise work into the kernels around it.

use crate::advice::already::is_eager;
use crate::advice::engine::Engine;
use crate::advice::{Case, Draft, Range, Rule};
use crate::analyses::{KernelStat, Kernels};
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
        "Time of PyTorch's own elementwise, activation and random kernels, which a compiler fuses; kernels that a compiler \
         or an engine made are fused already. Low: half of it; high: all of it, without a device also four fifths of the \
         time between operators. Silent where the model is compiled."
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        if case.is_compiled() {
            return Ok(None);
        }
        let fusible = match case.is_device() {
            true => case.kernels_where(FUSED, is_eager),
            false => case.classes_ns(FUSED),
        };
        if fusible <= 0.0 {
            return Ok(None);
        }
        let classes = case.phase.classes.iter().filter(|class| FUSED.contains(&class.class));
        let of_classes: usize = classes.map(|class| class.activities).sum();
        let number = of_classes as f64 * fusible / case.classes_ns(FUSED);
        // On a device, launches that are spared are for `cuda_graphs` to count.
        let between = if case.is_device() { 0.0 } else { BETWEEN * case.on(Line::CpuBound) };
        let each = case.per_step(number);
        let what = if case.is_device() { "kernels" } else { "operators" };
        let mut evidence = vec![
            case.row("elementwise work", fusible),
            format!("{} such {what}{}", count(each.round() as i64), case.per_step_word()),
        ];
        if let Some(Kernels(rows)) = case.findings.get::<Kernels>().filter(|_| case.is_device()) {
            let fused =
                |row: &&KernelStat| FUSED.iter().any(|class| row.class == class.as_str()) && is_eager(row);
            evidence.extend(
                rows.iter()
                    .filter(fused)
                    .take(3)
                    .map(|row| case.spent(&row.short_name, row.total_ns, row.count, ["launch", "launches"])),
            );
        }
        Ok(Some(Draft {
            title: "Fuse elementwise work into the kernels around it".to_owned(),
            gain_ns: Some(Range::new(SURE * fusible, fusible + between)),
            acts_on_ns: fusible + between,
            comes_first: false,
            evidence,
            computed: match case.is_device() {
                true => "half of that time, up to all of it".to_owned(),
                false => "half of that time, up to all of it and four fifths of what lies between operators"
                    .to_owned(),
            },
            change: case.for_engine(&[
                (Engine::Vllm, "drop --enforce-eager, so that the model is compiled"),
                (Engine::Sglang, "--enable-torch-compile, for batches up to --torch-compile-max-bs"),
                (Engine::Pytorch, "torch.compile(model)"),
            ]) + &case.in_project(&["pytorch"], "runtime.compile=true")
                + &case.in_project(&["vllm"], "runtime.enforce_eager=false"),
            risk: "The first steps compile, for seconds to minutes; shapes that change compile anew."
                .to_owned(),
        }))
    }
}
