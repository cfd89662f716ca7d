//! Lower bounds of a trace's kernels, class by class.

use super::*;

const VLLM_DECODE: &str = "kineto/tracelens/inference/vllm_decode_full/graph_execution.json.gz";

fn class<'a>(phase: &'a Json, name: &str) -> &'a Json {
    let classes = phase["classes"].as_array().unwrap();
    classes.iter().find(|class| class["class"] == name).unwrap()
}

fn first_phase(trace: &str, model: &str) -> Json {
    let (trace, model) = (corpus(trace), config(model));
    json(&["analyze", &trace, "--model", &model, "--hardware", "mi300x"])["ledger"]["phases"][0].take()
}

/// `rooflens cost openai--gpt-oss-20b.json --batch 32 --context 1721`: moe.routed 1.908 ms; attn.qkv, attn.o,
/// lm_head and moe.router, which a GEMM does, 0.136 + 0.109 + 0.221 + 0.002; attn.core 0.277 ms.
#[test]
#[ignore = "needs the corpus"]
fn expert_02_floors_are_the_class_s_own() {
    let phase = first_phase(VLLM_DECODE, "openai--gpt-oss-20b");
    for (name, ms) in [("moe", 1.91), ("gemm", 0.466), ("attention", 0.277)] {
        assert_near(class(&phase, name)["floor_ns"].as_f64().unwrap(), ms * 1e6, 0.005);
    }
    // Three classes, three shares: nothing is handed out in proportion to time.
    let share = |name: &str| class(&phase, name)["achieved"]["roof_share"].as_f64().unwrap();
    assert_near(share("moe"), 1.908 / 7.666, 0.002);
    assert_near(share("gemm"), 0.4675 / 1.231, 0.002);
}

/// 10.11 GB in 7.03 ms of `matmul_ogs` are 1.44 TB/s of 5.3; of the gate_up GEMM 111 TFLOP in 243.6 ms are 457
/// TFLOP/s of 1307.4.
#[test]
#[ignore = "needs the corpus"]
fn expert_11_kernels_have_their_achieved_rates() {
    let phase = first_phase(VLLM_DECODE, "openai--gpt-oss-20b");
    let kernels = phase["kernels"].as_array().unwrap();
    let ogs: Vec<&Json> =
        kernels.iter().filter(|row| row["name"].as_str().unwrap().contains("_matmul_ogs_")).collect();
    let sum = |key: &str| ogs.iter().map(|row| row[key].as_f64().unwrap()).sum::<f64>();
    let bytes: f64 = ogs.iter().map(|row| row["achieved"]["bytes"].as_f64().unwrap()).sum();
    assert_near(bytes / sum("ns"), 1.44e3, 0.005);
    assert_near(sum("floor_ns") / sum("ns"), 0.271, 0.01);

    let phase = first_phase(
        "kineto/tracelens/inference/sglang_prefilldecode/sglang_Qwen3-8B_prefilldecode.json.gz",
        "Qwen--Qwen3-8B",
    );
    let operators = phase["operators"].as_array().unwrap();
    let gate_up = operators.iter().find(|row| row["operator"] == "gate_up_proj").unwrap();
    assert_eq!(gate_up["count"], 36);
    assert_near(gate_up["flops_per_s"].as_f64().unwrap(), 457e12, 0.005);
    assert_near(gate_up["roof_share"].as_f64().unwrap(), 0.35, 0.01);
    assert_eq!(phase["model_layers"].as_array().unwrap().len(), 36);
}
