//! Llama 3.2 Vision (11B, 90B; text): Llama 3.1 with layers that attend to images, which text without
//! images leaves out. Transformers' `MllamaForCausalLM`.

use super::design::{Design, FamilyConfig};
use super::shapes::{Gqa, all_reduce, dense_mlp, embedding, pre_norm};
use super::trunk::{Class, Trunk};
use crate::config::ConfigError;
use crate::model::Layer;
use crate::step::Mask;
use crate::units::{Attention, Dim, KvCache, Linear, LinearRows, Norm, Unit, Weights};
use crate::vision;

const CLASS: Class =
    Class { vocab: 128_256, hidden: 4_096, layers: 40, heads: 32, kv_heads: Some(8), head_dim: None };

const SPECIAL: u64 = 8;

pub(super) fn read(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let trunk = Trunk::read(keys, CLASS)?;
    let Trunk { hidden, vocab, layers: depth, .. } = trunk;
    if trunk.heads * trunk.head_dim != hidden {
        return Err(keys.wrong("num_attention_heads", "a divisor of hidden_size, and no other head_dim"));
    }
    let shape = trunk.attention();
    let feed_forward = dense_mlp(hidden, keys.size_or("intermediate_size", 14_336)?, false);
    let crossing =
        keys.numbers("cross_attention_layers")?.unwrap_or_else(|| vec![3, 8, 13, 18, 23, 28, 33, 38]);
    let layer = |index: usize| {
        if !crossing.contains(&(index as u64)) {
            return Layer::new(pre_norm(hidden, shape.units(), feed_forward.clone()));
        }
        let mut units = pre_norm(hidden, cross(&shape), feed_forward.clone());
        units.push(Unit::Weights(Weights { name: "cross_attn gates", parameters: 2 }));
        Layer { units, media_only: true }
    };
    // The embedding has more rows than the head, so that the class never shares them.
    config.tied(false)?;
    let mut design = trunk.decoder(false, Vec::new());
    design.layers = (0..depth).map(layer).collect();
    design.before = embedding(vocab + SPECIAL, hidden, false);
    if config.nested {
        design.path = "language_model.model.layers";
    }
    design.vision = vision::mllama::read(&config.root, hidden)?;
    design.vision_is_apart = true;
    Ok(design)
}

fn cross(shape: &Gqa) -> Vec<Unit> {
    let Gqa { hidden, heads, kv_heads, head_dim, .. } = *shape;
    let kv = Dim::split_or_copy(kv_heads, head_dim);
    vec![
        Linear::new("q_proj", "attn.q", Dim::whole(hidden), [Dim::split(heads, head_dim)])
            .at("cross_attn.q_proj")
            .unit("2·T·h·H·d"),
        Linear::new("kv_proj", "attn.kv", Dim::whole(hidden), [kv, kv])
            .at("cross_attn.k_proj")
            .rows(LinearRows::Media)
            .unit("4·media·h·K·d"),
        Unit::Norm(Norm::fused("qk_norm", "norm", heads * head_dim, 2 * head_dim)),
        Unit::Attention(Attention::plain(
            "attn.core",
            [heads, kv_heads],
            head_dim,
            Mask::Cross,
            KvCache::Own,
        )),
        Linear::new("o_proj", "attn.o", Dim::split(heads, head_dim), [Dim::whole(hidden)])
            .at("cross_attn.o_proj")
            .unit("2·T·H·d·h"),
        all_reduce(hidden),
    ]
}
