//! A model that cannot have made a trace is refused.

use super::*;

const INFERENCE: &str = "kineto/tracelens/inference";
const B200: &str = "kineto/tracelens/b200/eager_trace.json.gz";

fn analyze(trace: &str, model: &str, more: &[&str]) -> Answer {
    let (trace, model) = (corpus(trace), config(model));
    let args = ["analyze", &trace, "--model", &model, "--context", "1024", "--format", "json"];
    run(&[&args, more].concat())
}

#[test]
#[ignore = "needs the corpus"]
fn expert_03_a_model_with_other_layers_is_refused() {
    let trace = format!("{INFERENCE}/vllm_decode_full/graph_execution.json.gz");
    let answer = analyze(&trace, "openai--gpt-oss-120b", &["--hardware", "mi300x"]);
    answer.fails(2, "attention in 24 layers per step, the model in 36").fails(2, "--force");
    let forced = analyze(&trace, "openai--gpt-oss-120b", &["--hardware", "mi300x", "--force"]);
    assert_eq!(forced.code, 0, "{}", forced.stderr);
}

/// Every model of the corpus with a trace of another: refused. With its own: not.
#[test]
#[ignore = "needs the corpus"]
fn newcomer_12_a_wrong_model_is_never_accepted() {
    let own = [
        ("vllm_decode_full/graph_execution.json.gz", "openai--gpt-oss-20b"),
        ("vllm_prefilldecode_piecewise/graph_execution.json.gz", "openai--gpt-oss-20b"),
        ("sglang_decode/sglang_Qwen3-8B_decode.json.gz", "Qwen--Qwen3-8B"),
        ("sglang_prefilldecode/sglang_Qwen3-8B_prefilldecode.json.gz", "Qwen--Qwen3-8B"),
    ];
    let models = [
        "openai--gpt-oss-20b",
        "openai--gpt-oss-120b",
        "Qwen--Qwen3-8B",
        "Qwen--Qwen3-14B",
        "meta-llama--Meta-Llama-3.1-8B",
        "mistralai--Mixtral-8x7B-v0.1",
        "Qwen--Qwen3-30B-A3B",
        "nvidia--Nemotron-H-56B-Base-8K",
    ];
    for (trace, right) in own {
        for model in models {
            let answer = analyze(&format!("{INFERENCE}/{trace}"), model, &["--hardware", "mi300x"]);
            let expected = if model == right { 0 } else { 2 };
            assert_eq!(answer.code, expected, "{trace} {model}: {}", answer.stderr);
        }
    }
    for (model, expected) in [("openai--gpt-oss-120b", 0), ("openai--gpt-oss-20b", 2), ("Qwen--Qwen3-8B", 2)]
    {
        let answer = analyze(B200, model, &[]);
        assert_eq!(answer.code, expected, "{model}: {}", answer.stderr);
    }
}

/// The trace names its device and its eight ranks: both are used without asking.
#[test]
#[ignore = "needs the corpus"]
fn newcomer_12_the_device_and_the_ranks_of_the_trace_are_used() {
    let without = json(&["analyze", &corpus(B200)]);
    let reason = without["ledger"]["not_computed"]["floor"].as_str().unwrap();
    assert!(reason.starts_with("no model was given"), "{reason}");
    let answer = analyze(B200, "openai--gpt-oss-120b", &[]);
    let found: Json = serde_json::from_str(&answer.stdout).unwrap();
    assert!(found["ledger"]["floor_of"]["device"].as_str().unwrap().contains("B200"));
    let operators = found["ledger"]["phases"][0]["operators"].as_array().unwrap();
    let qkv = operators.iter().find(|row| row["operator"].as_str().unwrap().contains("qkv_proj")).unwrap();
    // 64 heads of queries and 8 of keys and values of 64, over 8 ranks, from 2,880: 36 layers, 888 tokens.
    let right = 2.0 * 888.0 * 2880.0 * ((64.0 + 2.0 * 8.0) * 64.0 / 8.0) * 36.0;
    assert_near(qkv["flops"].as_f64().unwrap(), right, 1e-9);
    analyze(B200, "openai--gpt-oss-120b", &["--tp", "16"])
        .fails(2, "the job has only 8 ranks, too few for --tp 16");
}
