//! `rooflens kernels`: on pages made here, and on reports of the corpus where it is at hand.

use super::corpus_files::corpus;
use super::*;

const HEAD: &str = r#""ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup""#;

/// A page of one launch: a copy whose multiprocessors are busier than its memory.
fn page() -> String {
    let row = |metric: &str, unit: &str, value: &str| {
        format!(
            "\"0\",\"4242\",\"secret-program\",\"secret-host\",\"void CatArrayBatchedCopy<float>(float *)\",\"1\",\"7\",\"(512, 1, 1)\",\"(340, 2, 1)\",\"0\",\"12.0\",\"S\",\"{metric}\",\"{unit}\",\"{value}\",\n"
        )
    };
    [
        format!("==PROF== Connected to process 4242\n{HEAD}\n"),
        row("Duration", "us", "10.00"),
        row("Compute (SM) Throughput", "%", "95.00"),
        row("Memory Throughput", "%", "13.59"),
        row("DRAM Throughput", "%", "13.59"),
        row("dram__bytes_read.sum", "Mbyte", "2.00"),
        row("dram__bytes_write.sum", "Kbyte", "500.00"),
    ]
    .concat()
}

#[test]
fn a_copy_is_never_bound_by_compute() {
    let folder = Folder::new();
    folder.write("copy.csv", page().as_bytes());
    let answer = json(&["kernels", "analyze", &folder.text("copy.csv")]);
    let kernel = &answer["kernels"][0];
    assert_eq!(kernel["bound"], "latency");
    assert_eq!(kernel["bytes"]["dram"], 2_500_000.0);
    let rate = kernel["bytes_per_s"]["dram"].as_f64().unwrap();
    assert!((rate - 250e9).abs() < 1.0, "{rate}");
    assert!(kernel["flops"]["total"].is_null() && kernel["not_computed"]["flops.total"].is_string());
    assert!(!answer.to_string().contains("secret") && !answer.to_string().contains("4242"));
}

#[test]
fn files_are_written_once_and_nothing_else_is_touched() {
    let folder = Folder::new();
    folder.write("in/copy.csv", page().as_bytes());
    let out = folder.text("out");
    let told = text(&["kernels", "analyze", &folder.text("in"), "-o", &out]);
    assert!(told.contains("CatArrayBatchedCopy"), "{told}");
    saved_are_read_back(&folder.path("out"));
    for name in ["kernels.csv", "kernels.json", "kernels.md"] {
        let text = std::fs::read_to_string(folder.path("out").join(name)).unwrap();
        assert!(text.contains("CatArrayBatchedCopy") && !text.contains("secret"), "{name}");
    }
    run(&["kernels", "analyze", &folder.text("in"), "-o", &out, "--quiet"]).fine();
    let other = run(&["kernels", "analyze", &folder.text("in"), "-o", &folder.text("in")]);
    assert_eq!(other.code, 2, "a folder of others is left alone");
}

#[test]
fn reports_and_timelines_are_told_apart() {
    let folder = Folder::new();
    folder.write("copy.csv", page().as_bytes());
    run(&["analyze", &folder.text("copy.csv")]).fails(5, "hint: rooflens kernels analyze ");
    run(&["kernels", "analyze", &fixture("kineto/decode.json")]).fails(5, "hint: ncu ");
}

#[test]
fn the_top_of_a_trace_and_of_a_table() {
    let folder = Folder::new();
    let list = folder.text("top.yaml");
    let answer = json(&["kernels", "top", &fixture("kineto/decode.json"), "--k", "2", "-o", &list]);
    let all = json(&["analyze", &fixture("kineto/decode.json")]);
    let first =
        all["kernels"].as_array().unwrap().iter().find(|row| row["kind"] == "kernel").unwrap().clone();
    assert_eq!(answer["kernels"][0]["name"], first["name"]);
    assert_eq!(answer["kernels"][0]["count"], first["count"]);
    assert_eq!(answer["kernels"][0]["total_ns"].as_f64(), first["total_ns"].as_f64());
    assert_eq!(answer["kernels"].as_array().unwrap().len(), 2);
    assert_eq!(std::fs::read_to_string(&list).unwrap().matches("\n- name: ").count(), 2);

    let table = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n75.0,300,2,150.0,150.0,100,200,70.7,\"void a<int>(T1)\"\n25.0,100,1,100.0,100.0,100,100,0.0,b\n";
    folder.write("sum.csv", table.as_bytes());
    let answer = json(&["kernels", "top", &folder.text("sum.csv")]);
    assert_eq!(answer["kernels"][0]["share"], 0.75);
    assert!(answer["kernels"][1]["stddev_ns"].is_null(), "one launch does not vary");
    let refused = run(&["kernels", "top", &folder.text("sum.csv"), "--phase", "decode"]);
    assert_eq!((refused.code, refused.stderr.contains("does not record phases")), (2, true));
}

#[test]
fn kernels_by_the_range_that_launched_them() {
    let folder = Folder::new();
    let call = |at: u32, id: u32| {
        format!(
            r#"{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": {at}, "dur": 5, "args": {{"correlation": {id}}}}},
               {{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": {}, "dur": 2.5, "args": {{"device": 0, "stream": 7, "correlation": {id}}}}}"#,
            at + 20
        )
    };
    let trace = format!(
        r#"{{"traceEvents": [{{"ph": "X", "cat": "user_annotation", "name": "layer", "pid": 1, "tid": 1, "ts": 0, "dur": 50}}, {}, {}]}}"#,
        call(10, 7),
        call(60, 8)
    );
    folder.write("trace.json", trace.as_bytes());
    let ask = |more: &[&str]| {
        run(&[&["kernels", "top", &folder.text("trace.json"), "--by", "range"], more].concat())
    };
    let answer = ask(&["--format", "json"]).json();
    let rows: Vec<_> = answer["kernels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["range"].as_str().map(str::to_owned),
                row["ranges"].as_u64(),
                row["count"].as_u64(),
                row["total_ns"].as_f64(),
            )
        })
        .collect();
    let layer = Some("layer".to_owned());
    assert_eq!(rows, [(None, Some(0), Some(1), Some(2500.0)), (layer, Some(1), Some(1), Some(2500.0))]);
    let csv = ask(&["--format", "csv"]).fine();
    assert!(csv.starts_with("range,share,style,pid,tid,ranges,"), "{csv}");
    assert!(ask(&[]).fine().contains("layer"));
    ask(&["-o", &folder.text("list.yaml")]).fails(2, "");
}

#[test]
fn a_report_of_nsight_systems_needs_its_program() {
    let folder = Folder::new();
    folder.write("run.nsys-rep", b"NVIDIA Tegra Profiler Report 2030@1@1@1-1v0.");
    let report = folder.text("run.nsys-rep");
    let mut command = rooflens(&["analyze", &report]);
    command.env("ROOFLENS_NSYS", "/nowhere/nsys");
    Answer::of(command.output().unwrap()).fails(3, "").hints("nsys export --type sqlite");
}

/// The 20 kernels that a project before this one profiled, with numbers computed by hand from its CSVs.
#[test]
#[ignore = "needs the corpus"]
fn twenty_kernels_under_a_physical_roofline() {
    let reports = corpus("llm-perf-opt/reports/20251107-dsocr");
    let text = |path: &str| reports.join(path).to_str().unwrap().to_owned();
    let timeline = text("nsys/all-stage/nsys/summary_cuda_gpu_kern_sum.csv");
    let answer = json(&["kernels", "analyze", &text("ncu-v2"), "--timeline", &timeline]);
    let kernels = answer["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 20);
    let near = |value: &Json, expected: f64| {
        let value = value.as_f64().unwrap();
        assert!((value - expected).abs() < 1e-6 * expected, "{value}, not {expected}");
    };
    let launch = |at: usize| kernels.iter().find(|kernel| kernel["launch"] == at).unwrap();
    near(&launch(2)["intensity"]["dram"], 1_275_068_416.0 / 3_350_000.0); // 380.6
    near(&launch(15)["intensity"]["dram"], 45_902_462_976.0 / 63_967_380.0); // 717.6
    // 43,520 operations a cycle at the highest clock, 2.41 GHz; 128 B a cycle at 13.79 GHz.
    near(&answer["device"]["flops_per_s"]["fp32"]["per_s"], 43_520.0 * 2.41e9);
    near(&answer["device"]["dram"]["per_s"], 128.0 * 13.79e9);
    for kernel in kernels {
        assert!(kernel["intensity"]["dram"].is_number() && kernel["flops_per_s"].is_number(), "{kernel}");
        assert!(kernel["roofline_pct"].as_f64().is_none_or(|pct| pct <= 100.0), "{kernel}");
        assert!(kernel["timeline_ns"].is_number(), "joined: {}", kernel["name"]);
        let moves = kernel["name"].as_str().unwrap().contains("opy");
        assert!(!moves || kernel["bound"] != "compute", "{kernel}");
    }
    let sum = |field: &str| -> f64 {
        answer["shares"].as_array().unwrap().iter().map(|row| row[field].as_f64().unwrap()).sum()
    };
    for field in ["launch_share", "time_share", "timeline_share"] {
        assert!((sum(field) - 1.0).abs() < 1e-9, "{field}");
    }
}

const LIST: &str = "phase: decode\nkernels:\n- name: \"void at::native::k<(int)4>(T *)\"\n  launches: 9\n  median_ns: 1000\n  typical: [4, 2]\n- name: other\n  launches: 3\n  median_ns: 3000\n  typical: [2]\n";

/// A stand-in for ncu: tells a version and sets, and does as `script` says otherwise.
fn stand_in(folder: &Folder, script: &str) -> String {
    let script = format!(
        "case $1 in\n--version) echo 'Version 2024.2.0.0 (build 1)'; exit;;\n--list-sets) echo 'detailed  A, B  no  459'; exit;;\nesac\nwhile [ \"$1\" != --export ]; do shift; done\nreport=$2\n{script}\n"
    );
    folder.program("bin/ncu", &script)
}

#[test]
fn all_kernels_of_a_list_are_one_process() {
    let folder = Folder::new();
    folder.write("top.yaml", LIST.as_bytes());
    let ncu = stand_in(&folder, "exit 1");
    let (list, out) = (folder.text("top.yaml"), folder.text("out"));
    let words = ["kernels", "profile", "--from", &list, "-o", &out, "--dry-run", "--nvtx", "rooflens.decode"];
    let told = run(&[&words[..], &["--ncu", &ncu, "--", "python", "x y.py"]].concat()).fine();
    // The third launch is typical of both: one number, two launches. 459 / 15 = 30.6, so 31 passes;
    // 31 × (2 × 20 ms + 4 µs) = 1.24 s.
    assert!(
        told.starts_with("2 kernels in one process: launches number 3, 2 in total, 2 of them typical\n"),
        "{told}"
    );
    assert!(told.contains("estimate: 31 passes per launch (one per 15 metrics), 1 s plus"), "{told}");
    let command = told.lines().last().unwrap();
    assert_eq!(command.matches("--kernel-id").count(), 1);
    assert!(command.contains("--nvtx --nvtx-include rooflens.decode/"), "{command}");
    assert!(command.ends_with(" python 'x y.py'"), "{command}");
    assert!(!folder.path("out").exists(), "a dry run leaves nothing");
    // Without ncu the plan is told all the same.
    let told = run(&[&words[..], &["--ncu", "/nowhere/ncu", "--", "python"]].concat()).fine();
    assert!(told.contains("ncu, not found"), "{told}");
    run(&["kernels", "profile", "--from", &list, "-o", &out, "--ncu", "/nowhere/ncu", "--", "true"])
        .fails(3, "");
}

#[test]
fn a_report_is_judged_by_file_and_text_not_by_code() {
    let folder = Folder::new();
    folder.write("top.yaml", LIST.as_bytes());
    let (list, out) = (folder.text("top.yaml"), folder.text("out"));
    let profile = |script: &str| {
        let ncu = stand_in(&folder, script);
        run(&["kernels", "profile", "--from", &list, "-o", &out, "--ncu", &ncu, "--", "true"])
    };
    profile("echo '==ERROR== Driver could not be loaded.' >&2; exit 0").fails(3, "hint: rooflens doctor");
    std::fs::remove_dir_all(&out).unwrap();
    let answer = profile("echo '==ERROR== ERR_NVGPUCTRPERM - no' >&2; exit 1");
    answer.fails(3, "NVreg_RestrictProfilingToAdminUsers=0");
    std::fs::remove_dir_all(&out).unwrap();
    // No report and not a word.
    profile("exit 0").fails(4, "");
    std::fs::remove_dir_all(&out).unwrap();
    // A report, whatever the code: it is analysed.
    let seed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/ncu_report/one.ncu-rep");
    let answer = profile(&format!(
        "echo '==PROF== Profiling \"k\" - 0: 0%....100% - 9 passes' >&2; cp '{seed}' \"$report.ncu-rep\"; exit 7"
    ));
    answer.fails(0, "profiled 1 of 2: k, 9 passes").fails(0, "clocks were locked to base");
    for name in ["report.ncu-rep", "index.html", "kernels.parquet", "kernels.json", "histograms/duration.svg"]
    {
        assert!(folder.path("out").join(name).is_file(), "{name}");
    }
}

#[test]
fn a_wrong_list_is_told() {
    let folder = Folder::new();
    folder.write("top.yaml", b"kernels: 3\n");
    run(&["kernels", "profile", "--from", &folder.text("top.yaml"), "--dry-run", "--", "true"])
        .fails(5, "hint: rooflens kernels top RUN -o top.yaml");
}

#[test]
fn a_folder_of_rocprof_compute() {
    let folder = Folder::new();
    let input = fixture("rocprof_compute");
    let out = folder.text("out");
    let answer = run(&["kernels", "analyze", &input, "--format", "json", "-o", &out]).json();
    assert_eq!(answer["profiler"], "rocprof_compute");
    let of = |name: &str| {
        let kernels = answer["kernels"].as_array().unwrap();
        kernels.iter().find(|kernel| kernel["name"].as_str().unwrap().starts_with(name)).unwrap().clone()
    };
    let product = of("Cijk");
    // 512 × 4,194,304 in 16 µs of 170 TFLOP/s.
    assert_eq!(product["flops"]["by_precision"]["tensor_bf16"], 2_147_483_648.0);
    let share = product["compute_pct"].as_f64().unwrap();
    assert!((share - 100.0 * 2_147_483_648.0 / 16e-6 / 170e12).abs() < 1e-9, "{share}");
    assert_eq!((&product["bound"], &of("vecCopy")["bound"]), (&"compute".into(), &"memory".into()));
    let norm = of("rms");
    assert!(norm["bytes"]["dram"].is_null() && norm["not_computed"]["bytes.dram"].is_string());
    assert!(norm["bound"].is_null() && norm["occupancy"]["achieved_pct"].is_null());
    for name in ["kernels.json", "index.html", "kernels.md"] {
        let text = std::fs::read_to_string(folder.path("out").join(name)).unwrap();
        assert!(text.contains("vecCopy") && !text.contains("made-up-machine"), "{name}");
    }
    folder.write("copy.csv", page().as_bytes());
    let both = run(&["kernels", "analyze", &input, &folder.text("copy.csv")]);
    assert_eq!(both.code, 5, "launches of two devices are not one profile");
}
