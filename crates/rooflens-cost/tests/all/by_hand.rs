//! Counted by hand: families that Transformers does not have, DeepSeek-OCR's decoder in the closed forms that reproduce
//! 24 published counts to the FLOP, and the bytes that sequences keep in bfloat16.

use rooflens_cost::Setup;
use rooflens_cost::memory::cache;
use rooflens_cost::parallel::Parallel;
use rooflens_cost::step::Step;

use crate::common::{model, pass, tally};

#[test]
fn mimo() {
    let model = model(
        r#"{"model_type": "mimo", "hidden_size": 40, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 12, "intermediate_size": 70, "vocab_size": 90, "attention_bias": true,
        "num_nextn_predict_layers": 1}"#,
    );
    // Queries, keys and values with biases, the output without; three matrices; two norms.
    let layer = 40 * (4 + 2 * 2) * 12 + (4 + 2 * 2) * 12 + 4 * 12 * 40 + 3 * 40 * 70 + 2 * 40;
    assert_eq!(model.parameters().stored, 2 * 90 * 40 + 3 * layer + 40);
    // A draft layer: the hidden state and the next token put together, two norms, a layer, a last norm.
    assert_eq!(model.draft_parameters(), 2 * 40 * 40 + 2 * 40 + layer + 40);
    let work = tally(&model, Step::prefill(2, 5, 0)).work();
    let matrices = 3 * (40 * 8 * 12 + 48 * 40 + 3 * 40 * 70) + 40 * 90;
    let attention = 3 * 2 * 4 * (12 + 12) * 5 * 5 * 2;
    assert_eq!(work.flops.as_counted, 2 * 10 * matrices + attention);
    // 15 of 25 pairs, and the logits of one row of each sequence.
    let unread_logits = 2 * (10 - 2) * 40 * 90;
    assert_eq!(work.flops.useful, 2 * 10 * matrices - unread_logits + attention * 15 / 25);
}

#[test]
fn nemotron_nas() {
    // A whole layer, one without attention, one with a matrix for attention and none after it.
    let model = model(
        r#"{"model_type": "nemotron-nas", "hidden_size": 96, "num_hidden_layers": 3, "num_attention_heads": 8,
        "num_key_value_heads": null, "vocab_size": 50, "block_configs": [
            {"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": 2.5}},
            {"attention": {"no_op": true}, "ffn": {"ffn_mult": 5.25}},
            {"attention": {"replace_with_linear": true}, "ffn": {"no_op": true}}]}"#,
    );
    // int(2 * 2.5 * 96 / 3) = 160 and int(2 * 5.25 * 96 / 3) = 336, rounded up to multiples of 256.
    let whole = 96 * (8 + 2 * 2) * 12 + 96 * 96 + 3 * 96 * 256 + 2 * 96;
    let without_attention = 3 * 96 * 512 + 96;
    let with_a_matrix = 96 * 96 + 96;
    assert_eq!(model.parameters().stored, 2 * 50 * 96 + whole + without_attention + with_a_matrix + 96);
    assert_eq!(model.kinds.len(), 3);
    // Only the first layer keeps anything: two key heads of 12, twice, in 16 bits.
    let cache = cache(&model, &Setup::default());
    assert_eq!(cache.bytes_per_token, 2 * 2 * 12 * 2);
}

/// What of the published file says what the decoder is made of.
const CONFIG: &str = r#"{
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

/// FLOPs of a token without attention: projections, dense layer, experts and router, head.
fn token() -> u128 {
    let experts = 6 * HIDDEN * 896 * (6 + 2) + 2 * HIDDEN * 64;
    let token = LAYERS * 8 * HIDDEN * HIDDEN + 6 * HIDDEN * 6848 + 11 * experts + 2 * HIDDEN * 129_280;
    assert_eq!(token, 1_148_190_720);
    token
}

#[test]
fn prefill_is_the_closed_form() {
    let ocr = model(CONFIG);
    for tokens in [1_u64, 64, 903, 2048, 39_423] {
        let counted = tally(&ocr, Step::prefill(1, tokens, 0)).work().flops.as_counted;
        let new = u128::from(tokens);
        let attention = 4 * new * new * HIDDEN * LAYERS;
        assert_eq!(counted, token() * new + attention + 128 * LAYERS * new, "{tokens} tokens");
    }
}

#[test]
fn decode_is_the_closed_form() {
    let ocr = model(CONFIG);
    for (context, steps) in [(493_u64, 100_u64), (903, 64), (10_373, 1)] {
        let counted: u128 =
            (0..steps).map(|i| tally(&ocr, Step::decode(1, context + i)).work().flops.as_counted).sum();
        let closed: u128 = (1..=u128::from(steps))
            .map(|i| token() + 4 * (u128::from(context) + i) * HIDDEN * LAYERS + 128 * LAYERS)
            .sum();
        assert_eq!(counted, closed, "{steps} steps after {context} tokens");
    }
}

#[test]
fn the_rotary_table_is_counted_but_not_needed() {
    let tally = tally(&model(CONFIG), Step::decode(1, 0));
    let table = tally.rows.iter().find(|row| row.operator.class == "rope").unwrap();
    assert_eq!((table.operator.work.flops.as_counted, table.operator.work.flops.useful), (128, 0));
}

#[test]
fn parameters_are_the_published_ones() {
    let parameters = model(CONFIG).language_parameters();
    // 3,170,627,840 published without head, of which 401,372,160 are the tower's and the projector's.
    assert_eq!(parameters.stored, 3_170_627_840 - 401_372_160 + 129_280 * HIDDEN);
    assert_eq!(parameters.routed, 2_422_210_560);
}

#[test]
fn a_token_keeps_what_it_must() {
    assert_eq!(kept(CONFIG, 1).0, 61_440);
    let shape = |heads: u64, experts: u64| {
        format!(
            r#"{{"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61,
            "num_attention_heads": {heads}, "n_routed_experts": {experts}, "vocab_size": 129280}}"#
        )
    };
    for (heads, experts) in [(128, 256), (64, 384)] {
        let config = shape(heads, experts);
        // Latent vectors have no heads: every device of tensor parallelism keeps all of it.
        assert_eq!((kept(&config, 1).0, kept(&config, 8).0), (70_272, 70_272));
    }
}

#[test]
fn the_layer_that_drafts_is_stored_and_not_counted() {
    let config = r#"{"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61,
        "num_attention_heads": 128, "vocab_size": 129280, "num_nextn_predict_layers": 1}"#;
    let model = model(config);
    assert_eq!(model.parameters().stored, 671_026_404_352);
    // A sparse layer, the projection of two states to one, and three norms: 11.5 B beside what is shared.
    let layer = 187_107_328 + 7168 * 256 + 257 * 3 * 7168 * 2048 + 2 * 7168;
    assert_eq!(model.draft_parameters(), layer + 2 * 7168 * 7168 + 3 * 7168);
}

/// Bytes for each token without end; those of all windows when full, with how many layers; bytes whatever
/// the length.
fn kept(config: &str, tp: u64) -> (u128, (u128, usize), u128) {
    let model = model(config);
    let pass = pass(Step::decode(1, 0), Parallel { tp, ..Parallel::NONE }, 0);
    let (mut tokens, mut windows, mut windowed, mut states) = (0, 0, 0, 0);
    for kind in &model.kinds {
        for unit in &kind.layer.units {
            let kept = unit.kept(&pass);
            let layers = kind.at.len();
            tokens += layers as u128 * kept.bytes_per_token;
            states += layers as u128 * kept.bytes_per_sequence;
            if let Some((width, bytes)) = kept.window {
                windows += layers as u128 * u128::from(width) * bytes;
                windowed += layers;
            }
        }
    }
    (tokens, (windows, windowed), states)
}

/// A config of these sizes.
fn config(model_type: &str, hidden: u64, layers: u64, heads: [u64; 3], more: &str) -> String {
    let [heads, kv_heads, head_dim] = heads;
    format!(
        r#"{{"model_type": "{model_type}", "hidden_size": {hidden}, "num_hidden_layers": {layers},
        "num_attention_heads": {heads}, "num_key_value_heads": {kv_heads}, "head_dim": {head_dim},
        "intermediate_size": 1024, "vocab_size": 1024 {more}}}"#
    )
}

#[test]
fn grouped_queries() {
    for (name, config, bytes) in [
        ("Llama 2 7B", config("llama", 4096, 32, [32, 32, 128], ""), 524_288),
        ("Llama 3 8B", config("llama", 4096, 32, [32, 8, 128], ""), 131_072),
        ("Llama 3.1 70B", config("llama", 8192, 80, [64, 8, 128], ""), 327_680),
        ("Llama 3.1 405B", config("llama", 16_384, 126, [128, 8, 128], ""), 516_096),
        ("Qwen3 8B", config("qwen3", 4096, 36, [32, 8, 128], ""), 147_456),
        ("Qwen3 30B-A3B", config("qwen3_moe", 2048, 48, [32, 4, 128], ""), 98_304),
        ("Qwen3 235B-A22B", config("qwen3_moe", 4096, 94, [64, 4, 128], ""), 192_512),
    ] {
        assert_eq!(kept(&config, 1), (bytes, (0, 0), 0), "{name}");
    }
}

#[test]
fn windows_end() {
    let gpt_oss = config("gpt_oss", 2880, 36, [64, 8, 64], "");
    assert_eq!(kept(&gpt_oss, 1), (36_864, (18 * 128 * 2048, 18), 0));
    // 10 of 62 layers see everything; the others keep 1024 tokens: 436 MB.
    let gemma = config("gemma3_text", 5376, 62, [32, 16, 128], r#", "sliding_window": 1024"#);
    assert_eq!(kept(&gemma, 1), (81_920, (436_207_616, 52), 0));
    let mistral = config("mistral", 4096, 32, [32, 8, 128], "");
    assert_eq!(kept(&mistral, 1), (0, (4096 * 131_072, 32), 0));
}

#[test]
fn states_do_not_grow() {
    // 12 of 48 layers with attention; the others keep 32 states of 128 x 128 in fp32 and three columns
    // of 8192 channels: 77.3 MB.
    let next = config("qwen3_next", 2048, 48, [16, 2, 256], "");
    assert_eq!(kept(&next, 1), (24_576, (0, 0), 36 * (32 * 128 * 128 * 4 + 3 * 8192 * 2)));
}

#[test]
fn shared_keys_are_kept_once() {
    // Gemma 4 E2B: 20 of 35 layers read what layers 13 and 14 wrote.
    let kinds: Vec<&str> = (1..=35)
        .map(|layer| if layer % 5 == 0 { "\"full_attention\"" } else { "\"sliding_attention\"" })
        .collect();
    let more = format!(r#", "num_kv_shared_layers": 20, "layer_types": [{}]"#, kinds.join(","));
    let gemma = config("gemma4_text", 1536, 35, [8, 1, 256], &more);
    assert_eq!(kept(&gemma, 1), (3 * 2 * 512 * 2, (12 * 512 * 2 * 256 * 2, 12), 0));
}

#[test]
fn devices_beyond_the_heads_have_copies() {
    let qwen = config("qwen3_moe", 2048, 48, [32, 4, 128], "");
    assert_eq!(kept(&qwen, 4).0, 98_304 / 4);
    assert_eq!(kept(&qwen, 8).0, 98_304 / 4);
}
