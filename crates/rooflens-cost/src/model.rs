//! A model as what it is made of: layers of parts, one description for parameters, operators and memory.

use crate::config::ConfigError;
use crate::precision::{Dtype, Storage};
use crate::quantisation::Quantisation;
use crate::units::{Parameters, Unit};
use crate::vision::Tower;

/// A layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// What it is made of, in the order of execution.
    pub units: Vec<Unit>,
    /// Whether it runs only for sequences with images.
    pub media_only: bool,
}

impl Layer {
    /// A layer that every token goes through.
    #[must_use]
    pub fn new(units: Vec<Unit>) -> Self {
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

/// A language model, with what may stand before its decoder.
#[derive(Debug, Clone)]
pub struct Model {
    /// The family that read it.
    pub family: &'static str,
    /// Its architecture, as the config names it.
    pub architecture: String,
    /// Width of the residual stream.
    pub hidden: u64,
    /// Rows of the embedding.
    pub vocab: u64,
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
    /// What turns images into tokens.
    pub vision: Option<Tower>,
    /// Whether the class that generates text leaves the images out.
    pub vision_is_apart: bool,
    /// Format of weights that are not quantised.
    pub dtype: Dtype,
    /// Format of cached keys and values that the checkpoint asks for.
    pub kv: Option<Dtype>,
    /// What is quantised, in words; none where nothing is.
    pub quantisation: Option<String>,
    /// What reading the config had to assume.
    pub notes: Vec<String>,
}

impl Model {
    /// Reads a `config.json`.
    pub fn from_json(text: &[u8]) -> Result<Self, ConfigError> {
        Ok(crate::families::read(&crate::config::parse(text)?, None, None)?.model)
    }

    /// Parameters of what generates text: as Transformers' generation class has them.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        let mut sum = self.language_parameters();
        if let Some(tower) = &self.vision
            && !self.vision_is_apart
        {
            sum.stored += tower.parameters();
        }
        sum
    }

    /// Parameters of the language model, and of what joins towers to it.
    #[must_use]
    pub fn language_parameters(&self) -> Parameters {
        let mut sum = Parameters::default();
        if let Some(tower) = &self.vision
            && !self.vision_is_apart
        {
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
        sum
    }

    /// Parameters of the layers that draft.
    #[must_use]
    pub fn draft_parameters(&self) -> u128 {
        self.drafts.iter().flat_map(|layer| &layer.units).map(|unit| unit.parameters().stored).sum()
    }

    /// Parameters that a token meets: all but those of experts that it does not visit.
    #[must_use]
    pub fn active_parameters(&self) -> u128 {
        let sum = self.language_parameters();
        sum.stored - sum.routed + sum.routed_active
    }
}

impl Parameters {
    fn add(&mut self, other: Parameters, times: u128) {
        self.stored += other.stored * times;
        self.routed += other.routed * times;
        self.routed_active += other.routed_active * times;
        self.input_embedding += other.input_embedding * times;
    }
}

/// Gathers layers, gives each weight its format, and joins layers that are alike.
#[derive(Debug)]
pub(crate) struct Assembly<'a> {
    /// Where layers stand in the checkpoint, as `model.layers`.
    pub path: &'static str,
    /// Format of what is not quantised.
    pub dtype: Dtype,
    /// What is quantised.
    pub quantisation: &'a Quantisation,
}

impl Assembly<'_> {
    /// Gives the weights of a layer their formats.
    pub fn store(&self, layer: &mut Layer, index: usize) {
        for unit in &mut layer.units {
            self.store_unit(unit, Some(index));
        }
    }

    /// Gives the weights of a part their formats.
    pub fn store_unit(&self, unit: &mut Unit, index: Option<usize>) {
        let plain = Storage::plain(self.dtype);
        match unit {
            Unit::Embedding(embedding) => embedding.storage = plain,
            Unit::Linear(linear) => linear.storage = plain,
            Unit::Attention(attention) => attention.storage = plain,
            Unit::Latent(latent) => latent.core = plain,
            Unit::Conv(conv) => conv.storage = plain,
            _ => {}
        }
        let path = self.path;
        if let Some((module, storage)) = unit.quantisable() {
            let full = match index {
                Some(index) => format!("{path}.{index}.{module}"),
                None => module.to_owned(),
            };
            *storage = self.quantisation.storage(&full).unwrap_or(plain);
        }
    }

    /// Joins layers that are alike.
    pub fn kinds(&self, layers: Vec<Layer>) -> Vec<LayerKind> {
        let mut kinds: Vec<LayerKind> = Vec::new();
        for (index, mut layer) in layers.into_iter().enumerate() {
            self.store(&mut layer, index);
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            match kinds.iter_mut().find(|kind| kind.layer == layer) {
                Some(kind) => kind.at.push(index),
                None => kinds.push(LayerKind { layer, at: vec![index] }),
            }
        }
        kinds
    }
}
