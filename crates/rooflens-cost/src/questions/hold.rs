//! Changing one thing and holding another: the key that makes up for a change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blueprint::Blueprint;
use crate::config::ConfigError;
use crate::memory::cache;
use crate::model::Model;
use crate::setup::Setup;
use crate::step::Step;
use crate::tally::Tally;

/// What is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Held {
    /// All parameters.
    Params,
    /// Useful operations for a token of a prompt.
    Flops,
    /// Bytes that a token adds to the cache.
    Kv,
}

impl Held {
    /// What is held, of a model.
    pub fn of(self, model: &Model, setup: &Setup) -> f64 {
        match self {
            Held::Params => model.parameters().stored as f64,
            Held::Kv => {
                let cache = cache(model, setup);
                let windows: u128 = cache.windows.iter().map(|window| window.bytes_per_token).sum();
                (cache.bytes_per_token + windows) as f64
            }
            Held::Flops => {
                // A prompt long enough that nothing is padded away, short enough that attention is small.
                let step = Step::prefill(1, 1024, 0);
                let mut tally = Tally::default();
                let pass = setup.pass(model, step, 0, crate::routing::Touch::Expected);
                tally.add(model, &pass, None, &mut Vec::new());
                if let Some(encoder) = &model.encoder {
                    let pass = setup.pass(model, Step::encoder(1, 1024), 0, crate::routing::Touch::Expected);
                    tally.add_encoder(encoder, &pass, None);
                }
                tally.work().flops.useful as f64
            }
        }
    }

    fn keys(self) -> &'static [&'static str] {
        match self {
            Held::Params | Held::Flops => &[
                "moe_intermediate_size",
                "intermediate_size",
                "d_ff",
                "encoder_ffn_dim",
                "decoder_ffn_dim",
                "num_hidden_layers",
                "num_layers",
                "hidden_size",
                "d_model",
            ],
            Held::Kv => &[
                "kv_lora_rank",
                "num_key_value_heads",
                "head_dim",
                "d_kv",
                "num_hidden_layers",
                "num_decoder_layers",
                "decoder_layers",
            ],
        }
    }
}

/// How a change was made up for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Balance {
    /// What was held.
    pub held: Held,
    /// The key that was changed for it.
    pub key: String,
    /// Its value before.
    pub before: u64,
    /// Its value after.
    pub after: u64,
    /// What was held, before the change.
    pub wanted: f64,
    /// The same, after the change and its balance: as near as whole numbers come.
    pub reached: f64,
}

/// What cannot be held.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HoldError {
    /// The changed config cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No key is left that could make up for the change.
    #[error("no key can keep the total constant; tried {0}")]
    NoKey(String),
}

/// Changes `by` (or the most natural key that was not set) in `blueprint` until what is held is as near
/// to `base` as whole steps come. Widths go in steps that matrix units like, up to 64.
pub fn balance(
    blueprint: &mut Blueprint,
    base: &Model,
    setup: &Setup,
    held: Held,
    by: Option<&str>,
) -> Result<(Model, Balance), HoldError> {
    let wanted = held.of(base, setup);
    let keys: Vec<&str> = match by {
        Some(key) => vec![key],
        None => {
            let is_set = |key: &str| blueprint.set_keys().iter().any(|set| set == key);
            held.keys().iter().copied().filter(|key| !is_set(key)).collect()
        }
    };
    for key in &keys {
        let Some(before) = blueprint.number(key) else { continue };
        let quantum = quantum(key, before);
        let at = |steps: u64| -> Result<(Blueprint, Model, f64), ConfigError> {
            let mut changed = blueprint.clone();
            changed.set(key, &steps.saturating_mul(quantum).to_string())?;
            let model = changed.model()?;
            let reached = held.of(&model, setup);
            Ok((changed, model, reached))
        };
        // Only a key that matters can make up for anything.
        let here = (before / quantum).max(1);
        let (Ok((_, _, now)), Ok((_, _, twice))) = (at(here), at(here * 2)) else { continue };
        if twice <= now {
            continue;
        }
        let above = crate::crossover::first(1, here.saturating_mul(64), |steps| {
            at(steps).is_ok_and(|(_, _, reached)| reached >= wanted)
        });
        let above = above.unwrap_or(here.saturating_mul(64));
        let mut best: Option<(u64, f64)> = None;
        for steps in [above.saturating_sub(1).max(1), above] {
            if let Ok((_, _, reached)) = at(steps)
                && best.is_none_or(|(_, other)| (reached - wanted).abs() < (other - wanted).abs())
            {
                best = Some((steps, reached));
            }
        }
        let Some((steps, _)) = best else { continue };
        let (changed, model, reached) = at(steps)?;
        *blueprint = changed;
        let balance =
            Balance { held, key: (*key).to_owned(), before, after: steps * quantum, wanted, reached };
        return Ok((model, balance));
    }
    Err(HoldError::NoKey(keys.join(", ")))
}

/// The steps in which a key goes: heads and layers one by one, widths as wide as leaves 64 of them.
fn quantum(key: &str, value: u64) -> u64 {
    let widths = ["_size", "_rank", "_ffn_dim", "d_ff", "d_model"];
    if !widths.iter().any(|width| key.ends_with(width)) {
        return 1;
    }
    [64, 16, 8].into_iter().find(|step| value >= 64 * step).unwrap_or(1)
}
