//! Operators of the static model, as the ledger takes them: one step's work in the order of execution.

use rooflens_schema::tables::PhaseKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel_catalog::KernelClass;

/// An operator of one step on one device, with its lower bound.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorFloor {
    /// Layer; none outside of layers.
    pub layer: Option<i32>,
    /// Its name within the layer, as `qkv_proj`.
    pub name: &'static str,
    /// Class of the static model, as `attn.qkv`.
    pub class: &'static str,
    /// Rows and columns of its weight on this device; none where it is no single matrix.
    pub matrix: Option<(u64, u64)>,
    /// The share of its work of each kernel that it may be run as.
    pub parts: Vec<f64>,
    /// Its lower bound: the longest of the bounds below.
    pub ns: f64,
    /// Bound by the matrix units.
    pub compute_ns: f64,
    /// Bound by memory bandwidth.
    pub memory_ns: f64,
    /// FLOPs of the matrix units that the result needs.
    pub flops: f64,
    /// Bytes that must move.
    pub bytes: f64,
}

/// What goes through the model in a step. Null is what the trace does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct StepShape {
    /// How many steps are like this.
    pub steps: usize,
    /// Sequences.
    pub batch: Option<i64>,
    /// Tokens of prompts.
    pub prefill_tokens: Option<i64>,
    /// New tokens of sequences that go on.
    pub decode_tokens: Option<i64>,
    /// Tokens in the cache that are attended to.
    pub kv_tokens: Option<i64>,
}

/// A step whose operators are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StepAsked {
    /// What the step does.
    pub kind: PhaseKind,
    /// Its place among the steps of its kind on its rank, from 0.
    pub ordinal: usize,
    /// What goes through the model, as far as the trace says.
    pub shape: StepShape,
}

/// A model on a device: what each step had to do.
pub trait StepModel {
    /// The operators of a step in the order of execution, or why they cannot be told.
    fn operators(&self, step: &StepAsked) -> Result<Vec<OperatorFloor>, String>;
}

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
pub fn kernels_floor_ns(floors: &[Floor]) -> f64 {
    floors.iter().filter(|floor| !floor.class.starts_with("comm.")).map(|floor| floor.ns).sum()
}

/// What kind of kernel does the work of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Linear,
    /// The choice of experts: a small GEMM, or part of the experts' kernels.
    Router,
    Experts,
    Attention,
    State,
    Norm,
    /// Rows of a table, rotations: seldom worth a kernel of its own.
    Small,
    Collective,
}

impl Role {
    pub(super) fn of(class: &str) -> Role {
        match class {
            "norm" | "hc" => Role::Norm,
            "embed" | "rope" => Role::Small,
            "attn.core" | "dsa.idx_core" | "vision.core" | "vision.rel_pos" => Role::Attention,
            "attn.linear" | "gdn.core" | "gdn.solve" | "gdn.conv" | "mamba.ssd" | "mamba.conv"
            | "conv.core" => Role::State,
            "moe.router" => Role::Router,
            "moe.routed" => Role::Experts,
            class if class.starts_with("comm.") => Role::Collective,
            _ => Role::Linear,
        }
    }

    /// Whether a step without a kernel for it is not a step of this model.
    pub(super) fn is_main(self) -> bool {
        matches!(self, Role::Linear | Role::Experts | Role::Attention | Role::State)
    }

    /// Whether a kernel of the class does such work and nothing else, so that it proves that the work was done.
    pub(super) fn is_proved_by(self, class: KernelClass) -> bool {
        self.misfit(class).is_some_and(|misfit| misfit <= 0.6)
    }

    /// How unlikely it is that a kernel of the class does the work; none where it cannot.
    pub(super) fn misfit(self, class: KernelClass) -> Option<f64> {
        use KernelClass as K;
        let misfit = match (self, class) {
            (Role::Linear | Role::Router, K::Gemm | K::Gemv)
            | (Role::Experts, K::Moe)
            | (Role::Attention, K::Attention)
            | (Role::State, K::Ssm)
            | (Role::Norm, K::Norm)
            | (Role::Small, K::Embedding | K::Rope)
            | (Role::Collective, K::Communication) => 0.0,
            (Role::State, K::Convolution) | (Role::Attention, K::Softmax) | (Role::Norm, K::Reduction) => 0.3,
            (Role::State, K::Attention) | (Role::Attention, K::Ssm) | (Role::Router, K::Moe) => 0.5,
            (Role::Experts, K::Gemm | K::Gemv) => 0.6,
            (Role::Norm, K::Elementwise) | (Role::Small, K::Elementwise | K::Copy) => 0.6,
            (Role::Linear, K::Convolution | K::Other) | (Role::Attention | Role::Experts, K::Other) => 1.0,
            (Role::State, K::Gemm | K::Other) => 1.0,
            // Scores of eager attention; softmax follows.
            (Role::Attention, K::Gemm | K::Gemv) => 1.2,
            (Role::Linear, K::Moe) => 1.5,
            _ => return None,
        };
        Some(misfit)
    }

    pub(super) fn missing(self) -> f64 {
        match self {
            Role::Experts => 6.0,
            Role::Attention | Role::State => 5.0,
            Role::Linear => 4.0,
            Role::Collective | Role::Router => 1.5,
            Role::Norm => 0.7,
            Role::Small => 0.3,
        }
    }

    /// The cost of being done by the kernel that does the operator before it, which has the role `before`: a kernel
    /// does neighbours of one kind, or small work on the way, but never attention and a GEMM. None where it cannot.
    pub(super) fn fused(self, before: Role) -> Option<f64> {
        if before != self && (self.is_main() || self == Role::Collective) {
            return None;
        }
        Some(match self {
            Role::Attention | Role::State => 4.0,
            Role::Experts => 3.0,
            Role::Linear => 1.2,
            Role::Norm | Role::Router => 0.65,
            Role::Small => 0.1,
            Role::Collective => 0.5,
        })
    }
}

pub(super) fn unasked(class: KernelClass) -> f64 {
    use KernelClass as K;
    match class {
        K::Gemm | K::Gemv | K::Attention => 3.0,
        K::Moe | K::Ssm | K::Convolution => 2.0,
        K::Communication => 1.0,
        K::Norm => 0.4,
        K::Softmax | K::Other => 0.3,
        _ => 0.0,
    }
}
