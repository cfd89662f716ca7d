//! Numbers of real Transformers models, counted on the meta device by `oracles/transformers_cost.py`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use common::tally;
use rooflens_cost::families;
use rooflens_cost::step::Step;

#[test]
fn llama_by_hand() {
    let config =
        br#"{"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 14336, "num_hidden_layers": 32, "vocab_size": 128256}"#;
    let config = rooflens_cost::config::parse(config).unwrap();
    let model = families::read(&config, None, None).unwrap().model;
    assert_eq!(model.parameters().stored, 8_030_261_248);
    let work = tally(&model, Step::prefill(1, 2048, 0)).work();
    assert_eq!(work.flops.as_counted, 32_938_104_193_024);
    assert_eq!(work.flops.useful, 29_688_401_494_016);
}
