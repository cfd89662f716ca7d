//! Qwen3-Next and Qwen3.5: three layers of gated delta rule (arXiv 2412.06464) to one of gated
//! attention; Transformers' `Qwen3NextForCausalLM`, `Qwen3_5ForCausalLM` and `Qwen3_5MoeForCausalLM`.

use super::design::{Design, FamilyConfig};
use super::mla::draft;
use super::qwen::{ExpertsClass, feed_forwards, mixture};
use super::shapes::{Gqa, QkNorm, SILU, all_reduce, dense_mlp, pre_norm};
use super::trunk::{Class, Trunk, rotated};
use crate::config::{ConfigError, Keys};
use crate::units::{Conv, DeltaRule, Dim, Linear, Norm, Unit, Weights};
use crate::vision;

const NEXT_CLASS: Class =
    Class { vocab: 151_936, hidden: 2048, layers: 48, heads: 16, kv_heads: Some(2), head_dim: Some(256) };
const DENSE_CLASS: Class =
    Class { vocab: 248_320, hidden: 4096, layers: 32, heads: 16, kv_heads: Some(4), head_dim: Some(256) };
const MOE_CLASS: Class =
    Class { vocab: 248_320, hidden: 2048, layers: 40, heads: 16, kv_heads: Some(2), head_dim: Some(256) };
const NEXT_EXPERTS: ExpertsClass =
    ExpertsClass { dense: 5632, inner: 512, shared: Some(512), experts: 512, top_k: 10 };
const MOE_EXPERTS: ExpertsClass = ExpertsClass { experts: 256, top_k: 8, ..NEXT_EXPERTS };

/// Tokens of a chunk: fixed in the kernels and in Transformers.
const CHUNK: u64 = 64;

struct GatedDelta {
    hidden: u64,
    k_heads: u64,
    v_heads: u64,
    k_width: u64,
    v_width: u64,
    kernel: u64,
    /// Where the projections to queries, keys, values and gate, and to the two scalars of a head, stand.
    modules: [&'static str; 2],
}

impl GatedDelta {
    fn read(keys: &Keys, hidden: u64, modules: [&'static str; 2]) -> Result<Self, ConfigError> {
        let delta = Self {
            hidden,
            k_heads: keys.size_or("linear_num_key_heads", 16)?,
            v_heads: keys.size_or("linear_num_value_heads", 32)?,
            k_width: keys.size_or("linear_key_head_dim", 128)?,
            v_width: keys.size_or("linear_value_head_dim", 128)?,
            kernel: keys.size_or("linear_conv_kernel_dim", 4)?,
            modules,
        };
        if !delta.v_heads.is_multiple_of(delta.k_heads) {
            return Err(ConfigError::Contradiction {
                left: "linear_num_value_heads".to_owned(),
                right: "linear_num_key_heads".to_owned(),
                reason: format!("{} cannot share {} evenly", delta.v_heads, delta.k_heads),
            });
        }
        Ok(delta)
    }

    fn units(&self) -> Vec<Unit> {
        let keys = Dim::split_or_copy(self.k_heads, self.k_width);
        let values = Dim::split(self.v_heads, self.v_width);
        let scalars = Dim::split(self.v_heads, 1);
        let hidden = Dim::whole(self.hidden);
        vec![
            Linear::new("in_proj_qkvz", "gdn.proj", hidden, [keys, keys, values, values])
                .at(self.modules[0])
                .unit("2·T·h·(2·n_k·d_k + 2·n_v·d_v)"),
            Linear::new("in_proj_ba", "gdn.proj", hidden, [scalars, scalars])
                .at(self.modules[1])
                .unit("2·T·h·2·n_v"),
            Conv::unit("gdn.conv", vec![keys, keys, values], self.kernel, false, SILU),
            Unit::Weights(Weights { name: "dt_bias, A_log", parameters: 2 * self.v_heads }),
            Unit::Delta(DeltaRule {
                heads: self.v_heads,
                k_width: self.k_width,
                v_width: self.v_width,
                chunk: CHUNK,
            }),
            Unit::Norm(Norm::fused("gated_norm", "norm", self.v_heads * self.v_width, self.v_width)),
            Linear::new("out_proj", "gdn.proj", values, [hidden])
                .at("linear_attn.out_proj")
                .unit("2·T·n_v·d_v·h"),
            all_reduce(self.hidden),
        ]
    }
}

/// Attention, with a gate made by the query projection.
fn attention(keys: &Keys, trunk: &Trunk) -> Result<Gqa, ConfigError> {
    if !keys.flag_or("attn_output_gate", true)? {
        return Err(keys.wrong("attn_output_gate", "true: the only form that the class builds"));
    }
    let bias = keys.flag_or("attention_bias", false)?;
    Ok(Gqa {
        qkv_bias: bias,
        o_bias: bias,
        qk_norm: QkNorm::Head,
        gated: true,
        rotated: rotated(keys, trunk.head_dim, 0.25)?,
        ..trunk.attention()
    })
}

fn is_full(keys: &Keys, layers: usize) -> Result<Vec<bool>, ConfigError> {
    let interval = keys.size_or("full_attention_interval", 4)?;
    let Some(kinds) = keys.texts("layer_types")? else {
        return Ok((1..=layers as u64).map(|layer| layer.is_multiple_of(interval)).collect());
    };
    keys.check_length("layer_types", kinds.len(), layers)?;
    let is_full = |kind: &&str| match *kind {
        "full_attention" => Ok(true),
        "linear_attention" => Ok(false),
        _ => Err(keys.wrong("layer_types", "full_attention or linear_attention for each layer")),
    };
    kinds[..layers].iter().map(is_full).collect()
}

/// The layers with these feed-forward networks, and those that draft, each with `drafted`.
fn design(
    keys: &Keys,
    trunk: Trunk,
    tied: bool,
    modules: [&'static str; 2],
    feed_forwards: Vec<Vec<Unit>>,
    drafted: &[Unit],
) -> Result<Design, ConfigError> {
    let hidden = trunk.hidden;
    let attention = attention(keys, &trunk)?.units();
    let delta = GatedDelta::read(keys, hidden, modules)?.units();
    let layers = is_full(keys, trunk.layers)?.into_iter().zip(feed_forwards).map(|(full, feed_forward)| {
        pre_norm(hidden, if full { attention.clone() } else { delta.clone() }, feed_forward)
    });
    let mut design = trunk.decoder(tied, layers);
    // Drafting layers have full attention (vLLM's qwen3_next_mtp and qwen3_5_mtp); Transformers leaves
    // them out. Files of Qwen3-Next do not say how many there are.
    let drafts = match keys.count_if("mtp_num_hidden_layers")? {
        Some(drafts) => drafts,
        None => keys.count_or("num_nextn_predict_layers", 0)?,
    };
    if drafts > 64 {
        return Err(keys.wrong("mtp_num_hidden_layers", "at most 64 layers"));
    }
    design.drafts = vec![draft(hidden, &pre_norm(hidden, attention, drafted.to_vec())); drafts as usize];
    if drafts > 0 && keys.flag_or("mtp_use_dedicated_embeddings", false)? {
        design.notes.push("the drafting layers' own embedding is not counted".to_owned());
    }
    Ok(design)
}

pub(super) fn qwen3_next(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let trunk = Trunk::read(keys, NEXT_CLASS)?;
    let feed_forwards = feed_forwards(keys, trunk.hidden, trunk.layers, NEXT_EXPERTS)?;
    let modules = ["linear_attn.in_proj_qkvz", "linear_attn.in_proj_ba"];
    let drafted = feed_forwards.last().cloned().unwrap_or_default();
    design(keys, trunk, config.tied(false)?, modules, feed_forwards, &drafted)
}

/// Qwen3.5 has four projections where Qwen3-Next has two; the sizes are the same.
const QWEN35_MODULES: [&str; 2] = ["linear_attn.in_proj_qkv", "linear_attn.in_proj_b"];

/// Qwen3.5 around its feed-forward network, the same in all layers.
fn qwen35(config: &FamilyConfig, trunk: Trunk, feed_forward: Vec<Unit>) -> Result<Design, ConfigError> {
    let keys = &config.text;
    // The format of the states, not their size.
    keys.ignore(&["mamba_ssm_dtype"]);
    if keys.list("mlp_only_layers")?.is_some_and(|layers| !layers.is_empty()) {
        return Err(keys.wrong("mlp_only_layers", "empty: all layers are alike"));
    }
    // The class that generates text is built from the inner object alone.
    let tied = keys.flag_or("tie_word_embeddings", false)?;
    let feed_forwards = vec![feed_forward.clone(); trunk.layers];
    let mut design = design(keys, trunk, tied, QWEN35_MODULES, feed_forwards, &feed_forward)?;
    if config.nested {
        design.path = "model.language_model.layers";
    }
    // The class that generates text leaves the vision tower out.
    design.vision = vision::qwen_vl::qwen3_5(&config.root)?;
    design.vision_is_apart = true;
    Ok(design)
}

pub(super) fn qwen3_5(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let trunk = Trunk::read(&config.text, DENSE_CLASS)?;
    let inner = config.text.size_or("intermediate_size", 12_288)?;
    let feed_forward = dense_mlp(trunk.hidden, inner, false);
    qwen35(config, trunk, feed_forward)
}

pub(super) fn qwen3_5_moe(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let trunk = Trunk::read(&config.text, MOE_CLASS)?;
    let feed_forward = mixture(&config.text, trunk.hidden, MOE_EXPERTS)?;
    qwen35(config, trunk, feed_forward)
}
