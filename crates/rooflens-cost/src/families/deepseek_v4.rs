//! DeepSeek-V4-Flash and V4-Pro: one key head that is the value too, attention to a window and to
//! summaries of what lies before it, a grouped output projection, several residual streams
//! (hyper-connections). Transformers' `DeepseekV4ForCausalLM`.

use super::deepseek_v4_attention::{AttentionSizes, Past};
use super::shapes::{Mixture, gated_mlp, head};
use super::trunk::{Trunk, TrunkDefaults, check_experts};
use super::{Design, Family, FamilyConfig};
use crate::config::{ConfigError, Keys};
use crate::model::Layer;
use crate::units::{Dim, Linear, Norm, Product, Unit, Weights};

/// The family.
pub(crate) struct DeepseekV4;

const CLASS: TrunkDefaults = TrunkDefaults {
    vocab: 129_280,
    hidden: 4_096,
    layers: 43,
    heads: 64,
    kv_heads: Some(1),
    head_dim: Some(512),
};

impl Family for DeepseekV4 {
    fn name(&self) -> &'static str {
        "deepseek_v4"
    }

    fn about(&self) -> &'static str {
        "DeepSeek-V4-Flash and V4-Pro"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["deepseek_v4"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        // The class builds one shared expert and one key head whatever these say; the layers that draft
        // are not part of it, and how hashed layers choose experts changes no shape.
        keys.ignore(&["n_shared_experts", "num_nextn_predict_layers"]);
        // `expert_dtype` names the stored format, which the quantisation tells as well.
        keys.ignore(&["expert_dtype"]);
        let trunk = Trunk::read(keys, CLASS)?;
        check_choice(keys, trunk.layers)?;
        let pasts = pasts(keys, trunk.layers)?;
        let attention = AttentionSizes::read(keys, &trunk)?;
        let (hidden, vocab) = (trunk.hidden, trunk.vocab);
        let streams = keys.size_or("hc_mult", 4)?;
        if streams > 64 {
            return Err(keys.wrong("hc_mult", "at most 64 streams"));
        }
        let inner = keys.size_or("moe_intermediate_size", 2_048)?;
        let mixture = Mixture {
            hidden,
            experts: keys.experts_or("n_routed_experts", 256)?,
            top_k: keys.size_or("num_experts_per_tok", 6)?,
            inner,
            shared: 0,
            shared_gate: false,
            bias: false,
            router_bias: false,
        };
        check_experts(keys, "num_experts_per_tok", mixture.top_k, mixture.experts)?;
        let mut feed_forward = mixture.units();
        let sum = feed_forward.len().saturating_sub(1);
        feed_forward.splice(sum..sum, gated_mlp("moe.shared", hidden, inner, false));
        let layer = |past: &Past| {
            let mut units = connection("attn_hc", hidden, streams);
            units.push(Unit::Norm(Norm::residual("input_layernorm", hidden)));
            units.extend(attention.units(*past));
            units.push(mixing("attn_hc_mix", hidden, streams));
            units.extend(connection("ffn_hc", hidden, streams));
            units.push(Unit::Norm(Norm::residual("post_attention_layernorm", hidden)));
            units.extend(feed_forward.clone());
            units.push(mixing("ffn_hc_mix", hidden, streams));
            Layer::new(units)
        };
        let tied = config.tied(false)?;
        let mut after = vec![
            Unit::Linear(
                Linear::new("hc_head", "hc", Dim::whole(streams * hidden), [Dim::whole(streams)])
                    .formula("2·T·n²·h"),
            ),
            Unit::Weights(Weights { name: "hc_head", parameters: streams + 1 }),
        ];
        after.extend(head(vocab, hidden, tied));
        let mut design = trunk.decoder(tied, Vec::new());
        design.layers = pasts.iter().map(layer).collect();
        design.after = after;
        if keys.has("num_nextn_predict_layers") {
            design.notes.push(
                "the draft layer is in the checkpoint, but its shape is in no public class: not counted"
                    .to_owned(),
            );
        }
        Ok(design)
    }
}

/// What decides how streams become one input: a projection of all of them to weights of streams.
fn connection(name: &'static str, hidden: u64, streams: u64) -> Vec<Unit> {
    let weights = (2 + streams) * streams;
    vec![
        Unit::Linear(
            Linear::new(name, "hc", Dim::whole(streams * hidden), [Dim::whole(weights)])
                .vector(6 * streams * hidden)
                .formula("2·T·n·h·(n² + 2·n)"),
        ),
        // A base for each weight and three scales.
        Unit::Weights(Weights { name, parameters: weights + 3 }),
    ]
}

/// The streams mixed with each other, and the block's output added to each.
fn mixing(name: &'static str, hidden: u64, streams: u64) -> Unit {
    let flops = 2 * streams * streams * hidden;
    Unit::Product(Product {
        name,
        class: "hc",
        counted: flops,
        useful: flops,
        moved: (2 * streams + 1) * hidden,
        formula: "2·T·n²·h",
    })
}

/// Layers with hashed and with learned choice of experts have the same shape; others are not known.
fn check_choice(keys: &Keys, depth: usize) -> Result<(), ConfigError> {
    let Some(kinds) = keys.texts("mlp_layer_types")? else { return Ok(()) };
    keys.check_length("mlp_layer_types", kinds.len(), depth)?;
    if kinds.iter().any(|kind| !matches!(*kind, "hash_moe" | "moe")) {
        return Err(keys.wrong("mlp_layer_types", "hash_moe or moe for each layer"));
    }
    Ok(())
}

fn pasts(keys: &Keys, depth: usize) -> Result<Vec<Past>, ConfigError> {
    // Asked for in any case: it may stand beside `layer_types`.
    let ratios = keys.numbers("compress_ratios")?;
    if let Some(types) = keys.texts("layer_types")? {
        keys.check_length("layer_types", types.len(), depth)?;
        let of = |kind: &&str| match *kind {
            "sliding_attention" => Ok(Past::Nothing),
            "compressed_sparse_attention" => Ok(Past::Sparse),
            "heavily_compressed_attention" => Ok(Past::Heavy),
            _ => Err(keys.wrong("layer_types", "sliding, compressed sparse or heavily compressed attention")),
        };
        return types.iter().take(depth).map(of).collect();
    }
    if let Some(ratios) = ratios {
        // One more entry than layers: that of the layer that drafts.
        keys.check_length("compress_ratios", ratios.len(), depth)?;
        let of = |ratio: &u64| match ratio {
            0 => Ok(Past::Nothing),
            4 => Ok(Past::Sparse),
            128 => Ok(Past::Heavy),
            _ => Err(keys.wrong("compress_ratios", "0, 4 or 128 for each layer")),
        };
        return ratios.iter().take(depth).map(of).collect();
    }
    let of = |index: usize| if index >= 2 && index % 2 == 1 { Past::Sparse } else { Past::Heavy };
    Ok((0..depth).map(of).collect())
}
