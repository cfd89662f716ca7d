//! DeepSeek-V2 (arXiv 2405.04434), DeepSeek-V3 and R1 (arXiv 2412.19437), Kimi-K2 and, with images, Kimi-K2.5:
//! Transformers' `DeepseekV2ForCausalLM`, `DeepseekV3ForCausalLM`, `Kimi_K25ForConditionalGeneration`.
//! DeepSeek-V3.2 and GLM-5: latent attention over the keys that an indexer chooses (DeepSeek sparse attention),
//! `DeepseekV32ForCausalLM` and `GlmMoeDsaForCausalLM`. DeepSeek-OCR (arXiv 2510.18234) and DeepSeek-VL2: the decoder
//! of DeepSeek-V2, with plain multi-head attention if `use_mla` is false, read from the model's own code.
//!
//! The published 671 B of V3 leave out the layer that drafts, the 685 B of its files have it.

use serde_json::Value;

use super::design::{Design, FamilyConfig};
use super::mla::{FeedForward, Indexer, Mla, MlaDefaults, layer, with_drafts};
use super::shapes::{Gqa, pre_norm};
use super::trunk::{Class, DENSE_OR_SPARSE, Trunk, by_word, check_heads};
use crate::config::{ConfigError, Keys};
use crate::step::Mask;
use crate::units::{Product, Unit};
use crate::vision;

pub(crate) const V2: MlaDefaults = MlaDefaults {
    trunk: Class { vocab: 102_400, hidden: 4_096, layers: 32, heads: 32, kv_heads: None, head_dim: None },
    inner: 11_008,
    moe_inner: 1_407,
    q_rank: 1_536,
    nope: 128,
    value: 128,
    experts: 64,
    shared: 2,
    top_k: None,
    first_dense: 0,
};

pub(crate) const V3: MlaDefaults = MlaDefaults {
    trunk: Class { vocab: 129_280, hidden: 7_168, layers: 61, heads: 128, kv_heads: None, head_dim: None },
    inner: 18_432,
    moe_inner: 2_048,
    q_rank: 1_536,
    nope: 128,
    value: 128,
    experts: 256,
    shared: 1,
    top_k: Some(8),
    first_dense: 3,
};

pub(super) fn deepseek(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let second = config.text.text("model_type").unwrap_or(config.model_type) == "deepseek_v2";
    decoder(&config.text, config.tied(false)?, second)
}

pub(super) fn kimi_k25(config: &FamilyConfig) -> Result<Design, ConfigError> {
    // The class asks the whole, not the language model, and takes silence for yes.
    let mut design = decoder(&config.text, config.root.flag_or("tie_word_embeddings", true)?, false)?;
    design.path = "language_model.model.layers";
    design.vision = vision::kimi_k25::read(&config.root, design.hidden)?;
    Ok(design)
}

pub(crate) fn decoder(keys: &Keys, tied: bool, second: bool) -> Result<Design, ConfigError> {
    let defaults = if second { &V2 } else { &V3 };
    let trunk = Trunk::read(keys, defaults.trunk)?;
    let mla = Mla::read(keys, &trunk, defaults)?;
    let bias = second && keys.flag_or("mlp_bias", false)?;
    let feed_forward = FeedForward::read(keys, mla.hidden, defaults, bias)?;
    let depth = trunk.layers;
    let at = |index: usize| layer(&mla, feed_forward.at(index));
    with_drafts(trunk.decoder(tied, (0..depth).map(&at)), keys, &at(depth))
}

const GLM: MlaDefaults = MlaDefaults {
    trunk: Class { vocab: 154_880, hidden: 6_144, layers: 78, heads: 64, kv_heads: None, head_dim: None },
    inner: 12_288,
    moe_inner: 2_048,
    q_rank: 2_048,
    nope: 192,
    value: 256,
    experts: 256,
    shared: 1,
    top_k: Some(8),
    first_dense: 3,
};

pub(super) fn deepseek_v32(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let glm = config.model_type == "glm_moe_dsa";
    let defaults = if glm { &GLM } else { &V3 };
    let trunk = Trunk::read(keys, defaults.trunk)?;
    let mut mla = Mla::read(keys, &trunk, defaults)?;
    if mla.q_rank.is_none() {
        // The indexer's queries are made from the compressed ones.
        return Err(keys.wrong("q_lora_rank", "a rank: the indexer needs compressed queries"));
    }
    mla.mask = Mask::TopK(keys.size_or("index_topk", 2_048)?);
    let indexer = Indexer {
        heads: keys.size_or("index_n_heads", if glm { 32 } else { 64 })?,
        width: keys.size_or("index_head_dim", 128)?,
    };
    let depth = trunk.layers;
    if keys.texts("layer_types")?.is_some_and(|types| types.iter().any(|kind| *kind != "indexed_attention")) {
        return Err(keys.wrong("layer_types", "indexed_attention in every layer"));
    }
    // The class has the key `mlp_bias` and does not read it.
    let feed_forward = FeedForward::read(keys, mla.hidden, defaults, false)?;
    let sparse = by_word(keys, "mlp_layer_types", depth, "sparse", "dense", DENSE_OR_SPARSE)?;
    let indexed = if glm { indexed(keys, depth)? } else { vec![true; depth] };
    let mut layers = Vec::with_capacity(depth);
    for (index, chooses) in indexed.into_iter().enumerate() {
        let below = match sparse.as_ref().and_then(|sparse| sparse.get(index)) {
            Some(sparse) => feed_forward.of(*sparse),
            None => feed_forward.at(index),
        };
        let mla = Mla { indexer: chooses.then_some(indexer), ..mla };
        layers.push(layer(&mla, below));
    }
    let drafts = layer(&Mla { indexer: Some(indexer), ..mla }, feed_forward.at(depth));
    with_drafts(trunk.decoder(config.tied(false)?, layers), keys, &drafts)
}

/// Which layers choose keys; the others take the choice of the last that did.
fn indexed(keys: &Keys, depth: usize) -> Result<Vec<bool>, ConfigError> {
    const WANTED: &str = "full or shared for each layer";
    let (key, words) = match keys.texts("indexer_types")? {
        Some(words) => ("indexer_types", Some(words)),
        None => match keys.get("index_topk_pattern") {
            Some(Value::String(letters)) => {
                let words = letters.chars().map(|letter| match letter {
                    'F' => "full",
                    'S' => "shared",
                    _ => "",
                });
                ("index_topk_pattern", Some(words.collect()))
            }
            _ => ("index_topk_pattern", keys.texts("index_topk_pattern")?),
        },
    };
    let every = keys.count_or("index_topk_freq", 1)?.max(1);
    let offset = keys.count_or("index_skip_topk_offset", 2)?;
    let Some(words) = words else {
        let chooses = |index: usize| (index as u64 + 1).saturating_sub(offset) % every == 0;
        return Ok((0..depth).map(chooses).collect());
    };
    keys.check_length(key, words.len(), depth)?;
    words
        .into_iter()
        .take(depth)
        .map(|word| match word {
            "full" => Ok(true),
            "shared" => Ok(false),
            _ => Err(keys.wrong(key, WANTED)),
        })
        .collect()
}

/// Defaults of the model's own `DeepseekV2Config`.
const OCR: MlaDefaults = MlaDefaults {
    // Where the file does not name one, there is none.
    shared: 0,
    ..V2
};

pub(super) fn deepseek_ocr(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let tied = config.tied(false)?;
    if keys.flag_or("use_mla", true)? {
        let mut design = decoder(keys, tied, true)?;
        design.vision = None;
        return Ok(design);
    }
    // Ranks and parts of heads mean nothing without latent attention; files give null or 0.
    keys.ignore(&["kv_lora_rank", "q_lora_rank"]);
    let trunk = Trunk::read(keys, OCR.trunk)?;
    let Trunk { hidden, heads, kv_heads, .. } = trunk;
    if !hidden.is_multiple_of(heads) {
        return Err(keys.wrong("num_attention_heads", "a divisor of hidden_size"));
    }
    let head_dim = hidden / heads;
    check_heads(keys, heads, kv_heads, head_dim)?;
    let bias = keys.flag_or("attention_bias", false)?;
    let attention = Gqa { qkv_bias: bias, o_bias: bias, ..Gqa::plain(hidden, heads, kv_heads, head_dim) };
    let feed_forward = FeedForward::read(keys, hidden, &OCR, false)?;
    // Every layer multiplies positions by frequencies anew, which a counter sees; engines keep a table.
    let table = Unit::Product(Product {
        name: "rotary_table",
        class: "rope",
        counted: head_dim / 2 * 2,
        useful: 0,
        moved: head_dim,
        formula: "0 (2·T·d/2 as counted)",
    });
    let layer = |index: usize| {
        let mut units = attention.units();
        units.insert(0, table.clone());
        pre_norm(hidden, units, feed_forward.at(index))
    };
    let layers = (0..trunk.layers).map(layer);
    let mut design = trunk.decoder(tied, layers);
    design.vision = vision::deepseek_ocr::read(&config.root, hidden)?;
    Ok(design)
}
