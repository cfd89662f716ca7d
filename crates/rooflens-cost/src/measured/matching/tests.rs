//! By hand, on a Llama of two layers: h 128, 4 heads of 32, 2 of keys and values, d_ff 256, vocabulary 512.

use super::*;
use crate::hardware::Catalog;
use crate::measured::Shape;
use crate::step::Step;

const LLAMA: &[u8] = br#"{"model_type": "llama", "hidden_size": 128, "intermediate_size": 256,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
    "vocab_size": 512, "torch_dtype": "bfloat16", "tie_word_embeddings": false}"#;

fn model() -> Model {
    Model::from_json(LLAMA).unwrap()
}

fn ran(needed: Vec<Step>, padded: Vec<Step>) -> Ran {
    Ran { shape: Shape { phase: RunPhase::Decode, needed, padded, pictures: None }, dur_ns: 1 }
}

fn product(layer: Option<u32>, part: &str, module: &str, flops: u128) -> Traced {
    Traced {
        phase: RunPhase::Decode,
        layer,
        part: part.to_owned(),
        module: module.to_owned(),
        operator: "aten::linear".to_owned(),
        count: 1,
        flops: Some(flops),
        heads: None,
        kv_elements: 0,
        is_fp32: false,
        ns: 100,
    }
}

/// What eager Transformers multiplies in a step of `rows` rows that each see `keys` keys.
fn traced(rows: u128, keys: u128) -> Vec<Traced> {
    let mut found = Vec::new();
    for layer in 0..2 {
        let mut add = |part: &str, module: &str, flops: u128| {
            found.push(product(Some(layer), part, &format!("model.layers.{layer}.{module}"), flops));
        };
        add("attention.projections", "self_attn.q_proj", 2 * rows * 128 * 128);
        add("attention.projections", "self_attn.k_proj", 2 * rows * 128 * 64);
        add("attention.projections", "self_attn.v_proj", 2 * rows * 128 * 64);
        add("attention.core", "self_attn", 2 * rows * keys * 4 * 64);
        add("attention.projections", "self_attn.o_proj", 2 * rows * 128 * 128);
        add("mlp", "mlp.gate_proj", 2 * rows * 128 * 256);
        add("mlp", "mlp.up_proj", 2 * rows * 128 * 256);
        add("mlp", "mlp.down_proj", 2 * rows * 256 * 128);
    }
    found.push(product(None, "lm_head", "lm_head", 2 * rows * 128 * 512));
    found
}

fn matched(steps: &[Ran], traced: &[Traced]) -> PhaseMatches {
    let h100 = Catalog::embedded().find("h100").cloned().unwrap();
    let mut found =
        matches(&model(), &Setup::default(), Some(&h100), steps, traced, TimelineSide::Host, false);
    found.phases.remove(&RunPhase::Decode).unwrap()
}

fn operator<'a>(found: &'a PhaseMatches, name: &str) -> &'a OperatorMatch {
    found.operators.iter().find(|operator| operator.name == name).unwrap()
}

#[test]
fn every_product_is_an_operator() {
    let step = vec![Step::decode(3, 9)];
    let found = matched(&[ran(step.clone(), step)], &traced(3, 10));
    assert!(found.equal, "{found:#?}");
    assert_eq!((found.matched_flops, found.variants.len()), (found.static_flops, 0));
    let qkv = operator(&found, "qkv_proj");
    assert_eq!((qkv.layers, qkv.layers_matched, qkv.calls, qkv.measured_ns), (2, 2, 6, Some(600)));
    assert_eq!(qkv.flops, 2 * 2 * 3 * 128 * 256);
    let modules: Vec<&str> = qkv.modules.iter().map(String::as_str).collect();
    assert_eq!(modules, ["self_attn.k_proj", "self_attn.q_proj", "self_attn.v_proj"]);
    // The same number of operations as a product of queries: order and name tell them apart.
    assert_eq!(operator(&found, "o_proj").modules, BTreeSet::from(["self_attn.o_proj".to_owned()]));
    let share = qkv.floor_ns.unwrap() / 600.0;
    assert_eq!(qkv.floor_share, Some(share));
}

#[test]
fn what_fits_nowhere_is_listed() {
    let step = vec![Step::decode(3, 9)];
    let mut products = traced(3, 10);
    // A row more in one matrix, one that the model does not have, and one of unknown size.
    products[5].flops = Some(2 * 4 * 128 * 256);
    products.push(product(Some(1), "mlp", "model.layers.1.mlp.adapter", 77));
    products.push(Traced { flops: None, ..product(None, "other", "visual", 0) });
    let found = matched(&[ran(step.clone(), step)], &products);
    assert!(!found.equal);
    let left: Vec<&str> = found.unmatched.iter().map(|one| one.module.as_str()).collect();
    let expected = [
        "model.layers.0.mlp.gate_proj",
        "model.layers.0.mlp.up_proj",
        "model.layers.1.mlp.adapter",
        "visual",
    ];
    assert_eq!(left, expected);
    let wrong = operator(&found, "gate_up_proj");
    assert_eq!((wrong.layers, wrong.layers_matched, wrong.floor_share), (2, 1, None));
    assert_eq!(found.static_flops - found.matched_flops, 2 * 2 * 3 * 128 * 256);
}

#[test]
fn padding_is_priced() {
    // Two sequences that see 10 and 4 keys go through the model as two that see 10.
    let needed = vec![Step::decode(1, 9), Step::decode(1, 3)];
    let found = matched(&[ran(needed, vec![Step::decode(2, 9)])], &traced(2, 10));
    assert!(found.equal);
    let [padded] = found.variants.as_slice() else { panic!("{:?}", found.variants) };
    assert_eq!((padded.variant.as_str(), padded.layers), ("padded", 2));
    assert_eq!(padded.extra_flops, 2 * 2 * 6 * 4 * 64);
    let rate = Catalog::embedded().find("h100").unwrap().matmul_peak(model().dtype).unwrap().flops_per_s;
    assert_eq!(padded.extra_ns, Some((2 * 2 * 6 * 4 * 64) as f64 / rate * 1e9));
}

#[test]
fn copies_of_keys_and_products_in_fp32_are_priced() {
    let step = vec![Step::decode(1, 9)];
    let mut products = traced(1, 10);
    for product in products.iter_mut().filter(|product| product.part == "attention.core") {
        (product.heads, product.kv_elements) = (Some((4, 4)), 4 * 10 * 64);
    }
    products[7].is_fp32 = true;
    let found = matched(&[ran(step.clone(), step)], &products);
    let names: Vec<(&str, u64)> =
        found.variants.iter().map(|one| (one.variant.as_str(), one.layers)).collect();
    assert_eq!(names, [("kv_expanded", 2), ("fp32", 1)]);
    // Half of the heads are copies: two bytes each, written and read, in two layers.
    assert_eq!(found.variants[0].extra_bytes, 2 * (2 * 10 * 64) * 2 * 2);
    assert!(found.variants[1].extra_ns.unwrap() > 0.0);
}

#[test]
fn without_modules_all_are_matched_together() {
    let step = vec![Step::decode(3, 9)];
    let mut products = traced(3, 10);
    for product in &mut products {
        (product.layer, product.part, product.module) = (None, "other".to_owned(), String::new());
    }
    let found = matched(&[ran(step.clone(), step)], &products);
    assert!(found.equal, "{:?}", found.unmatched);
    let qkv = operator(&found, "qkv_proj");
    assert_eq!((qkv.layers_matched, qkv.alone, qkv.measured_ns), (2, false, None));
    assert_eq!(qkv.matched_flops, qkv.flops);
    // The head has as many operations as gate and up of a layer: that is no sign of who is who.
    assert!(!operator(&found, "lm_head").alone);
}
