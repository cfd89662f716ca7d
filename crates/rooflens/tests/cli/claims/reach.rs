//! What a device, a link and a recording allow: gains that can be had, captures that are called so, exchanges that
//! are not sums.

use super::*;

const INFERENCE: &str = "kineto/tracelens/inference";

fn sglang_prefill() -> Json {
    let trace = corpus(&format!("{INFERENCE}/sglang_prefilldecode/sglang_Qwen3-8B_prefilldecode.json.gz"));
    json(&["advise", &trace, "--model", &config("Qwen--Qwen3-8B"), "--hardware", "mi300x"])
}

fn of_rule<'a>(answer: &'a Json, rule: &str) -> Option<&'a Json> {
    answer["advice"]["items"].as_array().unwrap().iter().find(|item| item["rule"] == rule)
}

/// 213 TFLOP at 668.4 TFLOP/s, the best that was measured on an MI300X, are 319 ms: of 420 no more than 101 can be
/// saved.
#[test]
#[ignore = "needs the corpus"]
fn gains_end_where_the_best_kernels_do() {
    let answer = sglang_prefill();
    let gemms = of_rule(&answer, "gemm_kernels").unwrap();
    assert_near(gemms["step_gain_ns"]["high"].as_f64().unwrap(), 100.6e6, 0.01);
    assert!(gemms["computed"].as_str().unwrap().contains("(51% of peak FLOP/s)"), "{gemms}");
    // AITER is on: its operators are in the trace.
    assert!(!gemms["change"].as_str().unwrap().contains("USE_AITER"), "{gemms}");
}

/// Two MI300X share one link of 64 GB/s: 73 messages of 15,360 × 4,096 in bf16 are 9.19 GB, 144 ms, more than the
/// 83.5 ms that the lower bound shrinks by: it may not pay.
#[test]
#[ignore = "needs the corpus"]
fn two_devices_without_a_switch_share_one_link() {
    let answer = sglang_prefill();
    let devices = of_rule(&answer, "tensor_parallel").unwrap();
    assert!(devices["gain_ns"].is_null(), "{devices}");
    assert!(devices["evidence"].to_string().contains("and 144 ms for their bytes"), "{devices}");
    let model = config("meta-llama--Meta-Llama-3.1-70B");
    let seconds = |tp: &str| -> f64 {
        let args = ["cost", &model, "--hardware", "mi300x", "--tp", tp, "--prefill", "8k"];
        let answer = json(&args);
        answer["phases"][0]["classes"]["comm.all_reduce"]["seconds"].as_f64().unwrap()
    };
    // 161 sums of 8,192 × 8,192 in bf16: each device sends the message once, or 2 · 7 / 8 of it.
    let message = 161.0 * 8192.0 * 8192.0 * 2.0;
    assert_near(seconds("2"), message / 64e9, 0.01);
    assert_near(seconds("8"), message * 1.75 / 448e9, 0.01);
}

/// `ProblemIDF16bDF16bDF16b…BlockAttentionQuantScaleEnumE0`: bf16, and 0 is no scale.
#[test]
#[ignore = "needs the corpus"]
fn a_cache_in_bf16_is_not_quantised() {
    let answer = sglang_prefill();
    let reason = answer["advice"]["not_computed"]["kv_quantisation"].as_str().unwrap_or_default();
    assert!(!reason.contains("already"), "{reason}");
}

/// 544 of 546 launches lie between `hipStreamBeginCapture` and its end.
#[test]
#[ignore = "needs the corpus"]
fn a_capture_is_called_one() {
    let trace = corpus(&format!("{INFERENCE}/sglang_decode/capture_traces/bs_32_rank0.json.gz"));
    let answer = json(&["advise", &trace]);
    let sentence = answer["verdict"].as_str().unwrap();
    assert!(sentence.starts_with("A graph capture: 544 of 546 launches"), "{sentence}");
    assert!(answer["advice"]["items"].as_array().unwrap().is_empty(), "{answer}");
}

/// The 231 ms lie in `CUDAGraphNode.record`; a function of the user that is called `_compile_model` lasts as long as
/// the trace and says nothing of them.
#[test]
#[ignore = "needs the corpus"]
fn a_gap_of_a_capture_is_not_compilation() {
    let trace = corpus(&format!("{INFERENCE}/xdit_flux.1/capture_traces/capture_trace_rank_0.json.gz"));
    let answer = json(&["advise", &trace]);
    let sentence = answer["verdict"].as_str().unwrap();
    assert!(sentence.contains("capture of a graph") && !sentence.contains("compil"), "{sentence}");
    // What a capture takes, no replay spares.
    let graphs =
        of_rule(&answer, "cuda_graphs").map_or(0.0, |item| item["gain_share"]["high"].as_f64().unwrap());
    assert!(graphs < 0.15, "{answer}");
}

/// All NCCL kernels of the trace are `SendRecv`: there are no gradients to sum.
#[test]
#[ignore = "needs the corpus"]
fn exchanges_are_not_advised_as_sums() {
    let trace = corpus("kineto/hta/negative_queue_length_values_check/rank0.json.gz");
    let answer = json(&["advise", &trace]);
    let change = of_rule(&answer, "overlap_communication").unwrap()["change"].as_str().unwrap().to_owned();
    assert!(change.contains("All-to-all") && !change.contains("bucket"), "{change}");
}

/// Every line of the ledger is on the screen, so that they add up to all of the time.
#[test]
#[ignore = "needs the corpus"]
fn the_lines_of_a_ledger_add_up_on_the_screen() {
    for trace in [
        "kineto/hta/negative_queue_length_values_check/rank0.json.gz",
        "kineto/hta/trace_diff/control/control.json.gz",
        "nsys/nsys-ai__mfu_2gpu_after.sqlite",
    ] {
        let screen = text(&["analyze", &corpus(trace)]);
        let lines = screen.lines().skip_while(|line| !line.starts_with("line ")).skip(1);
        let shares = lines.take_while(|line| !line.is_empty()).flat_map(|line| line.split_whitespace());
        let shares =
            shares.filter_map(|word| word.strip_suffix('%')?.trim_start_matches('<').parse::<f64>().ok());
        let sum: f64 = shares.sum();
        assert!((99.5..100.6).contains(&sum), "{trace}: {sum}\n{screen}");
    }
}

/// 118.5 / 77.08 is one change, whatever the table; the trace of one side is of a job of eight, the other's of two.
#[test]
#[ignore = "needs the corpus"]
fn a_change_has_one_value() {
    let (a, b) = (corpus("kineto/hta/trace_diff/control"), corpus("kineto/hta/trace_diff/test"));
    let screen = text(&["compare", &a, &b]);
    let row =
        |start: &str| screen.lines().find(|line| line.trim_start().starts_with(start)).unwrap().to_owned();
    assert!(row("step ").contains("+53.7%") && row("wall time").contains("+53.7%"), "{screen}");
    assert!(row("- busy").contains("likely, few steps"), "{screen}");
    let ranks = row("ranks");
    assert!(ranks.contains("1 of 8") && ranks.contains("1 of 2"), "{ranks}");
}

/// No attention is quicker than the best matmul that was measured on an MI300X.
#[test]
#[ignore = "needs the corpus"]
fn attention_is_no_quicker_than_matmuls() {
    let answer = sglang_prefill();
    let attention = of_rule(&answer, "attention_kernels").unwrap();
    let high = attention["step_gain_ns"]["high"].as_f64().unwrap();
    // 4.64 TFLOP in 20.08 ms.
    assert!(4.64e12 / (20.08e6 - high) * 1e9 < 1.01 * 668.4e12, "{attention}");
}
