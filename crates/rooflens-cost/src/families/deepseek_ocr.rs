//! DeepSeek-OCR (arXiv 2510.18234) and DeepSeek-VL2: the decoder of DeepSeek-V2, with plain multi-head
//! attention where `use_mla` is false. Read from the model's own code (`DeepseekOCRForCausalLM`).

use super::deepseek;
use super::mla::{FeedForward, MlaDefaults};
use super::shapes::{Gqa, pre_norm};
use super::trunk::{Trunk, check_heads};
use super::{Design, Family, FamilyConfig};
use crate::config::ConfigError;
use crate::units::{Product, Unit};
use crate::vision;

/// The family.
pub(crate) struct DeepseekOcr;

/// Defaults of the model's own `DeepseekV2Config`.
const SIZES: MlaDefaults = MlaDefaults {
    // Where the file does not name one, there is none.
    shared: 0,
    ..deepseek::V2
};

impl Family for DeepseekOcr {
    fn name(&self) -> &'static str {
        "deepseek_ocr"
    }

    fn about(&self) -> &'static str {
        "DeepSeek-OCR, DeepSeek-VL2"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["deepseek_vl_v2", "deepseek_ocr"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        let tied = config.tied(false)?;
        if keys.flag_or("use_mla", true)? {
            let mut design = deepseek::decoder(keys, tied, true)?;
            design.vision = None;
            return Ok(design);
        }
        // Ranks and parts of heads mean nothing without latent attention; files give null or 0.
        keys.ignore(&["kv_lora_rank", "q_lora_rank"]);
        let trunk = Trunk::read(keys, SIZES.trunk)?;
        let Trunk { hidden, heads, kv_heads, .. } = trunk;
        if !hidden.is_multiple_of(heads) {
            return Err(keys.wrong("num_attention_heads", "a divisor of hidden_size"));
        }
        let head_dim = hidden / heads;
        check_heads(keys, heads, kv_heads, head_dim)?;
        let bias = keys.flag_or("attention_bias", false)?;
        let attention = Gqa { qkv_bias: bias, o_bias: bias, ..Gqa::plain(hidden, heads, kv_heads, head_dim) };
        let feed_forward = FeedForward::read(keys, hidden, &SIZES, false)?;
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
        let layers = (0..trunk.layers).map(layer).collect();
        let mut design = trunk.decoder(tied, layers);
        design.vision = vision::deepseek_ocr::read(&config.root, hidden)?;
        Ok(design)
    }
}
