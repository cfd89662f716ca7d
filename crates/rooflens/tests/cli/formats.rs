//! Inputs of other tools than `torch.profiler`, as a user gives them.

use super::*;

fn analyzed(inputs: &[&str]) -> Json {
    json(&[&["analyze"], inputs].concat())
}

#[test]
fn files_of_one_process_are_one_rank() {
    let part = |name: &str| fixture(&format!("rocprofv3/42_{name}_trace.csv"));
    let of_folder = analyzed(&[&fixture("rocprofv3")]);
    let of_files = analyzed(&[&part("hip_api"), &part("kernel"), &part("marker_api"), &part("memory_copy")]);
    let of_one = analyzed(&[&part("memory_copy")]);
    for found in [&of_folder, &of_files, &of_one] {
        assert_eq!(found["trace"]["ranks"], 1);
        assert_eq!(found["trace"]["rows"]["kernels"], 5);
        assert_eq!(found["kernels"], of_folder["kernels"]);
    }
    assert_eq!(of_folder["trace"]["hardware"], serde_json::json!(["AMD Instinct MI300X"]));
}

/// The numbers are those that `fixtures/torchmem/make.py` explains; a run directory keeps them.
#[test]
fn an_allocator_snapshot() {
    let folder = Folder::new();
    let screen = text(&["analyze", &fixture("torchmem/small.pickle")]);
    for words in ["fragmentation 66.7%", "train.py(12): step", "(allocated before the first event)"] {
        assert!(screen.contains(words), "{words} in {screen}");
    }
    let found = analyzed(&[&fixture("torchmem/small.pickle"), "-o", &folder.text("run")]);
    let device = &found["memory"][0];
    assert_eq!(device["peak_allocated_bytes"], 6000);
    assert_eq!(device["at_peak"][0]["bytes"], 3000);
    assert_eq!(device["at_end"]["scattered_free_bytes"], 8192);
    assert_eq!(device["at_end"]["cached_bytes"], 0);
    assert!(folder.path("run/tables/memory_blocks.parquet").is_file());
    assert_eq!(analyzed(&[&folder.text("run")])["memory"], found["memory"]);
}

#[test]
fn a_pickle_that_runs_code_is_refused() {
    let folder = Folder::new();
    let path = folder.write("bad.pickle", b"\x80\x04\x8c\x08segmentscos\nsystem\n.");
    run(&["analyze", &path]).fails(5, "GLOBAL").fails(5, "may run code");
}

/// Numbers by hand: 2 x 128 x 3 x 64 twice, and five times 2 x 10 x 7 x 64.
#[test]
fn a_log_of_matrix_products_has_no_times() {
    let log = fixture("blaslog/cublaslt.log");
    let screen = text(&["analyze", &log]);
    for words in ["A log without times", "No times: the log holds no times", "128×3×64", "fp4 → fp32"] {
        assert!(screen.contains(words), "{words} in {screen}");
    }
    let folder = Folder::new();
    let found = analyzed(&[&log, "-o", &folder.text("run")]);
    assert_eq!(found["gemms"]["flops"], 2 * 49_152 + 44_800);
    assert_eq!(found["gemms"]["kernel_ns"], Json::Null);
    assert_eq!(found["kernels"], serde_json::json!([]));
    assert!(folder.path("run/report/index.html").is_file());
    assert_eq!(analyzed(&[&folder.text("run")])["gemms"], found["gemms"]);
}

/// Four kernels of cuBLAS in the trace: a log of as many calls is joined, one of three is not.
#[test]
fn products_are_joined_with_kernels() {
    let trace = fixture("kineto/decode.json");
    let refused = analyzed(&[&trace, "--gemms", &fixture("blaslog/cublaslt.log")]);
    assert_eq!(refused["gemms"]["joined_calls"], 0);
    let reason = refused["gemms"]["not_computed"]["kernel_ns"].as_str().unwrap();
    assert!(reason.contains("3 calls, the timeline 4 kernels"), "{reason}");
    let log = std::fs::read_to_string(fixture("blaslog/cublaslt.log")).unwrap();
    let line = log.lines().find(|line| line.contains("[Trace]")).unwrap().to_owned() + "\n";
    let folder = Folder::new();
    folder.write("four.log", line.repeat(4).as_bytes());
    let joined = analyzed(&[&trace, "--gemms", &folder.text("four.log"), "-o", &folder.text("run")]);
    assert_eq!(joined["gemms"]["joined_calls"], 4);
    let gemm_ns: i64 = joined["kernels"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["class"] == "gemm")
        .map(|row| row["total_ns"].as_i64().unwrap())
        .sum();
    assert_eq!(joined["gemms"]["kernel_ns"], gemm_ns);
    let rate = joined["gemms"]["flop_per_s"].as_f64().unwrap();
    let expected = f64::from(4 * 49_152) * 1e9 / gemm_ns as f64;
    assert!((rate / expected - 1.0).abs() < 1e-12, "{rate} {expected}");
    assert_eq!(analyzed(&[&folder.text("run")])["gemms"], joined["gemms"]);
    assert_ne!(run(&["analyze", &folder.text("run"), "--gemms", &folder.text("four.log")]).code, 0);
}

#[test]
fn exports_of_one_engine_are_one_rank() {
    let part = |name: &str| fixture(&format!("tensorrt/made.{name}.json"));
    let of_folder = analyzed(&[&fixture("tensorrt")]);
    let of_files = analyzed(&[&part("timing"), &part("graph"), &part("profile")]);
    for found in [&of_folder, &of_files, &analyzed(&[&part("graph")])] {
        assert_eq!(found["trace"]["ranks"], 1);
        // (0.8 + 0.2 ms) / 4 runs.
        assert_eq!(found["engine_layers"]["run_ns"], 250_000.0);
        assert_eq!(found["engine_layers"]["layers"][0]["share"], 0.8);
        assert_eq!(found["inferences"]["latency"]["p99_ns"], 900_000);
    }
    let screen = text(&["analyze", &part("profile")]);
    assert!(screen.contains("No timeline: a run of the engine takes 650 µs"), "{screen}");
}

#[test]
fn collectives_of_nccl() {
    let found = analyzed(&[&fixture("nccl/inspector.jsonl")]);
    let calls = &found["comm_calls"];
    assert_eq!((&calls["checked"], &calls["agreeing"]), (&2.into(), &1.into()));
    // 65,536 B of each of 32 ranks in 110 us, and 31/32 of that over the bus.
    let rate = calls["sizes"][1]["bus_gb_per_s"].as_f64().unwrap();
    assert!((rate - 65_536.0 * 32.0 / 110_000.0 * 31.0 / 32.0).abs() < 1e-12, "{rate}");
    let debug = text(&["analyze", &fixture("nccl/debug.log"), "--format", "json"]);
    assert!(!debug.contains("node-") && !debug.contains("192.0.2"), "{debug}");
}

#[test]
fn metrics_of_a_server_and_of_devices() {
    let triton = analyzed(&[&fixture("metrics/triton.txt")]);
    let model = &triton["server_metrics"]["models"][0];
    // 300 - 100 requests in 10 s; 5 - 3 failures; 1,200 inferences of 100 executions; 1 of 2 s in the queue.
    assert_eq!((&model["requests"], &model["failures"]), (&200.0.into(), &2.0.into()));
    assert_eq!((&model["requests_per_s"], &model["batch"]), (&20.0.into(), &12.0.into()));
    assert_eq!((&model["queue_ns"], &model["queue_share"]), (&5e6.into(), &0.5.into()));
    let never = &triton["server_metrics"]["models"][1];
    assert!(never["request_ns"].is_null() && never["not_computed"]["request_ns"].is_string());
    assert_eq!(triton["server_metrics"]["devices"][0]["mean_power_w"], 250.0);
    let screen = text(&["analyze", &fixture("metrics/triton.txt")]);
    assert!(screen.contains("200 requests of `bert`, 10.0 ms each, 50% of it in the queue"), "{screen}");
    let dcgm = analyzed(&[&fixture("metrics/dcgm.txt")]);
    let device = &dcgm["server_metrics"]["devices"][0];
    assert_eq!(device["values"]["memory_used_bytes"]["last"], 40_960.0 * 1_048_576.0);
    assert_eq!(device["unit_unknown"]["DCGM_FI_DEV_POWER_VIOLATION"], 123_456.0);
    assert!(device["energy_j"].is_null());
    assert!(!dcgm.to_string().contains("made-up") && !dcgm.to_string().contains("1111-1111"));
}
