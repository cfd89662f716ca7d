//! Families that Transformers does not have, counted by hand.

use rooflens_cost::model::Model;
use rooflens_cost::step::Step;

use crate::common::tally;

#[test]
fn mimo() {
    let model = Model::from_json(
        br#"{"model_type": "mimo", "hidden_size": 40, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 12, "intermediate_size": 70, "vocab_size": 90, "attention_bias": true,
        "num_nextn_predict_layers": 1}"#,
    )
    .unwrap();
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
    let model = Model::from_json(
        br#"{"model_type": "nemotron-nas", "hidden_size": 96, "num_hidden_layers": 3, "num_attention_heads": 8,
        "num_key_value_heads": null, "vocab_size": 50, "block_configs": [
            {"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": 2.5}},
            {"attention": {"no_op": true}, "ffn": {"ffn_mult": 5.25}},
            {"attention": {"replace_with_linear": true}, "ffn": {"no_op": true}}]}"#,
    )
    .unwrap();
    // int(2 * 2.5 * 96 / 3) = 160 and int(2 * 5.25 * 96 / 3) = 336, rounded up to multiples of 256.
    let whole = 96 * (8 + 2 * 2) * 12 + 96 * 96 + 3 * 96 * 256 + 2 * 96;
    let without_attention = 3 * 96 * 512 + 96;
    let with_a_matrix = 96 * 96 + 96;
    assert_eq!(model.parameters().stored, 2 * 50 * 96 + whole + without_attention + with_a_matrix + 96);
    assert_eq!(model.kinds.len(), 3);
    // Only the first layer keeps anything: two key heads of 12, twice, in 16 bits.
    let cache = rooflens_cost::memory::cache(&model, &rooflens_cost::Setup::default());
    assert_eq!(cache.bytes_per_token, 2 * 2 * 12 * 2);
}
