//! Names of real kernels, by the work that they stand for.

pub(crate) struct Names {
    pub(crate) gemm: &'static str,
    pub(crate) moe: &'static str,
    pub(crate) attention: &'static str,
    pub(crate) rope: &'static str,
    pub(crate) cache: &'static str,
    pub(crate) norm: &'static str,
    pub(crate) lookup: &'static str,
    pub(crate) sampling: &'static str,
    /// Work that the model does not need as kernels of its own.
    pub(crate) unneeded: &'static [&'static str],
    pub(crate) communication: &'static str,
}

const UNNEEDED: &[&str] = &[
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
    "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(c10::BFloat16 const&)), true>(c10::BFloat16*, c10::BFloat16 const*, int)",
    "triton_poi_fused_constant_pad_nd_moe_forward_0",
];

/// What engines ran.
pub(crate) const ALL: &[Names] = &[
    Names {
        gemm: "nvjet_tst_144x128_64x6_2x1_v_bz_bias_TNN",
        moe: "fused_moe_kernel",
        attention: "kernel_unified_attention_3d",
        rope: "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*, c10::BFloat16 const*, int, long, long, long, int, int, int)",
        cache: "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(__nv_bfloat16 const*, __nv_bfloat16 const*)",
        norm: "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long, c10::BFloat16*, c10::BFloat16 const*, float, int, int)",
        lookup: "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)",
        sampling: "_topk_topp_kernel",
        unneeded: UNNEEDED,
        communication: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    },
    Names {
        gemm: "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
        moe: "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu",
        attention: "_fwd_grouped_kernel_stage1",
        rope: "triton_poi_fused_add_cos_sin_0",
        cache: "void (anonymous namespace)::store_kvcache<2048l, 4, false, long>((anonymous namespace)::StoreKVCacheParams)",
        norm: "void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16*, unsigned int, unsigned int, unsigned int, float, float)",
        lookup: "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)",
        sampling: "rejection_greedy_sample_kernel",
        unneeded: UNNEEDED,
        communication: "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)",
    },
];

#[cfg(test)]
mod tests {
    use super::ALL;
    use rooflens_analyze::kernel_catalog::{ActivityHint, KernelClass as K, describe};
    use rooflens_analyze::ledger::is_needed;

    #[test]
    fn names_are_of_the_classes_that_they_are_planted_as() {
        let class = |name: &str| describe(name, ActivityHint::Kernel).class;
        for names in ALL {
            for (name, expected) in [
                (names.gemm, K::Gemm),
                (names.moe, K::Moe),
                (names.attention, K::Attention),
                (names.rope, K::Rope),
                (names.cache, K::KvCache),
                (names.norm, K::Norm),
                (names.lookup, K::Embedding),
                (names.sampling, K::Sampling),
                (names.communication, K::Communication),
            ] {
                assert_eq!(class(name), expected, "{name}");
            }
            assert!(names.unneeded.iter().all(|name| !is_needed(class(name))));
        }
    }
}
