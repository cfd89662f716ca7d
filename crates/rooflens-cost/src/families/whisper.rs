//! Whisper (arXiv 2212.04356) and Distil-Whisper (arXiv 2311.00430); Transformers'
//! `WhisperForConditionalGeneration`. The encoder reads frames of sound through two convolutions, the second
//! of which halves their number.

use super::seq2seq::{Biases, FAIRSEQ, FAIRSEQ_ALIASES, Seq2SeqLayer, Sizes, table};
use super::{Design, EncoderDesign, Family, FamilyConfig};
use crate::config::ConfigError;
use crate::encoder::EncoderInput;
use crate::units::{Dim, Linear, LinearRows, Unit};

/// The family.
pub(crate) struct Whisper;

/// Frames that a convolution sees at once.
const KERNEL: u64 = 3;
/// Frames of a position: the step of the second convolution.
const STRIDE: u64 = 2;

impl Family for Whisper {
    fn name(&self) -> &'static str {
        "whisper"
    }

    fn about(&self) -> &'static str {
        "Whisper, Distil-Whisper (speech, encoder-decoder)"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["whisper"]
    }

    fn aliases(&self) -> &'static [(&'static str, &'static str)] {
        FAIRSEQ_ALIASES
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let mut sizes = Sizes::of(config, FAIRSEQ_ALIASES)?;
        let vocab = sizes.size("vocab_size", 51_865)?;
        let hidden = sizes.size("d_model", 384)?;
        let bins = sizes.size("num_mel_bins", 80)?;
        let heard = sizes.size("max_source_positions", 1500)?;
        let decoded = sizes.size("max_target_positions", 448)?;
        let heads = sizes.size("encoder_attention_heads", 6)?;
        let encoder = Seq2SeqLayer {
            hidden,
            heads,
            head_dim: sizes.head_dim("encoder_attention_heads", hidden, heads)?,
            inner: sizes.size("encoder_ffn_dim", 1536)?,
            gated: false,
            biases: Biases::AllButKeys,
            layer_norms: true,
            norms_behind: false,
            modules: FAIRSEQ,
        };
        let heads = sizes.size("decoder_attention_heads", 6)?;
        let decoder = Seq2SeqLayer {
            heads,
            head_dim: sizes.head_dim("decoder_attention_heads", hidden, heads)?,
            inner: sizes.size("decoder_ffn_dim", 1536)?,
            ..encoder
        };
        let encoder_layers = sizes.layers("encoder_layers", 4)?;
        let decoder_layers = sizes.layers("decoder_layers", 4)?;
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
}

/// A convolution over frames, which moves on by `stride` of them. Every device has all of it.
fn conv(name: &'static str, input: u64, output: u64, stride: u64) -> Unit {
    let convolution = Linear::new(name, "audio.conv", Dim::whole(KERNEL * input), [Dim::whole(output)])
        .bias(true)
        .overlapping((KERNEL - stride) * input)
        .rows(if stride == 1 { LinearRows::Several(STRIDE) } else { LinearRows::Tokens })
        .vector(4 * output)
        .formula("2·frames·3·in·out");
    Unit::Linear(convolution)
}
