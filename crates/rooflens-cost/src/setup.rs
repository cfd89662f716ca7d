//! How a model is run: devices, formats, routing, orders of products.

use serde::Serialize;

use crate::model::Model;
use crate::parallel::Parallel;
use crate::pass::{LatentOrder, Pass};
use crate::precision::{Dtype, Storage};
use crate::routing::{Routing, Touch};
use crate::step::Step;

/// How a model is run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setup {
    /// How it is dealt out.
    pub parallel: Parallel,
    /// Format of activations; none takes the model's.
    pub activation: Option<Dtype>,
    /// Format of cached keys and values; none takes what the checkpoint asks for, else the activations'.
    pub kv: Option<Dtype>,
    /// How tokens choose experts.
    pub routing: Routing,
    /// In which order latent attention multiplies.
    pub latent: LatentOrder,
    /// The part of a device's memory that may be used.
    pub usable: f64,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            parallel: Parallel::NONE,
            activation: None,
            kv: None,
            routing: Routing::Uniform,
            latent: LatentOrder::ByPhase,
            usable: 0.9,
        }
    }
}

impl Setup {
    /// Format of activations.
    #[must_use]
    pub fn activation(&self, model: &Model) -> Dtype {
        self.activation.unwrap_or(match model.dtype {
            // Nothing below 16 bits is an activation between operators.
            Dtype::Fp32 | Dtype::Fp16 | Dtype::Bf16 => model.dtype,
            _ => Dtype::Bf16,
        })
    }

    /// Format of cached keys and values.
    #[must_use]
    pub fn kv(&self, model: &Model) -> Dtype {
        self.kv.or(model.kv).unwrap_or_else(|| self.activation(model))
    }

    /// Sequences of one replica.
    #[must_use]
    pub fn sequences(&self, batch: u64) -> u64 {
        batch.div_ceil(self.parallel.dp.max(1))
    }

    /// A step on device `rank` of a stage; rank 0 is never the least busy.
    #[must_use]
    pub fn pass(&self, model: &Model, step: Step, rank: u64, touch: Touch) -> Pass<'_> {
        let place = self.parallel.place(rank);
        let activation = self.activation(model);
        Pass {
            step,
            tp: place.tp,
            ep: place.ep,
            expert_tp: place.expert_tp,
            expert_batches: place.expert_batches,
            activation,
            kv: Storage::plain(self.kv(model)),
            // Recurrent states are kept in single precision, whatever the rest is.
            state: Storage::plain(Dtype::Fp32),
            dispatch: activation,
            routing: &self.routing,
            touch,
            latent: self.latent,
        }
    }
}
