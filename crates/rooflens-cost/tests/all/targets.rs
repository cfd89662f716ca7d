//! What a target takes, what a bound hides, and what a wrong word was meant to be: small truths by hand.

use rooflens_cost::blueprint::Blueprint;
use rooflens_cost::config::ConfigError;
use rooflens_cost::document::{EstimateDocument, PhaseFacts};
use rooflens_cost::estimate::Estimate;
use rooflens_cost::hardware::Device;
use rooflens_cost::inverse::{Needs, Target, needs};
use rooflens_cost::model::Model;
use rooflens_cost::parallel::Parallel;
use rooflens_cost::practice::Assume;
use rooflens_cost::setup::{Nodes, Setup};
use rooflens_cost::step::Phase;
use rooflens_cost::workload::{Decode, Prefill, Workload};

use crate::common;

fn llama(more: &str) -> String {
    format!(
        r#"{{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "torch_dtype": "bfloat16",
        "max_position_embeddings": 8192{more}}}"#
    )
}

fn model(more: &str) -> Model {
    common::model(&llama(more))
}

fn h100() -> &'static Device {
    common::device("h100")
}

fn workload(prefill: Option<u64>, context: Option<u64>) -> Workload {
    Workload {
        batch: 1,
        images: None,
        encoder_tokens: None,
        prefill: prefill.map(|tokens| Prefill { tokens, prefix: 0, chunk: None }),
        decode: context.map(|context| Decode { context, steps: 1, draft: 0 }),
    }
}

fn tpot_30_ms(model: &Model, context: u64) -> Needs {
    let target = Target { phase: Phase::Decode, seconds: 0.03 };
    needs(model, &Setup::default(), &workload(None, Some(context)), Some(h100()), target).unwrap()
}

/// Sequences that decode together leave room for the activations of a prompt: the target and the memory say the same.
#[test]
fn a_target_keeps_the_room_of_a_prefill() {
    let (model, device, setup) = (model(""), h100(), Setup::default());
    let of = |asked: &Workload| Estimate::new(&model, &setup, asked, Some(device)).unwrap().memory;
    let decode = of(&workload(None, Some(8192)));
    let prompt = of(&workload(Some(8192), None)).activations_bytes;
    // Two of 8 heads of 128 in 16 bits, in 32 layers, for 8,192 tokens and the new one.
    let sequence = 2 * 8 * 128 * 2 * 32 * 8193_u128;
    assert_eq!(decode.kv_bytes, sequence);
    let by_hand = (decode.usable_bytes.unwrap() - decode.weights_bytes - prompt) / sequence;
    assert_eq!(decode.largest_batch.map(u128::from), Some(by_hand));
    let needs = tpot_30_ms(&model, 8192);
    assert_eq!(needs.largest_batch.map(u128::from), Some(by_hand), "memory is the limit, not 30 ms");
}

#[test]
fn contexts_end_with_the_positions_of_the_model() {
    assert_eq!(tpot_30_ms(&model(""), 8192).largest_context, Some(8192));
    let yarn =
        r#", "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}"#;
    assert_eq!(model(yarn).positions, Some(32_768));
    assert_eq!(tpot_30_ms(&model(yarn), 8192).largest_context, Some(32_768));
    // Llama 3.1 counts its scaling in.
    let counted = r#", "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 1024}"#;
    assert_eq!(model(counted).positions, Some(8192));
    let notes = |context| {
        let asked = workload(None, Some(context));
        Estimate::new(&model(""), &Setup::default(), &asked, Some(h100())).unwrap().assumptions
    };
    let told = "16384 tokens are beyond the 8192 positions of the model (max_position_embeddings)";
    assert!(notes(16_384).iter().any(|line| line == told), "{:?}", notes(16_384));
    assert!(!notes(8192).iter().any(|line| line.contains("positions")), "{:?}", notes(8192));
}

/// The bound is the longer of communication and of all else: shares are of that, and the other is hidden.
#[test]
fn shares_of_a_bound_add_up_to_one() {
    let (model, device) = (model(""), h100());
    let of = |nodes: Nodes| -> PhaseFacts {
        let parallel = Parallel { tp: 4, pp: 1, ep: 1, dp: 1 };
        let setup = Setup { parallel, nodes, ..Setup::default() };
        let asked = workload(Some(4096), None);
        let estimate = Estimate::new(&model, &setup, &asked, Some(device)).unwrap();
        EstimateDocument::new(&model, &setup, &asked, Some(device), &estimate).phases.remove(0)
    };
    // A node of one device each, a megabyte a second between them: nothing but links takes time.
    let slow = Nodes { size: Some(1), bytes_per_s: Some(1e6) };
    for (phase, link_is_hidden) in [(of(Nodes::default()), true), (of(slow), false)] {
        let classes = &phase.totals.classes;
        let sum: f64 = classes.values().filter_map(|class| class.share).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
        let sum: f64 = phase.operators.iter().filter_map(|operator| operator.share).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
        for (name, class) in classes.iter().filter(|(_, class)| class.seconds > Some(0.0)) {
            let is_hidden = name.starts_with("comm.") == link_is_hidden;
            assert_eq!((class.hidden, class.share.is_none()), (is_hidden, is_hidden), "{name}");
        }
        assert!(classes.values().any(|class| class.hidden) && classes.values().any(|class| !class.hidden));
    }
}

#[test]
fn wrong_words_are_answered_with_right_ones() {
    let mut assume = Assume::default();
    assert_eq!(
        assume.set("gem", "0.8").unwrap_err(),
        "gem=0.8: there is no assumption \"gem\"; did you mean gemm?"
    );
    let told = assume.set("magic", "1").unwrap_err();
    assert!(told.starts_with("magic=1: there is no assumption \"magic\"; expected one of gemm, "), "{told}");
    let mut blueprint = Blueprint::new(llama("").as_bytes(), None).unwrap();
    blueprint.set("num_kv_heads", "4").unwrap();
    let Err(ConfigError::Unused { near, .. }) = blueprint.model() else { panic!("it is no key") };
    assert_eq!(near, ["num_key_value_heads"]);
    // Where the catalog's number comes from is not the machine that this runs on.
    let words = Assume::default().on(h100()).words(1, false, false);
    assert!(
        words[0].starts_with("estimate: GEMMs at 80 % of peak (measurement in the hardware catalog);"),
        "{words:?}"
    );
}

#[test]
fn heads_that_cannot_be_dealt_out_are_not_divisible() {
    let setup = Setup { parallel: Parallel { tp: 64, pp: 1, ep: 1, dp: 1 }, ..Setup::default() };
    let estimate = Estimate::new(&model(""), &setup, &workload(None, Some(16)), None).unwrap();
    assert_eq!(estimate.refused[0].reason, "32 attention heads are not divisible by tp 64");
}
