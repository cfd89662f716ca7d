//! What towers are made of, and SigLIP (arXiv 2303.15343) and SigLIP 2 (arXiv 2502.14786): patches with learnt
//! positions, plain blocks, a last norm. As Transformers' `SiglipVisionModel` and `Siglip2VisionModel` have them.

use super::{StageSpan, TowerStage};
use crate::config::{ConfigError, Keys};
use crate::step::Mask;
use crate::units::{Attention, Collective, Dim, KvCache, Linear, Norm, NormKind, Unit, Weights};

/// The widest layer that is believed.
const WIDEST: u64 = 1 << 20;
/// The widest patch that is believed.
const WIDEST_PATCH: u64 = 1 << 12;

/// A width: at most a million, so that products of two and of an image's patches stay in range.
pub(super) fn width(keys: &Keys, key: &str, default: u64) -> Result<u64, ConfigError> {
    let width = keys.size_or(key, default)?;
    if width > WIDEST { Err(keys.wrong(key, "at most 1,048,576")) } else { Ok(width) }
}

/// The checkpoint's spelling of a key where it is there, else Transformers'.
pub(super) fn either(keys: &Keys, theirs: &'static str, ours: &'static str) -> &'static str {
    if keys.names(theirs) { theirs } else { ours }
}

pub(super) fn patch_size(keys: &Keys, default: u64) -> Result<u64, ConfigError> {
    let size = keys.size_or("patch_size", default)?;
    if size > WIDEST_PATCH { Err(keys.wrong("patch_size", "at most 4,096")) } else { Ok(size) }
}

pub(super) fn pixels(keys: &Keys, channels: &str, patch_size: u64) -> Result<u64, ConfigError> {
    Ok(width(keys, channels, 3)? * patch_size * patch_size)
}

pub(super) fn layers(keys: &Keys, key: &str, default: u64) -> Result<u64, ConfigError> {
    if keys.names(key) { Ok(keys.layers(key)? as u64) } else { Ok(default) }
}

/// How many of `layers` layers a list of layer numbers names.
pub(super) fn named(keys: &Keys, key: &str, layers: u64, default: &[u64]) -> Result<u64, ConfigError> {
    let mut numbers = keys.numbers(key)?.unwrap_or_else(|| default.to_vec());
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers.iter().filter(|number| **number < layers).count() as u64)
}

fn head_dim(keys: &Keys, key: &str, hidden: u64, heads: u64) -> Result<u64, ConfigError> {
    if !hidden.is_multiple_of(heads) {
        return Err(keys.wrong(key, "a divisor of the width"));
    }
    Ok(hidden / heads)
}

pub(super) fn linear(name: &'static str, class: &'static str, input: u64, output: u64, bias: bool) -> Unit {
    Unit::Linear(Linear::new(name, class, Dim::whole(input), [Dim::whole(output)]).bias(bias))
}

fn sum(width: u64) -> Unit {
    Unit::Collective(Collective::AllReduce { width })
}

/// A convolution of `kernel` × `kernel` pixels, as a matrix over what each of its results sees.
pub(super) fn conv(name: &'static str, kernel: u64, input: u64, output: u64, bias: bool) -> Unit {
    Linear::new(name, "vision.conv", Dim::whole(kernel * kernel * input), [Dim::whole(output)])
        .bias(bias)
        .unit("2·N·k²·in·out")
}

/// Patches to rows: `pixels` numbers a patch.
pub(super) fn patch(pixels: u64, hidden: u64, bias: bool) -> Unit {
    Linear::new("patch_embed", "vision.patch", Dim::whole(pixels), [Dim::whole(hidden)])
        .bias(bias)
        .unit("2·N·(p²·c)·D")
}

pub(super) fn table(name: &'static str, sides: &[u64]) -> Unit {
    let parameters = sides.iter().fold(1, |product: u64, side| product.saturating_mul(*side));
    Unit::Weights(Weights { name, parameters })
}

/// A layer norm that adds nothing.
pub(super) fn layer_norm(name: &'static str, width: u64) -> Unit {
    Unit::Norm(Norm { adds: false, ..Norm::residual(name, width) }.layer())
}

/// A root-mean-square norm that adds nothing.
pub(super) fn rms_norm(name: &'static str, width: u64) -> Unit {
    Unit::Norm(Norm { adds: false, ..Norm::residual(name, width) })
}

/// Two matrices with an activation between them, sharded by the columns inside.
pub(super) fn two_layers(class: &'static str, input: u64, inner: u64, output: u64, bias: bool) -> [Unit; 3] {
    let first = Linear::new("fc1", class, Dim::whole(input), [Dim::split(inner, 1)]);
    // GELU takes about four operations.
    let second = Linear::new("fc2", class, Dim::split(inner, 1), [Dim::whole(output)]);
    [Unit::Linear(first.bias(bias).vector(4 * inner)), Unit::Linear(second.bias(bias)), sum(output)]
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub(crate) hidden: u64,
    pub(crate) heads: u64,
    pub(crate) kv_heads: u64,
    pub(crate) head_dim: u64,
    pub(crate) inner: u64,
    pub(crate) norm: NormKind,
    pub(crate) attention_bias: bool,
    pub(crate) mlp_bias: bool,
    pub(crate) gated: bool,
    pub(crate) rotated: bool,
}

impl Block {
    /// Reads a block as in CLIP and SigLIP: its width and heads, each with key and default, and what is inside the
    /// feed-forward network.
    pub(crate) fn read(
        keys: &Keys,
        (width_key, default): (&str, u64),
        (heads_key, default_heads): (&str, u64),
        inner: impl FnOnce(u64) -> Result<u64, ConfigError>,
    ) -> Result<Self, ConfigError> {
        let hidden = width(keys, width_key, default)?;
        let heads = width(keys, heads_key, default_heads)?;
        let inner = inner(hidden)?;
        Ok(Self::plain(hidden, heads, head_dim(keys, heads_key, hidden, heads)?, inner))
    }

    pub(crate) fn plain(hidden: u64, heads: u64, head_dim: u64, inner: u64) -> Self {
        Self {
            hidden,
            heads,
            kv_heads: heads,
            head_dim,
            inner,
            norm: NormKind::Layer,
            attention_bias: true,
            mlp_bias: true,
            gated: false,
            rotated: false,
        }
    }

    fn norm(&self, name: &'static str) -> Unit {
        let norm = Norm::residual(name, self.hidden);
        Unit::Norm(if self.norm == NormKind::Layer { norm.layer() } else { norm })
    }

    pub(crate) fn qkv(&self) -> Vec<Unit> {
        let outputs =
            [self.heads, self.kv_heads, self.kv_heads].map(|heads| Dim::split(heads, self.head_dim));
        let rotated = if self.rotated { 3 * (self.heads + self.kv_heads) * self.head_dim } else { 0 };
        let qkv = Linear::new("qkv", "vision.qkv", Dim::whole(self.hidden), outputs);
        vec![self.norm("norm1"), Unit::Linear(qkv.bias(self.attention_bias).vector(rotated))]
    }

    pub(crate) fn core(&self) -> Unit {
        Unit::Attention(self.attention(Mask::All))
    }

    pub(crate) fn attention(&self, mask: Mask) -> Attention {
        let heads = [self.heads, self.kv_heads];
        Attention::plain("vision.core", heads, self.head_dim, mask, KvCache::None)
    }

    pub(crate) fn output(&self) -> [Unit; 2] {
        let input = Dim::split(self.heads, self.head_dim);
        let proj = Linear::new("proj", "vision.o", input, [Dim::whole(self.hidden)]);
        [Unit::Linear(proj.bias(self.attention_bias)), sum(self.hidden)]
    }

    pub(crate) fn mlp(&self) -> Vec<Unit> {
        let mut units = vec![self.norm("norm2")];
        if self.gated {
            let outputs = [Dim::split(self.inner, 1), Dim::split(self.inner, 1)];
            let up = Linear::new("gate_up", "vision.mlp", Dim::whole(self.hidden), outputs);
            units.push(Unit::Linear(up.bias(self.mlp_bias).vector(5 * self.inner)));
            let input = Dim::split(self.inner, 1);
            let down = Linear::new("down", "vision.mlp", input, [Dim::whole(self.hidden)]);
            units.extend([Unit::Linear(down.bias(self.mlp_bias)), sum(self.hidden)]);
        } else {
            units.extend(two_layers("vision.mlp", self.hidden, self.inner, self.hidden, self.mlp_bias));
        }
        units
    }

    pub(crate) fn units(&self) -> Vec<Unit> {
        let mut units = self.qkv();
        units.push(self.core());
        units.extend(self.output());
        units.extend(self.mlp());
        units
    }

    /// `count` of it, each image a sequence of its patches and `class` tokens.
    pub(crate) fn stage(&self, name: &'static str, count: u64, class: u64) -> TowerStage {
        TowerStage::new(name, count, StageSpan::Patches { class }, self.units())
    }
}

pub(super) struct Siglip {
    pub(crate) stages: Vec<TowerStage>,
    pub(crate) hidden: u64,
    pub(crate) patch: u64,
}

/// Reads an encoder whose positions are as many as `positions` tells from the pixels of a patch.
pub(super) fn siglip(
    keys: &Keys,
    positions: impl FnOnce(u64) -> Result<u64, ConfigError>,
) -> Result<Siglip, ConfigError> {
    let inner = |_| width(keys, "intermediate_size", 3072);
    let block = Block::read(keys, ("hidden_size", 768), ("num_attention_heads", 12), inner)?;
    let hidden = block.hidden;
    let patch_size = patch_size(keys, 16)?;
    let pixels = pixels(keys, "num_channels", patch_size)?;
    let patches = StageSpan::PATCHES;
    let positions = table("position_embedding", &[positions(patch_size)?, hidden]);
    let mut stages = vec![
        TowerStage::new("embeddings", 1, patches, vec![patch(pixels, hidden, true), positions]),
        block.stage("layer", layers(keys, "num_hidden_layers", 12)?, 0),
        TowerStage::new("post_layernorm", 1, patches, vec![layer_norm("post_layernorm", hidden)]),
    ];
    if keys.flag_or("vision_use_head", true)? {
        stages.extend(siglip_head(&block));
    }
    Ok(Siglip { stages, hidden, patch: patch_size })
}

/// What sums an image up in one vector: built and run where the config does not say otherwise, though no
/// language model reads it.
fn siglip_head(block: &Block) -> [TowerStage; 2] {
    let hidden = block.hidden;
    let keys = linear("head_kv", "vision.qkv", hidden, 2 * hidden, true);
    let mut units = vec![table("probe", &[hidden]), linear("head_q", "vision.qkv", hidden, hidden, true)];
    units.push(Unit::Attention(block.attention(Mask::Cross)));
    units.push(linear("head_o", "vision.o", hidden, hidden, true));
    units.push(layer_norm("layernorm", hidden));
    units.extend(two_layers("vision.mlp", hidden, block.inner, hidden, true));
    [
        TowerStage::new("head_keys", 1, StageSpan::PATCHES, vec![keys]),
        TowerStage::new("head", 1, StageSpan::Summary, units),
    ]
}
