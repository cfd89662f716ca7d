//! What checkpoints say about their weights, in each dialect.

use rooflens_cost::blueprint::Blueprint;
use rooflens_cost::model::Model;
use rooflens_cost::precision::{Dtype, Storage};
use rooflens_cost::units::Unit;
use serde_json::{Value, json};

/// A llama or mixture of two layers with a quantisation of its own.
fn config(model_type: &str, quantisation: Value) -> Vec<u8> {
    let config = json!({
        "model_type": model_type, "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 512, "vocab_size": 1000, "head_dim": 64,
        "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 128,
        "torch_dtype": "bfloat16", "quantization_config": quantisation,
    });
    let mut config = config;
    if model_type == "llama" {
        for key in ["num_experts", "num_experts_per_tok", "moe_intermediate_size"] {
            config.as_object_mut().unwrap().remove(key);
        }
    }
    serde_json::to_vec(&config).unwrap()
}

fn model(config: &[u8], side: Option<Value>) -> Model {
    let side = side.map(|side| serde_json::to_vec(&side).unwrap());
    Blueprint::new(config, side.as_deref()).unwrap().model().unwrap()
}

/// How the weights of an operator of a layer are stored.
fn stored(model: &Model, layer: u32, name: &str) -> Storage {
    let kind = model.kinds.iter().find(|kind| kind.at.contains(&layer)).unwrap();
    let units = kind.layer.units.iter().chain(&model.after);
    let found = units.filter_map(|unit| match unit {
        Unit::Linear(linear) => Some((linear.name, linear.storage)),
        Unit::Experts(experts) => Some(("experts", experts.storage)),
        _ => None,
    });
    found.into_iter().find(|(known, _)| *known == name).unwrap().1
}

fn bits(model: &Model, name: &str) -> f64 {
    stored(model, 0, name).bits_per_element()
}

#[test]
fn bits_of_a_weight() {
    let of = |quantisation: Value| bits(&model(&config("llama", quantisation), None), "down_proj");
    let near = |value: f64, wanted: f64| assert!((value - wanted).abs() < 0.0005, "{value} is not {wanted}");
    near(of(json!({"quant_method": "fp8", "weight_block_size": [128, 128]})), 8.002);
    near(of(json!({"quant_method": "fp8"})), 8.0);
    near(of(json!({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": true})), 4.125);
    near(of(json!({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": false})), 4.156);
    near(of(json!({"quant_method": "gptq", "bits": 8, "group_size": -1})), 8.0);
    near(of(json!({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true})), 4.156);
    near(of(json!({"quant_method": "bitsandbytes", "load_in_4bit": true})), 4.5);
    let compressed = |weights: Value, activations: Value| {
        of(json!({"quant_method": "compressed-tensors", "ignore": ["lm_head"], "config_groups": {
            "group_0": {"targets": ["Linear"], "weights": weights, "input_activations": activations}}}))
    };
    near(
        compressed(json!({"num_bits": 4, "type": "int", "group_size": 32, "symmetric": true}), Value::Null),
        4.5,
    );
    near(compressed(json!({"num_bits": 4, "type": "float", "group_size": 32}), Value::Null), 4.25);
    near(compressed(json!({"num_bits": 4, "type": "float", "group_size": 16}), json!({"num_bits": 4})), 4.5);
    near(
        compressed(json!({"num_bits": 8, "type": "float", "strategy": "channel"}), json!({"num_bits": 8})),
        8.0,
    );
}

#[test]
fn weights_alone_are_widened_to_be_multiplied() {
    let compute =
        |quantisation: Value| stored(&model(&config("llama", quantisation), None), 0, "o_proj").compute;
    assert_eq!(compute(json!({"quant_method": "gptq", "bits": 4, "group_size": 128})), Dtype::Bf16);
    assert_eq!(compute(json!({"quant_method": "fp8"})), Dtype::Fp8);
    let int8 = json!({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"targets": ["Linear"],
        "weights": {"num_bits": 8, "type": "int"}, "input_activations": {"num_bits": 8, "type": "int"}}}});
    assert_eq!(compute(int8), Dtype::Int8);
}

#[test]
fn what_is_left_alone() {
    let bf16 = Storage::plain(Dtype::Bf16);
    // The head, the router and the embedding are not quantised, listed or not.
    let fp8 =
        model(&config("qwen3_moe", json!({"quant_method": "fp8", "weight_block_size": [128, 128]})), None);
    assert_eq!(stored(&fp8, 0, "lm_head"), bf16);
    assert_eq!(stored(&fp8, 0, "router"), bf16);
    assert_eq!(stored(&fp8, 0, "experts").element, Dtype::Fp8);

    // Paths of single layers, shell patterns, regular expressions.
    let listed = |patterns: Value| {
        let quantisation = json!({"quant_method": "fp8", "modules_to_not_convert": patterns});
        model(&config("llama", quantisation), None)
    };
    let one = listed(json!(["model.layers.1.mlp.down_proj"]));
    assert_eq!(stored(&one, 0, "down_proj").element, Dtype::Fp8);
    assert_eq!(stored(&one, 1, "down_proj"), bf16);
    let starred = listed(json!(["model.layers.*.self_attn"]));
    assert_eq!(stored(&starred, 1, "qkv_proj"), bf16);
    assert_eq!(stored(&starred, 1, "down_proj").element, Dtype::Fp8);

    let ignored = json!({"quant_method": "compressed-tensors", "ignore": ["lm_head", "re:.*self_attn.*"],
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "group_size": 32}}}});
    let ignored = model(&config("qwen3_moe", ignored), None);
    assert_eq!(stored(&ignored, 0, "o_proj"), bf16);
    assert_eq!(stored(&ignored, 0, "experts").element, Dtype::Int4);

    let mxfp4 = json!({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]});
    let mxfp4 = model(&config("qwen3_moe", mxfp4), None);
    assert_eq!(stored(&mxfp4, 0, "experts").bits_per_element(), 4.25);
    assert_eq!(stored(&mxfp4, 0, "qkv_proj"), bf16);
}

#[test]
fn modelopt_stands_beside() {
    let plain = config("qwen3_moe", Value::Null);
    let side = json!({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "group_size": 16,
        "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head", "model.layers.0.self_attn*"]}});
    let nvfp4 = model(&plain, Some(side));
    assert_eq!(stored(&nvfp4, 0, "qkv_proj"), Storage::plain(Dtype::Bf16));
    assert_eq!(stored(&nvfp4, 1, "qkv_proj").bits_per_element(), 4.5);
    assert_eq!(stored(&nvfp4, 1, "experts").compute, Dtype::Fp4);
    assert_eq!(nvfp4.kv, Some(Dtype::Fp8));

    let mixed = json!({"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": {
        "model.layers.0.mlp.down_proj": {"quant_algo": "FP8"}}}});
    let mixed = model(&config("llama", Value::Null), Some(mixed));
    assert_eq!(stored(&mixed, 0, "down_proj").element, Dtype::Fp8);
    assert_eq!(stored(&mixed, 1, "down_proj").element, Dtype::Bf16);
}

#[test]
fn what_is_not_understood_is_refused() {
    for quantisation in [
        json!({"quant_method": "magic"}),
        json!({"quant_method": "gptq", "bits": 3}),
        json!({"quant_method": "compressed-tensors"}),
        json!({"quant_algo": "FP2"}),
    ] {
        let blueprint = Blueprint::new(&config("llama", quantisation.clone()), None).unwrap();
        assert!(blueprint.model().is_err(), "{quantisation}");
    }
}

#[test]
fn a_format_for_all_weights_replaces_the_checkpoints() {
    let mut blueprint = Blueprint::new(&config("qwen3_moe", json!({"quant_method": "fp8"})), None).unwrap();
    for (format, wanted) in [("bf16", 16.0), ("int4", 4.125), ("nvfp4", 4.5), ("mxfp4", 4.25), ("int8", 8.0)]
    {
        assert!(blueprint.weights(format));
        let model = blueprint.model().unwrap();
        assert_eq!(bits(&model, "experts"), wanted, "{format}");
        assert_eq!(bits(&model, "lm_head"), 16.0, "{format}");
    }
    assert!(!blueprint.weights("fp5"));
}
