//! Bytes that sequences keep in bfloat16, as published or reckoned by hand from head counts and widths.

use rooflens_cost::config::parse;
use rooflens_cost::families;
use rooflens_cost::parallel::Parallel;
use rooflens_cost::step::Step;

use crate::common::pass;

/// Bytes for each token without end; those of all windows when full, with how many layers; bytes whatever
/// the length.
fn kept(config: &str, tp: u64) -> (u128, (u128, usize), u128) {
    let model = families::read(&parse(config.as_bytes()).unwrap(), None, None).unwrap().model;
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
