//! The model families: each turns the keys of a config into layers.
//!
//! To add one: a function that reads it, an entry in [`ALL`], and a golden in `fixtures/cost`.

mod bart;
mod deepseek;
mod deepseek_v4;
mod design;
mod gemma;
mod glm;
mod gpt_oss;
mod kimi_linear;
mod lfm2;
mod llama;
mod llama4;
mod mamba2;
mod mimo;
mod minimax;
mod mistral;
mod mla;
mod mllama;
mod nemotron_h;
mod nemotron_nas;
mod olmo2;
mod phi3;
mod qwen;
mod qwen3_next;
mod seq2seq;
mod shapes;
mod step3p7;
mod t5;
mod trunk;
mod whisper;

use serde_json::{Map, Value};

use self::design::{Design, FamilyConfig};
use crate::config::{ConfigError, Keys};
use crate::model::Model;
use crate::operator::Operator;
use crate::precision::Dtype;
use crate::quantisation::Quantisation;
use crate::routing::Touch;
use crate::setup::Setup;
use crate::step::Step;
use crate::tally::{OperatorPlace, visit, visit_drafts, visit_encoder};

/// A family of models: configs with the same keys and the same meaning.
#[derive(Debug)]
pub struct Family {
    /// Name, as `llama`.
    pub name: &'static str,
    /// Its models, in a line.
    pub about: &'static str,
    /// Values of `model_type` that it reads.
    pub model_types: &'static [&'static str],
    /// Keys with the other name that Transformers knows them by: two names of one number.
    aliases: Aliases,
    read: ReadFamily,
}

type Aliases = &'static [(&'static str, &'static str)];
type ReadFamily = fn(&FamilyConfig) -> Result<Design, ConfigError>;

const fn family(
    name: &'static str,
    about: &'static str,
    model_types: &'static [&'static str],
    read: ReadFamily,
) -> Family {
    Family { name, about, model_types, aliases: &[], read }
}

/// Every family, in the order of `rooflens list families`.
pub const ALL: &[Family] = &[
    family("llama", "Llama 2, 3, 3.1 and 3.2 (text), Code Llama, Yi", &["llama"], llama::read),
    family("llama4", "Llama 4 Scout and Maverick", &["llama4", "llama4_text"], llama4::read),
    family("mllama", "Llama 3.2 Vision", &["mllama", "mllama_text_model"], mllama::read),
    family(
        "nemotron_nas",
        "Llama-3.3-Nemotron-Super-49B, Llama-3.1-Nemotron-Ultra-253B, Llama-3.1-Nemotron-51B",
        &["nemotron-nas", "deci_lm", "deci"],
        nemotron_nas::read,
    ),
    family("mistral", "Mistral 7B, Mistral Nemo", &["mistral"], mistral::mistral),
    family("mixtral", "Mixtral 8x7B and 8x22B", &["mixtral"], mistral::mixtral),
    family("qwen2", "Qwen2, Qwen2.5", &["qwen2"], qwen::qwen2),
    family("qwen2_vl", "Qwen2-VL, Qwen2.5-VL", &["qwen2_vl", "qwen2_5_vl"], qwen::qwen2_vl),
    family("qwen2_moe", "Qwen1.5-MoE-A2.7B, Qwen2-57B-A14B", &["qwen2_moe"], qwen::qwen2_moe),
    family("qwen3", "Qwen3 0.6B to 32B", &["qwen3"], qwen::qwen3),
    family("qwen3_vl", "Qwen3-VL 2B to 32B", &["qwen3_vl"], qwen::qwen3_vl),
    family("qwen3_moe", "Qwen3-30B-A3B, Qwen3-235B-A22B, Qwen3-Coder", &["qwen3_moe"], qwen::qwen3_moe),
    family("qwen3_vl_moe", "Qwen3-VL-30B-A3B, Qwen3-VL-235B-A22B", &["qwen3_vl_moe"], qwen::qwen3_vl_moe),
    family("qwen3_next", "Qwen3-Next-80B-A3B", &["qwen3_next"], qwen3_next::qwen3_next),
    family("qwen3_5", "Qwen3.5, dense", &["qwen3_5", "qwen3_5_text"], qwen3_next::qwen3_5),
    family(
        "qwen3_5_moe",
        "Qwen3.5-35B-A3B, Qwen3.5-397B-A17B",
        &["qwen3_5_moe", "qwen3_5_moe_text"],
        qwen3_next::qwen3_5_moe,
    ),
    family("gemma2", "Gemma 2 2B, 9B and 27B", &["gemma2"], gemma::gemma2),
    family("gemma3", "Gemma 3 270M to 27B", &["gemma3", "gemma3_text"], gemma::gemma3),
    family("gemma4", "Gemma 4 E2B, E4B, 26B-A4B and 31B", &["gemma4", "gemma4_text"], gemma::gemma4),
    family("gpt_oss", "gpt-oss-20b, gpt-oss-120b", &["gpt_oss"], gpt_oss::read),
    family("phi3", "Phi-3, Phi-3.5 (dense), Phi-4", &["phi3"], phi3::read),
    family("olmo2", "OLMo 2 1B to 32B", &["olmo2"], olmo2::olmo2),
    family("olmo3", "Olmo 3 7B and 32B", &["olmo3"], olmo2::olmo3),
    family("glm", "GLM-4 9B, GLM-Edge", &["glm"], glm::glm),
    family("glm4", "GLM-4-0414 9B and 32B", &["glm4"], glm::glm4),
    family("glm4_moe", "GLM-4.5, GLM-4.5-Air, GLM-4.6", &["glm4_moe"], glm::glm4_moe),
    family(
        "deepseek",
        "DeepSeek-V2, V3, V3.1 and R1, Kimi-K2",
        &["deepseek_v2", "deepseek_v3", "kimi_k2"],
        deepseek::deepseek,
    ),
    family("deepseek_v32", "DeepSeek-V3.2, GLM-5", &["deepseek_v32", "glm_moe_dsa"], deepseek::deepseek_v32),
    family("deepseek_v4", "DeepSeek-V4-Flash and V4-Pro", &["deepseek_v4"], deepseek_v4::read),
    family(
        "deepseek_ocr",
        "DeepSeek-OCR, DeepSeek-VL2",
        &["deepseek_vl_v2", "deepseek_ocr"],
        deepseek::deepseek_ocr,
    ),
    family("kimi_k25", "Kimi-K2.5 and K2.6", &["kimi_k25"], deepseek::kimi_k25),
    family("kimi_linear", "Kimi-Linear-48B-A3B", &["kimi_linear", "kimi_k3"], kimi_linear::read),
    family(
        "minimax",
        "MiniMax-Text-01, MiniMax-M1",
        &["minimax", "minimax_text_01", "minimax_m1"],
        minimax::minimax,
    ),
    family("minimax_m2", "MiniMax-M2, M2.1 and M2.5", &["minimax_m2"], minimax::minimax_m2),
    family(
        "minimax_m3",
        "MiniMax-M3",
        &["minimax_m3", "minimax_m3_vl", "minimax_m3_vl_text"],
        minimax::minimax_m3,
    ),
    family("mimo", "MiMo-7B", &["mimo"], mimo::mimo),
    family("mimo_v2_flash", "MiMo-V2-Flash", &["mimo_v2_flash"], mimo::mimo_v2),
    family("step3p7", "Step-3.5-Flash, Step-3.7-Flash", &["step3p7", "step3p5"], step3p7::read),
    family(
        "nemotron_h",
        "Nemotron-H, Nemotron Nano 2, Nemotron 3 Nano and Super",
        &["nemotron_h"],
        nemotron_h::read,
    ),
    family("mamba2", "Mamba-2, Mamba-Codestral", &["mamba2"], mamba2::read),
    family("lfm2", "LFM2 and LFM2.5, LFM2-MoE, LFM2-VL (text)", &["lfm2", "lfm2_moe", "lfm2_vl"], lfm2::read),
    Family {
        aliases: t5::ALIASES,
        ..family("t5", "T5, T5 1.1, Flan-T5 (encoder-decoder)", &["t5"], |config| {
            t5::read(config, &t5::T5_CLASS)
        })
    },
    Family {
        aliases: t5::ALIASES,
        ..family("mt5", "mT5 (encoder-decoder)", &["mt5"], |config| t5::read(config, &t5::MT5_CLASS))
    },
    Family {
        aliases: t5::ALIASES,
        ..family("umt5", "UMT5 (encoder-decoder)", &["umt5"], |config| t5::read(config, &t5::UMT5_CLASS))
    },
    Family {
        aliases: seq2seq::FAIRSEQ_ALIASES,
        ..family("bart", "BART, DistilBART (encoder-decoder)", &["bart"], |config| bart::read(config, true))
    },
    Family {
        aliases: seq2seq::FAIRSEQ_ALIASES,
        ..family("mbart", "mBART, mBART-50 (encoder-decoder)", &["mbart"], |config| bart::read(config, false))
    },
    Family {
        aliases: seq2seq::FAIRSEQ_ALIASES,
        ..family("whisper", "Whisper, Distil-Whisper (speech, encoder-decoder)", &["whisper"], whisper::read)
    },
];

/// A model with the keys that made it.
#[derive(Debug)]
pub struct ReadModel {
    /// The model.
    pub model: Model,
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
    let mut design = (family.read)(&source)?;
    if is_nested && !model_type.is_empty() && !family.model_types.contains(&model_type) {
        design.notes.push(format!(
            "{model_type} is not known, its language model {inner_type} is: only that is counted"
        ));
    }
    for (key, what) in [("vision_config", "vision tower"), ("audio_config", "audio tower")] {
        if design.vision.is_none() && source.root.inside(key).is_some() {
            design.notes.push(format!("its {what} is not counted: {} does not read {key}", family.name));
        }
    }
    let mut unread = source.text.unread_structure();
    if is_nested {
        unread.extend(source.root.unread_structure());
    }
    if !unread.is_empty() {
        return Err(ConfigError::Unread { family: family.name, keys: unread });
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
    let mut model = design.model(family.name, architecture, dtype, &quantisation)?;
    model.state = state_of(&source).or(model.state);
    model.positions = positions_of(&source);
    check_work(&model)?;
    Ok(ReadModel { model, keys })
}

impl Model {
    /// Reads a `config.json`.
    pub fn from_json(text: &[u8]) -> Result<Self, ConfigError> {
        Ok(read(&crate::config::parse(text)?, None, None)?.model)
    }
}

/// The most operations of a token that are believed: hundreds of times those of the largest models, and
/// few enough that the largest workload does not run over 128 bits. That has 2^77 pairs of tokens.
const MOST_OPERATIONS: u128 = 1 << 48;

/// Refuses a model of which each size may be believed, but not their product.
fn check_work(model: &Model) -> Result<(), ConfigError> {
    let setup = Setup::default();
    // One position of an encoder, too, and a decoder that attends to it.
    let media = u64::from(model.encoder.is_some());
    let pass = setup.pass(model, Step { media, ..Step::prefill(1, 1, 0) }, 0, Touch::Expected);
    let mut buffer = Vec::new();
    let mut operations = 0;
    let mut add = |_: OperatorPlace, layers: u64, operators: &[Operator]| {
        let of = |operator: &Operator| operator.work.flops.useful * u128::from(layers);
        operations += operators.iter().map(of).sum::<u128>();
    };
    visit(model, &pass, &mut buffer, &mut add);
    if let Some(encoder) = &model.encoder {
        let pass = setup.pass(model, Step::encoder(1, 1), 0, Touch::Expected);
        visit_encoder(encoder, &pass, &mut buffer, &mut add);
    }
    visit_drafts(model, &pass, model.drafts.len() as u64, &mut buffer, &mut add);
    if operations > MOST_OPERATIONS {
        return Err(ConfigError::Wrong {
            key: "the work of a token".to_owned(),
            found: format!("{:.0e} operations", operations as f64),
            wanted: "at most 281,474,976,710,656",
        });
    }
    Ok(())
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
    find(model_type, "", "")?.aliases.iter().find_map(|(own, alias)| match key {
        key if key == *own => Some(*alias),
        key if key == *alias => Some(*own),
        _ => None,
    })
}

fn find(model_type: &str, inner_type: &str, architecture: &str) -> Option<&'static Family> {
    let by_type = |wanted: &str| ALL.iter().find(|family| family.model_types.contains(&wanted));
    by_type(model_type).or_else(|| by_type(inner_type)).or_else(|| {
        // Configs without a type: `LlamaForCausalLM` is of type `llama`.
        if !model_type.is_empty() {
            return None;
        }
        let plain = |name: &str| name.replace('_', "").to_ascii_lowercase();
        let name = plain(architecture.split("For").next().unwrap_or_default());
        ALL.iter().find(|family| family.model_types.iter().any(|known| plain(known) == name))
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
