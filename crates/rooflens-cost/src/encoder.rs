//! The encoder of an encoder-decoder model, and what a workload means for such a model.
//!
//! The input runs through the encoder once, all positions seeing each other. The decoder then attends to
//! these positions by cross-attention: their keys and values are made in its first pass and kept, and do
//! not grow. Its own cache grows with each token, as in any decoder.
//!
//! | | a prompt is read by | tokens of the context are |
//! | --- | --- | --- |
//! | T5, BART | the encoder; the decoder starts with its start token | those of the decoder's own cache |
//! | Whisper | the decoder; the encoder always reads the same stretch of sound | the same |

use crate::model::{Encoder, EncoderInput, Model};
use crate::workload::{EstimateError, Prefill, Workload};

/// Tokens that the decoder starts with where the encoder has read the prompt.
const START: u64 = 1;
/// Tokens that Whisper's decoder starts with: the start of the transcript, its language, the task, and
/// whether there are time stamps.
const START_OF_TRANSCRIPT: u64 = 4;

/// Tokens of prompt and context where none are given.
const USUAL_TOKENS: u64 = 2048;

impl Encoder {
    fn positions(&self, workload: &Workload) -> Result<u64, String> {
        match self.input {
            EncoderInput::Audio { positions } => match workload.encoder_tokens {
                Some(other) if other != positions => Err(format!(
                    "it always has {positions} positions, not {other}: audio is padded or \
                                 truncated"
                )),
                _ => Ok(positions),
            },
            EncoderInput::Text { most } => {
                let prompt = workload.prefill.map(|prefill| prefill.tokens);
                let positions = match (workload.encoder_tokens, prompt) {
                    (Some(tokens), Some(prompt)) if tokens != prompt => {
                        return Err(format!("it processes the {prompt} tokens of the prefill, not {tokens}"));
                    }
                    (Some(tokens), _) => tokens,
                    (None, Some(prompt)) => prompt,
                    (None, None) => workload.decode.map_or(1, |decode| decode.context.max(1)),
                };
                match most {
                    Some(most) if positions > most => {
                        Err(format!("{positions} tokens, more than its {most} positions"))
                    }
                    _ => Ok(positions),
                }
            }
        }
    }

    fn decoder(&self, workload: &Workload) -> Result<Workload, String> {
        let mut decoder = Workload { encoder_tokens: None, ..workload.clone() };
        if let (Some(prefill), true) = (&mut decoder.prefill, self.reads_prompt()) {
            if prefill.prefix > 0 || prefill.chunk.is_some() {
                return Err("it processes the prompt in one step: there is neither prefix nor \
                            chunk"
                    .to_owned());
            }
            *prefill = Prefill { tokens: START, prefix: 0, chunk: None };
        }
        let read = decoder.prefill.map_or(0, |prefill| prefill.prefix.saturating_add(prefill.tokens));
        match self.most_decoded {
            Some(most) if read.max(decoder.final_context()) > most => Err(format!(
                "{} tokens of the decoder, more than its {most} positions",
                read.max(decoder.final_context())
            )),
            _ => Ok(decoder),
        }
    }

    /// Tokens of prompt and context where none are given, for `new` tokens to come.
    fn usual(&self, new: u64) -> (u64, u64) {
        let most = self.most_decoded.unwrap_or(u64::MAX);
        match self.input {
            EncoderInput::Text { most: prompt } => {
                (USUAL_TOKENS.min(prompt.unwrap_or(u64::MAX)), USUAL_TOKENS.min(most.saturating_sub(new)))
            }
            // Half of its positions, as Whisper itself lets a stretch of sound have at most.
            EncoderInput::Audio { .. } => {
                (START_OF_TRANSCRIPT.min(most), (most / 2).min(most.saturating_sub(new)))
            }
        }
    }
}

/// A workload as its model takes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelWorkload {
    /// What the decoder does.
    pub decoder: Workload,
    /// Positions of the encoder that the decoder attends to; 0 without an encoder.
    pub positions: u64,
    /// Whether the encoder runs.
    pub encodes: bool,
}

impl Model {
    /// Positions that the config gives its sequences; none where an encoder reads the prompt.
    pub(crate) fn decoder_positions(&self) -> Option<u64> {
        self.positions.filter(|_| self.encoder.is_none())
    }

    /// What the decoder does in a workload, and how long the encoder is.
    pub fn asked(&self, workload: &Workload) -> Result<ModelWorkload, EstimateError> {
        workload.check()?;
        let fault = EstimateError::Encoder;
        let Some(encoder) = &self.encoder else {
            return match workload.encoder_tokens {
                Some(_) => Err(fault(format!("{} has none", self.architecture))),
                None => Ok(ModelWorkload { decoder: workload.clone(), positions: 0, encodes: false }),
            };
        };
        let positions = encoder.positions(workload).map_err(fault)?;
        let decoder = encoder.decoder(workload).map_err(fault)?;
        Ok(ModelWorkload { decoder, positions, encodes: workload.prefill.is_some() })
    }

    /// `workload` with the number of the encoder's positions, where the prompt decides it: what holds when a
    /// phase is looked at by itself.
    pub fn with_positions(&self, workload: Workload) -> Workload {
        let text = self.encoder.as_ref().filter(|encoder| encoder.reads_prompt());
        let positions = text.and_then(|encoder| encoder.positions(&workload).ok());
        Workload { encoder_tokens: positions.or(workload.encoder_tokens), ..workload }
    }

    /// Tokens of prompt and context where none are given, for `new` tokens to come.
    pub fn usual_tokens(&self, new: u64) -> (u64, u64) {
        self.encoder.as_ref().map_or((USUAL_TOKENS, USUAL_TOKENS), |encoder| encoder.usual(new))
    }
}
