//! Real traces of many tools and devices.

use std::process::Command;

use crate::corpus_files::{corpus, corpus_files};

fn rooflens(args: &[&str]) -> (i32, Vec<u8>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_rooflens")).arg("--quiet").args(args).output().unwrap();
    (output.status.code().unwrap(), output.stdout, String::from_utf8(output.stderr).unwrap())
}

/// Not Kineto traces: they must be refused, with a hint.
const OTHERS: &[&str] = &["memory_timeline.raw.gz", "908_results.json.gz"];

#[test]
#[ignore = "needs the corpus"]
fn every_trace_is_analysed_and_every_note_explained() {
    let mut paths = corpus_files(&["kineto"]);
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "gz"));
    assert!(!paths.is_empty());
    let notes = rooflens(&["list", "notes", "--format", "json"]).1;
    let notes: serde_json::Value = serde_json::from_slice(&notes).unwrap();
    let known: Vec<&str> =
        notes["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
    for path in &paths {
        let text = path.to_str().unwrap();
        let (code, stdout, stderr) = rooflens(&["analyze", text, "--format", "json"]);
        if OTHERS.iter().any(|name| text.ends_with(name)) {
            assert_eq!(code, 5, "{text}");
            assert!(stderr.contains("\nhint: rooflens list formats\n"), "{text}: {stderr}");
            continue;
        }
        assert_eq!((code, stderr.as_str()), (0, ""), "{text}");
        let json: serde_json::Value = serde_json::from_slice(&stdout).unwrap();
        assert!(json["trace"]["events"].as_i64().unwrap() > 0, "{text}");
        // MTIA's kernels are named after the graphs they were compiled from.
        let unclassified = json["classes"]["unclassified_share"].as_f64().unwrap_or(0.0);
        assert!(unclassified < 0.05 || text.contains("mtia"), "{text}: {unclassified} is not classified");
        for note in json["notes"].as_array().unwrap() {
            let code = note["code"].as_str().unwrap();
            let is_known = known.contains(&code) || code.starts_with("unread_");
            assert!(is_known, "{text}: note {code} is not in `rooflens list notes`");
        }
        // Large files look no different on the screen, and take their time.
        if path.metadata().unwrap().len() < 200_000 {
            let (code, stdout, stderr) = rooflens(&["analyze", text]);
            assert_eq!((code, stderr.as_str()), (0, ""), "{text}");
            assert!(stdout.split(|byte| *byte == b'\n').count() > 5, "{text}");
        }
    }
}

#[test]
#[ignore = "needs the corpus"]
fn a_job_and_its_run_give_the_same_answers() {
    let folder = corpus("kineto");
    let scratch = tempfile::tempdir().unwrap();
    let run = scratch.path().join("run");
    for input in [
        "hta/trace_filter",
        "tracelens/b200/eager_trace.json.gz",
        "cpu_llama/llama8x512_prefill_decode.json.gz",
    ] {
        let path = folder.join(input);
        let (path, run) = (path.to_str().unwrap(), run.to_str().unwrap());
        let (code, of_trace, stderr) = rooflens(&["analyze", path, "--format", "json", "-o", run]);
        assert_eq!(code, 0, "{input}: {stderr}");
        let (code, of_run, stderr) = rooflens(&["analyze", run, "--format", "json"]);
        assert_eq!(code, 0, "{input}: {stderr}");
        assert!(of_run == of_trace, "{input}: the run differs from its trace");
    }
}

/// Layers of a trace as (activities, device time), and how many activities got theirs by pattern.
fn layers(args: &[&str]) -> (Vec<(i64, i64)>, i64) {
    let (code, stdout, stderr) = rooflens(&[&["analyze", "--format", "json"], args].concat());
    assert_eq!(code, 0, "{args:?}: {stderr}");
    let json: serde_json::Value = serde_json::from_slice(&stdout).unwrap();
    let layers = json["modules"]["layers"].as_array().unwrap();
    for (index, layer) in layers.iter().enumerate() {
        assert_eq!(layer["layer"].as_u64(), Some(index as u64), "{args:?}");
    }
    let number = |layer: &serde_json::Value, key: &str| layer[key].as_i64().unwrap();
    let rows = layers.iter().map(|layer| (number(layer, "activities"), number(layer, "device_ns"))).collect();
    (rows, json["modules"]["layers_by_pattern"].as_i64().unwrap())
}

#[test]
#[ignore = "needs the corpus"]
fn layers_of_graph_replays_are_found_with_and_without_the_capture() {
    let folder = corpus("kineto/tracelens/inference");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    // Qwen3-8B: 36 layers of 15 kernels.
    let decode = path("sglang_decode/sglang_Qwen3-8B_decode.json.gz");
    let (found, by_pattern) = layers(&[&decode]);
    let activities: Vec<i64> = found.iter().map(|layer| layer.0).collect();
    assert_eq!((activities, by_pattern), (vec![15; 36], 540));
    // The capture's modules name the same layers, to the nanosecond.
    let capture = path("sglang_decode/capture_traces/bs_32_rank0.json.gz");
    assert_eq!(layers(&[&decode, "--capture", &capture]), (found, 0));
    // gpt-oss-20b: 24 layers, every second one with an attention of two kernels; the first lacks a cast.
    for (trace, capture, second) in [
        ("vllm_decode_full", "graph_capture_rank_0.1773709742341309550.pt.trace.json.gz", 18),
        ("vllm_prefilldecode_piecewise", "graph_capture_rank_0.1773709679453551615.pt.trace.json.gz", 17),
    ] {
        let execution = path(&format!("{trace}/graph_execution.json.gz"));
        let found = layers(&[&execution]);
        let activities: Vec<i64> = found.0.iter().map(|layer| layer.0).collect();
        let truth: Vec<i64> = (0..24).map(|layer| [17, second][layer % 2] - i64::from(layer == 0)).collect();
        assert_eq!(activities, truth, "{trace}");
        // torch.compile leaves no module but its own: the capture names no layer, and changes none.
        let capture = path(&format!("{trace}/capture_traces/{capture}"));
        assert_eq!(layers(&[&execution, "--capture", &capture]), found, "{trace}");
    }
}

#[test]
#[ignore = "needs the corpus"]
fn a_decode_of_many_launches_is_advised_to_use_graphs() {
    // DeepSeek-OCR on an RTX 5090, eager: 64 tokens in 707.379 ms, as the table's own report has it.
    let table = corpus(
        "llm-perf-opt/reports/20251107-dsocr/nsys/per-stage/decode/nsys/summary_cuda_gpu_kern_sum.csv",
    );
    let config = corpus("configs/deepseek-ai--DeepSeek-OCR.derived.json");
    let (table, config) = (table.to_str().unwrap(), config.to_str().unwrap());
    let told = ["--wall", "707.379ms", "--steps", "64", "--hardware", "rtx-5090", "--context", "900"];
    let (code, stdout, stderr) =
        rooflens(&[&["advise", table, "--model", config, "--format", "json"], &told[..]].concat());
    assert_eq!(code, 0, "{stderr}");
    let json: serde_json::Value = serde_json::from_slice(&stdout).unwrap();
    let verdict = json["verdict"].as_str().unwrap();
    assert!(verdict.contains("launch-bound: 1,219 launches per step"), "{verdict}");
    let phase = &json["ledger"]["phases"][0];
    let idle = phase["lines"].as_array().unwrap().iter().find(|line| line["line"] == "launch_bound").unwrap();
    let busy = 1.0 - idle["share"].as_f64().unwrap();
    assert!((0.24..0.27).contains(&busy), "{busy}");
    let floor: f64 =
        phase["floors"].as_array().unwrap().iter().map(|floor| floor["ns"].as_f64().unwrap()).sum();
    assert!((0.6e6..0.72e6).contains(&(floor / 64.0)), "{floor}");
    assert_eq!(json["advice"]["items"][0]["rule"], "cuda_graphs");
}
