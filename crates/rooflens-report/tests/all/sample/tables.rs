//! The device's side.

use rooflens_analyze::analyses::*;
use rooflens_analyze::host_kind::HostKind;
use rooflens_schema::tables::{ActivityKind, GapCause, PhaseKind, PhaseSource};
use serde_json::{Value as Json, json};

use super::made;

const SPAN: i64 = 2_412_345_678;

pub fn trace() -> Trace {
    let properties = [("cuda_driver_version", "12040"), ("with_stack", "1"), ("record_shapes", "1")];
    Trace {
        sources: vec!["rank0.json.gz".to_owned(), "rank1.json.gz".to_owned()],
        format: "kineto".to_owned(),
        events: 1_234_567,
        ranks: 2,
        world_size: Some(2),
        devices: 2,
        devices_listed: 2,
        launches_without_device: 0,
        span_ns: SPAN + 31_000_000,
        start_unix_ns: Some(1_709_210_096_000_000_000),
        hardware: vec!["NVIDIA H100 80GB HBM3".to_owned()],
        rows: [("ops", 512_331), ("api", 221_904), ("kernels", 131_072), ("frames", 301_118)]
            .map(|(table, rows)| (table.into(), rows))
            .into(),
        microsecond_clock: false,
        properties: properties.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
    }
}

/// A device that computes for that share of its span.
pub fn device(rank: i32, device: i32, compute: f64) -> DeviceTime {
    let part = |share: f64| (SPAN as f64 * share) as i64;
    let (compute_ns, communication_ns, copy_ns) = (part(compute), part(0.031), part(0.004));
    let busy_ns = compute_ns + communication_ns + copy_ns;
    let wave = |index: i32, share: f64| {
        let step = f64::from((index * 7919 + rank * 31) % 17) / 17.0 - 0.5;
        let dip = if (90..104).contains(&index) { 0.2 } else { 1.0 };
        ((share + step * share * 0.5) * dip) as f32
    };
    DeviceTime {
        rank,
        device,
        name: Some("NVIDIA H100 80GB HBM3".to_owned()),
        architecture: Some("9.0".to_owned()),
        compute_units: Some(132),
        memory_bytes: Some(85_027_979_264),
        recognised: None,
        span_ns: SPAN,
        busy_ns,
        idle_ns: SPAN - busy_ns,
        compute_ns,
        communication_ns: communication_ns * 2,
        exposed_communication_ns: communication_ns,
        hidden_communication_ns: communication_ns,
        copy_ns,
        exposed_copy_ns: copy_ns,
        activities: 65_536,
        streams: 3,
        timeline: DeviceTimeline {
            start_ns: 1_000_000,
            slice_ns: SPAN / 200,
            compute: (0..200).map(|index| wave(index, compute)).collect(),
            communication: (0..200).map(|index| wave(index, 0.031)).collect(),
            copy: (0..200).map(|index| if index < 6 { 0.3 } else { 0.0 }).collect(),
        },
    }
}

pub fn kernel(name: &str, class: &str, count: usize, total_ns: i64, all_ns: f64) -> KernelStat {
    let mean = if count > 0 { total_ns as f64 / count as f64 } else { 0.0 };
    let short = name.split('<').next().unwrap_or(name).trim_start_matches("void ");
    let library = match class {
        "gemm" => Some("cublas"),
        "communication" => Some("nccl"),
        "attention" => Some("flash_attention"),
        _ => None,
    };
    KernelStat {
        name: name.to_owned(),
        short_name: short.to_owned(),
        kind: if class == "copy" { ActivityKind::Memcpy } else { ActivityKind::Kernel },
        class: class.to_owned(),
        library: library.map(str::to_owned),
        dtype: (class == "gemm").then(|| "bf16".to_owned()),
        count,
        total_ns,
        mean_ns: mean,
        min_ns: (mean * 0.8) as i64,
        p50_ns: mean * 0.97,
        p99_ns: (mean * 1.6) as i64,
        max_ns: (mean * 4.1) as i64,
        share: total_ns as f64 / all_ns,
    }
}

const KERNELS: [(&str, &str, usize, i64); 12] = [
    ("nvjet_tst_192x8_64x5_2x1_v_bz_TNT", "gemm", 20_480, 612_000_000),
    (
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
        "gemm",
        10_240,
        401_000_000,
    ),
    (
        "void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::bfloat16_t>, false, true, false, false, true, true, false, false>(Flash_fwd_params)",
        "attention",
        10_240,
        254_000_000,
    ),
    (
        "void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*, c10::BFloat16 const*, c10::BFloat16 const*, float, int, int)",
        "norm",
        20_544,
        88_000_000,
    ),
    (
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "communication",
        20_480,
        149_000_000,
    ),
    (
        "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(c10::BFloat16 const&))>(c10::BFloat16*, c10::BFloat16 const*, int)",
        "elementwise",
        10_240,
        61_000_000,
    ),
    (
        "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*, c10::BFloat16 const*, int, long, long, int, int, int)",
        "rope",
        10_240,
        48_000_000,
    ),
    (
        "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(…)",
        "kv_cache",
        10_240,
        41_000_000,
    ),
    (
        "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>>(int, …)",
        "elementwise",
        3_200,
        17_000_000,
    ),
    ("Memcpy HtoD (Pageable -> Device)", "copy", 1_280, 9_000_000),
    ("Memcpy DtoH (Device -> Pageable)", "copy", 320, 2_600_000),
    (
        "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, at::native::(anonymous namespace)::SoftMaxForwardEpilogue>(float*, float const*, int)",
        "softmax",
        320,
        1_900_000,
    ),
];

fn all_ns() -> f64 {
    KERNELS.iter().map(|kernel| kernel.3 as f64).sum()
}

pub fn kernels() -> Kernels {
    let mut kernels: Vec<KernelStat> = KERNELS
        .iter()
        .map(|(name, class, count, total)| kernel(name, class, *count, *total, all_ns()))
        .collect();
    kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.total_ns));
    Kernels(kernels)
}

pub fn classes() -> Classes {
    let group = |names: &[&str], of: fn(&KernelStat) -> String| {
        let all = kernels().0;
        let stat = |name: &&str| {
            let own: Vec<&KernelStat> = all.iter().filter(|kernel| of(kernel) == *name).collect();
            ClassStat {
                name: (*name).to_owned(),
                names: own.len(),
                count: own.iter().map(|kernel| kernel.count).sum(),
                total_ns: own.iter().map(|kernel| kernel.total_ns).sum(),
                share: own.iter().map(|kernel| kernel.share).sum(),
            }
        };
        let mut stats: Vec<ClassStat> = names.iter().map(stat).collect();
        stats.sort_by_key(|stat| std::cmp::Reverse(stat.total_ns));
        stats
    };
    Classes {
        by_class: group(
            &[
                "gemm",
                "attention",
                "communication",
                "norm",
                "elementwise",
                "rope",
                "kv_cache",
                "copy",
                "softmax",
            ],
            |kernel| kernel.class.clone(),
        ),
        by_library: group(&["cublas", "flash_attention", "nccl", "unknown"], |kernel| {
            kernel.library.clone().unwrap_or_else(|| "unknown".to_owned())
        }),
        unclassified_share: 0.0,
    }
}

fn by_host(gap_ns: i64) -> GapExample {
    GapExample {
        host: Some("vllm/v1/worker/gpu_model_runner.py(1203): _prepare_inputs".to_owned()),
        host_kind: Some(HostKind::Python),
        covered_ns: Some(gap_ns / 4 * 3),
        covered_share: Some(0.75),
        ..GapExample::default()
    }
}

pub fn gaps() -> Gaps {
    let rows = [
        (GapCause::LaunchBound, 60_211, 2_127_000_000, 8_300_000),
        (GapCause::Sync, 318, 402_000_000, 21_400_000),
        (GapCause::CpuBound, 96, 311_000_000, 44_000_000),
        (GapCause::Dispatch, 48_102, 62_000_000, 9_000),
        (GapCause::DataDependency, 4_001, 29_000_000, 61_000),
        (GapCause::Unknown, 12, 3_000_000, 501_000),
        (GapCause::Tail, 2, 20_000_000, 12_000_000),
    ];
    let idle: i64 = rows.iter().filter(|row| row.0 != GapCause::Tail).map(|row| row.2).sum();
    let stat = |(cause, count, total_ns, max_ns): (GapCause, usize, i64, i64)| GapStat {
        cause,
        meaning: if cause == GapCause::Tail {
            "Nothing follows.".into()
        } else {
            "The host, or the device, was late.".into()
        },
        count,
        total_ns,
        share_of_idle: (cause != GapCause::Tail).then(|| total_ns as f64 / idle as f64),
        p50_ns: total_ns / count as i64,
        max_ns,
        examples: vec![GapExample {
            ts_ns: 1_203_456_789,
            dur_ns: max_ns,
            before: Some("flash_fwd_splitkv_kernel".to_owned()),
            after: (cause != GapCause::Tail).then(|| "nvjet_tst_192x8_64x5_2x1_v_bz_TNT".to_owned()),
            ..if cause == GapCause::Unknown { GapExample::default() } else { by_host(max_ns) }
        }],
        hosts: vec![],
    };
    Gaps(rows.map(stat).to_vec())
}

fn durations(number: usize, base: i64) -> Vec<i64> {
    let one = |index: usize| {
        let noise = (index as i64 * 7_919) % 97;
        let slow = if index % 61 == 60 { base } else { 0 };
        let warm_up = if index == 0 { base * 2 } else { 0 };
        base + base * noise / 1_000 + base * index as i64 / (number as i64 * 12) + slow + warm_up
    };
    (0..number).map(one).collect()
}

fn phase(name: &str, kind: PhaseKind, source: PhaseSource, durations_ns: Vec<i64>) -> PhaseStat {
    let extent = |share: f64| {
        Extent::of(&mut durations_ns.iter().map(|ns| (*ns as f64 * share) as i64).collect::<Vec<i64>>())
    };
    let longest = durations_ns.iter().copied().max().unwrap_or_default();
    PhaseStat {
        name: name.to_owned(),
        also_named: vec![],
        role: if kind == PhaseKind::Range { PhaseRole::Range } else { PhaseRole::Step },
        kind,
        source,
        count: durations_ns.len(),
        flawed: vec![],
        host: extent(1.0),
        device_span: extent(0.9),
        device_busy: extent(0.36),
        timeline: "device".into(),
        drift: (durations_ns.len() >= 8).then_some(0.083),
        device_busy_share: Some(0.36),
        activities: Some(409.6),
        launches: Some(398.2),
        batch: (kind == PhaseKind::Decode).then_some(31.6),
        prefill_tokens: (kind == PhaseKind::Prefill).then_some(18_432),
        decode_tokens: (kind == PhaseKind::Decode).then_some(9_803),
        confidence: (source == PhaseSource::Pattern).then_some(0.93),
        slowest: vec![PhaseExample {
            name: name.replace('*', "61"),
            rank: 0,
            ts_ns: 450_123_000,
            dur_ns: longest,
        }],
        durations_of: (0..durations_ns.len()).map(|at| (0, at, at as i64 * 40_000_000)).collect(),
        durations_ns,
    }
}

pub fn phases() -> Phases {
    let annotation = PhaseSource::Annotation;
    Phases(vec![
        phase("decode", PhaseKind::Decode, PhaseSource::Engine, durations(310, 7_100_000)),
        phase("prefill", PhaseKind::Prefill, PhaseSource::Engine, durations(10, 21_000_000)),
        phase("vllm: sample", PhaseKind::Range, annotation, durations(320, 510_000)),
    ])
}

pub fn host_phases() -> Phases {
    let mut phases = phases();
    for phase in &mut phases.0 {
        (phase.device_busy, phase.device_busy_share) = (None, None);
        (phase.device_span, phase.timeline) = (None, "host".into());
        (phase.activities, phase.launches) = (None, None);
    }
    phases
}

/// A matmul that is compared with the device, and attention that is not.
pub fn shape_rates() -> ShapeRates {
    let matmul = json!({
        "flops": 164.9e12, "bytes": 5.3e12, "flops_per_s": 164.9e12 / 0.412, "bytes_per_s": 5.3e12 / 0.412 / 8.0,
        "limit": "memory", "peak_flops_per_s": 989.4e12, "peak_bytes_per_s": 3350e9, "floor_ns": 198_000_000,
        "roof_share": 198.0 / 412.0, "lost_ns": 214_000_000,
    });
    let attention = json!({
        "flops": 2.1e12, "bytes": 0.2e12, "bytes_per_s": 0.2e12 / 0.295,
        "no_roof": "the shapes do not show what is masked: FLOPs are an upper bound",
    });
    let row = |operator: &str, sizes: &str, ns: i64, name: &str, rate: &Json| {
        let kernel = json!({"name": name, "short_name": name, "count": 30_720, "ns": ns});
        let call = json!({
            "operator": operator, "sizes": sizes, "shapes": "[[32, 8192], [8192, 10240]]",
            "dtypes": "[c10::BFloat16, c10::BFloat16]", "format": "bf16", "count": 30_720, "ns": ns,
            "kernels": [kernel],
        });
        with_rate(call, rate)
    };
    let flash = "aten::_scaled_dot_product_flash_attention";
    let kernel = json!({"name": "nvjet_tst_64x8", "short_name": "nvjet_tst_64x8", "count": 30_720,
        "operators": ["aten::mm [32,8192]x[8192,10240]"], "ns": 412_000_000});
    made(json!({
        "device": "H100 SXM5 80GB", "ns": 707_000_000, "not_computed": {},
        "shapes": [
            row("aten::mm", "[32,8192]x[8192,10240]", 412_000_000, "nvjet_tst_64x8", &matmul),
            row(flash, "[32,64,1,128]x[32,8,2048,128]", 295_000_000, "flash_fwd_splitkv_kernel", &attention),
        ],
        "kernels": [with_rate(kernel, &matmul)],
    }))
}

fn with_rate(mut row: Json, rate: &Json) -> Json {
    if let (Some(row), Some(rate)) = (row.as_object_mut(), rate.as_object()) {
        row.extend(rate.clone());
    }
    row
}
