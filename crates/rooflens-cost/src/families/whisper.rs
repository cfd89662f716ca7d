//! Whisper (arXiv 2212.04356) and Distil-Whisper (arXiv 2311.00430); Transformers'
//! `WhisperForConditionalGeneration`. The encoder reads frames of sound through two convolutions, the second
//! of which halves their number.

use super::design::{Design, EncoderDesign, FamilyConfig};
use super::seq2seq::{Biases, FAIRSEQ_ALIASES, Sizes, fairseq, table};
use crate::config::ConfigError;
use crate::model::EncoderInput;
use crate::units::{Dim, Linear, LinearRows, Unit};

const KERNEL: u64 = 3;
const STRIDE: u64 = 2;

pub(super) fn read(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let mut sizes = Sizes::of(config, FAIRSEQ_ALIASES)?;
    let vocab = sizes.size("vocab_size", 51_865)?;
    let hidden = sizes.size("d_model", 384)?;
    let bins = sizes.size("num_mel_bins", 80)?;
    let heard = sizes.size("max_source_positions", 1500)?;
    let decoded = sizes.size("max_target_positions", 448)?;
    let [(encoder, encoder_layers), (decoder, decoder_layers)] =
        fairseq(&mut sizes, hidden, [6, 1536, 4], Biases::AllButKeys, false)?;
    let mut design = Design::decoder(hidden, vocab, config.tied(true)?, Vec::new());
    design.path = "model.decoder.layers";
    design.layers = decoder.decoder(decoder_layers, &[]);
    design.before.push(table("embed_positions", decoded, hidden));
    design.after[0] = decoder.norm("layer_norm");
    design.notes = sizes.notes;
    design.encoder = Some(EncoderDesign {
        input: EncoderInput::Audio { positions: heard },
        most_decoded: Some(decoded),
        path: "model.encoder.layers",
        before: vec![
            conv("conv1", bins, hidden, 1),
            conv("conv2", hidden, hidden, STRIDE),
            table("embed_positions", heard, hidden),
        ],
        layers: encoder.encoder(encoder_layers, &[]),
        after: vec![encoder.norm("layer_norm")],
    });
    Ok(design)
}

/// A convolution over frames, which moves on by `stride` of them. Every device has all of it.
fn conv(name: &'static str, input: u64, output: u64, stride: u64) -> Unit {
    Linear::new(name, "audio.conv", Dim::whole(KERNEL * input), [Dim::whole(output)])
        .bias(true)
        .overlapping((KERNEL - stride) * input)
        .rows(if stride == 1 { LinearRows::Several(STRIDE) } else { LinearRows::Tokens })
        .vector(4 * output)
        .unit("2·frames·3·in·out")
}
