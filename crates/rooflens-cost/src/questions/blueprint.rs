//! A config on the drawing board: keys may be set and formats replaced before it is read as a model.

use serde_json::{Map, Value};

use crate::config::{self, ConfigError};
use crate::families::{self, ReadModel};
use crate::model::Model;
use crate::near::nearest;
use crate::precision::{Dtype, Storage};
use crate::quantisation::{MXFP4, NVFP4, Quantisation};

/// A config with what stands beside it and what is changed of it.
#[derive(Debug, Clone)]
pub struct Blueprint {
    config: Map<String, Value>,
    side: Option<Map<String, Value>>,
    formats: Option<(Dtype, Quantisation)>,
    set: Vec<String>,
}

/// Names of formats that all weights may be given, with what they mean.
pub const WEIGHT_FORMATS: &[(&str, &str)] = &[
    ("fp32", "32 bits a weight"),
    ("bf16", "bfloat16"),
    ("fp16", "IEEE half precision"),
    ("fp8", "8-bit floats in blocks of 128×128 with a 32-bit scale, multiplied as fp8"),
    ("int8", "8-bit integers, multiplied as int8"),
    ("int4", "4-bit integers in groups of 128 with a 16-bit scale, multiplied as bf16"),
    ("mxfp4", "4-bit floats in groups of 32 with an 8-bit scale, multiplied as bf16"),
    ("nvfp4", "4-bit floats in groups of 16 with an 8-bit scale, multiplied as fp4"),
];

impl Blueprint {
    /// A config as text, with the text of the `hf_quant_config.json` beside it.
    pub fn new(config: &[u8], side: Option<&[u8]>) -> Result<Self, ConfigError> {
        Ok(Self::of(config::parse(config)?, side.map(config::parse).transpose()?))
    }

    /// The same from what was parsed before.
    pub fn of(config: Map<String, Value>, side: Option<Map<String, Value>>) -> Self {
        Self { config, side, formats: None, set: Vec::new() }
    }

    /// The config.
    pub fn config(&self) -> &Map<String, Value> {
        &self.config
    }

    /// The `hf_quant_config.json` beside it.
    pub fn side(&self) -> Option<&Map<String, Value>> {
        self.side.as_ref()
    }

    /// Sets a key; see [`config::set`].
    ///
    /// ```
    /// use rooflens_cost::blueprint::Blueprint;
    /// let config = br#"{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
    ///     "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}"#;
    /// let mut blueprint = Blueprint::new(config, None)?;
    /// let before = blueprint.model()?.parameters().stored;
    /// blueprint.set("num_key_value_heads", "4")?;
    /// assert!(blueprint.model()?.parameters().stored < before);
    /// # Ok::<(), rooflens_cost::ConfigError>(())
    /// ```
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        config::set(&mut self.config, key, value)?;
        // A number that the config has under two names is changed under both, unless both are set.
        let other = families::other_name(&self.config, key);
        if let Some(other) = other
            .filter(|other| self.config.contains_key(*other) && !self.set.iter().any(|known| known == other))
        {
            config::set(&mut self.config, other, value)?;
        }
        if !self.set.iter().any(|known| known == key) {
            self.set.push(key.to_owned());
        }
        Ok(())
    }

    pub(crate) fn set_keys(&self) -> &[String] {
        &self.set
    }

    /// Gives all weights another format, whatever the checkpoint says; false for a name that is not in
    /// [`WEIGHT_FORMATS`]. The head, the embeddings and the routers keep 16 bits.
    pub fn weights(&mut self, format: &str) -> bool {
        let quantised = |storage| (Dtype::Bf16, Quantisation::uniform(format, storage));
        self.formats = Some(match format {
            "fp32" => (Dtype::Fp32, Quantisation::default()),
            "bf16" => (Dtype::Bf16, Quantisation::default()),
            "fp16" => (Dtype::Fp16, Quantisation::default()),
            "fp8" => quantised(Storage::grouped(Dtype::Fp8, 128 * 128, 32, Dtype::Fp8)),
            "int8" => quantised(Storage::plain(Dtype::Int8)),
            "int4" => quantised(Storage::grouped(Dtype::Int4, 128, 16, Dtype::Bf16)),
            "mxfp4" => quantised(MXFP4),
            "nvfp4" => quantised(NVFP4),
            _ => return false,
        });
        true
    }

    /// The whole number at a key, at the top or in the language model's object.
    pub fn number(&self, key: &str) -> Option<u64> {
        let nested = ["text_config", "language_config", "llm_config"];
        let inner = nested.into_iter().filter_map(|name| self.config.get(name)?.get(key)).next();
        self.config.get(key).or(inner).and_then(Value::as_u64)
    }

    /// Reads it. A key that was set and that the family never asks for is an error: the change would be
    /// no change.
    pub fn model(&self) -> Result<Model, ConfigError> {
        let ReadModel { model, keys } =
            families::read(&self.config, self.side.as_ref(), self.formats.clone())?;
        for key in &self.set {
            let mut names = key.split('.');
            let first = names.next().unwrap_or_default();
            let nested = matches!(first, "text_config" | "language_config" | "llm_config");
            let name = if nested { names.next().unwrap_or(first) } else { first };
            if name != "quantization_config" && !keys.iter().any(|known| known == name) {
                let spelt = spelt_out(name);
                let near = match keys.contains(&spelt) {
                    true => vec![spelt],
                    false => nearest(name, keys.iter().map(String::as_str)),
                };
                return Err(ConfigError::Unused { family: model.family, key: key.clone(), near });
            }
        }
        Ok(model)
    }
}

/// A key as Transformers spells it: `num_kv_heads` is `num_key_value_heads` there.
fn spelt_out(name: &str) -> String {
    let parts = name.split('_').map(|part| if part == "kv" { "key_value" } else { part });
    parts.collect::<Vec<&str>>().join("_")
}
