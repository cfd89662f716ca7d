//! Kernels of experts that are far from their roof.

use crate::advice::case::{AdviceKind, AdviceRule, Case, Draft};
use crate::advice::engine::{Device, Engine, is_generated};
use crate::advice::roof::{self, Far};
use crate::analyses::{KernelStat, Kernels};
use crate::kernel_catalog::KernelClass;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "moe_kernels",
    about: "Kernels of experts that reach less than 65 % of their roof (memory bandwidth or peak FLOP/s, whichever limits \
         the work of the model). High: they reach 80 %, as the best kernels do; low: half of that. Names the \
         tuned configs and backends for the kernel, engine and device in use.",
    kind: AdviceKind::Kernel,
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let Some(far) = roof::far(case, &[KernelClass::Moe])? else { return Ok(None) };
    let risk = "A config is for one device, one size of experts and one batch; another backend may round \
                differently: compare outputs.";
    let mut draft = roof::draft(case, &far, "MoE kernels", change(case, &far), risk);
    draft.evidence.extend(padding(case));
    Ok(Some(draft))
}

/// Engines pad the hidden size to the tiles of narrow formats (vLLM: 2,880 to 3,072 for MXFP4) with a kernel that is
/// the compiler's own: no line of the model makes it.
fn padding(case: &Case<'_>) -> Option<String> {
    let Kernels(rows) = case.findings.get::<Kernels>()?;
    let pads = |row: &&KernelStat| row.name.contains("constant_pad_nd") && row.name.contains("moe");
    let kernel = rows.iter().filter(|row| is_generated(row)).find(pads)?;
    Some(format!(
        "{}: the engine pads the hidden size to the tiles of this kernel's format; a backend without that \
         padding avoids it",
        case.spent(&kernel.short_name, kernel.total_ns, kernel.count, ["launch", "launches"])
    ))
}

fn change(case: &Case<'_>, far: &Far<'_>) -> String {
    let device = case.device();
    let tune = if far.is_of("triton-kernels") || far.has("matmul_ogs") {
        "matmul_ogs (triton_kernels) takes its tiles and split-K from a heuristic: use a newer triton_kernels, and try \
         block_m, block_n, split_k and num_warps for this batch (opt_flags.update_opt_flags_constraints); \
         benchmark_moe.py does not tune this kernel"
            .to_owned()
    } else if far.has("fused_moe_kernel") {
        format!(
            "Tune fused_moe_kernel for this device and these experts: {}",
            case.for_engine(&[
                (
                    Engine::Vllm,
                    "benchmarks/kernels/benchmark_moe.py --tune, and VLLM_TUNED_CONFIG_FOLDER for its result (the log \
                     says \"Using default MoE config\" where there is none)"
                ),
                (Engine::Sglang, "benchmark/kernels/fused_moe_triton/tuning_fused_moe_triton.py"),
            ])
        )
    } else if far.is_of("tensorrt-llm") || far.is_of("flashinfer") || far.has("bmm_") {
        "Let FlashInfer autotune its tactics for this batch at start-up (vLLM: enable_flashinfer_autotune of \
         --kernel-config)"
            .to_owned()
    } else if far.is_of("aiter") {
        "Tune AITER's fused MoE for these sizes (csrc/ck_gemm_moe_2stages_codegen, AITER_CONFIG_FMOE names the result)"
            .to_owned()
    } else {
        "Compare backends for this batch".to_owned()
    };
    let backends = backends(case, far, device);
    if backends.is_empty() { tune } else { format!("{tune}. Other backends: {backends}") }
}

fn backends(case: &Case<'_>, far: &Far<'_>, device: Option<Device>) -> String {
    let is_mxfp4 = far.has("mxfp4") || far.has("e2m1");
    match device {
        Some(Device::Gfx942) if is_mxfp4 => {
            "none in vLLM for MXFP4 on gfx942 (AITER's are for gfx950); experts in FP8 or bf16 with \
             VLLM_ROCM_USE_AITER=1 trade more bytes for a faster kernel"
                .to_owned()
        }
        Some(device) if device.is_amd() => case.for_engine(&[
            (Engine::Vllm, "VLLM_ROCM_USE_AITER=1, or --moe-backend aiter"),
            (Engine::Sglang, "SGLANG_USE_AITER=1, or --moe-runner-backend aiter"),
        ]),
        Some(Device::Blackwell) => case.for_engine(&[
            (
                Engine::Vllm,
                "--moe-backend flashinfer_trtllm (small batches) or flashinfer_cutlass (large ones)",
            ),
            (Engine::Sglang, "--moe-runner-backend flashinfer_trtllm or flashinfer_cutlass"),
        ]),
        Some(Device::Hopper) => case.for_engine(&[
            (
                Engine::Vllm,
                "--moe-backend deep_gemm (FP8 in blocks), flashinfer_cutlass, or marlin (4-bit weights)",
            ),
            (Engine::Sglang, "--moe-runner-backend deep_gemm, flashinfer_cutlass or triton"),
        ]),
        Some(_) => case.for_engine(&[(Engine::Vllm, "--moe-backend marlin (4-bit weights) or triton")]),
        None => String::new(),
    }
}
