//! Encoder-decoder models: numbers by hand, what is kept of the encoder, devices that share one, and what is
//! refused. Their counts by Transformers are in `goldens.rs`.

use rooflens_cost::blueprint::Blueprint;
use rooflens_cost::document::Params;
use rooflens_cost::operator::{Bytes, Flops, Work};
use rooflens_cost::parallel::Parallel;
use rooflens_cost::step::{Phase, Step};
use rooflens_cost::tally::Tally;
use rooflens_cost::workload::{Decode, Prefill};
use rooflens_cost::{ConfigError, Estimate, EstimateError, Model, Setup, Workload};

use crate::common::{of_class, pass};
use crate::made;

/// One layer that encodes and two that decode, two heads of width 3, 32 words.
const TINY: &str = r#"{"model_type": "t5", "vocab_size": 32, "d_model": 8, "d_kv": 3, "num_heads": 2,
    "d_ff": 16, "num_layers": 1, "num_decoder_layers": 2, "relative_attention_num_buckets": 4"#;

fn tiny(more: &str) -> Result<Model, ConfigError> {
    Model::from_json(format!("{TINY}{more}}}").as_bytes())
}

fn golden(name: &str) -> Model {
    let found = made::goldens().into_iter().find(|made| made.name == name);
    found.unwrap_or_else(|| panic!("no golden {name}")).model
}

fn estimate(model: &Model, workload: &Workload) -> Estimate {
    Estimate::new(model, &Setup::default(), workload, None).unwrap()
}

fn of_phase(estimate: &Estimate, phase: Phase) -> &Tally {
    &estimate.phases.iter().find(|cost| cost.phase == phase).unwrap().tally
}

#[test]
fn parity_156_a_tiny_t5_by_hand() {
    let model = tiny("").unwrap();
    // Four matrices of 8 by 6; two of 8 by 16; a norm before each block, one behind the stack; a table of
    // distances in each stack; one table of tokens for encoder, decoder and head.
    let (attention, feed_forward, distances) = (4 * 8 * 6, 2 * 8 * 16, 4 * 2);
    let encoder = attention + feed_forward + 2 * 8 + 8 + distances;
    let decoder = 2 * (2 * attention + feed_forward + 3 * 8) + 8 + distances;
    let params = Params::of(&model);
    assert_eq!((params.encoder, params.total), (encoder, encoder + decoder + 32 * 8));
    assert_eq!(Params::of(&tiny(r#", "tie_word_embeddings": false"#).unwrap()).total, params.total + 32 * 8);

    let prompt = estimate(&model, &Workload::prefill(3, 5));
    let phases: Vec<&str> = prompt.phases.iter().map(|phase| phase.phase.as_str()).collect();
    assert_eq!(phases, ["encoder", "prefill"]);
    let pair = 2 * 2 * (3 + 3);
    let read = 2 * 15 * (attention + feed_forward) + 3 * 5 * 5 * pair;
    assert_eq!(of_phase(&prompt, Phase::Encoder).work().flops.useful, read);
    // One token of each sequence through all but the keys and values of the 15 positions.
    let (queries, keys) = (2 * 3 * 8 * 6, 2 * 15 * 8 * 12);
    let start = 2 * 3 * attention + 3 * pair + 2 * queries + keys + 15 * pair + 2 * 3 * feed_forward;
    let head = 2 * 3 * 8 * 32;
    let Flops { as_counted, useful, .. } = of_phase(&prompt, Phase::Prefill).work().flops;
    assert_eq!((as_counted, useful), (2 * start + head, 2 * start + head));

    let step = Workload { encoder_tokens: Some(5), ..Workload::decode(3, 4) };
    let step = estimate(&model, &step);
    let one = 2 * 3 * attention + 3 * 5 * pair + 2 * queries + 15 * pair + 2 * 3 * feed_forward;
    assert_eq!(step.work().flops.useful, 2 * one + head);
    // Two layers of keys and values of 6 elements, 2 bytes each.
    assert_eq!((step.cache.bytes_per_token, step.cache.bytes_per_media_token), (48, 48));
    let Bytes { kv_read, kv_write, .. } = step.work().bytes;
    assert_eq!((kv_read, kv_write), (3 * (4 + 5) * 48, 3 * 48));
    assert_eq!(step.memory.kv_bytes, 3 * (5 + 5) * 48);
}

#[test]
fn parity_156_what_is_kept_of_the_encoder_is_written_once_and_does_not_grow() {
    let mut seen = 0;
    for made in made::models(156, 4).iter().filter(|made| made.model.encoder.is_some()) {
        seen += 1;
        let (model, name) = (&made.model, &made.name);
        let ask = |prefill: u64, context: u64, steps: u64| {
            let prefill = Some(Prefill { tokens: prefill, prefix: 0, chunk: None });
            let decode = Some(Decode { context, steps, draft: 0 });
            estimate(model, &Workload { prefill, decode, ..Workload::prefill(2, 1) })
        };
        let first = ask(3, 1, 1);
        let per_position = first.cache.bytes_per_media_token;
        let kept = 2 * u128::from(first.encoder_tokens) * per_position;
        assert!(kept > 0, "{name}");
        let written = of_class(of_phase(&first, Phase::Prefill), "cross.core").bytes;
        assert_eq!(written.kv_write, kept, "{name}");
        for (context, steps) in [(1, 1), (2, 3), (5, 2)] {
            let longer = ask(3, context, steps);
            let decode = of_phase(&longer, Phase::Decode);
            let crossed = of_class(decode, "cross.core").bytes;
            assert_eq!((crossed.kv_read, crossed.kv_write), (u128::from(steps) * kept, 0), "{name}");
            assert_eq!(of_class(decode, "cross.kv"), Work::default(), "made before: {name}");
            let own = of_class(decode, "attn.core").bytes.kv_write;
            assert_eq!(own, u128::from(2 * steps) * longer.cache.bytes_per_token, "{name}");
            let grown = 2 * u128::from(context + steps) * longer.cache.bytes_per_token;
            assert_eq!(longer.memory.kv_bytes, kept + grown, "{name}");
        }
    }
    assert!(seen > 50, "{seen} models");
}

/// What each device of tensor parallelism does of an encoder that no other does, added up, is the work of one
/// device; none holds less than its share.
#[test]
fn parity_156_devices_share_an_encoder() {
    for made in made::models(157, 4) {
        let Some(encoder) = &made.model.encoder else { continue };
        let work = |tp: u64, rank: u64| {
            let mut tally = Tally::default();
            let pass = pass(Step::encoder(3, 7), Parallel { tp, ..Parallel::NONE }, rank);
            tally.add_encoder(encoder, &pass, None);
            (tally.work(), encoder.weight_bytes(&pass))
        };
        let (whole, held) = work(1, 0);
        assert!(held > 0, "{}", made.name);
        for tp in [2, 3, 7, 16] {
            let ranks: Vec<(Work, u128)> = (0..tp).map(|rank| work(tp, rank)).collect();
            let own: u128 = ranks.iter().map(|(work, _)| work.flops.useful - work.copied_flops).sum();
            assert_eq!(own, whole.flops.useful, "{}: tp {tp}", made.name);
            assert!(ranks.iter().map(|(_, bytes)| bytes).sum::<u128>() >= held, "{}", made.name);
            assert!(ranks.iter().all(|(_, bytes)| *bytes <= ranks[0].1), "rank 0 is the fullest");
        }
    }
}

/// As the model cards have them.
#[test]
fn parity_156_published_parameters() {
    for (name, parameters) in [
        ("t5-small", 60_506_624),
        ("t5-11b", 11_307_321_344),
        ("t5-flan_xl", 2_849_757_184),
        ("bart-large", 406_291_456),
        ("whisper-tiny", 37_760_640),
        ("whisper-large_v3", 1_543_490_560),
    ] {
        assert_eq!(golden(name).parameters().stored, parameters, "{name}");
    }
}

/// Whisper hears 30 seconds whatever is asked: 3,000 frames, of which the second convolution leaves 1,500.
#[test]
fn parity_156_whisper_always_hears_30_seconds() {
    let model = golden("whisper-tiny");
    for tokens in [1, 4, 200] {
        let estimate = estimate(&model, &Workload::prefill(1, tokens));
        assert_eq!(estimate.encoder_tokens, 1500);
        let encoder = of_phase(&estimate, Phase::Encoder);
        let convolved = of_class(encoder, "audio.conv");
        assert_eq!(convolved.flops.useful, 2 * 3 * (3000 * 80 * 384 + 1500 * 384 * 384));
        // Each frame is read once and written once, however windows overlap.
        assert_eq!(convolved.bytes.activations, 2 * (3000 * (80 + 384) + 3000 * 384 + 1500 * 384));
        assert_eq!(
            of_class(of_phase(&estimate, Phase::Prefill), "lm_head").flops.as_counted,
            2 * u128::from(tokens) * 384 * 51_865
        );
    }
}

#[test]
fn parity_156_quantised_encoders_and_decoders() {
    let bytes = |ignored: &str| {
        let quantised = format!(
            r#", "quantization_config": {{"quant_method": "compressed-tensors", "config_groups": {{"group_0": {{
            "targets": ["Linear"], "weights": {{"num_bits": 8, "type": "int", "strategy": "channel"}}}}}},
            "ignore": ["lm_head", {ignored}]}}"#
        );
        let model = tiny(&quantised).unwrap();
        let held = |tally: &Tally| tally.work().bytes.weights;
        let prompt = estimate(&model, &Workload::prefill(1, 5));
        (held(of_phase(&prompt, Phase::Encoder)), held(of_phase(&prompt, Phase::Prefill)))
    };
    let (encoder, decoder) = bytes(r#""nothing""#);
    let (plain_encoder, decoder_again) = bytes(r#""re:encoder\\..*""#);
    assert!(encoder < plain_encoder && decoder == decoder_again);
    let (encoder_again, one_kept) = bytes(r#""decoder.block.1.layer.1.EncDecAttention.k""#);
    assert!(encoder_again == encoder && one_kept > decoder);
    assert!(bytes(r#""encoder.block.0.layer.1.DenseReluDense.wi""#).0 > encoder);
}

#[test]
fn parity_156_what_is_refused() {
    let wrong = |more: &str| tiny(more).unwrap_err().to_string();
    assert_eq!(
        wrong(r#", "hidden_size": 9"#),
        "d_model and hidden_size are two names of one number, and are 8 and 9"
    );
    assert_eq!(
        wrong(r#", "feed_forward_proj": "gated""#),
        r#"feed_forward_proj is "gated"; expected an activation, or gated- and an activation"#
    );
    assert!(wrong(r#", "feed_forward_proj": "relu", "is_gated_act": true"#).contains("is_gated_act"));
    assert!(wrong(r#", "architectures": ["T5EncoderModel"]"#).contains("a class with a decoder"));
    assert!(wrong(r#", "num_experts": 8"#).contains("num_experts = 8"));
    assert!(wrong(r#", "num_decoder_layers": "two""#).contains("num_decoder_layers"));
    let bart = br#"{"model_type": "bart", "d_model": 48, "encoder_attention_heads": 7}"#;
    assert!(Model::from_json(bart).unwrap_err().to_string().contains("a divisor of d_model"));

    let fault =
        |model: &Model, workload: &Workload| match Estimate::new(model, &Setup::default(), workload, None) {
            Err(EstimateError::Encoder(reason)) => reason,
            other => panic!("{other:?}"),
        };
    let bart = golden("bart-large");
    assert!(fault(&bart, &Workload::prefill(1, 1025)).contains("more than its 1024 positions"));
    assert!(fault(&bart, &Workload::decode(1, 1024)).contains("1025 tokens of the decoder"));
    assert!(Estimate::new(&bart, &Setup::default(), &Workload::decode(1, 1023), None).is_ok());
    let whisper = golden("whisper-tiny");
    assert!(fault(&whisper, &Workload::decode(1, 448)).contains("more than its 448 positions"));
    let seen = |tokens| Workload { encoder_tokens: Some(tokens), ..Workload::decode(1, 4) };
    assert!(fault(&whisper, &seen(3)).contains("always has 1500 positions"));
    assert!(fault(&golden("llama-plain"), &seen(3)).contains("has none"));
    let t5 = tiny("").unwrap();
    let prefill = |prefix, chunk| Workload {
        prefill: Some(Prefill { tokens: 8, prefix, chunk }),
        ..Workload::prefill(1, 8)
    };
    assert!(fault(&t5, &prefill(3, None)).contains("in one step"));
    assert!(fault(&t5, &prefill(0, Some(2))).contains("in one step"));
    let both = Workload { encoder_tokens: Some(5), ..Workload::prefill(1, 8) };
    assert!(fault(&t5, &both).contains("processes the 8 tokens of the prefill"));
}

/// A number with two names changes under both: files of BART and Whisper have both.
#[test]
fn parity_156_setting_one_name_of_a_number_sets_both() {
    let config = br#"{"model_type": "bart", "encoder_layers": 3, "num_hidden_layers": 3, "vocab_size": 50}"#;
    for key in ["encoder_layers", "num_hidden_layers"] {
        let mut blueprint = Blueprint::new(config, None).unwrap();
        blueprint.set(key, "5").unwrap();
        assert_eq!(blueprint.model().unwrap().encoder.unwrap().depth, 5, "{key}");
    }
    let mut blueprint = Blueprint::new(config, None).unwrap();
    blueprint.set("encoder_layers", "5").unwrap();
    blueprint.set("num_hidden_layers", "6").unwrap();
    assert!(matches!(blueprint.model(), Err(ConfigError::TwoNames { .. })));
}
