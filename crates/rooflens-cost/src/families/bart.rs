//! BART (arXiv 1910.13461) and mBART (arXiv 2001.08210); Transformers' `BartForConditionalGeneration` and
//! `MBartForConditionalGeneration`. The bias of the logits is a buffer there, and no parameter.

use super::seq2seq::{Biases, FAIRSEQ, FAIRSEQ_ALIASES, Seq2SeqLayer, Sizes, encoder_embedding, table};
use super::{Design, EncoderDesign, Family, FamilyConfig};
use crate::config::ConfigError;
use crate::encoder::EncoderInput;

/// BART.
pub(crate) struct Bart;
/// mBART.
pub(crate) struct Mbart;

/// Rows of the tables of positions before the first position.
const OFFSET: u64 = 2;

impl Family for Bart {
    fn name(&self) -> &'static str {
        "bart"
    }

    fn about(&self) -> &'static str {
        "BART, DistilBART (encoder-decoder)"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["bart"]
    }

    fn aliases(&self) -> &'static [(&'static str, &'static str)] {
        FAIRSEQ_ALIASES
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        read(config, true)
    }
}

impl Family for Mbart {
    fn name(&self) -> &'static str {
        "mbart"
    }

    fn about(&self) -> &'static str {
        "mBART, mBART-50 (encoder-decoder)"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["mbart"]
    }

    fn aliases(&self) -> &'static [(&'static str, &'static str)] {
        FAIRSEQ_ALIASES
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        read(config, false)
    }
}

/// With norms behind the blocks, or before them and one at the end of each stack.
fn read(config: &FamilyConfig, norms_behind: bool) -> Result<Design, ConfigError> {
    let mut sizes = Sizes::of(config, FAIRSEQ_ALIASES)?;
    let vocab = sizes.size("vocab_size", 50_265)?;
    let hidden = sizes.size("d_model", 1024)?;
    let positions = sizes.size("max_position_embeddings", 1024)?;
    let heads = sizes.size("encoder_attention_heads", 16)?;
    let encoder = Seq2SeqLayer {
        hidden,
        heads,
        head_dim: sizes.head_dim("encoder_attention_heads", hidden, heads)?,
        inner: sizes.size("encoder_ffn_dim", 4096)?,
        gated: false,
        biases: Biases::All,
        layer_norms: true,
        norms_behind,
        modules: FAIRSEQ,
    };
    let heads = sizes.size("decoder_attention_heads", 16)?;
    let decoder = Seq2SeqLayer {
        heads,
        head_dim: sizes.head_dim("decoder_attention_heads", hidden, heads)?,
        inner: sizes.size("decoder_ffn_dim", 4096)?,
        ..encoder
    };
    let encoder_layers = sizes.layers("encoder_layers", 12)?;
    let decoder_layers = sizes.layers("decoder_layers", 12)?;
    let tied = config.tied(true)?;
    let mut design = Design::decoder(hidden, vocab, tied, Vec::new());
    design.path = "model.decoder.layers";
    design.layers = decoder.decoder(decoder_layers, &[]);
    let around =
        || [table("embed_positions", positions + OFFSET, hidden), encoder.norm("layernorm_embedding")];
    design.before.extend(around());
    if !tied {
        // The class then has four tables: the encoder's, the decoder's, the head's, and one that nothing reads.
        design.before.push(table("shared", vocab, hidden));
    }
    // The first is the last norm.
    if norms_behind {
        design.after.remove(0);
    } else {
        design.after[0] = decoder.norm("layer_norm");
    }
    design.notes = sizes.notes;
    let mut before = encoder_embedding(vocab, hidden, tied);
    before.extend(around());
    design.encoder = Some(EncoderDesign {
        input: EncoderInput::Text { most: Some(positions) },
        most_decoded: Some(positions),
        path: "model.encoder.layers",
        before,
        layers: encoder.encoder(encoder_layers, &[]),
        after: if norms_behind { Vec::new() } else { vec![encoder.norm("layer_norm")] },
    });
    Ok(design)
}
