//! The keys that nearly every decoder has, read with the defaults of its configuration class, and the
//! shapes of layers that some families share.

use super::design::Design;
use super::shapes::Gqa;
use crate::config::{ConfigError, Keys};
use crate::step::Mask;
use crate::units::{Norm, Unit};

/// The widest attention that is believed, all heads together: what products of sizes stay exact with.
const WIDEST: u64 = 1 << 26;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Class {
    pub(crate) vocab: u64,
    pub(crate) hidden: u64,
    pub(crate) layers: usize,
    pub(crate) heads: u64,
    /// `num_key_value_heads`; none for as many as there are query heads.
    pub(crate) kv_heads: Option<u64>,
    /// `head_dim`; none for the hidden size over the heads.
    pub(crate) head_dim: Option<u64>,
}

#[derive(Debug, Clone)]
pub(crate) struct Trunk {
    pub(crate) vocab: u64,
    pub(crate) hidden: u64,
    pub(crate) layers: usize,
    pub(crate) heads: u64,
    pub(crate) kv_heads: u64,
    pub(crate) head_dim: u64,
    notes: Vec<String>,
}

impl Trunk {
    /// Reads the sizes; those that are absent are the class's, and noted.
    pub fn read(keys: &Keys, class: Class) -> Result<Self, ConfigError> {
        let mut notes = Vec::new();
        let mut size = |key: &str, default: u64| -> Result<u64, ConfigError> {
            let found = keys.size_if(key)?;
            if found.is_none() {
                notes.push(format!("{key} is absent: {default}, as its configuration class has it"));
            }
            Ok(found.unwrap_or(default))
        };
        let vocab = size("vocab_size", class.vocab)?;
        let hidden = size("hidden_size", class.hidden)?;
        let heads = size("num_attention_heads", class.heads)?;
        size("num_hidden_layers", class.layers as u64)?;
        let layers = match keys.get("num_hidden_layers") {
            Some(_) => keys.layers("num_hidden_layers")?,
            None => class.layers,
        };
        // Null says the same in every class: a key head for each query head, heads that share the width.
        let (kv_default, width_default) = (heads, (hidden / heads).max(1));
        let kv_heads = match class.kv_heads {
            Some(kv_heads) if !keys.names("num_key_value_heads") => kv_heads,
            _ => keys.size_or("num_key_value_heads", kv_default)?,
        };
        let head_dim = match class.head_dim {
            Some(head_dim) if !keys.names("head_dim") => head_dim,
            _ => keys.size_or("head_dim", width_default)?,
        };
        check_heads(keys, heads, kv_heads, head_dim)?;
        Ok(Self { vocab, hidden, layers, heads, kv_heads, head_dim, notes })
    }

    pub(crate) fn attention(&self) -> Gqa {
        Gqa::plain(self.hidden, self.heads, self.kv_heads, self.head_dim)
    }

    pub(crate) fn decoder(self, tied: bool, layers: impl IntoIterator<Item = Vec<Unit>>) -> Design {
        let mut design = Design::decoder(self.hidden, self.vocab, tied, layers);
        design.notes = self.notes;
        design
    }

    /// Which keys the queries of each layer see: by `layer_types`, else by `slides`.
    pub(crate) fn masks(
        &self,
        keys: &Keys,
        window: Option<u64>,
        slides: impl Fn(usize) -> bool,
    ) -> Result<Vec<Mask>, ConfigError> {
        let kinds = match keys.texts("layer_types")? {
            Some(kinds) => {
                keys.check_length("layer_types", kinds.len(), self.layers)?;
                kinds[..self.layers].to_vec()
            }
            None => (0..self.layers)
                .map(|layer| if slides(layer) { "sliding_attention" } else { "full_attention" })
                .collect(),
        };
        let mask = |kind: &str| match (kind, window) {
            ("full_attention", _) => Ok(Mask::Causal),
            ("sliding_attention", Some(window)) => Ok(Mask::Window(window)),
            ("sliding_attention", None) => Err(keys.missing("sliding_window")),
            _ => Err(keys.wrong("layer_types", "full_attention or sliding_attention for each layer")),
        };
        kinds.into_iter().map(mask).collect()
    }
}

pub(crate) fn check_heads(keys: &Keys, heads: u64, kv_heads: u64, head_dim: u64) -> Result<(), ConfigError> {
    if !heads.is_multiple_of(kv_heads) {
        return Err(ConfigError::Contradiction {
            left: "num_attention_heads".to_owned(),
            right: "num_key_value_heads".to_owned(),
            reason: format!("{heads} query heads are not a multiple of {kv_heads} KV heads"),
        });
    }
    if heads * head_dim > WIDEST {
        return Err(keys.wrong("num_attention_heads", "heads with a total width of at most 67,108,864"));
    }
    Ok(())
}

/// `sliding_window`: absent the class's, null for none.
pub(crate) fn window_or(keys: &Keys, default: Option<u64>) -> Result<Option<u64>, ConfigError> {
    if keys.names("sliding_window") { keys.size_if("sliding_window") } else { Ok(default) }
}

pub(crate) fn mask_of(window: Option<u64>) -> Mask {
    window.map_or(Mask::Causal, Mask::Window)
}

/// How many elements of a head are rotated: `partial_rotary_factor`, which older files have beside the
/// other keys and newer ones among those of the rotation.
pub(crate) fn rotated(keys: &Keys, head_dim: u64, default: f64) -> Result<u64, ConfigError> {
    let inner = keys.inside("rope_parameters").or_else(|| keys.inside("rope_scaling"));
    let inner = inner.filter(|rope| rope.get("partial_rotary_factor").is_some());
    let share = inner.as_ref().unwrap_or(keys).fraction_or("partial_rotary_factor", default)?;
    Ok((head_dim as f64 * share.min(1.0)).round() as u64)
}

pub(crate) fn post_norm(name: &'static str, hidden: u64) -> Unit {
    // The sum with the residual is the next norm's.
    Unit::Norm(Norm { adds: false, ..Norm::residual(name, hidden) })
}

pub(crate) fn sandwich(
    hidden: u64,
    names: [&'static str; 4],
    attention: Vec<Unit>,
    feed_forward: Vec<Unit>,
) -> Vec<Unit> {
    let mut units = vec![Unit::Norm(Norm::residual(names[0], hidden))];
    units.extend(attention);
    units.push(post_norm(names[1], hidden));
    units.push(Unit::Norm(Norm::residual(names[2], hidden)));
    units.extend(feed_forward);
    units.push(post_norm(names[3], hidden));
    units
}

/// Which layers a list of words calls `yes` rather than `no`, where the key is there.
pub(crate) fn by_word(
    keys: &Keys,
    key: &str,
    depth: usize,
    yes: &str,
    no: &str,
    wanted: &'static str,
) -> Result<Option<Vec<bool>>, ConfigError> {
    let Some(words) = keys.texts(key)? else { return Ok(None) };
    keys.check_length(key, words.len(), depth)?;
    let of = |word: &str| match word {
        word if word == yes => Ok(true),
        word if word == no => Ok(false),
        _ => Err(keys.wrong(key, wanted)),
    };
    words.into_iter().take(depth).map(of).collect::<Result<_, _>>().map(Some)
}

/// Which layers a list of numbers gives another number than 0, where the key is there.
pub(crate) fn by_number(keys: &Keys, key: &str, depth: usize) -> Result<Option<Vec<bool>>, ConfigError> {
    let Some(numbers) = keys.numbers(key)? else { return Ok(None) };
    keys.check_length(key, numbers.len(), depth)?;
    Ok(Some(numbers.into_iter().take(depth).map(|number| number != 0).collect()))
}

pub(crate) const DENSE_OR_SPARSE: &str = "dense or sparse for each layer";
