//! How a model is run: devices, nodes, formats, routing, orders of products.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Model;
use crate::parallel::Parallel;
use crate::pass::{LatentOrder, Pass};
use crate::practice::{Assume, Practice};
use crate::precision::{Dtype, Storage};
use crate::routing::{Routing, Touch};
use crate::step::Step;

/// How a model is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// How it is sharded.
    pub parallel: Parallel,
    /// How devices are grouped into nodes.
    #[serde(default)]
    pub nodes: Nodes,
    /// How the vision tower is sharded over the devices of tensor parallelism.
    #[serde(default)]
    pub vision: VisionSharding,
    /// Format of activations; none takes the model's.
    pub activation: Option<Dtype>,
    /// Format of cached keys and values; none takes what the checkpoint asks for, else the activations'.
    pub kv: Option<Dtype>,
    /// Format of recurrent states; none takes what the config asks for, else the activations'.
    pub state: Option<Dtype>,
    /// How tokens choose experts.
    pub routing: Routing,
    /// In which order latent attention multiplies.
    pub latent: LatentOrder,
    /// The part of a device's memory that may be used.
    pub usable: f64,
    /// What is set of the estimate's assumptions.
    #[serde(default)]
    pub assume: Assume,
    /// What devices do together.
    #[serde(skip)]
    pub practice: Practice,
}

/// How devices are grouped into nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Nodes {
    /// Devices of a node; null is what the catalog says of the device.
    pub size: Option<u64>,
    /// Bytes a second that each device sends to other nodes; null is 400 Gb/s.
    pub bytes_per_s: Option<f64>,
}

impl Nodes {
    /// One 400 Gb/s adapter per device, as HGX and OAM nodes with NDR InfiniBand have.
    pub(crate) const USUAL_BYTES_PER_S: f64 = 400e9 / 8.0;

    /// Bytes a second that each device sends to other nodes.
    pub fn rate(&self) -> f64 {
        self.bytes_per_s.unwrap_or(Self::USUAL_BYTES_PER_S)
    }
}

/// How a vision tower is sharded over the devices of tensor parallelism.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VisionSharding {
    /// Heads and columns, as the language model: vLLM's default.
    #[default]
    Tensor,
    /// Each device has the whole tower and a part of the images: vLLM's `--mm-encoder-tp-mode data`.
    Data,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            parallel: Parallel::NONE,
            nodes: Nodes::default(),
            vision: VisionSharding::Tensor,
            activation: None,
            kv: None,
            state: None,
            routing: Routing::Uniform,
            latent: LatentOrder::ByPhase,
            usable: 0.9,
            assume: Assume::default(),
            practice: Practice::default(),
        }
    }
}

impl Setup {
    pub(crate) fn activation(&self, model: &Model) -> Dtype {
        self.activation.unwrap_or(match model.dtype {
            // Nothing below 16 bits is an activation between operators.
            Dtype::Fp32 | Dtype::Fp16 | Dtype::Bf16 => model.dtype,
            _ => Dtype::Bf16,
        })
    }

    /// Format of cached keys and values.
    pub fn kv(&self, model: &Model) -> Dtype {
        self.kv.or(model.kv).unwrap_or_else(|| self.activation(model))
    }

    pub(crate) fn state(&self, model: &Model) -> Dtype {
        self.state.or(model.state).unwrap_or_else(|| self.activation(model))
    }

    pub(crate) fn on_one_device(&self) -> Self {
        Self { parallel: Parallel::NONE, ..self.clone() }
    }

    /// How a vision tower is sharded: over the devices of tensor parallelism, or not at all.
    pub(crate) fn of_vision(&self) -> Self {
        match self.vision {
            VisionSharding::Tensor => {
                Self { parallel: Parallel { tp: self.parallel.tp, ..Parallel::NONE }, ..self.clone() }
            }
            VisionSharding::Data => self.on_one_device(),
        }
    }

    /// Sequences of one replica.
    pub fn sequences(&self, batch: u64) -> u64 {
        batch.div_ceil(self.parallel.dp.max(1))
    }

    /// A step on device `rank` of a stage; rank 0 is never the least busy.
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
            state: Storage::plain(self.state(model)),
            dispatch: self
                .practice
                .dispatch
                .filter(|dtype| dtype.bits() < activation.bits())
                .unwrap_or(activation),
            sequence_parallel: self.practice.sequence_parallel,
            multicast: self.practice.multicast,
            node: self.nodes.size,
            routing: &self.routing,
            touch,
            latent: self.latent,
        }
    }
}
