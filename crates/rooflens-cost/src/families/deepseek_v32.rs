//! DeepSeek-V3.2 and GLM-5: latent attention over the keys that an indexer chooses (DeepSeek sparse
//! attention). Transformers' `DeepseekV32ForCausalLM` and `GlmMoeDsaForCausalLM`.

use serde_json::Value;

use super::deepseek::V3;
use super::lists::{DENSE_OR_SPARSE, by_word};
use super::mla::{FeedForward, Indexer, Mla, MlaDefaults, layer, with_drafts};
use super::trunk::{self, Trunk};
use super::{Design, Family, FamilyConfig};
use crate::config::{ConfigError, Keys};
use crate::step::Mask;

/// The family.
pub(crate) struct DeepseekV32;

const GLM: MlaDefaults = MlaDefaults {
    trunk: trunk::TrunkDefaults {
        vocab: 154_880,
        hidden: 6_144,
        layers: 78,
        heads: 64,
        kv_heads: None,
        head_dim: None,
    },
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

impl Family for DeepseekV32 {
    fn name(&self) -> &'static str {
        "deepseek_v32"
    }

    fn about(&self) -> &'static str {
        "DeepSeek-V3.2, GLM-5"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["deepseek_v32", "glm_moe_dsa"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
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
        if keys
            .texts("layer_types")?
            .is_some_and(|types| types.iter().any(|kind| *kind != "indexed_attention"))
        {
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
