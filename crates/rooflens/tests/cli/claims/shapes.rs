//! Achieved rates by recorded shapes, and devices that a trace leaves nameless.

use std::io::Write;

use super::*;
use crate::corpus_files::at_least;

/// The rates of a trace, null where it has none.
fn rates(trace: &str) -> Json {
    json(&["analyze", trace])["shape_rates"].take()
}

fn row<'a>(rates: &'a Json, operator: &str, sizes: &str) -> &'a Json {
    let rows = rates["shapes"].as_array().unwrap();
    let found = rows.iter().find(|row| row["operator"] == operator && row["sizes"] == sizes);
    found.unwrap_or_else(|| panic!("{operator} {sizes}: {rows:#?}"))
}

/// Traces that do not name their device, or by a name that the catalog does not have, and what it can do.
const DEVICES: &[(&str, &str)] = &[
    ("trace_diff/control", "A100 SXM4 40GB"),
    ("trace_diff/test", "V100 SXM2 32GB"),
    ("trace_filter/sampled_rank", "A100 SXM4 80GB"),
];

#[test]
#[ignore = "needs the corpus"]
fn no_row_of_any_trace_is_above_its_roof() {
    let mut compared = 0;
    for path in kineto_traces() {
        let device = DEVICES.iter().find(|(part, _)| path.contains(part));
        let hardware = device.map_or(vec![], |(_, name)| vec!["--hardware", name]);
        let answer = run(&[&["analyze", path.as_str(), "--format", "json"][..], &hardware].concat());
        if answer.code != 0 {
            continue;
        }
        let rates = serde_json::from_str::<Json>(&answer.stdout).unwrap()["shape_rates"].take();
        for row in ["shapes", "kernels"].iter().flat_map(|key| rates[*key].as_array().into_iter().flatten()) {
            let reason = row["no_roof"].as_str();
            match row["roof_share"].as_f64() {
                Some(share) => {
                    assert!((0.0..=1.0).contains(&share), "{path}: {row}");
                    assert_eq!(
                        row["lost_ns"].as_i64().unwrap() + row["floor_ns"].as_i64().unwrap(),
                        row["ns"]
                    );
                    compared += 1;
                }
                None => assert!(reason.is_some(), "{path}: {row}"),
            }
            // Nothing beats a dense peak: where something seems to, the format is wrong, or a kernel is missing.
            assert!(!reason.is_some_and(|reason| reason.contains("faster than")), "{path}: {row}");
        }
    }
    assert!(compared > at_least(100, 700), "{compared}");
}

/// 48 calls of 2 x 8944 x 1024 x 2816 FLOPs, and of 2 (8944 x 1024 + 1024 x 2816 + 8944 x 2816) bytes. Their kernels
/// take 4.055 ms on an H100 (989.4 TFLOP/s) and 5.308 ms on an MI300X (1307.4 TFLOP/s), by the durations in the traces.
#[test]
#[ignore = "needs the corpus"]
fn the_same_matmuls_on_two_devices() {
    for (folder, device, ns, peak) in
        [("h100", "H100 SXM5 80GB", 4.0553e6, 989.4e12), ("mi300", "MI300X 192GB", 5.3083e6, 1307.4e12)]
    {
        let rates =
            rates(&corpus(&format!("kineto/tracelens/{folder}/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz")));
        assert_eq!(rates["device"], device);
        let row = row(&rates, "aten::mm", "[8944,1024]x[1024,2816]");
        let flops = 48.0 * 2.0 * 8944.0 * 1024.0 * 2816.0;
        let bytes = 48.0 * 2.0 * f64::from(8944 * 1024 + 1024 * 2816 + 8944 * 2816);
        let number = |key: &str| row[key].as_f64().unwrap();
        assert_eq!((row["count"].as_u64(), row["format"].as_str()), (Some(48), Some("bf16")));
        assert_eq!((number("flops"), number("bytes")), (flops, bytes));
        assert_near(number("ns"), ns, 1e-4);
        assert_near(number("flops_per_s"), flops / ns * 1e9, 1e-4);
        assert_near(number("bytes_per_s"), bytes / ns * 1e9, 1e-4);
        assert_near(number("roof_share"), flops / peak / ns * 1e9, 1e-4);
        assert_eq!(row["limit"], "compute");
    }
}

/// One row by a matrix of 2880 x 25136 moves 2 (2880 + 2880 x 25136 + 25136) bytes in 33.5 us, at 8 TB/s.
#[test]
#[ignore = "needs the corpus"]
fn one_row_by_a_matrix_is_bound_by_memory() {
    let rates = rates(&corpus("kineto/tracelens/b200/eager_trace.json.gz"));
    let row = row(&rates, "aten::mm", "[1,2880]x[2880,25136]");
    let bytes = 2.0 * f64::from(2880 + 2880 * 25136 + 25136);
    assert_eq!((row["bytes"].as_f64(), row["limit"].as_str()), (Some(bytes), Some("memory")));
    assert_near(row["roof_share"].as_f64().unwrap(), bytes / 8e12 / 33.5e-6, 0.002);
}

/// A trace of two calls of `aten::mm` on a device of these properties; times in microseconds.
fn planted(name: &str, memory: u64, dtype: &str) -> tempfile::NamedTempFile {
    let mut events = Vec::new();
    for (call, start) in [(1, 100), (2, 200)] {
        events.push(format!(
            r#"{{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":{start},"dur":20,"args":{{
            "External id":{call},"Input Dims":[[4096,4096],[4096,8192]],"Input type":["{dtype}","{dtype}"]}}}}"#
        ));
        events.push(format!(
            r#"{{"ph":"X","cat":"cuda_runtime","name":"hipExtModuleLaunchKernel","pid":1,"tid":1,"ts":{},"dur":5,
            "args":{{"External id":{call},"correlation":{call}}}}}"#,
            start + 5
        ));
        events.push(format!(
            r#"{{"ph":"X","cat":"kernel","name":"some_gemm","pid":0,"tid":7,"ts":{},"dur":420.5,"args":{{
            "External id":{call},"correlation":{call},"device":0,"stream":7}}}}"#,
            start * 10
        ));
    }
    let head = format!(
        r#"{{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"{name}","totalGlobalMem":{memory},
        "computeMajor":9,"computeMinor":4,"numSms":304}}],"traceEvents":[{}]}}"#,
        events.join(",")
    );
    let mut file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    file.write_all(head.as_bytes()).unwrap();
    file
}

/// 2 x 4096 x 4096 x 8192 = 274.88 GFLOP at 1307.4 TFLOP/s are 210.25 us; of 420.5 us that is half.
#[test]
fn a_planted_matmul_on_a_nameless_device_has_its_exact_rate() {
    let file = planted("", 206_141_652_992, "c10::BFloat16");
    let path = file.path().to_str().unwrap();
    let found = json(&["analyze", path]);
    let flops = 2.0 * 2.0 * 4096.0 * 4096.0 * 8192.0;
    let row = row(&found["shape_rates"], "aten::mm", "[4096,4096]x[4096,8192]");
    assert_eq!((row["count"].as_u64(), row["ns"].as_i64()), (Some(2), Some(841_000)));
    assert_near(row["flops_per_s"].as_f64().unwrap(), flops / 841e-6, 1e-12);
    assert_near(row["roof_share"].as_f64().unwrap(), flops / 1307.4e12 / 841e-6, 1e-5);
    // The trace has no name: what it was recognised by is said, on the screen and in the notes.
    let recognised = &found["devices"][0]["recognised"];
    assert_eq!(recognised["device"], "MI300X 192GB");
    let by = "architecture 9.4, 304 compute units and 206.1 GB of memory";
    assert_eq!(recognised["by"], by);
    assert!(found["notes"].to_string().contains("device_recognised"), "{}", found["notes"]);
    let screen = text(&["analyze", path]);
    assert!(screen.contains("MI300X 192GB (no name in the trace"), "{screen}");
    assert!(screen.contains("matmuls by recorded shapes, not by a model"), "{screen}");
    let table = text(&["analyze", path, "--format", "csv", "--table", "roofline_shapes"]);
    assert!(table.starts_with("call,format,count,ns,"), "{table}");
    assert!(table.contains("\"aten::mm [4096,4096]x[4096,8192]\",bf16,2,841000,"), "{table}");
    let kernels = text(&["analyze", path, "--format", "csv", "--table", "roofline_shape_kernels"]);
    assert!(kernels.contains("some_gemm,"), "{kernels}");
}

#[test]
fn memory_decides_between_devices_of_one_architecture() {
    // 256 GiB.
    let file = planted("AMD Radeon Graphics", 274_877_906_944, "c10::BFloat16");
    let found = json(&["analyze", file.path().to_str().unwrap()]);
    assert_eq!(found["shape_rates"]["device"], "MI325X 256GB");
    // 64 GiB: nothing has as little.
    let file = planted("", 68_719_476_736, "c10::BFloat16");
    let found = json(&["analyze", file.path().to_str().unwrap()]);
    assert!(found["devices"][0]["recognised"].is_null());
    let reason = found["shape_rates"]["not_computed"]["roof_share"].as_str().unwrap();
    assert!(reason.contains("no device of the catalog has architecture 9.4, 304 compute units"), "{reason}");
    // The rates are there all the same.
    assert!(found["shape_rates"]["shapes"][0]["flops_per_s"].is_f64());
    assert!(found["shape_rates"]["shapes"][0]["roof_share"].is_null());
}

#[test]
fn fp32_without_a_telling_kernel_has_no_share() {
    let file = planted("AMD Instinct MI300X", 206_141_652_992, "float");
    let found = json(&["analyze", file.path().to_str().unwrap()]);
    assert!(found["devices"][0]["recognised"].is_null());
    let row = &found["shape_rates"]["shapes"][0];
    assert!(row["format"].is_null() && row["roof_share"].is_null(), "{row}");
    assert!(row["no_roof"].as_str().unwrap().contains("dtype"), "{row}");
}

/// vLLM's traces of gpt-oss-20b on MI300X have an empty name; HTA's of an MI250 a name of no device, and two devices
/// that are not in the catalog (MI210, half of an MI250) have its properties.
#[test]
#[ignore = "needs the corpus"]
fn nameless_devices_of_real_traces() {
    let trace = corpus("kineto/tracelens/inference/vllm_decode_full/graph_execution.json.gz");
    let model = config("openai--gpt-oss-20b");
    let found = json(&["analyze", &trace, "--model", &model]);
    assert_eq!(found["devices"][0]["recognised"]["device"], "MI300X 192GB");
    assert_eq!(found["ledger"]["floor_of"]["device"], "MI300X 192GB");
    let trace = corpus("kineto/hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz");
    assert!(json(&["analyze", &trace])["devices"][0]["recognised"].is_null());
    let answer = run(&["analyze", &trace, "--model", &model]);
    assert!(
        answer.code != 0 && answer.stderr.contains("no device of the catalog has architecture 9.0"),
        "{}",
        answer.stderr
    );
}
