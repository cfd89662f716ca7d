//! How well a model's widths fit the tiles that matrix units work on.
//!
//! A product is made in tiles of some columns each, and the last of them is done whole however few of its
//! columns are needed (NVIDIA, Matrix Multiplication Background User's Guide, "Tile Quantization"). Nothing
//! is lost where columns are a multiple of the tile.

use crate::model::Model;
use crate::pass::Pass;
use crate::roof::Roof;
use crate::routing::Touch;
use crate::setup::Setup;
use crate::step::Step;
use crate::tally::visit_ragged;
use crate::units::{Attention, Experts, Linear, Unit};

/// Widths of heads that FlashAttention has kernels for (its `flash_fwd_hdim*` sources): others are padded to
/// the next.
pub const HEAD_WIDTHS: &[u64] = &[32, 64, 96, 128, 192, 256];

/// What a step costs where every product is done in whole tiles.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tiled {
    /// Its lower bound, s: as [`Roof::seconds_of`], with the operations that tiles issue.
    pub seconds: f64,
    /// Operations that the result needs.
    pub useful: f64,
    /// Operations that tiles do.
    pub issued: f64,
}

/// A step of `groups` of equal sequences with products in tiles of `side` columns.
pub fn tiled(model: &Model, setup: &Setup, roof: &Roof, groups: &[Step], side: u64) -> Tiled {
    let sampled = groups.iter().map(|group| group.sequences).sum();
    let pass = setup.pass(model, Step::prefill(1, 1, 0), 0, Touch::Expected);
    let mut sum = Tiled::default();
    visit_ragged(model, setup, groups, sampled, |_, layers, unit, operators| {
        let padding = padding(unit, &pass, side);
        for operator in operators {
            let layers = layers as f64;
            let issued = operator.work.flops.issued as f64 * padding;
            let compute = issued / roof.matrix(operator.storage.compute);
            sum.seconds += compute.max(roof.seconds(operator).bound) * layers;
            sum.useful += operator.work.flops.useful as f64 * layers;
            sum.issued += issued * layers;
        }
    });
    sum
}

fn padding(unit: &Unit, pass: &Pass, side: u64) -> f64 {
    match unit {
        Unit::Linear(linear) => of_linear(linear, pass, side),
        Unit::Experts(experts) => of_experts(experts, pass, side),
        Unit::Attention(attention) => of_attention(attention),
        _ => 1.0,
    }
}

fn columns(width: u128, side: u64) -> f64 {
    if width == 0 { 1.0 } else { width.next_multiple_of(u128::from(side)) as f64 / width as f64 }
}

/// Matrices with the same input are one product. One narrower than a tile is too small to matter.
fn of_linear(linear: &Linear, pass: &Pass, side: u64) -> f64 {
    let out: u128 = linear.outputs.iter().map(|output| output.local(pass.tp)).sum();
    if out < u128::from(side) { 1.0 } else { columns(out, side) }
}

/// Gate and up-projection are one product, the down-projection is another.
fn of_experts(experts: &Experts, pass: &Pass, side: u64) -> f64 {
    let inner = u128::from(pass.expert_tp.part(experts.inner));
    let up: u32 = if experts.gated { 2 } else { 1 };
    let (up_share, down_share) = (f64::from(up), 1.0);
    let up_columns = columns(inner * u128::from(up), side);
    let down_columns = columns(u128::from(experts.input), side);
    (up_share * up_columns + down_share * down_columns) / (up_share + down_share)
}

fn of_attention(attention: &Attention) -> f64 {
    let kernel = |width: u64| HEAD_WIDTHS.iter().copied().find(|kernel| *kernel >= width).unwrap_or(width);
    let widths = attention.qk_width + attention.v_width;
    if widths == 0 {
        return 1.0;
    }
    (kernel(attention.qk_width) + kernel(attention.v_width)) as f64 / widths as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::Catalog;
    use crate::step::Mask;
    use crate::units::KvCache;

    const CONFIG: &str = r#"{"model_type": "llama", "hidden_size": 256, "num_hidden_layers": 1, "head_dim": 64,
        "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 256, "intermediate_size": "#;

    /// 512 tokens through one layer, in tiles of 128 rows; memory and vector units without limit.
    fn of(inner: u64, side: u64) -> Tiled {
        let model = Model::from_json(format!("{CONFIG}{inner}}}").as_bytes()).unwrap();
        let mut device = Catalog::embedded().find("h100").unwrap().clone();
        device.bandwidth_bytes_per_s = Some(1e30);
        let mut roof = Roof::of(&device).unwrap();
        roof.vector = f64::INFINITY;
        tiled(&model, &Setup::default(), &roof, &[Step::prefill(1, 512, 0)], side)
    }

    #[test]
    fn the_last_tile_is_done_whole() {
        // Up and gate of 2 * 352 = 704 columns: 5.5 tiles of 128, 11 of 64. Down has 256: whole in both.
        let (fits, wide) = (of(352, 64), of(352, 128));
        assert_eq!(fits.useful, wide.useful);
        let more = 2.0 * 512.0 * 256.0 * (768.0 - 704.0);
        assert!((wide.issued - fits.issued - more).abs() < 1.0, "{wide:?} {fits:?}");
        assert!(wide.seconds > fits.seconds);
        // 384: the same tiles for more of use.
        assert!(of(384, 128).useful > wide.useful);
        assert!((of(384, 128).issued - wide.issued - 2.0 * 512.0 * 256.0 * 32.0).abs() < 1.0);
    }

    #[test]
    fn heads_are_padded_to_the_next_kernel() {
        let attention = |width| Attention::plain("attn.core", [1, 1], width, Mask::Causal, KvCache::Own);
        assert_eq!(of_attention(&attention(80)), 96.0 / 80.0);
        assert_eq!(of_attention(&attention(128)), 1.0);
        assert_eq!(of_attention(&attention(512)), 1.0);
    }
}
