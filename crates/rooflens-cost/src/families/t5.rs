//! T5 (arXiv 1910.10683), T5 1.1, Flan-T5, mT5 (arXiv 2010.11934) and UMT5 (arXiv 2304.09151);
//! Transformers' `T5ForConditionalGeneration` and its like.

use super::design::{Design, EncoderDesign, FamilyConfig};
use super::seq2seq::{Biases, ModulePaths, Seq2SeqLayer, Sizes, encoder_embedding, table};
use crate::config::{ConfigError, Keys};
use crate::model::EncoderInput;
use crate::units::Unit;

pub(super) const ALIASES: &[(&str, &str)] = &[
    ("d_model", "hidden_size"),
    ("num_layers", "num_hidden_layers"),
    ("num_heads", "num_attention_heads"),
    ("d_kv", "head_dim"),
];

pub(super) struct Class {
    vocab: u64,
    inner: u64,
    layers: u64,
    heads: u64,
    activation: &'static str,
    /// Whether every layer has a table of distances, not only the first.
    distances_everywhere: bool,
}

pub(super) const T5_CLASS: Class = Class {
    vocab: 32_128,
    inner: 2048,
    layers: 6,
    heads: 8,
    activation: "relu",
    distances_everywhere: false,
};
pub(super) const MT5_CLASS: Class = Class {
    vocab: 250_112,
    inner: 1024,
    layers: 8,
    heads: 6,
    activation: "gated-gelu",
    distances_everywhere: false,
};
pub(super) const UMT5_CLASS: Class = Class { distances_everywhere: true, ..MT5_CLASS };

const DECODER: ModulePaths = ModulePaths {
    own: ["layer.0.SelfAttention.q", "layer.0.SelfAttention.o"],
    cross: ["layer.1.EncDecAttention.q", "layer.1.EncDecAttention.k", "layer.1.EncDecAttention.o"],
    feed_forward: ["layer.2.DenseReluDense.wi", "layer.2.DenseReluDense.wo"],
};
const ENCODER: ModulePaths =
    ModulePaths { feed_forward: ["layer.1.DenseReluDense.wi", "layer.1.DenseReluDense.wo"], ..DECODER };
const GATED: [[&str; 2]; 2] = [
    ["layer.1.DenseReluDense.wi_0", "layer.1.DenseReluDense.wo"],
    ["layer.2.DenseReluDense.wi_0", "layer.2.DenseReluDense.wo"],
];

pub(super) fn read(config: &FamilyConfig, class: &Class) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let mut sizes = Sizes::of(config, ALIASES)?;
    let vocab = sizes.size("vocab_size", class.vocab)?;
    let hidden = sizes.size("d_model", 512)?;
    let heads = sizes.size("num_heads", class.heads)?;
    let head_dim = sizes.size("d_kv", 64)?;
    sizes.check_width("d_kv", heads, head_dim)?;
    let layers = sizes.layers("num_layers", class.layers)?;
    let decoder_layers = match keys.get("num_decoder_layers") {
        Some(_) => keys.layers("num_decoder_layers")?,
        None => layers,
    };
    let gated = is_gated(keys, class.activation)?;
    let block = Seq2SeqLayer {
        hidden,
        heads,
        head_dim,
        inner: sizes.size("d_ff", class.inner)?,
        gated,
        biases: Biases::None,
        layer_norms: false,
        norms_behind: false,
        modules: ENCODER,
    };
    let modules = |modules: ModulePaths, gated_ones| {
        let feed_forward = if gated { gated_ones } else { modules.feed_forward };
        Seq2SeqLayer { modules: ModulePaths { feed_forward, ..modules }, ..block }
    };
    let distances =
        table("relative_attention_bias", keys.size_or("relative_attention_num_buckets", 32)?, heads);
    // The first layer has the table and every layer adds what it gives, or each has its own.
    let (once, each): (Vec<Unit>, Vec<Unit>) = match class.distances_everywhere {
        true => (Vec::new(), vec![distances]),
        false => (vec![distances], Vec::new()),
    };
    // Today's classes tie the head whatever the file says, and loading a checkpoint with a head of its own
    // unties it again: the checkpoints whose file says so have one.
    let mut design = Design::decoder(hidden, vocab, config.tied(true)?, Vec::new());
    design.path = "decoder.block";
    design.layers = modules(DECODER, GATED[1]).decoder(decoder_layers, &each);
    design.before.extend(once.iter().cloned());
    design.notes = sizes.notes;
    let mut before = encoder_embedding(vocab, hidden, true);
    before.extend(once);
    design.encoder = Some(EncoderDesign {
        input: EncoderInput::Text { most: None },
        most_decoded: None,
        path: "encoder.block",
        before,
        layers: modules(ENCODER, GATED[0]).encoder(layers, &each),
        after: vec![block.norm("final_layer_norm")],
    });
    Ok(design)
}

/// Whether the feed-forward network has a gate: `feed_forward_proj`, of which newer files also have the
/// parts.
fn is_gated(keys: &Keys, default: &str) -> Result<bool, ConfigError> {
    let named = match keys.get("feed_forward_proj") {
        None => default,
        Some(_) => keys.text("feed_forward_proj").unwrap_or("-"),
    };
    let gated = match named.split_once('-') {
        None if named != "gated" => false,
        Some(("gated", activation)) if !activation.is_empty() && !activation.contains('-') => true,
        _ => return Err(keys.wrong("feed_forward_proj", "an activation, or gated- and an activation")),
    };
    if keys.flag_or("is_gated_act", gated)? != gated {
        return Err(ConfigError::Contradiction {
            left: "feed_forward_proj".to_owned(),
            right: "is_gated_act".to_owned(),
            reason: format!("{named} {} a gate", if gated { "has" } else { "has not" }),
        });
    }
    Ok(gated)
}
