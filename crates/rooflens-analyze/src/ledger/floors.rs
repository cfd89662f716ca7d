//! Lower bounds by class of the static model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The lower bound of a class of operators.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Floor {
    /// Class of the static model, as `attn.qkv`.
    pub class: String,
    /// Its lower bound, all steps together.
    pub ns: f64,
    /// FLOPs of the matrix units that the results need.
    pub flops: f64,
    /// Bytes that must move.
    pub bytes: f64,
}

/// The sum of lower bounds without collectives: those are not on the kernels' line.
#[must_use]
pub fn kernels_floor_ns(floors: &[Floor]) -> f64 {
    floors.iter().filter(|floor| !floor.class.starts_with("comm.")).map(|floor| floor.ns).sum()
}
