use std::collections::BTreeMap;

use rooflens_cost::blueprint::Blueprint;
use rooflens_cost::hardware::Catalog;
use rooflens_schema::tables::PhaseKind;

use super::*;

fn known(config: &str) -> ResolvedModel {
    let blueprint = Blueprint::new(config.as_bytes(), None).unwrap();
    let model = blueprint.model().unwrap();
    let device = Catalog::embedded().find("h100").unwrap().clone();
    ResolvedModel { blueprint, model, name: "m".to_owned(), setup: Setup::default(), device }
}

fn ran(phase: RunPhase, step: Step) -> Vec<Ran> {
    let shape = Shape { phase, needed: vec![step], padded: vec![step], pictures: Some(Vec::new()) };
    vec![Ran { shape, dur_ns: 0 }]
}

fn decode(sequences: u64, past: u64) -> Vec<Ran> {
    ran(RunPhase::Decode, Step::decode(sequences, past))
}

const MIXTURE: &str = r#"{"model_type": "qwen3_moe", "hidden_size": 512, "num_hidden_layers": 1, "head_dim": 64,
    "num_attention_heads": 8, "num_key_value_heads": 8, "vocab_size": 1024, "moe_intermediate_size": 512,
    "num_experts": 128, "num_experts_per_tok": 8}"#;

#[test]
fn fewer_experts_are_read_where_tokens_share_them() {
    let known = known(MIXTURE);
    let changes = experts::fewer(&known);
    let words: Vec<&str> = changes.iter().map(|change| change.what.as_str()).collect();
    assert_eq!(
        words,
        [
            "64 experts of width 1024, 4 per token, instead of 128 of width 512, 8 per token",
            "64 experts of the same width instead of 128, still 8 per token"
        ]
    );
    assert!(changes[1].how.starts_with("num_experts=64 in config.json"));
    let bytes = |known: &ResolvedModel| {
        let floors = known.floors(&decode(16, 100)).unwrap();
        floors.iter().filter(|floor| floor.class == "moe.routed").map(|floor| floor.bytes).sum::<f64>()
    };
    // Three matrices of 512 x width in 16 bits for every expert touched; each visit moves the token in and
    // out and three times the width.
    let all = |experts: f64, top_k: f64, width: f64| {
        let touched = experts * (1.0 - (1.0 - top_k / experts).powi(16));
        touched * 3.0 * 512.0 * width * 2.0 + 16.0 * top_k * (2.0 * 512.0 + 3.0 * width) * 2.0
    };
    for (known, expected) in [
        (&known, all(128.0, 8.0, 512.0)),
        (&changes[0].known, all(64.0, 4.0, 1024.0)),
        (&changes[1].known, all(64.0, 8.0, 512.0)),
    ] {
        assert!((bytes(known) - expected).abs() <= 1.0, "{} {expected}", bytes(known));
    }
}

const DENSE: &str = r#""hidden_size": 1024, "num_hidden_layers": 2, "head_dim": 128, "num_attention_heads": 16,
    "num_key_value_heads": 8, "vocab_size": 1024, "intermediate_size": 2048}"#;

#[test]
fn the_cache_shrinks_and_the_rest_stays() {
    let ran = decode(4, 30_000);
    let llama = known(&format!(r#"{{"model_type": "llama", {DENSE}"#));
    let change = kv::smaller(&llama, &ran).unwrap();
    // Two layers: keys and values of 8 heads of 128 in 16 bits, or 512 + 64.
    let size = rooflens_report::format::bytes;
    assert_eq!(
        change.what,
        format!("latent attention (MLA): KV cache {} per token instead of {}", size(2304.0), size(8192.0))
    );
    let read = |known: &ResolvedModel, class: &str| {
        let floors = known.floors(&ran).unwrap();
        floors.iter().find(|floor| floor.class == class).map(|floor| (floor.flops, floor.bytes))
    };
    assert_eq!(read(&llama, "mlp"), read(&change.known, "mlp"));
    assert!(read(&llama, "mlp").is_some());
    // A family with more than attention and a feed-forward network keeps its attention.
    let gemma = known(&format!(r#"{{"model_type": "gemma2", "sliding_window": 512, {DENSE}"#));
    assert_eq!(kv::smaller(&gemma, &ran).unwrap().what, "one KV head instead of 8");
    // What is latent already stays so.
    let latent = change.known;
    assert!(kv::smaller(&latent, &ran).is_none());
}

#[test]
fn heads_that_no_kernel_fits() {
    let config = |width: u64, heads: u64| {
        known(&format!(
            r#"{{"model_type": "llama", "hidden_size": 2560, "num_hidden_layers": 1, "head_dim": {width},
            "num_attention_heads": {heads}, "num_key_value_heads": {heads}, "vocab_size": 1024,
            "intermediate_size": 6912}}"#
        ))
    };
    let ran = ran(RunPhase::Prefill, Step::prefill(1, 16_384, 0));
    let found = widths::whole(&config(80, 32), "prefill", &ran).unwrap();
    assert_eq!(found.what, "40 heads of width 64 instead of 32 of width 80");
    // A fifth of the operations on heads of 80 is for nothing; scores and values of 16,384 tokens are about
    // 128 blocks of 128 x 129 / 2 pairs in 32 heads: 4 * 80 operations each.
    let pairs = 128.0 * 129.0 / 2.0 * 128.0 * 128.0;
    let spared_ns = 0.2 * pairs * 32.0 * 4.0 * 80.0 / 989.5e12 * 1e9;
    for tiles in &found.tiles {
        let difference = tiles.old_ns - tiles.new_ns;
        assert!((difference / spared_ns - 1.0).abs() < 0.05, "{difference} {spared_ns}");
        assert!(tiles.old_padding > tiles.new_padding);
    }
    assert!(widths::whole(&config(64, 40), "prefill", &ran).is_none());
}

#[test]
fn a_change_is_compared_over_the_same_steps() {
    let known = known(&format!(r#"{{"model_type": "llama", {DENSE}"#));
    let ran = [decode(4, 1_000), decode(4, 1_001)].concat();
    let unchanged = known.floors(&ran).unwrap();
    let passes = BTreeMap::from([(PhaseKind::Decode, ran)]);
    let found = of(&ModelContext { known, passes, told: BTreeMap::new() });
    let rules: Vec<&str> = found.iter().map(|alternative| alternative.rule).collect();
    for rule in ["weight_quantisation", "gqa", "tensor_parallel", "larger_batch"] {
        assert!(rules.contains(&rule), "{rule}: {rules:?}");
    }
    for alternative in &found {
        assert_eq!(alternative.unchanged, unchanged, "{}", alternative.rule);
        let ratio = alternative.ratio();
        let is_larger = alternative.rule == "larger_batch";
        assert!(
            if is_larger { ratio > 1.0 && ratio < 2.0 } else { ratio < 1.0 },
            "{} {ratio}",
            alternative.rule
        );
    }
}
