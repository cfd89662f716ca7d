//! The kernels of the made models: names as real engines have them, and how long a call takes.

#[derive(Debug, Clone)]
pub(super) struct MadeKernel {
    pub(super) name: String,
    pub(super) short_name: &'static str,
    pub(super) class: &'static str,
    pub(super) library: &'static str,
    /// Usual time of a call in a prefill step; 0 where prefill has none.
    pub(super) prefill_ns: f64,
    pub(super) decode_ns: f64,
    pub(super) grid: i32,
}

/// The kernel that some builds slow down in decode.
pub(super) const DECODE_ATTENTION: &str = "flash_fwd_splitkv_kernel";
/// The kernel that a release renames, before and after.
pub(super) const RENAMED: [&str; 2] = [
    "void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*, c10::BFloat16 const*, long, c10::BFloat16 const*, \
     float, int, int)",
    "void vllm::rms_norm_vectorized_kernel<c10::BFloat16, 8, true>(c10::BFloat16*, c10::BFloat16 const*, long, \
     c10::BFloat16 const*, float, int, int)",
];
/// The kernel that is launched more often in one version.
pub(super) const UNFUSED: &str = "void at::native::vectorized_elementwise_kernel<4, \
    at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, \
    at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)";
/// The GEMM that a build slows down a little in prefill.
pub(super) const PREFILL_GEMM: &str = "nvjet_tst_256x128_64x4_1x2_h_bz_coopA_TNT";
/// The kernel that a build makes a little faster in decode.
pub(super) const DECODE_ACTIVATION: &str = "triton_poi_fused_mul_silu_slice_1";

/// All kernels of a model, about sixty. `size` scales times and is part of some names, as shapes are in reality.
pub(super) fn kernels(size: f64, speed: f64, architecture: &str, is_renamed: bool) -> Vec<MadeKernel> {
    let mut all = Vec::new();
    let scale = size / speed;
    let mut add = |name: &str, (short_name, class, library), grid, prefill_us: f64, decode_us: f64| {
        all.push(MadeKernel {
            name: name.to_owned(),
            short_name,
            class,
            library,
            prefill_ns: prefill_us * 1e3 * scale,
            decode_ns: decode_us * 1e3 * scale,
            grid,
        });
    };
    // Dense GEMMs: large tiles in prefill, split-K with small ones in decode.
    for (number, (tile, prefill_us)) in
        [("128x256", 410.0), ("256x128", 365.0), ("128x128", 180.0), ("64x256", 92.0), ("192x128", 240.0)]
            .into_iter()
            .enumerate()
    {
        let stages = 4 + number % 3;
        let name = format!(
            "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, \
                 cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<{stages}, \
                 cute::tuple<cute::C<2>, cute::C<1>, cute::C<1> > >, cute::tuple<cute::C<{tile}> >, \
                 cutlass::bfloat16_t> > >(cutlass::gemm::kernel::GemmUniversal::Params)"
        );
        add(&name, ("cutlass GemmUniversal", "gemm", "cutlass"), 132, prefill_us, 0.0);
    }
    add(PREFILL_GEMM, ("nvjet_tst_256x128", "gemm", "cublas"), 132, 330.0, 0.0);
    for (tile, stages, decode_us) in [
        ("64x8", 8, 21.0),
        ("64x16", 6, 27.0),
        ("128x8", 7, 33.0),
        ("128x16", 5, 18.0),
        ("192x8", 6, 12.0),
        ("64x32", 4, 9.5),
    ] {
        let name = format!("nvjet_{architecture}_{tile}_64x{stages}_2x1_v_bz_splitK_TNT");
        add(&name, ("nvjet splitK", "gemm", "cublas"), 264, 0.0, decode_us);
    }
    for (number, decode_us) in [4.1, 3.2, 2.7].into_iter().enumerate() {
        let name = format!(
            "void cublasLt::splitKreduce_kernel<32, {}, int, float, __nv_bfloat16, float, __nv_bfloat16, true, \
                 false, false>(cublasLt::cublasSplitKParams<float>, float const*, __nv_bfloat16 const*)",
            16 << number
        );
        add(&name, ("splitKreduce", "gemm", "cublas"), 64, 0.0, decode_us);
    }
    // Attention.
    let name = format!(
        "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t, \
             Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >, false, true, false, false, true, true, \
             false>(flash::Flash_fwd_params) [{architecture}]"
    );
    add(&name, ("flash_fwd_kernel", "attention", "flash_attn"), 512, 520.0, 0.0);
    let name = format!(
        "void flash::{DECODE_ATTENTION}<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, \
             cutlass::bfloat16_t>, false, false, false, false, true, false, true, \
             false>(flash::Flash_fwd_params) [{architecture}]"
    );
    add(&name, (DECODE_ATTENTION, "attention", "flash_attn"), 1056, 0.0, 46.0);
    let name = "void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>, 4, 3, \
         true>(flash::Flash_fwd_params)";
    add(name, ("flash_fwd_splitkv_combine_kernel", "attention", "flash_attn"), 256, 0.0, 5.2);
    // Norms, one of which is renamed.
    add(RENAMED[usize::from(is_renamed)], ("rms_norm_kernel", "norm", "vllm"), 128, 24.0, 3.4);
    for (number, (prefill_us, decode_us)) in [(26.0, 3.8), (19.0, 2.9), (11.0, 2.2)].into_iter().enumerate() {
        let name = format!("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_{number}");
        add(&name, ("triton_red_fused_rms_norm", "norm", "triton"), 128, prefill_us, decode_us);
    }
    // Activations and pointwise work.
    add(DECODE_ACTIVATION, ("triton_poi_fused_silu", "activation", "triton"), 512, 31.0, 4.4);
    for (number, (prefill_us, decode_us)) in
        [(9.0, 1.9), (8.1, 1.7), (7.4, 1.6), (6.0, 1.5), (5.2, 1.4), (4.8, 1.3)].into_iter().enumerate()
    {
        let name = format!("triton_poi_fused_add_clone_index_mul_view_{}", number + 2);
        add(&name, ("triton_poi_fused_pointwise", "elementwise", "triton"), 256, prefill_us, decode_us);
    }
    add(UNFUSED, ("vectorized_elementwise_kernel", "elementwise", "torch"), 256, 6.6, 1.8);
    for (functor, decode_us) in [("FillFunctor<float>", 1.2), ("BinaryFunctor<long, long, bool>", 1.3)] {
        let name = format!(
            "void at::native::vectorized_elementwise_kernel<4, at::native::{functor}, std::array<char*, 2ul> >(int, \
                 at::native::{functor}, std::array<char*, 2ul>)"
        );
        add(&name, ("vectorized_elementwise_kernel", "elementwise", "torch"), 64, 1.6, decode_us);
    }
    // Positions, cache, embedding.
    for (suffix, prefill_us, decode_us) in [("true", 17.0, 2.1), ("false", 15.0, 2.0)] {
        let name = format!(
            "void vllm::rotary_embedding_kernel<c10::BFloat16, {suffix}>(long const*, c10::BFloat16*, \
                 c10::BFloat16*, c10::BFloat16 const*, int, long, long, long, int, int)"
        );
        add(&name, ("rotary_embedding_kernel", "rope", "vllm"), 128, prefill_us, decode_us);
    }
    let name = "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, \
         (vllm::Fp8KVCacheDataType)0>(__nv_bfloat16 const*, __nv_bfloat16 const*, __nv_bfloat16*, __nv_bfloat16*, \
         long const*, long, long, long, int, int, int)";
    add(name, ("reshape_and_cache_flash_kernel", "kv_cache", "vllm"), 128, 14.0, 2.4);
    let name = "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)";
    add(name, ("vectorized_gather_kernel", "embedding", "torch"), 64, 12.0, 2.6);
    // Quantisation and mixtures of experts.
    for (group, prefill_us, decode_us) in [(64, 13.0, 2.3), (128, 12.0, 2.2)] {
        let name = format!("_per_token_group_quant_8bit_kernel<c10::BFloat16, c10::Float8_e4m3fn, {group}>");
        add(&name, ("per_token_group_quant", "quantization", "vllm"), 256, prefill_us, decode_us);
    }
    add("fused_moe_kernel", ("fused_moe_kernel", "moe", "vllm"), 2048, 210.0, 38.0);
    for (name, prefill_us, decode_us) in
        [("topkGatingSoftmax<8, 128, 4, 16>", 9.0, 3.0), ("moe_align_block_size_kernel<int>", 11.0, 3.6)]
    {
        let name = format!(
            "void vllm::moe::{name}(float const*, bool const*, float*, int, int*, int*, int, int, int)"
        );
        add(&name, ("moe routing", "moe", "vllm"), 64, prefill_us, decode_us);
    }
    // Choice of the next token.
    for (name, decode_us) in [
        (
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, \
          unsigned int, long, 4> >(at::native::ReduceOp<float, at::native::ArgMaxOps<float> >)",
            8.0,
        ),
        (
            "void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u, (cub::BlockScanAlgorithm)1, \
          (cub::BlockReduceAlgorithm)0, 4u, true, float, int>(float*, int*, float*, float*)",
            14.0,
        ),
        ("_apply_penalties_kernel", 3.3),
    ] {
        add(name, ("sampling", "sampling", "flashinfer"), 32, 0.0, decode_us);
    }
    let name = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, \
         at::native::(anonymous namespace)::SoftMaxForwardEpilogue>(float*, float const*, int)";
    add(name, ("cunn_SoftMaxForward", "softmax", "torch"), 32, 0.0, 6.5);
    // Copies and fills.
    for (name, prefill_us, decode_us) in [
        ("Memcpy HtoD (Pinned -> Device)", 3.1, 1.6),
        ("Memcpy DtoH (Device -> Pinned)", 2.4, 1.8),
        ("Memcpy DtoD (Device -> Device)", 4.0, 0.0),
    ] {
        add(name, ("Memcpy", "memcpy", "cuda"), 0, prefill_us, decode_us);
    }
    add("Memset (Device)", ("Memset", "memset", "cuda"), 0, 1.1, 0.9);
    // Collectives.
    for (name, prefill_us, decode_us) in [
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 140.0, 0.0),
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 61.0, 9.0),
        (
            "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals, \
          vllm::Signal*, __nv_bfloat16*, int, int)",
            0.0,
            12.0,
        ),
        (
            "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals, \
          vllm::Signal*, __nv_bfloat16*, int, int)",
            0.0,
            16.0,
        ),
    ] {
        add(name, ("collective", "communication", "nccl"), 24, prefill_us, decode_us);
    }
    all
}
