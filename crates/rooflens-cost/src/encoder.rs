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

use crate::estimate::EstimateError;
use crate::model::{LayerKind, Model};
use crate::operator::Operator;
use crate::pass::Pass;
use crate::tally::OperatorPlace;
use crate::units::{Parameters, Unit};
use crate::workload::{Prefill, Workload};

/// An encoder: what reads the input of an encoder-decoder model.
#[derive(Debug, Clone)]
pub struct Encoder {
    /// What it reads.
    pub input: EncoderInput,
    /// The most tokens that the decoder can have, where its positions are a table.
    pub most_decoded: Option<u64>,
    /// Its layers.
    pub depth: u32,
    /// What it is made of, in the order of execution.
    pub(crate) parts: Vec<EncoderPart>,
}

/// What an encoder reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncoderInput {
    /// The prompt.
    Text {
        /// The most tokens of it, where positions are a table.
        most: Option<u64>,
    },
    /// Sound, padded or cut to a fixed length.
    Audio {
        /// Positions of it, always.
        positions: u64,
    },
}

/// Equal layers of an encoder, or what stands around its layers.
#[derive(Debug, Clone)]
pub(crate) struct EncoderPart {
    /// What it is, as `encoder embedding`; of layers `encoder`.
    pub(crate) name: &'static str,
    /// Which layers are so, from 0; empty for what stands around them.
    pub(crate) at: Vec<u32>,
    /// What it is made of.
    pub(crate) units: Vec<Unit>,
}

impl EncoderPart {
    /// How often it is there.
    fn count(&self) -> u64 {
        (self.at.len() as u64).max(1)
    }
}

/// Tokens that the decoder starts with where the encoder has read the prompt.
const START: u64 = 1;
/// Tokens that Whisper's decoder starts with: the start of the transcript, its language, the task, and
/// whether there are time stamps.
const START_OF_TRANSCRIPT: u64 = 4;

/// Tokens of prompt and context where none are given.
const USUAL_TOKENS: u64 = 2048;

impl Encoder {
    /// An encoder of these layers, between what stands before and after them.
    pub(crate) fn new(
        (input, most_decoded): (EncoderInput, Option<u64>),
        before: Vec<Unit>,
        kinds: Vec<LayerKind>,
        after: Vec<Unit>,
    ) -> Self {
        let depth = kinds.iter().map(|kind| kind.at.len()).sum::<usize>();
        let around = |name, units| EncoderPart { name, at: Vec::new(), units };
        let mut parts = vec![around("encoder input", before)];
        let layer = |kind: LayerKind| EncoderPart { name: "encoder", at: kind.at, units: kind.layer.units };
        parts.extend(kinds.into_iter().map(layer));
        if !after.is_empty() {
            parts.push(around("encoder output", after));
        }
        Self { input, most_decoded, depth: u32::try_from(depth).unwrap_or(u32::MAX), parts }
    }

    /// Whether the prompt goes through it.
    #[must_use]
    pub(crate) fn reads_prompt(&self) -> bool {
        matches!(self.input, EncoderInput::Text { .. })
    }

    /// Its parameters.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        let mut sum = Parameters::default();
        for part in &self.parts {
            for unit in &part.units {
                sum.add(unit.parameters(), part.count().into());
            }
        }
        sum
    }

    /// Bytes of its parameters on one device.
    #[must_use]
    pub fn weight_bytes(&self, pass: &Pass) -> u128 {
        let of = |part: &EncoderPart| {
            u128::from(part.count()) * part.units.iter().map(|unit| unit.weight_bytes(pass)).sum::<u128>()
        };
        self.parts.iter().map(of).sum()
    }

    /// Visits its operators in one pass on one device, part by part; each visit has the number of layers
    /// that are so. `buffer` only saves allocations.
    pub(crate) fn visit(
        &self,
        pass: &Pass,
        buffer: &mut Vec<Operator>,
        mut each: impl FnMut(OperatorPlace, u64, &[Operator]),
    ) {
        for (number, part) in self.parts.iter().enumerate() {
            buffer.clear();
            for unit in &part.units {
                unit.operators(pass, buffer);
            }
            each(OperatorPlace::Encoder(number), part.count(), buffer);
        }
    }

    /// Positions that it has for a workload.
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

    /// The workload of the decoder alone.
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
    #[must_use]
    pub(crate) fn decoder_positions(&self) -> Option<u64> {
        self.positions.filter(|_| self.encoder.is_none())
    }

    /// What the decoder does in a workload, and how long the encoder is.
    pub fn asked(&self, workload: &Workload) -> Result<ModelWorkload, EstimateError> {
        workload.check()?;
        let fault = |reason: String| EstimateError::Encoder { reason };
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
    #[must_use]
    pub fn with_positions(&self, workload: Workload) -> Workload {
        let text = self.encoder.as_ref().filter(|encoder| encoder.reads_prompt());
        let positions = text.and_then(|encoder| encoder.positions(&workload).ok());
        Workload { encoder_tokens: positions.or(workload.encoder_tokens), ..workload }
    }

    /// Tokens of prompt and context where none are given, for `new` tokens to come.
    #[must_use]
    pub fn usual_tokens(&self, new: u64) -> (u64, u64) {
        self.encoder.as_ref().map_or((USUAL_TOKENS, USUAL_TOKENS), |encoder| encoder.usual(new))
    }
}
