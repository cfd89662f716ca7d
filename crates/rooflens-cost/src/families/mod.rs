//! The model families: one file each, which turns the keys of a config into layers.
//!
//! To add one: a file here, a `mod` line, an entry in [`ALL`], and a golden in `fixtures/cost`.

mod bart;
mod deepseek;
mod deepseek_ocr;
mod deepseek_v32;
mod deepseek_v4;
mod deepseek_v4_attention;
mod gemma2;
mod gemma4;
mod glm4;
mod glm4_moe;
mod gpt_oss;
mod kimi_linear;
mod lfm2;
mod lists;
mod llama;
mod llama4;
mod mamba2;
mod mimo;
mod mimo_v2;
mod minimax;
mod minimax_m2;
mod minimax_m3;
mod mistral;
mod mixtral;
mod mla;
mod mllama;
mod modules;
mod nemotron_h;
mod nemotron_nas;
mod olmo2;
mod phi3;
mod qwen2;
mod qwen2_moe;
mod qwen3;
mod qwen3_next;
mod qwen_moe;
mod seq2seq;
mod shapes;
mod step3p7;
mod t5;
mod trunk;
mod whisper;

use serde_json::{Map, Value};

use crate::config::{ConfigError, Keys};
use crate::encoder::{Encoder, EncoderInput};
use crate::model::{Assembly, Layer, Model};
use crate::precision::Dtype;
use crate::quantisation::Quantisation;
use crate::units::Unit;
use crate::vision::Tower;

/// A family of models: configs with the same keys and the same meaning.
pub trait Family: Sync {
    /// Name, as `llama`.
    fn name(&self) -> &'static str;
    /// Which models are of it, in a line.
    fn about(&self) -> &'static str;
    /// Values of `model_type` that it reads.
    fn model_types(&self) -> &'static [&'static str];
    /// Keys with the other name that Transformers knows them by: two names of one number.
    fn aliases(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// Turns keys into layers.
    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError>;
}

/// Every family, in the order of `rooflens list families`.
pub const ALL: &[&dyn Family] = &[
    &llama::Llama,
    &llama4::Llama4,
    &mllama::Mllama,
    &nemotron_nas::NemotronNas,
    &mistral::Mistral,
    &mixtral::Mixtral,
    &qwen2::Qwen2,
    &qwen2::Qwen2Vl,
    &qwen2_moe::Qwen2Moe,
    &qwen3::Qwen3,
    &qwen3::Qwen3Vl,
    &qwen3::Qwen3Moe,
    &qwen3::Qwen3VlMoe,
    &qwen3_next::Qwen3Next,
    &qwen3_next::Qwen35,
    &qwen3_next::Qwen35Moe,
    &gemma2::Gemma2,
    &gemma2::Gemma3,
    &gemma4::Gemma4,
    &gpt_oss::GptOss,
    &phi3::Phi3,
    &olmo2::Olmo2,
    &olmo2::Olmo3,
    &glm4::Glm,
    &glm4::Glm4,
    &glm4_moe::Glm4Moe,
    &deepseek::Deepseek,
    &deepseek_v32::DeepseekV32,
    &deepseek_v4::DeepseekV4,
    &deepseek_ocr::DeepseekOcr,
    &deepseek::KimiK25,
    &kimi_linear::KimiLinear,
    &minimax::Minimax,
    &minimax_m2::MinimaxM2,
    &minimax_m3::MinimaxM3,
    &mimo::Mimo,
    &mimo_v2::MimoV2,
    &step3p7::Step3p7,
    &nemotron_h::NemotronH,
    &mamba2::Mamba2,
    &lfm2::Lfm2,
    &t5::T5,
    &t5::Mt5,
    &t5::Umt5,
    &bart::Bart,
    &bart::Mbart,
    &whisper::Whisper,
];

/// A config with the object that describes the language model.
#[derive(Debug)]
pub struct FamilyConfig<'a> {
    /// The whole.
    pub(crate) root: Keys<'a>,
    /// The language model: `text_config`, `language_config`, or the whole.
    pub(crate) text: Keys<'a>,
    /// `model_type` of the whole.
    pub(crate) model_type: &'a str,
    /// Whether the language model is an object of its own.
    pub(crate) nested: bool,
}

impl FamilyConfig<'_> {
    /// Whether the head shares the embedding: said by the language model, else by the whole, else `default`.
    pub(crate) fn tied(&self, default: bool) -> Result<bool, ConfigError> {
        if self.text.names("tie_word_embeddings") {
            return self.text.flag_or("tie_word_embeddings", default);
        }
        self.root.flag_or("tie_word_embeddings", default)
    }
}

/// What a family makes of a config.
#[derive(Debug)]
pub struct Design {
    /// Width of the residual stream.
    pub(crate) hidden: u64,
    /// Rows of the embedding.
    pub(crate) vocab: u64,
    /// Where layers stand in the checkpoint, as `model.layers`.
    pub(crate) path: &'static str,
    /// The layers.
    pub(crate) layers: Vec<Layer>,
    /// What stands before them.
    pub(crate) before: Vec<Unit>,
    /// What stands after them.
    pub(crate) after: Vec<Unit>,
    /// Layers that draft further tokens.
    pub(crate) drafts: Vec<Layer>,
    /// What reads the input, where the decoder attends to it by cross-attention.
    pub(crate) encoder: Option<EncoderDesign>,
    /// What turns images into tokens.
    pub(crate) vision: Option<Tower>,
    /// Whether the class that generates text leaves the images out.
    pub(crate) vision_is_apart: bool,
    /// Format of recurrent states, where engines keep them in another than the activations'.
    pub(crate) state: Option<Dtype>,
    /// What had to be assumed.
    pub(crate) notes: Vec<String>,
}

/// What a family makes of the encoder.
#[derive(Debug)]
pub(crate) struct EncoderDesign {
    /// What it reads.
    pub(crate) input: EncoderInput,
    /// The most tokens that the decoder can have, where its positions are a table.
    pub(crate) most_decoded: Option<u64>,
    /// Where its layers stand in the checkpoint, as `model.encoder.layers`.
    pub(crate) path: &'static str,
    /// What stands before its layers.
    pub(crate) before: Vec<Unit>,
    /// Its layers.
    pub(crate) layers: Vec<Layer>,
    /// What stands after them.
    pub(crate) after: Vec<Unit>,
}

impl Design {
    /// A language model: layers between an embedding and a head.
    #[must_use]
    pub(crate) fn decoder(hidden: u64, vocab: u64, tied: bool, layers: Vec<Vec<Unit>>) -> Self {
        Self {
            hidden,
            vocab,
            path: "model.layers",
            layers: layers.into_iter().map(Layer::new).collect(),
            before: shapes::embedding(vocab, hidden, tied),
            after: shapes::head(vocab, hidden, tied),
            drafts: Vec::new(),
            encoder: None,
            vision: None,
            vision_is_apart: false,
            state: None,
            notes: Vec::new(),
        }
    }
}

/// A model with the keys that made it.
#[derive(Debug)]
pub struct ReadModel {
    /// The model.
    pub model: Model,
    /// Keys that the family asked for: what may be set.
    pub(crate) keys: Vec<String>,
}

/// Reads a config; `side` is ModelOpt's `hf_quant_config.json`, and `quantisation` replaces what the
/// checkpoint says.
pub fn read(
    config: &Map<String, Value>,
    side: Option<&Map<String, Value>>,
    formats: Option<(Dtype, Quantisation)>,
) -> Result<ReadModel, ConfigError> {
    let root = Keys::new(config, "");
    let nested =
        ["text_config", "language_config", "llm_config"].into_iter().find_map(|key| root.inside(key));
    let model_type = root.text("model_type").unwrap_or_default();
    let inner_type = nested.as_ref().and_then(|text| text.text("model_type")).unwrap_or_default();
    let architecture = root.texts("architectures").ok().flatten().and_then(|names| names.first().copied());
    let family = find(model_type, inner_type, architecture.unwrap_or_default());
    let is_nested = nested.is_some();
    let source = FamilyConfig {
        text: nested.unwrap_or_else(|| Keys::new(config, "")),
        root,
        model_type,
        nested: is_nested,
    };
    let Some(family) = family else {
        return Err(ConfigError::UnknownArchitecture {
            architecture: architecture.unwrap_or("(none)").to_owned(),
            model_type: if model_type.is_empty() { "(none)" } else { model_type }.to_owned(),
            found: source.text.structure(),
        });
    };
    let mut design = family.read(&source)?;
    if is_nested && !model_type.is_empty() && !family.model_types().contains(&model_type) {
        design.notes.push(format!(
            "{model_type} is not known, its language model {inner_type} is: only that is counted"
        ));
    }
    for (key, what) in [("vision_config", "vision tower"), ("audio_config", "audio tower")] {
        if design.vision.is_none() && source.root.inside(key).is_some() {
            design.notes.push(format!("its {what} is not counted: {} does not read {key}", family.name()));
        }
    }
    let mut unread = source.text.unread_structure();
    if is_nested {
        unread.extend(source.root.unread_structure());
    }
    if !unread.is_empty() {
        return Err(ConfigError::Unread { family: family.name(), keys: unread });
    }
    let dtype = dtype_of(&source)?;
    let (dtype, quantisation) = match formats {
        Some(formats) => formats,
        None => (dtype, Quantisation::read(config, side)?),
    };
    let mut keys = source.text.asked_for();
    keys.extend(source.root.asked_for());
    keys.sort();
    keys.dedup();
    let architecture = architecture.unwrap_or(model_type).to_owned();
    let mut model = assemble(family, architecture, design, dtype, &quantisation)?;
    model.state = state_of(&source).or(model.state);
    model.positions = positions_of(&source);
    model.check_work()?;
    Ok(ReadModel { model, keys })
}

/// The longest sequence that the config speaks of, as vLLM derives `max_model_len` (`_get_and_verify_max_len`): YaRN
/// scales the length before it, linear and dynamic scaling the length that stands there, others are counted in it.
fn positions_of(source: &FamilyConfig<'_>) -> Option<u64> {
    let keys = &source.text;
    let number = |key: &str| keys.get(key).and_then(Value::as_u64).filter(|positions| *positions > 0);
    let told = number("max_position_embeddings").or_else(|| number("n_positions"))?;
    let scaling = ["rope_scaling", "rope_parameters"].into_iter().find_map(|key| keys.inside(key));
    let scaled = || {
        let scaling = scaling.as_ref()?;
        let kind = scaling.text("rope_type").or_else(|| scaling.text("type"))?;
        let before = match kind {
            "yarn" => scaling.get("original_max_position_embeddings").and_then(Value::as_u64).unwrap_or(told),
            "linear" | "dynamic" => told,
            _ => return None,
        };
        let factor =
            scaling.get("factor").and_then(Value::as_f64).filter(|factor| (1.0..=1e6).contains(factor))?;
        Some((before as f64 * factor) as u64)
    };
    Some(scaled().map_or(told, |scaled| scaled.max(told)))
}

/// The other name of `key`, where the config's family has two names for it.
pub(crate) fn other_name(config: &Map<String, Value>, key: &str) -> Option<&'static str> {
    let model_type = config.get("model_type").and_then(Value::as_str).unwrap_or_default();
    find(model_type, "", "")?.aliases().iter().find_map(|(own, alias)| match key {
        key if key == *own => Some(*alias),
        key if key == *alias => Some(*own),
        _ => None,
    })
}

fn find(model_type: &str, inner_type: &str, architecture: &str) -> Option<&'static dyn Family> {
    let by_type = |wanted: &str| ALL.iter().copied().find(|family| family.model_types().contains(&wanted));
    by_type(model_type).or_else(|| by_type(inner_type)).or_else(|| {
        // Configs without a type: `LlamaForCausalLM` is of type `llama`.
        if !model_type.is_empty() {
            return None;
        }
        let plain = |name: &str| name.replace('_', "").to_ascii_lowercase();
        let name = plain(architecture.split("For").next().unwrap_or_default());
        ALL.iter().copied().find(|family| family.model_types().iter().any(|known| plain(known) == name))
    })
}

/// The format of weights that are not quantised: `dtype` or `torch_dtype`, else bfloat16.
fn dtype_of(source: &FamilyConfig) -> Result<Dtype, ConfigError> {
    for keys in [&source.text, &source.root] {
        for key in ["dtype", "torch_dtype"] {
            match keys.text(key).map(|text| text.trim_start_matches("torch.")) {
                None | Some("auto") => {}
                Some("bfloat16") => return Ok(Dtype::Bf16),
                Some("float16" | "half") => return Ok(Dtype::Fp16),
                Some("float32" | "float") => return Ok(Dtype::Fp32),
                Some("float8_e4m3fn") => return Ok(Dtype::Fp8),
                Some(_) => return Err(keys.wrong(key, "bfloat16, float16 or float32")),
            }
        }
    }
    Ok(Dtype::Bf16)
}

/// The format of recurrent states that a config asks for.
fn state_of(source: &FamilyConfig) -> Option<Dtype> {
    let named =
        ["mamba_ssm_cache_dtype", "mamba_ssm_dtype"].into_iter().find_map(|key| source.text.text(key));
    match named?.trim_start_matches("torch.") {
        "float32" | "float" => Some(Dtype::Fp32),
        "bfloat16" => Some(Dtype::Bf16),
        "float16" | "half" => Some(Dtype::Fp16),
        _ => None,
    }
}

fn assemble(
    family: &'static dyn Family,
    architecture: String,
    mut design: Design,
    dtype: Dtype,
    quantisation: &Quantisation,
) -> Result<Model, ConfigError> {
    let encoded = design.encoder.as_ref().map_or(0, |encoder| encoder.layers.len());
    let rules = quantisation.rules(design.layers.len() + encoded)?;
    let mut assembly = Assembly { path: design.path, dtype, rules };
    for unit in design.before.iter_mut().chain(&mut design.after) {
        assembly.store_unit(unit, None);
    }
    let depth = design.layers.len();
    for (i, layer) in design.drafts.iter_mut().enumerate() {
        assembly.store(layer, depth + i);
    }
    if let Some(tower) = &mut design.vision {
        for unit in tower.stages.iter_mut().flat_map(|stage| &mut stage.units) {
            assembly.store_unit(unit, None);
        }
    }
    let kinds = assembly.kinds(design.layers);
    let encoder = design.encoder.map(|mut encoder| {
        assembly.path = encoder.path;
        for unit in encoder.before.iter_mut().chain(&mut encoder.after) {
            assembly.store_unit(unit, None);
        }
        let kinds = assembly.kinds(encoder.layers);
        Encoder::new((encoder.input, encoder.most_decoded), encoder.before, kinds, encoder.after)
    });
    Ok(Model {
        positions: None,
        family: family.name(),
        architecture,
        hidden: design.hidden,
        vocab: design.vocab,
        depth: u32::try_from(depth).unwrap_or(u32::MAX),
        kinds,
        before: design.before,
        after: design.after,
        drafts: design.drafts,
        encoder,
        vision: design.vision,
        vision_is_apart: design.vision_is_apart,
        dtype,
        kv: quantisation.kv,
        state: design.state,
        quantisation: quantisation.name.clone(),
        notes: design.notes,
    })
}
