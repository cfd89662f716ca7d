use super::*;

fn launch(numbers: &[(&str, f64)]) -> ProfiledLaunch {
    let numbers = numbers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let name = "Cijk_Alik_Bljk_HHS".to_owned();
    ProfiledLaunch { profiler: ProfilerTool::RocprofCompute, name, numbers, ..ProfiledLaunch::default() }
}

/// Operations of every kind, each with another factor; MI200's one interface to the fabric.
const PRODUCT: &[(&str, f64)] = &[
    ("time_ns", 10_000.0),
    ("Arch_VGPR", 32.0),
    ("Accum_VGPR", 4.0),
    ("SQ_INSTS_VALU_ADD_F16", 1.0),
    ("SQ_INSTS_VALU_MUL_F16", 2.0),
    ("SQ_INSTS_VALU_FMA_F16", 3.0),
    ("SQ_INSTS_VALU_TRANS_F16", 4.0),
    ("SQ_INSTS_VALU_ADD_F32", 1000.0),
    ("SQ_INSTS_VALU_MUL_F32", 0.0),
    ("SQ_INSTS_VALU_FMA_F32", 0.0),
    ("SQ_INSTS_VALU_TRANS_F32", 0.0),
    ("SQ_INSTS_VALU_ADD_F64", 0.0),
    ("SQ_INSTS_VALU_MUL_F64", 0.0),
    ("SQ_INSTS_VALU_FMA_F64", 0.0),
    ("SQ_INSTS_VALU_TRANS_F64", 0.0),
    ("SQ_INSTS_VALU_MFMA_MOPS_F16", 2e6),
    ("TCC_EA_RDREQ_sum", 100_000.0),
    ("TCC_EA_RDREQ_32B_sum", 20_000.0),
    ("TCC_EA_WRREQ_sum", 50_000.0),
    ("TCC_EA_WRREQ_64B_sum", 40_000.0),
    ("TCC_REQ_sum", 200_000.0),
    ("TCC_HIT_sum", 3.0),
    ("TCC_MISS_sum", 1.0),
    ("TCP_TOTAL_CACHE_ACCESSES_sum", 400_000.0),
    ("TCP_TCC_READ_REQ_sum", 90_000.0),
    ("TCP_TCC_WRITE_REQ_sum", 10_000.0),
    ("TCP_TCC_ATOMIC_WITH_RET_REQ_sum", 0.0),
    ("TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum", 0.0),
    ("SQ_LDS_IDX_ACTIVE", 1100.0),
    ("SQ_LDS_BANK_CONFLICT", 100.0),
    ("SQ_WAIT_ANY", 60.0),
    ("SQ_WAIT_INST_ANY", 30.0),
    ("SQ_ACTIVE_INST_ANY", 10.0),
    ("SQ_ACTIVE_INST_VALU", 17_680.0),
    ("level_waves.SQ_ACCUM_PREV_HIRES", 832_000.0),
    ("level_waves.GRBM_GUI_ACTIVE", 1000.0),
    ("sysinfo.gfx", 0x90a as f64),
    ("sysinfo.cu_per_gpu", 104.0),
    ("sysinfo.max_sclk", 1700.0),
    ("sysinfo.max_waves_per_cu", 32.0),
    ("sysinfo.lds_banks_per_cu", 32.0),
    ("sysinfo.hbm_bw", 1638.4),
    ("roofline.HBMBw", 1000.0),
    ("roofline.L2Bw", 5000.0),
    ("roofline.L1Bw", 9000.0),
    ("roofline.MFMAF16Flops", 160_000.0),
];

#[test]
fn a_product_by_hand() {
    let found = profile(&[launch(PRODUCT)], None, None);
    let kernel = &found.kernels[0];
    let flops = &kernel.flops;
    // 64 × (1 + 2 + 4 + 2 × 3), 64 × 1,000, 512 × 2,000,000.
    assert_eq!((flops.by_precision["fp16"], flops.by_precision["fp32"]), (832.0, 64_000.0));
    assert_eq!(flops.by_precision["tensor_fp16"], 1.024e9);
    assert_eq!(flops.total, Some(1_024_064_832.0));
    assert_eq!(flops.leading.as_deref(), Some("tensor_fp16"));
    // Read 20,000 × 32 + 80,000 × 64, written 40,000 × 64 + 10,000 × 32.
    assert_eq!(kernel.bytes.dram, Some(5_760_000.0 + 2_880_000.0));
    assert_eq!((kernel.bytes.l2, kernel.bytes.l1), (Some(25.6e6), Some(25.6e6)));
    // 1,000 cycles without a conflict × 32 banks of 4 bytes.
    assert_eq!(kernel.bytes.shared, Some(128_000.0));
    assert_eq!((kernel.l2_hit_pct, kernel.l1_hit_pct), (Some(75.0), Some(75.0)));
    assert_eq!(kernel.registers, Some(36.0));
    // 832 wavefronts of 104 × 32.
    assert_eq!(kernel.occupancy.achieved_pct, Some(25.0));
    assert_eq!((kernel.stalls[0].reason.as_str(), kernel.stalls[0].share), ("dependency_wait", 0.6));
    // 8.64 MB in 10 µs of 1 TB/s; 1.024 GFLOP in 10 µs of 160 TFLOP/s.
    let close = |value: Option<f64>, by_hand: f64| (value.unwrap() - by_hand).abs() < 1e-9;
    assert!(close(kernel.dram_pct, 86.4) && close(kernel.memory_pct, 86.4), "{:?}", kernel.memory_pct);
    assert!(close(kernel.compute_pct, 64.0), "{:?}", kernel.compute_pct);
    assert_eq!(kernel.bound, Some(Bound::Memory));
    assert!(close(kernel.floor_ns, 8640.0));
    assert_eq!(found.device.dram, Some(SourcedPeak { per_s: 1e12, source: "benchmark".into() }));
    // 104 × 1.7 GHz × 32 banks of 4 bytes, as no benchmark tells it.
    assert_eq!(
        found.device.shared,
        Some(SourcedPeak { per_s: 104.0 * 1.7e9 * 128.0, source: "sysinfo".into() })
    );
    assert_eq!(found.profiler, ProfilerTool::RocprofCompute);
}

#[test]
fn requests_have_other_names_and_sizes_on_later_devices() {
    let base = [
        ("TCC_EA0_RDREQ_sum", 1000.0),
        ("TCC_EA0_RDREQ_32B_sum", 100.0),
        ("TCC_EA0_WRREQ_sum", 0.0),
        ("TCC_EA0_WRREQ_64B_sum", 0.0),
        ("TCC_REQ_sum", 10.0),
    ];
    let with = |more: &[(&str, f64)]| {
        let numbers: Vec<(&str, f64)> = base.iter().chain(more).copied().collect();
        profile(&[launch(&numbers)], None, None).kernels.remove(0)
    };
    // MI300: 600 of 128 bytes, 300 of 64, 100 of 32.
    let mi300 = with(&[("sysinfo.gfx", 0x942 as f64), ("TCC_BUBBLE_sum", 600.0)]);
    assert_eq!(mi300.bytes.dram, Some(76_800.0 + 19_200.0 + 3_200.0));
    // MI350, where the same counter is 0 and tells nothing.
    let mi350 = with(&[("sysinfo.gfx", 0x950 as f64), ("TCC_BUBBLE_sum", 0.0)]);
    assert_eq!(mi350.bytes.dram, None);
    assert!(mi350.not_computed["bytes.dram"].contains("128B"));
    let mi350 =
        with(&[("sysinfo.gfx", 0x950 as f64), ("TCC_BUBBLE_sum", 0.0), ("TCC_EA0_RDREQ_128B_sum", 600.0)]);
    assert_eq!(mi350.bytes.dram, mi300.bytes.dram);
    assert_eq!(with(&[("sysinfo.gfx", 0x942 as f64)]).bytes.dram, None);
    // Lines of 64 bytes on MI100; of a device that is not named none are known.
    assert_eq!(with(&[("sysinfo.gfx", 0x908 as f64)]).bytes.l2, Some(640.0));
    assert_eq!(with(&[]).bytes.l2, None);
}

#[test]
fn what_was_not_collected_is_null_with_a_reason() {
    let found = profile(&[launch(&[("sysinfo.gfx", 0x908 as f64)])], None, None);
    let kernel = &found.kernels[0];
    assert_eq!((kernel.flops.total, kernel.bytes.dram, kernel.time_ns), (None, None, None));
    for key in
        ["flops.total", "flops.fp32", "flops.tensor", "bytes.dram", "bytes.l1", "bytes.shared", "time_ns"]
    {
        assert!(kernel.not_computed.contains_key(key), "{key}");
    }
    for key in ["compute_pct", "memory_pct", "bound", "occupancy", "waves", "stalls", "registers"] {
        assert!(!kernel.not_computed[key].is_empty(), "{key}");
    }
    assert!(found.device.not_computed.contains_key("dram"));
}
