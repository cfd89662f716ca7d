//! Against plain steps, and numbers by hand.

use super::*;
use crate::hardware::Catalog;
use crate::routing::Touch;
use crate::tally::Tally;
use crate::{Model, Setup};

/// Two layers, h 128, 4 heads of 32, 2 of keys and values, d_ff 256, vocabulary 512.
const LLAMA: &[u8] = br#"{"model_type": "llama", "hidden_size": 128, "intermediate_size": 256,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
    "vocab_size": 512, "torch_dtype": "float32", "tie_word_embeddings": false}"#;
const MOE: &[u8] = br#"{"model_type": "qwen3_moe", "hidden_size": 128, "intermediate_size": 256,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
    "vocab_size": 512, "torch_dtype": "float32", "num_experts": 8, "num_experts_per_tok": 2,
    "moe_intermediate_size": 48, "norm_topk_prob": true, "decoder_sparse_step": 1, "mlp_only_layers": [],
    "tie_word_embeddings": false}"#;
/// Parameters in the matrices of a layer of LLAMA: q and o, k and v, three of the feed-forward.
const LAYER: u128 = 2 * 128 * 128 + 2 * 128 * 64 + 3 * 128 * 256;

fn model(config: &[u8]) -> Model {
    Model::from_json(config).unwrap()
}

fn ran(phase: RunPhase, needed: Vec<Step>, padded: Vec<Step>, dur_ns: u64) -> Ran {
    Ran { shape: Shape { phase, needed, padded, pictures: None }, dur_ns }
}

#[test]
fn equal_sequences_cost_what_a_plain_step_costs() {
    for config in [LLAMA, MOE] {
        let (model, setup) = (model(config), Setup::default());
        for step in [Step::prefill(3, 17, 0), Step::prefill(2, 8, 40), Step::decode(5, 33)] {
            let mut plain = Tally::default();
            plain.add(&model, &setup.pass(&model, step, 0, Touch::Expected), None, &mut Vec::new());
            for groups in [vec![step], vec![Step { sequences: 1, ..step }; step.sequences as usize]] {
                let mut ragged = Tally::default();
                ragged.add_ragged(&model, &setup, &groups, step.sequences, None);
                let (plain, mut ragged) = (plain.work(), ragged.work());
                // Tiles of attention are filled up for each sequence by itself either way.
                ragged.flops.issued = plain.flops.issued;
                assert_eq!(plain, ragged, "{step:?}");
            }
        }
    }
}

#[test]
fn groups_have_the_sums_that_were_told() {
    let steps = decoding(3, 100);
    assert_eq!(steps, [Step::decode(2, 32), Step::decode(1, 33)]);
    assert_eq!(steps.iter().map(Step::context).sum::<u128>(), 100);
    assert_eq!(decoding(0, 5), []);
    assert_eq!(reading(&[(7, 0), (9, 2), (7, 0)]), [Step::prefill(2, 7, 0), Step::prefill(1, 9, 2)]);
}

#[test]
fn efficiency_by_hand() {
    let model = model(LLAMA);
    let h100 = Catalog::embedded().find("h100").unwrap();
    // Prompts of 5 and 3 tokens, padded to 5: 8 tokens are needed, 10 are run.
    let prompts = ran(RunPhase::Prefill, reading(&[(5, 0), (3, 0)]), vec![Step::prefill(2, 5, 0)], 2_000_000);
    let token = ran(RunPhase::Decode, decoding(2, 10), vec![Step::decode(2, 5)], 1_000_000);
    let found = efficiency(&model, &Setup::default(), Some(h100), "", &[prompts, token.clone(), token]);
    let prefill = &found.phases[&RunPhase::Prefill];
    // Pairs: 15 + 6. A pair takes 2·(32 + 32) operations in each of 4 heads and 2 layers.
    let useful = 2 * (8 * 2 * LAYER + 2 * 128 * 512) + 21 * 2 * 64 * 4 * 2;
    assert_eq!(prefill.flops.useful, useful);
    // As the framework: 10 tokens, all logits, and 2 × 25 pairs.
    assert_eq!(prefill.flops.as_counted, 2 * (10 * 2 * LAYER + 10 * 128 * 512) + 50 * 2 * 64 * 4 * 2);
    assert_eq!((prefill.tokens, prefill.padding_tokens, prefill.measured_ns), (8, 2, 2_000_000));
    // fp32 stands for itself in the catalog.
    let peak = h100.matmul_peak(crate::precision::Dtype::Fp32).unwrap().flops_per_s;
    let mfu = useful as f64 / (peak * 0.002);
    assert!((prefill.mfu.unwrap() / mfu - 1.0).abs() < 1e-12);
    assert!((prefill.flops_per_s.unwrap() / (useful as f64 / 0.002) - 1.0).abs() < 1e-12);

    let decode = &found.phases[&RunPhase::Decode];
    // Two steps. Weights: both layers' matrices and two norms each, the last norm, the head, and two rows.
    let weights = 2 * 4 * (2 * (LAYER + 2 * 128) + 128 + 128 * 512 + 2 * 128);
    assert_eq!(decode.bytes.weights, weights);
    // Contexts of 5 with the new token: 4 are read of each sequence, keys and values of 2 heads of 32.
    assert_eq!(decode.bytes.kv_read, 2 * 2 * 4 * (2 * 2 * 32 * 4) * 2);
    let mbu = decode.bytes.total as f64 / (h100.bandwidth_bytes_per_s.unwrap() * 0.002);
    assert!((decode.mbu.unwrap() / mbu - 1.0).abs() < 1e-12);
    let share = decode.floor_share.unwrap();
    assert!(share >= decode.mbu.unwrap() && share >= decode.mfu.unwrap() && share < 1.0);
    assert!(decode.not_computed.is_empty());
}

#[test]
fn without_a_device_counts_stand_and_peaks_are_null_with_a_reason() {
    let token = ran(RunPhase::Decode, decoding(1, 7), decoding(1, 7), 1_000);
    let found = efficiency(&model(LLAMA), &Setup::default(), None, "no peaks", &[token]);
    let decode = &found.phases[&RunPhase::Decode];
    assert!(decode.flops_per_s.unwrap() > 0.0 && decode.bytes_per_s.unwrap() > 0.0);
    assert_eq!((decode.mfu, decode.mbu, decode.floor_ns), (None, None, None));
    for name in ["mfu", "mbu", "floor_ns", "floor_share", "limit", "peak_flops_per_s"] {
        assert_eq!(decode.not_computed[name], "no peaks", "{name}");
    }
    assert_eq!(decode.not_computed.len(), 6);
}

#[test]
fn numbers_beyond_belief_are_refused() {
    for step in [Step::decode(u64::MAX, 1), Step::prefill(1, u64::MAX, 1), Step::prefill(1, 1, 1 << 40)] {
        let one = ran(RunPhase::Decode, vec![step], vec![step], 1);
        let found = efficiency(&model(LLAMA), &Setup::default(), None, "", &[one]);
        assert!(found.phases.is_empty() && found.not_computed.contains_key("decode"), "{step:?}");
    }
}

#[test]
fn flops_are_compared_without_what_torch_leaves_out() {
    let step = ran(RunPhase::Prefill, reading(&[(3, 0)]), vec![Step::prefill(1, 4, 0)], 1);
    let row = |name: &str, flops| TorchRow { phase: "prefill".into(), name: name.into(), calls: 1, flops };
    let matrices = 2 * (4 * 2 * LAYER + 128 * 512);
    let core = 16 * 2 * 64 * 4 * 2;
    let sdpa = TorchFlops {
        rows: vec![row("aten::mm", matrices), row("aten::mul", 9)],
        uncounted: vec![row("aten::scaled_dot_product_attention", 0)],
    };
    let check = |torch: &TorchFlops, all| {
        flops_check(&model(LLAMA), &Setup::default(), std::slice::from_ref(&step), torch, all)
    };
    let found = check(&sdpa, false).phases[&RunPhase::Prefill].clone();
    assert_eq!((found.static_flops, found.difference, found.equal), (matrices, Some(0), Some(true)));
    assert_eq!((found.left_out[0].class.as_str(), found.left_out[0].flops), ("attn.core", core));
    assert_eq!(found.torch_left_out[0].name, "aten::mul");
    // Eager attention is made of products that torch counts.
    let eager =
        TorchFlops { rows: vec![row("aten::mm", matrices), row("aten::bmm", core)], uncounted: vec![] };
    assert_eq!(check(&eager, false).phases[&RunPhase::Prefill].difference, Some(0));
    // Three more rows of logits.
    assert_eq!(check(&eager, true).phases[&RunPhase::Prefill].difference, Some(3 * 2 * 128 * 512));
    // A product that may be anything: nothing can be said.
    let unknown = TorchFlops { uncounted: vec![row("aten::linear", 0)], ..eager };
    let found = check(&unknown, false).phases[&RunPhase::Prefill].clone();
    assert_eq!((found.difference, found.equal), (None, None));
    assert!(found.not_computed["difference"].contains("aten::linear (1 calls)"));
}

#[test]
fn parts_are_joined_and_sum_to_the_whole() {
    let token = ran(RunPhase::Decode, decoding(1, 7), decoding(1, 7), 1_000);
    let part = |part: &str, ns| MeasuredPart { part: part.to_owned(), ns };
    let measured = MeasuredPhase {
        phase: RunPhase::Decode,
        timeline: TimelineSide::HostSelf,
        total_ns: 100,
        parts: vec![part("mlp", 30), part("attention.core", 45), part("other", 25)],
    };
    let found = static_vs_measured(&model(LLAMA), &Setup::default(), None, "none", &[token], &[measured]);
    let decode = &found.phases[&RunPhase::Decode];
    assert_eq!(decode.parts.iter().filter_map(|row| row.measured_ns).sum::<i64>(), decode.measured_ns);
    assert_eq!(decode.other_share, Some(0.25));
    let names: Vec<&str> = decode.parts.iter().map(|row| row.part.as_str()).collect();
    assert_eq!(names[..2], ["attention.core", "mlp"]);
    assert_eq!(names.last(), Some(&"other"));
    let mlp = &decode.parts[1];
    assert_eq!((mlp.flops, mlp.share, mlp.floor_ns), (Some(2 * 2 * 3 * 128 * 256), Some(0.3), None));
    assert_eq!(mlp.not_computed["floor_ns"], "none");
    let head = decode.parts.iter().find(|row| row.part == "lm_head").unwrap();
    assert_eq!((head.flops, head.measured_ns), (Some(2 * 128 * 512), None));
    let other = decode.parts.last().unwrap();
    assert_eq!(
        (other.flops, other.not_computed["flops"].as_str()),
        (None, "the static model has no such part")
    );
}
