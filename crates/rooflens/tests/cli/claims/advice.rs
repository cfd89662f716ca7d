//! Advice that an expert would sign.

use super::*;

const DECODE: &str = "kineto/tracelens/inference/vllm_decode_full/graph_execution.json.gz";
const PREFILL: &str = "kineto/tracelens/inference/sglang_prefilldecode/sglang_Qwen3-8B_prefilldecode.json.gz";
const EAGER: &str = "kineto/tracelens/b200/eager_trace.json.gz";

/// `advise` on a trace of the corpus, with the model that ran.
fn advise(trace: &str, model: &str) -> Json {
    json(&["advise", &corpus(trace), "--model", &config(model), "--hardware", "mi300x"])
}

fn items(answer: &Json) -> &[Json] {
    answer["advice"]["items"].as_array().unwrap()
}

fn of_rule<'a>(answer: &'a Json, rule: &str) -> Option<&'a Json> {
    items(answer).iter().find(|item| item["rule"] == rule)
}

fn words<'a>(item: &'a Json, key: &str) -> &'a str {
    item[key].as_str().unwrap()
}

fn all_words(answer: &Json) -> String {
    answer["advice"]["items"].to_string()
}

#[test]
#[ignore = "needs the corpus"]
fn expert_11_moe_kernels_at_27_percent_of_hbm_bandwidth_come_first() {
    let answer = advise(DECODE, "openai--gpt-oss-20b");
    let first = &items(&answer)[0];
    assert_eq!((words(first, "rule"), words(first, "kind")), ("moe_kernels", "kernel"));
    // `matmul_ogs`: 7.03 ms for 10.1 GB is 1.44 TB/s of 5.3.
    assert!(
        words(first, "title").starts_with(
            "The largest MoE kernels (92% of the time of all MoE kernels) reach 27% of memory bandwidth (1.44 TB/s of 5.3"
        ),
        "{first}"
    );
    assert!(first["evidence"].to_string().contains("_matmul_ogs"), "{first}");
    // 7.03 less 1.91 ms: about 5 of 10.7 ms.
    assert_near(first["acts_on_ns"].as_f64().unwrap(), 5.12e6, 0.02);
    let gain = first["step_gain_ns"]["high"].as_f64().unwrap();
    assert!((4.0e6..5.2e6).contains(&gain), "{first}");
}

#[test]
#[ignore = "needs the corpus"]
fn expert_11_gemms_of_a_prefill_come_first_at_their_share_of_peak() {
    let answer = advise(PREFILL, "Qwen--Qwen3-8B");
    let first = &items(&answer)[0];
    assert_eq!((words(first, "rule"), words(first, "phase")), ("gemm_kernels", "prefill"));
    // gate_up, 4096 x 24576: 2 * 15360 * 4096 * 24576 * 36 operations in 243.6 ms, of 1307 TFLOP/s.
    let evidence = first["evidence"].to_string();
    assert!(evidence.contains("457 TFLOP/s (35% of peak)"), "{evidence}");
    assert!(words(first, "change").contains("TUNABLEOP"), "{first}");
}

#[test]
#[ignore = "needs the corpus"]
fn expert_12_nothing_that_inductor_made_is_to_be_compiled() {
    let answer = advise(DECODE, "openai--gpt-oss-20b");
    assert!(of_rule(&answer, "fusion").is_none());
    assert!(of_rule(&answer, "cuda_graphs").is_none(), "the step is one graph replay");
    assert!(!all_words(&answer).contains("torch.compile"), "{answer}");
    assert!(of_rule(&answer, "weight_quantisation").is_none(), "the experts are in MXFP4");
}

#[test]
#[ignore = "needs the corpus"]
fn expert_13_padding_for_mxfp4_is_the_engines_own() {
    let answer = advise(DECODE, "openai--gpt-oss-20b");
    assert!(of_rule(&answer, "copy_operators").is_none());
    assert!(!all_words(&answer).contains("repeat_kv"));
    let experts = of_rule(&answer, "moe_kernels").unwrap()["evidence"].to_string();
    assert!(experts.contains("constant_pad_nd_moe_forward"), "{experts}");
    assert!(experts.contains("pads the hidden size"), "{experts}");
}

#[test]
#[ignore = "needs the corpus"]
fn expert_14_an_eager_step_is_to_be_captured_or_compiled() {
    let answer = json(&["advise", &corpus(EAGER)]);
    let first = &items(&answer)[0];
    assert_eq!((words(first, "rule"), words(first, "phase")), ("cuda_graphs", "prefill"));
    assert!(words(first, "title").contains("or compile"));
    // Idle is 86.3 %; the host is in operators and launches for most of it.
    let (low, high) = (&first["gain_share"]["low"], &first["gain_share"]["high"]);
    assert!(low.as_f64().unwrap() > 0.55 && high.as_f64().unwrap() < 0.863, "{first}");
    let change = words(first, "change");
    for word in ["piecewise", "--max-cudagraph-capture-size"] {
        assert!(change.contains(word), "{word}: {change}");
    }
    // 888 tokens are within the 1,024 that vLLM captures of gpt-oss by default.
    assert!(!change.contains("512") && !change.contains("888"), "{change}");
    assert!(first["evidence"].to_string().contains("attention operators, which stay outside"), "{first}");
    assert!(!all_words(&answer).contains("sleeps"), "{answer}");
}

#[test]
#[ignore = "needs the corpus"]
fn expert_15_changes_to_the_model_have_their_own_heading() {
    let (trace, model) = (corpus(DECODE), config("openai--gpt-oss-20b"));
    let args = ["advise", &trace, "--model", &model, "--hardware", "mi300x", "--limit", "20"];
    for format in ["text", "md"] {
        let mut args = args.to_vec();
        args.extend(["--format", format]);
        let page = text(&args);
        let heading = page.find("Changes to the model's design").expect(format);
        let (before, after) = page.split_at(heading);
        assert!(after.contains("KV heads"), "{page}");
        assert!(!before.contains("KV heads"), "{page}");
    }
    let answer = advise(DECODE, "openai--gpt-oss-20b");
    let kinds: Vec<&str> = items(&answer).iter().map(|item| words(item, "kind")).collect();
    let first = kinds.iter().position(|kind| *kind == "design").unwrap();
    assert!(first >= 3 && kinds[first..].iter().all(|kind| *kind == "design"), "{kinds:?}");
}

#[test]
#[ignore = "needs the corpus"]
fn expert_16_more_devices_pay_for_all_reduces_and_batches_for_no_artefact() {
    let answer = advise(DECODE, "openai--gpt-oss-20b");
    let shared = of_rule(&answer, "tensor_parallel").unwrap()["evidence"].to_string();
    // 24 layers, two each: 48 at 5 to 20 µs.
    assert!(shared.contains("it adds 48 collectives per step: 240 µs to 960 µs"), "{shared}");
    // 463 ms of the trace of SGLang's decode step are the recording's: kernels take 9.8.
    let trace = "kineto/tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz";
    let answer = advise(trace, "Qwen--Qwen3-8B");
    for item in items(&answer) {
        if let Some(gain) = item["step_gain_ns"]["high"].as_f64() {
            assert!(gain < 12e6, "{item}");
        }
    }
    // Nor do they hide what the step itself could gain.
    assert_eq!(words(&items(&answer)[0], "rule"), "gemm_kernels");
}

#[test]
fn expert_17_every_kind_of_loss_has_a_rule() {
    let rules = text(&["list", "rules"]);
    for rule in [
        "moe_kernels",
        "gemm_kernels",
        "attention_kernels",
        "warmup_step",
        "profiler_overhead",
        "model_mismatch",
    ] {
        assert!(rules.contains(rule), "{rule}: {rules}");
    }
}

#[test]
#[ignore = "needs the corpus"]
fn expert_17_what_the_profiler_cost_is_told() {
    let answer = json(&["advise", &corpus(EAGER)]);
    let item = of_rule(&answer, "profiler_overhead").unwrap();
    assert_eq!(words(item, "kind"), "recording");
    assert!(item["gain_ns"].is_null());
    assert!(item["evidence"].to_string().contains("12,400 Python functions"), "{item}");
    assert!(words(item, "change").contains("with_stack=False"));
}

#[test]
#[ignore = "needs the corpus"]
fn expert_17_scores_in_memory_are_for_a_fused_kernel() {
    // 120 softmaxes of 262.4 ms between batched products of 229.7 ms: eager attention.
    let answer = json(&[
        "advise",
        &corpus("kineto/tracelens/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz"),
    ]);
    let item = of_rule(&answer, "fused_attention").unwrap();
    assert_near(item["acts_on_ns"].as_f64().unwrap(), 262.4e6, 1e-3);
    assert_near(item["gain_ns"]["low"].as_f64().unwrap(), 131.2e6, 1e-3);
    assert!(words(item, "change").contains("scaled_dot_product_attention"), "{item}");
}

#[test]
#[ignore = "needs the corpus"]
fn expert_17_volta_has_tensor_cores_for_fp16_alone() {
    let trace = "kineto/hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz";
    let answer = json(&["advise", &corpus(trace)]);
    assert_eq!(of_rule(&answer, "dtype").unwrap()["title"], "Compute in fp16 instead of fp32");
    assert!(of_rule(&answer, "tensor_cores").is_none(), "{answer}");
    assert!(!all_words(&answer).contains("bfloat16"), "{answer}");
}

#[test]
#[ignore = "needs the corpus"]
fn expert_17_a_launch_that_loads_its_kernel_is_a_warm_up() {
    // `hipLaunchKernel` covers 6.54 of 8.32 ms, and most of 1.06 s: no graph wins that back.
    for (trace, most) in [
        ("kineto/hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz", 0.3),
        ("kineto/tracelens/perf_model/normalization/normalization_layer_test.json.gz", 0.1),
    ] {
        let answer = json(&["advise", &corpus(trace)]);
        assert_eq!(items(&answer)[0]["rule"], "warmup_step", "{answer}");
        let graphs =
            of_rule(&answer, "cuda_graphs").map_or(0.0, |item| item["gain_share"]["high"].as_f64().unwrap());
        assert!(graphs < most, "{trace}: {graphs}");
    }
}

#[test]
#[ignore = "needs the corpus"]
fn expert_17_copies_that_take_nearly_all_of_the_time_come_first() {
    // 1.88 of 1.94 s; the memory is pinned already.
    let answer = json(&["advise", &corpus("nsys/nsys-ai__h100_2gpu_1s.sqlite")]);
    let first = &items(&answer)[0];
    assert_eq!((first["rule"].as_str().unwrap(), &first["gain_ns"]), ("host_copies", &Json::Null));
    assert!(words(first, "title").starts_with("Copy less between host and device: it takes 9"), "{first}");
    assert!(!all_words(&answer).contains("pin_memory"), "{answer}");
}

#[test]
#[ignore = "needs the corpus"]
fn expert_09_a_collective_far_below_the_links_is_likely_a_wait() {
    // 17.6 MB in 8.93 ms, one rank of its job: 3 GB/s.
    let answer = json(&["advise", &corpus("kineto/tracelens/mi300/resnet_act_checkpoint.json.gz")]);
    let item = of_rule(&answer, "overlap_communication").unwrap();
    assert!(item["evidence"].to_string().contains("likely waiting for another rank"), "{item}");
    assert!(
        words(item, "change").contains("DistributedDataParallel") && !words(item, "change").contains("vLLM")
    );
}

#[test]
#[ignore = "needs the corpus"]
fn no_range_is_wider_than_ten_to_one_and_none_exceeds_what_it_acts_on() {
    for (trace, model) in [(DECODE, "openai--gpt-oss-20b"), (PREFILL, "Qwen--Qwen3-8B")] {
        for item in items(&advise(trace, model)) {
            let Some(high) = item["gain_ns"]["high"].as_f64() else { continue };
            let low = item["gain_ns"]["low"].as_f64().unwrap();
            assert!(high <= 10.0 * low && high <= item["acts_on_ns"].as_f64().unwrap(), "{item}");
        }
    }
}

/// Of 1,068 ms of idle time, 1,058 are in 21 gaps of first calls. What a graph can save is in the other 9.5 ms.
#[test]
#[ignore = "needs the corpus"]
fn first_calls_outside_of_steps_are_no_gain_of_a_graph() {
    let trace = "kineto/tracelens/perf_model/normalization/normalization_layer_test.json.gz";
    let answer = json(&["advise", &corpus(trace)]);
    let gain = of_rule(&answer, "cuda_graphs").and_then(|item| item["gain_ns"]["high"].as_f64());
    assert!(gain.is_none_or(|ns| ns <= 9.5e6), "{gain:?}");
}

#[test]
#[ignore = "needs the corpus"]
fn what_is_compiled_is_not_to_be_compiled() {
    let answer = json(&["advise", &corpus("kineto/hta/df_index_resolver/df_index_resolver.json.gz")]);
    let graphs = of_rule(&answer, "cuda_graphs").unwrap();
    assert!(words(graphs, "title").starts_with("Replay each step"), "{graphs}");
}
