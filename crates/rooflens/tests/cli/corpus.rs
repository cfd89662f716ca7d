//! Real traces of many tools and devices.

use super::corpus_files::{corpus, corpus_files};
use super::*;

/// Not Kineto traces: they must be refused, with a hint.
const OTHERS: &[&str] = &["memory_timeline.raw.gz", "908_results.json.gz"];

#[test]
#[ignore = "needs the corpus"]
fn every_trace_is_analysed_and_every_note_explained() {
    let mut paths = corpus_files(&["kineto"]);
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "gz"));
    assert!(!paths.is_empty());
    let notes = json(&["list", "notes"]);
    let known: Vec<&str> =
        notes["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
    for path in &paths {
        let text = path.to_str().unwrap();
        let answer = run(&["analyze", text, "--format", "json", "--quiet"]);
        if OTHERS.iter().any(|name| text.ends_with(name)) {
            answer.fails(5, "\nhint: rooflens list formats\n");
            continue;
        }
        assert_eq!(answer.stderr, "", "{text}");
        let json = answer.json();
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
            let answer = run(&["analyze", text, "--quiet"]);
            assert_eq!(answer.stderr, "", "{text}");
            assert!(answer.fine().lines().count() >= 5, "{text}");
        }
    }
}

/// Layers of a trace as (activities, device time), and how many activities got theirs by pattern.
fn layers(args: &[&str]) -> (Vec<(i64, i64)>, i64) {
    let json = json(&[&["analyze"], args].concat());
    let layers = json["modules"]["layers"].as_array().unwrap();
    for (index, layer) in layers.iter().enumerate() {
        assert_eq!(layer["layer"].as_u64(), Some(index as u64), "{args:?}");
    }
    let number = |layer: &Json, key: &str| layer[key].as_i64().unwrap();
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
    let json = json(&[&["advise", table, "--model", config], &told[..]].concat());
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
