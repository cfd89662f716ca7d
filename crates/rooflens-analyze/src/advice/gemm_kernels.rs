//! GEMMs that are far from their roof.

use crate::advice::case::{AdviceKind, AdviceRule, Case, Draft};
use crate::advice::engine::{Device, Engine};
use crate::advice::roof::{self, Far};
use crate::analyses::Operators;
use crate::kernel_catalog::KernelClass;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "gemm_kernels",
    about: "GEMMs and GEMVs that reach less than 65 % of their roof (memory bandwidth or peak FLOP/s, whichever limits the \
         work of the model). High: they reach 80 %, as the best kernels do; low: half of that. Names how to \
         tune the library in use.",
    kind: AdviceKind::Kernel,
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let Some(far) = roof::far(case, &[KernelClass::Gemm, KernelClass::Gemv])? else { return Ok(None) };
    let risk = "A tuned choice is for one version of the library, one device and these sizes: tune again after an \
                upgrade.";
    Ok(Some(roof::draft(case, &far, "GEMMs", change(case, &far), risk)))
}

fn change(case: &Case<'_>, far: &Far<'_>) -> String {
    let mut steps = Vec::new();
    if case.device().is_some_and(Device::is_amd) {
        steps.push(
            "Choose hipBLASLt's solutions by measurement: PYTORCH_TUNABLEOP_ENABLED=1 PYTORCH_TUNABLEOP_TUNING=1 for one \
             warm-up run; or offline: HIPBLASLT_LOG_MASK=32 logs the sizes, hipblaslt-bench tunes them, \
             HIPBLASLT_TUNING_OVERRIDE_FILE applies the result"
                .to_owned(),
        );
        let is_on = case
            .findings
            .get::<Operators>()
            .is_some_and(|Operators(rows)| rows.iter().any(|row| row.name.starts_with("aiter::")));
        let aiter = |switch: &str| {
            let switch = if is_on { String::new() } else { format!("{switch} with ") };
            format!("{switch}AITER_CONFIG_GEMM_BF16 for AITER's tuned GEMMs")
        };
        let aiter = case.for_engine(&[
            (Engine::Vllm, &aiter("VLLM_ROCM_USE_AITER=1")),
            (Engine::Sglang, &aiter("SGLANG_USE_AITER=1")),
        ]);
        steps.extend((!aiter.is_empty()).then_some(aiter));
    } else if far.has("w8a8_block") || far.has("_w8a8_") {
        steps.push(case.for_engine(&[
            (Engine::Vllm, "benchmarks/kernels/benchmark_w8a8_block_fp8.py tunes these kernels; DeepGEMM (VLLM_USE_DEEP_GEMM=1) on Hopper and Blackwell"),
            (Engine::Sglang, "benchmark/kernels/quantization/tuning_block_wise_kernel.py; --fp8-gemm-backend deep_gemm"),
        ]));
    } else {
        steps.push(
            "Autotune against cuBLAS: torch.compile with mode=\"max-autotune-no-cudagraphs\" \
             (TORCHINDUCTOR_MAX_AUTOTUNE_GEMM=1); a newer cuBLAS has better heuristics for new sizes"
                .to_owned(),
        );
        let inductor = case.for_engine(&[(
            Engine::Vllm,
            "--compilation-config '{\"compile_sizes\": [\"cudagraph_capture_sizes\"], \"inductor_compile_config\": \
             {\"max_autotune\": true}}'",
        )]);
        steps.extend((!inductor.is_empty()).then_some(inductor));
    }
    if far.is_memory() {
        // Engines have merged them already.
        let merge = match case.engine() {
            Some(Engine::Vllm | Engine::Sglang) => "",
            _ => ", and merging projections (QKV, gate and up) makes fewer, larger reads",
        };
        steps.push(format!(
            "With few rows, reading the weights dominates: split-K kernels or kernels for skinny matrices \
             keep more reads in flight{merge}"
        ));
    }
    steps.join(". ")
}
