//! What hardware can do and what a model must cost, computed without running anything.
//!
//! A `config.json` becomes a [`Model`]: kinds of layers, each a list of [`units`]. A unit knows its
//! parameters, what it keeps between steps, and the operators that it is in one step on one device:
//! FLOPs, bytes, messages. Everything else adds these up.
//!
//! ```text
//! config.json ──► families ──► Model ──► tally ──► estimate ──► document
//!                 keys to      units     operators  bound, estimate every number,
//!                 units                  of steps   and memory    for programs
//!                    ▲                      ▲            ▲
//!               quantisation        setup, workload   hardware
//! ```
//!
//! # What it cannot do
//!
//! - It gives bounds, and estimates under stated assumptions: it knows no kernels and no scheduler. What a
//!   device really takes has to be measured.
//! - It reads what a config says of shapes. How tokens choose experts, how long prompts are and how many
//!   drafted tokens are accepted stands in no config: they are given, or assumed and said so.
//! - It does not guess. A model type that no family knows, and a key that changes the architecture and is
//!   not known, are errors: a number for another model would look as good as the right one.
//! - It opens no files and looks at no clock: text comes in, values go out.
//!
//! # Examples
//!
//! What a model is made of and what a prompt takes, without a device:
//!
//! ```
//! use rooflens_cost::{Estimate, Model, Setup, Workload};
//!
//! let llama = Model::from_json(
//!     br#"{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
//!         "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
//!         "vocab_size": 128256, "torch_dtype": "bfloat16"}"#,
//! )?;
//! assert_eq!(llama.parameters().stored, 8_030_261_248);
//!
//! let estimate = Estimate::new(&llama, &Setup::default(), &Workload::prefill(1, 2048), None)?;
//! let flops = estimate.work().flops;
//! assert_eq!(flops.as_counted, 32_938_104_193_024); // as PyTorch counts: nothing masked, all logits
//! assert_eq!(flops.useful, 29_688_401_494_016); // what the next token needs
//! assert_eq!(estimate.cache.bytes_per_token, 131_072);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! | from the config to the model | |
//! | --- | --- |
//! | [`config`] | JSON as checkpoints have it, and typed keys that remember what was read |
//! | [`families`], [`vision`] | what the keys of each family of models and towers mean, as units |
//! | [`quantisation`], [`precision`] | which weights are stored how, and how formats lie in memory |
//! | [`encoder`] | the encoder of an encoder-decoder model, and what a workload means for one |
//! | [`model`], [`blueprint`] | the model; a config whose keys may be changed before it is read |
//! | [`units`] | the parts that layers are made of: the only place where operations are counted |
//!
//! | from the model to the answer | |
//! | --- | --- |
//! | [`workload`], [`step`] | what is asked: prompts, tokens, images; one pass of it; which keys a query sees |
//! | [`setup`], [`parallel`], [`routing`], [`pass`] | how it is run: devices, formats, choice of experts |
//! | [`operator`], [`tally`] | the work of an operator, and of all operators of a run of steps |
//! | [`hardware`], [`roof`], [`practice`], [`figures`] | what devices can do; the bound and the estimate of an operator's time |
//! | [`layout`] | layouts that engines refuse |
//! | [`estimate`], [`memory`] | times, ceilings and memory of a workload |
//! | [`sweep`], [`compare`], [`hold`], [`inverse`], [`crossover`] | many points; two designs; a change made up for; what a target takes; where a design turns |
//! | [`measured`] | passes that were run, beside what they must cost: MFU, MBU, FLOPs by torch |
//! | [`document`], [`metrics`], [`classes`] | every number for programs, and what each number and class means |

mod assumptions;
pub mod classes;
pub mod config;
pub mod document;
pub mod encoder;
pub mod estimate;
pub mod families;
pub mod figures;
pub mod hardware;
pub mod layout;
pub mod measured;
pub mod memory;
pub mod metrics;
pub mod model;
mod near;
pub mod operator;
pub mod parallel;
pub mod pass;
pub mod practice;
pub mod precision;
pub(crate) mod quantisation;
mod questions;
pub mod roof;
pub mod routing;
pub mod setup;
pub mod step;
pub mod tally;
pub mod units;
pub mod vision;
pub mod workload;

pub use config::ConfigError;
pub use estimate::Estimate;
pub use model::Model;
pub use parallel::Parallel;
pub use questions::{blueprint, compare, crossover, hold, inverse, sweep, tiles};
pub use setup::Setup;
pub use workload::{EstimateError, Workload};
