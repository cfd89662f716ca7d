//! How a kernel was made, as far as its name tells.
//!
//! Advice asks this before it recommends what has been done already: compiling a model whose kernels
//! the compiler generated, quantising weights that are quantised, fusing what is fused.

use super::catalog;
use super::class::vocabulary;
use super::patterns::Patterns;
use super::rules::{Rule, RuleText};
use super::{Found, short_name::Name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

vocabulary! {
    /// The compiler that generated a kernel. Kernels of libraries, Triton functions that people wrote
    /// included, have none.
    Compiler {
        /// PyTorch Inductor (torch.compile), code generated for the operators at hand.
        Inductor = "inductor",
        /// PyTorch Inductor (torch.compile), a GEMM, convolution or attention template with fused epilogue.
        InductorTemplate = "inductor_template",
        /// NVIDIA nvFuser.
        Nvfuser = "nvfuser",
        /// NVIDIA TensorRT.
        Tensorrt = "tensorrt",
        /// OpenXLA.
        Xla = "xla",
    }
}

impl Compiler {
    #[cfg(test)]
    pub(crate) fn is_torch_compile(self) -> bool {
        matches!(self, Self::Inductor | Self::InductorTemplate)
    }
}

/// What a kernel's name tells of how it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Making {
    /// The compiler that generated it; absent for kernels that people wrote.
    pub(crate) compiler: Option<Compiler>,
    /// Whether it reads or writes quantised data: weights, activations or a KV cache in eight bits or fewer.
    pub(crate) quantized: bool,
    /// Whether it does the work of several operators.
    pub(crate) fused: bool,
}

/// Tells from a kernel's name which compiler generated it, and whether it is quantised or fused already.
///
/// A name that says nothing gives [`Making::default`]: false means "the name does not say so".
pub(crate) fn made_by(name: &str) -> Making {
    catalog().made_by(name)
}

/// What a rule of `making.toml` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mark {
    Quantized,
    Fused,
    #[serde(untagged)]
    Compiler(Compiler),
}

/// `making.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MakingFile {
    #[expect(dead_code, reason = "for the readers of the file, and demanded of its writers")]
    source: String,
    pub(super) rule: Vec<RuleText<Mark>>,
}

/// The rules of `making.toml`.
#[derive(Debug, Default)]
pub(super) struct MakingRules(Vec<Rule<Mark>>);

impl MakingRules {
    pub(super) fn new(file: MakingFile, patterns: &mut Patterns) -> Self {
        Self(file.rule.into_iter().map(|rule| Rule::new(rule, patterns)).collect())
    }

    pub(super) fn of(&self, found: &Found) -> Making {
        let mut making = Making::default();
        for rule in self.0.iter().filter(|rule| rule.conditions.matches(found)) {
            match rule.says {
                Mark::Quantized => making.quantized = true,
                Mark::Fused => making.fused = true,
                Mark::Compiler(compiler) => making.compiler = making.compiler.or(Some(compiler)),
            }
        }
        making
    }
}

impl super::Catalog {
    fn made_by(&self, name: &str) -> Making {
        self.making.of(&self.words(&Name::of(name), |_, _| ()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiler(name: &str) -> Option<Compiler> {
        made_by(name).compiler
    }

    #[test]
    fn kernels_of_torch_compile_are_known() {
        for name in [
            "triton_poi_fused__to_copy_0",
            "triton_red_fused_add_mean_mul_pow_rsqrt_3",
            "triton_per_fused__softmax_1",
        ] {
            assert_eq!(compiler(name), Some(Compiler::Inductor), "{name}");
            assert!(made_by(name).fused, "{name}");
        }
        assert_eq!(compiler("triton_tem_fused_addmm_relu_5"), Some(Compiler::InductorTemplate));
        assert!(compiler("triton_mm_plus_mm_1").is_some_and(Compiler::is_torch_compile));
    }

    #[test]
    fn other_compilers_are_not_torch_compile() {
        assert_eq!(compiler("nvfuser_pointwise_f0_c1_r0_g0<…>").map(Compiler::is_torch_compile), Some(false));
        assert_eq!(compiler("__myl_MulAddCast_0x1234"), Some(Compiler::Tensorrt));
        assert_eq!(compiler("loop_add_fusion_3"), Some(Compiler::Xla));
    }

    #[test]
    fn what_people_wrote_has_no_compiler() {
        for name in [
            "fused_moe_kernel",
            "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x256x128x1_swiglu",
            "triton_kernels_topk",
            "void vllm::act_and_mul_kernel<c10::BFloat16>(c10::BFloat16*)",
            "nvjet_tst_128x64_64x8_1x2_h_bz_TNT",
            "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float> >(int)",
        ] {
            assert_eq!(compiler(name), None, "{name}");
        }
    }

    #[test]
    fn quantised_kernels_are_told_from_plain_ones() {
        for name in [
            "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x256x128x1_swiglu",
            "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3",
            "void marlin::Marlin<__nv_bfloat16, 4>(int4 const*)",
            "nvjet_qqtst_128x64_128x6_1x2_h_bz_TNT",
            "_w8a8_block_fp8_matmul",
            "_ZN7ck_tile35FmhaBatchPrefillWithPagedKVCacheKernelI…BlockAttentionQuantScaleEnumE1E…",
            "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char, (vllm::Fp8KVCacheDataType)1>()",
        ] {
            assert!(made_by(name).quantized, "{name}");
        }
        for name in [
            "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>()",
            "nvjet_tst_128x64_64x8_1x2_h_bz_TNT",
            "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64",
            "fused_moe_kernel",
            "_ZN7ck_tile35FmhaBatchPrefillWithPagedKVCacheKernelI…DF16bDF16bDF16b…BlockAttentionQuantScaleEnumE0E…",
            "",
        ] {
            assert!(!made_by(name).quantized, "{name}");
        }
    }

    #[test]
    fn fusion_is_read_from_the_name() {
        assert!(
            made_by("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<…>")
                .fused
        );
        assert!(made_by("void vllm::rms_norm_static_fp8_quant_kernel<c10::BFloat16>()").fused);
        assert!(!made_by("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)").fused);
    }
}
