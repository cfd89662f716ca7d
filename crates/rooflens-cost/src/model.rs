//! A model as what it is made of: layers of parts, one description for parameters, operators and memory.

use std::collections::HashMap;

use crate::config::ConfigError;
use crate::encoder::Encoder;
use crate::operator::Operator;
use crate::precision::{Dtype, Storage};
use crate::quantisation::Rules;
use crate::routing::Touch;
use crate::setup::Setup;
use crate::step::Step;
use crate::tally::{OperatorPlace, visit, visit_drafts};
use crate::units::{Parameters, Unit};
use crate::vision::Tower;

/// A layer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layer {
    /// What it is made of, in the order of execution.
    pub units: Vec<Unit>,
    /// Whether it runs only for sequences with images.
    pub(crate) media_only: bool,
}

impl Layer {
    /// A layer that every token goes through.
    #[must_use]
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
    /// Its architecture, as the config names it.
    pub(crate) architecture: String,
    /// Width of the residual stream.
    pub hidden: u64,
    /// Rows of the embedding.
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
    /// Format of recurrent states that the config asks for.
    pub(crate) state: Option<Dtype>,
    /// What is quantised, in words; none where nothing is.
    pub quantisation: Option<String>,
    /// Positions that the config gives it: `max_position_embeddings`, with what its RoPE scaling adds.
    pub positions: Option<u64>,
    /// What reading the config had to assume.
    pub(crate) notes: Vec<String>,
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
        if let Some(encoder) = &self.encoder {
            sum.add(encoder.parameters(), 1);
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

/// The most operations of a token that are believed: hundreds of times those of the largest models, and
/// few enough that the largest workload does not run over 128 bits. That has 2^77 pairs of tokens.
const MOST_OPERATIONS: u128 = 1 << 48;

impl Model {
    /// Refuses a model of which each size may be believed, but not their product.
    pub(crate) fn check_work(&self) -> Result<(), ConfigError> {
        let setup = Setup::default();
        // One position of an encoder, too, and a decoder that attends to it.
        let media = u64::from(self.encoder.is_some());
        let pass = setup.pass(self, Step { media, ..Step::prefill(1, 1, 0) }, 0, Touch::Expected);
        let mut buffer = Vec::new();
        let mut operations = 0;
        let mut add = |_: OperatorPlace, layers: u64, operators: &[Operator]| {
            let of = |operator: &Operator| operator.work.flops.useful * u128::from(layers);
            operations += operators.iter().map(of).sum::<u128>();
        };
        visit(self, &pass, &mut buffer, &mut add);
        if let Some(encoder) = &self.encoder {
            encoder.visit(&setup.pass(self, Step::encoder(1, 1), 0, Touch::Expected), &mut buffer, &mut add);
        }
        visit_drafts(self, &pass, self.drafts.len() as u64, &mut buffer, &mut add);
        if operations > MOST_OPERATIONS {
            return Err(ConfigError::Wrong {
                key: "the work of a token".to_owned(),
                found: format!("{:.0e} operations", operations as f64),
                wanted: "at most 281,474,976,710,656",
            });
        }
        Ok(())
    }
}

impl Parameters {
    /// Adds those of `times` parts.
    pub fn add(&mut self, other: Parameters, times: u128) {
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
    pub(crate) path: &'static str,
    /// Format of what is not quantised.
    pub(crate) dtype: Dtype,
    /// What is quantised.
    pub(crate) rules: Rules<'a>,
}

impl Assembly<'_> {
    /// Gives the weights of a layer their formats.
    pub(crate) fn store(&self, layer: &mut Layer, index: usize) {
        for unit in &mut layer.units {
            self.store_unit(unit, Some(index));
        }
    }

    /// Gives the weights of a part their formats.
    pub(crate) fn store_unit(&self, unit: &mut Unit, index: Option<usize>) {
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
            *storage = self.rules.storage(&full).unwrap_or(plain);
        }
    }

    /// Joins layers that are alike.
    pub(crate) fn kinds(&self, layers: Vec<Layer>) -> Vec<LayerKind> {
        let mut kinds: Vec<LayerKind> = Vec::new();
        // By hash, since a config may make every layer another.
        let mut known: HashMap<Layer, usize> = HashMap::new();
        let mut last = 0;
        for (index, mut layer) in layers.into_iter().enumerate() {
            self.store(&mut layer, index);
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            // Most layers are as the one before.
            let before = kinds.get(last).filter(|kind| kind.layer == layer).map(|_| last);
            match before.or_else(|| known.get(&layer).copied()) {
                Some(kind) => {
                    kinds[kind].at.push(index);
                    last = kind;
                }
                None => {
                    last = kinds.len();
                    known.insert(layer.clone(), kinds.len());
                    kinds.push(LayerKind { layer, at: vec![index] });
                }
            }
        }
        kinds
    }
}
