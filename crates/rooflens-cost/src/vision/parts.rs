//! What towers are made of.

use super::{StageSpan, TowerStage};
use crate::config::{ConfigError, Keys};
use crate::precision::{Dtype, Storage};
use crate::step::Mask;
use crate::units::{Attention, Collective, Dim, KvCache, Linear, Norm, NormKind, Unit, Weights};

/// Stands in until the checkpoint's formats are known.
const PLAIN: Storage = Storage::plain(Dtype::Bf16);
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

/// Pixels of a side of a patch.
pub(super) fn patch_size(keys: &Keys, default: u64) -> Result<u64, ConfigError> {
    let size = keys.size_or("patch_size", default)?;
    if size > WIDEST_PATCH { Err(keys.wrong("patch_size", "at most 4,096")) } else { Ok(size) }
}

/// Numbers of a patch.
pub(super) fn pixels(keys: &Keys, channels: &str, patch_size: u64) -> Result<u64, ConfigError> {
    Ok(width(keys, channels, 3)? * patch_size * patch_size)
}

/// A number of layers.
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

/// The width of a head, where heads share the width of the layer.
pub(super) fn head_dim(keys: &Keys, key: &str, hidden: u64, heads: u64) -> Result<u64, ConfigError> {
    if !hidden.is_multiple_of(heads) {
        return Err(keys.wrong(key, "a divisor of the width"));
    }
    Ok(hidden / heads)
}

/// A matrix, as `class`.
pub(super) fn linear(name: &'static str, class: &'static str, input: u64, output: u64, bias: bool) -> Unit {
    Unit::Linear(Linear::new(name, class, Dim::whole(input), [Dim::whole(output)]).bias(bias))
}

/// The sum over devices behind a matrix whose input is sharded.
fn sum(width: u64) -> Unit {
    Unit::Collective(Collective::AllReduce { width })
}

/// A convolution of `kernel` × `kernel` pixels, as a matrix over what each of its results sees.
pub(super) fn conv(name: &'static str, kernel: u64, input: u64, output: u64, bias: bool) -> Unit {
    Unit::Linear(
        Linear::new(name, "vision.conv", Dim::whole(kernel * kernel * input), [Dim::whole(output)])
            .bias(bias)
            .formula("2·N·k²·in·out"),
    )
}

/// Patches to rows: `pixels` numbers a patch.
pub(super) fn patch(pixels: u64, hidden: u64, bias: bool) -> Unit {
    Unit::Linear(
        Linear::new("patch_embed", "vision.patch", Dim::whole(pixels), [Dim::whole(hidden)])
            .bias(bias)
            .formula("2·N·(p²·c)·D"),
    )
}

/// A table that is added to patches: positions, class tokens, gates.
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

/// A transformer block of a tower: every patch sees every other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub(crate) hidden: u64,
    pub(crate) heads: u64,
    pub(crate) kv_heads: u64,
    pub(crate) head_dim: u64,
    pub(crate) inner: u64,
    pub(crate) norm: NormKind,
    /// Whether attention's matrices have biases.
    pub(crate) attention_bias: bool,
    /// Whether the feed-forward network's matrices have biases.
    pub(crate) mlp_bias: bool,
    /// Whether the feed-forward network has a gate.
    pub(crate) gated: bool,
    /// Whether queries and keys are rotated.
    pub(crate) rotated: bool,
}

impl Block {
    /// As in CLIP and SigLIP: layer norms, biases, no gate, no rotation.
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

    /// The norm, queries, keys and values.
    pub(crate) fn qkv(&self) -> Vec<Unit> {
        let outputs =
            [self.heads, self.kv_heads, self.kv_heads].map(|heads| Dim::split(heads, self.head_dim));
        let rotated = if self.rotated { 3 * (self.heads + self.kv_heads) * self.head_dim } else { 0 };
        let qkv = Linear::new("qkv", "vision.qkv", Dim::whole(self.hidden), outputs);
        vec![self.norm("norm1"), Unit::Linear(qkv.bias(self.attention_bias).vector(rotated))]
    }

    /// Attention itself: scores, softmax and values.
    pub(crate) fn core(&self) -> Unit {
        Unit::Attention(Attention {
            class: "vision.core",
            heads: self.heads,
            kv_heads: self.kv_heads,
            qk_width: self.head_dim,
            v_width: self.head_dim,
            mask: Mask::All,
            cache: KvCache::None,
            sinks: 0,
            storage: PLAIN,
        })
    }

    /// What mixes the heads.
    pub(crate) fn output(&self) -> [Unit; 2] {
        let input = Dim::split(self.heads, self.head_dim);
        let proj = Linear::new("proj", "vision.o", input, [Dim::whole(self.hidden)]);
        [Unit::Linear(proj.bias(self.attention_bias)), sum(self.hidden)]
    }

    /// The norm and the feed-forward network.
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

    /// All of it.
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
