//! A model as what it is made of: layers of parts, one description for parameters, operators and memory.

use crate::pass::Pass;
use crate::precision::Dtype;
use crate::units::{Parameters, Unit};
use crate::vision::Tower;

/// A layer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layer {
    /// What it is made of, in the order of execution.
    pub units: Vec<Unit>,
    pub(crate) media_only: bool,
}

impl Layer {
    pub(crate) fn new(units: Vec<Unit>) -> Self {
        Self { units, media_only: false }
    }
}

/// Layers that are alike, and where they stand.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerKind {
    /// The layer.
    pub layer: Layer,
    /// Which layers of the model are so, from 0, in order.
    pub at: Vec<u32>,
}

/// A language model, with what may stand before its decoder: an encoder, or a tower for images.
#[derive(Debug, Clone)]
pub struct Model {
    /// The family that read it.
    pub family: &'static str,
    pub(crate) architecture: String,
    /// Width of the residual stream.
    pub hidden: u64,
    pub(crate) vocab: u64,
    /// Layers of the decoder.
    pub depth: u32,
    /// The kinds of layers.
    pub kinds: Vec<LayerKind>,
    /// What stands before the layers: embeddings.
    pub before: Vec<Unit>,
    /// What stands after them: the last norm and the head.
    pub after: Vec<Unit>,
    /// Layers that draft further tokens; stored, and run only when asked for.
    pub drafts: Vec<Layer>,
    /// What reads the input, where the decoder attends to it by cross-attention.
    pub encoder: Option<Encoder>,
    /// What turns images into tokens.
    pub vision: Option<Tower>,
    /// Whether the class that generates text leaves the images out.
    pub vision_is_apart: bool,
    /// Format of weights that are not quantised.
    pub dtype: Dtype,
    /// Format of cached keys and values that the checkpoint asks for.
    pub kv: Option<Dtype>,
    pub(crate) state: Option<Dtype>,
    /// What is quantised, in words; none where nothing is.
    pub quantisation: Option<String>,
    /// Positions that the config gives it: `max_position_embeddings`, with what its RoPE scaling adds.
    pub positions: Option<u64>,
    pub(crate) notes: Vec<String>,
}

impl Model {
    /// The units of all kinds of layers of the decoder.
    pub fn units(&self) -> impl Iterator<Item = &Unit> {
        self.kinds.iter().flat_map(|kind| &kind.layer.units)
    }

    /// Parameters of what generates text: as Transformers' generation class has them.
    pub fn parameters(&self) -> Parameters {
        let mut sum = self.language_parameters();
        if let Some(tower) = self.vision.as_ref().filter(|_| !self.vision_is_apart) {
            sum.stored += tower.parameters();
        }
        sum
    }

    /// Parameters of the language model, and of what joins towers to it.
    pub fn language_parameters(&self) -> Parameters {
        let mut sum = Parameters::default();
        if let Some(tower) = self.vision.as_ref().filter(|_| !self.vision_is_apart) {
            sum.stored += tower.connector_parameters();
        }
        for unit in self.before.iter().chain(&self.after) {
            sum.add(unit.parameters(), 1);
        }
        for kind in &self.kinds {
            for unit in &kind.layer.units {
                sum.add(unit.parameters(), kind.at.len() as u128);
            }
        }
        if let Some(encoder) = &self.encoder {
            sum.add(encoder.parameters(), 1);
        }
        sum
    }

    /// Parameters of the layers that draft.
    pub fn draft_parameters(&self) -> u128 {
        self.drafts.iter().flat_map(|layer| &layer.units).map(|unit| unit.parameters().stored).sum()
    }

    /// Parameters that a token meets: all but those of experts that it does not visit.
    pub fn active_parameters(&self) -> u128 {
        let sum = self.language_parameters();
        sum.stored - sum.routed + sum.routed_active
    }
}

/// An encoder: what reads the input of an encoder-decoder model.
#[derive(Debug, Clone)]
pub struct Encoder {
    /// What it reads.
    pub input: EncoderInput,
    /// The most tokens that the decoder can have, where its positions are a table.
    pub most_decoded: Option<u64>,
    /// Number of layers.
    pub depth: u32,
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
        /// The number of positions.
        positions: u64,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct EncoderPart {
    /// `encoder embedding`, for example; of layers `encoder`.
    pub(crate) name: &'static str,
    /// Which layers are so, from 0; empty for what stands around them.
    pub(crate) at: Vec<u32>,
    pub(crate) units: Vec<Unit>,
}

impl EncoderPart {
    pub(crate) fn count(&self) -> u64 {
        (self.at.len() as u64).max(1)
    }
}

impl Encoder {
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

    pub(crate) fn reads_prompt(&self) -> bool {
        matches!(self.input, EncoderInput::Text { .. })
    }

    /// Parameters of all parts.
    pub fn parameters(&self) -> Parameters {
        let mut sum = Parameters::default();
        for part in &self.parts {
            part.units.iter().for_each(|unit| sum.add(unit.parameters(), part.count().into()));
        }
        sum
    }

    /// Bytes of its parameters on one device.
    pub fn weight_bytes(&self, pass: &Pass) -> u128 {
        let of = |part: &EncoderPart| {
            u128::from(part.count()) * part.units.iter().map(|unit| unit.weight_bytes(pass)).sum::<u128>()
        };
        self.parts.iter().map(of).sum()
    }
}
