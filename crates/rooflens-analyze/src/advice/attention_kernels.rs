//! Attention that is far from its roof.

use crate::advice::case::{AdviceKind, AdviceRule, Case, Draft};
use crate::advice::engine::{Device, Engine};
use crate::advice::roof;
use crate::kernel_catalog::KernelClass;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "attention_kernels",
    about: "Attention kernels that reach less than 65 % of their roof (memory bandwidth or peak FLOP/s, whichever limits the \
         work of the model). High: they reach 80 %, as the best kernels do; low: half of that. Names the backends that \
         the engine has for the device.",
    kind: AdviceKind::Kernel,
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let Some(far) = roof::far(case, &[KernelClass::Attention])? else { return Ok(None) };
    let risk = "Backends differ in what they support: sinks, sliding windows, fp8 KV caches, block \
                sizes. Compare outputs.";
    Ok(Some(roof::draft(case, &far, "Attention kernels", change(case), risk)))
}

fn change(case: &Case<'_>) -> String {
    let options = match case.device() {
        Some(device) if device.is_amd() => case.for_engine(&[
            (
                Engine::Vllm,
                "compare --attention-backend ROCM_AITER_FA, ROCM_AITER_UNIFIED_ATTN, ROCM_ATTN and TRITON_ATTN",
            ),
            (Engine::Sglang, "compare --attention-backend aiter, triton and wave"),
            (Engine::Pytorch, "attn_implementation=\"flash_attention_2\", or scaled_dot_product_attention"),
        ]),
        Some(Device::Blackwell) => case.for_engine(&[
            (Engine::Vllm, "compare --attention-backend FLASHINFER (TensorRT-LLM kernels) and FLASH_ATTN"),
            (Engine::Sglang, "compare --attention-backend trtllm_mha, fa4 and flashinfer"),
            (Engine::Pytorch, "attn_implementation=\"sdpa\" with cuDNN's kernels"),
        ]),
        Some(Device::Hopper) => case.for_engine(&[
            (Engine::Vllm, "compare --attention-backend FLASH_ATTN (FA3) and FLASHINFER"),
            (Engine::Sglang, "compare --attention-backend fa3 and flashinfer"),
            (Engine::Pytorch, "attn_implementation=\"flash_attention_3\", or scaled_dot_product_attention"),
        ]),
        _ => case.for_engine(&[
            (Engine::Vllm, "compare --attention-backend FLASH_ATTN, FLASHINFER and TRITON_ATTN"),
            (Engine::Sglang, "compare --attention-backend flashinfer and triton"),
            (Engine::Pytorch, "attn_implementation=\"flash_attention_2\", or scaled_dot_product_attention"),
        ]),
    };
    let split = match &*case.phase.phase {
        "decode" => {
            ". Few sequences with long contexts need a kernel that splits the context over all multiprocessors \
                     (split-KV, 3D)"
        }
        _ => "",
    };
    format!("{options}{split}")
}
