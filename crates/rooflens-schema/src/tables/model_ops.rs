//! Operators of the static model.

use crate::cell::Opt;
use crate::table::table;

table! {
    /// An operator of the static model, as `rooflens cost` computes it: one row for each layer that has it.
    ModelOps(ModelOpRow) = "model_ops", per_rank: false {
        /// What the step does: `prefill`, `decode`, `vision`.
        phase: String => "word" Dictionary,
        /// Layer, from 0; null outside the layers.
        layer: Opt<i32> => "id" Dictionary,
        /// Part of the model: `layers`, `embedding`, `head`, `draft`, or a stage of the vision tower.
        part: String => "word" Dictionary,
        /// Name within the layer, as `qkv_proj`.
        name: String => "word" Dictionary,
        /// What kind of work it is, as `attn.qkv`.
        class: String => "word" Dictionary,
        /// Operations as frameworks count them.
        flops_as_counted: i64 => "FLOP" Dictionary,
        /// Operations that the result needs.
        flops_useful: i64 => "FLOP" Dictionary,
        /// Operations with tiles filled up.
        flops_issued: i64 => "FLOP" Dictionary,
        /// Operations outside the matrix units.
        vector_flops: i64 => "FLOP" Dictionary,
        /// Weights read.
        weight_bytes: i64 => "bytes" Dictionary,
        /// Cached keys, values or states read.
        kv_read_bytes: i64 => "bytes" Dictionary,
        /// Keys, values or states written to the cache.
        kv_write_bytes: i64 => "bytes" Dictionary,
        /// Activations read and written.
        activation_bytes: i64 => "bytes" Dictionary,
        /// Bytes sent to other devices.
        link_bytes: i64 => "bytes" Dictionary,
        /// Lower bound of the time on the device; null without one.
        floor_ns: Option<f64> => "ns" Dictionary,
        /// What is multiplied, as `bf16`.
        dtype: String => "word" Dictionary,
        /// How weights are stored, as `fp8/16384`.
        storage: String => "word" Dictionary,
        /// Formula of the model FLOPs.
        formula: String => "text" Dictionary,
    }
}
