//! Numbers of real Transformers models, counted on the meta device by `oracles/transformers_cost.py`.

use rooflens_cost::encoder::ModelWorkload;
use rooflens_cost::model::Model;
use rooflens_cost::parallel::Parallel;
use rooflens_cost::step::{Mask, Step};
use rooflens_cost::tally::Tally;
use rooflens_cost::units::Unit;
use rooflens_cost::{Setup, Workload, families, memory};
use serde_json::{Map, Value, json};

use crate::common::{assert_none, language_goldens, pass, tally};

/// A golden's workload, and how it is called.
fn asked(golden: &Value) -> (String, Workload) {
    let of = |key: &str| golden[key].as_u64();
    let batch = of("batch").unwrap();
    match (of("prefill"), of("past")) {
        (Some(new), _) => (format!("prefill {batch}x{new}"), Workload::prefill(batch, new)),
        (None, Some(past)) => {
            let workload = Workload { encoder_tokens: of("encoder_tokens"), ..Workload::decode(batch, past) };
            (format!("decode {batch} after {past}"), workload)
        }
        (None, None) => panic!("a workload without prefill or past: {golden}"),
    }
}

/// What torch counts in the encoder, where it runs, and in the only step of the decoder.
fn counted(model: &Model, workload: &Workload) -> (u128, Step) {
    let ModelWorkload { decoder, positions, encodes } = model.asked(workload).unwrap();
    let phase = decoder.phases()[0];
    let [step] = decoder.steps(phase, workload.batch, positions)[..] else { panic!("one step") };
    let mut tally = tally(model, step);
    if let Some(encoder) = model.encoder.as_ref().filter(|_| encodes) {
        let pass = pass(Step::encoder(workload.batch, positions), Parallel::NONE, 0);
        tally.add_encoder(encoder, &pass, None);
    }
    (tally.work().flops.as_counted, step)
}

/// Elements of keys and values that Transformers keeps of a sequence of `tokens` tokens: one fewer than
/// a window is wide, the next token being the last of it.
fn cached(model: &Model, tokens: u64) -> u128 {
    let pass = pass(Step::decode(1, tokens), Parallel::NONE, 0);
    let mut bytes = 0;
    for kind in &model.kinds {
        for unit in kind.layer.units.iter().filter(|unit| matches!(unit, Unit::Attention(_))) {
            let kept = unit.kept(&pass);
            let window = kept.window.map_or(0, |(width, each)| u128::from(tokens.min(width - 1)) * each);
            bytes += kind.at.len() as u128 * (kept.bytes_per_token * u128::from(tokens) + window);
        }
    }
    bytes / 2
}

/// Elements of keys and values of the encoder's positions that the decoder keeps of a sequence.
fn cached_of_encoder(model: &Model, positions: u64) -> u128 {
    memory::cache(model, &Setup::default()).bytes_per_media_token * u128::from(positions) / 2
}

fn compare(name: &str, golden: &Value, wrong: &mut Vec<String>) {
    let model = match families::read(golden["config"].as_object().unwrap(), None, None) {
        Ok(read) => read.model,
        Err(error) => return wrong.push(format!("{name}: {error}")),
    };
    let mut check = |what: &str, found: u128, wanted: &Value| {
        let wanted = u128::from(wanted.as_u64().unwrap());
        if found != wanted {
            let more = found as i128 - wanted as i128;
            wrong.push(format!("{name}: {what} {found}, wanted {wanted} ({more:+})"));
        }
    };
    let parameters = &golden["params"];
    check("parameters", model.parameters().stored, &parameters["total"]);
    check("active parameters", model.active_parameters(), &parameters["active"]);
    check("parameters of experts", model.parameters().routed, &parameters["routed_experts"]);
    for workload in golden["workloads"].as_array().unwrap() {
        let (what, asked) = asked(workload);
        let (flops, step) = counted(&model, &asked);
        check(&what, flops, &workload["flops"]["total"]);
        // Latent caches are kept in other ways.
        let plain = model.kinds.iter().flat_map(|kind| &kind.layer.units).all(|unit| match unit {
            Unit::Attention(attention) => attention.mask != Mask::Cross || model.encoder.is_some(),
            Unit::Latent(_) | Unit::IndexScores(_) => false,
            _ => true,
        });
        if let Some(keys) = workload["cache_elements"]["keys"].as_u64().filter(|_| plain) {
            let wanted = keys + workload["cache_elements"]["values"].as_u64().unwrap();
            let found = u128::from(step.sequences) * cached(&model, step.past);
            check(&format!("{what}: cache"), found, &json!(wanted));
        }
        if let Some(keys) = workload["cache_elements"]["cross_keys"].as_u64() {
            let wanted = keys + workload["cache_elements"]["cross_values"].as_u64().unwrap();
            let found = u128::from(step.sequences) * cached_of_encoder(&model, step.media);
            check(&format!("{what}: cache of the encoder"), found, &json!(wanted));
        }
    }
}

#[test]
fn all_are_as_transformers_counts_them() {
    let mut wrong = Vec::new();
    let goldens: Vec<(String, Value)> = language_goldens().collect();
    goldens.iter().for_each(|(name, golden)| compare(name, golden, &mut wrong));
    assert!(goldens.len() > 200, "{} goldens", goldens.len());
    assert_none(&wrong);
}

/// Among those that are compared are encoder-decoder models with both caches: small models with odd sizes and the
/// published ones.
#[test]
fn parity_156_encoder_decoders_are_as_transformers_counts_them() {
    let mut families = std::collections::BTreeMap::new();
    for (name, golden) in language_goldens() {
        let family = name.split('-').next().unwrap().to_owned();
        if ["t5", "mt5", "umt5", "bart", "mbart", "whisper"].contains(&family.as_str()) {
            *families.entry(family).or_insert(0) += 1;
            let both = golden["workloads"].as_array().unwrap();
            let crossed = |one: &&Value| one["cache_elements"]["cross_keys"].is_u64();
            assert_eq!((both.len(), both.iter().filter(crossed).count()), (6, 3), "{name}");
        }
    }
    assert!(families.len() == 6 && families.values().all(|count| *count >= 6), "{families:?}");
}

/// `config` with `key`, at the top or in its language model, set to `value`.
fn with(config: &Map<String, Value>, inner: Option<&str>, key: &str, value: &Value) -> Map<String, Value> {
    let mut config = config.clone();
    let place = match inner {
        Some(inner) => config.get_mut(inner).unwrap().as_object_mut().unwrap(),
        None => &mut config,
    };
    place.insert(key.to_owned(), value.clone());
    config
}

/// Values that no model has are refused, or give numbers: never a panic.
#[test]
fn no_value_panics() {
    let values = json!([0, 1, 7, 67_108_864, -1, null, 0.5, "x", []]);
    // Biases have no keys but their own: the plain goldens try the rest.
    for (_, golden) in language_goldens().filter(|(name, _)| !name.contains("bias")) {
        let config = golden["config"].as_object().unwrap();
        let places = config.iter().flat_map(|(key, value)| match value {
            Value::Object(inner) => inner.keys().map(|inner| (Some(key.as_str()), inner)).collect(),
            _ => vec![(None, key)],
        });
        for (inner, key) in places {
            for value in values.as_array().unwrap() {
                if let Ok(read) = families::read(&with(config, inner, key, value), None, None) {
                    tally(&read.model, Step::prefill(3, 5, 2));
                    tally(&read.model, Step::decode(2, 9));
                    if let Some(encoder) = &read.model.encoder {
                        let pass = pass(Step::encoder(3, 5), Parallel::NONE, 0);
                        Tally::default().add_encoder(encoder, &pass, None);
                    }
                    assert!(read.model.parameters().routed <= read.model.parameters().stored);
                }
            }
        }
    }
}

#[test]
fn every_family_is_compared_with_something() {
    // Not in Transformers: counted by hand in `by_hand.rs`.
    const BY_HAND: &[&str] = &["mimo", "nemotron_nas", "deepseek_ocr"];
    let goldens: Vec<(String, Value)> = language_goldens().collect();
    let has_golden = |family: &&families::Family| {
        let types = family.model_types;
        goldens.iter().any(|(_, golden)| {
            golden["config"]["model_type"].as_str().is_some_and(|known| types.contains(&known))
        })
    };
    let alone = families::ALL.iter().filter(|family| !has_golden(family)).map(|family| family.name);
    let alone: Vec<&str> = alone.filter(|name| !BY_HAND.contains(name)).collect();
    assert!(alone.is_empty(), "make goldens with oracles/transformers_cost.py, or count by hand: {alone:?}");
}
