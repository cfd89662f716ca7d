//! Typed access to the keys of a config, which remembers what was read.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::ConfigError;
use super::json::kind;

/// The largest sizes that are believed: far beyond any model, and small enough that nothing overflows.
const LARGEST: u64 = 1 << 26;
const MOST_LAYERS: u64 = 10_000;

/// Words in keys that change what a model is made of: one that stands in a config and is not read means
/// that the model is not understood.
const STRUCTURAL: &str = "expert moe_ lora_rank mamba ssm_ linear_attn linear_num linear_key linear_value index_head \
     index_n index_topk compress_ratio layer_types hybrid block_configs cross_attention_layers \
     kv_shared layer_pattern attn_type_list sparse_attention latent conv_l_cache global_head_dim swa_ \
     hc_mult";

fn is_structural(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    STRUCTURAL.split(' ').any(|word| key.contains(word))
}

/// An object of a config.
#[derive(Debug)]
pub struct Keys<'a> {
    map: &'a Map<String, Value>,
    prefix: String,
    read: RefCell<BTreeSet<String>>,
}

impl<'a> Keys<'a> {
    /// The keys of `map`, which errors call by `prefix` (empty, or ending with a dot).
    pub fn new(map: &'a Map<String, Value>, prefix: &str) -> Self {
        Self { map, prefix: prefix.to_owned(), read: RefCell::default() }
    }

    pub(crate) fn inside(&self, key: &str) -> Option<Keys<'a>> {
        match self.get(key) {
            Some(Value::Object(map)) => Some(Keys::new(map, &format!("{}{key}.", self.prefix))),
            _ => None,
        }
    }

    pub(crate) fn need_inside(&self, key: &str) -> Result<Keys<'a>, ConfigError> {
        self.inside(key).ok_or_else(|| self.missing(key))
    }

    /// The value of a key; null is no value.
    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.read.borrow_mut().insert(key.to_owned());
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// Whether the key is there with a value other than null, zero or false.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some_and(is_something)
    }

    /// Whether the key is there at all, be it null.
    pub(crate) fn names(&self, key: &str) -> bool {
        self.read.borrow_mut().insert(key.to_owned());
        self.map.contains_key(key)
    }

    pub(crate) fn ignore(&self, keys: &[&str]) {
        self.read.borrow_mut().extend(keys.iter().map(|key| (*key).to_owned()));
    }

    /// A size: a whole number from 1.
    pub(crate) fn size(&self, key: &str) -> Result<u64, ConfigError> {
        self.size_if(key)?.ok_or_else(|| self.missing(key))
    }

    /// A size, or `default` where the key is absent or null.
    pub(crate) fn size_or(&self, key: &str, default: u64) -> Result<u64, ConfigError> {
        Ok(self.size_if(key)?.unwrap_or(default))
    }

    /// The key that tells how many experts a layer has. `own` is the family's name for it; versions of
    /// Transformers write the same number under one of two others. Two that differ cannot both be right.
    pub(crate) fn experts_key(&self, own: &'static str) -> Result<&'static str, ConfigError> {
        let mut found = None;
        for key in [own, "num_experts", "num_local_experts", "n_routed_experts"] {
            match (found, self.count_if(key)?) {
                (_, None) => {}
                (None, Some(count)) => found = Some((key, count)),
                (Some((_, known)), Some(count)) if known == count => {}
                (Some(_), Some(_)) => return Err(self.wrong(key, "what the other keys of experts say")),
            }
        }
        Ok(found.map_or(own, |(key, _)| key))
    }

    pub(crate) fn experts_or(&self, own: &'static str, default: u64) -> Result<u64, ConfigError> {
        self.size_or(self.experts_key(own)?, default)
    }

    pub(crate) fn size_if(&self, key: &str) -> Result<Option<u64>, ConfigError> {
        match self.count_if(key)? {
            Some(0) => Err(self.wrong(key, "a whole number from 1")),
            other => Ok(other),
        }
    }

    /// A count that may be zero, where the key is there.
    pub(crate) fn count_if(&self, key: &str) -> Result<Option<u64>, ConfigError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let whole = value.as_u64().or_else(|| {
            // Some writers give whole numbers a decimal point.
            value.as_f64().filter(|x| x.fract() == 0.0 && (0.0..1e15).contains(x)).map(|x| x as u64)
        });
        match whole {
            Some(number) if number <= LARGEST => Ok(Some(number)),
            Some(_) => Err(self.wrong(key, "at most 67,108,864")),
            None => Err(self.wrong(key, "a whole number")),
        }
    }

    /// A count that may be zero, or `default`.
    pub(crate) fn count_or(&self, key: &str, default: u64) -> Result<u64, ConfigError> {
        Ok(self.count_if(key)?.unwrap_or(default))
    }

    pub(crate) fn layers(&self, key: &str) -> Result<usize, ConfigError> {
        let layers = self.size(key)?;
        if layers > MOST_LAYERS {
            return Err(self.wrong(key, "at most 10,000 layers"));
        }
        Ok(layers as usize)
    }

    pub(crate) fn fraction_or(&self, key: &str, default: f64) -> Result<f64, ConfigError> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => value
                .as_f64()
                .filter(|x| (0.0..=1e6).contains(x))
                .ok_or_else(|| self.wrong(key, "a number from 0")),
        }
    }

    pub(crate) fn flag_or(&self, key: &str, default: bool) -> Result<bool, ConfigError> {
        match self.get(key) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong(key, "true or false")),
        }
    }

    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key).and_then(Value::as_str)
    }

    pub(crate) fn texts(&self, key: &str) -> Result<Option<Vec<&'a str>>, ConfigError> {
        let Some(list) = self.list(key)? else { return Ok(None) };
        let texts: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
        texts.map(Some).ok_or_else(|| self.wrong(key, "a list of strings"))
    }

    pub(crate) fn numbers(&self, key: &str) -> Result<Option<Vec<u64>>, ConfigError> {
        let Some(list) = self.list(key)? else { return Ok(None) };
        let numbers: Option<Vec<u64>> =
            list.iter().map(|value| value.as_u64().filter(|number| *number <= LARGEST)).collect();
        numbers.map(Some).ok_or_else(|| self.wrong(key, "a list of whole numbers"))
    }

    pub(crate) fn list(&self, key: &str) -> Result<Option<&'a [Value]>, ConfigError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(_) => Err(self.wrong(key, "a list")),
        }
    }

    pub(crate) fn check_length(&self, key: &str, length: usize, layers: usize) -> Result<(), ConfigError> {
        if length < layers {
            return Err(ConfigError::Contradiction {
                left: format!("{}{key}", self.prefix),
                right: "num_hidden_layers".to_owned(),
                reason: format!("{length} entries for {layers} layers"),
            });
        }
        Ok(())
    }

    pub(crate) fn missing(&self, key: &str) -> ConfigError {
        ConfigError::Missing(format!("{}{key}", self.prefix))
    }

    pub(crate) fn wrong(&self, key: &str, wanted: &'static str) -> ConfigError {
        let found = self.map.get(key).map_or_else(|| "absent".to_owned(), shortened);
        ConfigError::Wrong { key: format!("{}{key}", self.prefix), found, wanted }
    }

    pub(crate) fn asked_for(&self) -> Vec<String> {
        self.read.borrow().iter().cloned().collect()
    }

    pub(crate) fn unread_structure(&self) -> Vec<String> {
        let read = self.read.borrow();
        let unread = self
            .map
            .iter()
            .filter(|(key, value)| !read.contains(*key) && is_something(value) && is_structural(key));
        unread.map(|(key, value)| format!("{}{key} = {}", self.prefix, shortened(value))).collect()
    }

    pub(crate) fn structure(&self) -> Vec<String> {
        const TELLING: &[&str] = &["hidden_size", "num_hidden_layers", "num_attention_heads"];
        let telling = self.map.iter().filter(|(key, value)| {
            is_something(value) && (TELLING.contains(&key.as_str()) || is_structural(key))
        });
        telling.map(|(key, value)| format!("{key} = {}", shortened(value))).take(12).collect()
    }
}

/// Neither null, nor zero, nor false, nor empty.
fn is_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Bool(true) | Value::String(_) => true,
    }
}

fn shortened(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("a list of {}", list.len()),
        Value::Object(_) => kind(value).to_owned(),
        Value::String(text) => format!("{:?}", text.chars().take(40).collect::<String>()),
        other => other.to_string(),
    }
}
