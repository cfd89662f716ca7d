use super::*;

fn launch(name: &str, numbers: &[(&str, f64)]) -> ProfiledLaunch {
    let numbers = numbers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    ProfiledLaunch { name: name.to_owned(), numbers, grid: Some([224, 1, 1]), ..ProfiledLaunch::default() }
}

/// A matrix × vector product of 896 × 1280 in 28,672 threads: 40 fused multiply-adds and one addition each.
fn gemv() -> ProfiledLaunch {
    let mut gemv = launch(
        "gemvx::kernel",
        &[
            ("gpu__time_duration.sum", 6750.0),
            ("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed", 28672.0 / 14500.0),
            ("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed", 0.0),
            (
                "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed",
                40.0 * 28672.0 / 14500.0,
            ),
            ("smsp__cycles_elapsed.avg", 14500.0),
            ("sm__ops_path_tensor_src_bf16_dst_fp32.sum", 0.0),
            ("dram__bytes_read.sum", 2_330_000.0),
            ("dram__bytes_write.sum", 0.0),
            ("sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained", 21760.0),
            ("sm__cycles_elapsed.avg.per_second", 2e9),
            ("dram__bytes.sum.peak_sustained", 128.0),
            ("dram__cycles_elapsed.avg.per_second", 13.72e9),
            ("device__attribute_compute_capability_major", 12.0),
            ("device__attribute_compute_capability_minor", 0.0),
            ("sm__throughput.avg.pct_of_peak_sustained_elapsed", 9.15),
            ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", 19.66),
            ("launch__occupancy_limit_registers", 2.0),
            ("launch__occupancy_limit_shared_mem", 4.0),
            ("launch__occupancy_limit_warps", 12.0),
        ],
    );
    gemv.block = Some([32, 4, 1]);
    gemv
}

#[test]
fn counts_and_peaks_of_a_gemv() {
    let found = profile(&[gemv()], None, None);
    let kernel = &found.kernels[0];
    // 81 × 28,672 operations.
    let flops = kernel.flops.total.unwrap();
    assert!((flops - 2_322_432.0).abs() < 1e-3, "{flops}");
    assert!((kernel.intensity.dram.unwrap() - 2_322_432.0 / 2_330_000.0).abs() < 1e-9);
    // 2 × 21,760 × 2 GHz; 128 × 13.72 GHz; 21,760 / 128 lanes = 170 multiprocessors.
    assert_eq!(found.device.flops_per_s["fp32"].per_s, 87.04e12);
    assert_eq!(found.device.dram.as_ref().unwrap().per_s, 1.75616e12);
    assert_eq!(found.device.multiprocessors, Some(170.0));
    // 224 blocks of 2 × 170 at once.
    assert!((kernel.waves.unwrap() - 224.0 / 340.0).abs() < 1e-12);
    // More blocks than multiprocessors: each has one, and warps wait.
    assert!((kernel.blocks_per_multiprocessor.unwrap() - 224.0 / 170.0).abs() < 1e-12);
    assert_eq!(kernel.bound, Some(Bound::Latency));
    assert_eq!(kernel.occupancy.limited_by, ["registers"]);
    // 2.33 MB at 1.756 TB/s.
    assert!((kernel.floor_ns.unwrap() - 1326.76).abs() < 0.01);
    assert!(
        kernel.loss.starts_with(
            "6.75 µs where its traffic needs 1.33 µs (2.33 MB at 1.76 TB/s): 80 % is lost to latency (compute 9 %, memory 20 % busy)"
        ),
        "{}",
        kernel.loss
    );
    assert!(kernel.stalls.is_empty() && kernel.not_computed.contains_key("stalls"));
    assert!(kernel.bytes.l2.is_none() && kernel.not_computed.contains_key("bytes.l2"));
}

#[test]
fn a_launch_stands_under_the_ceiling_of_its_leading_precision() {
    let mut gemm = gemv();
    gemm.numbers.insert("sm__ops_path_tensor_src_bf16_dst_fp32.sum".into(), 1_275_068_416.0);
    gemm.numbers.insert("dram__bytes_read.sum".into(), 3_350_000.0);
    let known = CatalogDevice {
        name: "X".into(),
        bytes_per_s: None,
        flops_per_s: vec![("tensor_bf16".into(), 209.5e12)],
    };
    let found = profile(&[gemm], Some(&known), None);
    let kernel = &found.kernels[0];
    assert_eq!(kernel.flops.leading.as_deref(), Some("tensor_bf16"));
    assert!((kernel.intensity.dram.unwrap() - 380.617_437).abs() < 1e-5);
    assert_eq!(
        found.device.flops_per_s["tensor_bf16"],
        SourcedPeak { per_s: 209.5e12, source: "catalog".into() }
    );
}

#[test]
fn tensor_cores_that_ran_uncounted_leave_the_intensity_unknown() {
    let mut gemm = gemv();
    gemm.numbers.remove("sm__ops_path_tensor_src_bf16_dst_fp32.sum");
    gemm.numbers.insert("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active".into(), 20.0);
    let found = profile(&[gemm], None, None);
    assert_eq!((found.kernels[0].flops.total, found.kernels[0].intensity.dram), (None, None));
    assert!(found.kernels[0].not_computed["flops.total"].contains("uncounted"));
}

#[test]
fn nothing_measured_is_null_never_zero() {
    let found = profile(&[launch("k", &[])], None, None);
    let kernel = &found.kernels[0];
    assert_eq!((kernel.time_ns, kernel.bound, kernel.floor_ns), (None, None, None));
    assert!(found.device.dram.is_none() && found.shares.is_empty());
    for what in ["time_ns", "bound", "bytes.dram", "flops.total", "waves", "intensity.dram"] {
        assert!(kernel.not_computed.contains_key(what), "{what}");
    }
    assert!(profile(&[], None, None).kernels.is_empty());
}

#[test]
fn stalls_are_shares_of_all_warp_time() {
    let reasons = [("long_scoreboard", 3.0), ("wait", 1.0), ("selected", 1.0)];
    let numbers: Vec<(String, f64)> = reasons
        .iter()
        .map(|(reason, value)| {
            (format!("smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"), *value)
        })
        .collect();
    let launch = ProfiledLaunch { numbers: numbers.into_iter().collect(), ..ProfiledLaunch::default() };
    let stalls = occupancy::stalls(&launch);
    let found: Vec<(&str, f64)> = stalls.iter().map(|stall| (stall.reason.as_str(), stall.share)).collect();
    assert_eq!(found, [("long_scoreboard", 0.6), ("wait", 0.2)]);
}

#[test]
fn classes_are_counted_and_weighed() {
    let mut busy = gemv();
    busy.name = "busy".into();
    busy.numbers.insert("gpu__time_duration.sum".into(), 20250.0);
    busy.numbers.insert("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed".into(), 90.0);
    let mut timeline = TimelineDurations::default();
    for (name, ns) in [("kernel", 900.0), ("busy", 50.0), ("void x::y<int>(T1)", 50.0)] {
        timeline.add(name, ns);
    }
    let found = profile(&[gemv(), busy], None, Some(&timeline));
    let rows: Vec<(Bound, usize, Option<f64>, Option<f64>)> = found
        .shares
        .iter()
        .map(|row| (row.bound, row.launches, row.time_share, row.timeline_share))
        .collect();
    assert_eq!(
        rows,
        [
            (Bound::Memory, 1, Some(0.75), Some(50.0 / 950.0)),
            (Bound::Latency, 1, Some(0.25), Some(900.0 / 950.0)),
        ]
    );
    assert_eq!(found.timeline_share_profiled, Some(0.95));
    let rest: Vec<_> =
        found.timeline_not_profiled.iter().map(|row| (row.name.as_str(), row.timeline_ns)).collect();
    assert_eq!(
        (rest, found.timeline_not_profiled[0].timeline_share),
        (vec![("void x::y<int>(T1)", 50.0)], 0.05)
    );
    assert_eq!(found.kernels[0].timeline_ns, Some(900.0), "the timeline orders");
}

#[test]
fn names_of_other_kernels_stay_apart() {
    assert_ne!(name_key("k<(int)6>(T13)"), name_key("k<7>(T13)"));
    assert_eq!(name_key("f(int)"), "f(int)", "parameters are no casts");
    assert_eq!(name_key("(int)-1 ü::x ("), "-1x(");
    let ncu = "void unnamed>::Cat<unnamed>::OpaqueType<2>, 3>(char *)";
    assert_eq!(mended(ncu), "void Cat<OpaqueType<2>, 3>(char *)");
}

#[test]
fn an_expression_meets_every_spelling_and_no_other_kernel() {
    let pairs = [
        (
            "void at::native::vectorized_elementwise_kernel<(int)4, at::native::BinaryFunctor<c10::BFloat16, float>, std::array<char *, (unsigned long)3>>(int, T2, T3)",
            "void vectorized_elementwise_kernel<4, BinaryFunctor<BFloat16, float>, array<char *, 3>>(int, T2, T3)",
        ),
        (
            "void at::native::<unnamed>::Cat<at::native::<unnamed>::OpaqueType<(unsigned int)2>, (int)3>(char *)",
            "void unnamed>::Cat<unnamed>::OpaqueType<2>, 3>(char *)",
        ),
        (
            "k<a::f(T &)::[lambda() (instance 3)]::operator ()() const::[lambda(float) (instance 1)], std::array<char *, (unsigned long)2>>(int)",
            "k<f(T &)::[lambda() (instance 3)]::operator ()() lambda(float) (instance 1)], array<char *, 2>>(int)",
        ),
        ("void cutlass::Kernel2<a_b>(T1::Params)", "void Kernel2<a_b>(Params)"),
        ("void at::sort<(int)-2, (bool)1, 128x2_tn>(T1)", "void sort<-2, 1, 128x2_tn>(T1)"),
    ];
    for (at, (nsys, ncu)) in pairs.iter().enumerate() {
        assert_eq!(name_key(nsys), name_key(ncu));
        let pattern = name_pattern(nsys);
        assert!(!pattern.contains(':'), "{pattern}");
        let expression = regex_lite::Regex::new(&format!("^({pattern})$")).unwrap();
        assert!(expression.is_match(nsys), "{pattern}\n{nsys}");
        assert!(expression.is_match(ncu), "{pattern}\n{ncu}");
        for (_, other) in pairs.iter().enumerate().filter(|(other, _)| *other != at) {
            assert!(!expression.is_match(other.0) && !expression.is_match(other.1), "{pattern}");
        }
    }
    let four = regex_lite::Regex::new(&format!("^({})$", name_pattern("k<(int)4>(T*)"))).unwrap();
    assert!(four.is_match("k<4>(T*)") && four.is_match("a::b::k<(bool)4>(T*)"));
    assert!(!four.is_match("k<14>(T*)") && !four.is_match("k<5>(T*)") && !four.is_match("kk<4>(T*)"));
}

#[test]
fn parity_109_counters_are_the_metrics_of_the_report() {
    let found = profile(
        &[launch(
            "k",
            &[
                ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", 20.59),
                ("sm__inst_issued.avg.pct_of_peak_sustained_active", 16.49),
                ("smsp__issue_active.avg.pct_of_peak_sustained_active", 17.16),
                ("smsp__warps_eligible.avg.per_cycle_active", 0.17),
                ("smsp__thread_inst_executed_per_inst_executed.ratio", 24.0),
            ],
        )],
        None,
        None,
    );
    let kernel = &found.kernels[0];
    let counters = kernel.counters;
    assert_eq!((counters.tensor_pipe_pct, counters.issue_slots_pct), (Some(20.59), Some(16.49)));
    assert_eq!((counters.issue_active_pct, counters.eligible_warps), (Some(17.16), Some(0.17)));
    assert_eq!(counters.warp_execution_pct, Some(75.0));
    assert_eq!(counters.active_warps, None);
    assert_eq!(kernel.not_computed["active_warps"], "not collected: ncu --section SchedulerStats");
    assert!(!kernel.not_computed.contains_key("eligible_warps"));
}

#[test]
fn parity_113_sectors_per_request_and_bank_conflicts() {
    let metric = |of: &str, operation: &str| format!("l1tex__t_{of}_pipe_lsu_mem_global_op_{operation}.sum");
    let (loads, requests) = (metric("sectors", "ld"), metric("requests", "ld"));
    let (stores, none) = (metric("sectors", "st"), metric("requests", "st"));
    let numbers = [
        (loads.as_str(), 926_208.0),
        (&requests, 59_904.0),
        (&stores, 0.0),
        (&none, 0.0),
        ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", 30.0),
        ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", 10.0),
        ("smsp__sass_inst_executed_op_shared_ld.sum", 60.0),
        ("smsp__sass_inst_executed_op_shared_st.sum", 20.0),
        ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 160.0),
    ];
    let counters = profile(&[launch("k", &numbers)], None, None).kernels[0].counters;
    assert_eq!(counters.load_sectors_per_request, Some(926_208.0 / 59_904.0));
    assert_eq!(counters.store_sectors_per_request, None, "a mean of no store is none");
    assert_eq!((counters.bank_conflicts, counters.bank_conflicts_per_request), (Some(40.0), Some(0.5)));
    assert_eq!(counters.bank_conflicts_pct, Some(25.0));
}

#[test]
fn parity_031_asked_metrics_by_name_or_by_its_beginning() {
    let mut launch = launch("k", &[("a__b.sum", 3.0), ("a__b.avg", 1.0), ("a__bc.sum", 9.0)]);
    launch.texts.insert("mode".to_owned(), "on".to_owned());
    launch.units.insert("a__b.sum".to_owned(), "byte".to_owned());
    let launches = [launch];
    assert_eq!(expanded("a__b.sum", &launches), ["a__b.sum"]);
    assert_eq!(expanded("a__b", &launches), ["a__b.avg", "a__b.sum"]);
    assert_eq!(expanded("mode", &launches), ["mode"]);
    assert_eq!(expanded("nothing", &launches), ["nothing"]);
    let mut found = profile(&launches, None, None);
    found.ask(&launches, vec!["a__b.sum", "mode", "nothing"]);
    let metrics = &found.kernels[0].metrics;
    assert_eq!(metrics.len(), 2);
    assert_eq!((metrics["a__b.sum"].value, metrics["a__b.sum"].unit.as_deref()), (Some(3.0), Some("byte")));
    assert_eq!(metrics["mode"].text.as_deref(), Some("on"));
}

/// A GeForce does half as many bf16 operations with fp32 accumulators as the profiler's percentage is of: 45.9 GFLOP in
/// 404.7 µs at 2 GHz are 113.4 of 174 TFLOP/s, 65 %, where it prints 32 %.
#[test]
fn what_a_launch_reaches_is_held_against_the_peak_at_its_clock() {
    let mut gemm = gemv();
    gemm.name = "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x256".into();
    gemm.numbers.extend([
        ("gpu__time_duration.sum".to_owned(), 404_700.0),
        ("sm__ops_path_tensor_src_bf16_dst_fp32.sum".to_owned(), 45.9e9),
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed".to_owned(), 32.5),
        ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed".to_owned(), 25.8),
    ]);
    gemm.grid = Some([304, 1, 1]);
    let known = CatalogDevice {
        name: "RTX 5090".to_owned(),
        // 2 × 128 × 170 per cycle at 2.407 GHz.
        flops_per_s: vec![("fp32".to_owned(), 104.75e12), ("tensor_bf16".to_owned(), 209.5e12)],
        ..CatalogDevice::default()
    };
    let found = profile(&[gemm], Some(&known), None);
    let kernel = &found.kernels[0];
    assert_eq!(kernel.bound, Some(Bound::Compute), "{}", kernel.loss);
    // 209.5 TFLOP/s × 2 / 2.407.
    let peak = 209.5e12 * 2e9 / (104.75e12 / (2.0 * 128.0 * 170.0));
    assert!((kernel.floor_ns.unwrap() - 45.9e9 / peak * 1e9).abs() < 1.0, "{:?}", kernel.floor_ns);
    assert!(
        kernel.loss.contains("174.1 TFLOP/s")
            && kernel
                .loss
                .contains("; compute is at 65 % of its peak by FLOP/s (SM throughput counter: 32 %)"),
        "{}",
        kernel.loss
    );
    // What decided is what the table shows: 45.9 GFLOP in 404.7 µs of 174.08 TFLOP/s.
    let shown = kernel.compute_pct.unwrap();
    assert!((shown - 100.0 * 45.9e9 / 404.7e-6 / peak).abs() < 1e-9, "{shown}");
    assert_eq!(kernel.compute_counter_pct, Some(32.5));
}

/// Blocks that leave multiprocessors empty are one thing, blocks of few warps another.
#[test]
fn a_grid_is_small_where_multiprocessors_have_no_block() {
    let of = |blocks: u64, more: &[(&str, f64)]| {
        let mut one = gemv();
        one.grid = Some([blocks, 1, 1]);
        one.numbers.extend(more.iter().map(|(name, value)| ((*name).to_owned(), *value)));
        profile(&[one], None, None)
    };
    // 80 of 170 multiprocessors have a block.
    let small = of(80, &[]);
    assert_eq!(small.kernels[0].bound, Some(Bound::Launch));
    let loss = &small.kernels[0].loss;
    assert!(
        loss.contains("80 % is lost to latency in a small grid (80 blocks for 170 multiprocessors)"),
        "{loss}"
    );
    assert_eq!(
        small.suggestions[0].measured,
        "80 blocks for 170 multiprocessors (below 0.75 for each); compute and memory are below 60 % of their peaks"
    );
    // 151 of 170, 0.89 for each: a block fills its multiprocessor's shared memory with 4 of 64 warps.
    let full = of(
        151,
        &[
            ("launch__occupancy_limit_shared_mem", 1.0),
            ("sm__maximum_warps_per_active_cycle_pct", 6.25),
            ("sm__warps_active.avg.pct_of_peak_sustained_active", 6.0),
        ],
    );
    assert_eq!(full.kernels[0].bound, Some(Bound::Latency));
    let loss = &full.kernels[0].loss;
    assert!(
        loss.contains(
            "is lost to latency at low occupancy (compute 9 %, memory 20 % busy); occupancy 6 of 6 %, limited by shared memory"
        ),
        "{loss}"
    );
    assert!(full.suggestions.iter().all(|row| row.rule != "small_grid"));
}

/// The load/store pipe is a part of both throughputs: the same number twice is one unit.
#[test]
fn one_pipe_is_not_two_that_are_balanced() {
    let both = 97.717_312_003_052_29;
    let numbers = [
        ("gpu__time_duration.sum", 1000.0),
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed", both),
        ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", both),
    ];
    let of = |more: &[(&str, f64)]| {
        let kernel = profile(&[launch("k", &[&numbers[..], more].concat())], None, None).kernels.remove(0);
        (kernel.bound, kernel.loss)
    };
    let pipe = "l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed";
    let told = of(&[(pipe, both)]);
    assert_eq!(told, (Some(Bound::Memory), "1.00 µs; the load/store (LSU/L1) pipe is 98 % busy".to_owned()));
    let (bound, loss) = of(&[(pipe, 12.0)]);
    assert_eq!(bound, Some(Bound::Memory));
    assert!(loss.contains("a pipe that counts as both compute and memory"), "{loss}");
    // Two units that happen to be near each other are two.
    let (bound, _) = of(&[("sm__throughput.avg.pct_of_peak_sustained_elapsed", 97.7)]);
    assert_eq!(bound, Some(Bound::Balanced));
}
