//! DeepSeek-OCR's decoder against the closed forms that reproduce 24 published counts to the FLOP, and the
//! bytes that its kin keep for each token.

use rooflens_cost::families;
use rooflens_cost::model::Model;
use rooflens_cost::parallel::Parallel;
use rooflens_cost::step::Step;

use crate::common::{pass, tally};

/// What of the published file says what the decoder is made of.
const CONFIG: &[u8] = br#"{
    "architectures": ["DeepseekOCRForCausalLM"], "model_type": "deepseek_vl_v2", "torch_dtype": "bfloat16",
    "language_config": {
        "hidden_size": 1280, "intermediate_size": 6848, "moe_intermediate_size": 896,
        "num_hidden_layers": 12, "num_attention_heads": 10, "num_key_value_heads": 10,
        "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6,
        "first_k_dense_replace": 1, "moe_layer_freq": 1, "n_group": 1, "topk_group": 1, "topk_method": "greedy",
        "use_mla": false, "kv_lora_rank": null, "q_lora_rank": null, "qk_nope_head_dim": 0,
        "qk_rope_head_dim": 0, "v_head_dim": 0, "vocab_size": 129280
    }
}"#;

const HIDDEN: u128 = 1280;
const LAYERS: u128 = 12;

fn read(config: &[u8]) -> Model {
    families::read(&rooflens_cost::config::parse(config).unwrap(), None, None).unwrap().model
}

/// FLOPs of a token without attention: projections, dense layer, experts and router, head.
fn token() -> u128 {
    let experts = 6 * HIDDEN * 896 * (6 + 2) + 2 * HIDDEN * 64;
    let token = LAYERS * 8 * HIDDEN * HIDDEN + 6 * HIDDEN * 6848 + 11 * experts + 2 * HIDDEN * 129_280;
    assert_eq!(token, 1_148_190_720);
    token
}

#[test]
fn prefill_is_the_closed_form() {
    let model = read(CONFIG);
    for tokens in [1_u64, 64, 903, 2048, 39_423] {
        let counted = tally(&model, Step::prefill(1, tokens, 0)).work().flops.as_counted;
        let new = u128::from(tokens);
        let attention = 4 * new * new * HIDDEN * LAYERS;
        assert_eq!(counted, token() * new + attention + 128 * LAYERS * new, "{tokens} tokens");
    }
}

#[test]
fn decode_is_the_closed_form() {
    let model = read(CONFIG);
    for (context, steps) in [(493_u64, 100_u64), (903, 64), (10_373, 1)] {
        let counted: u128 =
            (0..steps).map(|i| tally(&model, Step::decode(1, context + i)).work().flops.as_counted).sum();
        let closed: u128 = (1..=u128::from(steps))
            .map(|i| token() + 4 * (u128::from(context) + i) * HIDDEN * LAYERS + 128 * LAYERS)
            .sum();
        assert_eq!(counted, closed, "{steps} steps after {context} tokens");
    }
}

#[test]
fn the_rotary_table_is_counted_but_not_needed() {
    let tally = tally(&read(CONFIG), Step::decode(1, 0));
    let table = tally.rows.iter().find(|row| row.operator.class == "rope").unwrap();
    assert_eq!((table.operator.work.flops.as_counted, table.operator.work.flops.useful), (128, 0));
}

#[test]
fn parameters_are_the_published_ones() {
    let parameters = read(CONFIG).language_parameters();
    // 3,170,627,840 published without head, of which 401,372,160 are the tower's and the projector's.
    assert_eq!(parameters.stored, 3_170_627_840 - 401_372_160 + 129_280 * HIDDEN);
    assert_eq!(parameters.routed, 2_422_210_560);
}

/// Bytes that a token adds to the cache of one device, in bfloat16.
fn kept(model: &Model, parallel: Parallel) -> u128 {
    let pass = pass(Step::decode(1, 1), parallel, 0);
    let of = |units: &[rooflens_cost::units::Unit]| -> u128 {
        units.iter().map(|unit| unit.kept(&pass).bytes_per_token).sum()
    };
    model.kinds.iter().map(|kind| kind.at.len() as u128 * of(&kind.layer.units)).sum()
}

#[test]
fn a_token_keeps_what_it_must() {
    assert_eq!(kept(&read(CONFIG), Parallel::NONE), 61_440);
    let shape = |heads: u64, experts: u64| {
        format!(
            r#"{{"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61,
            "num_attention_heads": {heads}, "n_routed_experts": {experts}, "vocab_size": 129280}}"#
        )
    };
    for (heads, experts) in [(128, 256), (64, 384)] {
        let model = read(shape(heads, experts).as_bytes());
        assert_eq!(kept(&model, Parallel::NONE), 70_272);
        // Latent vectors have no heads: every device of tensor parallelism keeps all of it.
        assert_eq!(kept(&model, Parallel { tp: 8, ..Parallel::NONE }), 70_272);
    }
}

#[test]
fn the_layer_that_drafts_is_stored_and_not_counted() {
    let config = br#"{"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61,
        "num_attention_heads": 128, "vocab_size": 129280, "num_nextn_predict_layers": 1}"#;
    let model = read(config);
    assert_eq!(model.parameters().stored, 671_026_404_352);
    // A sparse layer, the projection of two states to one, and three norms: 11.5 B beside what is shared.
    let layer = 187_107_328 + 7168 * 256 + 257 * 3 * 7168 * 2048 + 2 * 7168;
    assert_eq!(model.draft_parameters(), layer + 2 * 7168 * 7168 + 3 * 7168);
}
