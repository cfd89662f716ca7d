//! Configs that no one means: as many layers as are believed, all different; as many rules as fit a file.
//! They are read or refused, and neither takes long.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use rooflens_cost::blueprint::Blueprint;
use rooflens_cost::config::ConfigError;
use rooflens_cost::document::EstimateDocument;
use rooflens_cost::estimate::Estimate;
use rooflens_cost::hardware::Catalog;
use rooflens_cost::model::Model;
use rooflens_cost::parallel::Parallel;
use rooflens_cost::setup::Setup;
use rooflens_cost::vision::Images;
use rooflens_cost::workload::{Decode, Prefill, Workload};
use serde_json::{Map, Value, json};

use crate::made::{self, Chance};

/// Far above what it takes without optimisation on a busy machine, far below what a square would.
const SOON: Duration = Duration::from_secs(600);

/// Reads a config, estimates it and makes the document; how many kinds of layers it has.
fn kinds(config: &str, side: Option<&str>) -> Result<usize, ConfigError> {
    let begin = Instant::now();
    let kinds = Blueprint::new(config.as_bytes(), side.map(str::as_bytes))?.model().map(|model| {
        let h100 = Catalog::embedded().find("H100 SXM").unwrap();
        let workload = Workload::decode(1, 1000);
        let estimate = Estimate::new(&model, &Setup::default(), &workload, Some(h100)).unwrap();
        let document = EstimateDocument::new(&model, &Setup::default(), &workload, Some(h100), &estimate);
        document.model.layer_kinds.len()
    });
    let took = begin.elapsed();
    assert!(took < SOON, "{took:?}");
    kinds
}

#[test]
fn ten_thousand_layers_all_different() {
    let mut blocks = String::new();
    for layer in 1..=10_000 {
        let comma = if layer > 1 { "," } else { "" };
        write!(
            blocks,
            r#"{comma}{{"attention": {{"n_heads_in_group": 4}}, "ffn": {{"intermediate_size": {layer}}}}}"#
        )
        .unwrap();
    }
    let config = format!(
        r#"{{"model_type": "nemotron-nas", "hidden_size": 64, "num_attention_heads": 8, "vocab_size": 100,
        "num_hidden_layers": 10000, "block_configs": [{blocks}]}}"#
    );
    assert_eq!(kinds(&config, None), Ok(10_000));
}

fn llama(layers: u64) -> String {
    format!(
        r#"{{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8, "intermediate_size": 100,
        "vocab_size": 100, "num_hidden_layers": {layers}}}"#
    )
}

#[test]
fn a_format_for_every_matrix() {
    let mut rules = String::new();
    for layer in 0..10_000 {
        let comma = if layer > 0 { "," } else { "" };
        let group = layer + 1;
        write!(
            rules,
            r#"{comma}"model.layers.{layer}.mlp.down_proj": {{"quant_algo": "NVFP4", "group_size": {group}}}"#
        )
        .unwrap();
    }
    let side = format!(
        r#"{{"quantization": {{"quant_algo": "MIXED_PRECISION", "quantized_layers": {{{rules}}}}}}}"#
    );
    assert_eq!(kinds(&llama(10_000), Some(&side)), Ok(10_000));
}

#[test]
fn expressions_that_take_long_are_refused() {
    let with = |pattern: &str, times: usize, layers: u64| {
        let patterns = vec![format!("\"{pattern}\""); times].join(", ");
        let side = format!(r#"{{"quantization": {{"quant_algo": "FP8", "exclude_modules": [{patterns}]}}}}"#);
        kinds(&llama(layers), Some(&side))
    };
    let slow = [
        "re:(a?){900}(a{1,900}){900}b",
        "re:(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)x",
        "re:((((((.*)*)*)*)*)*)*x",
    ];
    for pattern in slow {
        assert!(matches!(with(pattern, 500, 10_000), Err(ConfigError::Wrong { .. })), "{pattern}");
    }
    // As many as real checkpoints have, and more.
    assert_eq!(with("model.layers.12.self_attn*", 1000, 100), Ok(2));
    assert_eq!(with("re:.*layers\\\\.(3|4)\\\\.mlp", 100, 100), Ok(2));
    // What only other engines can match is refused, not taken for a path.
    assert!(matches!(with("re:(?!lm_head).*", 1, 2), Err(ConfigError::Wrong { .. })));
}

/// Stars are found as plain text: even the worst of them are tried quickly.
#[test]
fn stars_without_end() {
    let stars = "*a".repeat(40);
    let patterns = vec![format!("\"{stars}\""); 40].join(", ");
    let side = format!(r#"{{"quantization": {{"quant_algo": "FP8", "exclude_modules": [{patterns}]}}}}"#);
    assert_eq!(kinds(&llama(10_000), Some(&side)), Ok(1));
}

/// The fuzzer begins with configs that are read: from others it would have to find its way in first.
#[test]
fn seeds_of_the_fuzzer_are_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/config");
    let mut families = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        // As the target takes them: after a NUL, a second one parts the config from the file beside it.
        let mut files = bytes.strip_prefix(b"\0").unwrap_or(&bytes).split(|byte| *byte == 0);
        let model =
            Blueprint::new(files.next().unwrap(), files.next()).and_then(|blueprint| blueprint.model());
        let model = model.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        families.insert(model.family);
    }
    let missing: Vec<&str> = rooflens_cost::families::ALL
        .iter()
        .map(|family| family.name)
        .filter(|name| !families.contains(name))
        .collect();
    assert!(missing.is_empty(), "no seed of {missing:?}");
}

/// Sets some of the numbers in `config`, at any depth, to the least and the most that are believed.
fn exaggerated(config: &mut Map<String, Value>, chance: &mut Chance) {
    for value in config.values_mut() {
        match value {
            Value::Object(inner) => exaggerated(inner, chance),
            Value::Number(_) if chance.between(0, 3) == 0 => {
                *value = json!(chance.one_of(&[0, 1, 2, 3, 64, 1 << 20, (1 << 26) - 1, 1 << 26]));
            }
            _ => {}
        }
    }
}

/// The largest sizes that are believed, of models and of workloads together: refused, or counted without
/// running over.
#[test]
fn nothing_runs_over() {
    let mut chance = Chance::new(17);
    let h100 = Catalog::embedded().find("H100 SXM").unwrap();
    let prefill = Prefill { tokens: 1 << 28, prefix: 1 << 28, chunk: None };
    let decode = Decode { context: 1 << 28, steps: 1, draft: 1 };
    let most = Workload {
        batch: 1 << 20,
        images: None,
        encoder_tokens: None,
        prefill: Some(prefill),
        decode: Some(decode),
    };
    let image = Workload { images: Some(Images::new(4_096)), ..Workload::prefill(1 << 20, 1) };
    let mut read = 0;
    for (name, config) in made::golden_configs() {
        for _ in 0..20 {
            let mut config = config.as_object().unwrap().clone();
            exaggerated(&mut config, &mut chance);
            let text = serde_json::to_vec(&config).unwrap();
            let Ok(model) = Model::from_json(&text) else { continue };
            read += 1;
            let parallel = Parallel { tp: chance.one_of(&[1, 3, 65_536]), ..Parallel::NONE };
            let setup = Setup { parallel, ..Setup::default() };
            let most = made::fitted(&model, most.clone());
            let estimate = Estimate::new(&model, &setup, &most, Some(h100)).unwrap();
            let seconds = estimate.seconds().unwrap();
            assert!(seconds.is_finite(), "{name}");
            let document = EstimateDocument::new(&model, &setup, &most, Some(h100), &estimate);
            assert!(document.params.active <= document.params.total, "{name}");
            if model.vision.is_some() {
                // Towers refuse what they cannot take.
                let _refused = Estimate::new(&model, &setup, &image, Some(h100)).is_err();
            }
        }
    }
    assert!(read > 1000, "{read} read");
}
