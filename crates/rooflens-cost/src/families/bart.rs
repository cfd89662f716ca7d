//! BART (arXiv 1910.13461) and mBART (arXiv 2001.08210); Transformers' `BartForConditionalGeneration` and
//! `MBartForConditionalGeneration`. The bias of the logits is a buffer there, and no parameter.

use super::design::{Design, EncoderDesign, FamilyConfig};
use super::seq2seq::{Biases, FAIRSEQ_ALIASES, Sizes, encoder_embedding, fairseq, table};
use crate::config::ConfigError;
use crate::model::EncoderInput;

/// Rows of the tables of positions before the first position.
const OFFSET: u64 = 2;

/// With norms behind the blocks, or before them and one at the end of each stack.
pub(super) fn read(config: &FamilyConfig, norms_behind: bool) -> Result<Design, ConfigError> {
    let mut sizes = Sizes::of(config, FAIRSEQ_ALIASES)?;
    let vocab = sizes.size("vocab_size", 50_265)?;
    let hidden = sizes.size("d_model", 1024)?;
    let positions = sizes.size("max_position_embeddings", 1024)?;
    let [(encoder, encoder_layers), (decoder, decoder_layers)] =
        fairseq(&mut sizes, hidden, [16, 4096, 12], Biases::All, norms_behind)?;
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
