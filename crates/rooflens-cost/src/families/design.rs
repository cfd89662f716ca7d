//! What a family makes of a config, and how that becomes a model.

use std::collections::HashMap;

use super::shapes;
use crate::config::{ConfigError, Keys};
use crate::model::{Encoder, EncoderInput, Layer, LayerKind, Model};
use crate::precision::{Dtype, Storage};
use crate::quantisation::{Quantisation, Rules};
use crate::units::Unit;
use crate::vision::Tower;

#[derive(Debug)]
pub(crate) struct FamilyConfig<'a> {
    pub(crate) root: Keys<'a>,
    /// The language model: `text_config`, `language_config`, or the whole.
    pub(crate) text: Keys<'a>,
    pub(crate) model_type: &'a str,
    pub(crate) nested: bool,
}

impl FamilyConfig<'_> {
    /// Whether the head shares the embedding: the language model says so, else the whole, else `default`.
    pub(crate) fn tied(&self, default: bool) -> Result<bool, ConfigError> {
        if self.text.names("tie_word_embeddings") {
            return self.text.flag_or("tie_word_embeddings", default);
        }
        self.root.flag_or("tie_word_embeddings", default)
    }
}

#[derive(Debug)]
pub(crate) struct Design {
    pub(crate) hidden: u64,
    pub(crate) vocab: u64,
    /// Where layers stand in the checkpoint, as `model.layers`.
    pub(crate) path: &'static str,
    pub(crate) layers: Vec<Layer>,
    pub(crate) before: Vec<Unit>,
    pub(crate) after: Vec<Unit>,
    pub(crate) drafts: Vec<Layer>,
    pub(crate) encoder: Option<EncoderDesign>,
    pub(crate) vision: Option<Tower>,
    pub(crate) vision_is_apart: bool,
    /// Format of recurrent states if engines keep them in another than the activations'.
    pub(crate) state: Option<Dtype>,
    pub(crate) notes: Vec<String>,
}

/// The parts of [`Encoder`], without the formats of weights.
#[derive(Debug)]
pub(crate) struct EncoderDesign {
    pub(crate) input: EncoderInput,
    pub(crate) most_decoded: Option<u64>,
    /// Where its layers stand in the checkpoint, as `model.encoder.layers`.
    pub(crate) path: &'static str,
    pub(crate) before: Vec<Unit>,
    pub(crate) layers: Vec<Layer>,
    pub(crate) after: Vec<Unit>,
}

impl Design {
    pub(crate) fn decoder(
        hidden: u64,
        vocab: u64,
        tied: bool,
        layers: impl IntoIterator<Item = Vec<Unit>>,
    ) -> Self {
        Self {
            hidden,
            vocab,
            path: "model.layers",
            layers: layers.into_iter().map(Layer::new).collect(),
            before: shapes::embedding(vocab, hidden, tied),
            after: shapes::head(vocab, hidden, tied),
            drafts: Vec::new(),
            encoder: None,
            vision: None,
            vision_is_apart: false,
            state: None,
            notes: Vec::new(),
        }
    }

    pub(crate) fn model(
        mut self,
        family: &'static str,
        architecture: String,
        dtype: Dtype,
        quantisation: &Quantisation,
    ) -> Result<Model, ConfigError> {
        let encoded = self.encoder.as_ref().map_or(0, |encoder| encoder.layers.len());
        let rules = quantisation.rules(self.layers.len() + encoded)?;
        let mut formats = Formats { path: self.path, dtype, rules };
        for unit in self.before.iter_mut().chain(&mut self.after) {
            formats.store(unit, None);
        }
        let depth = self.layers.len();
        for (i, layer) in self.drafts.iter_mut().enumerate() {
            layer.units.iter_mut().for_each(|unit| formats.store(unit, Some(depth + i)));
        }
        if let Some(tower) = &mut self.vision {
            for unit in tower.stages.iter_mut().flat_map(|stage| &mut stage.units) {
                formats.store(unit, None);
            }
        }
        let kinds = formats.kinds(self.layers);
        let encoder = self.encoder.map(|mut encoder| {
            formats.path = encoder.path;
            for unit in encoder.before.iter_mut().chain(&mut encoder.after) {
                formats.store(unit, None);
            }
            let kinds = formats.kinds(encoder.layers);
            Encoder::new((encoder.input, encoder.most_decoded), encoder.before, kinds, encoder.after)
        });
        Ok(Model {
            positions: None,
            family,
            architecture,
            hidden: self.hidden,
            vocab: self.vocab,
            depth: u32::try_from(depth).unwrap_or(u32::MAX),
            kinds,
            before: self.before,
            after: self.after,
            drafts: self.drafts,
            encoder,
            vision: self.vision,
            vision_is_apart: self.vision_is_apart,
            dtype,
            kv: quantisation.kv,
            state: self.state,
            quantisation: quantisation.name.clone(),
            notes: self.notes,
        })
    }
}

struct Formats<'a> {
    path: &'static str,
    dtype: Dtype,
    rules: Rules<'a>,
}

impl Formats<'_> {
    fn store(&self, unit: &mut Unit, layer: Option<usize>) {
        let plain = Storage::plain(self.dtype);
        match unit {
            Unit::Embedding(embedding) => embedding.storage = plain,
            Unit::Linear(linear) => linear.storage = plain,
            Unit::Attention(attention) => attention.storage = plain,
            Unit::Latent(latent) => latent.core = plain,
            Unit::Conv(conv) => conv.storage = plain,
            _ => {}
        }
        if let Some((module, storage)) = unit.quantisable() {
            let full = match layer {
                Some(layer) => format!("{}.{layer}.{module}", self.path),
                None => module.to_owned(),
            };
            *storage = self.rules.storage(&full).unwrap_or(plain);
        }
    }

    fn kinds(&self, layers: Vec<Layer>) -> Vec<LayerKind> {
        let mut kinds: Vec<LayerKind> = Vec::new();
        // By hash, since a config may make every layer another.
        let mut known: HashMap<Layer, usize> = HashMap::new();
        let mut last = 0;
        for (index, mut layer) in layers.into_iter().enumerate() {
            layer.units.iter_mut().for_each(|unit| self.store(unit, Some(index)));
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
