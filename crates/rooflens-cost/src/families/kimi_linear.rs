//! Kimi-Linear (arXiv 2510.26692): three layers of Kimi delta attention, the gated delta rule with a decay
//! for each channel, to one of latent attention. Transformers' `KimiLinearForCausalLM`.
//!
//! Kimi-K3 has the same name inside, but parts that no public class describes: it is refused by name.

use super::design::{Design, FamilyConfig};
use super::mla::{FeedForward, Mla, MlaDefaults};
use super::shapes::{SILU, all_reduce, pre_norm};
use super::trunk::{Class, DENSE_OR_SPARSE, Trunk, by_word};
use crate::config::{ConfigError, Keys};
use crate::precision::Dtype;
use crate::units::{Conv, DeltaRule, Dim, Linear, Norm, Unit, Weights};

const KINDS: &str = "linear_attention or full_attention for each layer";

const SIZES: MlaDefaults = MlaDefaults {
    trunk: Class { vocab: 163_840, hidden: 2_304, layers: 27, heads: 32, kv_heads: None, head_dim: None },
    inner: 9_216,
    moe_inner: 1_024,
    q_rank: 0,
    nope: 128,
    value: 128,
    experts: 256,
    shared: 1,
    top_k: Some(8),
    first_dense: 1,
};

/// What Kimi-K3 has beyond Kimi-Linear: residuals between blocks of layers, gates of unknown shape,
/// experts in a narrower space.
const UNKNOWN: &[&str] = &[
    "attn_res_block_size",
    "mla_use_output_gate",
    "routed_expert_hidden_size",
    "latent_moe_use_norm",
    "num_nextn_predict_layers",
];

pub(super) fn read(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let linear = keys.inside("linear_attn_config");
    let mut unknown: Vec<String> =
        UNKNOWN.iter().filter(|key| keys.has(key)).map(|key| (*key).to_owned()).collect();
    if linear.as_ref().is_some_and(|linear| linear.has("use_full_rank_gate")) {
        unknown.push("linear_attn_config.use_full_rank_gate".to_owned());
    }
    if !unknown.is_empty() {
        return Err(ConfigError::Unread { family: "kimi_linear", keys: unknown });
    }
    // How the router scores.
    keys.ignore(&["moe_renormalize", "moe_router_activation_func", "num_expert_group"]);
    let trunk = Trunk::read(keys, SIZES.trunk)?;
    let mut mla = Mla::read(keys, &trunk, &SIZES)?;
    mla.q_rank = keys.size_if("q_lora_rank")?;
    let hidden = mla.hidden;
    let depth = trunk.layers;
    let delta = Delta::read(keys, linear.as_ref(), hidden)?;
    let feed_forward = FeedForward::read(keys, hidden, &SIZES, false)?;
    let sparse = by_word(keys, "mlp_layer_types", depth, "sparse", "dense", DENSE_OR_SPARSE)?;
    let full = full_layers(keys, linear.as_ref(), depth)?;
    let layer = |(index, full): (usize, bool)| {
        let attention = if full { mla.units() } else { delta.units() };
        let below = match sparse.as_ref().and_then(|sparse| sparse.get(index)) {
            Some(sparse) => feed_forward.of(*sparse),
            None => feed_forward.at(index),
        };
        pre_norm(hidden, attention, below)
    };
    let layers = full.into_iter().enumerate().map(layer);
    // vLLM keeps the state of delta attention in single precision, whatever the model's format.
    Ok(Design { state: Some(Dtype::Fp32), ..trunk.decoder(config.tied(false)?, layers) })
}

/// Which layers have latent attention: by name, by lists that count from 1, else every fifth.
fn full_layers(keys: &Keys, linear: Option<&Keys>, depth: usize) -> Result<Vec<bool>, ConfigError> {
    if let Some(full) = by_word(keys, "layer_types", depth, "full_attention", "linear_attention", KINDS)? {
        return Ok(full);
    }
    if let Some(linear) = linear
        && let (Some(full), Some(delta)) =
            (linear.numbers("full_attn_layers")?, linear.numbers("kda_layers")?)
    {
        let of = |layer: u64| match (full.contains(&layer), delta.contains(&layer)) {
            (true, false) => Ok(true),
            (false, true) => Ok(false),
            _ => Err(linear.wrong("kda_layers", "with full_attn_layers every layer once, from 1")),
        };
        return (1..=depth as u64).map(of).collect();
    }
    Ok((0..depth).map(|index| index != 0 && index % 4 == 0).collect())
}

struct Delta {
    hidden: u64,
    heads: u64,
    width: u64,
    kernel: u64,
}

impl Delta {
    fn read(keys: &Keys, linear: Option<&Keys>, hidden: u64) -> Result<Self, ConfigError> {
        let size = |inner: &str, key: &str, default: u64| match linear {
            Some(linear) => linear.size_or(inner, keys.size_or(key, default)?),
            None => keys.size_or(key, default),
        };
        Ok(Self {
            hidden,
            heads: size("num_heads", "linear_num_heads", 32)?,
            width: size("head_dim", "linear_head_dim", 128)?,
            kernel: size("short_conv_kernel_size", "linear_conv_kernel_dim", 4)?,
        })
    }

    fn units(&self) -> Vec<Unit> {
        let Delta { hidden, heads, width, kernel } = *self;
        let wide = Dim::split(heads, width);
        // Gates go through the width of one head.
        let gate = |down: &'static str, up: &'static str, at: &'static str| {
            [
                Linear::new(down, "gdn.proj", Dim::whole(hidden), [Dim::whole(width)]).at(at).unit("2·T·h·d"),
                Linear::new(up, "gdn.proj", Dim::whole(width), [wide]).at(at).unit("2·T·d·H·d"),
            ]
        };
        let mut units = vec![
            Linear::new("qkv_proj", "gdn.proj", Dim::whole(hidden), [wide, wide, wide])
                .at("self_attn.q_proj")
                .unit("6·T·h·H·d"),
            Conv::unit("gdn.conv", vec![wide, wide, wide], kernel, false, SILU),
        ];
        units.extend(gate("f_a_proj", "f_b_proj", "self_attn.f_a_proj"));
        units.push(
            Linear::new("b_proj", "gdn.proj", Dim::whole(hidden), [Dim::split(heads, 1)])
                .at("self_attn.b_proj")
                .unit("2·T·h·H"),
        );
        units.push(Unit::Weights(Weights { name: "dt_bias, A_log", parameters: heads * width + heads }));
        units.push(Unit::Delta(DeltaRule { heads, k_width: width, v_width: width, chunk: 64 }));
        units.extend(gate("g_a_proj", "g_b_proj", "self_attn.g_a_proj"));
        units.push(Unit::Norm(Norm::fused("o_norm", "norm", heads * width, width)));
        units.push(
            Linear::new("o_proj", "gdn.proj", wide, [Dim::whole(hidden)])
                .at("self_attn.o_proj")
                .unit("2·T·H·d·h"),
        );
        units.push(all_reduce(hidden));
        units
    }
}
